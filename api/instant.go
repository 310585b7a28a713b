package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"
)

const (
	secondsLayout = "2006-01-02T15:04:05-07:00"
	microsLayout  = "2006-01-02T15:04:05.000000-07:00"
	expiryLayout  = "2006-01-02T15:04:05.000000Z"
)

// Instant is a point in time on the wire, with a resolution of one microsecond. The
// zero time is null.
type Instant struct{ time.Time }

// At returns the instant of t.
func At(t time.Time) Instant { return Instant{t} }

// String returns the wire form without quotes: RFC 3339 with offset +00:00, and with
// six decimals unless they are all zero. The zero time gives "".
func (i Instant) String() string {
	if i.IsZero() {
		return ""
	}
	t := i.UTC()
	if t.Nanosecond() < int(time.Microsecond) {
		return t.Format(secondsLayout)
	}
	return t.Format(microsLayout)
}

// MarshalJSON implements json.Marshaler.
func (i Instant) MarshalJSON() ([]byte, error) { return quoteOrNull(i.String()), nil }

// UnmarshalJSON implements json.Unmarshaler. It takes any RFC 3339 text, and null.
func (i *Instant) UnmarshalJSON(data []byte) error { return parseInstant(data, &i.Time) }

// Expiry is an instant in the form that lease blocks use: always six decimals, and Z
// for the offset. The zero time is null.
type Expiry struct{ time.Time }

// String returns the wire form without quotes, "" for the zero time.
func (e Expiry) String() string {
	if e.IsZero() {
		return ""
	}
	return e.UTC().Format(expiryLayout)
}

// MarshalJSON implements json.Marshaler.
func (e Expiry) MarshalJSON() ([]byte, error) { return quoteOrNull(e.String()), nil }

// UnmarshalJSON implements json.Unmarshaler. It takes any RFC 3339 text, and null.
func (e *Expiry) UnmarshalJSON(data []byte) error { return parseInstant(data, &e.Time) }

// quoteOrNull quotes s, which must need no escapes; "" gives null.
func quoteOrNull(s string) []byte {
	if s == "" {
		return []byte("null")
	}
	return []byte(`"` + s + `"`)
}

func parseInstant(data []byte, t *time.Time) error {
	if bytes.Equal(data, []byte("null")) {
		*t = time.Time{}
		return nil
	}
	var s string
	if err := json.Unmarshal(data, &s); err != nil {
		return fmt.Errorf("an instant must be a string or null, not %s", data)
	}
	parsed, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		return fmt.Errorf("instant %q is not in RFC 3339 form", s)
	}
	*t = parsed.UTC()
	return nil
}

// NullString is a string whose empty value is null on the wire.
type NullString string

// MarshalJSON implements json.Marshaler.
func (s NullString) MarshalJSON() ([]byte, error) {
	if s == "" {
		return []byte("null"), nil
	}
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return encode(string(s))
		}
	}
	return []byte(`"` + s + `"`), nil // as nearly all of them
}

// UnmarshalJSON implements json.Unmarshaler.
func (s *NullString) UnmarshalJSON(data []byte) error {
	// null leaves a string as it is, so it must start empty.
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return err
	}
	*s = NullString(text)
	return nil
}
