// Package leasetest has the tests that every store of package lease must pass, on the
// real store wherever there is one. [Run] asks the Store itself, one call after the
// other; [RunManagers] lets several nodes lead, claim and give up by it; [RunFaults]
// breaks the store, and the way to it, under them.
//
// Over each of these clusters is watched all the time that no two nodes lead, that no firing
// is given to two processes, and that nothing is given to a former holder once a later one
// was given something.
package leasetest
