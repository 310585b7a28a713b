package etcd

import (
	"context"
	"encoding/json"
	"strings"

	"go.etcd.io/etcd/api/v3/mvccpb"

	"github.com/yacron2/yacron2/lease"
)

// marks reads the running marks. One that makes no sense is none: it is void soon enough.
func (s *Store) marks(kvs []*mvccpb.KeyValue) []lease.Mark {
	marks := []lease.Mark{}
	for _, kv := range kvs {
		var mark lease.Mark
		if err := json.Unmarshal(kv.Value, &mark); err != nil {
			s.log.Warn("a running mark makes no sense", "key", string(kv.Key), "error", err)
			continue
		}
		mark.InstanceID = strings.TrimPrefix(string(kv.Key), s.runningPrefix())
		marks = append(marks, mark)
	}
	return marks
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
	if _, err := c.Do(ctx, op); err != nil {
		return s.failure(err)
	}
	return nil
}

// DropMarks implements lease.Store.
func (s *Store) DropMarks(ctx context.Context, instances []string) error {
	c, err := s.dialer.client()
	if err != nil {
		return err
	}
	for _, instance := range instances {
		if _, err := c.Delete(ctx, s.runningKey(instance)); err != nil {
			return s.failure(err)
		}
	}
	return nil
}
