package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// jobs are the same on all nodes: one job of each cluster policy.
const jobs = `defaults:
  captureStdout: true
  streamPrefix: ""
jobs: # seven fields in a schedule: the first one is the second
  - name: tick-leader-only
    schedule: "*/5 * * * * * *"
    clusterPolicy: Leader
    command: echo "$YACRON2_JOB_NAME, ${YACRON2_FIRING:+the firing of }${YACRON2_FIRING:-started by hand}"
  - name: tick-prefer-leader
    schedule: "*/5 * * * * * *"
    clusterPolicy: PreferLeader
    command: echo "$YACRON2_JOB_NAME, ${YACRON2_FIRING:+the firing of }${YACRON2_FIRING:-started by hand}"
  - name: tick-every-node
    schedule: "*/5 * * * * * *"
    clusterPolicy: EveryNode
    command: echo "$YACRON2_JOB_NAME, ${YACRON2_FIRING:+the firing of }${YACRON2_FIRING:-started by hand}"
`

// writeFiles makes the certificates and the three configuration directories.
func (d *demo) writeFiles(ctx context.Context) error {
	tls := filepath.Join(d.dir, "tls")
	for _, old := range append([]string{"tls"}, names...) {
		if err := os.RemoveAll(filepath.Join(d.dir, old)); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(tls, 0o700); err != nil {
		return err
	}
	if err := d.command(ctx, "tls", "ca", "create", "-dir", tls); err != nil {
		return err
	}
	for i, name := range names {
		if err := d.command(ctx, "tls", "cert", "create", "-ca", filepath.Join(tls, "ca.pem"),
			"-key", filepath.Join(tls, "ca-key.pem"), "-dir", tls, "-name", name, "-ip", "127.0.0.1"); err != nil {
			return err
		}
		config := filepath.Join(d.dir, name, "config")
		if err := os.MkdirAll(config, 0o700); err != nil {
			return err
		}
		for file, content := range map[string]string{"jobs.yaml": jobs, "cluster.yaml": d.cluster(i, tls)} {
			if err := os.WriteFile(filepath.Join(config, file), []byte(content), 0o600); err != nil {
				return err
			}
		}
	}
	return nil
}

// cluster returns the part of the configuration that differs from node to node.
func (d *demo) cluster(node int, tls string) string {
	var peers strings.Builder
	for i := range names {
		if i != node {
			fmt.Fprintf(&peers, "    - host: 127.0.0.1:%d\n", d.clusterPorts[i])
		}
	}
	return fmt.Sprintf(`web:
  listen:
    - %q
cluster:
  nodeName: %s
  listen: 127.0.0.1:%d
  electLeader: true
  tls:
    ca: %q
    cert: %q
    key: %q
  peers:
%s`, d.address(node), names[node], d.clusterPorts[node],
		filepath.Join(tls, "ca.pem"), filepath.Join(tls, names[node]+".pem"), filepath.Join(tls, names[node]+"-key.pem"),
		peers.String())
}

// guide says what to look at once the cluster runs.
func (d *demo) guide(leader string, agents []*agent) string {
	a, b, dir := d.address(0), d.address(1), d.relative(d.dir)
	return fmt.Sprintf(`
A cluster of three runs, and %[1]s leads it. Every five seconds a job of each policy
fires: tick-leader-only and tick-prefer-leader run on the leader, tick-every-node on all
three. Their output appears here; the agents' logs are %[5]s/yacron-?/log. Nodes that have
just started don't vote yet on what is due in the first two seconds, so that the first
firing of tick-leader-only may be missed; why, below, says so.

Look, in a browser: the dashboard is at %[2]s
and, of the other nodes, at %[3]s and %[7]s

Look, in another terminal:
  %[4]s members -address %[2]s
  %[4]s leader -address %[2]s
  curl -s %[2]s/cluster
  curl -s %[2]s/status
  %[4]s why -address %[2]s tick-leader-only
  %[4]s job run -address %[2]s tick-leader-only

Let the leader die, ask another node, and start it again:
  kill -9 %[6]d
  %[4]s leader -address %[3]s
  %[4]s members -address %[3]s
  %[4]s agent -config-dir %[5]s/yacron-a/config
The new leader runs tick-prefer-leader again, for up to 30 seconds back: such a job rather
runs twice than not at all. tick-leader-only never runs twice.

Change a job in %[5]s/yacron-c/config/jobs.yaml: the agent reads it, and runs other jobs
than the two that are left as a majority:
  %[4]s members -address %[7]s

Ctrl-C stops everything.
`, leader, a, b, d.binary, dir, agents[0].pid(), d.address(2))
}
