package command

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"slices"
	"strings"

	"github.com/yacron2/yacron2/api"
)

// eventsCommand follows what happens on a node.
type eventsCommand struct {
	Meta
	filter api.EventFilter
}

func (c *eventsCommand) flags() *flag.FlagSet {
	fs := c.flagSet()
	fs.StringVar(&c.filter.Job, "job", "", "Tell of this `JOB` alone.")
	fs.Func("kind", "`KINDS` of events to tell of, separated by commas; all by default. "+
		"They are "+strings.Join(api.EventKinds(), ", ")+".", c.addKinds)
	fs.StringVar(&c.filter.After, "after", "", "Begin after the event of this `ID`, which -format=json shows, as far as the agent still knows what followed it.")
	c.formatFlag(fs)
	c.clientFlags(fs)
	return fs
}

func (c *eventsCommand) addKinds(value string) error {
	for kind := range strings.SplitSeq(value, ",") {
		if !slices.Contains(api.EventKinds(), kind) {
			return fmt.Errorf("there is no kind %q%s", kind, didYouMean(kind, api.EventKinds()))
		}
		c.filter.Kinds = append(c.filter.Kinds, kind)
	}
	return nil
}

// Synopsis implements cli.Command.
func (c *eventsCommand) Synopsis() string { return "Follow what happens on a node" }

// Help implements cli.Command.
func (c *eventsCommand) Help() string {
	return help("events [options]", `
Tells what happens on the node of the agent asked, from now on and until it is
interrupted: runs that start and end, firings that are missed, changes of leader,
quorum, conflicts and peers, and reloads. One line each, with -format=json one
object a line.

Exit codes: 1 the agent could not be asked or went away, 2 misuse.`, c.flags())
}

// Run implements cli.Command.
func (c *eventsCommand) Run(args []string) int {
	if !c.parse(c.flags(), args, 0) {
		return exitMisuse
	}
	client, err := c.client()
	if err != nil {
		return c.fail(err)
	}
	defer client.Close()
	return c.fail(client.Events(context.Background(), c.filter, func(e api.Event) error {
		if c.format == formatJSON {
			return json.NewEncoder(c.Stdout).Encode(identified{e.ID, e})
		}
		subject, text := eventText(&e)
		_, err := fmt.Fprintf(c.Stdout, "%s  %-13s  %-20s  %s\n", instantText(e.At), plain(e.Kind), plain(subject), plain(text))
		return err
	}))
}

// identified is an event in JSON, with its id.
type identified struct {
	ID string `json:"id"`
	api.Event
}

// eventText says whom an event is about, and what happened.
func eventText(e *api.Event) (subject, text string) {
	subject = e.Job
	if subject == "" {
		subject = e.Node
	}
	switch {
	case e.Missed != nil:
		text = fmt.Sprintf("%s (%s): %s", instantText(e.Missed.Firing), e.Missed.Code, e.Missed.Reason)
	case e.Role != nil:
		text = roleText(e.Role)
	case e.Member != nil:
		if subject = string(e.Member.NodeName); subject == "" {
			subject = e.Member.Host
		}
		text = strings.TrimSuffix(e.Member.Status+": "+string(e.Member.LastError), ": ")
		if e.Member.Stopping {
			text += ", stopping"
		}
		if clock := e.Member.Clock; clock != nil && clock.Excessive {
			text += ", clock " + clockText(clock)
		}
	case e.Reload != nil:
		text = fmt.Sprintf("%s (%s): %s, %s, %s", e.Reload.State, e.Reload.Trigger,
			count(e.Reload.Jobs, "job"), count(e.Reload.Errors, "error"), count(e.Reload.Warnings, "warning"))
	case e.Lost != nil:
		text = "some events are missing here"
		if *e.Lost > 0 {
			text = count(*e.Lost, "event") + " missing here"
		}
	default:
		text = runEventText(e)
	}
	return subject, text
}

// runEventText tells of a run.
func runEventText(e *api.Event) string {
	text := e.Trigger
	if e.Attempt > 1 {
		text += fmt.Sprintf(" %d", e.Attempt)
	}
	if e.PID != 0 {
		text += fmt.Sprintf(", pid %d", e.PID)
	}
	if e.Run != nil {
		text += ", " + exitText(e.Run.Outcome, e.Run.ExitCode)
		if took := secondsText(e.Run.Duration); took != "" {
			text += " after " + took
		}
		if e.Run.FailReason != "" {
			text += ": " + string(e.Run.FailReason)
		}
	}
	if !e.RetryAt.IsZero() {
		text += ", retry at " + instantText(e.RetryAt)
	}
	return text
}

// roleText says what a node is in its cluster.
func roleText(r *api.Role) string {
	switch {
	case r.Error != "":
		return "the cluster does not run: " + r.Error
	case !r.Enabled:
		return "no cluster"
	}
	var list []string
	switch {
	case r.IsLeader:
		list = append(list, "leads")
	case r.Leader != "":
		list = append(list, string(r.Leader)+" leads")
	default:
		list = append(list, "no leader")
	}
	if !r.Quorate {
		list = append(list, "no quorum")
	}
	if r.Conflict {
		list = append(list, "CONFLICT")
	}
	if r.Stopping {
		list = append(list, "stopping")
	}
	return strings.Join(list, ", ")
}
