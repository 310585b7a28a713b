package command

import (
	"flag"

	"github.com/yacron2/yacron2/internal/version"
)

// versionCommand prints the version of this binary.
type versionCommand struct{ Meta }

func (c *versionCommand) flags() *flag.FlagSet { return c.flagSet() }

// Synopsis implements cli.Command.
func (c *versionCommand) Synopsis() string { return "Print the version of this program" }

// Help implements cli.Command.
func (c *versionCommand) Help() string {
	return help("version", "Prints the version alone, for scripts. Needs no configuration and no agent.", c.flags())
}

// Run implements cli.Command.
func (c *versionCommand) Run(args []string) int {
	if !c.parse(c.flags(), args, 0) {
		return exitMisuse
	}
	c.printf("%s\n", version.Version)
	return exitOK
}
