package command

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/yacron2/yacron2/api"
)

// monitorPause is the time between two attempts to reach an agent that went away.
const monitorPause = time.Second

// monitorCommand follows the log of an agent.
type monitorCommand struct {
	Meta
	filter api.MonitorFilter
	retry  time.Duration
}

func (c *monitorCommand) flags() *flag.FlagSet {
	fs := c.flagSet()
	fs.StringVar(&c.filter.Level, "log-level", "info", "Lowest `LEVEL` to show: "+strings.Join(api.LogLevels(), ", ")+". It may be lower than the agent's own.")
	fs.IntVar(&c.filter.Last, "last", 0, "Begin with the last `N` lines from before, as far as the agent keeps them (1024 at most).")
	fs.DurationVar(&c.retry, "retry", 30*time.Second, "`DURATION` to wait for an agent that goes away meanwhile, as in a restart; 0s ends at once.")
	c.formatFlag(fs)
	c.clientFlags(fs)
	return fs
}

// Synopsis implements cli.Command.
func (c *monitorCommand) Synopsis() string { return "Follow the log of an agent" }

// Help implements cli.Command.
func (c *monitorCommand) Help() string {
	return help("monitor [options]", `
Shows the log of the agent asked as it is written, until it is interrupted, at a
level of one's own: the agent itself goes on to log what it is configured to. One
line each, with -format=json one object a line. It takes a token of scope operate
if the agent has tokens. A connection that ends is made again, and goes on where
it was; what is missing is told.

Exit codes: 1 the agent could not be asked or stayed away, 2 misuse.`, c.flags())
}

// Run implements cli.Command.
func (c *monitorCommand) Run(args []string) int {
	if !c.parse(c.flags(), args, 0) {
		return exitMisuse
	}
	switch {
	case !slices.Contains(api.LogLevels(), c.filter.Level):
		c.misuse("there is no level %q%s", c.filter.Level, didYouMean(c.filter.Level, api.LogLevels()))
		return exitMisuse
	case c.filter.Last < 0 || c.filter.Last > 1024:
		c.misuse("-last=%d: write a number from 0 to 1024", c.filter.Last)
		return exitMisuse
	case c.retry < 0:
		c.misuse("-retry=%s: write 0s or longer", c.retry)
		return exitMisuse
	}
	client, err := c.client()
	if err != nil {
		return c.fail(err)
	}
	defer client.Close()
	return c.fail(c.follow(context.Background(), client))
}

// follow shows lines until the agent stays away, or is asked in vain to begin with.
func (c *monitorCommand) follow(ctx context.Context, client *api.Client) error {
	var away time.Time // since when; zero before the first answer
	for {
		err := client.Monitor(ctx, c.filter, func(line api.AgentLine) error {
			c.filter.After = line.ID
			return c.show(line)
		})
		var gone *api.UnreachableError
		switch now := time.Now(); {
		case !errors.As(err, &gone) || c.retry == 0:
			return err
		case gone.Began:
			away = now
			c.hintf("the agent at %s went away: trying again for %s", client.Address(), c.retry)
		case away.IsZero() || now.Sub(away) >= c.retry:
			return err
		}
		wait := time.NewTimer(min(monitorPause, c.retry))
		select {
		case <-wait.C:
		case <-ctx.Done():
			wait.Stop()
			return ctx.Err()
		}
	}
}

// show prints one line, in the form that the agent's log has.
func (c *monitorCommand) show(line api.AgentLine) error {
	if c.format == formatJSON {
		return json.NewEncoder(c.Stdout).Encode(identifiedLine{line.ID, line})
	}
	_, err := fmt.Fprintln(c.Stdout, lineText(line))
	return err
}

// identifiedLine is a line in JSON, with its id.
type identifiedLine struct {
	ID string `json:"id"`
	api.AgentLine
}

// lineText is a line for people.
func lineText(line api.AgentLine) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %-7s ", line.At.UTC().Format("2006-01-02T15:04:05.000Z"), "["+strings.ToUpper(line.Level)+"]")
	if line.Component != "" {
		b.WriteString(line.Component + ": ")
	}
	b.WriteString(line.Message)
	if len(line.Fields) > 0 {
		b.WriteByte(':')
	}
	for _, key := range slices.Sorted(maps.Keys(line.Fields)) {
		value := line.Fields[key]
		if value == "" || strings.ContainsAny(value, " \t\n\"=") {
			value = strconv.Quote(value)
		}
		b.WriteString(" " + key + "=" + value)
	}
	return plain(b.String())
}
