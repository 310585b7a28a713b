package etcd

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
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
)

const (
	// firstLogin and lastLogin bound the pause between two logins that were refused: a
	// wrong password must not become a load on the server, which checks it slowly by
	// design.
	firstLogin, lastLogin = time.Second, time.Minute
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
	refusal error     // of the newest login
	again   time.Time // no login before
	pause   time.Duration
	used    material // what current was made with
}

// material is what the files and the secret held.
type material struct {
	ca, cert, key []byte
	password      string
}

func (m material) equal(other material) bool {
	return bytes.Equal(m.ca, other.ca) && bytes.Equal(m.cert, other.cert) && bytes.Equal(m.key, other.key) && m.password == other.password
}

// client is a connection.
type client struct {
	*clientv3.Client
	replaced chan struct{} // closed when another one takes its place

	mu     sync.Mutex
	stream etcdserverpb.Lease_LeaseKeepAliveClient
	cancel context.CancelFunc
}

// check reports what is wrong with the files and the secret.
func (d *dialer) check() error {
	m, err := d.load()
	if err != nil {
		return err
	}
	_, err = m.tls()
	return err
}

// load reads the files and the secret.
func (d *dialer) load() (m material, err error) {
	for _, f := range []struct {
		path string
		to   *[]byte
	}{{d.cfg.CA, &m.ca}, {d.cfg.Cert, &m.cert}, {d.cfg.Key, &m.key}} {
		if f.path == "" {
			continue
		}
		if *f.to, err = os.ReadFile(f.path); err != nil {
			return material{}, err
		}
	}
	if d.cfg.Password != nil {
		if m.password, err = d.cfg.Password(); err != nil {
			return material{}, fmt.Errorf("password: %w", err)
		}
	}
	return m, nil
}

// tls returns the settings of https endpoints.
func (m material) tls() (*tls.Config, error) {
	out := &tls.Config{MinVersion: tls.VersionTLS12}
	if m.ca != nil {
		out.RootCAs = x509.NewCertPool()
		if !out.RootCAs.AppendCertsFromPEM(m.ca) {
			return nil, errors.New("tls.ca holds no certificate in PEM form")
		}
	}
	if m.cert != nil || m.key != nil {
		pair, err := tls.X509KeyPair(m.cert, m.key)
		if err != nil {
			return nil, fmt.Errorf("tls.cert and tls.key: %w", err)
		}
		out.Certificates = []tls.Certificate{pair}
	}
	return out, nil
}

// client returns the connection, made within ctx if there is none.
func (d *dialer) client(ctx context.Context) (*client, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.closed:
		return nil, errors.New("etcd: closed")
	case d.current != nil:
		return d.current, nil
	case time.Now().Before(d.again):
		return nil, d.refusal
	}
	c, used, err := d.dial(ctx)
	if err != nil {
		if d.refusal = err; isRefusal(err) {
			d.pause = min(max(2*d.pause, firstLogin), lastLogin)
			d.again = time.Now().Add(d.pause)
		}
		return nil, err
	}
	d.current, d.used, d.pause = c, used, 0
	return c, nil
}

// isRefusal reports whether a server heard the login and refused it.
func isRefusal(err error) bool {
	return errors.Is(err, rpctypes.ErrAuthFailed) || errors.Is(err, rpctypes.ErrPermissionDenied)
}

// dial makes a connection. Only with a user name does it talk to the server.
func (d *dialer) dial(ctx context.Context) (*client, material, error) {
	m, err := d.load()
	if err != nil {
		return nil, m, err
	}
	cfg := clientv3.Config{
		Endpoints:            d.cfg.Endpoints,
		Username:             d.cfg.Username,
		Password:             m.password,
		DialTimeout:          d.cfg.ConnectTimeout,
		DialKeepAliveTime:    probe,
		DialKeepAliveTimeout: probeTimeout,
		Logger:               zap.NewNop(),
	}
	if deadline, ok := ctx.Deadline(); ok {
		cfg.DialTimeout = min(cfg.DialTimeout, time.Until(deadline))
	}
	for _, e := range d.cfg.Endpoints {
		if strings.HasPrefix(e, "https://") {
			if cfg.TLS, err = m.tls(); err != nil {
				return nil, m, err
			}
			break
		}
	}
	c, err := clientv3.New(cfg)
	if err != nil {
		return nil, m, readable(err, strings.Join(d.cfg.Endpoints, ", "), d.cfg.Username)
	}
	return &client{Client: c, replaced: make(chan struct{})}, m, nil
}

// reload replaces the connection if what it was made with has changed. New material that
// makes no sense leaves the connection as it is.
func (d *dialer) reload() error {
	m, err := d.load()
	if err == nil {
		_, err = m.tls()
	}
	if err != nil {
		return fmt.Errorf("etcd: %w", err)
	}
	d.mu.Lock()
	old := d.current
	if old == nil || d.closed || m.equal(d.used) {
		if !m.equal(d.used) {
			d.again = time.Time{} // another password may be the right one
		}
		d.mu.Unlock()
		return nil
	}
	d.current, d.again = nil, time.Time{}
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
	c.mu.Lock()
	c.drop()
	c.mu.Unlock()
	if err := c.Close(); err != nil && !errors.Is(err, context.Canceled) {
		return fmt.Errorf("etcd: %w", err)
	}
	return nil
}

// keepAlive prolongs a lease and returns its time to live in seconds, 0 if it is over.
// One stream serves for as long as it works, since each new one costs a login where
// there are users; an attempt that takes too long ends it.
func (c *client) keepAlive(ctx context.Context, id clientv3.LeaseID) (int64, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
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
	case errors.Is(err, context.DeadlineExceeded), status.Code(err) == codes.DeadlineExceeded:
		hint = "no answer in time from " + endpoints
	case status.Code(err) == codes.Unavailable:
		hint = "no member of etcd can be reached at " + endpoints
	default:
		return fmt.Errorf("etcd: %w", err)
	}
	return fmt.Errorf("%s: %w", hint, err)
}
