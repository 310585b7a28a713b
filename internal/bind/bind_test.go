package bind

import "testing"

func TestTCP(t *testing.T) {
	for hostPort, want := range map[string][2]string{
		"*:9443":           {"tcp", ":9443"},
		"0.0.0.0:9443":     {"tcp4", "0.0.0.0:9443"},
		"127.0.0.1:9443":   {"tcp4", "127.0.0.1:9443"},
		"[::]:9443":        {"tcp", "[::]:9443"},
		"localhost:9443":   {"tcp", "localhost:9443"},
		":9443":            {"tcp", ":9443"},
		"not an address":   {"tcp", "not an address"},
		"yacron-a.test:80": {"tcp", "yacron-a.test:80"},
	} {
		if network, address := TCP(hostPort); [2]string{network, address} != want {
			t.Errorf("%s: %s %s, want %v", hostPort, network, address, want)
		}
	}
}
