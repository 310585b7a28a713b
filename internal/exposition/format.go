package exposition

import "strings"

// Format is one of the two text formats.
type Format int

// The formats.
const (
	Text Format = iota
	OpenMetrics
)

// Negotiate chooses by the values of a request's Accept headers: OpenMetrics if it is
// mentioned anywhere, whatever weight it has.
func Negotiate(accept []string) Format {
	for _, value := range accept {
		if strings.Contains(strings.ToLower(value), "application/openmetrics-text") {
			return OpenMetrics
		}
	}
	return Text
}

// ContentType is the value of the Content-Type header.
func (f Format) ContentType() string {
	if f == OpenMetrics {
		return "application/openmetrics-text; version=1.0.0; charset=utf-8"
	}
	return "text/plain; version=0.0.4; charset=utf-8"
}
