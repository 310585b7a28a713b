package command

import (
	"bytes"
	"flag"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/yacron2/yacron2/api"
)

var update = flag.Bool("update", false, "write the golden files anew")

// asProgram makes the test binary behave as the program itself: tests of signals and
// exit codes need a process of their own.
const asProgram = "YACRON2_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		os.Exit(Run(os.Args[1:], ProcessEnv()))
	}
	goleak.VerifyTestMain(m)
}

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// result is what a command left behind.
type result struct {
	code     int
	out, err string
}

// run executes a command line in this process at noon, with env as its environment.
func run(t *testing.T, env map[string]string, args ...string) result {
	t.Helper()
	var out, err bytes.Buffer
	code := Run(args, Env{
		Stdout: &out, Stderr: &err,
		Getenv: func(name string) string { return env[name] },
		Now:    func() time.Time { return noon },

		ConfigDirs: []string{"/does/not/exist", "/does/not/exist.d"},
	})
	return result{code, out.String(), err.String()}
}

// expect checks the exit code, and that the two outputs have each of the texts.
func (r result) expect(t *testing.T, code int, out, err []string) {
	t.Helper()
	if r.code != code {
		t.Errorf("exit code %d, want %d\nstdout: %s\nstderr: %s", r.code, code, r.out, r.err)
	}
	for _, text := range out {
		if !strings.Contains(r.out, text) {
			t.Errorf("standard output lacks %q:\n%s", text, r.out)
		}
	}
	for _, text := range err {
		if !strings.Contains(r.err, text) {
			t.Errorf("standard error lacks %q:\n%s", text, r.err)
		}
	}
	if len(out) == 0 && r.out != "" {
		t.Errorf("unexpected standard output:\n%s", r.out)
	}
	if len(err) == 0 && r.err != "" {
		t.Errorf("unexpected standard error:\n%s", r.err)
	}
}

// golden compares text with a file below testdata.
func golden(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if text != string(want) {
		t.Errorf("%s: got\n%s\nwant\n%s", path, text, want)
	}
}

// serve answers like an agent: path to answer, marshalled unless it is a string.
func serve(t *testing.T, answers map[string]any) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		value, ok := answers[r.URL.EscapedPath()]
		if !ok {
			http.Error(w, "404: Not Found", http.StatusNotFound)
			return
		}
		text, ok := value.(string)
		if !ok {
			data, err := api.Marshal(value)
			if err != nil {
				t.Error(err)
			}
			text = string(data)
		}
		_, _ = io.WriteString(w, text)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// serveCluster answers like an agent that sees c.
func serveCluster(t *testing.T, c api.Cluster) string {
	t.Helper()
	return serve(t, map[string]any{"/cluster": c})
}

// nobody is an address at which nothing listens: its port is that of a service that nobody
// runs, where one that was free a moment ago may be taken.
const nobody = "http://127.0.0.1:1"
