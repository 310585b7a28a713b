package agent

import (
	"fmt"
	"reflect"

	"github.com/hashicorp/go-hclog"

	"github.com/yacron2/yacron2/agent/config"
	"github.com/yacron2/yacron2/lease"
	"github.com/yacron2/yacron2/lease/consul"
	"github.com/yacron2/yacron2/lease/etcd"
	"github.com/yacron2/yacron2/lease/kubernetes"
)

// leaseBackend adapts the manager of a lease to what the agent drives.
type leaseBackend struct {
	*lease.Manager
	log     hclog.Logger
	cluster *config.Cluster // as it is in effect
}

var _ backend = (*leaseBackend)(nil)

// SetJobSet makes the store's record of @reboot jobs the one of a new job set.
func (b *leaseBackend) SetJobSet(set jobSet) { b.Manager.SetJobSet(set.id) }

// Suits implements backend. A node's name does not change while the agent runs.
func (b *leaseBackend) Suits(next *config.Cluster) bool {
	before, after := *b.cluster, *next
	before.NodeName, after.NodeName = "", ""
	return reflect.DeepEqual(before, after)
}

// Adopt looks at the credentials: whoever renewed them may ask for that with a reload.
func (b *leaseBackend) Adopt(next *config.Cluster) {
	b.cluster = next
	if err := b.Reload(); err != nil {
		b.log.Warn("keeping the credentials in use for the lease store", "error", err)
	}
}

// openStore returns the store of a lease backend, and how to ask it.
func (a *Agent) openStore(cluster *config.Cluster) (lease.Store, lease.Timing, error) {
	id := lease.Identity{NodeName: a.node, InstanceID: a.instanceID}
	if cluster.Etcd != nil {
		return a.openEtcd(id, cluster)
	}
	if cluster.Consul != nil {
		return a.openConsul(id, cluster)
	}
	if cluster.Kubernetes != nil {
		return a.openKubernetes(id, cluster)
	}
	return nil, lease.Timing{}, fmt.Errorf("this version has no %s backend", cluster.Backend)
}

func (a *Agent) openEtcd(id lease.Identity, cluster *config.Cluster) (lease.Store, lease.Timing, error) {
	c := cluster.Etcd
	s, err := etcd.New(etcd.Config{
		Identity:       id,
		Endpoints:      c.Endpoints,
		ElectionName:   c.ElectionName,
		TTL:            c.TTL,
		Username:       c.Username,
		Password:       resolver(c.Password),
		CA:             c.TLS.CA,
		Cert:           c.TLS.Cert,
		Key:            c.TLS.Key,
		ConnectTimeout: cluster.ConnectTimeout,
		Logger:         a.logs.root,
	})
	return s, etcd.Timing(c.TTL), err
}

func (a *Agent) openConsul(id lease.Identity, cluster *config.Cluster) (lease.Store, lease.Timing, error) {
	c := cluster.Consul
	s, err := consul.New(consul.Config{
		Identity:       id,
		Address:        c.Address,
		Token:          resolver(c.Token),
		Datacenter:     c.Datacenter,
		Namespace:      c.Namespace,
		Partition:      c.Partition,
		CA:             c.TLS.CA,
		Cert:           c.TLS.Cert,
		Key:            c.TLS.Key,
		ElectionKey:    c.Key,
		TTL:            c.SessionTTL,
		LockDelay:      c.LockDelay,
		ConnectTimeout: cluster.ConnectTimeout,
		Logger:         a.logs.root,
	})
	return s, consul.Timing(c.SessionTTL), err
}

func (a *Agent) openKubernetes(id lease.Identity, cluster *config.Cluster) (lease.Store, lease.Timing, error) {
	c := cluster.Kubernetes
	s, err := kubernetes.New(kubernetes.Config{
		Identity:       id,
		HolderIdentity: c.Identity,
		LeaseName:      c.LeaseName,
		LeaseNamespace: c.LeaseNamespace,
		Duration:       c.LeaseDuration,
		RenewDeadline:  c.RenewDeadline,
		RetryPeriod:    c.RetryPeriod,
		Kubeconfig:     c.Kubeconfig,
		APIServer:      c.APIServer,
		ClientLibrary:  c.ClientLibrary,
		ConnectTimeout: cluster.ConnectTimeout,
		Logger:         a.logs.root,
	})
	return s, kubernetes.Timing(c.LeaseDuration, c.RenewDeadline, c.RetryPeriod), err
}

// resolver reads a secret whenever it is needed; nil if there is none.
func resolver(s config.Secret) func() (string, error) {
	if !s.IsSet() {
		return nil
	}
	return s.Resolve
}

// newLease builds the backend of a lease.
func (a *Agent) newLease(cluster *config.Cluster, set jobSet) (backend, error) {
	store, timing, err := a.openStore(cluster)
	if err != nil {
		return nil, err
	}
	m, err := lease.New(lease.Config{
		Backend:     cluster.Backend,
		Identity:    lease.Identity{NodeName: a.node, InstanceID: a.instanceID},
		JobSetID:    set.id,
		Timing:      timing,
		Store:       store,
		NeedRunning: a.needRunning,
		Guarded:     a.guarded,
		Metrics:     a.counts.sink,
		Logger:      a.logs.root,
	})
	if err != nil {
		_ = store.Close() // it holds nothing yet
		return nil, err
	}
	return &leaseBackend{Manager: m, log: a.log, cluster: cluster}, nil
}

// checkLease returns why the backend of the section could not start now. A store that
// does not answer is no reason.
func (a *Agent) checkLease(cluster *config.Cluster) error {
	store, _, err := a.openStore(cluster)
	if err != nil {
		return err
	}
	return store.Close()
}

// guarded lists the running jobs of which no second instance may start.
func (a *Agent) guarded() []string {
	var names []string
	for _, name := range a.dispatcher.Running() {
		if a.needRunning(name) {
			names = append(names, name)
		}
	}
	return names
}
