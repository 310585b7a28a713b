package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/yacron2/yacron2/internal/pki"
	"github.com/yacron2/yacron2/internal/realstore"
	"github.com/yacron2/yacron2/internal/testcluster"
	"github.com/yacron2/yacron2/lease"
	"github.com/yacron2/yacron2/lease/leasetest"
)

// write makes a file of a test and returns its path.
func write(t *testing.T, path, text string, mode os.FileMode) string {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	// What was there before keeps its mode.
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
	return path
}

// kubeconfig writes one for the real server, with a user as a YAML flow mapping.
func (r *record) kubeconfig(t *testing.T, path, user string) string {
	t.Helper()
	return write(t, path, fmt.Sprintf(`apiVersion: v1
kind: Config
current-context: test
clusters: [{name: test, cluster: {server: %q, certificate-authority: %q}}]
users: [{name: test, user: %s}]
contexts: [{name: test, context: {cluster: test, user: test, namespace: %s}}]
`, r.Server.URL, r.Server.CAFile, user, r.Name), 0o600)
}

// start opens a store that goes to the server without a proxy.
func (r *record) start(t *testing.T, adapt func(*Config)) *node {
	t.Helper()
	cfg := r.config(t, leasetest.Process{Identity: lease.Identity{NodeName: "node-a", InstanceID: "a"}})
	adapt(&cfg)
	store, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return &node{Store: store, t: t}
}

// works goes through a whole hold.
func (n *node) works(what string) {
	n.t.Helper()
	seen, err := n.Read(n.ctx())
	if err == nil {
		var hold lease.Hold
		if hold, err = n.Acquire(n.ctx(), seen.Record); err == nil {
			err = n.Release(n.ctx(), hold)
		}
	}
	if err != nil {
		n.t.Errorf("%s: %v", what, err)
	}
}

// awaitAccess waits until the server knows of an account or a rule that is new.
func (n *node) awaitAccess() {
	n.t.Helper()
	testcluster.Eventually(n.t, "the server lets the node in", func() error {
		_, err := n.Read(n.ctx())
		return err
	})
}

func TestTokenOfAKubeconfig(t *testing.T) {
	r := newRecord(t, kube.Get(t))
	path := r.kubeconfig(t, filepath.Join(t.TempDir(), "kubeconfig"), "{token: "+r.token+"}")
	n := r.start(t, func(c *Config) { c.Kubeconfig = path })
	if n.cfg.LeaseNamespace != r.Name {
		t.Errorf("the namespace is %q, want that of the context, %q", n.cfg.LeaseNamespace, r.Name)
	}
	n.works("a token")

	// A token that is refused is looked for in the file again before anybody hears of it.
	r.kubeconfig(t, path, "{token: not-a-token}")
	if err := n.Reload(); err != nil {
		t.Fatal(err)
	}
	if _, err := n.Read(n.ctx()); err == nil || !strings.Contains(err.Error(), "does not accept the credentials of this node") || strings.Contains(err.Error(), "not-a-token") {
		t.Errorf("a token that is none: %v", err)
	}
	r.kubeconfig(t, path, "{token: "+r.token+"}")
	n.works("a token that was exchanged without a reload")

	// What cannot be read leaves the credentials in use.
	write(t, path, "clusters: [", 0o600)
	if err := n.Reload(); err == nil || !strings.Contains(err.Error(), "the credentials in use stay") {
		t.Errorf("reloading a broken kubeconfig: %v", err)
	}
	n.works("a token whose file is broken")
}

