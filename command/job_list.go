package command

import (
	"flag"

	"github.com/yacron2/yacron2/api"
)

// jobListCommand lists all jobs of an agent.
type jobListCommand struct{ Meta }

func (c *jobListCommand) flags() *flag.FlagSet { return c.askFlags() }

// Synopsis implements cli.Command.
func (c *jobListCommand) Synopsis() string { return "List the jobs" }

// Help implements cli.Command.
func (c *jobListCommand) Help() string {
	return help("job list [options]", `
Lists the jobs of the agent asked in the order of its configuration, what they do on
that node now, and how their newest run there ended. With -format=json the answer is
that of GET /jobs.`, c.flags())
}

// Run implements cli.Command.
func (c *jobListCommand) Run(args []string) int {
	jobs, code, ok := ask(&c.Meta, c.flags(), args, (*api.Client).Jobs)
	if !ok {
		return code
	}
	if c.format == formatJSON {
		return c.json(append([]api.Job{}, jobs...))
	}
	if len(jobs) == 0 {
		c.printf("This agent has no jobs.\n")
		return exitOK
	}
	running, disabled, gated, owned := 0, 0, false, false
	for _, j := range jobs {
		if j.Running {
			running++
		}
		if !j.Enabled {
			disabled++
		}
		gated = gated || j.ClusterPolicy != ""
		owned = owned || j.ClusterOwner != nil
	}
	c.printf("%s, %d running, %d disabled\n\n", count(len(jobs), "job"), running, disabled)
	header := []string{"JOB", "SCHEDULE", "ZONE", "STATE", "LAST RUN"}
	// Only a cluster with election has more to say.
	if gated {
		header = append(header, "POLICY")
	}
	if owned {
		header = append(header, "OWNER")
	}
	rows := make([][]string, len(jobs))
	for i := range jobs {
		j := &jobs[i]
		rows[i] = []string{j.Name, j.Schedule, zoneText(j), stateText(j), runText(j.LastRun, c.Now())}
		if gated {
			rows[i] = append(rows[i], j.ClusterPolicy)
		}
		if owned {
			owner := ""
			if j.ClusterOwner != nil {
				owner = string(*j.ClusterOwner)
			}
			rows[i] = append(rows[i], owner)
		}
	}
	table(c.Stdout, header, rows)
	return exitOK
}
