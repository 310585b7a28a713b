package etcd

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/yacron2/yacron2/lease"
)

const (
	// probe is after how long without an answer a connection is tested, and how long
	// that may take. Servers refuse less than 5 s.
	probe, probeTimeout = 5 * time.Second, 3 * time.Second
)

// dialer makes the connection when it is needed, and anew when what it was made with has
// changed.
type dialer struct {
	cfg *Config

	mu      sync.Mutex
	current *client
	closed  bool
	used    lease.Material // what current was made with
}

// client is a connection.
type client struct {
	*clientv3.Client
	login    *login        // nil without a user
	replaced chan struct{} // closed when another one takes its place

	mu     sync.Mutex
	stream etcdserverpb.Lease_LeaseKeepAliveClient
	cancel context.CancelFunc
}

// check reports what is wrong with the files and the secret.
func (d *dialer) check() error {
	m, err := d.cfg.credentials().Read()
	if err != nil {
		return err
	}
	_, err = m.TLS()
	return err
}

// client returns the connection, made now if there is none. Nothing is said to a server
// yet.
func (d *dialer) client() (*client, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.closed:
		return nil, errors.New("etcd: closed")
	case d.current != nil:
		return d.current, nil
	}
	c, used, err := d.dial()
	if err != nil {
		return nil, fmt.Errorf("etcd: %w", err)
	}
	d.current, d.used = c, used
	return c, nil
}

func (d *dialer) dial() (*client, lease.Material, error) {
	m, err := d.cfg.credentials().Read()
	if err != nil {
		return nil, m, err
	}
	cfg := clientv3.Config{
		Endpoints:            d.cfg.Endpoints,
		DialTimeout:          d.cfg.ConnectTimeout,
		DialKeepAliveTime:    probe,
		DialKeepAliveTimeout: probeTimeout,
		Logger:               zap.NewNop(),
	}
	for _, e := range d.cfg.Endpoints {
		if strings.HasPrefix(e, "https://") {
			if cfg.TLS, err = m.TLS(); err != nil {
				return nil, m, err
			}
			break
		}
	}
	out := &client{replaced: make(chan struct{})}
	if d.cfg.Username != "" {
		out.login = newLogin(d.cfg)
		cfg.DialOptions = out.login.options()
	}
	if out.Client, err = clientv3.New(cfg); err != nil {
		return nil, m, err
	}
	return out, m, nil
}

// reload replaces the connection if what it was made with has changed. New material that
// makes no sense leaves the connection as it is.
func (d *dialer) reload() error {
	m, err := d.cfg.credentials().Read()
	if err == nil {
		_, err = m.TLS()
	}
	if err != nil {
		return fmt.Errorf("etcd: %w", err)
	}
	d.mu.Lock()
	old := d.current
	if old == nil || d.closed || m.Equal(d.used) {
		d.mu.Unlock()
		return nil
	}
	d.current = nil
	d.mu.Unlock()
	return old.close()
}

func (d *dialer) close() error {
	d.mu.Lock()
	old := d.current
	d.current, d.closed = nil, true
	d.mu.Unlock()
	if old == nil {
		return nil
	}
	return old.close()
}

func (c *client) close() error {
	close(c.replaced)
	if c.login != nil {
		c.login.close()
	}
	c.mu.Lock()
	c.drop()
	c.mu.Unlock()
	if err := c.Close(); err != nil && !errors.Is(err, context.Canceled) {
		return fmt.Errorf("etcd: %w", err)
	}
	return nil
}

// keepAlive prolongs a lease and returns its time to live in seconds, 0 if it is over.
func (c *client) keepAlive(ctx context.Context, id clientv3.LeaseID) (int64, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	count := uint64(0)
	if c.login != nil {
		count = c.login.logins()
	}
	ttl, err := c.beat(ctx, id)
	if c.login == nil || !isUnknown(err) {
		return ttl, err
	}
	if err := c.login.renew(ctx, c.ActiveConnection(), count); err != nil {
		return 0, err
	}
	return c.beat(ctx, id)
}

// beat is one attempt of keepAlive. One stream serves for as long as it works; an attempt
// that takes too long ends it. mu is held.
func (c *client) beat(ctx context.Context, id clientv3.LeaseID) (int64, error) {
	if c.stream == nil {
		streaming, cancel := context.WithCancel(c.Ctx())
		stop := context.AfterFunc(ctx, cancel)
		stream, err := etcdserverpb.NewLeaseClient(c.ActiveConnection()).
			LeaseKeepAlive(clientv3.WithRequireLeader(streaming), grpc.WaitForReady(true))
		if !stop() && err == nil {
			err = ctx.Err()
		}
		if err != nil {
			cancel()
			return 0, within(ctx, err)
		}
		c.stream, c.cancel = stream, cancel
	}
	stop := context.AfterFunc(ctx, c.cancel)
	err := c.stream.Send(&etcdserverpb.LeaseKeepAliveRequest{ID: int64(id)})
	var r *etcdserverpb.LeaseKeepAliveResponse
	if err == nil || errors.Is(err, context.Canceled) {
		r, err = c.stream.Recv()
	} else if _, reason := c.stream.Recv(); reason != nil {
		err = reason // Send only tells that the stream has ended
	}
	if !stop() && err == nil {
		err = ctx.Err() // the stream is cancelled all the same
	}
	if err != nil {
		c.drop()
		return 0, within(ctx, err)
	}
	return r.TTL, nil
}

// drop ends the stream. mu is held.
func (c *client) drop() {
	if c.cancel != nil {
		c.cancel()
	}
	c.stream, c.cancel = nil, nil
}

// within tells a call that ran out of time from one that failed.
func within(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// readable puts an error into words: what happened, where, and what would help.
func readable(err error, endpoints, user string) error {
	err = rpctypes.Error(err)
	hint := ""
	switch {
	case errors.Is(err, rpctypes.ErrAuthFailed):
		hint = fmt.Sprintf("etcd refused the login of user %s: check username and password", user)
	case errors.Is(err, rpctypes.ErrPermissionDenied):
		hint = fmt.Sprintf("user %s may not do this: its role needs to read and write the election key and what begins with it and a slash", user)
	case errors.Is(err, rpctypes.ErrUserEmpty):
		hint = "etcd asks for a user: set username and password, or a client certificate whose common name is a user"
	case errors.Is(err, rpctypes.ErrNoSpace):
		hint = "etcd has used up its space: raise its quota or compact and defragment it, then disarm its alarm"
	case errors.Is(err, context.DeadlineExceeded), status.Code(err) == codes.DeadlineExceeded:
		hint = "no answer in time from " + endpoints
	case status.Code(err) == codes.Unavailable:
		hint = "no member of etcd can be reached at " + endpoints
	default:
		return fmt.Errorf("etcd: %w", err)
	}
	return fmt.Errorf("%s: %w", hint, err)
}
