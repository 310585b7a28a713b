package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/yacron2/yacron2/api"
	"github.com/yacron2/yacron2/internal/testcluster"
)

// firings asks the program when a job fires next.
func firings(t *testing.T, file, job, from string, n int) []string {
	t.Helper()
	stdout, stderr, code := testcluster.Command(t, "next", "-format=json", "-config-file", file, "-job", job, "-from", from, "-n", fmt.Sprint(n))
	if code != 0 {
		t.Fatalf("next of %s: %d %s", job, code, stderr)
	}
	var list []struct{ At time.Time }
	if err := json.Unmarshal([]byte(stdout), &list); err != nil {
		t.Fatalf("%v in %s", err, stdout)
	}
	got := make([]string, len(list))
	for i, f := range list {
		got[i] = f.At.UTC().Format("2006-01-02T15:04Z")
	}
	return got
}

// What the program says of coming firings, around changes of the clock in many zones.
func TestFiringsAroundClockChanges(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../scheduler/testdata/TZ-*.tsv")
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	type row struct{ file, schedule, zone, from, want string }
	var rows []row
	var config strings.Builder
	config.WriteString("jobs:\n")
	for _, file := range files {
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		scan := bufio.NewScanner(f)
		for scan.Scan() {
			c := strings.Split(scan.Text(), "\t")
			if strings.HasPrefix(c[0], "#") || len(c) < 4 {
				continue
			}
			fmt.Fprintf(&config, "  - {name: row-%d, command: \"true\", schedule: %q, timezone: %s}\n", len(rows), c[0], c[1])
			rows = append(rows, row{filepath.Base(file), c[0], c[1], c[2], c[3]})
		}
		if err := f.Close(); err != nil || scan.Err() != nil {
			t.Fatal(err, scan.Err())
		}
	}
	file := filepath.Join(t.TempDir(), "jobs.yaml")
	write(t, file, config.String(), 0o600)
	for i, r := range rows {
		from, err := time.Parse("2006-01-02T15:04Z", r.from)
		if err != nil {
			t.Fatal(err)
		}
		want := strings.Split(r.want, ",")
		got := firings(t, file, fmt.Sprintf("row-%d", i), from.Format(time.RFC3339), len(want))
		for n, either := range want {
			if n >= len(got) || !strings.Contains("|"+either+"|", "|"+got[n]+"|") {
				t.Errorf("%s: %s in %s after %s: %v, want %s", r.file, r.schedule, r.zone, r.from, got, r.want)
				break
			}
		}
	}
}

// Where the system has no zone files, as in a small image, zones work all the same.
func TestZonesWithoutTheSystems(t *testing.T) {
	t.Parallel()
	asRoot(t)
	hide := `for d in /usr/share/zoneinfo /usr/share/lib/zoneinfo /usr/lib/locale/TZ /etc/zoneinfo; do
	if [ -d $d ]; then mount -t tmpfs none $d || exit 99; fi
done
GOROOT=/none ZONEINFO= exec "$@"`
	file := filepath.Join(t.TempDir(), "jobs.yaml")
	write(t, file, `jobs:
  - {name: madrid, command: "true", schedule: "0 7 * * *", timezone: Europe/Madrid}
  - {name: kathmandu, command: "true", schedule: "0 7 * * *", timezone: Asia/Kathmandu}
`, 0o600)
	out, err := exec.Command("unshare", "-m", "sh", "-c", hide, "sh", testcluster.Binary(t), "next", "-config-file", file, "-n", "2", "-from", "2026-07-01").CombinedOutput()
	if err != nil {
		if exec.Command("unshare", "-m", "true").Run() != nil {
			t.Skipf("no mount namespaces here: %s", out)
		}
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{"2026-07-01 05:00:00Z", "2026-07-01 01:15:00Z"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("no %s in\n%s", want, out)
		}
	}
}

// A zone that does not exist is refused with its name, and no reload with one touches
// what runs.
func TestUnknownZone(t *testing.T) {
	t.Parallel()
	var journal testcluster.Journal
	a := newAlone(t, testcluster.Options{Jobs: func(j testcluster.Journal) []testcluster.Job {
		journal = j
		return []testcluster.Job{{Name: "tick", Command: j.Write()}}
	}})
	a.begin()
	a.WriteJobs(testcluster.Job{Name: "tick", Command: journal.Write()}, testcluster.Job{Name: "typo", Schedule: "0 7 * * *", Command: "true", More: "timezone: Europe/Madird\n"})
	status, err := a.Client.Reload(a.context())
	if err != nil || status.State != api.ConfigFailed || len(status.Errors) == 0 {
		t.Fatalf("reload: %+v, %v", status, err)
	}
	if d := status.Errors[0]; d.Job != "typo" || d.Key != "timezone" || !strings.Contains(d.Message, "Europe/Madird") {
		t.Errorf("the reload says %+v", d)
	}
	from := testcluster.NextSecond()
	testcluster.Eventually(t, "the firings that follow", ranEach(a.cluster, "tick", from, 3, 1))
}
