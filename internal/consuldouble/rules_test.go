package consuldouble

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/consul/api"
)

// rules are what this double stands for: each is a rule of the documentation, told with the
// official client, and holds on a real Consul too.
var rules = map[string]func(t *testing.T, r *reader){
	"a lock has one holder":                           oneHolder,
	"a write that changes nothing has no index":       sameValue,
	"an unlocked key can be locked at once":           unlock,
	"a session that is destroyed leaves a lock delay": lockDelay,
	"a session that is unknown":                       unknownSession,
	"a time to live that is too short":                shortTTL,
	"compare and swap":                                compareAndSwap,
	"a transaction is done as a whole or not at all":  wholeTransaction,
	"limits":                                            limits,
	"the index is that of the key":                      keyIndex,
	"a question waits for its key alone":                blockingQuery,
	"a question under a prefix is told of a deletion":   prefixIndex,
	"a deleted key begins again with a higher index":    deletedKey,
	"a write without a session leaves the lock alone":   plainWrite,
	"a session of behavior delete takes its keys along": behaviorDelete,
}

func TestRulesOnDouble(t *testing.T) {
	for name, rule := range rules {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := Start(Options{})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(s.Close)
			check(t, s.URL(), rule)
		})
	}
}

// Whoever has a Consul finds out with it whether this double tells the truth: its URL is
// YACRON2_TEST_CONSUL_ADDR, with CONSUL_HTTP_TOKEN as the token where it asks for one.
// Keys below yacron2-test are written, and removed again.
func TestRulesOnRealConsul(t *testing.T) {
	address := os.Getenv("YACRON2_TEST_CONSUL_ADDR")
	if address == "" {
		t.Skip("no Consul: set YACRON2_TEST_CONSUL_ADDR to the URL of one")
	}
	for name, rule := range rules {
		t.Run(name, func(t *testing.T) { check(t, address, rule) })
	}
}

// reader is a client of a server, with a key of its own.
type reader struct {
	*api.Client
	t   *testing.T
	key string
}

func check(t *testing.T, address string, rule func(*testing.T, *reader)) {
	t.Helper()
	c, err := api.NewClient(&api.Config{Address: address})
	if err != nil {
		t.Fatal(err)
	}
	r := &reader{Client: c, t: t, key: fmt.Sprintf("yacron2-test/%d", time.Now().UnixNano())}
	t.Cleanup(func() {
		if _, err := c.KV().DeleteTree(r.key, nil); err != nil {
			t.Error(err)
		}
	})
	rule(t, r)
}

func (r *reader) query() *api.QueryOptions {
	ctx, cancel := context.WithTimeout(r.t.Context(), 30*time.Second)
	r.t.Cleanup(cancel)
	return (&api.QueryOptions{RequireConsistent: true}).WithContext(ctx)
}

func (r *reader) session(adapt func(*api.SessionEntry)) string {
	r.t.Helper()
	e := &api.SessionEntry{TTL: "60s", LockDelay: time.Millisecond}
	if adapt != nil {
		adapt(e)
	}
	id, _, err := r.Session().CreateNoChecks(e, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _, _ = r.Session().Destroy(id, nil) }) // it may be gone
	return id
}

