package consul

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/consul/api"

	"github.com/yacron2/yacron2/election"
	"github.com/yacron2/yacron2/lease"
)

// The limits of one transaction: Consul takes 64 operations, newer ones 128, and 512 kB,
// in which values are written in base 64.
const (
	maxOperations = 60
	maxBytes      = 300 << 10
)

// held is the check that the hold stands.
func (s *Store) held(hold lease.Hold) *api.TxnOp {
	return s.op(api.KVTxnOp{Verb: api.KVCheckSession, Key: s.key, Session: sessionOf(hold)})
}

// op makes an operation of a transaction, which does not go by the client's defaults.
func (s *Store) op(op api.KVTxnOp) *api.TxnOp {
	op.Namespace, op.Partition = s.cfg.Namespace, s.cfg.Partition
	return &api.TxnOp{KV: &op}
}

// commit does the operations, all or none; done is whether. The first one is the check
// of the hold, unless fenced is false: if that is what failed, it returns ErrLost.
func (s *Store) commit(ctx context.Context, c *api.Client, fenced bool, ops ...*api.TxnOp) (done bool, err error) {
	done, r, _, err := c.Txn().Txn(ops, (&api.QueryOptions{}).WithContext(ctx))
	switch {
	case err != nil:
		return false, s.failure(err)
	case done:
		return true, nil
	}
	var what []string
	for _, e := range r.Errors {
		if strings.Contains(e.What, "Permission denied") { // which says nothing of the hold
			return false, s.failure(api.StatusError{Code: http.StatusForbidden, Body: e.What})
		}
		what = append(what, e.What)
	}
	if fenced && slices.ContainsFunc(r.Errors, func(e *api.TxnError) bool { return e.OpIndex == 0 }) {
		return false, fmt.Errorf("%w: %s", lease.ErrLost, strings.Join(what, ", "))
	}
	s.log.Debug("a transaction was refused", "reasons", what)
	return false, nil
}

// Claim implements lease.Store.
func (s *Store) Claim(ctx context.Context, hold lease.Hold, firings []election.Firing, mark *lease.Mark) ([]election.Verdict, []lease.Mark, error) {
	c, err := s.dialer.client()
	if err != nil {
		return nil, nil, err
	}
	floor, err := s.lowest(ctx, c)
	if err != nil {
		return nil, nil, err
	}
	room, err := mark.RoomBeside(maxBytes)
	if err != nil {
		return nil, nil, err
	}
	b := lease.NewBatch(lease.Claimant{Token: hold.Token, Instance: s.cfg.Identity.InstanceID, Node: s.cfg.Identity.NodeName}, firings)
	for {
		writes, err := b.Next(floor, maxOperations, room)
		if err == nil && len(writes) > 0 {
			err = s.attempt(ctx, c, hold, b, writes, mark)
		}
		if err != nil {
			return b.Verdicts(), nil, err
		}
		if len(writes) == 0 {
			break
		}
	}
	if mark == nil {
		return b.Verdicts(), nil, nil
	}
	// After the own mark is there: of two processes that claim, one sees the other's.
	pairs, _, err := c.KV().List(s.runningPrefix(), consistent(ctx))
	if err != nil {
		// What was given stays given, and is found to be so when it is asked for again.
		return nil, nil, s.failure(err)
	}
	return b.Verdicts(), s.marks(pairs), nil
}

