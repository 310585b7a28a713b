// Package version holds the build stamp.
package version

// Version is the version of this build, without a leading v; the linker sets it for releases.
var Version = "0.1.0-dev"
