package command

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/yacron2/yacron2/api"
)

// longestPause is what agents allow.
const longestPause = 30 * 24 * time.Hour

// jobPauseCommand keeps a job from firing for a time.
type jobPauseCommand struct {
	Meta
	length time.Duration // 0: not given
	until  time.Time     // zero: not given
	note   string
	by     string
}

func (c *jobPauseCommand) flags() *flag.FlagSet {
	fs := c.flagSet()
	fs.Func("for", "How long: a `TIME` such as 90s, 45m, 8h or 7d, an hour by default, 30d at most.", c.setLength)
	fs.Func("until", "The `INSTANT` at which it fires again, like 2026-03-29T01:30:00Z, instead of -for.", setInstant(&c.until))
	fs.StringVar(&c.note, "note", "", "Why: a `TEXT` for those who wonder.")
	fs.StringVar(&c.by, "by", "", "`NAME` of who pauses it; yours by default, by the variable USER.")
	c.formatFlag(fs)
	c.clientFlags(fs)
	return fs
}

// setLength reads a time, in days too.
func (c *jobPauseCommand) setLength(value string) error {
	length, err := time.ParseDuration(value)
	if text, ok := strings.CutSuffix(value, "d"); ok {
		var days float64
		days, err = strconv.ParseFloat(text, 64)
		length = time.Duration(days * float64(24*time.Hour))
	}
	if err != nil || length < time.Second || length > longestPause {
		return errors.New("write 1s to 30d")
	}
	c.length = length
	return nil
}

// lasts returns how long the pause is to last, an hour if nothing was said.
func (c *jobPauseCommand) lasts() (time.Duration, error) {
	switch {
	case c.length != 0 && !c.until.IsZero():
		return 0, errors.New("-for and -until exclude each other")
	case c.length != 0:
		return c.length, nil
	case c.until.IsZero():
		return time.Hour, nil
	}
	length := c.until.Sub(c.Now())
	if length < time.Second || length > longestPause {
		return 0, fmt.Errorf("-until=%s: write an instant that is to come, within 30 days", c.until.Format(time.RFC3339))
	}
	return length, nil
}

// Synopsis implements cli.Command.
func (c *jobPauseCommand) Synopsis() string { return "Keep a job from firing for a time" }

// Help implements cli.Command.
func (c *jobPauseCommand) Help() string {
	return help("job pause [options] JOB", `
Keeps a job from firing on the node of the agent asked, until the time is over or it
is resumed. What is skipped is not made up for. A running instance goes on, and
yacron2 job run starts the job as ever. With a data directory a pause outlives the
agent.

A pause holds on one node. In a cluster the firings of that node's jobs are skipped,
not taken over: pause the job on every node that may own it.

Exit codes: 0 paused, 1 refused or the agent could not be asked, 2 misuse.`, c.flags())
}

// Run implements cli.Command.
func (c *jobPauseCommand) Run(args []string) int {
	if !c.parse(c.flags(), args, 1) {
		return exitMisuse
	}
	name, ok := c.jobName()
	if !ok {
		return exitMisuse
	}
	length, err := c.lasts()
	if err != nil {
		c.misuse("%s", err.Error())
		return exitMisuse
	}
	if c.by == "" {
		c.by = c.Getenv("USER")
	}
	client, err := c.client()
	if err != nil {
		return c.fail(err)
	}
	defer client.Close()
	ctx := context.Background()
	pause, err := client.Pause(ctx, name, api.PauseRequest{Seconds: new(length.Seconds()), Note: c.note, By: c.by})
	if err != nil {
		return c.failJob(ctx, client, name, err)
	}
	if c.format == formatJSON {
		return c.json(pause)
	}
	c.printf("Paused %s at %s until %s.\n", plain(name), client.Address(), instantText(pause.Until))
	return exitOK
}

// jobResumeCommand ends a pause.
type jobResumeCommand struct{ Meta }

func (c *jobResumeCommand) flags() *flag.FlagSet {
	fs := c.flagSet()
	c.clientFlags(fs)
	return fs
}

// Synopsis implements cli.Command.
func (c *jobResumeCommand) Synopsis() string { return "Let a paused job fire again" }

// Help implements cli.Command.
func (c *jobResumeCommand) Help() string {
	return help("job resume [options] JOB", `
Ends the pause of a job on the node of the agent asked. It fires again at its next
instant; what was skipped is not made up for.

Exit codes: 0 resumed, 1 it was not paused or the agent could not be asked,
2 misuse.`, c.flags())
}

// Run implements cli.Command.
func (c *jobResumeCommand) Run(args []string) int {
	return c.order(c.flags(), args, (*api.Client).Resume, "Resumed")
}

// pauseText says until when a job is paused, by whom, and why.
func pauseText(p *api.Pause) string {
	text := "until " + instantText(p.Until)
	if p.Until.IsZero() {
		text = "until it is resumed"
	}
	if p.By != "" {
		text += " by " + string(p.By)
	}
	if p.Note != "" {
		text += ": " + string(p.Note)
	}
	return text
}
