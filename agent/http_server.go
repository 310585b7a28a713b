package agent

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
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
)

// webConfig is what the web server needs of the configuration.
type webConfig struct {
	listen            []config.Listener
	certFile, keyFile string // of https listeners
	socketMode        os.FileMode
	tokens            []token
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
	servers map[config.Listener]*boundServer
	certs   *certificates
	serving bool
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
// logged and reported; the others serve.
func (s *webServer) apply(ctx context.Context, cfg webConfig) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.guard.Store(newGuard(cfg.tokens, []string{pathHealth, pathReady}, s.failures, s.api))
	s.certs.setFiles(cfg.certFile, cfg.keyFile)

	wanted := make(map[config.Listener]bool, len(cfg.listen))
	for _, address := range cfg.listen {
		wanted[address] = true
	}
	for address, bound := range s.servers {
		if !wanted[address] {
			delete(s.servers, address)
			s.close(ctx, address, bound)
		}
	}
	var errs []error
	for _, address := range cfg.listen {
		if s.servers[address] != nil {
			continue
		}
		l, err := listen(address, cfg.socketMode, s.certs)
		if err != nil {
			s.log.Error("cannot serve the HTTP API on this address", "address", address, "error", err)
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
	return errors.Join(errs...)
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
	var closing sync.WaitGroup
	for address, bound := range s.servers {
		closing.Go(func() { s.close(ctx, address, bound) })
	}
	closing.Wait()
	clear(s.servers)
	s.serving = false
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
