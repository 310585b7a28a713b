package run

import "strings"

// expandPrefix fills in a stream prefix. Doubled braces are literal ones; anything
// else in braces is left as it is, since placeholders are checked when a
// configuration is loaded.
func expandPrefix(template, job, stream string) string {
	return strings.NewReplacer(
		"{{", "{",
		"}}", "}",
		"{job_name}", job,
		"{stream_name}", stream,
	).Replace(template)
}
