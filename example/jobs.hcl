# What jobs can say. The same in YAML: jobs.yaml
defaults {
  shell          = "/bin/bash"
  timezone       = "Europe/Berlin"
  capture_stdout = true
}

# A command as a text is for the shell ...
job "disk-report" {
  schedule = "0 7 * * mon-fri"
  command  = <<-EOT
    set -o pipefail
    df -h / /srv | tail -n +2 | sort -k5
  EOT
}

# ... and a list is executed as it is.
job "thumbnails" {
  schedule = "@every 90s"
  command  = ["/usr/local/bin/thumbnails", "--from", "/srv/my pictures"]
  environment {
    THUMBNAIL_SIZE = 512
  }
  concurrency_policy = "Forbid" # never beside itself
  execution_timeout  = 80
  kill_timeout       = 5
}

# Tries again after 10, 20 and 40 seconds, each a little random.
job "fetch-rates" {
  schedule = "5 */4 * * *"
  command  = "curl --fail --silent https://rates.example.org/today > /srv/rates"
  fails_when {
    produces_stdout = false
    produces_stderr = false
  }
  on_failure {
    retry {
      maximum_retries    = 3
      initial_delay      = 10
      maximum_delay      = 300
      backoff_multiplier = 2
      jitter             = 0.2
    }
  }
}

# The last working day of a month, in time or not at all.
job "invoices" {
  schedule {
    minute       = 30
    hour         = 17
    day_of_month = "LW"
  }
  command           = "/usr/local/bin/invoices"
  starting_deadline = 0
}

# Once, when the agent starts.
job "warm-cache" {
  schedule          = "@reboot"
  command           = "/usr/local/bin/warm-cache"
  working_directory = "/srv"
  cluster_policy    = "EveryNode"
}