func (r *reader) lock(session, value string) bool {
	r.t.Helper()
	ok, _, err := r.KV().Acquire(&api.KVPair{Key: r.key, Value: []byte(value), Session: session}, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	return ok
}

func (r *reader) get() *api.KVPair {
	r.t.Helper()
	pair, _, err := r.KV().Get(r.key, r.query())
	if err != nil {
		r.t.Fatal(err)
	}
	return pair
}

func (r *reader) put(key, value string) {
	r.t.Helper()
	if _, err := r.KV().Put(&api.KVPair{Key: key, Value: []byte(value)}, nil); err != nil {
		r.t.Fatal(err)
	}
}

// is checks something that must be so.
func (r *reader) is(ok bool, what string, args ...any) {
	r.t.Helper()
	if !ok {
		r.t.Errorf("not so: "+what, args...)
	}
}

func oneHolder(_ *testing.T, r *reader) {
	a, b := r.session(nil), r.session(nil)
	r.is(r.lock(a, "a"), "the first locks the key")
	r.is(!r.lock(b, "b"), "the second does not")
	first := r.get()
	r.is(first.Session == a && string(first.Value) == "a" && first.LockIndex == 1, "the first holds it: %+v", first)
	r.is(r.lock(a, "again"), "the first locks it again")
	again := r.get()
	r.is(again.LockIndex == 1 && again.ModifyIndex > first.ModifyIndex && string(again.Value) == "again", "that is no other lock: %+v", again)
	ok, _, err := r.KV().Release(&api.KVPair{Key: r.key, Value: []byte("b"), Session: b}, nil)
	r.is(err == nil && !ok && r.get().Session == a, "the second can't unlock it: %v", err)
}

func sameValue(_ *testing.T, r *reader) {
	r.put(r.key, "a")
	before := r.get()
	r.put(r.key, "a")
	r.is(r.get().ModifyIndex == before.ModifyIndex, "the same value is no change")
	a := r.session(nil)
	r.lock(a, "a")
	before = r.get()
	r.is(r.lock(a, "a") && r.get().ModifyIndex == before.ModifyIndex, "nor is the same lock")
}

func unlock(_ *testing.T, r *reader) {
	a, b := r.session(func(e *api.SessionEntry) { e.LockDelay = time.Minute }), r.session(nil)
	r.lock(a, "a")
	held := r.get()
	ok, _, err := r.KV().Release(&api.KVPair{Key: r.key, Value: []byte("free"), Session: a}, nil)
	free := r.get()
	r.is(err == nil && ok && free.Session == "" && string(free.Value) == "free" && free.ModifyIndex > held.ModifyIndex, "unlocked: %+v, %v", free, err)
	if _, err := r.Session().Destroy(a, nil); err != nil {
		r.t.Error(err)
	}
	r.is(r.lock(b, "b"), "the next one locks it, whatever the lock delay")
	next := r.get()
	r.is(next.LockIndex == 2 && next.CreateIndex == held.CreateIndex, "it is the same key: %+v", next)
}

func lockDelay(_ *testing.T, r *reader) {
	const delay = 2 * time.Second
	a, b := r.session(func(e *api.SessionEntry) { e.LockDelay = delay }), r.session(nil)
	r.lock(a, "a")
	held := r.get()
	start := time.Now()
	if _, err := r.Session().Destroy(a, nil); err != nil {
		r.t.Fatal(err)
	}
	free := r.get()
	r.is(free.Session == "" && string(free.Value) == "a" && free.ModifyIndex > held.ModifyIndex, "it is free: %+v", free)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !r.lock(b, "b") {
		if <-tick.C; time.Since(start) > 30*time.Second {
			r.t.Fatal("it can't be locked")
		}
	}
	// The server counts from when it destroyed the session, after start.
	r.is(time.Since(start) >= delay, "nobody locks it before the delay is over, but after %v", time.Since(start))
}

func unknownSession(_ *testing.T, r *reader) {
	a := r.session(nil)
	if _, err := r.Session().Destroy(a, nil); err != nil {
		r.t.Fatal(err)
	}
	entry, _, err := r.Session().Renew(a, nil)
	r.is(err == nil && entry == nil, "it can't be renewed: %+v, %v", entry, err)
	_, _, err = r.KV().Acquire(&api.KVPair{Key: r.key, Session: a}, nil)
	r.is(err != nil && strings.Contains(err.Error(), "invalid session"), "it can't lock: %v", err)
	ok, _, err := r.KV().Release(&api.KVPair{Key: r.key, Session: a}, nil)
	r.is(err == nil && !ok, "it has nothing to unlock: %v", err)
}

func shortTTL(_ *testing.T, r *reader) {
	_, _, err := r.Session().CreateNoChecks(&api.SessionEntry{TTL: "9s"}, nil)
	r.is(err != nil && strings.Contains(err.Error(), "Invalid Session TTL"), "9 s are refused: %v", err)
	entry, _, err := r.Session().Renew(r.session(nil), nil)
	r.is(err == nil && entry != nil && entry.TTL != "", "a renewal tells the time to live: %+v, %v", entry, err)
}

func compareAndSwap(_ *testing.T, r *reader) {
	swap := func(index uint64, value string) bool {
		ok, _, err := r.KV().CAS(&api.KVPair{Key: r.key, Value: []byte(value), ModifyIndex: index}, nil)
		r.is(err == nil, "%v", err)
		return ok
	}
	r.is(!swap(1, "x"), "a key that is not there has no index")
	r.is(swap(0, "x"), "index 0 makes it")
	r.is(!swap(0, "y"), "once")
	at := r.get().ModifyIndex
	r.is(!swap(at+1, "y") && swap(at, "y") && !swap(at, "z"), "its index is good for one write")
}

func (r *reader) transact(ops ...*api.KVTxnOp) (bool, *api.TxnResponse, error) {
	all := make(api.TxnOps, len(ops))
	for i, op := range ops {
		all[i] = &api.TxnOp{KV: op}
	}
	ok, answer, _, err := r.Txn().Txn(all, nil)
	return ok, answer, err
}

func wholeTransaction(_ *testing.T, r *reader) {
	a, b := r.session(nil), r.session(nil)
	check := func(session string) *api.KVTxnOp {
		return &api.KVTxnOp{Verb: api.KVCheckSession, Key: r.key, Session: session}
	}
	set := &api.KVTxnOp{Verb: api.KVSet, Key: r.key + "/1", Value: []byte("x")}
	create := &api.KVTxnOp{Verb: api.KVCAS, Key: r.key + "/2", Value: []byte("x")}
	ok, answer, err := r.transact(check(a), set)
	r.is(err == nil && !ok && len(answer.Errors) == 1 && answer.Errors[0].OpIndex == 0, "no key, no holder: %+v, %v", answer, err)
	r.lock(a, "a")
	ok, answer, err = r.transact(check(b), set)
	r.is(err == nil && !ok && len(answer.Errors) == 1 && answer.Errors[0].OpIndex == 0, "the wrong holder: %+v, %v", answer, err)
	ok, answer, err = r.transact(check(a), set, create)
	r.is(err == nil && ok, "the right one: %+v, %v", answer, err)
	ok, answer, err = r.transact(check(a), &api.KVTxnOp{Verb: api.KVDelete, Key: r.key + "/1"}, create)
	r.is(err == nil && !ok && len(answer.Errors) == 1 && answer.Errors[0].OpIndex == 2, "a key that is there: %+v, %v", answer, err)
	pairs, _, err := r.KV().List(r.key+"/", r.query())
	r.is(err == nil && len(pairs) == 2 && pairs[0].ModifyIndex == pairs[1].ModifyIndex, "both are there, by one write: %+v, %v", pairs, err)
	ok, answer, err = r.transact(check(b), &api.KVTxnOp{Verb: api.KVCAS, Key: r.key + "/2", Index: 1})
	r.is(err == nil && !ok && len(answer.Errors) == 2, "all that fails is told: %+v, %v", answer, err)
}

func limits(_ *testing.T, r *reader) {
	var ops []*api.KVTxnOp
	for i := range 129 {
		ops = append(ops, &api.KVTxnOp{Verb: api.KVSet, Key: fmt.Sprintf("%s/%d", r.key, i)})
	}
	_, _, err := r.transact(ops...)
	r.is(err != nil && strings.Contains(err.Error(), "too many operations"), "129 operations are too many: %v", err)
	ok, _, err := r.transact(ops[:62]...)
	r.is(err == nil && ok, "62 are not: %v", err)
	_, err = r.KV().Put(&api.KVPair{Key: r.key, Value: make([]byte, 600<<10)}, nil)
	r.is(err != nil && strings.Contains(err.Error(), "413"), "600 kB are too much: %v", err)
	_, _, err = r.transact(&api.KVTxnOp{Verb: api.KVSet, Key: r.key, Value: make([]byte, 450<<10)})
	r.is(err != nil && strings.Contains(err.Error(), "too large"), "so are 450 kB in base 64: %v", err)
}

func (r *reader) index(key string) uint64 {
	r.t.Helper()
	_, meta, err := r.KV().Get(key, r.query())
	if err != nil {
		r.t.Fatal(err)
	}
	return meta.LastIndex
}

func keyIndex(_ *testing.T, r *reader) {
	r.is(r.index(r.key) >= 1, "there is one before the key is")
	r.put(r.key, "x")
	at := r.get().ModifyIndex
	r.put(r.key+"/other", "x")
	r.is(r.index(r.key) == at, "it is the key's, whatever is written elsewhere")
	r.is(r.index(r.key+"/none") > at, "that of a key that is not there is the newest")
}

// ask asks for changes since an index, and tells how the key is then.
func (r *reader) ask(index uint64) <-chan error {
	answered := make(chan error, 1)
	q := r.query()
	q.WaitIndex, q.WaitTime = index, 25*time.Second
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, meta, err := r.KV().Get(r.key, q)
		if err == nil && meta.LastIndex <= index {
			err = fmt.Errorf("index %d after %d", meta.LastIndex, index)
		}
		answered <- err
	}()
	r.t.Cleanup(func() { <-done })
	return answered
}

