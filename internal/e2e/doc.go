// Package e2e holds the end-to-end tests and benchmarks: real agent processes on
// loopback with real certificates, judged by their HTTP interface, their exit codes
// and by what their jobs write.
package e2e
