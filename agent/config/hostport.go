package config

import (
	"errors"
	"net/netip"
	"strconv"
	"strings"
)

// splitHostPort splits host:port strictly: a host, a port of 1 to 65535 in digits,
// and brackets around an IPv6 address. It returns the host without brackets.
func splitHostPort(s string) (host string, port int, err error) {
	const want = "write host:port"
	i := strings.LastIndexByte(s, ':')
	switch {
	case strings.Contains(s, "://"):
		return "", 0, errors.New("it is a URL: " + want)
	case i < 0:
		return "", 0, errors.New("it has no port: " + want)
	case strings.HasPrefix(s, "["):
		end := strings.IndexByte(s, ']')
		if end < 0 || end != i-1 {
			return "", 0, errors.New("the brackets are misplaced: write [address]:port")
		}
		host = s[1:end]
		if addr, err := netip.ParseAddr(host); err != nil || !addr.Is6() {
			return "", 0, errors.New("what stands in brackets is not an IPv6 address")
		}
	default:
		host = s[:i]
		if strings.ContainsRune(host, ':') {
			return "", 0, errors.New("an IPv6 address needs brackets: write [address]:port")
		}
		if strings.ContainsAny(host, "[]/ \t@") {
			return "", 0, errors.New("the host is malformed: " + want)
		}
	}
	if host == "" {
		return "", 0, errors.New("it has no host: " + want)
	}
	if port, err = parsePort(s[i+1:]); err != nil {
		return "", 0, err
	}
	return host, port, nil
}

func parsePort(s string) (int, error) {
	for i := range len(s) {
		if !isDigit(s, i) {
			return 0, errors.New("the port must be a number, 1 to 65535")
		}
	}
	port, err := strconv.Atoi(s)
	if err != nil || port < 1 || port > 65535 {
		return 0, errors.New("the port must be a number, 1 to 65535")
	}
	return port, nil
}

// hidden returns an address for messages, with the user info of a URL masked.
func hidden(address string) string {
	return quote(urlUserInfo.ReplaceAllString(address, "://***@"))
}

// isLoopback reports whether a host is a literal loopback address.
func isLoopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Unmap().IsLoopback()
}