func TestClientCertificate(t *testing.T) {
	r := newRecord(t, kube.Get(t))
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	install := func(user string) {
		t.Helper()
		files := r.Server.ClientCertificate(t, user)
		for to, from := range map[string]string{cert: files.Cert, key: files.Key} {
			data, err := os.ReadFile(from)
			if err != nil {
				t.Fatal(err)
			}
			write(t, to, string(data), 0o600)
		}
	}
	// In that namespace, the rules of an account take some time to be in force.
	user := "node-of-" + r.Name
	r.AllowUser(t, user, realstore.LeaderRules(leaseName)...)
	install("somebody else")
	path := r.kubeconfig(t, filepath.Join(dir, "kubeconfig"), "{client-certificate: tls.crt, client-key: tls.key}")
	n := r.start(t, func(c *Config) { c.Kubeconfig, c.ClientLibrary = path, "http" })
	if _, err := n.Read(n.ctx()); err == nil || !strings.Contains(err.Error(), "does not allow this node to get the Lease") || !strings.Contains(err.Error(), `"somebody else"`) {
		t.Errorf("another's certificate: %v", err)
	}
	install(user)
	if err := n.Reload(); err != nil {
		t.Fatal(err)
	}
	n.awaitAccess()
	n.works("a client certificate")
	if err := os.Remove(key); err != nil {
		t.Fatal(err)
	}
	if err := n.Reload(); err == nil || !strings.Contains(err.Error(), "tls.key") {
		t.Errorf("reloading without a key: %v", err)
	}
	n.works("a certificate whose file is gone")
}

// plugin writes a credential plugin: a program that prints the token in a file, waits as
// long as there is another file, and counts how often it was run.
func plugin(t *testing.T, dir string) (program string) {
	t.Helper()
	return write(t, filepath.Join(dir, "plugin"), `#!/bin/sh
cd "$1" || exit 1
echo run >> runs
while [ -e wait ]; do sleep 0.05; done
printf '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"%s"}}' "$(cat token)"
`, 0o700)
}

func TestCredentialPlugin(t *testing.T) {
	r := newRecord(t, kube.Get(t))
	dir := t.TempDir()
	user := fmt.Sprintf("{exec: {apiVersion: client.authentication.k8s.io/v1, command: %q, args: [%q], interactiveMode: IfAvailable}}", plugin(t, dir), dir)
	path := r.kubeconfig(t, filepath.Join(dir, "kubeconfig"), user)
	write(t, filepath.Join(dir, "token"), r.token, 0o600)
	n := r.start(t, func(c *Config) { c.Kubeconfig = path })
	runs := func() int {
		t.Helper()
		data, err := os.ReadFile(filepath.Join(dir, "runs"))
		if err != nil {
			t.Fatal(err)
		}
		return strings.Count(string(data), "run")
	}
	n.works("a plugin's token")
	n.works("a plugin's token again")
	if got := runs(); got != 1 {
		t.Errorf("the plugin ran %d times for one token", got)
	}

	// The account is made anew: its old token is refused, and the plugin is asked again.
	r.Server.Admin(t, http.MethodDelete, "/api/v1/namespaces/"+r.Name+"/serviceaccounts/agent", nil)
	r.Server.Admin(t, http.MethodPost, "/api/v1/namespaces/"+r.Name+"/serviceaccounts", map[string]any{
		"apiVersion": "v1", "kind": "ServiceAccount", "metadata": map[string]any{"name": "agent"}})
	write(t, filepath.Join(dir, "token"), r.Token(t, "agent"), 0o600)
	testcluster.Eventually(t, "the old token is refused", func() error {
		if runs() > 1 {
			return nil
		}
		if _, err := n.Read(n.ctx()); err != nil {
			return err
		}
		return errors.New("the plugin was not asked again")
	})
	n.awaitAccess()
	n.works("the token of a new account")
	if err := n.Reload(); err != nil {
		t.Error(err)
	}
}

