package command

import (
	"context"
	"flag"
	"fmt"

	"github.com/yacron2/yacron2/api"
)

// jobLogsCommand follows the output of a job.
type jobLogsCommand struct {
	Meta
	follow bool
}

func (c *jobLogsCommand) flags() *flag.FlagSet {
	fs := c.flagSet()
	fs.BoolVar(&c.follow, "f", false, "Go on with what the run prints until it ends.")
	c.clientFlags(fs)
	return fs
}

// Synopsis implements cli.Command.
func (c *jobLogsCommand) Synopsis() string {
	return "Show the output of a job's newest run, or follow it"
}

// Help implements cli.Command.
func (c *jobLogsCommand) Help() string {
	return help("job logs [options] JOB", `
Writes what the newest run of a job on the node of the agent asked has printed so
far, and with -f what it prints until it ends. Its two streams go to those of this
command. Only what the job captures is kept, and of a long output the last lines.

Exit codes: 0 all was written, 1 the agent could not be asked or went away,
2 misuse.`, c.flags())
}

// Run implements cli.Command.
func (c *jobLogsCommand) Run(args []string) int {
	return c.withJob(c.flags(), args, func(ctx context.Context, client *api.Client, name string) int {
		logs := client.LogsSoFar
		if c.follow {
			logs = client.Logs
		}
		end, err := logs(ctx, name, func(line api.LogLine) error {
			w := c.Stdout
			if line.Stream == "stderr" {
				w = c.Stderr
			}
			_, err := fmt.Fprintln(w, line.Line)
			return err
		})
		if err != nil {
			return c.failJob(ctx, client, name, err)
		}
		if end.Reason == api.LogEndNoOutput {
			c.hintf("%s has not run at %s yet", plain(name), client.Address())
		}
		return exitOK
	})
}
