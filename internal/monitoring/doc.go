// Package monitoring holds the tests of what example/monitoring ships for Prometheus and
// Grafana: the rules by promtool, the names by the pages of real agents, and the alerts by
// a Prometheus that scrapes a cluster while it fails.
package monitoring
