package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/yacron2/yacron2/api"
)

// names are those of the three nodes.
var names = []string{"yacron-a", "yacron-b", "yacron-c"}

const (
	electionLimit = 30 * time.Second // for the first leader
	pollEvery     = 50 * time.Millisecond
	requestLimit  = 2 * time.Second
)

// demo is one run of the demo.
type demo struct {
	binary       string
	dir          string
	apiPorts     []int
	clusterPorts []int
	out          io.Writer
}

func (d *demo) run(ctx context.Context) error {
	for _, port := range append(append([]int{}, d.apiPorts...), d.clusterPorts...) {
		if err := checkFree(port); err != nil {
			return err
		}
	}
	var err error
	if d.dir, err = filepath.Abs(d.dir); err != nil {
		return err
	}
	if err := d.writeFiles(ctx); err != nil {
		return err
	}

	out := &lineWriter{w: d.out}
	var agents []*agent
	var wg sync.WaitGroup
	defer wg.Wait()
	defer func() { stopAll(agents) }()
	for i, name := range names {
		a, err := startAgent(d.binary, filepath.Join(d.dir, name), name, out)
		if err != nil {
			return err
		}
		agents = append(agents, a)
		wg.Go(func() {
			<-a.ended
			out.printf("-- %s has ended: %v (its log: %s)", name, a.state(), d.relative(a.logFile))
		})
		out.printf("-- %s started as process %d, API on %s", name, a.pid(), d.address(i))
	}
	leader, err := d.awaitLeader(ctx, agents)
	if ctx.Err() != nil {
		return nil // Ctrl-C
	}
	if err != nil {
		return err
	}
	out.printf("%s", d.guide(leader, agents))
	<-ctx.Done()
	out.printf("\n-- stopping")
	return nil
}

// checkFree returns an error that helps if something listens on the port.
func checkFree(port int) error {
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return fmt.Errorf("port %d of 127.0.0.1 can't be used: %w\nStop what listens there, or choose other ports:\n"+
			"  bin/demo -api-ports 18080,18081,18082 -cluster-ports 19440,19441,19442", port, errors.Unwrap(err))
	}
	return l.Close()
}

func (d *demo) address(node int) string { return fmt.Sprintf("http://127.0.0.1:%d", d.apiPorts[node]) }

// relative shortens a path for people.
func (d *demo) relative(path string) string {
	wd, err := os.Getwd()
	if err != nil {
		return path
	}
	if rel, err := filepath.Rel(wd, path); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return path
}

// awaitLeader waits until all agents see the same leader.
func (d *demo) awaitLeader(ctx context.Context, agents []*agent) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, electionLimit,
		fmt.Errorf("no leader after %v; see the logs in %s", electionLimit, d.relative(d.dir)))
	defer cancel()
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		if leader := d.leader(ctx); leader != "" {
			return leader, nil
		}
		for _, a := range agents {
			select {
			case <-a.ended:
				return "", fmt.Errorf("%s did not start:\n%s", a.name, a.log())
			default:
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
	}
}

// leader returns the leader on whom all nodes agree, "" if there is none yet.
func (d *demo) leader(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, requestLimit)
	defer cancel()
	leader := ""
	for i := range names {
		client, err := api.NewClient(api.ClientConfig{Address: d.address(i)})
		if err != nil {
			return ""
		}
		c, err := client.Cluster(ctx)
		client.Close()
		if err != nil || c.Leader == "" || leader != "" && leader != string(c.Leader) {
			return ""
		}
		leader = string(c.Leader)
	}
	return leader
}

// command runs the agent's binary for one of its short commands.
func (d *demo) command(ctx context.Context, args ...string) error {
	out, err := exec.CommandContext(ctx, d.binary, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s %v: %w\n%s", d.binary, args, err, out)
	}
	return nil
}
