// Package testcluster runs clusters of real agent processes on loopback, with real
// certificates, for tests. It knows an agent only from outside: its command line, its
// configuration files, its signals and its HTTP interface. What ran is what the jobs
// themselves wrote into the cluster's Journal.
package testcluster