// A plugin that hangs holds nobody up, and does not pile up.
func TestCredentialPluginThatHangs(t *testing.T) {
	r := newRecord(t, kube.Get(t))
	dir := t.TempDir()
	user := fmt.Sprintf("{exec: {apiVersion: client.authentication.k8s.io/v1, command: %q, args: [%q], interactiveMode: Never}}", plugin(t, dir), dir)
	path := r.kubeconfig(t, filepath.Join(dir, "kubeconfig"), user)
	write(t, filepath.Join(dir, "token"), r.token, 0o600)
	hanging := write(t, filepath.Join(dir, "wait"), "", 0o600)
	n := r.start(t, func(c *Config) { c.Kubeconfig = path })
	for range 2 * maxRequests {
		_, err := n.Read(limited(t, 100*time.Millisecond))
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "the credential plugin of the kubeconfig did not answer") {
			t.Fatalf("reading while the plugin hangs: %v", err)
		}
	}
	if err := os.Remove(hanging); err != nil {
		t.Fatal(err)
	}
	n.works("once the plugin answers")
	data, err := os.ReadFile(filepath.Join(dir, "runs"))
	if err != nil || strings.Count(string(data), "run") != 1 {
		t.Errorf("the plugin ran %q, %v", data, err)
	}
}

// pod lays out what Kubernetes gives a pod, and returns what differs in the configuration.
func (r *record) pod(t *testing.T, dir string) func(*Config) {
	t.Helper()
	ca, err := os.ReadFile(r.Server.CAFile)
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "ca.crt"), string(ca), 0o600)
	write(t, filepath.Join(dir, "namespace"), r.Name+"\n", 0o600)
	write(t, filepath.Join(dir, "token"), r.token+"\n", 0o600)
	u, err := url.Parse(r.Server.URL)
	if err != nil {
		t.Fatal(err)
	}
	host, port, err := net.SplitHostPort(u.Host)
	if err != nil {
		t.Fatal(err)
	}
	return func(c *Config) {
		c.podFiles = dir
		c.environ = func(name string) string {
			return map[string]string{"KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": port}[name]
		}
	}
}

func TestPod(t *testing.T) {
	r := newRecord(t, kube.Get(t))
	dir := t.TempDir()
	n := r.start(t, r.pod(t, dir))
	if n.cfg.LeaseNamespace != r.Name {
		t.Errorf("the namespace is %q, want the pod's, %q", n.cfg.LeaseNamespace, r.Name)
	}
	n.works("a pod's token")

	// The token is exchanged, and the old one is refused.
	r.Server.Admin(t, http.MethodDelete, "/api/v1/namespaces/"+r.Name+"/serviceaccounts/agent", nil)
	testcluster.Eventually(t, "the old token is refused", func() error {
		if _, err := n.Read(n.ctx()); err == nil || !strings.Contains(err.Error(), "does not accept the credentials") {
			return fmt.Errorf("reading: %w", err)
		}
		return nil
	})
	r.Server.Admin(t, http.MethodPost, "/api/v1/namespaces/"+r.Name+"/serviceaccounts", map[string]any{
		"apiVersion": "v1", "kind": "ServiceAccount", "metadata": map[string]any{"name": "agent"}})
	r.token = r.Token(t, "agent")
	write(t, filepath.Join(dir, "token"), r.token, 0o600)
	n.awaitAccess()
	n.works("a token that was rotated")

	// Another authority than the server's.
	other := write(t, filepath.Join(dir, "ca.crt"), otherCA(t), 0o600)
	if err := n.Reload(); err != nil {
		t.Fatal(err)
	}
	if _, err := n.Read(n.ctx()); err == nil || !strings.Contains(err.Error(), "certificate signed by unknown authority") {
		t.Errorf("a server that is not trusted: %v", err)
	}
	ca, err := os.ReadFile(r.Server.CAFile)
	if err != nil {
		t.Fatal(err)
	}
	write(t, other, string(ca), 0o600)
	n.works("an authority that was exchanged without a reload")

	// The address may be another one.
	port := r.pod(t, dir)
	elsewhere := r.start(t, func(c *Config) {
		port(c)
		c.environ = func(string) string { return "" }
		c.APIServer = r.Server.URL
	})
	elsewhere.works("a pod that is told the address")
}

