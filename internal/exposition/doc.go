// Package exposition writes gathered metrics in the two text formats that Prometheus
// reads, byte for byte as the scrapers of older agents know them: whole numbers without
// decimals, bounds of buckets with them, info metrics as such, and neither time stamps
// nor creation times nor exemplars.
package exposition
