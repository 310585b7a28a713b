// Package storetest runs real agents that coordinate through real stores, and ends,
// freezes and cuts off either. It has tests and benchmarks only.
package storetest
