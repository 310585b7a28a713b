package etcd

import (
	"context"
	"encoding/json"
	"fmt"
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
	c, err := s.dialer.client()
	if err != nil {
		return nil, nil, err
	}
	if err := s.loadFloor(ctx, c); err != nil {
		return nil, nil, err
	}
	room, err := mark.RoomBeside(maxBytes)
	if err != nil {
		return nil, nil, err
	}
	b := batch{Store: s, client: c, hold: hold, mark: mark, Batch: lease.NewBatch(lease.Claimant{
		Token: hold.Token, Instance: s.cfg.Identity.InstanceID, Node: s.cfg.Identity.NodeName}, firings)}
	for {
		f := s.lowest()
		writes, err := b.Next(f.at, maxRecords, room)
		if err == nil && len(writes) > 0 {
			err = b.attempt(ctx, f, writes)
		}
		if err != nil || len(writes) == 0 {
			return b.Verdicts(), b.marks, err
		}
	}
}

// batch is one call of Claim.
type batch struct {
	*Store
	*lease.Batch
	client *client
	hold   lease.Hold
	mark   *lease.Mark
	marks  []lease.Mark
}

// lowest is the floor as it is known.
func (s *Store) lowest() floor {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.floor
}

// loadFloor reads the floor once per hold; later changes make a transaction fail.
func (s *Store) loadFloor(ctx context.Context, c *client) error {
	if s.lowest().known {
		return nil
	}
	r, err := c.Get(ctx, s.floorKey())
	if err != nil {
		return s.failure(err)
	}
	return s.sawFloor(r.Kvs)
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

// attempt writes some records in one transaction, or takes over how they are.
func (b *batch) attempt(ctx context.Context, f floor, records []lease.ClaimWrite) error {
	conditions := []clientv3.Cmp{b.proof(b.hold), clientv3.Compare(clientv3.ModRevision(b.floorKey()), "=", f.revision)}
	marks := clientv3.OpGet(b.runningPrefix(), clientv3.WithPrefix())
	writes := []clientv3.Op{marks}
	reads := []clientv3.Op{marks, clientv3.OpGet(b.key), clientv3.OpGet(b.floorKey())}
	for _, r := range records {
		key := b.claimsPrefix() + r.Key
		conditions = append(conditions, clientv3.Compare(clientv3.ModRevision(key), "=", int64(r.Revision)))
		writes = append(writes, clientv3.OpPut(key, string(r.Data)))
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
		b.Written(records)
		return nil
	}
	return b.learn(records, t.Responses)
}

// learn takes over what the reads of a transaction found whose conditions failed.
func (b *batch) learn(records []lease.ClaimWrite, found []*etcdserverpb.ResponseOp) error {
	if kv := first(found[1]); kv == nil || uint64(kv.CreateRevision) != b.hold.Token {
		return lease.ErrLost
	}
	if err := b.sawFloor(found[2].GetResponseRange().Kvs); err != nil {
		return err
	}
	for n, r := range records {
		var revision uint64
		if kv := first(found[3+n]); kv != nil {
			revision = uint64(kv.ModRevision)
		}
		if err := b.Saw(r.Key, value(found[3+n]), revision); err != nil {
			return fmt.Errorf("etcd: key %s: %w", b.claimsPrefix()+r.Key, err)
		}
	}
	return nil
}

// Claimed implements lease.Store.
func (s *Store) Claimed(ctx context.Context, firings []election.Firing) ([]election.Verdict, error) {
	c, err := s.dialer.client()
	if err != nil {
		return nil, err
	}
	r, err := c.Get(ctx, s.floorKey())
	if err != nil {
		return nil, s.failure(err)
	}
	var bottom time.Time
	if len(r.Kvs) > 0 {
		if bottom, err = lease.ParseFloor(string(r.Kvs[0].Value)); err != nil {
			return nil, fmt.Errorf("etcd: key %s: %w", s.floorKey(), err)
		}
	}
	return lease.Told(firings, bottom, func(key string) ([]byte, error) {
		r, err := c.Get(ctx, s.claimsPrefix()+key)
		switch {
		case err != nil:
			return nil, s.failure(err)
		case len(r.Kvs) == 0:
			return nil, nil
		}
		return r.Kvs[0].Value, nil
	})
}

// Tidy implements lease.Store: it removes old claims.
func (s *Store) Tidy(ctx context.Context, hold lease.Hold, now time.Time, clock time.Duration) error {
	c, err := s.dialer.client()
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
	f := s.lowest()
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
