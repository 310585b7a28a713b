package command

import (
	"flag"
	"fmt"
	"slices"
	"strings"

	"github.com/mitchellh/cli"
	"github.com/posener/complete"
)

// entry is one row of the command table.
type entry struct {
	name    string // words as typed
	section string // heading in the list of commands; "" for what is not listed
	build   func(Meta) cli.Command
	args    argument // what it takes beside options
}

// argument is a kind of argument, for completion.
type argument int

const (
	argNone argument = iota
	argJob
	argPaths
	argShell
)

// The headings of the list of commands, in order.
const (
	sectionRun     = "Run"
	sectionCluster = "Ask a running agent"
	sectionFiles   = "Without an agent"
)

// table of all commands, in the order in which they are listed.
func entries() []entry {
	return []entry{
		{"agent", sectionRun, func(m Meta) cli.Command { return &agentCommand{Meta: m} }, argNone},
		{"members", sectionCluster, func(m Meta) cli.Command { return &membersCommand{Meta: m} }, argNone},
		{"leader", sectionCluster, func(m Meta) cli.Command { return &leaderCommand{Meta: m} }, argNone},
		{"fleet", sectionCluster, func(m Meta) cli.Command { return &fleetCommand{Meta: m} }, argNone},
		{"why", sectionCluster, func(m Meta) cli.Command { return &whyCommand{Meta: m} }, argJob},
		{"events", sectionCluster, func(m Meta) cli.Command { return &eventsCommand{Meta: m} }, argNone},
		{"monitor", sectionCluster, func(m Meta) cli.Command { return &monitorCommand{Meta: m} }, argNone},
		{"reload", sectionCluster, func(m Meta) cli.Command { return &reloadCommand{Meta: m} }, argNone},
		{"job", "", jobGroup, argNone},
		{"job list", sectionCluster, func(m Meta) cli.Command { return &jobListCommand{Meta: m} }, argNone},
		{"job show", sectionCluster, func(m Meta) cli.Command { return &jobShowCommand{Meta: m} }, argJob},
		{"job history", sectionCluster, func(m Meta) cli.Command { return &jobHistoryCommand{Meta: m} }, argJob},
		{"job logs", sectionCluster, func(m Meta) cli.Command { return &jobLogsCommand{Meta: m} }, argJob},
		{"job run", sectionCluster, func(m Meta) cli.Command { return &jobRunCommand{Meta: m} }, argJob},
		{"job cancel", sectionCluster, func(m Meta) cli.Command { return &jobCancelCommand{Meta: m} }, argJob},
		{"job pause", sectionCluster, func(m Meta) cli.Command { return &jobPauseCommand{Meta: m} }, argJob},
		{"job resume", sectionCluster, func(m Meta) cli.Command { return &jobResumeCommand{Meta: m} }, argJob},
		{"validate", sectionFiles, func(m Meta) cli.Command { return &validateCommand{Meta: m} }, argPaths},
		{"config", "", configGroup, argNone},
		{"config show", sectionFiles, func(m Meta) cli.Command { return &configShowCommand{Meta: m} }, argPaths},
		{"next", sectionFiles, func(m Meta) cli.Command { return &nextCommand{Meta: m} }, argPaths},
		{"tls", "", tlsGroup, argNone},
		{"tls ca", "", tlsCAGroup, argNone},
		{"tls ca create", sectionFiles, func(m Meta) cli.Command { return &tlsCACreateCommand{Meta: m} }, argNone},
		{"tls cert", "", tlsCertGroup, argNone},
		{"tls cert create", sectionFiles, func(m Meta) cli.Command { return &tlsCertCreateCommand{Meta: m} }, argNone},
		{"tls inspect", sectionFiles, func(m Meta) cli.Command { return &tlsInspectCommand{Meta: m} }, argPaths},
		{"size", sectionFiles, func(m Meta) cli.Command { return &sizeCommand{Meta: m} }, argNone},
		{"completion", sectionFiles, func(m Meta) cli.Command { return &completionCommand{Meta: m} }, argShell},
		{"version", sectionFiles, func(m Meta) cli.Command { return &versionCommand{Meta: m} }, argNone},
	}
}

