package command

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/yacron2/yacron2/agent"
	"github.com/yacron2/yacron2/agent/config"
	"github.com/yacron2/yacron2/scheduler"
)

// try lists the firings of a schedule that is in no file, and tells what is odd or wrong
// about it.
func (c *nextCommand) try() int {
	switch {
	case !slices.ContainsFunc(c.given, func(g config.Given) bool { return g.Key == "schedule" }):
		c.misuse("-timezone, -utc and -day-match go with -schedule: those of jobs stand in the configuration")
		return exitMisuse
	case c.job != "":
		c.misuse("-job and -schedule exclude each other")
		return exitMisuse
	}
	jobs, code := c.company()
	if code != exitOK {
		return code
	}
	preview, diags := agent.Preview(c.given, jobs, c.from, c.count)
	if diags.HasErrors() {
		_ = diags.Errors().Render(c.Stderr)
		return exitFailed
	}
	if c.format == formatJSON {
		return c.json(preview)
	}
	rows := make([][]string, len(preview.Firings))
	for i, f := range preview.Firings {
		local, err := time.Parse(time.RFC3339, f.Local)
		if err != nil {
			return c.fail(err)
		}
		rows[i] = []string{instantText(f.At), local.Format(inZone), string(preview.Timezone), string(f.Note)}
	}
	if len(rows) == 0 {
		c.printf("Nothing fires.\n")
	} else {
		table(c.Stdout, []string{"UTC", "IN ITS ZONE", "ZONE", "NOTE"}, rows)
	}
	if names := preview.Jobs; len(names) > 0 {
		more := ""
		if rest := preview.JobsTotal - len(names); rest > 0 {
			more = " and " + strconv.Itoa(rest) + " more"
		}
		c.printf("The same schedule: %s%s.\n", strings.Join(names, ", "), more)
	}
	for _, w := range preview.Warnings {
		c.warnf("%s", w.Message)
		if w.Hint != "" {
			c.hintf("%s", w.Hint)
		}
	}
	return exitOK
}

// company returns the jobs of the configuration that is named, if one is.
func (c *nextCommand) company() ([]*scheduler.Job, int) {
	if len(c.source.dirs)+len(c.source.files) == 0 {
		return nil, exitOK
	}
	cfg, diags := agent.Load(agent.Options{ConfigDirs: c.source.dirs, ConfigFiles: c.source.files})
	if diags.HasErrors() {
		return nil, c.failConfig(diags)
	}
	return cfg.Jobs, exitOK
}
