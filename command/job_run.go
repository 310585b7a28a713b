package command

import (
	"flag"

	"github.com/yacron2/yacron2/api"
)

// jobRunCommand starts a job now.
type jobRunCommand struct{ Meta }

func (c *jobRunCommand) flags() *flag.FlagSet {
	fs := c.flagSet()
	c.clientFlags(fs)
	return fs
}

// Synopsis implements cli.Command.
func (c *jobRunCommand) Synopsis() string { return "Start a job now" }

// Help implements cli.Command.
func (c *jobRunCommand) Help() string {
	return help("job run [options] JOB", `
Starts a job now, on the node of the agent asked, whatever its schedule says and
whoever leads the cluster. Its concurrencyPolicy holds: with Forbid nothing starts
while the job runs there.

Does not wait for the end: yacron2 job history JOB tells it.

Exit codes: 0 the agent took the order, 1 it did not (the job is disabled, or the
agent stops), 2 misuse.`, c.flags())
}

// Run implements cli.Command.
func (c *jobRunCommand) Run(args []string) int {
	return c.order(c.flags(), args, (*api.Client).Start, "Started")
}
