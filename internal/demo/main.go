// Command demo runs a cluster of three agents on loopback: it mints throwaway
// certificates with the agent's own command, writes three configuration directories,
// starts the agents, says what to look at, and stops everything on Ctrl-C.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("demo", flag.ContinueOnError)
	flags.SetOutput(stderr)
	d := demo{out: stdout}
	flags.StringVar(&d.binary, "binary", "bin/yacron2", "the agent's binary")
	flags.StringVar(&d.dir, "dir", "demo", "folder of the demo's files; what an earlier demo left there is replaced")
	api := flags.String("api-ports", "8080,8081,8082", "ports of the three HTTP interfaces")
	cluster := flags.String("cluster-ports", "9440,9441,9442", "ports of the three cluster listeners")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return 0
	} else if err != nil {
		return 2
	}
	var err error
	if d.apiPorts, err = ports(*api); err == nil {
		d.clusterPorts, err = ports(*cluster)
	}
	if err != nil {
		fmt.Fprintln(stderr, "demo:", err)
		return 2
	}
	if err := d.run(ctx); err != nil {
		fmt.Fprintln(stderr, "demo:", err)
		return 1
	}
	return 0
}

// ports reads a list of one port per node.
func ports(list string) ([]int, error) {
	fields := strings.Split(list, ",")
	if len(fields) != len(names) {
		return nil, fmt.Errorf("%q: want %d ports, separated by commas", list, len(names))
	}
	numbers := make([]int, len(fields))
	for i, f := range fields {
		n, err := strconv.ParseUint(strings.TrimSpace(f), 10, 16)
		if err != nil || n == 0 {
			return nil, fmt.Errorf("%q is no port", f)
		}
		numbers[i] = int(n)
	}
	return numbers, nil
}