// command builds the entry's command together with what can be completed after it.
func (e entry) command(m Meta) cli.Command {
	command := &completing{Command: e.build(m), args: complete.PredictNothing}
	if own, ok := command.Command.(interface{ flags() *flag.FlagSet }); ok {
		command.flags = own.flags
	}
	switch e.args {
	case argJob:
		command.args = predictJobs(m)
	case argPaths:
		command.args = complete.PredictFiles("*")
	case argShell:
		command.args = complete.PredictSet("bash", "zsh", "fish")
	}
	return command
}

// Run executes the command line args, without the program's name, and returns the
// exit code.
func Run(args []string, env Env) int {
	completes := env.Getenv("COMP_LINE") != ""
	if len(args) == 0 && !completes {
		_, _ = fmt.Fprintln(env.Stderr, overview())
		return exitMisuse
	}
	if !completes && strings.HasPrefix(args[0], "-") && !slices.Contains(helpFlags, args[0]) {
		translated, code := translate(args, env)
		if translated == nil {
			return code
		}
		args = translated
	}

	commands := map[string]cli.CommandFactory{}
	var names []string
	for _, e := range entries() {
		command := e.command(Meta{Env: env, name: e.name})
		commands[e.name] = func() (cli.Command, error) { return command, nil }
		names = append(names, e.name)
	}
	c := cli.NewCLI("yacron2", "")
	c.Args = args
	c.Commands = commands
	c.HelpFunc = func(map[string]cli.CommandFactory) string { return overview() }
	// Otherwise there would be options that edit the user's files.
	c.Autocomplete = completes
	c.HelpWriter, c.ErrorWriter = env.Stdout, env.Stderr

	if name := c.Subcommand(); !completes && name != "" && commands[name] == nil {
		env.errorf("there is no command %q%s", name, didYouMean(name, names))
		env.hintf("yacron2 -help lists the commands")
		return exitMisuse
	}
	code, err := c.Run()
	if err != nil {
		env.errorf("%v", err)
		return exitFailed
	}
	return code
}

// helpFlags ask for help wherever they stand.
var helpFlags = []string{"-h", "-help", "--help"}

// didYouMean returns a question after the nearest candidate, or "".
func didYouMean(word string, candidates []string) string {
	if near := nearest(word, candidates); near != "" {
		return fmt.Sprintf(", did you mean %q?", near)
	}
	return ""
}

// overview lists the commands under their headings.
func overview() string {
	var b strings.Builder
	b.WriteString("Usage: yacron2 COMMAND [options] [arguments]\n\n" +
		"A cron agent, alone or as a cluster that runs each job once.\n")
	for _, section := range []string{sectionRun, sectionCluster, sectionFiles} {
		b.WriteString("\n" + section + ":\n")
		for _, e := range entries() {
			if e.section == section {
				fmt.Fprintf(&b, "  %-15s  %s\n", e.name, e.build(Meta{}).Synopsis())
			}
		}
	}
	b.WriteString("\nyacron2 COMMAND -help tells more.")
	return b.String()
}

// group is a word that only leads to its subcommands.
type group struct {
	Meta
	synopsis string
}

func (g *group) Synopsis() string { return g.synopsis }

func (g *group) Help() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Usage: yacron2 %s SUBCOMMAND [options] [arguments]\n\n%s.\n\nSubcommands:\n", g.name, g.synopsis)
	for _, e := range g.below() {
		fmt.Fprintf(&b, "\n  %-10s %s", strings.TrimPrefix(e.name, g.name+" "), e.build(Meta{}).Synopsis())
	}
	return b.String()
}

// below returns the subcommands, one level down.
func (g *group) below() []entry {
	var list []entry
	for _, e := range entries() {
		if rest, ok := strings.CutPrefix(e.name, g.name+" "); ok && !strings.Contains(rest, " ") {
			list = append(list, e)
		}
	}
	return list
}

// Run is called only if what follows is none of the subcommands.
func (g *group) Run(args []string) int {
	if len(args) == 0 {
		_, _ = fmt.Fprintln(g.Stderr, g.Help())
		return exitMisuse
	}
	var names []string
	for _, e := range g.below() {
		names = append(names, strings.TrimPrefix(e.name, g.name+" "))
	}
	g.errorf("yacron2 %s has no subcommand %q%s", g.name, args[0], didYouMean(args[0], names))
	g.hintf("yacron2 %s -help lists the subcommands", g.name)
	return exitMisuse
}