func blockingQuery(_ *testing.T, r *reader) {
	r.put(r.key, "x")
	answered := r.ask(r.index(r.key))
	for i := range 20 {
		r.put(fmt.Sprintf("%s/%d", r.key, i), "x")
	}
	select {
	case err := <-answered:
		r.t.Errorf("what is written elsewhere is told: %v", err)
	default:
	}
	r.put(r.key, "y")
	if err := <-answered; err != nil {
		r.t.Errorf("a change is told: %v", err)
	}
	answered = r.ask(r.index(r.key))
	if _, err := r.KV().Delete(r.key, nil); err != nil {
		r.t.Fatal(err)
	}
	if err := <-answered; err != nil {
		r.t.Errorf("a deletion is told: %v", err)
	}
	q := r.query()
	q.WaitIndex, q.WaitTime = r.index(r.key), 10*time.Millisecond
	_, meta, err := r.KV().Get(r.key, q)
	if err != nil {
		r.t.Fatal(err)
	}
	r.is(meta.LastIndex >= q.WaitIndex, "a wait that is over tells the index as it is")
}

func prefixIndex(_ *testing.T, r *reader) {
	r.put(r.key+"/1", "x")
	r.put(r.key+"/2", "x")
	_, before, err := r.KV().List(r.key+"/", r.query())
	if err != nil {
		r.t.Fatal(err)
	}
	if _, err := r.KV().Delete(r.key+"/1", nil); err != nil {
		r.t.Fatal(err)
	}
	keys, after, err := r.KV().Keys(r.key+"/", "", r.query())
	r.is(err == nil && len(keys) == 1 && after.LastIndex > before.LastIndex, "%v, index %d after %d, %v", keys, after.LastIndex, before.LastIndex, err)
}

func deletedKey(_ *testing.T, r *reader) {
	a := r.session(func(e *api.SessionEntry) { e.LockDelay = time.Minute })
	r.lock(a, "a")
	held := r.get()
	if _, err := r.KV().Delete(r.key, nil); err != nil {
		r.t.Fatal(err)
	}
	r.is(r.get() == nil, "it is gone")
	r.is(r.lock(r.session(nil), "b"), "anybody locks it, without a delay")
	now := r.get()
	r.is(now.LockIndex == 1 && now.CreateIndex > held.ModifyIndex, "it is another key: %+v", now)
}

func plainWrite(_ *testing.T, r *reader) {
	a := r.session(nil)
	r.lock(a, "a")
	before := r.get()
	r.put(r.key, "by hand")
	now := r.get()
	r.is(now.Session == a && now.ModifyIndex > before.ModifyIndex, "it is another value under the same lock: %+v", now)
}

func behaviorDelete(t *testing.T, r *reader) {
	a := r.session(func(e *api.SessionEntry) { e.Behavior = api.SessionBehaviorDelete })
	r.lock(a, "a")
	if _, err := r.Session().Destroy(a, nil); err != nil {
		t.Fatal(err)
	}
	r.is(r.get() == nil, "the key is gone")
}
