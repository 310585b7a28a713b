package config

import (
	"bytes"
	"regexp"
	"sort"
	"strings"
	"unicode/utf8"
)

// dialect is the language of a file.
type dialect uint8

const (
	yamlDialect dialect = iota
	hclDialect
	crontabDialect
)

// source is one file that was read.
type source struct {
	name    string // as shown: the path as given, joined with what includes say
	path    string // absolute, cleaned; the identity of the file in include chains
	text    []byte
	dialect dialect
	starts  []int // offsets of the lines, computed when first needed
}

// line returns the text of a line without its end; lines count from 1.
func (s *source) line(n int) string {
	if s.starts == nil {
		s.starts = []int{0}
		for i, c := range s.text {
			if c == '\n' {
				s.starts = append(s.starts, i+1)
			}
		}
	}
	if n < 1 || n > len(s.starts) {
		return ""
	}
	from, to := s.starts[n-1], len(s.text)
	if n < len(s.starts) {
		to = s.starts[n] - 1
	}
	line := s.text[from:to]
	const most = 64 << 10 // what is shown is shorter still
	if len(line) > most {
		line = line[:most]
	}
	line = bytes.TrimSuffix(line, []byte("\r"))
	if n == 1 {
		line = bytes.TrimPrefix(line, []byte("\ufeff"))
	}
	return string(line)
}

// place returns the position of a byte offset.
func (s *source) place(offset int) pos {
	s.line(1)
	n := sort.SearchInts(s.starts, offset+1)
	column := utf8.RuneCount(s.text[s.starts[n-1]:offset]) + 1
	return pos{s, int32(n), int32(column)}
}

// Excerpts are cut to this many characters around the caret.
const (
	excerptBefore = 80
	excerptAfter  = 60
)

// excerpt returns a line as it may be shown, with secrets masked, control characters
// replaced and the rest of long lines cut off, and how many of its characters stand
// before the given column. It returns -1 if the column is not within the line.
func (s *source) excerpt(line, column int) (string, int) {
	text := strings.ToValidUTF8(s.line(line), "\ufffd")
	if strings.TrimSpace(text) == "" {
		return "", -1
	}
	runes, caret := maskLine([]rune(text), column-1, s.dialect)
	for i, r := range runes {
		if r != '\t' && (r < ' ' || r == 0x7f) {
			runes[i] = '\ufffd'
		}
	}
	if caret > len(runes) {
		caret = len(runes)
	}
	if from := caret - excerptBefore; caret > 0 && from > 0 {
		runes = append([]rune("…"), runes[from:]...)
		caret = caret - from + 1
	}
	if to := max(caret, 0) + excerptAfter; to < len(runes) {
		runes = append(runes[:to:to], '…')
	}
	return strings.TrimRight(string(runes), " \t"), caret
}

// Lines are shown to whoever sees logs and API answers, so everything that may be a
// secret is masked by its key alone: the file may be too broken to know more.
var (
	secretKey   = regexp.MustCompile(`(?i)(?:^|[\s{,"'])(value|password|auth_?token|tokens?|dsn|url|headers?|environment|authorization|x-[a-z-]*(?:key|token)|api-?key)["']?\s*[:=]\s*`)
	assignment  = regexp.MustCompile(`^\s*([A-Za-z_][A-Za-z0-9_]*)\s*=\s*`)
	urlUserInfo = regexp.MustCompile(`://[^/@\s"']+@`)
)

var mask = []rune("***")

// maskLine replaces what may be a secret in a line and returns the caret's new place.
func maskLine(line []rune, caret int, d dialect) ([]rune, int) {
	text := string(line)
	type span struct{ from, to int } // bytes
	var spans []span
	if d == crontabDialect {
		loc := assignment.FindStringSubmatchIndex(text)
		if loc != nil && loc[1] < len(text) && text[loc[2]:loc[3]] != "CRON_TZ" {
			spans = append(spans, span{loc[1], len(text)})
		}
	} else {
		for rest := 0; rest < len(text); {
			loc := secretKey.FindStringSubmatchIndex(text[rest:])
			if loc == nil {
				break
			}
			from := rest + loc[1]
			to := secretEnd(text, from, text[rest+loc[2]:rest+loc[3]])
			if to > from {
				spans = append(spans, span{from, to})
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
