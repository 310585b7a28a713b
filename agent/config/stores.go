package config

import (
	"errors"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/yacron2/yacron2/election"
	"github.com/yacron2/yacron2/scheduler"
)

var (
	leaseName      = regexp.MustCompile(`^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$`)
	leaseNamespace = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`)
)

// whole reads a whole number of seconds of a backend block, or a default.
func whole(block *node, key string, fallback int) int {
	if v, ok := intOf(block.get(key)); ok {
		return v
	}
	return fallback
}

// nodeOr returns a key of a block, or the block, or the whole section, as the place
// for a message.
func (r *clusterReader) nodeOr(block *node, key string) *node {
	if n := block.get(key); n != nil {
		return n
	}
	if block != nil {
		return block
	}
	return r.section
}

func (r *clusterReader) kubernetes() {
	b := r.section.get(backendKubernetes)
	if b != nil && b.kind != mapping {
		return
	}
	k := &Kubernetes{
		LeaseName:      textOr(b.get("leaseName"), "yacron2-leader"),
		LeaseNamespace: textOr(b.get("leaseNamespace"), ""),
		Identity:       textOr(b.get("identity"), r.out.NodeName),
		Kubeconfig:     textOr(b.get("kubeconfig"), ""),
		APIServer:      textOr(b.get("apiServer"), ""),
		ClientLibrary:  textOr(b.get("clientLibrary"), "auto"),
	}
	r.out.Kubernetes = k
	if n := b.get("leaseName"); n != nil && (len(n.text) > 253 || !leaseName.MatchString(n.text)) {
		r.failAt(n, "kubernetes.leaseName", spell(n, "leaseName")+" "+quote(n.text)+" is no name of a Lease",
			"lower-case letters, digits, - and . inside, at most 253 characters")
	}
	if n := b.get("leaseNamespace"); n != nil && n.text != "" && (len(n.text) > 63 || !leaseNamespace.MatchString(n.text)) {
		r.failAt(n, "kubernetes.leaseNamespace", spell(n, "leaseNamespace")+" "+quote(n.text)+" is no name of a namespace",
			"lower-case letters, digits and - inside, at most 63 characters")
	}
	if n := b.get("apiServer"); n != nil && n.text != "" {
		if u, err := url.Parse(n.text); err != nil || u.Scheme != "https" || u.Host == "" {
			r.failAt(n, "kubernetes.apiServer", spell(n, "apiServer")+" "+hidden(n.text)+" must begin with https://", "")
		}
	}
	duration, renew, retry := whole(b, "leaseDurationSeconds", 15), whole(b, "renewDeadlineSeconds", 10), whole(b, "retryPeriodSeconds", 2)
	k.LeaseDuration, k.RenewDeadline, k.RetryPeriod = seconds(float64(duration)), seconds(float64(renew)), seconds(float64(retry))
	r.leaseTimes(b, duration, renew, retry)
	if n := b.get("clientLibrary"); n != nil {
		effect := " has no effect: there is one client"
		if n.text == "http" {
			effect = " http only makes a kubeconfig with a credential plugin an error: there is one client"
		}
		r.warnAt(n, "kubernetes.clientLibrary", spell(n, "clientLibrary")+effect, "remove the key")
	}
}

// leaseTimes checks that a holder gives up before others may take over.
func (r *clusterReader) leaseTimes(b *node, duration, renew, retry int) {
	fail := func(key, message string) { r.failAt(r.nodeOr(b, key), "kubernetes."+key, message, "") }
	d, rd, rp := spell(b, "leaseDurationSeconds"), spell(b, "renewDeadlineSeconds"), spell(b, "retryPeriodSeconds")
	values := " (" + d + " " + strconv.Itoa(duration) + ", " + rd + " " + strconv.Itoa(renew) + ", " + rp + " " + strconv.Itoa(retry) + ")"
	if renew <= 0 {
		fail("renewDeadlineSeconds", rd+" must be above 0"+values)
	}
	if duration <= renew {
		fail("leaseDurationSeconds", d+" must be above "+rd+values)
	}
	if retry <= 0 {
		fail("retryPeriodSeconds", rp+" must be above 0"+values)
	}
	if retry >= renew {
		fail("retryPeriodSeconds", rp+" must be below "+rd+values)
	}
	if duration > renew && retry < renew && renew+retry >= duration {
		fail("leaseDurationSeconds", rd+" plus "+rp+" must be below "+d+values)
	}
}

// MaxLeaseJobs is how many jobs of the policy Leader the claims in a Lease have room for.
const MaxLeaseJobs = 10_000

// leaseRoom checks that a Lease can keep the claims of all jobs.
func (l *loader) leaseRoom(cluster *Cluster, jobs []*scheduler.Job) {
	if cluster == nil || cluster.Kubernetes == nil {
		return
	}
	n := 0
	for _, job := range jobs {
		if job != nil && job.Enabled && job.ClusterPolicy == election.Leader {
			n++
		}
	}
	if n > MaxLeaseJobs {
		l.fail(l.clusterAt, "cluster.backend", "a Lease of Kubernetes has room for the claims of "+strconv.Itoa(MaxLeaseJobs)+" jobs with clusterPolicy Leader, and there are "+strconv.Itoa(n),
			"give some of them another clusterPolicy, or use another backend")
	}
}

func (r *clusterReader) etcd() {
	b := r.section.get(backendEtcd)
	if b != nil && b.kind != mapping {
		return
	}
	e := &Etcd{
		ElectionName: textOr(b.get("electionName"), "yacron2/leader"),
		Username:     textOr(b.get("username"), ""),
		Password:     secretOf(b.get("password")),
		TLS:          tlsOf(b.get("tls")),
	}
	r.out.Etcd = e
	ttl := whole(b, "ttl", 15)
	e.TTL = seconds(float64(ttl))
	switch {
	case ttl < 3:
		r.failAt(b.get("ttl"), "etcd.ttl", "ttl must be at least 3 seconds, not "+strconv.Itoa(ttl), "")
	case ttl <= 8:
		r.warnAt(b.get("ttl"), "etcd.ttl", "a ttl of "+strconv.Itoa(ttl)+" s leaves less than a second for each request", "use 9 or more")
	}
	secure, plain := 0, 0
	if n := b.get("endpoints"); n == nil {
		e.Endpoints = []string{"http://127.0.0.1:2379"}
		plain++
	} else if n.kind == list {
		if len(n.items) == 0 {
			r.failAt(n, "etcd.endpoints", "endpoints is an empty list", "leave the key out for http://127.0.0.1:2379")
		}
		for i, item := range n.items {
			if item.kind != scalar {
				continue
			}
			e.Endpoints = append(e.Endpoints, item.text)
			u, err := storeURL(item.text)
			if err != nil {
				r.failAt(item, "etcd.endpoints["+strconv.Itoa(i)+"]", "endpoint "+hidden(item.text)+": "+err.Error(), "")
			}
			if strings.EqualFold(u, "https") {
				secure++
			} else {
				plain++
			}
		}
	}
	r.tlsPair(b, backendEtcd, e.TLS, secure > 0, "an https endpoint")
	password := r.resolved(b.get("password"), "etcd.password", e.Password)
	if e.Username != "" && !e.Password.IsSet() {
		r.failAt(b.get("username"), "etcd.username", "a username without a password", "give password as fromFile or fromEnvVar")
	}
	if e.Username == "" && e.Password.IsSet() {
		r.warnAt(b.get("password"), "etcd.password", "a password without a username is not used", "give username too, or remove the password")
	}
	if (e.Username != "" || password) && plain > 0 {
		at := b.get("username")
		if at == nil {
			at = b.get("password")
		}
		r.failAt(at, "etcd.username", "username and password would be sent over a connection that is not encrypted", "use https endpoints only")
	}
}

// storeURL checks the address of a store. User info is refused before anything else,
// so that a password never gets into a message.
func storeURL(address string) (scheme string, err error) {
	if urlUserInfo.MatchString(address) {
		return "", errors.New("it carries a user name or password: use the keys for them")
	}
	u, err := url.Parse(address)
	switch {
	case err != nil:
		return "", errors.New("it is not a URL")
	case u.User != nil:
		return "", errors.New("it carries a user name or password: use the keys for them")
	case u.Scheme != "http" && u.Scheme != "https":
		return "", errors.New("it must begin with http:// or https://")
	case u.Hostname() == "":
		return u.Scheme, errors.New("it has no host")
	}
	if p := u.Port(); p != "" || strings.HasSuffix(u.Host, ":") {
		if _, err := parsePort(p); err != nil {
			return u.Scheme, err
		}
	}
	return u.Scheme, nil
}

// tlsPair checks the TLS files of a store.
func (r *clusterReader) tlsPair(b *node, backend string, files TLSFiles, secure bool, what string) {
	n := b.get("tls")
	if n == nil {
		return
	}
	if (files.Cert == "") != (files.Key == "") {
		r.failAt(n, backend+".tls", "tls.cert and tls.key need each other", "give both or neither")
	}
	if files != (TLSFiles{}) && !secure {
		r.failAt(n, backend+".tls", "tls files without "+what, "use https, or remove the files")
	}
}

// resolved reads a secret now, so that a missing one is known before it is needed.
func (r *clusterReader) resolved(n *node, key string, s Secret) bool {
	if n == nil || n.kind != mapping || !s.IsSet() {
		return false
	}
	if s.FromFile != "" {
		r.privateFile(n, key, "", s.FromFile, false)
	}
	if _, err := s.Resolve(); err != nil {
		r.failAt(n, key, lastKey(key)+": "+err.Error(), "")
	}
	return true
}

func (r *clusterReader) consul() {
	b := r.section.get(backendConsul)
	if b != nil && b.kind != mapping {
		return
	}
	c := &Consul{
		Address:    textOr(b.get("address"), "http://127.0.0.1:8500"),
		Token:      secretOf(b.get("token")),
		Datacenter: textOr(b.get("datacenter"), ""),
		Namespace:  textOr(b.get("namespace"), ""),
		Partition:  textOr(b.get("partition"), ""),
		TLS:        tlsOf(b.get("tls")),
		Key:        textOr(b.get("key"), "yacron2/leader"),
		SessionTTL: 15 * time.Second,
		LockDelay:  time.Second,
	}
	r.out.Consul = c
	scheme, err := storeURL(c.Address)
	if err != nil {
		r.failAt(r.nodeOr(b, "address"), "consul.address", "address "+hidden(c.Address)+": "+err.Error(), "")
	}
	if strings.HasPrefix(c.Key, "/") {
		r.failAt(b.get("key"), "consul.key", "key "+quote(c.Key)+" must not begin with /", "")
	}
	r.storeSeconds(b, "sessionTTL", 10, 86400, &c.SessionTTL)
	r.storeSeconds(b, "lockDelay", 0, 60, &c.LockDelay)
	r.tlsPair(b, backendConsul, c.TLS, scheme == "https", "an https address")
	token := r.resolved(b.get("token"), "consul.token", c.Token)
	if u, err := url.Parse(c.Address); token && err == nil && scheme == "http" && !isLoopback(u.Hostname()) && u.Hostname() != "localhost" {
		r.warnAt(b.get("token"), "consul.token", "the token is sent over a connection that is not encrypted", "use an https address")
	}
}

func (r *clusterReader) storeSeconds(b *node, key string, low, high float64, to *time.Duration) {
	n := b.get(key)
	if n == nil || n.kind != scalar {
		return
	}
	v, ok := parseFloat(n.text)
	if !ok {
		return
	}
	if !(v >= low && v <= high) {
		r.failAt(n, "consul."+key, spell(n, key)+" must be "+number(low)+" to "+number(high)+" seconds, not "+quote(n.text), "")
		return
	}
	*to = seconds(v)
}

// secretOf reads a secret block.
func secretOf(n *node) Secret {
	return Secret{Value: textOr(n.get("value"), ""), FromFile: textOr(n.get("fromFile"), ""), FromEnvVar: textOr(n.get("fromEnvVar"), "")}
}

func tlsOf(n *node) TLSFiles {
	return TLSFiles{CA: textOr(n.get("ca"), ""), Cert: textOr(n.get("cert"), ""), Key: textOr(n.get("key"), "")}
}
