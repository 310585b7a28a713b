package agent

import (
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
)

// An address that another process still holds is served as soon as that one is gone.
func TestAnAddressInUseIsTriedAgain(t *testing.T) {
	a := startAgent(t, someJobs, "")
	taken := filepath.Join(filepath.Dir(a.socket), "taken")
	holder, err := net.Listen("unix", taken)
	if err != nil {
		t.Fatal(err)
	}
	a.write("web.yaml", "web:\n  listen:\n    - unix://"+a.socket+"\n    - unix://"+taken+"\n")
	if err := a.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := a.client.Version(t.Context()); err != nil {
		t.Errorf("the other address: %v", err)
	}
	if n := len(a.Addresses()); n != 1 {
		t.Fatalf("%d addresses bound", n)
	}
	if err := holder.Close(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the freed address is bound", func() bool { return len(a.Addresses()) == 2 })
	a.socket = taken
	if resp, _ := a.request("GET", "/version", nil); resp.StatusCode != http.StatusOK {
		t.Errorf("status %d", resp.StatusCode)
	}
}

// The request that asks for a reload may come over an address that the reload removes.
func TestReloadOverAnAddressThatItRemoves(t *testing.T) {
	a := startAgent(t, someJobs, "")
	next := a.socket + "2"
	a.write("web.yaml", "web:\n  listen:\n    - unix://"+next+"\n")
	// The file watch may have been faster: then the old address is gone already.
	if status, err := a.client.Reload(t.Context()); err == nil && status.State != "loaded" {
		t.Errorf("status: %+v", status)
	}
	eventually(t, "the old address is gone", func() bool { _, err := os.Stat(a.socket); return os.IsNotExist(err) })
	a.socket = next
	if resp, _ := a.request("GET", "/version", nil); resp.StatusCode != http.StatusOK {
		t.Errorf("status %d", resp.StatusCode)
	}
}
