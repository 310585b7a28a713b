package command

import (
	"flag"
	"fmt"
	"math"
	"strconv"
)

// sizeCommand tells how often a majority of a cluster is there, by the cluster's size.
type sizeCommand struct {
	Meta
	nodes   int
	up      float64
	firings float64
}

const (
	mostSized   = 99   // nodes; beyond that nothing is worth telling
	hourlyAYear = 8760 // firings of an hourly job
)

func (c *sizeCommand) flags() *flag.FlagSet {
	fs := c.flagSet()
	fs.IntVar(&c.nodes, "nodes", 7, "List clusters of up to `COUNT` nodes, 7 by default.")
	fs.Float64Var(&c.up, "p", 0.99, "The `SHARE` of the time in which a node is up and reached by the others, between 0 and 1. Upgrades and restarts count as well. 0.99 by default.")
	fs.Float64Var(&c.firings, "firings", hourlyAYear, "How many firings the last column is about: `NUMBER`, 8760 by default, which is a year of an hourly job.")
	c.formatFlag(fs)
	return fs
}

// Synopsis implements cli.Command.
func (c *sizeCommand) Synopsis() string { return "Tell how many nodes a cluster should have" }

// Help implements cli.Command.
func (c *sizeCommand) Help() string {
	return help("size [options]", `
Lists how often a firing of a Leader job can run, by the number of nodes: a
majority of them must be there. Nodes are taken to fail independently. Where one
switch or one mistake takes several at a time, the figures promise too much.`, c.flags())
}

// clusterSize is one row of the list.
type clusterSize struct {
	Nodes     int     `json:"nodes"`
	Quorum    int     `json:"quorum"`
	Tolerates int     `json:"tolerates"` // nodes that may be away
	Runs      float64 `json:"runs"`      // share of the firings for which a majority is there
	Skips     float64 `json:"skips"`     // the others, exact also where runs is all but 1
	Nines     float64 `json:"nines"`     // -log10(skips)
	Skipped   float64 `json:"skipped"`   // of the firings asked about
	Note      string  `json:"note,omitempty"`
}

// sizeOf computes a row. Each node is up with that probability, independently.
func sizeOf(nodes int, up, firings float64) clusterSize {
	s := clusterSize{Nodes: nodes, Quorum: nodes/2 + 1}
	s.Tolerates = nodes - s.Quorum
	// The lower tail of the binomial distribution: computed as 1 minus the upper one, it
	// would have no digits left where it matters.
	ways := 1.0 // to choose k of the nodes
	for k := range s.Quorum {
		s.Skips += ways * math.Pow(up, float64(k)) * math.Pow(1-up, float64(nodes-k))
		ways = ways * float64(nodes-k) / float64(k+1)
	}
	s.Runs, s.Nines, s.Skipped = 1-s.Skips, -math.Log10(s.Skips), s.Skips*firings
	switch {
	case nodes == 2:
		s.Note = "refused: worse than 1"
	case nodes%2 == 0:
		s.Note = "tolerates no more than " + strconv.Itoa(nodes-1)
	}
	return s
}

// Run implements cli.Command.
func (c *sizeCommand) Run(args []string) int {
	if !c.parse(c.flags(), args, 0) {
		return exitMisuse
	}
	switch {
	case c.nodes < 1 || c.nodes > mostSized:
		c.misuse("-nodes=%d: write 1 to %d", c.nodes, mostSized)
		return exitMisuse
	case !(c.up > 0 && c.up < 1): // NaN too
		c.misuse("-p=%v: write a number between 0 and 1, such as 0.99", c.up)
		return exitMisuse
	case !(c.firings > 0) || math.IsInf(c.firings, 1):
		c.misuse("-firings=%v: write a number above 0", c.firings)
		return exitMisuse
	}
	list := make([]clusterSize, c.nodes)
	for i := range list {
		list[i] = sizeOf(i+1, c.up, c.firings)
	}
	if c.format == formatJSON {
		return c.json(list)
	}
	rows := make([][]string, len(list))
	for i, s := range list {
		rows[i] = []string{
			strconv.Itoa(s.Nodes), strconv.Itoa(s.Quorum), strconv.Itoa(s.Tolerates),
			share(s.Runs, s.Nines), fmt.Sprintf("%.1f", s.Nines), number(s.Skipped), s.Note,
		}
	}
	table(c.Stdout, []string{
		"NODES", "QUORUM", "MAY BE AWAY", "FIRINGS THAT RUN", "NINES",
		"SKIPPED OF " + strconv.FormatFloat(c.firings, 'f', -1, 64), "NOTE",
	}, rows)
	return exitOK
}

// share writes a share as a percentage with as many digits as tell it from all.
func share(value, nines float64) string {
	digits := int(max(nines, 0)) + 1
	return strconv.FormatFloat(100*value, 'f', min(digits, 12), 64) + "%"
}

// number writes a number with two digits that count, and whole if it is large.
func number(v float64) string {
	if v >= 10 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 2, 64)
}
