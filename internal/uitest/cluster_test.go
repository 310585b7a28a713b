package uitest

import (
	"fmt"
	"os"
	"testing"

	"github.com/yacron2/yacron2/internal/browser"
	"github.com/yacron2/yacron2/internal/testcluster"
)

// refused is what a page may report while the agent that it is of does not run.
const refused = `net::ERR_|status 503|status of 503|Failed to load resource`

// A page that is open while the leader dies shows the next one, without being touched.
func TestLeaderKilled(t *testing.T) {
	t.Parallel()
	c := three(t, testcluster.Job{Name: "job", Schedule: never, Command: "true", Policy: "Leader"})
	a, b, third := c.Nodes[0], c.Nodes[1], c.Nodes[2]
	p := open(t, b, browser.Options{})
	p.SeeText(panel, "yacron-b", "leader: yacron-a")
	for _, n := range c.Nodes {
		p.See(member(n.NodeName))
	}
	p.Gone(banner("quorum"))

	a.Kill()
	testcluster.Eventually(t, "the next leader", c.Agrees("yacron-b"))
	p.SeeText(panel, "yacron-b", "unreachable")
	p.Await("no other leader is shown", `!text(`+browser.Quote(panel)+`).includes('leader: yacron-a')`)
	p.Gone(banner("quorum"))
	p.Gone(banner("stale"))

	third.Kill()
	p.See(banner("quorum"))
	p.SeeText(banner("quorum"), "quorum")

	a.Start()
	p.Gone(banner("quorum"))
	p.SeeText(panel, "leader: yacron-a")
}

// What somebody has to put right on the very node that is looked at is told, until it is.
func TestOwnTroubles(t *testing.T) {
	t.Parallel()
	c := three(t, testcluster.Job{Name: "job", Schedule: never, Command: "true", Policy: "Leader"})
	n := c.Nodes[1]
	p := open(t, n, browser.Options{})
	p.SeeText(panel, "leader: yacron-a")
	key, err := os.ReadFile(n.KeyFile())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(n.KeyFile(), []byte("half a key"), 0o600); err != nil {
		t.Fatal(err)
	}
	p.SeeText(panel, "On this node: the certificate files as they are can't be used")
	if err := os.WriteFile(n.KeyFile(), key, 0o600); err != nil {
		t.Fatal(err)
	}
	p.Await("it is over", `!text(`+browser.Quote(panel)+`).includes("can't be used")`)
}

// A page whose own agent dies says that what it shows is old, and recovers by itself.
func TestOwnAgentKilled(t *testing.T) {
	t.Parallel()
	n := alone(t, testcluster.Job{Name: "job", Schedule: never, Command: "true"})
	p := open(t, n, browser.Options{})
	p.Gone(banner("stale"))
	p.Expect(refused)
	n.Kill()
	p.See(banner("stale"))
	p.See(row("job")) // the last that was known stays
	n.Start()
	p.Gone(banner("stale"))
	p.Click(button(row("job"), "run-button"))
	p.SeeText(row("job"), "ok")
}

// Two nodes with one name: the page says so where nobody can miss it, and names the name.
func TestConflict(t *testing.T) {
	t.Parallel()
	c := three(t, testcluster.Job{Name: "job", Schedule: never, Command: "true", Policy: "Leader"})
	b, third := c.Nodes[1], c.Nodes[2]
	p := open(t, b, browser.Options{})
	p.Gone(banner("conflict"))

	third.Kill()
	third.NodeName = "yacron-a"
	third.WriteConfig()
	third.Start()
	p.See(banner("conflict"))
	p.SeeText(banner("conflict"), "yacron-a", "paused")
	p.SeeText(panel, "standing down")
	p.Await("nobody is drawn as leader", "all("+browser.Quote(panel+" .leads")+").length === 0 && !text("+browser.Quote(panel)+").includes('leader')")

	third.Kill()
	third.NodeName = "yacron-c"
	third.WriteConfig()
	third.Start()
	p.Gone(banner("conflict"))
	p.SeeText(panel, "leader: yacron-a")
}

// Under spread each job shows its owner, as the API names it.
func TestSpreadOwners(t *testing.T) {
	t.Parallel()
	var jobs []testcluster.Job
	for _, name := range []string{"alpha", "beta", "gamma", "delta", "epsilon", "zeta"} {
		jobs = append(jobs, testcluster.Job{Name: name, Schedule: never, Command: "true", Policy: "Leader"})
	}
	jobs = append(jobs, testcluster.Job{Name: "everywhere", Schedule: never, Command: "true", Policy: "EveryNode"})
	c := start(t, testcluster.Options{Interval: 1, Distribution: "spread"}, jobs...)
	n := c.Nodes[0]
	testcluster.Eventually(t, "agreement", testcluster.All(c.Nodes[0].Sees(3, 3, ""), c.Nodes[1].Sees(3, 3, ""), c.Nodes[2].Sees(3, 3, "")))
	p := open(t, n, browser.Options{})
	owners := map[string]bool{}
	for _, job := range jobs[:6] {
		j, err := n.Job(job.Name)
		if err != nil {
			t.Fatal(err)
		}
		if j.ClusterOwner == nil {
			t.Fatalf("%s has no owner", job.Name)
		}
		p.SeeText(row(job.Name), string(*j.ClusterOwner))
		owners[string(*j.ClusterOwner)] = true
	}
	if len(owners) < 2 {
		t.Errorf("six jobs have the owners %v", owners)
	}
	p.SeeText(row("everywhere"), "all nodes")
	p.SeeText(panel, "spread", "owns")
}

// The fleet shows what runs on which node, and what a node that is gone told last.
func TestFleet(t *testing.T) {
	t.Parallel()
	c := three(t,
		testcluster.Job{Name: "here", Schedule: never, Command: "true", Policy: "EveryNode"},
		testcluster.Job{Name: "there", Schedule: never, Command: "exit 3", Policy: "EveryNode"})
	a, b := c.Nodes[0], c.Nodes[1]
	p := open(t, a, browser.Options{})
	if _, _, code := b.Command("job", "run", "there"); code != 0 {
		t.Fatalf("job run: exit code %d", code)
	}
	testcluster.Eventually(t, "the run there", lastOutcome(b, "there", "failure"))
	p.Click(browser.TestID("view-fleet"))
	p.See(fleetView)
	p.SeeText(fleetView, "yacron-a", "yacron-b", "yacron-c", "here", "there", "failure")
}

// A store that can't be reached stops the Leader jobs, and the page says so and why.
func TestStoreUnreachable(t *testing.T) {
	t.Parallel()
	browser.Require(t)
	c := testcluster.New(t, testcluster.Options{
		Names: []string{"solo"},
		Jobs: func(testcluster.Journal) []testcluster.Job {
			return []testcluster.Job{{Name: "job", Schedule: never, Command: "true", Policy: "Leader"}}
		},
	})
	n := c.Nodes[0]
	nobody := testcluster.FreePorts(t, 1)[0]
	n.WriteFile("store.yaml", fmt.Sprintf("cluster:\n  backend: etcd\n  nodeName: solo\n  etcd:\n    endpoints: [\"http://127.0.0.1:%d\"]\n", nobody))
	c.Start()
	p := open(t, n, browser.Options{})
	p.See(banner("store"))
	p.SeeText(banner("store"), "store")
	p.SeeText(panel, "solo", "etcd", "no quorum (store unreachable)")
	p.Gone(browser.TestID("view-fleet"))
}
