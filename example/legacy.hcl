# The jobs of legacy.crontab, line by line, with the same job-set id. From here on they can
# have names that last, time limits, reports and all the rest.
defaults {
  shell    = "/bin/bash"
  timezone = "Europe/Berlin"
  environment {
    SHELL   = "/bin/bash"
    CRON_TZ = "Europe/Berlin"
  }
}

job "legacy.crontab:5" {
  schedule = "*/10 * * * *"
  command  = "/usr/local/bin/mail-queue --flush"
}
job "legacy.crontab:6" {
  schedule = "0 6 * * mon-fri"
  command  = "/usr/local/bin/report --date $(date +%F)"
}
job "legacy.crontab:7" {
  schedule  = "0 16 1,15 * fri"
  day_match = "or"
  command   = "/usr/local/bin/pay"
}
job "legacy.crontab:8" {
  schedule = "@midnight"
  command  = "find /tmp -mtime +7 -delete"
}
