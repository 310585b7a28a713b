package config

import (
	"io/fs"
	"math"
	"net"
	"net/url"
	"strconv"
	"strings"
)

// authTokenName is the name of the token that the key authToken gives.
const authTokenName = "authToken"

// DefaultBuckets returns the bounds of the run time histogram, in seconds.
func DefaultBuckets() []float64 {
	return []float64{0.1, 0.5, 1, 5, 15, 60, 300, 900, 3600}
}

// web reads the web section, nil if there is none.
func (l *loader) web(n *node) *Web {
	if n == nil || n.kind != mapping {
		return nil
	}
	w := &Web{UI: true, Metrics: Metrics{Enabled: true, DurationBuckets: DefaultBuckets()}}
	boolOf(n.get("ui"), &w.UI)
	if t := n.get("tls"); t != nil {
		w.CertFile, w.KeyFile = textOr(t.get("cert"), ""), textOr(t.get("key"), "")
		if w.KeyFile != "" {
			l.privateFile(t.get("key"), "web.tls.key", "", w.KeyFile, false)
		}
	}
	if h := n.get("headers"); h != nil && h.kind == mapping {
		l.headers(h, w)
	}
	l.listeners(n, w)
	l.hosts(n.get("hosts"), w)
	l.tokens(n, w)
	l.openDoors(n, w)
	l.metrics(n.get("metrics"), &w.Metrics)
	if m := n.get("socketMode"); m != nil && m.kind == scalar {
		if v, err := strconv.ParseUint(strings.TrimPrefix(m.text, "0o"), 8, 32); err == nil && v <= 0o777 {
			mode := fs.FileMode(v)
			w.SocketMode = &mode
		} else {
			l.warn(m.pos, "web.socketMode", spell(m, "socketMode")+" "+quote(m.text)+" is no octal mode and is ignored", "e.g. 0660")
		}
	}
	return w
}

func (l *loader) headers(h *node, w *Web) {
	for i := range h.entries {
		e := &h.entries[i]
		if !validHeader(e.key, e.value.text) {
			l.out.add(e.pos, Diagnostic{Severity: Error, Key: "web.headers." + e.key, hidden: true,
				Message: "the header " + quote(e.key) + " cannot be sent: its name or value holds characters that HTTP does not allow"})
		}
		w.Headers = append(w.Headers, Header{e.key, e.value.text})
	}
}

// validHeader reports whether a header can be sent without breaking the protocol.
func validHeader(name, value string) bool {
	if name == "" {
		return false
	}
	for i := range len(name) {
		c := name[i]
		if c <= ' ' || c >= 0x7f || strings.IndexByte("\"(),/:;<=>?@[\\]{}", c) >= 0 {
			return false
		}
	}
	for i := range len(value) {
		if c := value[i]; c < ' ' && c != '\t' || c == 0x7f {
			return false
		}
	}
	return true
}

// listeners reads web.listen. An entry that cannot work is left out with a warning,
// so that the others serve.
func (l *loader) listeners(n *node, w *Web) {
	listen := n.get("listen")
	if listen == nil || listen.kind != list {
		return
	}
	for i, item := range listen.items {
		if item.kind != scalar {
			continue
		}
		key := "web.listen[" + strconv.Itoa(i) + "]"
		parsed, err := parseListener(item.text)
		if err != "" {
			l.warn(item.pos, key, "listener "+hidden(item.text)+" is left out: "+err, "write http://host:port, https://host:port or unix:///path")
			continue
		}
		if parsed.Scheme == "https" && n.get("tls") == nil {
			l.fail(item.pos, key, "an https listener needs web.tls", "give tls.cert and tls.key below web")
		}
		w.Listen = append(w.Listen, parsed)
	}
}

func parseListener(text string) (Listener, string) {
	if path, ok := strings.CutPrefix(text, "unix://"); ok {
		if path == "" {
			return Listener{}, "it names no path"
		}
		return Listener{"unix", path}, ""
	}
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return Listener{}, "it is not a URL"
	case u.Scheme != "http" && u.Scheme != "https":
		return Listener{}, "unknown scheme"
	case u.User != nil || u.Path != "" && u.Path != "/" || u.RawQuery != "" || u.Fragment != "":
		return Listener{}, "it holds more than host and port"
	case u.Hostname() == "" || u.Port() == "":
		return Listener{}, "it needs host and port"
	}
	if port, err := strconv.Atoi(u.Port()); err != nil || port > 65535 {
		return Listener{}, "the port must be at most 65535"
	}
	return Listener{u.Scheme, u.Host}, ""
}

