//go:build race

package testcluster

// RaceEnabled tells that this test binary has the race detector, so that the agents
// are built with it too.
const RaceEnabled = true
