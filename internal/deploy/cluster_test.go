package deploy

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/yacron2/yacron2/internal/netcluster"
	"github.com/yacron2/yacron2/internal/testcluster"
)

// members is the part of "yacron2 members -format=json" that the tests look at.
type members struct {
	Leader  string
	Quorate bool
	Members []struct{ Node, Status string }
}

func (p *project) members(name string) (members, error) {
	out, code := p.exec(name, "yacron2", "members", "-format=json")
	var m members
	if err := json.Unmarshal([]byte(out), &m); err != nil {
		return m, fmt.Errorf("%s: members (%d): %w: %s", name, code, err, out)
	}
	return m, nil
}

// agree returns the condition that these nodes see each other agree, and that leader; ""
// is not looked at.
func (p *project) agree(leader string, nodes ...string) func() error {
	return func() error {
		for _, node := range nodes {
			m, err := p.members(node)
			if err != nil {
				return err
			}
			var agreed []string
			for _, other := range m.Members {
				if other.Status == "agreed" || other.Status == "self" {
					agreed = append(agreed, other.Node)
				}
			}
			slices.Sort(agreed)
			if !slices.Equal(agreed, nodes) {
				return fmt.Errorf("%s agrees with %v", node, agreed)
			}
			if leader != "" && m.Leader != leader {
				return fmt.Errorf("%s sees %q lead", node, m.Leader)
			}
		}
		return nil
	}
}

// says returns the condition that a service has printed a line with a text more often
// than so many times.
func (p *project) says(name, text string, more int) func() error {
	return func() error {
		if n := p.count(name, text); n <= more {
			return fmt.Errorf("%s has printed %q %d times", name, text, n)
		}
		return nil
	}
}

func (p *project) count(name, text string) int {
	n := 0
	for _, line := range p.lines(name) {
		if strings.Contains(line, text) {
			n++
		}
	}
	return n
}

// mustNotDouble fails the test if a line that names a firing was printed twice.
func (p *project) mustNotDouble(line *regexp.Regexp, nodes ...string) {
	p.t.Helper()
	count := map[string]int{}
	for _, l := range p.lines(nodes...) {
		if m := line.FindStringSubmatch(l); m != nil {
			count[m[1]]++
		}
	}
	if len(count) == 0 {
		p.t.Errorf("nothing printed %s", line)
	}
	for firing, n := range count {
		if n > 1 {
			p.t.Errorf("%s: %s ran %d times", line, firing, n)
		}
	}
}

// What the first lines of the file tell to try.
func TestComposeCluster(t *testing.T) {
	t.Parallel()
	p := up(t, "docker-compose-cluster.yml", nil)
	nodes := []string{"yacron-a", "yacron-b", "yacron-c"}
	testcluster.Eventually(t, "agreement", p.agree("yacron-a", nodes...))
	testcluster.Eventually(t, "invoices", p.says("yacron-a", "invoices sent by yacron-a", 0))
	for _, n := range nodes {
		testcluster.Eventually(t, "a rotated log", p.says(n, "log of "+n+" rotated", 0))
		healthy := slices.Clone(p.image.healthcheck)
		if out, code := p.exec(n, healthy...); code != 0 {
			t.Errorf("%s is not healthy: %s", n, out)
		}
	}

	p.stop("yacron-a")
	testcluster.Eventually(t, "another leader", p.agree("yacron-b", "yacron-b", "yacron-c"))
	testcluster.Eventually(t, "invoices", p.says("yacron-b", "invoices sent by yacron-b", 0))
	p.stop("yacron-b")
	testcluster.Eventually(t, "no majority", func() error {
		if out, code := p.exec("yacron-c", "yacron2", "leader"); code != 2 {
			return fmt.Errorf("leader: %d, %s", code, out)
		}
		out, code := p.exec("yacron-c", "yacron2", "why", "send")
		if code != 0 || !strings.Contains(out, "no-quorum") && !strings.Contains(out, "majority") && !strings.Contains(out, "quorum") {
			return fmt.Errorf("why (%d): %s", code, out)
		}
		return nil
	})
	testcluster.Eventually(t, "the other jobs go on", p.says("yacron-c", "certificate renewed by yacron-c", p.count("yacron-c", "certificate renewed")))
	if n := p.count("yacron-c", "invoices sent"); n != 0 {
		t.Errorf("a node without a majority sent %d invoices", n)
	}
	p.start("yacron-a")
	p.start("yacron-b")
	testcluster.Eventually(t, "agreement again", p.agree("yacron-a", nodes...))
	testcluster.Eventually(t, "invoices again", p.says("yacron-a", "invoices sent by yacron-a", p.count("yacron-a", "invoices sent")))
	p.mustNotDouble(regexp.MustCompile(`invoices sent by \S+ for (\S+)`), nodes...)
}

