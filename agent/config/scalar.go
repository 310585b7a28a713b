package config

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// parseBool accepts the spellings of YAML 1.1 and 1 and 0, in any case.
func parseBool(text string) (value, ok bool) {
	switch strings.ToLower(text) {
	case "yes", "true", "on", "1", "y":
		return true, true
	case "no", "false", "off", "0", "n":
		return false, true
	}
	return false, false
}

// parseInt accepts a sign, decimal digits (leading zeros stay decimal) and
// underscores between digits.
func parseInt(text string) (int, bool) {
	digits, ok := plainDigits(text)
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseInt(digits, 10, 0)
	return int(n), err == nil
}

// plainDigits removes the underscores of a decimal number.
func plainDigits(text string) (string, bool) {
	body := strings.TrimPrefix(strings.TrimPrefix(text, "+"), "-")
	if len(text)-len(body) > 1 || !isDigit(body, 0) || strings.HasSuffix(body, "_") {
		return "", false
	}
	for i := range len(body) {
		if body[i] != '_' && !isDigit(body, i) {
			return "", false
		}
	}
	return strings.ReplaceAll(text, "_", ""), true
}

func isDigit(s string, i int) bool {
	return i >= 0 && i < len(s) && s[i] >= '0' && s[i] <= '9'
}

// parseFloat accepts decimal numbers with point and exponent, underscores between
// digits, inf and nan; no hexadecimal.
func parseFloat(text string) (float64, bool) {
	for i := range len(text) {
		switch c := text[i]; {
		case c == '_':
			if !isDigit(text, i-1) || !isDigit(text, i+1) {
				return 0, false
			}
		case c == 'x' || c == 'X' || c == 'p' || c == 'P':
			return 0, false
		}
	}
	f, err := strconv.ParseFloat(strings.ReplaceAll(text, "_", ""), 64)
	if err != nil && !math.IsInf(f, 0) {
		return 0, false
	}
	return f, true
}

// forever is what an endless or absurdly long duration becomes: far enough, and safe
// to add to any instant.
const forever = 100 * 365 * 24 * time.Hour

// seconds turns a number of seconds into a duration, rounding up to a nanosecond so
// that what is above zero stays above zero.
func seconds(s float64) time.Duration {
	switch {
	case s >= forever.Seconds():
		return forever
	case s <= -forever.Seconds():
		return -forever
	}
	return time.Duration(math.Ceil(s * float64(time.Second)))
}

// number renders a number of seconds or a factor for messages, shortest form.
func number(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }
