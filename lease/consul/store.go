package consul

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/consul/api"
	"github.com/hashicorp/go-hclog"

	"github.com/yacron2/yacron2/lease"
)

// The range that Consul takes for a session's time to live.
const (
	MinTTL = 10 * time.Second
	MaxTTL = 86400 * time.Second
)

// Config describes the record and how to reach it.
type Config struct {
	Identity lease.Identity
	// Address is the URL of a Consul agent, http or https.
	Address string
	// Token returns the ACL token; nil where none is asked for. It is called at each
	// connection, so that a changed secret is found.
	Token func() (string, error)
	// Datacenter, Namespace and Partition are the agent's own if they are empty.
	Datacenter, Namespace, Partition string
	// CA, Cert and Key are PEM files for an https address; without a CA the system's
	// are trusted.
	CA, Cert, Key string
	// ElectionKey is the key of the record.
	ElectionKey string
	// TTL is the session's time to live, from MinTTL to MaxTTL. LockDelay is for how
	// long the key of an invalidated session stays free, at most a minute.
	TTL, LockDelay time.Duration
	// ConnectTimeout bounds the opening of a connection.
	ConnectTimeout time.Duration
	Logger         hclog.Logger // nil: silent
}

// credentials are where the connection's material is.
func (c *Config) credentials() lease.Credentials {
	return lease.Credentials{CA: c.CA, Cert: c.Cert, Key: c.Key, Secret: c.Token, SecretName: "token"}
}

// Timing returns how a Manager asks a store with this time to live: the session is
// renewed at half of it, as Consul advises.
func Timing(ttl time.Duration) lease.Timing {
	call := ttl / 6
	return lease.Timing{
		Duration:  ttl,
		Floor:     2 * lease.ClockMargin,
		Renew:     ttl / 2,
		Observe:   min(ttl/3, 10*time.Second),
		Retry:     min(max(ttl/15, 250*time.Millisecond), 5*time.Second),
		Call:      min(call, 10*time.Second),
		RenewCall: min(call, 10*time.Second),
	}
}

// Store is a record in Consul. It implements lease.Store.
type Store struct {
	cfg    Config
	log    hclog.Logger
	key    string
	dialer dialer

	blocking time.Duration // how long a question for changes may wait

	mu      sync.Mutex
	session string // of this process; "": none yet
	trying  bool   // an acquiring write of the session may have been made
	spent   bool   // the session has held the record: the next hold has one of its own
	delayed bool   // the lock delay was logged
	floor   *time.Time

	pruning lease.Pruning
}

var _ lease.Store = (*Store)(nil)

// value is what the key holds, for people and for the other nodes.
type value struct {
	Holder   string `json:"holder"`
	Instance string `json:"instance,omitempty"`
	Released bool   `json:"released,omitempty"`
}

// New returns a Store of cfg. It connects at the first call, but the certificates are
// read now: an error names what is wrong.
func New(cfg Config) (*Store, error) {
	switch {
	case cfg.Address == "":
		return nil, errors.New("consul: no address")
	case cfg.ElectionKey == "":
		return nil, errors.New("consul: no key")
	case cfg.TTL < MinTTL || cfg.TTL > MaxTTL:
		return nil, fmt.Errorf("consul: a session ttl of %s; Consul takes %s to %s", cfg.TTL, MinTTL, MaxTTL)
	case cfg.LockDelay < 0 || cfg.LockDelay > time.Minute:
		return nil, fmt.Errorf("consul: a lock delay of %s; Consul takes up to a minute", cfg.LockDelay)
	}
	if cfg.Logger == nil {
		cfg.Logger = hclog.NewNullLogger()
	}
	s := &Store{cfg: cfg, log: cfg.Logger.Named("consul"), key: cfg.ElectionKey, blocking: blocking}
	s.dialer.cfg = &s.cfg
	if _, err := s.dialer.client(); err != nil {
		return nil, err
	}
	return s, nil
}

func (s *Store) rebootKey() string          { return s.key + "/reboot" }
func (s *Store) floorKey() string           { return s.key + "/floor" }
func (s *Store) runningPrefix() string      { return s.key + "/running/" }
func (s *Store) runningKey(i string) string { return s.runningPrefix() + i }
func (s *Store) claimsPrefix() string       { return s.key + "-claims/" }

// consistent are the options of reads that go by what the servers agree on.
func consistent(ctx context.Context) *api.QueryOptions {
	return (&api.QueryOptions{RequireConsistent: true}).WithContext(ctx)
}

func writing(ctx context.Context) *api.WriteOptions { return (&api.WriteOptions{}).WithContext(ctx) }