// openDoors tells of what can be reached from other machines without a token.
func (l *loader) openDoors(n *node, w *Web) {
	if listen := n.get("listen"); listen != nil && listen.kind == list && len(w.Tokens) == 0 {
		for i, item := range listen.items {
			parsed, problem := parseListener(item.text)
			if item.kind != scalar || problem != "" || parsed.Scheme == "unix" || onlyHere(parsed.Address) {
				continue
			}
			message, hint := "there is no token: whoever reaches this address can start jobs", "give "+spell(n, "authToken")+" or tokens"
			if len(w.Hosts) == 0 && parsed.Scheme == "http" {
				message += "; requests by other names than this machine's are refused, which yacron2 1.2 answered"
				hint += ", or else the names as hosts"
			}
			l.out.add(item.pos, Diagnostic{Severity: Note, Key: "web.listen[" + strconv.Itoa(i) + "]", Message: message, Hint: hint})
		}
	}
}

// onlyHere reports whether only this machine can reach an address.
func onlyHere(address string) bool {
	host, _, err := net.SplitHostPort(address)
	return err == nil && (isLoopback(host) || host == "localhost" || strings.HasSuffix(host, ".localhost"))
}

// hosts reads web.hosts.
func (l *loader) hosts(n *node, w *Web) {
	if n == nil || n.kind != list {
		return
	}
	for i, item := range n.items {
		if item.kind != scalar {
			continue
		}
		name := strings.TrimPrefix(item.text, "*.")
		if item.text != "*" && (name == "" || strings.ContainsAny(name, "*:/@?#[]% \t")) {
			l.fail(item.pos, "web.hosts["+strconv.Itoa(i)+"]", quote(item.text)+" is no host name", "write a name without a port, *.NAME for all names below it, or * for every name")
			continue
		}
		w.Hosts = append(w.Hosts, item.text)
	}
}

// tokens reads authToken and tokens. Whether they resolve is found out when the API
// starts: jobs must run even if it cannot.
func (l *loader) tokens(n *node, w *Web) {
	if a := n.get("authToken"); a != nil && a.kind == mapping {
		w.Tokens = append(w.Tokens, Token{authTokenName, ScopeOperate, secretOf(a)})
		l.tokenWarning(a, "web.authToken", spell(a, "authToken"), secretOf(a))
	}
	tokens := n.get("tokens")
	if tokens == nil || tokens.kind != list {
		return
	}
	if len(tokens.items) == 0 {
		l.fail(tokens.pos, "web.tokens", "tokens is an empty list", "leave the key out for an open API")
	}
	names := map[string]bool{}
	for i, item := range tokens.items {
		if item.kind != mapping {
			continue
		}
		key := "web.tokens[" + strconv.Itoa(i) + "]"
		t := Token{textOr(item.get("name"), ""), Scope(textOr(item.get("scope"), "")), secretOf(item)}
		switch {
		case t.Name == "":
			l.fail(item.pos, key+".name", "a token needs a name", "")
		case names[t.Name]:
			l.fail(item.get("name").pos, key+".name", "a second token with the name "+quote(t.Name), "")
		}
		names[t.Name] = true
		var sources []string
		for _, source := range []string{"value", "fromFile", "fromEnvVar"} {
			if textOr(item.get(source), "") != "" {
				sources = append(sources, spell(item, source))
			}
		}
		switch len(sources) {
		case 0:
			l.fail(item.pos, key, "the token "+quote(t.Name)+" has no secret", "give value, "+spell(item, "fromFile")+" or "+spell(item, "fromEnvVar"))
		case 1:
			l.tokenWarning(item, key, "the token "+quote(t.Name), t.Secret)
		default:
			l.fail(item.pos, key, "the token "+quote(t.Name)+" has more than one source: "+andList(sources), "keep one of them")
		}
		w.Tokens = append(w.Tokens, t)
	}
}

// tokenWarning tells early that the API will stay down.
func (l *loader) tokenWarning(n *node, key, what string, s Secret) {
	if s.FromFile != "" {
		l.privateFile(n, key, "", s.FromFile, false)
	}
	if _, err := s.Resolve(); err != nil {
		l.warn(n.pos, key, what+": "+err.Error()+"; the API stays down until it can be read", "")
	}
}

func (l *loader) metrics(n *node, m *Metrics) {
	if n == nil {
		return
	}
	if n.kind == scalar {
		boolOf(n, &m.Enabled)
		return
	}
	boolOf(n.get("enabled"), &m.Enabled)
	boolOf(n.get("public"), &m.Public)
	buckets := n.get("durationBuckets")
	if buckets == nil || buckets.kind != list {
		return
	}
	m.DurationBuckets = nil
	last := 0.0
	for i, item := range buckets.items {
		v, ok := parseFloat(item.text)
		if !ok {
			continue
		}
		if !(v > last) || math.IsInf(v, 0) {
			l.fail(item.pos, "web.metrics.durationBuckets["+strconv.Itoa(i)+"]",
				spell(buckets, "durationBuckets")+" must be finite, above 0 and growing; "+quote(item.text)+" is not", "")
		}
		last = v
		m.DurationBuckets = append(m.DurationBuckets, v)
	}
	if len(buckets.items) == 0 {
		l.fail(buckets.pos, "web.metrics.durationBuckets", spell(buckets, "durationBuckets")+" is an empty list", "leave the key out for the usual ones")
	}
}
