package command

import (
	"flag"
	"strings"

	"github.com/yacron2/yacron2/api"
)

// leaderCommand tells who leads.
type leaderCommand struct {
	Meta
	self bool
}

func (c *leaderCommand) flags() *flag.FlagSet {
	fs := c.flagSet()
	fs.BoolVar(&c.self, "self", false, "Exit with 0 only if the agent asked is the leader itself, else with 2. Prints nothing with -format=table.")
	c.formatFlag(fs)
	c.clientFlags(fs)
	return fs
}

// Synopsis implements cli.Command.
func (c *leaderCommand) Synopsis() string { return "Tell who leads the cluster, by exit code too" }

// Help implements cli.Command.
func (c *leaderCommand) Help() string {
	return help("leader [options]", `
Tells who leads the cluster as the agent asked sees it, whether there is a quorum,
and which conflicts keep Leader jobs from running. If none leads, it also says
what is wrong, and what to do about it.

Exit codes: 0 there is a leader, 2 there is none, 1 the agent could not be asked.
Under distribution: spread no node leads all jobs; the exit code is then 0 with a
quorum and 2 without. An agent without a cluster, or with leader election off, has
no leader.`, c.flags())
}

// leadership is the JSON form of the answer.
type leadership struct {
	Leader       api.NullString `json:"leader"`
	IsLeader     bool           `json:"is_leader"` // the agent asked leads
	Node         string         `json:"node"`      // the agent asked
	Enabled      bool           `json:"enabled"`
	ElectLeader  bool           `json:"elect_leader"`
	Distribution string         `json:"distribution"`
	Quorate      bool           `json:"quorate"`
	ClusterSize  int            `json:"cluster_size"`
	Quorum       int            `json:"quorum"`
	Conflicts    []string       `json:"conflicts"` // in words
	// Advice says what is wrong, and what to do, if there is no leader or Leader jobs do not
	// run.
	Advice []string `json:"advice,omitempty"`
}

// Run implements cli.Command.
func (c *leaderCommand) Run(args []string) int {
	cluster, code, ok := ask(&c.Meta, c.flags(), args, (*api.Client).Cluster)
	if !ok {
		return code
	}
	code = c.verdict(&cluster)
	found := conflicts(&cluster)
	var wrong []string
	if code != exitOK && cluster.ElectLeader && !c.self || len(found) > 0 || len(cluster.Troubles) > 0 {
		wrong = advice(&cluster)
	}
	switch {
	case c.format == formatJSON:
		answer := leadership{
			Node: cluster.NodeName, Enabled: cluster.Enabled, ElectLeader: cluster.ElectLeader, Distribution: cluster.Distribution,
			Quorate: cluster.Quorate, ClusterSize: cluster.ClusterSize, Quorum: cluster.Quorum, Conflicts: append([]string{}, found...), Advice: wrong,
		}
		if cluster.ElectLeader {
			answer.Leader, answer.IsLeader = cluster.Leader, cluster.IsLeader
		}
		if failed := c.json(answer); failed != exitOK {
			return failed
		}
	case c.self || c.clusterOff(&cluster):
	default:
		conflict := "none"
		if len(found) > 0 {
			conflict = strings.Join(found, "; ") + ": Leader jobs do not run"
		}
		pairs(c.Stdout, [][2]string{
			{"Leader", leaderText(&cluster)},
			{"Quorum", quorumText(&cluster)},
			{"Conflicts", conflict},
		})
		c.advise(wrong)
	}
	return code
}

// verdict answers by exit code.
func (c *leaderCommand) verdict(cluster *api.Cluster) int {
	yes := cluster.Enabled && cluster.ElectLeader
	switch {
	case c.self:
		yes = yes && cluster.IsLeader
	case cluster.Distribution == api.Spread:
		yes = yes && cluster.Quorate
	default:
		yes = yes && cluster.Leader != ""
	}
	if yes {
		return exitOK
	}
	return exitNo
}
