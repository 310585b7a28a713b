//go:build !race

package testcluster

// RaceEnabled tells that this test binary has the race detector.
const RaceEnabled = false
