package command

import (
	"context"
	"flag"
	"fmt"
	"strconv"
	"strings"

	"github.com/yacron2/yacron2/api"
)

// jobHistoryCommand lists the finished runs of one job.
type jobHistoryCommand struct {
	Meta
	newest int
}

func (c *jobHistoryCommand) flags() *flag.FlagSet {
	fs := c.flagSet()
	fs.IntVar(&c.newest, "n", 10, "How many of the newest runs, and of the missed firings, to list: `COUNT`, 10 by default.")
	c.formatFlag(fs)
	c.clientFlags(fs)
	return fs
}

// Synopsis implements cli.Command.
func (c *jobHistoryCommand) Synopsis() string { return "List the runs of a job, and what it missed" }

// Help implements cli.Command.
func (c *jobHistoryCommand) Help() string {
	return help("job history [options] JOB", `
Lists the runs of a job that have ended on the node of the agent asked, oldest
first, and the firings that did not run there, with their reasons. With
-format=json the answer is that of GET /jobs/JOB/runs, whole.`, c.flags())
}

// Run implements cli.Command.
func (c *jobHistoryCommand) Run(args []string) int {
	if !c.parse(c.flags(), args, 1) {
		return exitMisuse
	}
	name, ok := c.jobName()
	switch {
	case !ok:
		return exitMisuse
	case c.newest < 1:
		c.misuse("-n=%d: write a number above 0", c.newest)
		return exitMisuse
	}
	client, err := c.client()
	if err != nil {
		return c.fail(err)
	}
	defer client.Close()
	ctx := context.Background()
	runs, err := client.Runs(ctx, name)
	if err != nil {
		return c.failJob(ctx, client, name, err)
	}
	if c.format == formatJSON {
		return c.json(runs)
	}
	c.printf("%s: %s\n", plain(name), statsText(&runs.Stats))
	if list := runs.Runs[max(0, len(runs.Runs)-c.newest):]; len(list) > 0 {
		c.printf("\n")
		table(c.Stdout, runHeader(), runRows(list))
	}
	c.missed(runs.Missed[max(0, len(runs.Missed)-c.newest):])
	return exitOK
}

// missed lists firings that did not run, if there are any.
func (m *Meta) missed(list []api.Missed) {
	if len(list) == 0 {
		return
	}
	rows := make([][]string, len(list))
	for i, f := range list {
		rows[i] = []string{instantText(f.Firing), f.Code, f.Reason}
	}
	m.printf("\n")
	table(m.Stdout, []string{"MISSED", "CAUSE", "REASON"}, rows)
}

// runHeader names the columns of runRows.
func runHeader() []string {
	return []string{"ENDED", "OUTCOME", "EXIT", "TOOK", "CPU", "MEMORY", "TRIGGER", "NODE", "REASON"}
}

func runRows(runs []api.Run) [][]string {
	rows := make([][]string, len(runs))
	for i, r := range runs {
		exit, trigger := "", r.Trigger
		if r.ExitCode != nil {
			exit = strconv.Itoa(*r.ExitCode)
		}
		if r.Attempt > 1 {
			trigger += fmt.Sprintf(" %d", r.Attempt)
		}
		reason := string(r.FailReason)
		if len(r.Notes) > 0 {
			reason = strings.Trim(reason+"; "+strings.Join(r.Notes, "; "), "; ")
		}
		rows[i] = []string{instantText(r.FinishedAt), r.Outcome, exit, secondsText(r.Duration), secondsText(r.CPUSeconds), sizeText(r.MaxRSSBytes), trigger, r.Node, reason}
	}
	return rows
}

// statsText sums up the runs that the agent keeps.
func statsText(s *api.Stats) string {
	if s.Total == 0 {
		return "no runs yet"
	}
	text := fmt.Sprintf("%s kept, %d success, %d failure, %d cancelled", count(s.Total, "run"), s.Success, s.Failure, s.Cancelled)
	if s.Lost > 0 {
		text += fmt.Sprintf(", %d lost", s.Lost)
	}
	if s.SuccessRate != nil {
		text += fmt.Sprintf(", success rate %.0f%%", 100**s.SuccessRate)
	}
	if s.AvgDuration != nil {
		text += ", " + secondsText(s.AvgDuration) + " on average"
	}
	return text
}
