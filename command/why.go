package command

import (
	"context"
	"flag"
	"fmt"
	"time"

	"github.com/yacron2/yacron2/api"
)

// whyCommand tells what became of a job's firings, and why.
type whyCommand struct {
	Meta
	at time.Time // zero: all that is known
}

func (c *whyCommand) flags() *flag.FlagSet {
	fs := c.flagSet()
	fs.Func("at", "Tell of the firing at this `INSTANT` alone, in RFC 3339 form or as the tables show it.", setInstant(&c.at))
	c.formatFlag(fs)
	c.clientFlags(fs)
	return fs
}

// Synopsis implements cli.Command.
func (c *whyCommand) Synopsis() string { return "Tell why a job ran here, elsewhere or not at all" }

// Help implements cli.Command.
func (c *whyCommand) Help() string {
	return help("why [options] JOB", `
Tells what became of a job's firings on the node of the agent asked, and why: what
was decided about each, which of them were missed, and how the runs ended. It also
says what would become of a firing that was due now. Firings in a row that went the
same way take one line.

Each node knows its own reasons: ask the owner of a firing too.

Exit codes: 0 answered, 1 the agent could not be asked or has no such job,
2 misuse.`, c.flags())
}

// Run implements cli.Command.
func (c *whyCommand) Run(args []string) int {
	return c.withJob(c.flags(), args, func(ctx context.Context, client *api.Client, name string) int {
		why, err := client.Why(ctx, name, c.at)
		if err != nil {
			return c.failJob(ctx, client, name, err)
		}
		if c.format == formatJSON {
			return c.json(why)
		}
		c.show(&why)
		return exitOK
	})
}

func (c *whyCommand) show(why *api.Why) {
	head := [][2]string{{"Job", why.Name}, {"Node", why.Node}}
	if !c.at.IsZero() {
		head = append(head, [2]string{"Firing", instantText(api.At(c.at))})
	}
	if now := why.Now; now != nil {
		head = append(head, [2]string{"If due now", verdictText(now, why.Node)})
		if clusterAtFault(now) {
			head = append(head, [2]string{"Ask next", "yacron2 members: it says what is wrong with the cluster, and what to do"})
		}
	}
	pairs(c.Stdout, head)
	switch nothing := len(why.Decisions)+len(why.Missed)+len(why.Runs) == 0; {
	case nothing && c.at.IsZero():
		c.printf("\nNo firing of it has come due on this node yet.\n")
	case nothing:
		c.printf("\nNothing is known here of this firing: it was not due, or it is too long ago.\n")
	}
	if len(why.Decisions) > 0 {
		rows := make([][]string, len(why.Decisions))
		for i, d := range why.Decisions {
			rows[i] = []string{firingsText(&d), d.Trigger, d.Outcome, d.Code, string(d.Owner), d.Reason}
		}
		c.printf("\n")
		table(c.Stdout, []string{"FIRING", "TRIGGER", "OUTCOME", "CAUSE", "OWNER", "REASON"}, rows)
	}
	c.missed(why.Missed)
	if len(why.Runs) > 0 {
		c.printf("\n")
		table(c.Stdout, runHeader(), runRows(why.Runs))
	}
}

// clusterAtFault reports whether it is the state of the cluster that keeps a firing from
// running anywhere, as far as the node asked knows.
func clusterAtFault(v *api.WhyNow) bool {
	switch v.Code {
	case "no-quorum", "no-leader", "no-manager", "conflict":
		return v.Action != "run"
	}
	return false
}

// verdictText says what would become of a firing.
func verdictText(v *api.WhyNow, node string) string {
	text := v.Action
	if v.Owner != "" && string(v.Owner) != node {
		text += ", " + string(v.Owner) + " owns it"
	}
	return fmt.Sprintf("%s (%s): %s", text, v.Code, v.Reason)
}

// firingsText names a firing, or both ends of a row of them.
func firingsText(d *api.Decision) string {
	switch {
	case d.Firing.IsZero():
		return "at start"
	case d.Count < 2:
		return instantText(d.Firing)
	}
	return fmt.Sprintf("%s to %s (%d)", instantText(d.First), instantText(d.Firing), d.Count)
}
