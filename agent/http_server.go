package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/yacron2/yacron2/agent/config"
)

// Limits of the HTTP server. There is no limit on how long an answer may take: a
// cancellation waits for the job's killTimeout.
const (
	headerTimeout  = 10 * time.Second
	requestTimeout = 30 * time.Second // to the end of its body
	idleTimeout    = 2 * time.Minute
	maxHeaderBytes = 64 << 10
	maxBodyBytes   = 1 << 20

	// bindRetry is the pause before an address that could not be bound is tried again.
	bindRetry = 2 * time.Second
)

// webConfig is what the web server needs of the configuration.
type webConfig struct {
	listen            []config.Listener
	certFile, keyFile string // of https listeners
	socketMode        os.FileMode
	tokens            []token
	hosts             *hostNames
	open              []string // paths that need neither token nor host
}

// webServer serves one API on any number of addresses. A change of the addresses binds
// the new ones and closes the old ones; an address that stays keeps its listener and
// its connections.
type webServer struct {
	log         hclog.Logger
	api         http.Handler
	guard       atomic.Pointer[guard] // of the tokens in effect, before api
	failures    *failureLimit
	connections *connections

	mu      sync.Mutex
	config  webConfig // in effect
	servers map[config.Listener]*boundServer
	certs   *certificates
	serving bool
	retry   *time.Timer // runs while an address could not be bound
	wg      sync.WaitGroup
}

// boundServer is one address.
type boundServer struct {
	listener net.Listener
	server   *http.Server
	end      context.CancelFunc // of the streams
}

func newWebServer(log hclog.Logger, api http.Handler) *webServer {
	return &webServer{
		log: log, api: api, servers: make(map[config.Listener]*boundServer), certs: &certificates{},
		failures: newFailureLimit(log, time.Now), connections: newConnections(log, connectionLimit()),
	}
}

// apply makes cfg the configuration in effect. Addresses that cannot be bound are
// logged and reported; the others serve, and they are tried again.
func (s *webServer) apply(cfg webConfig) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	g := newGuard(cfg.tokens, cfg.hosts, append([]string{pathHealth, pathReady}, cfg.open...), s.failures, s.api)
	endStreams := g.inherit(s.guard.Load())
	s.guard.Store(g)
	endStreams()
	s.certs.setFiles(cfg.certFile, cfg.keyFile)
	changedMode := cfg.socketMode != s.config.socketMode
	s.config = cfg
	for address, bound := range s.servers {
		if slices.Contains(cfg.listen, address) {
			if changedMode && address.Scheme == "unix" {
				if err := os.Chmod(address.Address, cmp.Or(cfg.socketMode, defaultSocketMode)); err != nil {
					s.log.Error("the mode of a socket stays as it was", "address", address, "error", err)
				}
			}
			continue
		}
		delete(s.servers, address)
		_ = bound.listener.Close() // at once: another configuration may want the port
		// The request that asked for this may be one of those that still go on there.
		s.wg.Go(func() {
			ctx, cancel := context.WithTimeout(context.Background(), webStopLimit)
			defer cancel()
			s.close(ctx, address, bound)
		})
	}
	return s.bindMissing(s.log.Error)
}

// bindMissing binds the addresses that are wanted and not bound, tells report of those
// that still cannot be, and sees to it that they are tried again: what holds an address
// is often a process that is just ending. mu is held.
func (s *webServer) bindMissing(report func(msg string, args ...any)) error {
	var errs []error
	for _, address := range s.config.listen {
		if s.servers[address] != nil {
			continue
		}
		l, err := listen(address, s.config.socketMode, s.certs)
		if err != nil {
			report("cannot serve the HTTP API on this address, trying again", "address", address, "error", err)
			errs = append(errs, fmt.Errorf("web.listen: %w", err))
			continue
		}
		bound := s.bind(l)
		s.servers[address] = bound
		s.log.Info("HTTP API listening", "address", address)
		if s.serving {
			s.serve(address, bound)
		}
	}
	if s.retry != nil {
		s.retry.Stop()
		s.retry = nil
	}
	if len(errs) > 0 && s.serving {
		s.retry = time.AfterFunc(bindRetry, s.tryAgain)
	}
	return errors.Join(errs...)
}

// tryAgain is what the retry timer does.
func (s *webServer) tryAgain() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.serving {
		_ = s.bindMissing(s.log.Debug)
	}
}

func (s *webServer) bind(l net.Listener) *boundServer {
	streams, end := context.WithCancel(context.Background())
	base := context.WithValue(context.Background(), streamsContext{}, streams)
	return &boundServer{listener: l, end: end, server: &http.Server{
		BaseContext: func(net.Listener) context.Context { return base },
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			r.Body = http.MaxBytesReader(w, r.Body, maxBodyBytes)
			s.guard.Load().ServeHTTP(w, r)
		}),
		ConnState:         s.connections.changed,
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       requestTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          s.log.StandardLogger(&hclog.StandardLoggerOptions{ForceLevel: hclog.Debug}),
	}}
}

// start begins to answer on the addresses bound so far.
func (s *webServer) start() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.serving = true
	for address, bound := range s.servers {
		s.serve(address, bound)
	}
	_ = s.bindMissing(s.log.Debug) // New has said what could not be bound
}

func (s *webServer) serve(address config.Listener, bound *boundServer) {
	s.wg.Go(func() {
		if err := bound.server.Serve(bound.listener); err != nil && !errors.Is(err, http.ErrServerClosed) {
			s.log.Error("HTTP API stopped serving", "address", address, "error", err)
		}
	})
}

// close ends one address: requests under way may finish until ctx ends.
func (s *webServer) close(ctx context.Context, address config.Listener, bound *boundServer) {
	bound.end()
	if err := bound.server.Shutdown(ctx); err != nil {
		_ = bound.server.Close()
	}
	// Shutdown closes only listeners that Serve has taken over.
	_ = bound.listener.Close()
	s.log.Debug("HTTP API closed", "address", address)
}

// stop ends every address and waits for the goroutines that served them.
func (s *webServer) stop(ctx context.Context) error {
	s.mu.Lock()
	s.serving = false
	if s.retry != nil {
		s.retry.Stop()
	}
	var closing sync.WaitGroup
	for address, bound := range s.servers {
		closing.Go(func() { s.close(ctx, address, bound) })
	}
	closing.Wait()
	clear(s.servers)
	s.mu.Unlock()
	s.wg.Wait()
	return nil
}

// addresses lists the bound addresses with the ports they really have.
func (s *webServer) addresses() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []string
	for _, bound := range s.servers {
		list = append(list, bound.listener.Addr().String())
	}
	return list
}
