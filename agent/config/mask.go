package config

import (
	"regexp"
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Lines are shown to whoever sees logs and API answers, so everything that may be a
// secret is masked by its key alone: the file may be too broken to know more.
var (
	secretKey = regexp.MustCompile(`(?i)(?:^|[\s{,"'])(value|password|auth_?token|tokens?|dsn|url|headers?|environment|authorization|x-[a-z-]*(?:key|token)|api-?key)["']?\s*[:=]\s*`)
	// setenv is a line of a crontab that other programs would take for a variable.
	setenv      = regexp.MustCompile(`^\s*(?:export|setenv|set|declare)\s+\S+\s+`)
	urlUserInfo = regexp.MustCompile(`://[^/@\s"']+@`)
)

var mask = []rune("***")

// seal is what is known to be secret in a line beyond its looks: all from a column on, and
// every value but those of known keys.
type seal struct {
	from   int // 0: nothing
	strict bool
}

// shownBelow tells the keys below that of a secret which hold no secrets themselves.
func shownBelow(key string) bool {
	switch key {
	case "key", "name", "scope", "fromFile", "fromEnvVar", "from_file", "from_env_var":
		return true
	}
	return false
}

// shownInBroken tells the keys that hold no secrets wherever they stand. In a file that
// is too broken to be read, all others may be names of variables.
func shownInBroken(key string) bool { return harmless[key] }

var harmless = harmlessKeys(fileKeys)

// harmlessKeys are the names that no secret has, as all languages spell them.
func harmlessKeys(root *field) map[string]bool {
	found := map[string]bool{}
	var walk func(f *field)
	walk = func(f *field) {
		for _, k := range f.keys {
			for _, name := range []string{k.name, k.hclName, k.block} {
				before, known := found[name]
				found[name] = !k.secret() && (before || !known)
			}
			for _, form := range []*field{k, k.elem, k.other} {
				if form != nil && form.kind == mapKind {
					walk(form)
				}
				if form != nil && form.elem != nil && form.elem.kind == mapKind {
					walk(form.elem)
				}
			}
		}
	}
	walk(root)
	return found
}

// span is a part of a line, in bytes.
type span struct{ from, to int }

// maskLine replaces what may be a secret in a line and returns the caret's new place.
// shown tells the only keys whose values are not masked; nil masks what looks like a
// secret, and nothing else.
func maskLine(line []rune, caret int, d dialect, shown func(key string) bool) ([]rune, int) {
	text := string(line)
	var spans []span
	switch {
	case d == crontabDialect:
		if from := variableAt(text); from < len(text) {
			spans = append(spans, span{from, len(text)})
		}
	case shown != nil:
		spans = secretValues(text, span{0, len(text)}, shown)
	default:
		for rest := 0; rest < len(text); {
			loc := secretKey.FindStringSubmatchIndex(text[rest:])
			if loc == nil {
				break
			}
			from := rest + loc[1]
			to := secretEnd(text, from, text[rest+loc[2]:rest+loc[3]])
			if to > from {
				spans = append(spans, span{from, to})
			} else if from < len(text) && (text[from] == '{' || text[from] == '[') {
				to = bracketEnd(text, from)
				spans = append(spans, secretValues(text, span{from + 1, to}, shownBelow)...)
			}
			rest = max(to, from)
		}
	}
	for _, loc := range urlUserInfo.FindAllStringIndex(text, -1) {
		spans = append(spans, span{loc[0] + len("://"), loc[1] - 1})
	}
	if len(spans) == 0 {
		return line, caret
	}
	sort.Slice(spans, func(i, j int) bool { return spans[i].from < spans[j].from })
	var out []rune
	done, shift := 0, 0
	for _, sp := range spans {
		if sp.from < done { // within what is masked already
			continue
		}
		out = append(out, []rune(text[done:sp.from])...)
		start := utf8.RuneCountInString(text[:sp.from])
		width := utf8.RuneCountInString(text[sp.from:sp.to])
		out = append(out, mask...)
		switch {
		case caret >= start+width:
			shift += len(mask) - width
		case caret > start: // never point into a secret
			shift += start - caret
		}
		done = sp.to
	}
	out = append(out, []rune(text[done:])...)
	return out, caret + shift
}

// variableAt returns where the value of a crontab's line begins that sets a variable or
// was meant to, else the line's length. Commands are shown: a separator belongs to one
// if five time fields or a nickname stand before it.
func variableAt(text string) int {
	if loc := setenv.FindStringIndex(text); loc != nil {
		return loc[1]
	}
	i := strings.IndexAny(text, "=:")
	if i < 0 {
		return len(text)
	}
	switch fields := strings.Fields(text[:i]); {
	case len(fields) > 5, len(fields) > 1 && fields[0][0] == '@', len(fields) == 1 && fields[0] == "CRON_TZ":
		return len(text)
	}
	return len(text) - len(strings.TrimLeft(text[i+1:], " \t"))
}

// named is a key or a variable before its value. A colon is one of YAML if something
// else than a word follows it, as in an address.
var named = regexp.MustCompile(`(?:^|[\s\pZ\p{Cf}{,\[-])["']?([A-Za-z_][A-Za-z0-9_.-]*)["']?[\s\pZ\p{Cf}]*(?:(=)|(:)(?:[\s\pZ\p{Cf}"'{\[]|$))`)

// blockHead is the beginning of a block of HCL: its labels are no secrets.
var blockHead = regexp.MustCompile(`^\s*[A-Za-z_-]+(?:\s+"[^"]*")*\s*\{`)

// sourceCall says where HCL takes a secret from.
var sourceCall = regexp.MustCompile(`^(?:env|file)\("[^"]*"\)`)

// secretValues lists what to mask in a part of a line that may hold secrets under whatever
// names: all but the keys themselves and the values of those that are shown.
func secretValues(text string, part span, shown func(key string) bool) (spans []span) {
	at := part.from
	if head := blockHead.FindString(text[at:part.to]); head != "" {
		at += len(head)
	}
	// between masks what stands outside of keys and their values, if it says anything.
	between := func(to int) {
		says := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }
		if first := strings.IndexFunc(text[at:to], says); first >= 0 {
			spans = append(spans, span{at + first, at + strings.LastIndexFunc(text[at:to], says) + 1})
		}
	}
	for {
		loc := named.FindStringSubmatchIndex(text[at:part.to])
		if loc == nil {
			between(part.to)
			return spans
		}
		between(at + loc[2])
		name, from := text[at+loc[2]:at+loc[3]], at+max(loc[5], loc[7])
		from += len(text[from:part.to]) - len(strings.TrimLeft(text[from:part.to], " \t"))
		to := from
		switch {
		case from < part.to && sourceCall.MatchString(text[from:]):
			at = from + len(sourceCall.FindString(text[from:]))
			continue
		case from >= part.to:
		case text[from] == '{' || text[from] == '[':
			if !shown(name) {
				to = min(bracketEnd(text, from)+1, part.to)
			}
		default:
			to = min(secretEnd(text, from, name), part.to)
		}
		if shown(name) {
			at = to
			if next := named.FindStringSubmatchIndex(text[from:to]); next != nil {
				at = from + next[2] // two lines that have become one
			}
			continue
		}
		if behind := strings.TrimLeft(text[to:part.to], " \t"); behind != "" && !strings.ContainsRune(",}]#", rune(behind[0])) {
			to = part.to // a quote that ends too early
		}
		if to > from {
			spans = append(spans, span{from, to})
		}
		at = to
	}
}

