# The first of three nodes; the others differ in node_name, cert, key and peers. The jobs
# stand in other files, which are the same everywhere. The same in YAML: cluster.yaml
data_dir         = "/var/lib/yacron2"
shutdown_timeout = 600
log_format       = "json"

web {
  listen = ["https://0.0.0.0:8443", "unix:///run/yacron2.sock"]
  tls {
    cert = "/etc/yacron2/web.pem"
    key  = "/etc/yacron2/web-key.pem"
  }
  token "dashboard" {
    scope = "read"
    value = file("/etc/yacron2/read-token")
  }
  token "deploy" {
    scope = "operate"
    value = file("/etc/yacron2/operate-token")
  }
  metrics {
    public = true
  }
}

cluster {
  node_name         = "yacron-a"
  listen            = "0.0.0.0:9443"
  elect_leader      = true
  distribution      = "spread" # each job has an owner of its own
  verify_peer_names = true
  tls {
    ca   = "/etc/yacron2/tls/ca.pem"
    cert = "/etc/yacron2/tls/yacron-a.pem"
    key  = "/etc/yacron2/tls/yacron-a-key.pem"
  }
  peer "yacron-b.example.org:9443" {}
  peer "yacron-c.example.org:9443" {}
}
