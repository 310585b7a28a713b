package etcd

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/yacron2/yacron2/lease"
)

// MinTTL is the shortest time to live that a lease can be led on with.
const MinTTL = 3 * time.Second

// Config describes the record and how to reach it.
type Config struct {
	Identity lease.Identity
	// Endpoints are the members' client URLs, http or https.
	Endpoints []string
	// ElectionName is the key of the record.
	ElectionName string
	// TTL is the time to live asked for, in whole seconds and at least MinTTL. The
	// server may grant another.
	TTL time.Duration
	// Username and Password are empty where the server asks for none. Password is
	// called at each login, so that a changed secret is found.
	Username string
	Password func() (string, error)
	// CA, Cert and Key are PEM files for https endpoints; without a CA the system's
	// are trusted.
	CA, Cert, Key string
	// ConnectTimeout bounds a login.
	ConnectTimeout time.Duration
	Logger         hclog.Logger // nil: silent
}

// credentials are where the connection's material is.
func (c *Config) credentials() lease.Credentials {
	return lease.Credentials{CA: c.CA, Cert: c.Cert, Key: c.Key, Secret: c.Password, SecretName: "password"}
}

// Timing returns how a Manager asks a store with this time to live: three renewals in
// it, and each call short enough for several attempts before leadership ends.
func Timing(ttl time.Duration) lease.Timing {
	call := max(ttl/9, 600*time.Millisecond)
	return lease.Timing{
		Duration:  ttl,
		Floor:     MinTTL,
		Renew:     ttl / 3,
		Observe:   ttl / 3,
		Retry:     max(ttl/15, 250*time.Millisecond),
		Call:      call,
		RenewCall: call,
	}
}

// Store is a record in etcd. It implements lease.Store.
type Store struct {
	cfg    Config
	log    hclog.Logger
	key    string
	dialer dialer

	mu      sync.Mutex
	lease   clientv3.LeaseID // of this process; 0: none yet
	granted time.Duration
	byHand  bool // the record has no lease, and that was logged
	floor   floor

	pruning lease.Pruning
}

var _ lease.Store = (*Store)(nil)

// New returns a Store of cfg. It connects at the first call, but the certificates are
// read now: an error names the file that is wrong.
func New(cfg Config) (*Store, error) {
	switch {
	case len(cfg.Endpoints) == 0:
		return nil, errors.New("etcd: no endpoints")
	case cfg.ElectionName == "":
		return nil, errors.New("etcd: no election name")
	case cfg.TTL < MinTTL:
		return nil, fmt.Errorf("etcd: a ttl of %s; at least %s is needed", cfg.TTL, MinTTL)
	}
	if cfg.Logger == nil {
		cfg.Logger = hclog.NewNullLogger()
	}
	s := &Store{cfg: cfg, log: cfg.Logger.Named("etcd"), key: cfg.ElectionName}
	s.dialer = dialer{cfg: &s.cfg}
	if err := s.dialer.check(); err != nil {
		return nil, fmt.Errorf("etcd: %w", err)
	}
	return s, nil
}

func (s *Store) releasedKey() string        { return s.key + "/released" }
func (s *Store) rebootKey() string          { return s.key + "/reboot" }
func (s *Store) floorKey() string           { return s.key + "/floor" }
func (s *Store) claimsPrefix() string       { return s.key + "/claims/" }
func (s *Store) runningPrefix() string      { return s.key + "/running/" }
func (s *Store) runningKey(i string) string { return s.runningPrefix() + i }

// Read implements lease.Store: one transaction, so that what it tells belongs together,
// and that the members agree on before they answer.
func (s *Store) Read(ctx context.Context) (lease.Snapshot, error) {
	c, err := s.dialer.client()
	if err != nil {
		return lease.Snapshot{}, err
	}
	r, err := c.Txn(ctx).Then(
		clientv3.OpGet(s.key),
		clientv3.OpGet(s.releasedKey()),
		clientv3.OpGet(s.rebootKey()),
		clientv3.OpGet(s.runningPrefix(), clientv3.WithPrefix()),
	).Commit()
	if err != nil {
		return lease.Snapshot{}, s.failure(err)
	}
	out := lease.Snapshot{Marks: s.marks(r.Responses[3].GetResponseRange().Kvs)}
	if out.Ran, err = lease.DecodeRan(value(r.Responses[2])); err != nil {
		return lease.Snapshot{}, fmt.Errorf("key %s: %w", s.rebootKey(), err)
	}
	out.Record = s.record(first(r.Responses[0]), first(r.Responses[1]) != nil)
	return out, nil
}

