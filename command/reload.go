package command

import (
	"flag"
	"fmt"
	"io"

	"github.com/yacron2/yacron2/api"
)

// reloadCommand lets an agent read its configuration again.
type reloadCommand struct{ Meta }

func (c *reloadCommand) flags() *flag.FlagSet { return c.askFlags() }

// Synopsis implements cli.Command.
func (c *reloadCommand) Synopsis() string { return "Let the agent read its configuration again" }

// Help implements cli.Command.
func (c *reloadCommand) Help() string {
	return help("reload [options]", `
Lets the agent asked read its configuration again, and waits for the outcome. All of
it is put into effect, or nothing if there are errors, which are shown then. Running
jobs keep the definition that they were started with.

Exit codes: 0 in effect, 1 refused or the agent could not be asked, 2 misuse.`, c.flags())
}

// Run implements cli.Command.
func (c *reloadCommand) Run(args []string) int {
	status, code, ok := ask(&c.Meta, c.flags(), args, (*api.Client).Reload)
	if !ok {
		return code
	}
	if status.State != api.ConfigLoaded {
		code = exitFailed
	}
	if c.format == formatJSON {
		return max(code, c.json(status))
	}
	writeProblems(c.Stderr, "warning", status.Warnings)
	if code != exitOK {
		writeProblems(c.Stderr, "error", status.Errors)
		c.errorf("refused, the old configuration stays in effect: %s", count(len(status.Errors), "error"))
		return code
	}
	c.printf("Reloaded: %s, job set %s\n", count(status.Jobs, "job"), plain(status.JobSetID))
	return code
}

// writeProblems writes what an agent found in its files, in the form of validate.
func writeProblems(w io.Writer, severity string, list []api.Problem) {
	for _, p := range list {
		place := p.File
		if p.Line > 0 {
			place += fmt.Sprintf(":%d", p.Line)
		}
		if p.Line > 0 && p.Column > 0 {
			place += fmt.Sprintf(":%d", p.Column)
		}
		if place != "" {
			place += ": "
		}
		job := ""
		if p.Job != "" {
			job = fmt.Sprintf("job %q: ", p.Job)
		}
		_, _ = fmt.Fprintf(w, "%s%s: %s%s\n", plain(place), severity, job, plain(p.Message))
		if p.Source != "" {
			_, _ = fmt.Fprintf(w, "  %d | %s\n", p.Line, plain(p.Source))
		}
		if p.Hint != "" {
			_, _ = fmt.Fprintf(w, "  hint: %s\n", plain(p.Hint))
		}
	}
}
