package command

import (
	"flag"
	"strconv"
	"strings"

	"github.com/mitchellh/cli"

	"github.com/yacron2/yacron2/agent"
	"github.com/yacron2/yacron2/agent/config"
)

func configGroup(m Meta) cli.Command {
	return &group{m, "Look at a configuration"}
}

// configShowCommand shows what a configuration comes to.
type configShowCommand struct {
	Meta
	source sourceFlags
	job    string
}

func (c *configShowCommand) flags() *flag.FlagSet {
	fs := c.flagSet()
	c.source.add(fs, &c.Env)
	fs.StringVar(&c.job, "job", "", "Show this `JOB` alone.")
	c.formatFlag(fs)
	return fs
}

// Synopsis implements cli.Command.
func (c *configShowCommand) Synopsis() string { return "Show each value, and where it came from" }

// Help implements cli.Command.
func (c *configShowCommand) Help() string {
	return help("config show [options] [PATH...]", `
Shows what a configuration comes to when includes and defaults are applied: each
value that is in effect, and the file and line that it came from, or that it is
built in. Secrets, and what may be one, show as ***. PATH is a file or a folder,
like -config-file and -config-dir.

Exit codes: 0 shown, 1 the configuration is not valid or has no such job, 2 misuse.`, c.flags())
}

// Run implements cli.Command.
func (c *configShowCommand) Run(args []string) int {
	if !c.parse(c.flags(), args, len(args)) {
		return exitMisuse
	}
	for _, path := range c.args {
		c.source.addPath(path)
	}
	if !c.source.fill(&c.Meta) {
		return exitFailed
	}
	cfg, diags := agent.Explain(agent.Options{ConfigDirs: c.source.dirs, ConfigFiles: c.source.files})
	if diags.HasErrors() {
		return c.failConfig(diags)
	}
	all := cfg.Explanation
	if c.job != "" {
		return c.showJob(all.Jobs)
	}
	if c.format == formatJSON {
		return c.json(all)
	}
	c.values(all.Settings)
	for _, job := range all.Jobs {
		c.printf("\nJob %s\n\n", plain(job.Name))
		c.values(job.Values)
	}
	return exitOK
}

// showJob shows the one job that was asked for.
func (c *configShowCommand) showJob(jobs []config.JobValues) int {
	names := make([]string, len(jobs))
	for i, job := range jobs {
		names[i] = job.Name
		switch {
		case job.Name != c.job:
		case c.format == formatJSON:
			return c.json(job)
		default:
			c.values(job.Values)
			return exitOK
		}
	}
	c.errorf("the configuration has no job %q%s", c.job, didYouMean(c.job, names))
	return exitFailed
}

// values lists values. They come last in their lines, since some are long.
func (c *configShowCommand) values(list []config.Value) {
	rows := make([][]string, len(list))
	for i, v := range list {
		rows[i] = []string{v.Key, v.Origin.String(), valueText(v.Text)}
	}
	table(c.Stdout, []string{"KEY", "FROM", "VALUE"}, rows)
}

// valueText puts a value that a line of a table can't show as it is in quotes, as both
// YAML and HCL know them: one of several lines, one that begins or ends with a blank, or
// an empty one.
func valueText(text string) string {
	if text == "" || strings.TrimSpace(text) != text || strings.ContainsFunc(text, func(r rune) bool { return !strconv.IsPrint(r) }) {
		return strconv.Quote(text)
	}
	return text
}
