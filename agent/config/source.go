package config

import (
	"bytes"
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
func (s *source) excerpt(line, column int, sealed seal) (string, int) {
	text := strings.ToValidUTF8(s.line(line), "\ufffd")
	if strings.TrimSpace(text) == "" {
		return "", -1
	}
	runes := []rune(text)
	if sealed.from > 0 && sealed.from <= len(runes) {
		runes = append(runes[:sealed.from-1], mask...)
	}
	var shown func(key string) bool
	switch {
	case s.belowSecret(line):
		shown = shownBelow
	case sealed.strict:
		shown = shownInBroken
	}
	runes, caret := maskLine(runes, column-1, s.dialect, shown)
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
