package realstore

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/yacron2/yacron2/internal/testcluster"
)

// EtcdOptions describe an etcd. The zero value is one member of the current release,
// without TLS, open to everybody.
type EtcdOptions struct {
	Flavour Flavour // "" is Current
	Members int     // 0 is one
	// TLS serves https and lets in only clients with a certificate of the authority.
	TLS bool
	// Users turns authentication on.
	Users []EtcdUser
	// TokenTTL is how long an authentication token lives, in whole seconds; 0 leaves
	// etcd's 300. With users.
	TokenTTL time.Duration
}

// EtcdUser may read and write the keys below a prefix, "" for all.
type EtcdUser struct {
	Name, Password, Prefix string
}

// Etcd is an etcd of one member or several.
type Etcd struct {
	// Certificates has the authority, nil without TLS.
	Certificates *Certificates

	tb      testing.TB
	options EtcdOptions
	members []*member
	admin   EtcdUser
}

// member is one process of an etcd.
type member struct {
	*process
	endpoint string // URL
}

const (
	// startLimit is how long a store may take until it answers. On a machine that
	// builds beside it kube-apiserver needs ten seconds, on one that does much more, minutes.
	startLimit = 2 * time.Minute
	// callLimit bounds one call of the harness itself.
	callLimit = 10 * time.Second
)

// StartEtcd starts an etcd and waits until it can be used. It ends with the test; the
// logs are shown if the test failed.
func StartEtcd(tb testing.TB, o EtcdOptions) *Etcd {
	tb.Helper()
	if o.Flavour == "" {
		o.Flavour = Current
	}
	if o.Members == 0 {
		o.Members = 1
	}
	e := &Etcd{tb: tb, options: o}
	if o.TLS {
		e.Certificates = NewCertificates(tb)
	}
	e.plan(etcdProgram(tb, o.Flavour))
	tb.Cleanup(e.close)
	for _, m := range e.members {
		if err := m.start(); err != nil {
			tb.Fatal(err)
		}
	}
	e.AwaitReady()
	if len(o.Users) > 0 {
		e.enableUsers()
	}
	return e
}

// plan writes the command line of each member.
func (e *Etcd) plan(program string) {
	e.tb.Helper()
	dir := e.tb.TempDir()
	scheme := "http"
	if e.options.TLS {
		scheme = "https"
	}
	ports := testcluster.FreePorts(e.tb, 2*e.options.Members)
	peer := func(i int) string { return "http://" + loopback(ports[2*i+1]) }
	var cluster []string
	for i := range e.options.Members {
		cluster = append(cluster, fmt.Sprintf("m%d=%s", i, peer(i)))
	}
	for i := range e.options.Members {
		name, endpoint := fmt.Sprintf("m%d", i), scheme+"://"+loopback(ports[2*i])
		argv := []string{program, "--name", name, "--data-dir", filepath.Join(dir, name),
			"--listen-client-urls", endpoint, "--advertise-client-urls", endpoint,
			"--listen-peer-urls", peer(i), "--initial-advertise-peer-urls", peer(i),
			"--initial-cluster", strings.Join(cluster, ","), "--initial-cluster-token", filepath.Base(dir)}
		if e.options.TLS {
			pair := e.Certificates.Server(e.tb)
			argv = append(argv, "--cert-file", pair.Cert, "--key-file", pair.Key,
				"--trusted-ca-file", pair.CA, "--client-cert-auth")
		}
		if len(e.options.Users) > 0 {
			argv = append(argv, "--auth-token", "simple")
		}
		if e.options.TokenTTL != 0 {
			argv = append(argv, "--auth-token-ttl", strconv.Itoa(int(e.options.TokenTTL/time.Second)))
		}
		if e.options.Flavour == Current {
			// A killed process loses nothing that it has written; only a machine
			// that goes down does, and that is not tried here.
			argv = append(argv, "--unsafe-no-fsync")
		}
		e.members = append(e.members, &member{process: newProcess(name, dir, argv...), endpoint: endpoint})
	}
}

// close ends all members, paused ones too.
func (e *Etcd) close() {
	for _, m := range e.members {
		m.kill()
	}
	if e.tb.Failed() {
		for _, m := range e.members {
			e.tb.Logf("log of etcd %s:\n%s", m.name, m.logTail(100))
		}
	}
}

// Endpoints returns the client URL of each member.
func (e *Etcd) Endpoints() []string {
	var endpoints []string
	for _, m := range e.members {
		endpoints = append(endpoints, m.endpoint)
	}
	return endpoints
}

// AwaitReady waits until every running member answers, as after a Restart.
func (e *Etcd) AwaitReady() {
	e.tb.Helper()
	for i, m := range e.members {
		client := e.client(e.admin, m.endpoint)
		testcluster.EventuallyWithin(e.tb, startLimit, "etcd "+m.name, func() error {
			if _, err := m.current(); err != nil {
				return err
			}
			return e.answers(client)
		})
		if err := client.Close(); err != nil {
			e.tb.Logf("closing the client of member %d: %v", i, err)
		}
	}
}

// answers asks for a key by way of the members' agreement, so that an etcd without a
// leader does not pass.
func (e *Etcd) answers(client *clientv3.Client) error {
	ctx, cancel := context.WithTimeout(e.tb.Context(), time.Second)
	defer cancel()
	_, err := client.Get(ctx, "health")
	return err
}