// lowest returns the floor of the claims. Only who holds the record changes it, so that
// it is read once per hold.
func (s *Store) lowest(ctx context.Context, c *api.Client) (time.Time, error) {
	s.mu.Lock()
	known := s.floor
	s.mu.Unlock()
	if known != nil {
		return *known, nil
	}
	at, err := s.readFloor(ctx, c)
	if err != nil {
		return time.Time{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.floor = &at
	return at, nil
}

func (s *Store) readFloor(ctx context.Context, c *api.Client) (time.Time, error) {
	pair, _, err := c.KV().Get(s.floorKey(), consistent(ctx))
	if err != nil {
		return time.Time{}, s.failure(err)
	}
	if pair == nil {
		return time.Time{}, nil
	}
	at, err := lease.ParseFloor(string(pair.Value))
	if err != nil {
		return time.Time{}, fmt.Errorf("consul: key %s: %w", s.floorKey(), err)
	}
	return at, nil
}

// attempt writes some records in one transaction, or takes over how they are.
func (s *Store) attempt(ctx context.Context, c *api.Client, hold lease.Hold, b *lease.Batch, writes []lease.ClaimWrite, mark *lease.Mark) error {
	ops := []*api.TxnOp{s.held(hold)}
	for _, w := range writes {
		// With index 0, cas makes the key only if there is none.
		ops = append(ops, s.op(api.KVTxnOp{Verb: api.KVCAS, Key: s.claimsPrefix() + w.Key, Value: w.Data, Index: w.Revision}))
	}
	if mark != nil {
		op, err := s.putMark(*mark)
		if err != nil {
			return err
		}
		ops = append(ops, op)
	}
	done, err := s.commit(ctx, c, true, ops...)
	if err != nil {
		return err
	}
	if done {
		b.Written(writes)
		return nil
	}
	for _, w := range writes {
		pair, _, err := c.KV().Get(s.claimsPrefix()+w.Key, consistent(ctx))
		if err != nil {
			return s.failure(err)
		}
		if pair == nil {
			pair = &api.KVPair{}
		}
		if err := b.Saw(w.Key, pair.Value, pair.ModifyIndex); err != nil {
			return fmt.Errorf("consul: key %s: %w", s.claimsPrefix()+w.Key, err)
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
	floor, err := s.readFloor(ctx, c)
	if err != nil {
		return nil, err
	}
	return lease.Told(firings, floor, func(key string) ([]byte, error) {
		pair, _, err := c.KV().Get(s.claimsPrefix()+key, consistent(ctx))
		switch {
		case err != nil:
			return nil, s.failure(err)
		case pair == nil:
			return nil, nil
		}
		return pair.Value, nil
	})
}

// Tidy implements lease.Store: it removes old claims, the floor first, so that what is
// gone is never given again.
func (s *Store) Tidy(ctx context.Context, hold lease.Hold, now time.Time, clock time.Duration) error {
	c, err := s.dialer.client()
	if err != nil {
		return err
	}
	keys, _, err := c.KV().Keys(s.claimsPrefix(), "", consistent(ctx))
	if err != nil {
		return s.failure(err)
	}
	for i, key := range keys {
		keys[i] = strings.TrimPrefix(key, s.claimsPrefix())
	}
	up, err := s.pruning.Due(keys, now, clock)
	if err != nil {
		s.log.Warn("there are keys among the claims that are none", "error", err)
	}
	before, err := s.lowest(ctx, c)
	if err != nil {
		return err
	}
	if up.After(before) {
		_, err := s.commit(ctx, c, true, s.held(hold),
			s.op(api.KVTxnOp{Verb: api.KVSet, Key: s.floorKey(), Value: []byte(lease.FormatFloor(up))}))
		if err != nil {
			return err
		}
		s.mu.Lock()
		s.floor = &up
		s.mu.Unlock()
		before = up
	}
	return s.sweep(ctx, c, hold, keys, before)
}

// sweep removes the records up to the floor.
func (s *Store) sweep(ctx context.Context, c *api.Client, hold lease.Hold, keys []string, floor time.Time) error {
	ops := []*api.TxnOp{s.held(hold)}
	for _, key := range keys {
		if at, err := lease.ParseClaimKey(key); err != nil || at.After(floor) {
			continue
		}
		ops = append(ops, s.op(api.KVTxnOp{Verb: api.KVDelete, Key: s.claimsPrefix() + key}))
		if len(ops) == maxOperations {
			break // the rest next time
		}
	}
	if len(ops) == 1 {
		return nil
	}
	_, err := s.commit(ctx, c, true, ops...)
	return err
}

// marks reads the running marks among some keys. One that makes no sense is none: it is
// void soon enough.
func (s *Store) marks(pairs api.KVPairs) []lease.Mark {
	marks := []lease.Mark{}
	for _, p := range pairs {
		instance, ok := strings.CutPrefix(p.Key, s.runningPrefix())
		if !ok {
			continue
		}
		var mark lease.Mark
		if err := json.Unmarshal(p.Value, &mark); err != nil {
			s.log.Warn("a running mark makes no sense", "key", p.Key, "error", err)
			continue
		}
		mark.InstanceID = instance
		marks = append(marks, mark)
	}
	return marks
}

func (s *Store) putMark(mark lease.Mark) (*api.TxnOp, error) {
	if len(mark.Jobs) == 0 {
		return s.op(api.KVTxnOp{Verb: api.KVDelete, Key: s.runningKey(mark.InstanceID)}), nil
	}
	data, err := json.Marshal(mark)
	if err != nil {
		return nil, err
	}
	return s.op(api.KVTxnOp{Verb: api.KVSet, Key: s.runningKey(mark.InstanceID), Value: data}), nil
}

// SetMark implements lease.Store.
func (s *Store) SetMark(ctx context.Context, mark lease.Mark) error {
	c, err := s.dialer.client()
	if err != nil {
		return err
	}
	op, err := s.putMark(mark)
	if err != nil {
		return err
	}
	if done, err := s.commit(ctx, c, false, op); err != nil || done {
		return err
	}
	return errors.New("consul refused to write what runs on this node")
}

// DropMarks implements lease.Store.
func (s *Store) DropMarks(ctx context.Context, instances []string) error {
	c, err := s.dialer.client()
	if err != nil {
		return err
	}
	for _, instance := range instances {
		if _, err := c.KV().Delete(s.runningKey(instance), writing(ctx)); err != nil {
			return s.failure(err)
		}
	}
	return nil
}

// ClaimReboot implements lease.Store.
func (s *Store) ClaimReboot(ctx context.Context, hold lease.Hold, jobSetID string, jobs []string, mark *lease.Mark) ([]election.Verdict, []lease.Mark, error) {
	var verdicts []election.Verdict
	c, err := s.updateRan(ctx, &hold, mark, func(ran lease.RanRecord) lease.RanRecord {
		verdicts, ran = lease.Reboots(ran, s.cfg.Identity.InstanceID, jobSetID, jobs)
		return ran
	})
	switch {
	case err != nil:
		return nil, nil, err
	case mark == nil:
		return verdicts, nil, nil
	}
	pairs, _, err := c.KV().List(s.runningPrefix(), consistent(ctx))
	if err != nil {
		return nil, nil, s.failure(err)
	}
	return verdicts, s.marks(pairs), nil
}

// MarkRan implements lease.Store.
func (s *Store) MarkRan(ctx context.Context, jobSetID, job string) error {
	_, err := s.updateRan(ctx, nil, nil, func(ran lease.RanRecord) lease.RanRecord {
		if _, known := ran.Ran(jobSetID, job); known {
			return ran
		}
		return ran.Add(jobSetID, job, s.cfg.Identity.InstanceID)
	})
	return err
}

// updateRan changes the record of one-shots, as often as others change it meanwhile, and
// with a hold only while that stands.
func (s *Store) updateRan(ctx context.Context, hold *lease.Hold, mark *lease.Mark, change func(lease.RanRecord) lease.RanRecord) (*api.Client, error) {
	c, err := s.dialer.client()
	if err != nil {
		return nil, err
	}
	for {
		pair, _, err := c.KV().Get(s.rebootKey(), consistent(ctx))
		if err != nil {
			return nil, s.failure(err)
		}
		if pair == nil {
			pair = &api.KVPair{}
		}
		ran, err := lease.DecodeRan(pair.Value)
		if err != nil {
			return nil, fmt.Errorf("consul: key %s: %w", s.rebootKey(), err)
		}
		data, err := change(ran).Encode()
		if err != nil {
			return nil, err
		}
		var ops []*api.TxnOp
		if hold != nil {
			ops = append(ops, s.held(*hold))
		}
		ops = append(ops, s.op(api.KVTxnOp{Verb: api.KVCAS, Key: s.rebootKey(), Value: data, Index: pair.ModifyIndex}))
		if mark != nil {
			op, err := s.putMark(*mark)
			if err != nil {
				return nil, err
			}
			ops = append(ops, op)
		}
		if done, err := s.commit(ctx, c, hold != nil, ops...); err != nil || done {
			return c, err
		}
	}
}
