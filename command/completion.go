package command

import (
	"context"
	"flag"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/mitchellh/cli"
	"github.com/posener/complete"

	"github.com/yacron2/yacron2/api"
)

// completionCommand prints what makes a shell complete this program's words.
type completionCommand struct{ Meta }

// shells maps each shell to its script; PATH stands for this program. A shell asks by
// calling the program with the line so far in the variable COMP_LINE.
var shells = map[string]string{
	"bash": "complete -C PATH yacron2\n",
	"zsh":  "autoload -U +X bashcompinit && bashcompinit\ncomplete -o nospace -C PATH yacron2\n",
	"fish": `function __complete_yacron2
    set -lx COMP_LINE (commandline -cp)
    PATH
end
complete -f -c yacron2 -a "(__complete_yacron2)"
`,
}

func (c *completionCommand) flags() *flag.FlagSet { return c.flagSet() }

// Synopsis implements cli.Command.
func (c *completionCommand) Synopsis() string {
	return "Let a shell complete commands, options and jobs"
}

// Help implements cli.Command.
func (c *completionCommand) Help() string {
	return help("completion bash|zsh|fish", `
Prints what lets a shell complete commands, options and names of jobs, which come
from the agent at `+envAddress+`. For all shells that you start from now on:

  echo 'source <(yacron2 completion bash)' >> ~/.bashrc
  echo 'source <(yacron2 completion zsh)' >> ~/.zshrc
  yacron2 completion fish > ~/.config/fish/completions/yacron2.fish`, c.flags())
}

// Run implements cli.Command.
func (c *completionCommand) Run(args []string) int {
	if !c.parse(c.flags(), args, 1) {
		return exitMisuse
	}
	script := ""
	if len(c.args) == 1 {
		script = shells[c.args[0]]
	}
	if script == "" {
		c.misuse("name the shell: bash, zsh or fish")
		return exitMisuse
	}
	path, err := os.Executable()
	if err != nil {
		return c.fail(err)
	}
	c.printf("%s", strings.ReplaceAll(script, "PATH", shellJoin([]string{path})))
	return exitOK
}

// completing adds to a command what can be completed after it.
type completing struct {
	cli.Command
	flags func() *flag.FlagSet
	args  complete.Predictor
}

var (
	_ cli.CommandAutocomplete = (*completing)(nil)
	_ cli.CommandHelpTemplate = (*completing)(nil)
)

// HelpTemplate implements cli.CommandHelpTemplate: a help is whole as it is.
func (c *completing) HelpTemplate() string { return "{{.Help}}" }

// AutocompleteArgs implements cli.CommandAutocomplete.
func (c *completing) AutocompleteArgs() complete.Predictor { return c.args }

// AutocompleteFlags implements cli.CommandAutocomplete.
func (c *completing) AutocompleteFlags() complete.Flags {
	flags := complete.Flags{"-help": complete.PredictNothing}
	if c.flags == nil {
		return flags
	}
	c.flags().VisitAll(func(f *flag.Flag) {
		flags["-"+f.Name] = predictValue(f)
	})
	return flags
}

// predictValue completes the value of an option by what its help calls it.
func predictValue(f *flag.Flag) complete.Predictor {
	switch value, _ := flag.UnquoteUsage(f); {
	case value == "":
		return complete.PredictNothing // of a switch
	case f.Name == "format":
		return complete.PredictSet(formatTable, formatJSON)
	case f.Name == "log-format":
		return complete.PredictSet("text", formatJSON)
	case f.Name == "log-level":
		return complete.PredictSet(logLevels...)
	case value == "DIR":
		return complete.PredictDirs("*")
	case value == "FILE":
		return complete.PredictFiles("*")
	}
	return complete.PredictAnything
}

// predictionPatience is how long a shell waits for the names of jobs.
const predictionPatience = time.Second

// predictJobs completes the name of a job that the agent knows.
func predictJobs(m Meta) complete.Predictor {
	return complete.PredictFunc(func(complete.Args) []string {
		client, err := api.NewClient(api.ClientConfig{
			Address: m.Getenv(envAddress), Token: m.Getenv(envToken), CAFile: m.Getenv(envCAFile),
		})
		if err != nil {
			return nil
		}
		defer client.Close()
		ctx, cancel := context.WithTimeout(context.Background(), predictionPatience)
		defer cancel()
		jobs, err := client.Jobs(ctx)
		if err != nil {
			return nil
		}
		names := make([]string, len(jobs))
		for i, j := range jobs {
			names[i] = j.Name
		}
		slices.Sort(names)
		return names
	})
}
