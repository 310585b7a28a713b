include = ["_common.yaml"]

job "certificates" {
  schedule = "40 4,16 * * *"
  command  = "certbot renew --quiet"
}
