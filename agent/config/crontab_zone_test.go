package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Whoever moves a crontab here as it is learns that its times move, once for each file; not
// where that makes no difference.
func TestCrontabsAreToldOfTheirZone(t *testing.T) {
	berlin := testHost{zone: "Europe/Berlin"}
	for _, test := range []struct {
		name string
		host testHost
		text string
		told int
	}{
		{"a fixed time", berlin, "15 3 * * * backup\n0 4 * * * again\n", 1},
		{"a nickname", berlin, "@daily backup\n", 1},
		{"a day", berlin, "* * 1 * * often\n", 1},
		{"each hour", berlin, "*/5 * * * * poll\n@hourly poll\n@reboot start\n", 0},
		{"a zone", berlin, "CRON_TZ=Europe/Berlin\n15 3 * * * backup\n", 0},
		{"a zone below", berlin, "15 3 * * * backup\nCRON_TZ=Europe/Berlin\n", 1},
		{"a machine in UTC", testHost{zone: "Etc/UTC"}, "15 3 * * * backup\n", 0},
		{"a machine whose zone has no name", testHost{zoneErr: errors.New("no name")}, "15 3 * * * backup\n", 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "a.crontab"), []byte(test.text), 0o600); err != nil {
				t.Fatal(err)
			}
			cfg, diags := Load(Sources{Dirs: []string{dir}, Host: test.host})
			if cfg == nil {
				t.Fatal(diags)
			}
			told := 0
			for _, d := range diags {
				if strings.Contains(d.Message, "times of a crontab are UTC here") {
					told++
					if d.Severity != Note || !strings.Contains(d.Hint, "CRON_TZ=Europe/Berlin") {
						t.Errorf("%+v", d)
					}
				}
			}
			if told != test.told {
				t.Errorf("told %d times: %v", told, diags)
			}
		})
	}
}