// What a Role lacks is said in the words of a Role.
func TestMissingRights(t *testing.T) {
	r := newRecord(t, kube.Get(t))
	n := r.connect(t, "node-a", nil)
	rule := func(v string) string {
		return "does not allow this node to " + v + " the Lease " + r.Name + "/" + leaseName +
			": its account needs a Role in the namespace " + r.Name + " with a rule for apiGroups [coordination.k8s.io], resources [leases], "
	}
	byName := "verbs [get, update], resourceNames [" + leaseName + "]"
	seen, err := n.Read(n.ctx())
	if err != nil {
		t.Fatal(err)
	}

	r.SetRules(t, "agent", r.token, realstore.Rule{Verbs: []string{"get"}, Names: []string{leaseName}})
	if _, err := n.Acquire(n.ctx(), seen.Record); err == nil || !strings.Contains(err.Error(), rule("update")+byName) {
		t.Errorf("without the right to update: %v", err)
	}
	r.remove(t)
	if seen, err = n.Read(n.ctx()); err != nil {
		t.Fatal(err)
	}
	if _, err := n.Acquire(n.ctx(), seen.Record); err == nil || !strings.Contains(err.Error(), rule("create")+"verbs [create] and no resourceNames") {
		t.Errorf("without the right to create: %v", err)
	}
	r.SetRules(t, "agent", r.token, realstore.Rule{Verbs: []string{"create"}})
	if _, err := n.Read(n.ctx()); err == nil || !strings.Contains(err.Error(), rule("get")+byName) {
		t.Errorf("without the right to get: %v", err)
	}
}

func TestStartErrors(t *testing.T) {
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	config := func(name, cluster, user string) string {
		return write(t, path(name), fmt.Sprintf(`apiVersion: v1
kind: Config
current-context: c
clusters: [{name: c, cluster: {%s}}]
users: [{name: u, user: {%s}}]
contexts: [{name: c, context: {cluster: c, user: u}}]
`, cluster, user), 0o600)
	}
	const https = "server: 'https://127.0.0.1:1'"
	const execs = "exec: {apiVersion: client.authentication.k8s.io/v1, command: /none, interactiveMode: "
	valid := config("valid", https, "token: S3CRET")
	empty := filepath.Join(dir, "empty")
	pod := filepath.Join(dir, "pod")
	for _, d := range []string{empty, pod} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	write(t, filepath.Join(pod, "token"), "S3CRET", 0o600)
	write(t, filepath.Join(pod, "ca.crt"), otherCA(t), 0o600)
	inPod := func(string) string { return "1" }

	for name, row := range map[string]struct {
		adapt func(*Config)
		want  string
	}{
		"no pod":              {func(c *Config) { c.Kubeconfig, c.environ = "", func(string) string { return "" } }, "does not run in a pod of Kubernetes"},
		"no token":            {func(c *Config) { c.Kubeconfig, c.podFiles, c.environ = "", empty, inPod }, "the pod has no token of a service account"},
		"no namespace":        {func(c *Config) { c.Kubeconfig, c.podFiles, c.environ = "", pod, inPod }, "set cluster.kubernetes.leaseNamespace"},
		"no kubeconfig":       {func(c *Config) { c.Kubeconfig = path("none") }, "no such file"},
		"no YAML":             {func(c *Config) { c.Kubeconfig = write(t, path("a"), "a: [", 0o600) }, "kubeconfig"},
		"a number as a token": {func(c *Config) { c.Kubeconfig = config("b", https, "token: 31337000") }, "kubeconfig"},
		"empty":               {func(c *Config) { c.Kubeconfig = write(t, path("c"), "", 0o600) }, "kubeconfig"},
		"no such context":     {func(c *Config) { c.Kubeconfig = write(t, path("d"), "current-context: x", 0o600) }, "kubeconfig"},
		"no authority":        {func(c *Config) { c.Kubeconfig = config("e", https+", certificate-authority: missing", "token: S3CRET") }, "missing"},
		"broken authority":    {func(c *Config) { c.Kubeconfig = config("f", https+", certificate-authority: valid", "token: S3CRET") }, "unable to parse bytes as PEM block"},
		"no key": {func(c *Config) {
			c.Kubeconfig = config("g", https, "client-certificate: pod/ca.crt, client-key: missing")
		}, "missing"},
		"token in the clear": {func(c *Config) { c.Kubeconfig = config("h", "server: 'http://127.0.0.1:1'", "token: S3CRET") }, "is not https"},
		"password in the clear": {func(c *Config) {
			c.Kubeconfig = config("i", "server: 'http://127.0.0.1:1'", "username: u, password: S3CRET")
		}, "is not https"},
		"plugin with http": {func(c *Config) {
			c.Kubeconfig, c.ClientLibrary = config("j", https, execs+"Never}"), "http"
		}, "which clientLibrary: http excludes"},
		"plugin that asks":    {func(c *Config) { c.Kubeconfig = config("k", https, execs+"Always}") }, "asks a person"},
		"plugin of old":       {func(c *Config) { c.Kubeconfig = config("l", https, "auth-provider: {name: gcp}") }, "gcp"},
		"address of a proxy":  {func(c *Config) { c.Kubeconfig = config("m", "server: 'ftp://u:S3CRET@h'", "token: t") }, "must begin with https://"},
		"no address":          {func(c *Config) { c.Kubeconfig = config("n", "server: 'https://u:S3CRET@h:bad'", "token: t") }, "the address of the API server"},
		"library":             {func(c *Config) { c.ClientLibrary = "python" }, "auto, http or library"},
		"name":                {func(c *Config) { c.LeaseName = "Leader" }, "is no name of a Lease"},
		"namespace":           {func(c *Config) { c.LeaseNamespace = "a.b" }, "is no name of a namespace"},
		"times":               {func(c *Config) { c.Duration = 3 * time.Second }, "must be above"},
		"clear address":       {func(c *Config) { c.APIServer = "http://h" }, "must begin with https://"},
		"no identity":         {func(c *Config) { c.Identity = lease.Identity{} }, "needs a name"},
		"connect timeout":     {func(c *Config) { c.ConnectTimeout = -1 }, "connect timeout"},
		"no authority in pod": {func(c *Config) { c.Kubeconfig, c.podFiles, c.environ = "", removed(t, pod, "ca.crt"), inPod }, "authority"},
	} {
		t.Run(name, func(t *testing.T) {
			c := Config{Identity: lease.Identity{NodeName: "n", InstanceID: "i"}, LeaseName: leaseName, Kubeconfig: valid,
				Duration: shortDuration, RenewDeadline: shortDeadline, RetryPeriod: shortRetry}
			row.adapt(&c)
			s, err := New(c)
			if err == nil {
				_ = s.Close()
				t.Fatal("it starts")
			}
			if !strings.Contains(err.Error(), row.want) {
				t.Errorf("%v; want it to say %q", err, row.want)
			}
			for _, secret := range []string{"S3CRET", "31337000"} {
				if strings.Contains(err.Error(), secret) {
					t.Errorf("the error shows a secret: %v", err)
				}
			}
		})
	}
}

// removed returns a copy of a folder without one of its files.
func removed(t *testing.T, dir, name string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "copy")
	if err := errors.Join(os.CopyFS(to, os.DirFS(dir)), os.Remove(filepath.Join(to, name))); err != nil {
		t.Fatal(err)
	}
	return to
}

// otherCA returns the certificate of an authority that nobody knows.
func otherCA(t *testing.T) string {
	t.Helper()
	ca, err := pki.NewCA(pki.CAOptions{CommonName: "other", NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	return string(ca.CertPEM())
}
