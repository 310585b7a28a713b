package kubernetes

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	coordination "k8s.io/api/coordination/v1"

	"github.com/yacron2/yacron2/election"
	"github.com/yacron2/yacron2/internal/realstore"
	"github.com/yacron2/yacron2/lease"
)

// An instant that was passed over belongs to who passed it over, and to nobody else.
func TestClaimsThatWereOvertaken(t *testing.T) {
	second := from(time.Now())
	r := newRecord(t, kube.Get(t))
	a, b := r.connect(t, "node-a", nil), r.connect(t, "node-b", nil)
	hold := a.acquire()
	must(t, "the first claim", a.claim(hold, "job", second(-9)), election.Granted)
	must(t, "a later one", a.claim(hold, "job", second(-3)), election.Granted)
	if v := a.claim(hold, "job", second(-6)); v.Outcome != election.Granted || v.Token != hold.Token {
		t.Errorf("one between, of the same process: %+v", v)
	}
	a.release(hold)
	next := b.acquire()
	passed := b.claim(next, "job", second(-5))
	must(t, "one between, of the next holder", passed, election.Denied)
	if passed.Holder != "node-a" || passed.Code != string(election.RefusedTooOld) || !strings.Contains(passed.Reason, "whether anybody has this one is not kept") {
		t.Errorf("an instant of which nothing is kept: %+v", passed)
	}
	taken := b.claim(next, "job", second(-3))
	if taken.Outcome != election.Denied || taken.Holder != "node-a" || taken.Code != string(election.RefusedTaken) || taken.Reason != "node-a has claimed it" {
		t.Errorf("the same instant: %+v", taken)
	}
	must(t, "another claim of the next holder", b.claim(next, "job", second(-1)), election.Granted)
	b.release(next)
	last := a.acquire()
	must(t, "what the process was given under an earlier hold", a.claim(last, "job", second(-6)), election.Granted)
	must(t, "what the holder between has", a.claim(last, "job", second(-1)), election.Denied)
	must(t, "what the holder between passed over", a.claim(last, "job", second(-2)), election.Denied)
}

// The answer to a claim is lost, but not the claim.
func TestLostAnswers(t *testing.T) {
	second := from(time.Now())
	r := newRecord(t, kube.Get(t))
	a, b := r.connect(t, "node-a", nil), r.connect(t, "node-b", nil)
	hold := a.acquire()
	a.proxy.SetFault(a.proxy.LoseAnswers(1, puts))
	must(t, "a claim whose answer was lost", a.claim(hold, "job", second(-9)), election.Granted)

	// Nor can it be read back.
	lose := func(job string, at time.Time) {
		t.Helper()
		lost := a.proxy.LoseAnswers(1, puts)
		broken := false
		a.proxy.SetFault(func(w http.ResponseWriter, q *http.Request) bool {
			if broken {
				panic(http.ErrAbortHandler)
			}
			broken = puts(q)
			return lost(w, q)
		})
		verdicts, _, err := a.Claim(a.ctx(), hold, []election.Firing{{Job: job, At: at}}, nil)
		if err == nil || verdicts[0].Outcome != election.Pending {
			t.Errorf("a claim that cannot be read back: %+v, %v", verdicts, err)
		}
		a.proxy.SetFault(nil)
	}
	lose("job", second(-8))
	must(t, "the same claim once the server answers", a.claim(hold, "job", second(-8)), election.Granted)

	// A release whose answer was lost is one.
	a.proxy.SetFault(a.proxy.LoseAnswers(1, puts))
	a.release(hold)
	a.proxy.SetFault(nil)
	hold = a.acquire()

	lose("job", second(-7))
	lose("other", second(-7))
	a.release(hold)
	next := b.acquire()
	must(t, "it is another process's then", b.claim(next, "job", second(-7)), election.Denied)
	// The next holder has gone on with one of the two jobs.
	must(t, "a later claim", b.claim(next, "job", second(-5)), election.Granted)
	b.release(next)
	hold = a.acquire()
	must(t, "a claim of which the release told", a.claim(hold, "job", second(-7)), election.Granted)
	must(t, "and the other", a.claim(hold, "other", second(-7)), election.Granted)
}

// The hold is over before anything is known of the claim, and the next holder has gone on.
func TestLostAnswerThatNobodyCanFindAgain(t *testing.T) {
	second := from(time.Now())
	r := newRecord(t, kube.Get(t))
	a, b := r.connect(t, "node-a", nil), r.connect(t, "node-b", nil)
	hold := a.acquire()
	lost := false
	a.proxy.SetFault(func(http.ResponseWriter, *http.Request) bool {
		lost = true
		panic(http.ErrAbortHandler)
	})
	verdicts, _, err := a.Claim(a.ctx(), hold, []election.Firing{{Job: "job", At: second(-7)}}, nil)
	if err == nil || !lost || verdicts[0].Outcome != election.Pending {
		t.Fatalf("a claim that had no answer: %+v, %v", verdicts, err)
	}
	a.proxy.SetFault(nil)
	r.edit(t, func(l *coordination.Lease) { l.Spec.HolderIdentity = pointer("") })
	next := b.acquire()
	must(t, "a later claim", b.claim(next, "job", second(-5)), election.Granted)
	b.release(next)
	hold = a.acquire()
	v := a.claim(hold, "job", second(-7))
	if v.Outcome != election.Denied || !strings.Contains(v.Reason, "the answer to this node's claim was lost, and node-b has claimed a later firing") {
		t.Errorf("what cannot be known: %+v", v)
	}
}

