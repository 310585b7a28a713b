// Package soak holds one test that runs a cluster with many jobs for a long time, while
// its agents are killed, stopped, frozen and reloaded at random: what they hold stays what
// it was, no firing of a Leader job runs twice, and each that does not run is explained.
// It takes the time that YACRON2_SOAK names, as "make soak" sets it.
package soak