// record reads the leader record; nil is none.
func (s *Store) record(kv *mvccpb.KeyValue, released bool) lease.Record {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := lease.Record{Detail: map[string]any{"electionName": s.key, "leaseId": nil}}
	if kv == nil {
		r.Released = released
		s.byHand = false
		return r
	}
	r.Holder = string(kv.Value)
	r.HolderID = fmt.Sprintf("%x/%d", kv.Lease, kv.CreateRevision)
	r.HoldID = strconv.FormatInt(kv.CreateRevision, 10)
	r.Version = strconv.FormatInt(kv.ModRevision, 10)
	r.Own = s.lease != clientv3.NoLease && clientv3.LeaseID(kv.Lease) == s.lease
	r.Detail["leaseId"] = strconv.FormatInt(kv.Lease, 10)
	r.Opaque = kv.CreateRevision
	if r.Holder == "" {
		r.Holder = "?" // held all the same
	}
	if kv.Lease == 0 && !s.byHand {
		s.byHand = true
		s.log.Warn("the election key is not bound to a lease: it was written by hand, and nobody can lead until it is deleted",
			"key", s.key, "value", string(kv.Value))
	}
	return r
}

// Acquire implements lease.Store.
func (s *Store) Acquire(ctx context.Context, seen lease.Record) (lease.Hold, error) {
	c, err := s.dialer.client()
	if err != nil {
		return lease.Hold{}, err
	}
	id, granted, err := s.grant(ctx, c)
	if err != nil {
		return lease.Hold{}, err
	}
	if revision, ok := seen.Opaque.(int64); seen.Own && ok {
		// A write whose answer was lost, or a hold past its local deadline.
		return s.Renew(ctx, lease.Hold{Token: uint64(revision), Duration: granted})
	}
	r, err := c.Txn(ctx).
		If(clientv3.Compare(clientv3.CreateRevision(s.key), "=", 0)).
		Then(clientv3.OpPut(s.key, s.cfg.Identity.NodeName, clientv3.WithLease(id)), clientv3.OpDelete(s.releasedKey())).
		Else(clientv3.OpGet(s.key)).
		Commit()
	if err != nil {
		return lease.Hold{}, s.failure(err)
	}
	if !r.Succeeded {
		return lease.Hold{}, lease.ErrHeld
	}
	s.mu.Lock()
	s.floor = floor{} // another holder may have raised it
	s.mu.Unlock()
	return lease.Hold{Token: uint64(r.Header.Revision), Duration: granted}, nil
}

// grant returns this process's lease, kept alive as of now. The same one serves for all
// attempts for as long as it lives: a record that appears late, by a request that was
// given up, is then still known as this process's own.
func (s *Store) grant(ctx context.Context, c *client) (clientv3.LeaseID, time.Duration, error) {
	s.mu.Lock()
	id := s.lease
	s.mu.Unlock()
	if id != clientv3.NoLease {
		granted, err := s.keepAlive(ctx, c, id)
		if !errors.Is(err, lease.ErrLost) {
			return id, granted, err
		}
	}
	r, err := c.Grant(ctx, int64(s.cfg.TTL/time.Second))
	if err != nil {
		return 0, 0, s.failure(err)
	}
	granted := time.Duration(r.TTL) * time.Second
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lease, s.granted = r.ID, granted
	return r.ID, granted, nil
}

// keepAlive prolongs the lease and returns for how long.
func (s *Store) keepAlive(ctx context.Context, c *client, id clientv3.LeaseID) (time.Duration, error) {
	ttl, err := c.keepAlive(ctx, id)
	if err != nil {
		return 0, s.failure(err)
	}
	if ttl <= 0 {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.lease == id {
			s.lease = clientv3.NoLease
		}
		return 0, fmt.Errorf("%w: etcd has ended it", lease.ErrLost)
	}
	return time.Duration(ttl) * time.Second, nil
}

