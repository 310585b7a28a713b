package command

import (
	"crypto/tls"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/yacron2/yacron2/api"
)

// The environment variables behind the options that name an agent.
const (
	envAddress = "YACRON2_HTTP_ADDR"
	envToken   = "YACRON2_HTTP_TOKEN" //nolint:gosec // the name of a variable
	envCAFile  = "YACRON2_HTTP_CA_FILE"
)

// connectionFlags names the options that clientFlags adds; help lists them apart.
var connectionFlags = []string{"address", "token", "ca-file"}

// The values of -format.
const (
	formatTable = "table"
	formatJSON  = "json"
)

// Meta is what commands have in common: the environment, the options that several of
// them take, and the client that follows from these.
type Meta struct {
	Env
	name    string // as typed after the program's name
	address string
	token   string
	caFile  string
	format  string
	args    []string // what stands beside the options
}

// flagSet returns an empty set for the command's options. It prints nothing itself.
func (m *Meta) flagSet() *flag.FlagSet {
	fs := flag.NewFlagSet(m.name, flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.Usage = func() {}
	return fs
}

// clientFlags adds the options that say where the agent is.
func (m *Meta) clientFlags(fs *flag.FlagSet) {
	fs.StringVar(&m.address, "address", "", "`URL` of the agent: http://HOST:PORT, https://HOST:PORT or unix:///PATH. Otherwise "+
		envAddress+" is used, and at last "+api.DefaultAddress+".")
	fs.StringVar(&m.token, "token", "", "Bearer `TOKEN` of the agent's API. Others on this machine can see options: better set "+envToken+".")
	fs.StringVar(&m.caFile, "ca-file", "", "PEM `FILE` of the authorities to trust for https, instead of those of the system. Otherwise "+
		envCAFile+" is used.")
}

// formatFlag adds the choice between a table and JSON.
func (m *Meta) formatFlag(fs *flag.FlagSet) {
	fs.StringVar(&m.format, "format", formatTable, "`FORM` of the output: table for people, json for programs.")
}

// parse reads the command's arguments and allows at most maxArgs of them beside the
// options. It reports misuse itself and returns false then.
func (m *Meta) parse(fs *flag.FlagSet, args []string, maxArgs int) bool {
	m.args = nil
	for {
		if err := fs.Parse(args); err != nil {
			return m.misuse("%s", flagError(err, fs))
		}
		if fs.NArg() == 0 {
			break
		}
		// Package flag stops at the first argument, people go on with options. Behind
		// -- there are none.
		read := len(args) - fs.NArg()
		if read > 0 && args[read-1] == "--" {
			m.args = append(m.args, fs.Args()...)
			break
		}
		m.args = append(m.args, fs.Arg(0))
		args = fs.Args()[1:]
	}
	switch {
	case len(m.args) > maxArgs:
		return m.misuse("unexpected argument %q", m.args[maxArgs])
	case fs.Lookup("format") != nil && m.format != formatTable && m.format != formatJSON:
		return m.misuse("-format=%s: write table or json", m.format)
	}
	set := map[string]bool{}
	fs.Visit(func(f *flag.Flag) { set[f.Name] = true })
	for name, from := range map[string]struct {
		variable string
		value    *string
	}{
		"address": {envAddress, &m.address},
		"token":   {envToken, &m.token},
		"ca-file": {envCAFile, &m.caFile},
	} {
		if fs.Lookup(name) != nil && !set[name] {
			*from.value = m.Getenv(from.variable)
		}
	}
	return true
}

// flagError returns the words of package flag without their Go accent, with the
// nearest option's name for one that does not exist.
func flagError(err error, fs *flag.FlagSet) string {
	text := err.Error()
	name, unknown := strings.CutPrefix(text, "flag provided but not defined: -")
	if !unknown {
		return strings.NewReplacer("flag needs an argument: ", "a value is missing after ", " for flag ", " for ").Replace(text)
	}
	var names []string
	fs.VisitAll(func(f *flag.Flag) { names = append(names, f.Name) })
	text = fmt.Sprintf("there is no option -%s", strings.TrimPrefix(name, "-"))
	if near := nearest(strings.TrimPrefix(name, "-"), names); near != "" {
		text += fmt.Sprintf(", did you mean -%s?", near)
	}
	return text
}

// misuse reports that the command was called in a way it does not understand. It
// returns false for the convenience of parse and its like.
func (m *Meta) misuse(format string, args ...any) bool {
	m.errorf(format, args...)
	m.hintf("yacron2 %s -help lists the options", m.name)
	return false
}

// client returns a client for the agent that the options name.
func (m *Meta) client() (*api.Client, error) {
	return api.NewClient(api.ClientConfig{Address: m.address, Token: m.token, CAFile: m.caFile})
}

// fail reports why the command did not succeed, with a way out where one is known,
// and returns its exit code.
func (m *Meta) fail(err error) int {
	var (
		unreachable *api.UnreachableError
		untrusted   *tls.CertificateVerificationError
		answer      *api.Error
	)
	switch {
	case errors.As(err, &untrusted) && errors.As(err, &unreachable):
		m.errorf("the certificate shown at %s does not verify: %s", unreachable.Address, plain(untrusted.Err.Error()))
		m.hintf("set -ca-file or %s to the authority that issued it", envCAFile)
	case errors.As(err, &unreachable):
		m.errorf("no agent answers at %s: %s", unreachable.Address, plain(unreachable.Err.Error()))
		m.hintf("is it running? set -address or %s if it is elsewhere; without web.listen in its configuration it answers nowhere", envAddress)
	case errors.Is(err, api.ErrNotAgent):
		m.errorf("%s", plain(err.Error()))
		m.hintf("set -address or %s to a yacron2 agent", envAddress)
	case errors.As(err, &answer) && answer.StatusCode == http.StatusUnauthorized && m.token == "":
		m.errorf("the agent wants a token")
		m.hintf("set %s or -token", envToken)
	case errors.As(err, &answer) && answer.StatusCode == http.StatusUnauthorized:
		m.errorf("the agent does not accept this token")
		m.hintf("check %s or -token", envToken)
	case errors.As(err, &answer):
		m.errorf("the agent says: %s", plain(answer.Message()))
	default:
		m.errorf("%s", plain(err.Error()))
	}
	return exitFailed
}

// json prints v as the command's result and returns the exit code.
func (m *Meta) json(v any) int {
	enc := json.NewEncoder(m.Stdout)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		m.errorf("write the result: %v", err)
		return exitFailed
	}
	return exitOK
}