// namesSecret reports whether the key of a secret stands right before a value.
func (s *source) namesSecret(value pos) bool {
	runes := []rune(s.line(int(value.line)))
	before := string(runes[:min(max(int(value.column)-1, 0), len(runes))])
	for _, loc := range secretKey.FindAllStringIndex(before, -1) {
		if loc[1] == len(before) {
			return true
		}
	}
	return s.belowSecret(int(value.line))
}

// afterKey returns the column at which the value of a key begins, 0 if it does not begin
// in the same line.
func (s *source) afterKey(key pos) int32 {
	runes := []rune(s.line(int(key.line)))
	if int(key.column) > len(runes) {
		return 0
	}
	rest := string(runes[key.column-1:])
	i := strings.IndexAny(rest, ":={")
	if i < 0 {
		return 0
	}
	if rest[i] != '{' {
		i++
	}
	value := strings.TrimLeft(rest[i:], " \t")
	if value == "" {
		return 0
	}
	return key.column + int32(utf8.RuneCountInString(rest)-utf8.RuneCountInString(value))
}

// bracketEnd returns where the bracket at from is closed, or the end of the line.
func bracketEnd(text string, from int) int {
	open := 0
	for i := from; i < len(text); i++ {
		switch text[i] {
		case '{', '[':
			open++
		case '}', ']':
			if open--; open == 0 {
				return i
			}
		}
	}
	return len(text)
}

