package etcd

import (
	"context"
	"fmt"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/yacron2/yacron2/election"
	"github.com/yacron2/yacron2/lease"
)

// ClaimReboot implements lease.Store.
func (s *Store) ClaimReboot(ctx context.Context, hold lease.Hold, jobSetID string, jobs []string, mark *lease.Mark) ([]election.Verdict, []lease.Mark, error) {
	var verdicts []election.Verdict
	marks, err := s.updateRan(ctx, &hold, mark, func(ran lease.RanRecord) lease.RanRecord {
		verdicts, ran = lease.Reboots(ran, s.cfg.Identity.InstanceID, jobSetID, jobs)
		return ran
	})
	if err != nil {
		return nil, nil, err
	}
	return verdicts, marks, nil
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
func (s *Store) updateRan(ctx context.Context, hold *lease.Hold, mark *lease.Mark, change func(lease.RanRecord) lease.RanRecord) ([]lease.Mark, error) {
	c, err := s.dialer.client()
	if err != nil {
		return nil, err
	}
	for {
		r, err := c.Get(ctx, s.rebootKey())
		if err != nil {
			return nil, s.failure(err)
		}
		var ran lease.RanRecord
		var revision int64
		if len(r.Kvs) > 0 {
			revision = r.Kvs[0].ModRevision
			if ran, err = lease.DecodeRan(r.Kvs[0].Value); err != nil {
				return nil, fmt.Errorf("etcd: key %s: %w", s.rebootKey(), err)
			}
		}
		data, err := change(ran).Encode()
		if err != nil {
			return nil, err
		}
		conditions := []clientv3.Cmp{clientv3.Compare(clientv3.ModRevision(s.rebootKey()), "=", revision)}
		if hold != nil {
			conditions = append(conditions, s.proof(*hold))
		}
		marks := clientv3.OpGet(s.runningPrefix(), clientv3.WithPrefix())
		writes := []clientv3.Op{marks, clientv3.OpPut(s.rebootKey(), string(data))}
		if mark != nil {
			put, err := s.putMark(*mark)
			if err != nil {
				return nil, err
			}
			writes = append(writes, put)
		}
		t, err := c.Txn(ctx).If(conditions...).Then(writes...).Else(marks, clientv3.OpGet(s.key)).Commit()
		switch {
		case err != nil:
			return nil, s.failure(err)
		case t.Succeeded:
			return s.marks(t.Responses[0].GetResponseRange().Kvs), nil
		}
		if hold != nil {
			if kv := first(t.Responses[1]); kv == nil || uint64(kv.CreateRevision) != hold.Token {
				return nil, lease.ErrLost
			}
		}
	}
}
