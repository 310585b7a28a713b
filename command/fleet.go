package command

import (
	"flag"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/yacron2/yacron2/api"
)

// fleetCommand lists what runs on all nodes.
type fleetCommand struct {
	Meta
	job string
}

func (c *fleetCommand) flags() *flag.FlagSet {
	fs := c.flagSet()
	fs.StringVar(&c.job, "job", "", "Show each node's state of this `JOB` alone.")
	c.formatFlag(fs)
	c.clientFlags(fs)
	return fs
}

// Synopsis implements cli.Command.
func (c *fleetCommand) Synopsis() string { return "List what runs on all nodes of the cluster" }

// Help implements cli.Command.
func (c *fleetCommand) Help() string {
	return help("fleet [options]", `
Lists the jobs of all nodes and how their newest runs ended, as the nodes last told
the agent asked: no other node is contacted for it. Of a job that ran somewhere, the
nodes on which it did not are left out, unless -job names it.

With -format=json the answer is that of GET /fleet, whole. An agent without a
cluster, and one whose cluster is a lease in a store, knows of no other nodes.`, c.flags())
}

// Run implements cli.Command.
func (c *fleetCommand) Run(args []string) int {
	fleet, code, ok := ask(&c.Meta, c.flags(), args, (*api.Client).Fleet)
	if !ok {
		return code
	}
	switch {
	case c.format == formatJSON:
		return c.json(fleet)
	case !fleet.Enabled:
		c.printf("This agent knows of no other nodes: yacron2 job list shows its own jobs.\n")
		return exitOK
	}
	c.nodes(fleet.Nodes)
	names := jobNames(fleet.Nodes)
	if c.job != "" {
		if !slices.Contains(names, c.job) {
			c.errorf("no node tells of a job %q%s", c.job, didYouMean(c.job, names))
			return exitFailed
		}
		names = []string{c.job}
	}
	var rows [][]string
	for _, name := range names {
		rows = append(rows, c.jobRows(fleet.Nodes, name)...)
	}
	if len(rows) > 0 {
		c.printf("\n")
		table(c.Stdout, []string{"JOB", "NODE", "STATE", "LAST RUN", "TOOK"}, rows)
	}
	return exitOK
}

// nodes lists the nodes themselves.
func (c *fleetCommand) nodes(nodes []api.FleetNode) {
	rows := make([][]string, len(nodes))
	for i, n := range nodes {
		host, seen := string(n.Host), ago(n.AsOf.Time, c.Now())
		if n.Self {
			host, seen = "(asked)", "now"
		}
		jobs := "not told"
		if n.Jobs != nil {
			running := 0
			for _, j := range n.Jobs {
				if j.Running {
					running++
				}
			}
			jobs = count(len(n.Jobs), "job")
			if n.Truncated {
				jobs = "more than " + jobs
			}
			if running > 0 {
				jobs += ", " + count(running, "job") + " running"
			}
		}
		rows[i] = []string{nodeText(&n), host, n.Status, seen, jobs}
	}
	table(c.Stdout, []string{"NODE", "HOST", "STATUS", "AS OF", "JOBS"}, rows)
}

// nodeText names a node, by its address until it has told its name.
func nodeText(n *api.FleetNode) string {
	if n.NodeName == "" {
		return string(n.Host)
	}
	return string(n.NodeName)
}

// jobNames lists the jobs of all nodes.
func jobNames(nodes []api.FleetNode) []string {
	names := map[string]bool{}
	for _, n := range nodes {
		for name := range n.Jobs {
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// jobRows returns one row for each node that has something to tell of the job, or one
// for all of them if none has.
func (c *fleetCommand) jobRows(nodes []api.FleetNode, name string) [][]string {
	var rows, idle [][]string
	var on []string
	for _, n := range nodes {
		j, ok := n.Jobs[name]
		if !ok {
			continue
		}
		row := []string{name, nodeText(&n), summaryState(&j), "", ""}
		if j.Last != nil {
			row[3], row[4] = lastText(j.Last, c.Now()), secondsText(j.Last.Duration)
		}
		if j.Running || j.Last != nil || c.job != "" {
			rows = append(rows, row)
			continue
		}
		idle, on = append(idle, row), append(on, nodeText(&n))
	}
	if len(rows) == 0 && len(idle) > 0 {
		idle[0][1] = strings.Join(on, ", ")
		return idle[:1]
	}
	return rows
}

// summaryState says what a job does on a node, or when it will do something.
func summaryState(j *api.JobSummary) string {
	switch {
	case j.Running:
		return "running"
	case !j.Enabled:
		return "disabled"
	case j.ScheduledIn != nil:
		return dueText(*j.ScheduledIn)
	}
	return "not due"
}

// lastText says how a run ended on another node, whose instants are not checked.
func lastText(last *api.LastSummary, now time.Time) string {
	text := exitText(string(last.Outcome), last.ExitCode)
	if at, err := time.Parse(time.RFC3339Nano, string(last.FinishedAt)); err == nil {
		text += " " + ago(at, now)
	}
	return text
}
