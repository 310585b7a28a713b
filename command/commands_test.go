package command

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestOverview(t *testing.T) {
	for _, flag := range helpFlags {
		r := run(t, nil, flag)
		r.expect(t, exitOK, []string{"Usage: yacron2 COMMAND"}, nil)
		golden(t, "help/overview.txt", r.out)
	}
	run(t, nil).expect(t, exitMisuse, nil, []string{"Usage: yacron2 COMMAND"})
}

// TestHelp pins the help of every command, and asks for what holds for all of them.
func TestHelp(t *testing.T) {
	for _, e := range entries() {
		t.Run(e.name, func(t *testing.T) {
			words := strings.Fields(e.name)
			r := runHelp(append(words, "-help")...)
			r.expect(t, exitOK, []string{"Usage: yacron2 " + e.name}, nil)
			golden(t, "help/"+strings.ReplaceAll(e.name, " ", "-")+".txt", r.out)
			for line := range strings.Lines(r.out) {
				if len(line) > helpWidth+5 || strings.TrimRight(line, " \n") != strings.TrimRight(line, "\n") {
					t.Errorf("too long, or blanks at its end: %q", line)
				}
			}
			if short := runHelp(append(words, "-h")...); short != r {
				t.Error("-h gives another help")
			}
			if synopsis := e.build(Meta{}).Synopsis(); synopsis == "" || len(synopsis) > 60 || strings.HasSuffix(synopsis, ".") {
				t.Errorf("synopsis %q", synopsis)
			}
		})
	}
}

// runHelp executes a command line that asks for help, with what this program really
// falls back on.
func runHelp(args ...string) result {
	var out, err bytes.Buffer
	env := ProcessEnv()
	env.Stdout, env.Stderr = &out, &err
	return result{Run(args, env), out.String(), err.String()}
}

// TestMisuse checks what no command takes.
func TestMisuse(t *testing.T) {
	for _, e := range entries() {
		t.Run(e.name, func(t *testing.T) {
			words := strings.Fields(e.name)
			r := run(t, nil, append(words, "-no-such-option")...)
			r.expect(t, exitMisuse, nil, []string{"error: ", "hint: yacron2 " + e.name + " -help"})
		})
	}
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"memebrs"}, `there is no command "memebrs", did you mean "members"?`},
		{[]string{"entirely-else"}, `there is no command "entirely-else"` + "\n"},
		{[]string{"tls", "ca", "creat"}, `yacron2 tls ca has no subcommand "creat", did you mean "create"?`},
		{[]string{"members", "-addresss=x"}, "there is no option -addresss, did you mean -address?"},
		{[]string{"members", "--frmat", "json"}, "there is no option -frmat, did you mean -format?"},
		{[]string{"members", "-format=xml"}, "-format=xml: write table or json"},
		{[]string{"members", "-format"}, "a value is missing after -format"},
		{[]string{"members", "b"}, `unexpected argument "b"`},
		{[]string{"members", "b", "-format=json"}, `unexpected argument "b"`},
		{[]string{"members", "-format=json", "--", "-self"}, `unexpected argument "-self"`},
		{[]string{"members", "b", "-formt=json"}, "there is no option -formt, did you mean -format?"},
		{[]string{"leader", "-self=maybe"}, `invalid boolean value "maybe" for -self`},
		{[]string{"tls", "ca", "create", "-days=x"}, `invalid value "x" for -days`},
	} {
		run(t, nil, test.args...).expect(t, exitMisuse, nil, []string{"error: ", test.want})
	}
	for _, words := range []string{"job", "config", "tls", "tls ca", "tls cert"} {
		run(t, nil, strings.Fields(words)...).expect(t, exitMisuse, nil, []string{"Usage: yacron2 " + words, "Subcommands:"})
	}
}

