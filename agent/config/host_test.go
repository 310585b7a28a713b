package config

import (
	"errors"
	"os/user"
	"time"
)

// testHost is a machine with one user, one group and a known name.
type testHost struct {
	root     bool
	zone     string
	zoneErr  error
	hostname string
}

func (h testHost) Hostname() (string, error) {
	if h.hostname == "" {
		return "node-a", nil
	}
	return h.hostname, nil
}

func (h testHost) Root() bool { return h.root }

func (h testHost) LookupUser(name string) (*user.User, error) {
	if name == "alice" {
		return &user.User{Uid: "1001", Gid: "1002", Username: "alice", HomeDir: "/home/alice"}, nil
	}
	return nil, user.UnknownUserError(name)
}

func (h testHost) LookupUserID(id string) (*user.User, error) {
	if id == "1001" {
		return h.LookupUser("alice")
	}
	return nil, errors.New("no such user")
}

func (h testHost) LookupGroup(name string) (*user.Group, error) {
	if name == "staff" {
		return &user.Group{Gid: "50", Name: name}, nil
	}
	return nil, user.UnknownGroupError(name)
}

func (h testHost) GroupIDs(*user.User) ([]string, error) { return []string{"1002", "27"}, nil }

func (h testHost) Executable(name string) bool { return name == "sync" || name == "echo" }

func (h testHost) KnowsZone(name string) bool { return name != "US/Eastern" }

func (h testHost) Now() time.Time { return time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC) }

func (h testHost) LocalZone() (string, error) {
	if h.zone == "" && h.zoneErr == nil {
		return "Europe/Berlin", nil
	}
	return h.zone, h.zoneErr
}