// A node whose clock is far ahead does not take the firings of hours to come.
func TestClaimsOfTheFutureWait(t *testing.T) {
	second := from(time.Now())
	r := newRecord(t, kube.Get(t))
	a := r.connect(t, "node-a", func(c *Config) {
		c.WallClock = func() time.Time { return time.Now().Add(time.Hour) }
	})
	hold := a.acquire()
	verdicts, _, err := a.Claim(a.ctx(), hold, []election.Firing{{Job: "job", At: second(3600)}, {Job: "job", At: second(0)}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if v := verdicts[0]; v.Outcome != election.Pending || v.Code != string(election.RefusedTooEarly) || !strings.Contains(v.Reason, "by the clock of the API server it is due in ") {
		t.Errorf("a claim by a clock an hour ahead: %+v", v)
	}
	must(t, "one beside it that is due", verdicts[1], election.Granted)
}

// What was claimed by a Lease that is gone is not claimed again by a new one.
func TestNewLeaseHasAFloor(t *testing.T) {
	r := newRecord(t, kube.Get(t))
	for name, skew := range map[string]time.Duration{"right": 0, "ahead": time.Hour, "behind": -time.Hour} {
		t.Run("clock "+name, func(t *testing.T) {
			r.remove(t)
			a := r.connect(t, "node-a", func(c *Config) {
				c.WallClock = func() time.Time { return time.Now().Add(skew) }
			})
			before := time.Now()
			hold := a.acquire()
			v := a.claim(hold, "job", from(before)(0))
			if v.Outcome != election.Denied || v.Holder != "" || v.Code != string(election.RefusedTooOld) || !strings.Contains(v.Reason, "what was due until ") {
				t.Errorf("what was due before the Lease: %+v", v)
			}
			table, err := claimsOf(r.stored(t))
			if err != nil {
				t.Fatal(err)
			}
			// A second for what the server's clock does not tell, another for rounding.
			least, most := before.Add(election.ClockSkew-time.Second), time.Now().Add(election.ClockSkew+2*time.Second)
			if skew > 0 {
				least, most = before.Add(maxAhead-time.Second), time.Now().Add(maxAhead+2*time.Second) // as far as anybody may claim
			}
			if table.floor < instantOf(least) || table.floor > instantOf(most) {
				t.Errorf("the floor is %s, want it between %s and %s", table.floor, least, most)
			}
			must(t, "what is due until the floor", a.claim(hold, "job", table.floor.time()), election.Denied)
			if skew <= 0 {
				must(t, "what is due later", a.claim(hold, "job", (table.floor+1).time()), election.Granted)
			}
			a.release(hold)
		})
	}
}

func TestDamagedClaims(t *testing.T) {
	second := from(time.Now())
	r := newRecord(t, kube.Get(t))
	a, b := r.connect(t, "node-a", nil), r.connect(t, "node-b", nil)
	hold := a.acquire()
	must(t, "a claim before", a.claim(hold, "job", second(-5)), election.Granted)
	r.edit(t, func(l *coordination.Lease) { l.Annotations[claimsKey] = "??" })
	if _, err := b.Claimed(b.ctx(), []election.Firing{{Job: "job", At: second(-5)}}); err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("asking for damaged claims: %v", err)
	}
	must(t, "another process's claim, before it was damaged", a.claim(hold, "other", second(-4)), election.Denied)
	table, err := claimsOf(r.stored(t))
	if err != nil || table.floor < instantOf(second(0)) {
		t.Fatalf("then the claims are %+v, %v", table, err)
	}
	must(t, "a claim after", a.claim(hold, "other", (table.floor+1).time()), election.Granted)

	// Another version's record is not touched.
	const newer = "AgAAAAAA"
	r.edit(t, func(l *coordination.Lease) { l.Annotations[claimsKey] = newer })
	if _, _, err := a.Claim(a.ctx(), hold, []election.Firing{{Job: "other", At: (table.floor + 2).time()}}, nil); err == nil || !strings.Contains(err.Error(), "another version") {
		t.Errorf("claiming in another version's record: %v", err)
	}
	if _, err := a.Renew(a.ctx(), hold); err != nil {
		t.Error(err)
	}
	a.release(hold)
	b.release(b.acquire())
	if got := r.stored(t).Annotations[claimsKey]; got != newer {
		t.Errorf("it was changed to %q", got)
	}
}

// As many jobs as there may be, all with names as long as they may be, in one claim; and
// room for marks beside them.
func TestClaimsOfMaxJobs(t *testing.T) {
	second := from(time.Now())
	r := newRecord(t, kube.Get(t))
	a := r.connect(t, "node-a", nil)
	hold := a.acquire()
	firings := make([]election.Firing, MaxJobs)
	for i := range firings {
		firings[i] = election.Firing{Job: fmt.Sprintf("%0128d", i), At: second(-5)}
	}
	mark := lease.Mark{InstanceID: "instance-of-node-a", NodeName: "node-a", Jobs: []string{firings[0].Job}, Beat: 1}
	for range 2 {
		verdicts, marks, err := a.Claim(a.ctx(), hold, firings, &mark)
		if err != nil {
			t.Fatal(err)
		}
		for i, v := range verdicts {
			if v.Outcome != election.Granted {
				t.Fatalf("firing %d: %+v", i, v)
			}
		}
		if len(marks) != 1 {
			t.Errorf("%d marks are told", len(marks))
		}
	}
	// Other jobs take the place of those that fired longest ago, whose instants stay
	// refused.
	must(t, "one more job", a.claim(hold, "one more", second(-1)), election.Granted)
	l := r.stored(t)
	table, err := claimsOf(l)
	if err != nil || len(table.marks) > MaxJobs || table.floor > instantOf(second(0)) {
		t.Errorf("%d watermarks above %s, %v", len(table.marks), table.floor, err)
	}
	if _, free := (&judge{store: plain("x"), lease: l, table: table}).verdict(keyOf(firings[1].Job), instantOf(firings[1].At)); free {
		t.Error("an instant is free again")
	}
	if _, err := a.Renew(a.ctx(), hold); err != nil {
		t.Error(err)
	}
	a.release(hold)
}

// Nothing is claimed where versions are no numbers: no later holder's would be higher.
func TestVersionsThatAreNoNumbers(t *testing.T) {
	second := from(time.Now())
	version := 0
	var stored *coordination.Lease
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if !gets(q) {
			body, err := io.ReadAll(q.Body)
			l := new(coordination.Lease)
			if err != nil || json.Unmarshal(body, l) != nil {
				t.Errorf("%s %s: %v", q.Method, body, err)
			}
			version++
			l.ResourceVersion, l.UID = "v"+string(rune('a'+version)), "uid"
			stored = l
		}
		if stored == nil {
			http.NotFound(w, q)
			return
		}
		if err := json.NewEncoder(w).Encode(stored); err != nil {
			t.Error(err)
		}
	}))
	defer server.Close()
	logged := new(strings.Builder)
	n := openBare(t, server.URL, logged)
	for range 2 {
		hold := n.acquire()
		if hold.Token != 0 {
			t.Errorf("the token is %d", hold.Token)
		}
		v := n.claim(hold, "job", second(0))
		if v.Outcome != election.Pending || v.Code != lease.CodeNoToken || v.Reason == "" {
			t.Errorf("a claim without a token: %+v", v)
		}
		n.release(hold)
	}
	if got := strings.Count(logged.String(), "no numbers that grow"); got != 1 {
		t.Errorf("that is logged %d times:\n%s", got, logged)
	}
}

