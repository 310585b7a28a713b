package etcd

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
)

const (
	// firstLogin and lastLogin bound the pause between two logins that were refused: a
	// wrong password must not become a load on the server, which checks it slowly by
	// design.
	firstLogin, lastLogin = time.Second, time.Minute

	authenticate = "/etcdserverpb.Auth/Authenticate"
)

// login is how a connection is known to a server that has users: by a token, which ends
// when it was not used for a while, and when the server restarts. The client library can
// replace one too, but shows the old one while it asks for the new, and servers of the
// 3.4 line refuse that; it also asks anew for each stream.
type login struct {
	user     string
	password func() (string, error)
	limit    time.Duration // of one login

	// All logins happen in ctx; close ends it and waits for them.
	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu      sync.Mutex // guards what follows
	token   string     // "" also if the server turned out to have no users
	count   uint64     // of successful logins
	pending chan struct{}
	err     error     // of the newest login
	again   time.Time // none before
	pause   time.Duration
}

var _ credentials.PerRPCCredentials = (*login)(nil)

func newLogin(cfg *Config) *login {
	l := &login{user: cfg.Username, password: cfg.Password, limit: cfg.ConnectTimeout}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	return l
}

// options are those of a connection that goes by the login.
func (l *login) options() []grpc.DialOption {
	return []grpc.DialOption{
		grpc.WithPerRPCCredentials(l),
		grpc.WithChainUnaryInterceptor(l.unary),
		grpc.WithChainStreamInterceptor(l.stream),
	}
}

// GetRequestMetadata implements credentials.PerRPCCredentials.
func (l *login) GetRequestMetadata(ctx context.Context, _ ...string) (map[string]string, error) {
	if info, _ := credentials.RequestInfoFromContext(ctx); info.Method == authenticate {
		return nil, nil // an old token would have it refused
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.token == "" {
		return nil, nil
	}
	return map[string]string{rpctypes.TokenFieldNameGRPC: l.token}, nil
}

// RequireTransportSecurity implements credentials.PerRPCCredentials. That secrets go to
// https endpoints alone is for the configuration to see to.
func (l *login) RequireTransportSecurity() bool { return false }

// unary logs in before the first call, and once more if the server does not know the
// token any longer.
func (l *login) unary(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	if method == authenticate {
		return invoke(ctx, method, req, reply, cc, opts...)
	}
	count, err := l.first(ctx, cc)
	if err != nil {
		return err
	}
	if err := invoke(ctx, method, req, reply, cc, opts...); !isUnknown(err) {
		return err
	}
	if err := l.renew(ctx, cc, count); err != nil {
		return err
	}
	return invoke(ctx, method, req, reply, cc, opts...)
}

// stream logs in before the first stream. What becomes of a token later shows only when
// the stream is read.
func (l *login) stream(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, open grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	if _, err := l.first(ctx, cc); err != nil {
		return nil, err
	}
	return open(ctx, desc, cc, method, opts...)
}

// isUnknown reports whether the server wants to know again who is asking.
func isUnknown(err error) bool {
	err = rpctypes.Error(err)
	return errors.Is(err, rpctypes.ErrInvalidAuthToken) || errors.Is(err, rpctypes.ErrAuthOldRevision) ||
		errors.Is(err, rpctypes.ErrUserEmpty)
}

// first sees to it that there was a login, and returns how many there were.
func (l *login) first(ctx context.Context, cc grpc.ClientConnInterface) (count uint64, err error) {
	if count = l.logins(); count > 0 {
		return count, nil
	}
	err = l.renew(ctx, cc, 0)
	return l.logins(), err
}

func (l *login) logins() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.count
}

// renew logs in, unless that was done since the count was taken. A login goes on when ctx
// ends, so that on a slow server the next call finds it done; there is one at a time.
func (l *login) renew(ctx context.Context, cc grpc.ClientConnInterface, count uint64) error {
	l.mu.Lock()
	if l.count != count {
		l.mu.Unlock()
		return nil
	}
	if l.pending == nil {
		if time.Now().Before(l.again) {
			defer l.mu.Unlock()
			return l.err
		}
		l.pending = make(chan struct{})
		l.wg.Go(func() { l.run(cc) })
	}
	pending := l.pending
	l.mu.Unlock()
	select {
	case <-pending:
	case <-ctx.Done():
		return ctx.Err()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// run is one login.
func (l *login) run(cc grpc.ClientConnInterface) {
	token, err := l.ask(cc)
	l.mu.Lock()
	defer l.mu.Unlock()
	close(l.pending)
	l.pending = nil
	l.err = err
	switch {
	case err == nil:
		l.token, l.pause = token, 0
		l.count++
	case isRefusal(err):
		l.pause = min(max(2*l.pause, firstLogin), lastLogin)
		l.again = time.Now().Add(l.pause)
	}
}

func (l *login) ask(cc grpc.ClientConnInterface) (token string, err error) {
	password := ""
	if l.password != nil {
		if password, err = l.password(); err != nil {
			return "", fmt.Errorf("password: %w", err)
		}
	}
	ctx, cancel := context.WithTimeout(l.ctx, l.limit)
	defer cancel()
	r, err := etcdserverpb.NewAuthClient(cc).Authenticate(ctx,
		&etcdserverpb.AuthenticateRequest{Name: l.user, Password: password}, grpc.WaitForReady(true))
	switch err = rpctypes.Error(err); {
	case errors.Is(err, rpctypes.ErrAuthNotEnabled):
		return "", nil
	case err != nil:
		return "", err
	}
	return r.Token, nil
}

// isRefusal reports whether a server heard the login and refused it.
func isRefusal(err error) bool {
	return errors.Is(err, rpctypes.ErrAuthFailed) || errors.Is(err, rpctypes.ErrPermissionDenied)
}

// close ends a login under way.
func (l *login) close() {
	l.cancel()
	l.wg.Wait()
}
