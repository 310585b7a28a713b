package command

import (
	"flag"
	"fmt"
	"slices"
	"strings"
)

const helpWidth = 80

// help composes a command's help: how to call it, what it does, and its options, which
// come from the very set that parses them.
func help(usage, text string, fs *flag.FlagSet) string {
	var own, connection strings.Builder
	fs.VisitAll(func(f *flag.Flag) {
		b := &own
		if slices.Contains(connectionFlags, f.Name) {
			b = &connection
		}
		value, usage := flag.UnquoteUsage(f)
		if value != "" {
			value = "=" + value
		}
		fmt.Fprintf(b, "\n  -%s%s\n%s", f.Name, value, wrap(usage, "      "))
	})
	out := "Usage: yacron2 " + usage + "\n\n" + strings.Trim(text, "\n") + "\n"
	if own.Len() > 0 {
		out += "\nOptions:\n" + own.String()
	}
	if connection.Len() > 0 {
		out += "\nConnection:\n" + connection.String()
	}
	return strings.TrimRight(out, "\n")
}

// wrap breaks text into indented lines.
func wrap(text, indent string) string {
	var b strings.Builder
	line := indent
	for _, word := range strings.Fields(text) {
		if len(line) > len(indent) && len(line)+1+len(word) > helpWidth {
			b.WriteString(line + "\n")
			line = indent
		}
		if len(line) > len(indent) {
			line += " "
		}
		line += word
	}
	return b.String() + line + "\n"
}
