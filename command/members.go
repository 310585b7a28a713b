package command

import (
	"flag"
	"fmt"
	"slices"

	"github.com/yacron2/yacron2/api"
)

// membersCommand lists the nodes of the cluster as one agent sees them.
type membersCommand struct{ Meta }

func (c *membersCommand) flags() *flag.FlagSet { return c.askFlags() }

// Synopsis implements cli.Command.
func (c *membersCommand) Synopsis() string { return "List the nodes of the cluster and their state" }

// Help implements cli.Command.
func (c *membersCommand) Help() string {
	return help("members [options]", `
Lists the nodes of the cluster as the agent asked sees them.

  unknown      not contacted yet
  self         the agent asked, or an address at which it answers itself
  agreed       runs the same jobs
  syncing      runs other jobs, for a short time so far
  drifted      runs other jobs, for longer
  unreachable  no contact
  untrusted    its certificate, or ours over there, was not accepted
  conflict     another process with the name of the agent asked

CLOCK is by how much the clock of a node is ahead of that of the agent asked.
Leader jobs need clocks within 2 seconds of each other.

A quorum is made of agreement in both directions: do not derive it by counting.
If something is wrong, the list ends with what that is, and what to do about it.

An agent without a cluster has no members to list, which is no error. A cluster
that is configured but does not run is one, and gives exit code 1.`, c.flags())
}

// member is one row of the list.
type member struct {
	Host      api.NullString `json:"host"` // null for the agent asked
	Node      api.NullString `json:"node"`
	Status    string         `json:"status"`
	JobSetID  api.NullString `json:"job_set_id"`
	LastSeen  api.Instant    `json:"last_seen"`
	LastError api.NullString `json:"last_error"`
	Stopping  bool           `json:"stopping"`
	Clock     *api.Clock     `json:"clock"` // null while it is not known
}

// membership is the JSON form of the list.
type membership struct {
	Enabled     bool           `json:"enabled"`
	Error       string         `json:"error,omitempty"` // why a configured cluster does not run
	Backend     string         `json:"backend"`
	Node        string         `json:"node"` // the agent asked
	ClusterSize int            `json:"cluster_size"`
	Quorum      int            `json:"quorum"`
	Quorate     bool           `json:"quorate"`
	Leader      api.NullString `json:"leader"`
	Members     []member       `json:"members"`
	Advice      []string       `json:"advice,omitempty"` // what is wrong, and what to do
}

// Run implements cli.Command.
func (c *membersCommand) Run(args []string) int {
	cluster, code, ok := ask(&c.Meta, c.flags(), args, (*api.Client).Cluster)
	if !ok {
		return code
	}
	if cluster.Error != "" {
		code = exitFailed
	}
	members := c.members(&cluster)
	if c.format == formatJSON {
		return max(code, c.json(membership{
			Enabled: cluster.Enabled, Error: cluster.Error, Backend: cluster.Backend, Node: cluster.NodeName,
			ClusterSize: cluster.ClusterSize, Quorum: cluster.Quorum, Quorate: cluster.Quorate,
			Leader: cluster.Leader, Members: members, Advice: advice(&cluster),
		}))
	}
	if c.clusterOff(&cluster) {
		return code
	}
	c.headline(&cluster)
	rows := make([][]string, len(members))
	for i, m := range members {
		status := m.Status
		switch {
		case m.Stopping && m.Status == api.PeerUnreachable:
			status += ", was stopped"
		case m.Stopping:
			status += ", stopping"
		}
		host, seen := string(m.Host), ago(m.LastSeen.Time, c.Now())
		if m.Host == "" {
			host, seen = "(asked)", "now"
		}
		rows[i] = []string{host, string(m.Node), status, shortID(string(m.JobSetID)), seen, clockText(m.Clock), string(m.LastError)}
	}
	table(c.Stdout, []string{"HOST", "NODE", "STATUS", "JOB SET", "LAST SEEN", "CLOCK", "LAST ERROR"}, rows)
	c.advise(advice(&cluster))
	return code
}

// members returns the rows: the agent asked, unless it is among its own peers, and
// then the peers as configured.
func (c *membersCommand) members(cluster *api.Cluster) []member {
	list := []member{}
	if !cluster.Enabled {
		return list
	}
	if !slices.ContainsFunc(cluster.Peers, func(p api.Peer) bool { return p.Status == api.PeerSelf }) {
		list = append(list, member{
			Node: api.NullString(cluster.NodeName), Status: api.PeerSelf,
			JobSetID: api.NullString(cluster.JobSetID), Stopping: cluster.Stopping,
		})
	}
	for _, p := range cluster.Peers {
		list = append(list, member{
			Host: api.NullString(p.Host), Node: p.NodeName, Status: p.Status, JobSetID: p.JobSetID,
			LastSeen: p.LastSeen, LastError: p.LastError, Stopping: p.Stopping, Clock: p.Clock,
		})
	}
	return list
}

// clockText says by how much a clock is ahead, as exactly as that is known.
func clockText(c *api.Clock) string {
	if c == nil {
		return ""
	}
	text := fmt.Sprintf("%+.3fs", c.Ahead)
	if c.Within >= 0.001 {
		text += fmt.Sprintf(" ±%.3fs", c.Within)
	}
	return text
}

func (c *membersCommand) headline(cluster *api.Cluster) {
	rows := [][2]string{
		{"Asked", cluster.NodeName + ", backend " + cluster.Backend},
		{"Quorum", quorumText(cluster)},
		{"Leader", leaderText(cluster)},
	}
	for _, text := range conflicts(cluster) {
		rows = append(rows, [2]string{"CONFLICT", text})
	}
	for _, p := range cluster.Peers {
		if p.Clock != nil && p.Clock.Excessive {
			rows = append(rows, [2]string{"CLOCKS", fmt.Sprintf("%s differs by %s: claims need clocks within 2 s of each other", p.Host, clockText(p.Clock))})
		}
	}
	pairs(c.Stdout, rows)
	if cluster.Lease != nil {
		c.printf("\nA lease in a store tells who leads, not who else takes part.\n")
	}
	c.printf("\n")
}
