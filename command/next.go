package command

import (
	"cmp"
	"flag"
	"slices"
	"time"

	"github.com/yacron2/yacron2/agent"
	"github.com/yacron2/yacron2/agent/config"
	"github.com/yacron2/yacron2/api"
	"github.com/yacron2/yacron2/scheduler"
)

// nextCommand lists the coming firings of a configuration.
type nextCommand struct {
	Meta
	source sourceFlags
	count  int
	job    string
	from   time.Time      // zero: now
	given  []config.Given // a schedule to try; empty: none
}

func (c *nextCommand) flags() *flag.FlagSet {
	fs := c.flagSet()
	c.source.add(fs, &c.Env)
	fs.IntVar(&c.count, "n", 10, "How many firings to list: `COUNT`, 10 by default.")
	fs.StringVar(&c.job, "job", "", "List the firings of this `JOB` alone.")
	fs.Func("from", "List what fires after this `INSTANT`, in RFC 3339 form or as a date (midnight UTC). Now by default.", setInstant(&c.from))
	for _, key := range []struct{ option, key, usage string }{
		{"schedule", "schedule", "Try this `SCHEDULE` instead, which need not be in any file."},
		{"timezone", "timezone", "With -schedule: the `ZONE` of it, an IANA name. UTC by default."},
		{"utc", "utc", "With -schedule: `no` for the zone of this machine, where there is no -timezone."},
		{"day-match", "dayMatch", "With -schedule: `RULE` for its two day fields, and or or. The former by default."},
	} {
		fs.Func(key.option, key.usage, func(text string) error {
			c.given = append(c.given, config.Given{Key: key.key, Text: text})
			return nil
		})
	}
	c.formatFlag(fs)
	return fs
}

// Synopsis implements cli.Command.
func (c *nextCommand) Synopsis() string { return "List the coming firings of a configuration" }

// Help implements cli.Command.
func (c *nextCommand) Help() string {
	return help("next [options] [PATH...]", `
Lists when the jobs of a configuration will fire, in UTC and in the job's zone, and
points out what changes of the clock do to them. PATH is a file or a folder, like
-config-file and -config-dir. Disabled jobs are left out, unless named with -job.

With -schedule it tries a schedule before it is in a file, or says what is wrong
with it, as in: yacron2 next -schedule "30 2 * * *" -timezone Europe/Berlin
Where a configuration is named too, it tells of jobs there that have the same
schedule or start at the same instants.`, c.flags())
}

// firing is one row of the list.
type firing struct {
	Job   string         `json:"job"`
	At    api.Instant    `json:"at"`
	Local string         `json:"local"` // RFC 3339 in the job's zone
	Zone  api.NullString `json:"zone"`
	Note  api.NullString `json:"note"` // what a clock change does to it

	local time.Time
}

// Run implements cli.Command.
func (c *nextCommand) Run(args []string) int {
	if !c.parse(c.flags(), args, len(args)) {
		return exitMisuse
	}
	const most = 10_000
	if c.count < 1 || c.count > most {
		c.misuse("-n=%d: write 1 to %d", c.count, most)
		return exitMisuse
	}
	for _, path := range c.args {
		c.source.addPath(path)
	}
	if c.from.IsZero() {
		c.from = c.Now()
	}
	if len(c.given) > 0 {
		return c.try()
	}
	if !c.source.fill(&c.Meta) {
		return exitFailed
	}
	cfg, diags := agent.Load(agent.Options{ConfigDirs: c.source.dirs, ConfigFiles: c.source.files})
	if diags.HasErrors() {
		return c.failConfig(diags)
	}
	jobs, code := c.choose(cfg.Jobs)
	if code != exitOK {
		return code
	}
	firings := c.firings(jobs)
	if c.format == formatJSON {
		return c.json(firings)
	}
	if len(firings) == 0 {
		c.printf("Nothing fires.\n")
		return exitOK
	}
	rows := make([][]string, len(firings))
	for i, f := range firings {
		rows[i] = []string{instantText(f.At), f.local.Format(inZone), string(f.Zone), f.Job, string(f.Note)}
	}
	table(c.Stdout, []string{"UTC", "IN ITS ZONE", "ZONE", "JOB", "NOTE"}, rows)
	return exitOK
}

// inZone is how an instant is written in a job's zone.
const inZone = "Mon 2006-01-02 15:04:05 -07:00"

// choose returns the jobs whose firings are asked for.
func (c *nextCommand) choose(all []*scheduler.Job) ([]*scheduler.Job, int) {
	if c.job == "" {
		return slices.DeleteFunc(slices.Clone(all), func(j *scheduler.Job) bool { return !j.Enabled }), exitOK
	}
	names := make([]string, len(all))
	for i, j := range all {
		if names[i] = j.Name; j.Name == c.job {
			return []*scheduler.Job{j}, exitOK
		}
	}
	c.errorf("the configuration has no job %q%s", c.job, didYouMean(c.job, names))
	return nil, exitFailed
}

// firings returns the first firings of all jobs together, by instant and then in the
// order of the configuration.
func (c *nextCommand) firings(jobs []*scheduler.Job) []firing {
	list := []firing{}
	for _, j := range jobs {
		if j.Schedule.Reboot() {
			continue
		}
		for _, o := range scheduler.Upcoming(j.Schedule, j.Location, c.from, c.count) {
			list = append(list, firing{
				Job: j.Name, At: api.At(o.At), Local: o.Local.Format(time.RFC3339), Zone: api.NullString(j.Timezone),
				Note: api.NullString(o.Note), local: o.Local,
			})
		}
		// Keeps ten thousand jobs from holding all their firings at once.
		if len(list) > 64*c.count {
			list = earliest(list, c.count)
		}
	}
	return earliest(list, c.count)
}

func earliest(list []firing, n int) []firing {
	slices.SortStableFunc(list, func(a, b firing) int { return cmp.Compare(a.At.UnixNano(), b.At.UnixNano()) })
	return list[:min(len(list), n)]
}