// Renew implements lease.Store. A lease that lives does not mean that the key does.
func (s *Store) Renew(ctx context.Context, hold lease.Hold) (lease.Hold, error) {
	c, err := s.dialer.client()
	if err != nil {
		return lease.Hold{}, err
	}
	s.mu.Lock()
	id := s.lease
	s.mu.Unlock()
	if id == clientv3.NoLease {
		return lease.Hold{}, lease.ErrLost
	}
	granted, err := s.keepAlive(ctx, c, id)
	if err != nil {
		return lease.Hold{}, err
	}
	r, err := c.Get(ctx, s.key, clientv3.WithKeysOnly())
	if err != nil {
		return lease.Hold{}, s.failure(err)
	}
	if len(r.Kvs) == 0 || uint64(r.Kvs[0].CreateRevision) != hold.Token {
		return lease.Hold{}, fmt.Errorf("%w: somebody deleted or replaced the key %s", lease.ErrLost, s.key)
	}
	hold.Duration = granted
	return hold, nil
}

// proof is the condition that the hold stands.
func (s *Store) proof(hold lease.Hold) clientv3.Cmp {
	return clientv3.Compare(clientv3.CreateRevision(s.key), "=", int64(hold.Token))
}

// Release implements lease.Store.
func (s *Store) Release(ctx context.Context, hold lease.Hold) error {
	c, err := s.dialer.client()
	if err != nil {
		return err
	}
	r, err := c.Txn(ctx).If(s.proof(hold)).Then(
		clientv3.OpPut(s.releasedKey(), strconv.FormatUint(hold.Token, 10)),
		clientv3.OpDelete(s.key),
	).Commit()
	if err != nil {
		return s.failure(err)
	}
	s.mu.Lock()
	id := s.lease
	s.lease = clientv3.NoLease
	s.mu.Unlock()
	if id != clientv3.NoLease {
		// Nothing is bound to it any more; if this fails, it ends by itself.
		if _, err := c.Revoke(ctx, id); err != nil {
			s.log.Debug("the lease was not revoked", "error", err)
		}
	}
	if !r.Succeeded {
		return lease.ErrLost
	}
	return nil
}

// Watch implements lease.Store.
func (s *Store) Watch(ctx context.Context, changed func()) error {
	c, err := s.dialer.client()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	// A member that has lost its leader must not leave the watch silent.
	events := c.Watch(clientv3.WithRequireLeader(ctx), s.key, clientv3.WithCreatedNotify())
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-c.replaced:
			return errors.New("the connection was replaced")
		case r, open := <-events:
			switch {
			case !open:
				return errors.New("the watch has ended")
			case r.Err() != nil:
				return s.failure(r.Err())
			case r.Created || s.foreign(r.Events):
				changed()
			}
		}
	}
}

// foreign reports whether another process may have changed the record.
func (s *Store) foreign(events []*clientv3.Event) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range events {
		if e.Type != clientv3.EventTypePut || clientv3.LeaseID(e.Kv.Lease) != s.lease {
			return true
		}
	}
	return false
}

// Reload implements lease.Store.
func (s *Store) Reload() error { return s.dialer.reload() }

// Close implements lease.Store.
func (s *Store) Close() error { return s.dialer.close() }

// first returns the key of a range of one, nil if it does not exist.
func first(r *etcdserverpb.ResponseOp) *mvccpb.KeyValue {
	if kvs := r.GetResponseRange().Kvs; len(kvs) > 0 {
		return kvs[0]
	}
	return nil
}

// value is the value of the key of a range of one, nil if it does not exist.
func value(r *etcdserverpb.ResponseOp) []byte {
	if kv := first(r); kv != nil {
		return kv.Value
	}
	return nil
}

// failure makes a client's error one that people can read.
func (s *Store) failure(err error) error {
	return readable(err, strings.Join(s.cfg.Endpoints, ", "), s.cfg.Username)
}