// Read implements lease.Store.
func (s *Store) Read(ctx context.Context) (lease.Snapshot, error) {
	c, err := s.dialer.client()
	if err != nil {
		return lease.Snapshot{}, err
	}
	pair, _, err := c.KV().Get(s.key, consistent(ctx))
	if err != nil {
		return lease.Snapshot{}, s.failure(err)
	}
	beside, _, err := c.KV().List(s.key+"/", consistent(ctx))
	if err != nil {
		return lease.Snapshot{}, s.failure(err)
	}
	out := lease.Snapshot{Record: s.record(pair), Marks: s.marks(beside)}
	for _, p := range beside {
		if p.Key != s.rebootKey() {
			continue
		}
		if out.Ran, err = lease.DecodeRan(p.Value); err != nil {
			return lease.Snapshot{}, fmt.Errorf("consul: key %s: %w", p.Key, err)
		}
	}
	return out, nil
}

// record reads the leader record; nil is none.
func (s *Store) record(pair *api.KVPair) lease.Record {
	r := lease.Record{Detail: map[string]any{"key": s.key, "session": nil}}
	if pair == nil {
		return r
	}
	var v value
	if err := json.Unmarshal(pair.Value, &v); err != nil {
		v = value{Holder: string(pair.Value)} // somebody else's, or written by hand
	}
	r.Version = strconv.FormatUint(pair.ModifyIndex, 10)
	r.Opaque = pair.ModifyIndex
	if pair.Session == "" {
		r.Released = v.Released
		return r
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	r.Holder, r.HolderID, r.Own = v.Holder, pair.Session, pair.Session == s.session
	r.HoldID = r.Version // nobody writes the key while it is held
	if r.Holder == "" {
		r.Holder = "?" // held all the same
	}
	r.Detail["session"] = pair.Session
	return r
}

// Acquire implements lease.Store.
func (s *Store) Acquire(ctx context.Context, seen lease.Record) (lease.Hold, error) {
	c, err := s.dialer.client()
	if err != nil {
		return lease.Hold{}, err
	}
	s.mu.Lock()
	trying := s.trying
	s.mu.Unlock()
	if index, ok := seen.Opaque.(uint64); seen.Own && ok {
		if trying { // a write whose answer was lost, some time ago
			entry, _, err := c.Session().Renew(seen.HolderID, writing(ctx))
			switch {
			case err != nil:
				return lease.Hold{}, s.failure(err)
			case entry == nil:
				return lease.Hold{}, lease.ErrHeld // or it will be
			}
			return s.acquired(seen.HolderID, index), nil
		}
		// A hold that ran out: it ends here for good, and the next one begins.
		if err := s.forget(ctx, c); err != nil {
			return lease.Hold{}, err
		}
	}
	session, err := s.openSession(ctx, c)
	if err != nil {
		return lease.Hold{}, err
	}
	data, err := json.Marshal(value{Holder: s.cfg.Identity.NodeName, Instance: s.cfg.Identity.InstanceID})
	if err != nil {
		return lease.Hold{}, err
	}
	s.mu.Lock()
	s.trying = true
	s.mu.Unlock()
	ok, _, err := c.KV().Acquire(&api.KVPair{Key: s.key, Value: data, Session: session}, writing(ctx))
	if err != nil {
		return lease.Hold{}, s.failure(err)
	}
	if !ok {
		return lease.Hold{}, s.refused(ctx, c)
	}
	pair, _, err := c.KV().Get(s.key, consistent(ctx))
	switch {
	case err != nil:
		return lease.Hold{}, s.failure(err) // the next read finds the record its own
	case pair == nil || pair.Session != session:
		return lease.Hold{}, lease.ErrHeld
	}
	return s.acquired(session, pair.ModifyIndex), nil
}

func (s *Store) acquired(session string, index uint64) lease.Hold {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.trying, s.spent, s.delayed, s.floor = false, true, false, nil
	return lease.Hold{Token: index, Duration: s.cfg.TTL, Opaque: session}
}

// sessionOf is the session of a hold. No two holds have the same, so that it tells them
// apart like a token.
func sessionOf(hold lease.Hold) string {
	id, _ := hold.Opaque.(string)
	return id
}

// refused tells why a key could not be locked, and logs it once if it is free: then Consul
// keeps it so for the lock delay, of which nobody is told how much is left.
func (s *Store) refused(ctx context.Context, c *api.Client) error {
	pair, _, err := c.KV().Get(s.key, consistent(ctx))
	switch {
	case err != nil:
		return s.failure(err)
	case pair != nil && pair.Session != "":
		return lease.ErrHeld
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.delayed {
		s.delayed = true
		s.log.Info("Consul keeps the key free for the lock delay after a session that was invalidated", "key", s.key, "lock-delay", s.cfg.LockDelay)
	}
	return lease.ErrBarred
}

// openSession returns a session that has not held the record: this process's, renewed as
// of now, or a new one.
func (s *Store) openSession(ctx context.Context, c *api.Client) (string, error) {
	s.mu.Lock()
	id, spent := s.session, s.spent
	s.mu.Unlock()
	if id != "" && spent {
		if err := s.destroy(ctx, c, id); err != nil {
			return "", err
		}
		id = ""
	}
	if id != "" {
		entry, _, err := c.Session().Renew(id, writing(ctx))
		if err != nil {
			return "", s.failure(err)
		}
		if entry != nil {
			return id, nil
		}
	}
	id, _, err := c.Session().CreateNoChecks(&api.SessionEntry{
		Name:      "yacron2 " + s.cfg.Identity.NodeName,
		TTL:       s.cfg.TTL.String(),
		Behavior:  api.SessionBehaviorRelease,
		LockDelay: s.lockDelay(),
	}, writing(ctx))
	if err != nil {
		return "", s.failure(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.session, s.trying, s.spent = id, false, false
	return id, nil
}

// lockDelay is what the session asks for. Consul takes 0 for its own default of 15 s, so
// that the shortest there is stands for none.
func (s *Store) lockDelay() time.Duration { return max(s.cfg.LockDelay, time.Nanosecond) }

// forget unlocks the key, which causes no lock delay, and destroys the session.
func (s *Store) forget(ctx context.Context, c *api.Client) error {
	s.mu.Lock()
	id := s.session
	s.mu.Unlock()
	if id == "" {
		return nil
	}
	if _, err := s.unlock(ctx, c, id, false); err != nil {
		return err
	}
	return s.destroy(ctx, c, id)
}

// destroy ends the session. Where there are access lists, older servers take one that has
// ended already for an error.
func (s *Store) destroy(ctx context.Context, c *api.Client, id string) error {
	if _, err := c.Session().Destroy(id, writing(ctx)); err != nil && !strings.Contains(err.Error(), "Unknown session") {
		return s.failure(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.session == id {
		s.session, s.trying, s.spent = "", false, false
	}
	return nil
}

// unlock frees the key, and tells whether it was given up on purpose.
func (s *Store) unlock(ctx context.Context, c *api.Client, session string, gave bool) (held bool, err error) {
	data, err := json.Marshal(value{Holder: s.cfg.Identity.NodeName, Released: gave})
	if err != nil {
		return false, err
	}
	held, _, err = c.KV().Release(&api.KVPair{Key: s.key, Value: data, Session: session}, writing(ctx))
	if err != nil {
		return false, s.failure(err)
	}
	return held, nil
}

// Renew implements lease.Store. A session that lives does not mean that it has the key.
func (s *Store) Renew(ctx context.Context, hold lease.Hold) (lease.Hold, error) {
	c, err := s.dialer.client()
	if err != nil {
		return lease.Hold{}, err
	}
	id := sessionOf(hold)
	entry, _, err := c.Session().Renew(id, writing(ctx))
	if err != nil {
		return lease.Hold{}, s.failure(err)
	}
	if entry == nil {
		return lease.Hold{}, fmt.Errorf("%w: Consul has invalidated its session", lease.ErrLost)
	}
	pair, _, err := c.KV().Get(s.key, consistent(ctx))
	switch {
	case err != nil:
		return lease.Hold{}, s.failure(err)
	case pair == nil || pair.Session != id:
		return lease.Hold{}, fmt.Errorf("%w: somebody deleted or unlocked the key %s", lease.ErrLost, s.key)
	}
	hold.Duration = s.cfg.TTL
	return hold, nil
}

// Release implements lease.Store.
func (s *Store) Release(ctx context.Context, hold lease.Hold) error {
	c, err := s.dialer.client()
	if err != nil {
		return err
	}
	id := sessionOf(hold)
	held, err := s.unlock(ctx, c, id, true)
	if err != nil {
		return err
	}
	if err := s.destroy(ctx, c, id); err != nil {
		s.log.Debug("the session was not destroyed", "error", err) // it ends by itself
	}
	if !held {
		return lease.ErrLost
	}
	return nil
}

// Reload implements lease.Store.
func (s *Store) Reload() error { return s.dialer.reload() }

// Close implements lease.Store.
func (s *Store) Close() error {
	s.dialer.close()
	return nil
}
