//go:build race

package testcluster

// raceEnabled tells that this test binary has the race detector, so that the agents
// are built with it too.
const raceEnabled = true
