// Package agent wires the components of one yacron2 process and owns their life cycle:
// configuration, dispatcher, coordination and HTTP API. It holds components, not logic;
// what a component does is the business of its own package.
//
// New validates, wires and binds, Start launches, Reload replaces the configuration or
// changes nothing, Stop hands leadership over, waits for running jobs and ends every
// goroutine that Start began.
package agent
