package etcd

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/yacron2/yacron2/election"
	"github.com/yacron2/yacron2/lease"
)

// The limits of one transaction: a server allows 128 operations and 1.5 MiB unless it is
// told otherwise.
const (
	maxRecords = 100
	maxBytes   = 1 << 20
)

// floor is what is known of the key of that name.
type floor struct {
	known    bool
	at       time.Time
	revision int64 // 0: the key does not exist
}

// Claim implements lease.Store.
func (s *Store) Claim(ctx context.Context, hold lease.Hold, firings []election.Firing, mark *lease.Mark) ([]election.Verdict, []lease.Mark, error) {
	c, err := s.dialer.client(ctx)
	if err != nil {
		return nil, nil, err
	}
	b := batch{Store: s, client: c, hold: hold, mark: mark, firings: firings,
		verdicts: make([]election.Verdict, len(firings)), records: map[string]*record{}}
	for i, f := range firings {
		key := s.claimsPrefix() + lease.ClaimKey(f.Job, f.At)
		if b.records[key] == nil {
			b.records[key] = &record{}
		}
		b.records[key].asked = append(b.records[key].asked, i)
	}
	err = b.settle(ctx)
	return b.verdicts, b.marks, err
}

// batch is one call of Claim.
type batch struct {
	*Store
	client   *client
	hold     lease.Hold
	mark     *lease.Mark
	firings  []election.Firing
	verdicts []election.Verdict
	records  map[string]*record // by key: what is not settled yet
	marks    []lease.Mark
}

// record is a record of claims as it was last seen. At first it is taken for absent, as
// it is for the first batch of an instant.
type record struct {
	asked    []int // indexes of firings
	revision int64 // 0: absent
	claims   lease.Claims
	given    []int  // of asked: what is written now
	encoded  []byte // with what is given
}

// settle asks until every record is settled. A transaction that fails tells how things
// are, and the next one goes by that: what was taken is denied, what is left is asked for
// again, and what an earlier request of this process wrote, whose answer was lost, is
// found to be its own.
func (b *batch) settle(ctx context.Context) error {
	if err := b.loadFloor(ctx); err != nil {
		return err
	}
	for {
		keys, err := b.prepare()
		if err != nil {
			return err
		}
		if len(keys) == 0 {
			return nil
		}
		if err := b.attempt(ctx, keys); err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return b.failure(err)
		}
	}
}

// loadFloor reads the floor once per hold; later changes make a transaction fail.
func (b *batch) loadFloor(ctx context.Context) error {
	b.mu.Lock()
	known := b.floor.known
	b.mu.Unlock()
	if known {
		return nil
	}
	r, err := b.client.Get(ctx, b.floorKey())
	if err != nil {
		return b.failure(err)
	}
	return b.sawFloor(r.Kvs)
}

