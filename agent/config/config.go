package config

import (
	"io/fs"
	"time"

	"github.com/yacron2/yacron2/election"
	"github.com/yacron2/yacron2/scheduler"
	"github.com/yacron2/yacron2/scheduler/report"
)

// Config is the whole effective configuration of one agent: merged, validated and
// resolved. It is never changed after Load.
type Config struct {
	Jobs     []*scheduler.Job // in order of the files, includes first; never nil elements
	JobSetID string           // JobSetID(Jobs)

	Web     *Web     // nil: no HTTP API is configured
	Cluster *Cluster // nil: this node is alone
	Logging Logging

	DataDir          string        // "" keeps everything in memory
	StartingDeadline time.Duration // of jobs that set none: 0 (never late) to 5 min
	ShutdownTimeout  time.Duration // 0: running jobs are awaited without limit

	// Files are the absolute paths of everything that was read: configuration files,
	// directories that were listed, env_files, and secret files of the cluster
	// section. A change of one of them can change the result of Load.
	Files []string

	// Explanation tells where each value came from; nil unless Sources.Explain.
	Explanation *Explanation
}

// Logging says what is logged, and how.
type Logging struct {
	Level  string // trace, debug, info, warn or error
	Format string // text or json
	File   string // "" logs to the stream
	Stream string // stderr or stdout
	// MaxSize is the size in bytes at which File is renamed and begun anew; 0: never.
	MaxSize int64
	// MaxFiles is how many renamed files are kept.
	MaxFiles int
}

// Secret is a value that its holder reads where it is used.
type Secret = report.Secret

// Web is the HTTP API.
type Web struct {
	Listen     []Listener
	Hosts      []string // by which the API may be asked without tokens; *.NAME for what is below NAME, * for all
	Headers    []Header // added to every answer, in order
	Tokens     []Token  // none: the API is open; authToken is one of scope operate
	CertFile   string   // for https listeners
	KeyFile    string
	SocketMode *fs.FileMode // of unix sockets; nil leaves it to the umask
	UI         bool         // the dashboard at /
	Metrics    Metrics
}

// Listener is one address of the API.
type Listener struct {
	Scheme  string // http, https or unix
	Address string // host:port, or the path of the socket
}

// String returns the listener as it was configured.
func (l Listener) String() string { return l.Scheme + "://" + l.Address }

// Header is one HTTP header.
type Header struct{ Name, Value string }

// Scope is what a token may do.
type Scope string

// The scopes.
const (
	ScopeRead    Scope = "read"    // look at everything
	ScopeOperate Scope = "operate" // also start, cancel, reload
)

// Token is one bearer token of the API.
type Token struct {
	Name   string // unique; "authToken" for the section's authToken
	Scope  Scope
	Secret Secret
}

// Metrics is the Prometheus endpoint.
type Metrics struct {
	Enabled bool
	Public  bool // needs no token
	// DurationBuckets are the upper bounds, in seconds, of the run time histogram:
	// finite, above 0, growing.
	DurationBuckets []float64
}

// The backends of a cluster section.
const (
	backendGossip     = "gossip"
	backendKubernetes = "kubernetes"
	backendEtcd       = "etcd"
	backendConsul     = "consul"
)

// Cluster is the cluster section. Exactly the block of its Backend is set.
type Cluster struct {
	Backend        string // gossip, kubernetes, etcd or consul
	NodeName       string // printable, 1 to 256 characters
	ConnectTimeout time.Duration
	ElectLeader    bool // always true on the lease backends
	Distribution   election.Distribution

	Gossip     *Gossip
	Kubernetes *Kubernetes
	Etcd       *Etcd
	Consul     *Consul
}

// Gossip is what the gossip backend needs.
type Gossip struct {
	Listen          string   // host:port; the host may be a wildcard
	Peers           []string // host:port, without repeats and entries that are this node
	CAFile          string
	CertFile        string
	KeyFile         string
	Interval        time.Duration // between scheduled rounds
	DriftAfter      int           // rounds of another job set until a peer is drifted, ≥ 1
	VerifyPeerNames bool          // only certificates with the name of a configured peer are let in
}

// TLSFiles are the optional files of a store's TLS connection.
type TLSFiles struct{ CA, Cert, Key string }

// Kubernetes is the Lease backend.
type Kubernetes struct {
	LeaseName      string
	LeaseNamespace string // "" is the pod's
	LeaseDuration  time.Duration
	RenewDeadline  time.Duration
	RetryPeriod    time.Duration
	Identity       string // the node's name unless set
	Kubeconfig     string // "" uses the pod's credentials
	APIServer      string // "" as the credentials say; else https://
	ClientLibrary  string // auto, http or library; http refuses credential plugins
}

// Etcd is the etcd backend.
type Etcd struct {
	Endpoints    []string
	ElectionName string
	TTL          time.Duration // at least 3 s
	Username     string
	Password     Secret
	TLS          TLSFiles
}

// Consul is the Consul backend.
type Consul struct {
	Address    string
	Token      Secret
	Datacenter string
	Namespace  string
	Partition  string
	TLS        TLSFiles
	Key        string
	SessionTTL time.Duration // 10 s to 86400 s
	LockDelay  time.Duration // 0 to 60 s
}