// The double of an agent's life: marks and one-shots beside renewals and claims, all at
// once, make nothing fail.
func TestEverythingAtOnce(t *testing.T) {
	second := from(time.Now())
	r := newRecord(t, kube.Get(t))
	a, b := r.connect(t, "node-a", longTimes), r.connect(t, "node-b", longTimes)
	hold := a.acquire()
	a.proxy.SetFault(realstore.Conflicts(3))
	errs := make(chan error)
	calls := []func(i int) error{
		func(int) error { _, err := a.Renew(a.ctx(), hold); return err },
		func(i int) error { return a.claimErr(a.ctx(), hold, "job", second(i-20)) },
		func(i int) error { return a.claimErr(a.ctx(), hold, "other", second(i-20)) },
		func(i int) error { return a.MarkRan(a.ctx(), "v1:a", fmt.Sprint("a", i)) },
		func(i int) error { return b.MarkRan(b.ctx(), "v1:a", fmt.Sprint("b", i)) },
		func(i int) error {
			return b.SetMark(b.ctx(), lease.Mark{InstanceID: "instance-of-node-b", Jobs: []string{"x"}, Beat: uint64(i)})
		},
		func(int) error { _, err := b.Read(b.ctx()); return err },
	}
	const times = 15
	for _, call := range calls {
		go func() {
			for i := range times {
				if err := call(i); err != nil {
					errs <- err
					return
				}
			}
			errs <- nil
		}()
	}
	for range calls {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	s, err := a.Read(a.ctx())
	if err != nil {
		t.Fatal(err)
	}
	if ran := s.Ran.Jobs("v1:a"); len(ran) != 2*times {
		t.Errorf("%d of %d one-shots are on record", len(ran), 2*times)
	}
	if len(s.Marks) != 1 || s.Marks[0].Beat != times-1 {
		t.Errorf("the marks are %+v", s.Marks)
	}
	if l := r.stored(t); transitionsOf(l) != 1 && transitionsOf(l) != 0 || holderOf(l) != a.id {
		t.Errorf("in the end the record is %+v", l.Spec)
	}
}