// Below these keys, values are secrets.
var (
	parentKey    = regexp.MustCompile(`^[\s-]*["']?([A-Za-z_-]+)["']?\s*[:={]`)
	secretParent = regexp.MustCompile(`(?i)^(value|password|auth_?token|tokens?|dsn|url|headers?|environment|env)$`)
)

// belowSecret reports whether a line stands below such a key, as far as indentation or
// braces tell: the file may be too broken to know more.
func (s *source) belowSecret(line int) bool {
	const most = 2000 // lines to look back
	switch s.dialect {
	case yamlDialect:
		depth := yamlDepth(s.line(line))
		for n := line - 1; n > 0 && n > line-most && depth > 0; n-- {
			text := s.line(n)
			d := yamlDepth(text)
			if d < 0 || d >= depth {
				continue
			}
			// What stands behind a dash is indented more than the dash.
			key := 2 * (len(text) - len(strings.TrimLeft(text, " -")))
			if m := parentKey.FindStringSubmatch(text); m != nil && depth > key && secretParent.MatchString(m[1]) {
				return true
			}
			depth = d
		}
	case hclDialect:
		open := 0
		for n := line - 1; n > 0 && n > line-most; n-- {
			text := s.line(n)
			open += strings.Count(text, "}") + strings.Count(text, "]") - strings.Count(text, "{") - strings.Count(text, "[")
			if open >= 0 {
				continue
			}
			open = 0
			if m := parentKey.FindStringSubmatch(text); m != nil && secretParent.MatchString(m[1]) {
				return true
			}
		}
	}
	return false
}

// yamlDepth orders lines by their indentation, a dash below the key at the same place. It
// is negative for lines that say nothing.
func yamlDepth(text string) int {
	body := strings.TrimLeft(text, " ")
	switch {
	case strings.TrimSpace(body) == "" || body[0] == '#':
		return -1
	case body[0] == '-':
		return 2*(len(text)-len(body)) + 1
	}
	return 2 * (len(text) - len(body))
}

// blockSecret is a YAML line that begins a secret of several lines.
var blockSecret = regexp.MustCompile(`(?i)(?:^|[\s{,"'])(?:value|password|auth_?token|token|dsn|url)["']?\s*:\s*[|>][-+0-9]*\s*$`)

// inSecretBlock reports whether a line may be part of a secret that a line above it
// begins.
func (s *source) inSecretBlock(line int) bool {
	const most = 100
	for n := line - 1; n > 0 && n > line-most; n-- {
		text := s.line(n)
		if blockSecret.MatchString(text) {
			return true
		}
		if strings.Contains(text, ": ") || strings.HasSuffix(strings.TrimSpace(text), ":") {
			return false
		}
	}
	return false
}

// secretEnd returns where the value of a key that begins at from ends: at its closing
// quote or bracket, at the end of its flow entry, or at the end of the line. Of a secret
// block only the value in it is secret, and of a call of a function nothing: there, the
// value ends where it begins.
func secretEnd(text string, from int, key string) int {
	if from >= len(text) {
		return from
	}
	closing := func(end string) int {
		if i := strings.Index(text[from:], end); i >= 0 {
			return from + i + 1
		}
		return len(text)
	}
	switch c := text[from]; c {
	case '[':
		if (strings.EqualFold(key, "environment") || strings.EqualFold(key, "tokens")) && strings.Contains(text[from:], "{") {
			return from // a list of mappings: only their values are secret
		}
		return closing("]")
	case '{':
		switch strings.ToLower(key) {
		case "value", "header", "headers", "environment":
			return closing("}")
		}
		return from
	case 'e', 'f': // env("NAME"), file("path")
		if strings.HasPrefix(text[from:], "env(") || strings.HasPrefix(text[from:], "file(") {
			return from
		}
	case '"', '\'':
		for i := from + 1; i < len(text); i++ {
			switch {
			case text[i] == '\\' && c == '"':
				i++
			case text[i] == c:
				return i + 1
			}
		}
		return len(text)
	}
	if strings.ContainsAny(text[:from], "{[") {
		if i := strings.IndexAny(text[from:], ",}]"); i >= 0 {
			return from + i
		}
	}
	return len(text)
}
