package deploy

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/yacron2/yacron2/internal/testcluster"
)

// systemd itself finds nothing to say about the unit, with the program at hand.
func TestUnit(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "example", "systemd", "yacron2.service"))
	if err != nil {
		t.Fatal(err)
	}
	unit := string(text)
	for _, line := range []string{"Type=notify", "KillMode=mixed", "WatchdogSec=30", "WantedBy=multi-user.target"} {
		if !strings.Contains(unit, "\n"+line+"\n") {
			t.Errorf("the unit lacks %s", line)
		}
	}
	if strings.Count(unit, "/usr/bin/yacron2 ") != 2 {
		t.Errorf("the unit does not name the program twice")
	}
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		t.Skip("needs systemd-analyze")
	}
	file := filepath.Join(t.TempDir(), "yacron2.service")
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(unit, "/usr/bin/yacron2", testcluster.Binary(t))), 0o600); err != nil {
		t.Fatal(err)
	}
	// What it says of other units of this machine is not ours.
	out, err := exec.Command("systemd-analyze", "verify", "--man=no", file).CombinedOutput()
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, "yacron2") {
			t.Errorf("systemd-analyze: %s", strings.TrimSpace(line))
		}
	}
	if err != nil && len(out) == 0 {
		t.Errorf("systemd-analyze: %v", err)
	}
}
