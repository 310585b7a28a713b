package election

import (
	"strings"
	"testing"
)

func TestParsePolicy(t *testing.T) {
	for _, p := range []Policy{Leader, PreferLeader, EveryNode} {
		if got, err := ParsePolicy(string(p)); got != p || err != nil {
			t.Errorf("%s: %s, %v", p, got, err)
		}
	}
	for _, s := range []string{"", "leader", "Leader ", "Everynode"} {
		if got, err := ParsePolicy(s); err == nil || got != "" || !strings.Contains(err.Error(), "PreferLeader") {
			t.Errorf("%q: %q, %v", s, got, err)
		}
	}
}

func TestWordsOfActionsAndOutcomes(t *testing.T) {
	for a, want := range map[Action]string{Skip: "skip", Run: "run", Defer: "defer", Abandon: "abandon"} {
		if a.String() != want {
			t.Errorf("%d: %s", int(a), a)
		}
	}
	for o, want := range map[Outcome]string{Pending: "pending", Granted: "granted", Denied: "denied"} {
		if o.String() != want {
			t.Errorf("%d: %s", int(o), o)
		}
	}
}
