package etcd

import (
	"testing"
	"time"

	"github.com/yacron2/yacron2/internal/realstore"
	"github.com/yacron2/yacron2/lease/leasetest"
)

func TestManagers(t *testing.T) {
	for name, o := range map[string]realstore.EtcdOptions{
		"current": {Members: 3},
		"debian":  {Flavour: realstore.Debian, Users: []realstore.EtcdUser{user()}, TLS: true, TokenTTL: 2 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			leasetest.RunManagers(t, newEtcd(t, o).setup)
		})
	}
}

func TestFaults(t *testing.T) {
	for _, flavour := range realstore.Flavours() {
		t.Run(string(flavour), func(t *testing.T) {
			t.Parallel()
			leasetest.RunFaults(t, func(t *testing.T) *leasetest.Setup {
				return newEtcd(t, realstore.EtcdOptions{Flavour: flavour}).setup(t)
			})
		})
	}
}
