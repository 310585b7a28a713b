package command

import (
	"context"
	"flag"
	"strings"

	"github.com/yacron2/yacron2/api"
)

// jobShowCommand shows one job.
type jobShowCommand struct{ Meta }

func (c *jobShowCommand) flags() *flag.FlagSet {
	fs := c.flagSet()
	c.formatFlag(fs)
	c.clientFlags(fs)
	return fs
}

// Synopsis implements cli.Command.
func (c *jobShowCommand) Synopsis() string { return "Show one job" }

// Help implements cli.Command.
func (c *jobShowCommand) Help() string {
	return help("job show [options] JOB", `
Shows one job of the agent asked, what it does on that node now, and how its newest
run there ended. With -format=json the answer is that of GET /jobs/JOB.`, c.flags())
}

// Run implements cli.Command.
func (c *jobShowCommand) Run(args []string) int {
	return c.withJob(c.flags(), args, func(ctx context.Context, client *api.Client, name string) int {
		found, err := client.Job(ctx, name)
		switch {
		case err != nil:
			return c.failJob(ctx, client, name, err)
		case c.format == formatJSON:
			return c.json(found)
		}
		job := &found
		captured := "nothing"
		if streams := capturedStreams(job); len(streams) > 0 {
			captured = strings.Join(streams, ", ")
		}
		rows := [][2]string{
			{"Job", job.Name},
			{"Schedule", job.Schedule + " in zone " + zoneText(job)},
			{"Command", job.Command},
			{"Captures", captured},
			{"State", stateText(job)},
		}
		if job.Paused != nil {
			rows = append(rows, [2]string{"Paused", pauseText(job.Paused)})
		}
		if job.ClusterPolicy != "" {
			rows = append(rows, [2]string{"Policy", job.ClusterPolicy})
		}
		if job.ClusterOwner != nil {
			owner := string(*job.ClusterOwner)
			if owner == "" {
				owner = "none"
			}
			rows = append(rows, [2]string{"Owner", owner})
		}
		if last := job.LastRun; last == nil {
			rows = append(rows, [2]string{"Last run", "none yet"})
		} else {
			text := runText(last, c.Now())
			if took := secondsText(last.Duration); took != "" {
				text += ", took " + took
			}
			rows = append(rows, [2]string{"Last run", text})
			if last.FailReason != "" {
				rows = append(rows, [2]string{"Reason", string(last.FailReason)})
			}
		}
		pairs(c.Stdout, rows)
		return exitOK
	})
}

func capturedStreams(j *api.Job) []string {
	var list []string
	if j.CaptureStdout {
		list = append(list, "standard output")
	}
	if j.CaptureStderr {
		list = append(list, "standard error")
	}
	return list
}
