// Yacron2 is a cron agent, alone or as a member of a cluster that runs each job once.
package main

import (
	"os"
	_ "time/tzdata" // zones work on machines that have none installed

	"github.com/yacron2/yacron2/command"
)

func main() {
	os.Exit(command.Run(os.Args[1:], command.ProcessEnv()))
}
