// Package netcluster runs clusters of real agent processes in network namespaces, for
// tests of what networks do: every agent has a host of its own, with an address, a cable
// to a common switch, a table of names and a packet filter. Cables can be cut, in one
// direction or both, lose a part of their packets, or become thin.
//
// It needs Linux, root, and the programs ip and nft (and tc for thin cables); see Require.
// Nothing of it is visible outside its namespaces: agents are asked over unix sockets,
// which know no network. All namespaces are removed when the test ends; if the test was
// killed, by the next one that runs.
//
// A Watch collects what the agents say of every firing while the test goes on, and a
// Ledger holds that against what the jobs themselves wrote.
package netcluster