// Do lets a step use a client that may do everything. Each step has its own: where users
// are, a login of the older servers can not be renewed once it has ended.
func (e *Etcd) Do(step func(context.Context, *clientv3.Client) error) {
	e.tb.Helper()
	client := e.client(e.admin, e.Endpoints()...)
	defer client.Close()
	ctx, cancel := context.WithTimeout(e.tb.Context(), testcluster.Patience)
	defer cancel()
	if err := step(ctx, client); err != nil {
		e.tb.Errorf("etcd: %v", err)
	}
}

func (e *Etcd) client(user EtcdUser, endpoints ...string) *clientv3.Client {
	e.tb.Helper()
	config := clientv3.Config{Endpoints: endpoints, DialTimeout: callLimit, Logger: zap.NewNop(),
		Username: user.Name, Password: user.Password}
	if e.options.TLS {
		config.TLS = e.tlsConfig()
	}
	client, err := clientv3.New(config)
	if err != nil {
		e.tb.Fatal(err)
	}
	return client
}

// tlsConfig is that of a client which is let in.
func (e *Etcd) tlsConfig() *tls.Config {
	return &tls.Config{RootCAs: e.Certificates.CA.Pool(),
		Certificates: []tls.Certificate{e.Certificates.issue(e.tb, "harness").TLS()}}
}

// enableUsers makes the users and turns authentication on; from then on the harness is
// root.
func (e *Etcd) enableUsers() {
	e.tb.Helper()
	ctx, cancel := context.WithTimeout(e.tb.Context(), callLimit)
	defer cancel()
	client := e.client(EtcdUser{}, e.Endpoints()...)
	defer client.Close()
	root := EtcdUser{Name: "root", Password: "root of the harness"}
	must := func(err error) {
		e.tb.Helper()
		if err != nil {
			e.tb.Fatal(err)
		}
	}
	add := func(u EtcdUser, role string) {
		e.tb.Helper()
		_, err := client.UserAdd(ctx, u.Name, u.Password)
		must(err)
		_, err = client.UserGrantRole(ctx, u.Name, role)
		must(err)
	}
	add(root, "root")
	for _, u := range e.options.Users {
		from, to := u.Prefix, clientv3.GetPrefixRangeEnd(u.Prefix)
		if from == "" {
			from, to = "\x00", "\x00" // etcd's way to say all keys
		}
		_, err := client.RoleAdd(ctx, u.Name)
		must(err)
		_, err = client.RoleGrantPermission(ctx, u.Name, from, to,
			clientv3.PermissionType(clientv3.PermReadWrite))
		must(err)
		add(u, u.Name)
	}
	_, err := client.AuthEnable(ctx)
	must(err)
	e.admin = root
}

// Leader returns which member leads, by its number in Endpoints.
func (e *Etcd) Leader() int {
	e.tb.Helper()
	leader := -1
	testcluster.Eventually(e.tb, "etcd has a leader", func() error {
		client := e.client(e.admin, e.Endpoints()...)
		defer client.Close()
		for i, m := range e.members {
			ctx, cancel := context.WithTimeout(e.tb.Context(), time.Second)
			status, err := client.Status(ctx, m.endpoint)
			cancel()
			if err == nil && status.Leader == status.Header.MemberId {
				leader = i
				return nil
			}
		}
		return fmt.Errorf("none of %d members says so", len(e.members))
	})
	return leader
}

// MoveLeader makes another member etcd's own leader, and returns which.
func (e *Etcd) MoveLeader() int {
	e.tb.Helper()
	from := e.Leader()
	to := (from + 1) % len(e.members)
	client := e.client(e.admin, e.members[from].endpoint)
	defer client.Close()
	ctx, cancel := context.WithTimeout(e.tb.Context(), callLimit)
	defer cancel()
	other := e.client(e.admin, e.members[to].endpoint)
	defer other.Close()
	status, err := other.Status(ctx, e.members[to].endpoint)
	if err != nil {
		e.tb.Fatal(err)
	}
	if _, err := client.MoveLeader(ctx, status.Header.MemberId); err != nil {
		e.tb.Fatal(err)
	}
	return to
}

// Kill ends members by SIGKILL; without numbers, all of them.
func (e *Etcd) Kill(numbers ...int) {
	e.tb.Helper()
	for _, m := range e.chosen(numbers) {
		m.kill()
	}
}

// Pause freezes members: they keep their connections and answer nothing.
func (e *Etcd) Pause(numbers ...int) { e.tb.Helper(); e.each(numbers, (*process).pause) }

// Resume ends a Pause.
func (e *Etcd) Resume(numbers ...int) { e.tb.Helper(); e.each(numbers, (*process).resume) }

// Start starts members that were killed, on the same data, and does not wait.
func (e *Etcd) Start(numbers ...int) {
	e.tb.Helper()
	for _, m := range e.chosen(numbers) {
		if err := m.start(); err != nil {
			e.tb.Fatal(err)
		}
	}
}

// Restart ends members in peace, starts them on the same data and waits for all.
func (e *Etcd) Restart(numbers ...int) {
	e.tb.Helper()
	for _, m := range e.chosen(numbers) {
		m.terminate()
	}
	e.Start(numbers...)
	e.AwaitReady()
}

func (e *Etcd) each(numbers []int, do func(*process) error) {
	e.tb.Helper()
	for _, m := range e.chosen(numbers) {
		if err := do(m.process); err != nil {
			e.tb.Fatal(err)
		}
	}
}

func (e *Etcd) chosen(numbers []int) []*member {
	if len(numbers) == 0 {
		return e.members
	}
	var chosen []*member
	for _, i := range numbers {
		chosen = append(chosen, e.members[i])
	}
	return chosen
}

func loopback(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }
