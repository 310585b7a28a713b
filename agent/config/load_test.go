package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/yacron2/yacron2/election"
	"github.com/yacron2/yacron2/scheduler"
)

// loadFiles writes files into a new folder and loads the first one.
func loadFiles(t *testing.T, host Host, files ...goldenFile) (*Config, Diagnostics) {
	t.Helper()
	dir := t.TempDir()
	for _, f := range files {
		path := filepath.Join(dir, f.name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(f.text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return Load(Sources{Files: []string{filepath.Join(dir, files[0].name)}, Host: host})
}

// mustLoad loads files that have no errors.
func mustLoad(t *testing.T, host Host, files ...goldenFile) *Config {
	t.Helper()
	cfg, ds := loadFiles(t, host, files...)
	if cfg == nil {
		t.Fatalf("load failed:\n%v", ds)
	}
	return cfg
}

func yamlFile(text string) goldenFile { return goldenFile{"a.yaml", text} }

func TestJobValues(t *testing.T) {
	cfg := mustLoad(t, testHost{root: true}, yamlFile(`
defaults:
  shell: /bin/bash
  environment: [{key: A, value: d}, {key: B, value: d}]
  failsWhen: {producesStdout: yes, nonzeroReturn: off}
  onFailure: {retry: {maximumRetries: 3, initialDelay: 2, maximumDelay: 4, backoffMultiplier: 1.5}}
jobs:
  - name: full
    command: [echo, 0777, yes, ~, 1e3, "null"]
    schedule: {minute: "5", year: "2050"}
    enabled: "n"
    concurrencyPolicy: Replace
    clusterPolicy: EveryNode
    captureStdout: On
    captureStderr: FALSE
    saveLimit: +1_000
    maxLineLength: 0020
    streamPrefix: ""
    timezone: Asia/Kathmandu
    dayMatch: or
    environment: [{key: B, value: j}, {key: C, value: j1}, {key: C, value: j2}]
    env_file: vars.env
    user: alice
    group: "7"
    workingDirectory: /srv
    startingDeadline: 0
    executionTimeout: 0.25
    killTimeout: 1e1
    failsWhen: {producesStdout: no, always: yes}
    onFailure: {retry: {maximumRetries: -1, initialDelay: 0, maximumDelay: 1, backoffMultiplier: 2, jitter: 0.5}}
  - {name: plain, command: "0777", schedule: "  0 0 *  * * "}
  - {name: local, command: x, schedule: "@daily", utc: no}
`), goldenFile{"vars.env", "# first\nA = file \nE=x=y \n=odd\nF=\"q\"\r\n"})
	uid, gid := uint32(1001), uint32(7)
	want := &scheduler.Job{
		Name: "full", Command: scheduler.Command{Argv: []string{"echo", "0777", "yes", "~", "1e3", "null"}},
		Shell: "/bin/bash", ScheduleText: "5 * * * * 2050", DayMatch: scheduler.DayMatchOr,
		UTC: true, Timezone: "Asia/Kathmandu",
		ConcurrencyPolicy: scheduler.Replace, ClusterPolicy: election.EveryNode,
		CaptureStdout: true, SaveLimit: 1000, MaxLineLength: 20,
		Environment: []scheduler.EnvVar{{Key: "A", Value: "d"}, {Key: "E", Value: "x=y"}, {Key: "", Value: "odd"},
			{Key: "F", Value: `"q"`}, {Key: "B", Value: "j"}, {Key: "C", Value: "j2"}},
		User: &scheduler.Identity{Name: "alice"}, Group: &scheduler.Identity{ID: 7, IsID: true},
		RunAs: &scheduler.RunAs{UID: &uid, GID: &gid, Groups: []uint32{1002, 27}, Login: "alice", Home: "/home/alice"},

		WorkingDirectory: "/srv", OwnDeadline: true,
		ExecutionTimeout: 250 * time.Millisecond, KillTimeout: 10 * time.Second,
		FailsWhen: scheduler.FailsWhen{ProducesStderr: true, Always: true},
		Retry:     scheduler.Retry{Maximum: -1, MaximumDelay: time.Second, Multiplier: 2, Jitter: 0.5},
	}
	got := *cfg.Jobs[0]
	if got.Schedule == nil || got.Location == nil || got.Location.String() != "Asia/Kathmandu" {
		t.Fatalf("schedule %v, location %v", got.Schedule, got.Location)
	}
	got.Schedule, got.Location = nil, nil
	if !reflect.DeepEqual(&got, want) {
		t.Errorf("got  %+v\nwant %+v", &got, want)
	}

	plain := cfg.Jobs[1]
	if plain.Command.Line != "0777" || plain.Command.Argv != nil || plain.ScheduleText != "0 0 * * *" || plain.StartingDeadline != DefaultStartingDeadline ||
		plain.OwnDeadline || !plain.Enabled || plain.CaptureStdout || !plain.CaptureStderr || plain.SaveLimit != 4096 || plain.MaxLineLength != 16<<20 ||
		plain.KillTimeout != 30*time.Second || plain.Timezone != "UTC" || plain.Location != time.UTC || plain.RunAs != nil ||
		plain.StreamPrefix != "[{job_name} {stream_name}] " || plain.ClusterPolicy != election.Leader || plain.ConcurrencyPolicy != scheduler.Allow {
		t.Errorf("defaults: %+v", plain)
	}
	if want := (scheduler.FailsWhen{ProducesStdout: true, ProducesStderr: true}); plain.FailsWhen != want {
		t.Errorf("failsWhen from defaults: %+v", plain.FailsWhen)
	}
	if want := (scheduler.Retry{Maximum: 3, InitialDelay: 2 * time.Second, MaximumDelay: 4 * time.Second, Multiplier: 1.5}); plain.Retry != want {
		t.Errorf("retry from defaults: %+v", plain.Retry)
	}
	if local := cfg.Jobs[2]; local.Timezone != "Europe/Berlin" || local.Location.String() != "Europe/Berlin" || local.UTC {
		t.Errorf("local zone: %q %v", local.Timezone, local.Location)
	}
}

func TestSettings(t *testing.T) {
	cfg := mustLoad(t, testHost{}, yamlFile(`
dataDir: /var/lib/yacron2
startingDeadline: 45
shutdownTimeout: 90
logLevel: debug
logFormat: json
jobs:
  - {name: a, command: x, schedule: "@daily"}
web:
  listen: ["http://127.0.0.1:8080/", "https://[::1]:8443", "unix:///run/y.sock"]
  tls: {cert: c.pem, key: k.pem}
  headers: {X-B: "2", X-A: "1"}
  authToken: {value: t0}
  tokens: [{name: ro, scope: read, value: t1}]
  socketMode: "0660"
  ui: no
  metrics: {public: yes, durationBuckets: [0.5, 1]}
cluster:
  nodeName: n1
  listen: "[::]:8443"
  tls: {ca: a.pem, cert: b.pem, key: c.pem}
  peers: [{host: p:8443}, {host: q:8443}, {host: p:8443}]
  electLeader: yes
  distribution: spread
  interval: 5
  driftAfter: 2
  connectTimeout: 3
  verifyPeerNames: yes
`))
	mode := fs.FileMode(0o660)
	wantWeb := &Web{
		Listen:     []Listener{{"http", "127.0.0.1:8080"}, {"https", "[::1]:8443"}, {"unix", "/run/y.sock"}},
		Headers:    []Header{{"X-B", "2"}, {"X-A", "1"}},
		Tokens:     []Token{{"authToken", ScopeOperate, Secret{Value: "t0"}}, {"ro", ScopeRead, Secret{Value: "t1"}}},
		CertFile:   "c.pem",
		KeyFile:    "k.pem",
		SocketMode: &mode,
		Metrics:    Metrics{Enabled: true, Public: true, DurationBuckets: []float64{0.5, 1}},
	}
	if !reflect.DeepEqual(cfg.Web, wantWeb) {
		t.Errorf("web: %+v", cfg.Web)
	}
	wantCluster := &Cluster{
		Backend: "gossip", NodeName: "n1", ConnectTimeout: 3 * time.Second, ElectLeader: true, Distribution: election.Spread,
		Gossip: &Gossip{Listen: "[::]:8443", Peers: []string{"p:8443", "q:8443"}, CAFile: "a.pem", CertFile: "b.pem", KeyFile: "c.pem",
			Interval: 5 * time.Second, DriftAfter: 2, VerifyPeerNames: true},
	}
	if !reflect.DeepEqual(cfg.Cluster, wantCluster) {
		t.Errorf("cluster: %+v", cfg.Cluster)
	}
	if cfg.DataDir != "/var/lib/yacron2" || cfg.StartingDeadline != 45*time.Second || cfg.ShutdownTimeout != 90*time.Second ||
		cfg.Logging.Level != "debug" || cfg.Logging.Format != "json" {
		t.Errorf("top level: %+v", cfg)
	}
	if cfg.Jobs[0].StartingDeadline != 45*time.Second || cfg.Jobs[0].OwnDeadline {
		t.Errorf("the deadline of all jobs: %+v", cfg.Jobs[0])
	}
	if cfg.JobSetID != JobSetID(cfg.Jobs) {
		t.Errorf("job-set id %s", cfg.JobSetID)
	}
}

// A Lease has room for the claims of so many jobs, whatever else there is.
func TestRoomOfALease(t *testing.T) {
	jobs := func(leaders, others int) string {
		var b strings.Builder
		b.WriteString("cluster: {backend: kubernetes}\njobs:\n")
		for i := range leaders + others {
			policy := "Leader"
			if i >= leaders {
				policy = "PreferLeader"
			}
			fmt.Fprintf(&b, "  - {name: j%d, command: x, schedule: '@daily', clusterPolicy: %s}\n", i, policy)
		}
		return b.String()
	}
	mustLoad(t, testHost{}, yamlFile(jobs(MaxLeaseJobs, 1)))
	_, problems := loadFiles(t, testHost{}, yamlFile(jobs(MaxLeaseJobs+1, 0)))
	if len(problems) == 0 || problems[0].Key != "cluster.backend" ||
		!strings.Contains(problems[0].Message, "room for the claims of 10000 jobs with clusterPolicy Leader, and there are 10001") {
		t.Errorf("one job more: %v", problems)
	}
}

func TestBackends(t *testing.T) {
	tests := []struct {
		text string
		want Cluster
	}{
		{"backend: etcd", Cluster{Etcd: &Etcd{Endpoints: []string{"http://127.0.0.1:2379"}, ElectionName: "yacron2/leader", TTL: 15 * time.Second}}},
		{"backend: etcd\n  etcd: {endpoints: ['https://e:2379'], electionName: x, ttl: 20, username: u, password: {value: p}, tls: {ca: a, cert: b, key: c}}",
			Cluster{Etcd: &Etcd{Endpoints: []string{"https://e:2379"}, ElectionName: "x", TTL: 20 * time.Second, Username: "u", Password: Secret{Value: "p"}, TLS: TLSFiles{"a", "b", "c"}}}},
		{"backend: kubernetes", Cluster{Kubernetes: &Kubernetes{LeaseName: "yacron2-leader", LeaseDuration: 15 * time.Second, RenewDeadline: 10 * time.Second,
			RetryPeriod: 2 * time.Second, Identity: "node-a", ClientLibrary: "auto"}}},
		{"backend: kubernetes\n  kubernetes: {leaseName: l.x, leaseNamespace: n-1, identity: me, kubeconfig: /k, apiServer: 'https://h:6443', leaseDurationSeconds: 20}",
			Cluster{Kubernetes: &Kubernetes{LeaseName: "l.x", LeaseNamespace: "n-1", LeaseDuration: 20 * time.Second, RenewDeadline: 10 * time.Second,
				RetryPeriod: 2 * time.Second, Identity: "me", Kubeconfig: "/k", APIServer: "https://h:6443", ClientLibrary: "auto"}}},
		{"backend: consul", Cluster{Consul: &Consul{Address: "http://127.0.0.1:8500", Key: "yacron2/leader", SessionTTL: 15 * time.Second, LockDelay: time.Second}}},
		{"backend: consul\n  consul: {address: 'https://c:8501', token: {value: t}, datacenter: d, namespace: n, partition: p, tls: {ca: a}, key: k, sessionTTL: 10, lockDelay: 0}",
			Cluster{Consul: &Consul{Address: "https://c:8501", Token: Secret{Value: "t"}, Datacenter: "d", Namespace: "n", Partition: "p", TLS: TLSFiles{CA: "a"},
				Key: "k", SessionTTL: 10 * time.Second}}},
	}
	for _, tt := range tests {
		cfg := mustLoad(t, testHost{}, yamlFile("cluster:\n  "+tt.text+"\n"))
		want := tt.want
		want.Backend = strings.Fields(tt.text)[1]
		want.NodeName, want.ConnectTimeout, want.ElectLeader, want.Distribution = "node-a", 10*time.Second, true, election.SingleLeader
		if !reflect.DeepEqual(cfg.Cluster, &want) {
			t.Errorf("%s:\ngot  %+v\nwant %+v", tt.text, cfg.Cluster, &want)
		}
	}
}

// TestIncludes checks what a file inherits: what it sets itself wins, then the later
// include, and jobs of an include are complete without it.
func TestIncludes(t *testing.T) {
	cfg := mustLoad(t, testHost{},
		yamlFile(`
include: [one.yaml, sub/two.yaml, plain.yaml]
defaults: {saveLimit: 3}
jobs:
  - {name: own, command: x, schedule: "@daily"}
`),
		goldenFile{"one.yaml", `
defaults: {shell: /bin/one, saveLimit: 1, maxLineLength: 11, environment: [{key: A, value: one}, {key: B, value: one}]}
jobs:
  - {name: first, command: x, schedule: "@daily"}
`},
		goldenFile{"sub/two.yaml", `
include: [deep.yaml]
defaults: {maxLineLength: 22, environment: [{key: B, value: two}]}
jobs:
  - {name: third, command: x, schedule: "@daily"}
`},
		goldenFile{"sub/deep.yaml", `
defaults: {killTimeout: 7, maxLineLength: 99}
jobs:
  - {name: second, command: x, schedule: "@daily", env_file: e.env}
`},
		goldenFile{"sub/e.env", "X=1\n"},
		goldenFile{"plain.yaml", "jobs: []\n"},
	)
	type summary struct {
		name, shell string
		save, line  int
		kill        time.Duration
		environment string
	}
	var got []summary
	for _, j := range cfg.Jobs {
		var env []string
		for _, v := range j.Environment {
			env = append(env, v.Key+"="+v.Value)
		}
		got = append(got, summary{j.Name, j.Shell, j.SaveLimit, j.MaxLineLength, j.KillTimeout, strings.Join(env, " ")})
	}
	want := []summary{
		{"first", "/bin/one", 1, 11, 30 * time.Second, "A=one B=one"},
		{"second", "/bin/sh", 4096, 99, 7 * time.Second, "X=1"},
		{"third", "/bin/sh", 4096, 22, 7 * time.Second, "B=two"},
		{"own", "/bin/one", 3, 22, 7 * time.Second, "A=one B=two"},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	for _, name := range []string{"a.yaml", "one.yaml", "sub/two.yaml", "sub/deep.yaml", "sub/e.env"} {
		if !slices.ContainsFunc(cfg.Files, func(p string) bool { return strings.HasSuffix(p, "/"+name) }) {
			t.Errorf("%s is not among the watched files %q", name, cfg.Files)
		}
	}
}

// TestDefaultsStayInTheirFile: files of one folder, or named side by side, know nothing of
// each other's defaults, whatever language they are in.
func TestDefaultsStayInTheirFile(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"10-web.yaml": "defaults: {shell: /bin/bash, captureStdout: yes}\njobs: [{name: web, command: x, schedule: '@daily'}]\n",
		"20-db.yaml":  "jobs: [{name: db, command: x, schedule: '@daily'}]\n",
		"30-hcl.hcl":  "defaults {\n  shell = \"/bin/dash\"\n}\njob \"hcl\" {\n  command = \"x\"\n  schedule = \"@daily\"\n}\n",
		"40.crontab":  "@daily x\n",
		"50-more.hcl": "job \"more\" {\n  command = \"x\"\n  schedule = \"@daily\"\n}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	const want = "web /bin/bash true, db /bin/sh false, hcl /bin/dash false, 40.crontab:1 /bin/sh false, more /bin/sh false"
	for _, s := range []Sources{{Dirs: []string{dir}, Host: testHost{}}, {Files: files, Host: testHost{}}} {
		cfg, ds := Load(s)
		if cfg == nil {
			t.Fatal(ds)
		}
		var got []string
		for _, j := range cfg.Jobs {
			got = append(got, fmt.Sprintf("%s %s %t", j.Name, j.Shell, j.CaptureStdout))
		}
		if all := strings.Join(got, ", "); all != want {
			t.Errorf("got  %s\nwant %s", all, want)
		}
	}
}

func TestSecretBlocksReplaceEachOther(t *testing.T) {
	d := merged(
		&node{kind: mapping, entries: []entry{{"value", pos{}, &node{text: "inherited"}}}},
		&node{kind: mapping, entries: []entry{{"fromEnvVar", pos{}, &node{text: "OWN"}}}},
		secret("password"))
	if got := secretOf(d); got != (Secret{FromEnvVar: "OWN"}) {
		t.Errorf("got %#v", got)
	}
}

func TestEmptyDirectory(t *testing.T) {
	cfg, ds := Load(Sources{Dirs: []string{t.TempDir()}})
	if cfg == nil || len(ds) != 0 || len(cfg.Jobs) != 0 || cfg.JobSetID != JobSetID(nil) {
		t.Errorf("config %+v, diagnostics %v", cfg, ds)
	}
}

func TestUnreadableSources(t *testing.T) {
	dir := t.TempDir()
	link := filepath.Join(dir, "dangling.yaml")
	if err := os.Symlink(filepath.Join(dir, "nowhere"), link); err != nil {
		t.Fatal(err)
	}
	for _, s := range []Sources{{Dirs: []string{filepath.Join(dir, "missing")}}, {Files: []string{filepath.Join(dir, "x.yaml")}}, {Files: []string{dir}}, {Dirs: []string{dir}}} {
		cfg, ds := Load(s)
		if cfg != nil || len(ds.Errors()) != 1 || ds[0].File == "" {
			t.Errorf("%+v: config %v, diagnostics %v", s, cfg, ds)
		}
	}
}

// TestLocalZone covers a machine whose zone has no name: a warning alone, an error
// under election.
func TestLocalZone(t *testing.T) {
	const job = "jobs: [{name: a, command: x, schedule: '@daily', utc: no}]\n"
	host := testHost{zoneErr: errors.New("no name")}
	cfg, ds := loadFiles(t, host, yamlFile(job))
	if cfg == nil || len(ds) != 1 || ds[0].Severity != Warning || cfg.Jobs[0].Timezone != "" || cfg.Jobs[0].Location != time.Local {
		t.Errorf("alone: %+v, %v", cfg, ds)
	}
	cfg, ds = loadFiles(t, host, yamlFile(job+"cluster: {backend: etcd}\n"))
	if cfg != nil || len(ds.Errors()) != 1 || ds[0].Job != "a" {
		t.Errorf("under election: %+v, %v", cfg, ds)
	}
}

func TestZoneOf(t *testing.T) {
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.MkdirAll(path("zoneinfo/Europe"), 0o755))
	must(os.WriteFile(path("zoneinfo/Europe/Berlin"), nil, 0o600))
	must(os.Symlink(path("zoneinfo/Europe/Berlin"), path("link")))
	must(os.Symlink(path("link"), path("link2")))
	must(os.Symlink("/usr/share/zoneinfo/Asia/Tokyo", path("dangling")))
	must(os.WriteFile(path("copy"), []byte("TZif"), 0o600))
	must(os.WriteFile(path("name"), []byte("America/New_York\n"), 0o600))
	must(os.WriteFile(path("nonsense"), []byte("Nowhere/Atall\n"), 0o600))
	for _, tt := range []struct{ localtime, timezone, want string }{
		{"link", "name", "Europe/Berlin"},
		{"link2", "name", "Europe/Berlin"},
		{"dangling", "name", "Asia/Tokyo"},
		{"copy", "name", "America/New_York"},
		{"copy", "nonsense", ""},
		{"copy", "missing", ""},
		{"missing", "name", "America/New_York"},
		{"missing", "missing", "UTC"},
	} {
		got, err := zoneOf(path(tt.localtime), path(tt.timezone))
		if got != tt.want || (err != nil) != (tt.want == "") {
			t.Errorf("%s, %s: %q, %v", tt.localtime, tt.timezone, got, err)
		}
	}
}

func TestSystemLocalZone(t *testing.T) {
	for tz, want := range map[string]string{
		"": "UTC", "Europe/Paris": "Europe/Paris", ":Asia/Tokyo": "Asia/Tokyo",
		"/usr/share/zoneinfo/posix/America/Lima": "America/Lima", "CET-1CEST,M3.5.0,M10.5.0/3": "", "Nowhere": "",
	} {
		t.Setenv("TZ", tz)
		got, err := System{}.LocalZone()
		if got != want || (err != nil) != (want == "") {
			t.Errorf("TZ=%s: %q, %v", tz, got, err)
		}
	}
}

func TestAccounts(t *testing.T) {
	one := func(n uint32) *uint32 { return &n }
	for _, tt := range []struct {
		keys string
		want *scheduler.RunAs
	}{
		{"user: alice", &scheduler.RunAs{UID: one(1001), GID: one(1002), Groups: []uint32{1002, 27}, Login: "alice", Home: "/home/alice"}},
		{"user: 1001", &scheduler.RunAs{UID: one(1001), GID: one(1002), Groups: []uint32{1002, 27}, Login: "alice", Home: "/home/alice"}},
		{"user: '4242'", &scheduler.RunAs{UID: one(4242)}},
		{"group: staff", &scheduler.RunAs{GID: one(50)}},
		{"user: 4242, group: 9", &scheduler.RunAs{UID: one(4242), GID: one(9)}},
		{"user: alice, group: staff", &scheduler.RunAs{UID: one(1001), GID: one(50), Groups: []uint32{1002, 27}, Login: "alice", Home: "/home/alice"}},
	} {
		cfg := mustLoad(t, testHost{root: true}, yamlFile("jobs: [{name: a, command: x, schedule: '@daily', "+tt.keys+"}]\n"))
		if got := cfg.Jobs[0].RunAs; !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s: %+v", tt.keys, got)
		}
	}
}

func TestPeerCleanUp(t *testing.T) {
	for _, tt := range []struct {
		listen, node string
		peers, want  []string
	}{
		{"a:1", "x", []string{"b:1", "b:1", "a:1", "c:1"}, []string{"b:1", "c:1"}},
		{"0.0.0.0:1", "x", []string{"x:1", "x:2", "X:1", "127.0.0.1:1", "127.9.9.9:1", "127.0.0.1:2", "[::1]:1"}, []string{"x:2", "X:1", "127.0.0.1:2", "[::1]:1"}},
		{"[::]:1", "x", []string{"127.0.0.1:1", "[::1]:1", "b:1"}, []string{"127.0.0.1:1", "b:1"}},
		{"*:1", "x", []string{"127.0.0.1:1", "[::1]:1", "b:1"}, []string{"b:1"}},
		{"10.0.0.1:1", "x", []string{"x:1", "127.0.0.1:1"}, []string{"x:1", "127.0.0.1:1"}},
	} {
		host, port, err := splitHostPort(tt.listen)
		if err != nil {
			t.Fatal(err)
		}
		p := peerList{listen: tt.listen, listenHost: host, listenPort: port, nodeName: tt.node}
		for _, peer := range tt.peers {
			h, n, err := splitHostPort(peer)
			if err != nil {
				t.Fatal(err)
			}
			p.add(peer, h, n)
		}
		if !slices.Equal(p.hosts, tt.want) || p.size() != len(tt.want)+1 {
			t.Errorf("%s: %q, want %q", tt.listen, p.hosts, tt.want)
		}
	}
}

func TestSecretsStayHidden(t *testing.T) {
	cfg := mustLoad(t, testHost{}, yamlFile("web: {listen: ['http://h:1'], authToken: {value: hunter2}}\n"))
	for _, s := range []string{
		Diagnostic{Message: cfg.Web.Tokens[0].Secret.String()}.Error(),
		strings.TrimSpace(reflect.ValueOf(cfg.Web.Tokens[0].Secret).Interface().(Secret).GoString()),
	} {
		if strings.Contains(s, "hunter2") || s == "" {
			t.Errorf("shown: %q", s)
		}
	}
}
