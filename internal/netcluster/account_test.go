package netcluster

import (
	"strings"
	"testing"
	"time"

	"github.com/yacron2/yacron2/internal/testcluster"
)

// noon and what is some seconds after it.
func noon(seconds float64) time.Time {
	return time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC).Add(time.Duration(seconds * float64(time.Second)))
}

func TestBalance(t *testing.T) {
	a := Account{
		From: noon(0), To: noon(9), Period: time.Second, Deadline: 10 * time.Second, Nodes: 3,
		Missed: []Record{{Node: "b", First: noon(2), Last: noon(2), Code: "no-quorum", Reason: "no quorum"}},
		Denied: []Record{
			{Node: "b", First: noon(3), Last: noon(4), Holder: "a"},
			{Node: "b", First: noon(6), Last: noon(6), Holder: "c"},
		},
		Grants: []Grant{
			{"a", "x", noon(0), "1"}, {"b", "x", noon(0), "1"}, {"c", "x", noon(0), "2"},
			{"a", "x", noon(5), "1"}, {"b", "x", noon(5), "1"},
			{"b", "x", noon(7), "1"}, {"c", "x", noon(7), "2"}, // no majority
		},
		Deaths: []Death{
			{Node: "a", Instance: "1", At: noon(5.1)},
			{Node: "c", At: noon(5.9)}, // before what c is said to hold
		},
		Absences: []Absence{
			{Node: "a", From: noon(-9), To: noon(8.5)}, {Node: "b", From: noon(17.9)}, {Node: "c", From: noon(8.1), To: noon(8.2)},
		},
	}
	ran := func(seconds float64, node string) {
		a.Ran = append(a.Ran, testcluster.Entry{Job: "x", Firing: noon(seconds), Node: node, Attempt: 1})
	}
	ran(0, "a")
	ran(1, "a")
	ran(1, "b")
	ran(9, "b")
	b := a.Balance()
	if b.Firings != 10 || b.Ran != 3 || len(b.Doubled) != 2 || b.Took != 8*time.Second || len(b.Outvoted) != 0 {
		t.Errorf("balance %+v", b)
	}
	causes := map[float64]string{
		2: "b: no quorum",
		3: "granted to a, which was killed", 4: "granted to a, which was killed",
		5: "granted to a by 2 nodes, and it was killed",
		6: "", 7: "",
		8: "no agent was there from its instant to its deadline",
	}
	if len(b.Lost) != len(causes) {
		t.Errorf("%d losses, want %d", len(b.Lost), len(causes))
	}
	for _, l := range b.Lost {
		if want := causes[l.Firing.Sub(noon(0)).Seconds()]; l.Cause != want {
			t.Errorf("cause of %v is %q, want %q", l.Firing, l.Cause, want)
		}
	}
	if got := b.Unexplained(); len(got) != 2 || !got[0].Equal(noon(6)) || !got[1].Equal(noon(7)) {
		t.Errorf("unexplained: %v", got)
	}
	if text := b.String(); !strings.Contains(text, "10 firings: 3 ran") || !strings.Contains(text, "2  unexplained") {
		t.Errorf("it says %q", text)
	}
}

func TestBalanceSeesTwoMajorities(t *testing.T) {
	a := Account{From: noon(0), To: noon(0), Period: time.Second, Nodes: 3, Grants: []Grant{
		{"a", "x", noon(0), "1"}, {"b", "x", noon(0), "1"}, {"c", "x", noon(0), "2"}, {"b", "x", noon(0), "2"},
	}}
	if b := a.Balance(); len(b.Outvoted) != 1 {
		t.Errorf("outvoted: %v", b.Outvoted)
	}
}

// What a run of the job kept from starting is explained by that run only if the record
// may have died.
func TestBalanceOfAJobThatForbids(t *testing.T) {
	a := Account{
		From: noon(0), To: noon(2), Period: time.Second, Deadline: 10 * time.Second, Nodes: 3,
		Ran: testcluster.Entries{{Job: "x", Firing: noon(0), Node: "a", Attempt: 1}},
	}
	for _, c := range []struct {
		lasts       time.Duration
		deaths      []Death
		unexplained int
	}{
		{0, []Death{{Node: "a", At: noon(2.5)}}, 2},
		{5 * time.Second, nil, 2},
		{5 * time.Second, []Death{{Node: "a", At: noon(0.5)}}, 2},
		{5 * time.Second, []Death{{Node: "a", At: noon(1.5)}}, 1},
		{5 * time.Second, []Death{{Node: "a", At: noon(2.5)}}, 0},
	} {
		a.Lasts, a.Deaths = c.lasts, c.deaths
		b := a.Balance()
		if got := b.Unexplained(); len(got) != c.unexplained {
			t.Errorf("%v, %v: unexplained %v, want %d", c.lasts, c.deaths, got, c.unexplained)
		}
	}
}