func (s *Store) sawFloor(kvs []*mvccpb.KeyValue) error {
	f := floor{known: true}
	if len(kvs) > 0 {
		at, err := lease.ParseFloor(string(kvs[0].Value))
		if err != nil {
			return fmt.Errorf("etcd: key %s: %w", s.floorKey(), err)
		}
		f.at, f.revision = at, kvs[0].ModRevision
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.floor = f
	return nil
}

// prepare settles what the known records tell, and returns the keys of those that are to
// be written in one transaction.
func (b *batch) prepare() (keys []string, err error) {
	b.mu.Lock()
	at := b.floor.at
	b.mu.Unlock()
	me := lease.Claimant{Token: b.hold.Token, Instance: b.cfg.Identity.InstanceID, Node: b.cfg.Identity.NodeName}
	size := 0
	for _, key := range slices.Sorted(maps.Keys(b.records)) {
		r := b.records[key]
		r.given = nil
		next := r.claims.Clone()
		for _, i := range r.asked {
			job := b.firings[i].Job
			v, settled := given(&r.claims, job, me, b.firings[i].At, at)
			switch {
			case settled:
				b.verdicts[i] = v
			default:
				r.given = append(r.given, i)
				next.Give(job, me)
			}
		}
		if len(r.given) == 0 {
			delete(b.records, key)
			continue
		}
		if r.encoded, err = next.Encode(); err != nil {
			return nil, err
		}
		if len(keys) == maxRecords || len(keys) > 0 && size+len(r.encoded) > maxBytes {
			break
		}
		size += len(r.encoded)
		keys = append(keys, key)
	}
	return keys, nil
}

// given is the verdict on a firing that needs no write.
func given(claims *lease.Claims, job string, me lease.Claimant, at, floor time.Time) (v election.Verdict, settled bool) {
	switch holder, taken := claims.Claimant(job); {
	case taken && holder.Instance == me.Instance:
		return election.Verdict{Outcome: election.Granted}, true
	case taken:
		return election.Verdict{Outcome: election.Denied, Holder: cmp.Or(holder.Node, holder.Instance), Code: string(election.RefusedTaken),
			Reason: "this firing was given to " + cmp.Or(holder.Node, holder.Instance)}, true
	case !at.After(floor):
		return election.Verdict{Outcome: election.Denied, Code: string(election.RefusedTooOld),
			Reason: fmt.Sprintf("claims up to %s are not kept any more, so that nobody can tell whether this one was given to another process",
				floor.Format(time.RFC3339))}, true
	}
	return v, false
}

// attempt writes some records in one transaction, or takes over how they are.
func (b *batch) attempt(ctx context.Context, keys []string) error {
	b.mu.Lock()
	f := b.floor
	b.mu.Unlock()
	conditions := []clientv3.Cmp{b.proof(b.hold), clientv3.Compare(clientv3.ModRevision(b.floorKey()), "=", f.revision)}
	marks := clientv3.OpGet(b.runningPrefix(), clientv3.WithPrefix())
	writes := []clientv3.Op{marks}
	reads := []clientv3.Op{marks, clientv3.OpGet(b.key), clientv3.OpGet(b.floorKey())}
	for _, key := range keys {
		r := b.records[key]
		conditions = append(conditions, clientv3.Compare(clientv3.ModRevision(key), "=", r.revision))
		writes = append(writes, clientv3.OpPut(key, string(r.encoded)))
		reads = append(reads, clientv3.OpGet(key))
	}
	if b.mark != nil {
		put, err := b.putMark(*b.mark)
		if err != nil {
			return err
		}
		writes = append(writes, put)
	}
	t, err := b.client.Txn(ctx).If(conditions...).Then(writes...).Else(reads...).Commit()
	if err != nil {
		return b.failure(err)
	}
	b.marks = b.Store.marks(t.Responses[0].GetResponseRange().Kvs)
	if t.Succeeded {
		for _, key := range keys {
			for _, i := range b.records[key].given {
				b.verdicts[i] = election.Verdict{Outcome: election.Granted}
			}
			delete(b.records, key)
		}
		return nil
	}
	return b.learn(keys, t.Responses)
}

// learn takes over what the reads of a transaction found whose conditions failed.
func (b *batch) learn(keys []string, found []*etcdserverpb.ResponseOp) error {
	if kv := first(found[1]); kv == nil || uint64(kv.CreateRevision) != b.hold.Token {
		return lease.ErrLost
	}
	if err := b.sawFloor(found[2].GetResponseRange().Kvs); err != nil {
		return err
	}
	for n, key := range keys {
		r := b.records[key]
		r.revision, r.claims = 0, lease.Claims{}
		kv := first(found[3+n])
		if kv == nil {
			continue
		}
		claims, err := lease.DecodeClaims(kv.Value)
		if err != nil {
			return fmt.Errorf("etcd: key %s: %w", key, err)
		}
		r.revision, r.claims = kv.ModRevision, claims
	}
	return nil
}

// Claimed implements lease.Store.
func (s *Store) Claimed(ctx context.Context, firings []election.Firing) ([]election.Verdict, error) {
	c, err := s.dialer.client(ctx)
	if err != nil {
		return nil, err
	}
	at := map[string]lease.Claims{}
	for _, f := range firings {
		at[s.claimsPrefix()+lease.ClaimKey(f.Job, f.At)] = lease.Claims{}
	}
	var bottom time.Time
	for chunk := range slices.Chunk(slices.Sorted(maps.Keys(at)), maxRecords) {
		ops := []clientv3.Op{clientv3.OpGet(s.floorKey())}
		for _, key := range chunk {
			ops = append(ops, clientv3.OpGet(key))
		}
		r, err := c.Txn(ctx).Then(ops...).Commit()
		if err != nil {
			return nil, s.failure(err)
		}
		if bottom, err = lease.ParseFloor(string(value(r.Responses[0]))); err != nil {
			return nil, fmt.Errorf("etcd: key %s: %w", s.floorKey(), err)
		}
		for n, key := range chunk {
			if at[key], err = lease.DecodeClaims(value(r.Responses[1+n])); err != nil {
				return nil, fmt.Errorf("etcd: key %s: %w", key, err)
			}
		}
	}
	verdicts := make([]election.Verdict, len(firings))
	for i, f := range firings {
		claims := at[s.claimsPrefix()+lease.ClaimKey(f.Job, f.At)]
		verdicts[i], _ = given(&claims, f.Job, lease.Claimant{}, f.At, bottom)
	}
	return verdicts, nil
}

// Tidy implements lease.Store: it removes old claims.
func (s *Store) Tidy(ctx context.Context, hold lease.Hold, now time.Time, clock time.Duration) error {
	c, err := s.dialer.client(ctx)
	if err != nil {
		return err
	}
	r, err := c.Get(ctx, s.claimsPrefix(), clientv3.WithPrefix(), clientv3.WithKeysOnly())
	if err != nil {
		return s.failure(err)
	}
	keys := make([]string, len(r.Kvs))
	for i, kv := range r.Kvs {
		keys[i] = strings.TrimPrefix(string(kv.Key), s.claimsPrefix())
	}
	up, err := s.pruning.Due(keys, now, clock)
	if err != nil {
		s.log.Warn("there are keys among the claims that are none", "error", err)
	}
	s.mu.Lock()
	f := s.floor
	s.mu.Unlock()
	if !up.After(f.at) {
		return nil
	}
	conditions := []clientv3.Cmp{s.proof(hold)}
	if f.known {
		conditions = append(conditions, clientv3.Compare(clientv3.ModRevision(s.floorKey()), "=", f.revision))
	}
	t, err := c.Txn(ctx).If(conditions...).Then(
		clientv3.OpPut(s.floorKey(), lease.FormatFloor(up)),
		// Everything up to the floor: the next instant is a nanosecond later at least.
		clientv3.OpDelete(s.claimsPrefix(), clientv3.WithRange(s.claimsPrefix()+lease.ClaimPrefix(up.Add(1)))),
	).Commit()
	if err != nil {
		return s.failure(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !t.Succeeded {
		s.floor = floor{} // read it again
		return nil
	}
	s.floor = floor{known: true, at: up, revision: t.Header.Revision}
	return nil
}

func (s *Store) putMark(mark lease.Mark) (clientv3.Op, error) {
	if len(mark.Jobs) == 0 {
		return clientv3.OpDelete(s.runningKey(mark.InstanceID)), nil
	}
	data, err := json.Marshal(mark)
	if err != nil {
		return clientv3.Op{}, err
	}
	return clientv3.OpPut(s.runningKey(mark.InstanceID), string(data)), nil
}
