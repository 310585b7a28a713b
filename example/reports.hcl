# Who is told of what. The same in YAML: reports.yaml
defaults {
  statsd {
    prefix = "cron.web"
    host   = "127.0.0.1"
    port   = 8125
  }
}

job "billing" {
  schedule       = "0 2 1 * *"
  command        = "/usr/local/bin/billing"
  capture_stdout = true

  on_failure {
    retry {
      maximum_retries    = 2
      initial_delay      = 60
      maximum_delay      = 600
      backoff_multiplier = 5
    }
    report {
      sentry {
        dsn         = env("SENTRY_DSN")
        environment = "production"
        extra = {
          team   = "billing"
          oncall = true
        }
      }
    }
  }

  on_permanent_failure {
    report {
      mail {
        from      = "cron@example.org"
        to        = "billing@example.org, ops@example.org"
        smtp_host = "mail.example.org"
        smtp_port = 587
        starttls  = true
        username  = "cron"
        password  = file("/etc/yacron2/mail-password")
        subject   = "{{ name }} has failed for good: {{ fail_reason }}"
      }
    }
  }

  on_success {
    report {
      shell {
        command = "echo \"$YACRON2_JOB_NAME ended at $(date)\" >> /var/log/billing"
      }
    }
  }

  on_miss {
    report {
      webhook {
        url  = env("CHAT_URL")
        body = "{\"text\": {{ (\"missed: \" ~ name) | tojson }}}"
      }
    }
  }
}