// asking lists the commands that need an agent, with arguments that are fine.
var asking = [][]string{
	{"members"}, {"members", "-format=json"}, {"leader"}, {"leader", "-self"},
	{"fleet"}, {"why", "a"}, {"why", "-at=2026-03-01", "a"}, {"reload"}, {"job", "list"}, {"job", "show", "a"}, {"job", "history", "a"}, {"job", "logs", "a"}, {"job", "run", "a"}, {"job", "cancel", "a"},
	{"job", "pause", "a"}, {"job", "resume", "a"}, {"events"}, {"events", "-format=json"},
}

func TestNoAgent(t *testing.T) {
	for _, args := range asking {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			address := nobody
			run(t, map[string]string{envAddress: address}, args...).
				expect(t, exitFailed, nil, []string{"error: no agent answers at " + address + ": ", "refused", "is it running? set -address or " + envAddress})

			env := map[string]string{envAddress: serve(t, map[string]any{"/cluster": "<html>", "/jobs": "<html>", "/jobs/a/runs": "<html>", "/jobs/a/logs": "<html>", "/jobs/a/why": "<html>", "/jobs/a": "<html>", "/events": "<html>", "/jobs/a/pause": "<html>", "/fleet": "<html>", "/reload": "<html>"})}
			want := "not the answer of a yacron2 agent"
			if args[0] == "job" && (args[1] == "run" || args[1] == "cancel" || args[1] == "resume") {
				want = "the agent has no job"
			}
			run(t, env, args...).expect(t, exitFailed, nil, []string{want})

			run(t, map[string]string{envAddress: "ftp://host"}, args...).
				expect(t, exitFailed, nil, []string{`error: address "ftp://host": scheme "ftp" is not supported`})
			run(t, map[string]string{envCAFile: "/does/not/exist.pem"}, args...).
				expect(t, exitFailed, nil, []string{"error: CA file: ", "no such file"})
		})
	}
}

func TestToken(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer right" {
			http.Error(w, "401: Unauthorized", http.StatusUnauthorized)
			return
		}
		http.Error(w, "\x1b[31mbroken", http.StatusInternalServerError)
	}))
	t.Cleanup(server.Close)
	for _, args := range asking {
		env := map[string]string{envAddress: server.URL}
		run(t, env, args...).expect(t, exitFailed, nil, []string{"error: the agent wants a token", "hint: set " + envToken})
		env[envToken] = "wrong"
		run(t, env, args...).expect(t, exitFailed, nil, []string{"error: the agent does not accept this token"})
		env[envToken] = "right"
		run(t, env, args...).expect(t, exitFailed, nil, []string{`error: the agent says: \x1b[31mbroken` + "\n"})
		run(t, env, append(args, "-token=wrong")...).expect(t, exitFailed, nil, []string{"does not accept"})
	}
}

// An option wins over its variable, and an empty option over a set variable.
func TestPrecedence(t *testing.T) {
	good, bad := serveCluster(t, threeNodes()), nobody
	env := map[string]string{envAddress: bad}
	run(t, env, "leader", "-address", good).expect(t, exitOK, []string{"yacron-a"}, nil)
	env[envAddress] = good
	run(t, env, "leader").expect(t, exitOK, []string{"yacron-a"}, nil)
	run(t, env, "leader", "-address", bad).expect(t, exitFailed, nil, []string{bad})
	run(t, map[string]string{envCAFile: "/does/not/exist.pem"}, "leader", "-ca-file=", "-address", good).
		expect(t, exitOK, []string{"yacron-a"}, nil)
}

func TestUntrustedServer(t *testing.T) {
	server := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(server.Close)
	run(t, nil, "members", "-address", server.URL).
		expect(t, exitFailed, nil, []string{"error: the certificate shown at " + server.URL + " does not verify: ", "hint: set -ca-file"})
}

// The page about the command line has every command.
func TestCommandsAreDocumented(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "website", "commands.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries() {
		if e.section != "" && !strings.Contains(string(page), "`"+e.name) {
			t.Errorf("%s is not on the page", e.name)
		}
	}
}
