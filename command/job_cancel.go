package command

import (
	"flag"

	"github.com/yacron2/yacron2/api"
)

// jobCancelCommand ends the running instances of a job.
type jobCancelCommand struct{ Meta }

func (c *jobCancelCommand) flags() *flag.FlagSet {
	fs := c.flagSet()
	c.clientFlags(fs)
	return fs
}

// Synopsis implements cli.Command.
func (c *jobCancelCommand) Synopsis() string { return "Cancel a running job" }

// Help implements cli.Command.
func (c *jobCancelCommand) Help() string {
	return help("job cancel [options] JOB", `
Ends all instances of a job that run on the node of the agent asked, and waits
until they have ended: SIGTERM, and SIGKILL after the job's killTimeout. Pending
retries of the job are dropped.

Exit codes: 0 they have ended, 1 there was none or the agent could not be asked,
2 misuse.`, c.flags())
}

// Run implements cli.Command.
func (c *jobCancelCommand) Run(args []string) int {
	return c.order(c.flags(), args, (*api.Client).Cancel, "Cancelled")
}
