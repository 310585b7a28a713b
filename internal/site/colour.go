package main

import (
	"html"
	"regexp"
	"strings"
)

// key is what names a value at the beginning of a line.
var key = map[string]*regexp.Regexp{
	"yaml": regexp.MustCompile(`^(\s*(?:- )*)("[^"]*"|[\w./@-]+)(:(?:\s.*)?)$`),
	"hcl":  regexp.MustCompile(`^(\s*)(\w+)(\s*(?:=|\{|"[^"]*" \{).*)$`),
}

// coloured is a text of code as HTML in which comments and keys are marked. Other
// languages than those of configuration files are only escaped.
func coloured(language, code string) string {
	var b strings.Builder
	for line := range strings.Lines(code) {
		text, ending := strings.TrimSuffix(line, "\n"), ""
		if text != line {
			ending = "\n"
		}
		text, comment := cutComment(language, text)
		if m := keyOf(language, text); m != nil {
			b.WriteString(html.EscapeString(m[1]) + "<b>" + html.EscapeString(m[2]) + "</b>" + html.EscapeString(m[3]))
		} else {
			b.WriteString(html.EscapeString(text))
		}
		if comment != "" {
			b.WriteString("<i>" + html.EscapeString(comment) + "</i>")
		}
		b.WriteString(ending)
	}
	return b.String()
}

func keyOf(language, line string) []string {
	if re := key[language]; re != nil {
		return re.FindStringSubmatch(line)
	}
	return nil
}

// cutComment cuts a line where its comment begins: at a # at the beginning or behind a
// blank, outside of quotes.
func cutComment(language, line string) (text, comment string) {
	switch language {
	case "yaml", "hcl", "crontab", "sh", "ini", "dockerfile":
	default:
		return line, ""
	}
	quote := byte(0)
	for i := range len(line) {
		switch c := line[i]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'' && (i == 0 || line[i-1] == ' '):
			quote = c
		case c == '#' && (i == 0 || line[i-1] == ' ' || line[i-1] == '\t'):
			return line[:i], line[i:]
		}
	}
	return line, ""
}
