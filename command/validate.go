package command

import (
	"flag"

	"github.com/yacron2/yacron2/agent"
	"github.com/yacron2/yacron2/agent/config"
	"github.com/yacron2/yacron2/api"
)

// validateCommand checks a configuration without running it.
type validateCommand struct {
	Meta
	source   sourceFlags
	jobSetID bool
	strict   bool
	listen   bool
}

func (c *validateCommand) flags() *flag.FlagSet {
	fs := c.flagSet()
	c.source.add(fs, &c.Env)
	fs.BoolVar(&c.jobSetID, "job-set-id", false, "Print the job-set id alone, for scripts that compare nodes.")
	fs.BoolVar(&c.strict, "strict", false, "Let warnings fail the check too.")
	fs.BoolVar(&c.listen, "check-listen", false, "Also bind the addresses of the web section for a moment and resolve its tokens. Addresses that a running agent serves are taken, which is an error.")
	c.formatFlag(fs)
	return fs
}

// Synopsis implements cli.Command.
func (c *validateCommand) Synopsis() string { return "Check a configuration" }

// Help implements cli.Command.
func (c *validateCommand) Help() string {
	return help("validate [options] [PATH...]", `
Checks a configuration with the loader of the agent and shows every problem of every
file, with its line and what to write instead. PATH is a file or a folder and stands
for -config-file or -config-dir.

Users, groups, time zones and secret files are looked up on this machine. Whether
certificates are good and other nodes can be reached shows only when an agent runs.

Exit codes: 0 valid, 1 not valid, 2 misuse.`, c.flags())
}

// validation is the JSON form of the result.
type validation struct {
	Valid       bool               `json:"valid"`
	Errors      int                `json:"errors"`
	Warnings    int                `json:"warnings"`
	Jobs        int                `json:"jobs"`       // 0 if not valid
	JobSetID    api.NullString     `json:"job_set_id"` // null if not valid
	Diagnostics config.Diagnostics `json:"diagnostics"`
}

// Run implements cli.Command.
func (c *validateCommand) Run(args []string) int {
	if !c.parse(c.flags(), args, len(args)) {
		return exitMisuse
	}
	for _, path := range c.args {
		c.source.addPath(path)
	}
	if !c.source.fill(&c.Meta) {
		return exitFailed
	}
	cfg, diags := agent.Load(agent.Options{ConfigDirs: c.source.dirs, ConfigFiles: c.source.files})
	if c.listen && cfg != nil {
		for _, err := range agent.CheckListen(cfg.Web) {
			diags = append(diags, config.Diagnostic{Severity: config.Error, Key: "web", Message: err.Error()})
		}
	}
	result := validation{
		Errors: len(diags.Errors()), Warnings: len(diags.Warnings()),
		Diagnostics: append(config.Diagnostics{}, diags...),
	}
	result.Valid = result.Errors == 0 && (result.Warnings == 0 || !c.strict)
	if result.Errors == 0 {
		result.Jobs, result.JobSetID = len(cfg.Jobs), api.NullString(cfg.JobSetID)
	}
	code := exitOK
	if !result.Valid {
		code = exitFailed
	}
	if c.format == formatJSON {
		return max(code, c.json(result))
	}
	// What is wrong goes to standard error. A script that wants the id of a valid
	// configuration wants nothing else.
	if !c.jobSetID || !result.Valid {
		_ = diags.Render(c.Stderr)
	}
	problems := count(result.Errors, "error") + ", " + count(result.Warnings, "warning")
	switch {
	case !result.Valid:
		c.errorf("not valid: %s", problems)
	case c.jobSetID:
		c.printf("%s\n", cfg.JobSetID)
	case result.Warnings > 0:
		c.printf("Valid, with %s: %s, job set %s\n", count(result.Warnings, "warning"), count(result.Jobs, "job"), cfg.JobSetID)
	default:
		c.printf("Valid: %s, job set %s\n", count(result.Jobs, "job"), cfg.JobSetID)
	}
	if result.Valid && !c.jobSetID && result.Jobs == 0 && len(c.source.dirs) > 0 {
		c.hintf("there is nothing to run; of a folder, files are read whose names end in .yaml, .yml, .hcl or .crontab")
	}
	return code
}