// The walk-through of example/acme-platform/README.md.
func TestComposeAcme(t *testing.T) {
	t.Parallel()
	p := up(t, "docker-compose-acme.yml", nil)
	all := []string{"berlin", "lisbon", "oslo", "prague", "vienna"}
	testcluster.Eventually(t, "agreement", p.agree("", all...))
	out, code := p.exec("oslo", "yacron2", "fleet")
	for _, job := range []string{"billing/invoices", "shop/warm-cache", "platform/rotate-logs"} {
		if code != 0 || !strings.Contains(out, job) {
			t.Errorf("fleet (%d) lacks %s:\n%s", code, job, out)
		}
	}
	texts := []string{"invoices sent for", "payments booked", "statements fetched", "cache warm", "articles indexed"}
	testcluster.EventuallyWithin(t, 2*testcluster.Patience, "all jobs run, and not on one node", func() error {
		owners := map[string]bool{}
		for _, text := range texts {
			found := false
			for _, n := range all {
				if p.count(n, text) > 0 {
					owners[n], found = true, true
				}
			}
			if !found {
				return fmt.Errorf("nothing printed %q", text)
			}
		}
		if len(owners) < 2 {
			return fmt.Errorf("all on %v", owners)
		}
		return nil
	})
	for _, n := range all {
		testcluster.Eventually(t, "each node's own @reboot job", p.says(n, n+" is up", 0))
	}
	migrated := 0
	for _, n := range all {
		migrated += p.count(n, "tables migrated by")
	}
	if migrated > 1 {
		t.Errorf("a @reboot job of policy Leader ran %d times", migrated)
	}

	p.stop("prague")
	testcluster.Eventually(t, "four agree", p.agree("", "berlin", "lisbon", "oslo", "vienna"))
	p.kill("vienna")
	testcluster.Eventually(t, "three agree", p.agree("", "berlin", "lisbon", "oslo"))
	p.start("prague")
	p.start("vienna")
	testcluster.Eventually(t, "all agree", p.agree("", all...))
	p.stop("berlin", "lisbon", "oslo")
	testcluster.Eventually(t, "no majority", func() error {
		out, code := p.exec("vienna", "yacron2", "why", "billing/invoices")
		if code != 0 || !strings.Contains(out, "quorum") && !strings.Contains(out, "majority") {
			return fmt.Errorf("why (%d): %s", code, out)
		}
		m, err := p.members("vienna")
		if err != nil {
			return err
		}
		return testcluster.Expect("quorate", m.Quorate, false)
	})
	warmed := func() int { return p.count("vienna", "cache warm") + p.count("prague", "cache warm") }
	before := warmed()
	testcluster.Eventually(t, "the cache is warmed all the same", func() error {
		if n := warmed(); n <= before {
			return fmt.Errorf("warmed %d times", n)
		}
		return nil
	})
	for _, n := range []string{"berlin", "lisbon", "oslo"} {
		p.start(n)
	}
	testcluster.Eventually(t, "all agree again", p.agree("", all...))
	p.mustNotDouble(regexp.MustCompile(`12 invoices sent for (\S+)`), all...)
}

// Ten nodes deal the jobs out, or give all to one.
func TestComposeLarge(t *testing.T) {
	t.Parallel()
	for _, distribution := range []string{"", "single-leader"} {
		t.Run("DISTRIBUTION="+distribution, func(t *testing.T) {
			p := up(t, "docker-compose-cluster-large.yml", map[string]string{"DISTRIBUTION": distribution})
			var nodes []string
			for i := range 10 {
				nodes = append(nodes, fmt.Sprintf("node-%d", i))
			}
			leader := ""
			if distribution != "" {
				leader = "node-0"
			}
			testcluster.EventuallyWithin(t, 2*testcluster.Patience, "agreement", p.agree(leader, nodes...))
			testcluster.EventuallyWithin(t, 2*testcluster.Patience, "several jobs have run", func() error {
				owners, runs := map[string]bool{}, 0
				for _, n := range nodes {
					if crunched := p.count(n, "counted to 3000000"); crunched > 0 {
						owners[n], runs = true, runs+crunched
					}
				}
				if distribution == "" && len(owners) < 2 || runs < 2 {
					return fmt.Errorf("%d runs on %v", runs, owners)
				}
				if distribution != "" && (len(owners) > 1 || !owners["node-0"]) {
					t.Fatalf("jobs ran on %v", owners)
				}
				return nil
			})
		})
	}
}

// Two agents and the real etcd, with what the first lines of the file tell to try.
func TestComposeEtcd(t *testing.T) {
	t.Parallel()
	netcluster.Require(t, "etcd")
	p := up(t, "example/etcd/docker-compose.yml", nil)
	agents := []string{"yacron2-a", "yacron2-b"}
	leader := ""
	leads := func(not string) func() error {
		return func() error {
			for _, a := range agents {
				if !p.container(a).running() {
					continue
				}
				if out, code := p.exec(a, "yacron2", "leader", "-self"); code == 0 && a != not {
					leader = a
					return nil
				} else if code > 2 {
					return fmt.Errorf("leader (%d): %s", code, out)
				}
			}
			return errors.New("nobody leads")
		}
	}
	testcluster.Eventually(t, "a leader", leads(""))
	first := leader
	testcluster.Eventually(t, "an invoice with a token", p.says(first, "invoices sent by "+first+" with token ", 0))
	for _, a := range agents {
		testcluster.Eventually(t, "each agent's own job", p.says(a, "log of "+a+" rotated", 0))
	}
	p.stop(first)
	testcluster.Eventually(t, "another leader", leads(first))
	testcluster.Eventually(t, "its invoices", p.says(leader, "invoices sent by "+leader+" with token ", 0))
	token := regexp.MustCompile(`with token (\d+)`)
	newest := func(a string) int {
		n := 0
		for _, line := range p.lines(a) {
			if m := token.FindStringSubmatch(line); m != nil {
				n, _ = strconv.Atoi(m[1]) // it has digits alone
			}
		}
		return n
	}
	if newest(leader) <= newest(first) || newest(first) == 0 {
		t.Errorf("the tokens are %d and then %d", newest(first), newest(leader))
	}
	p.kill("etcd")
	testcluster.EventuallyWithin(t, 2*testcluster.Patience, "Leader jobs stand down", func() error {
		if out, code := p.exec(leader, "yacron2", "leader"); code != 2 {
			return fmt.Errorf("leader (%d): %s", code, out)
		}
		return nil
	})
	testcluster.Eventually(t, "the others go on", p.says(leader, "certificate renewed by", p.count(leader, "certificate renewed by")))
}
