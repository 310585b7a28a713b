package config

import (
	"errors"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"time"
	// Zones work in an image without zone files.
	_ "time/tzdata"
)

// Host is what a load asks of the machine it runs on.
type Host interface {
	Hostname() (string, error)
	// Root reports whether runs can be given another user.
	Root() bool
	LookupUser(name string) (*user.User, error)
	LookupUserID(id string) (*user.User, error)
	LookupGroup(name string) (*user.Group, error)
	// GroupIDs lists the groups of a user.
	GroupIDs(u *user.User) ([]string, error)
	// Executable reports whether a program of this name is in PATH.
	Executable(name string) bool
	// KnowsZone reports whether the machine's own zone files have a zone; true if
	// it has none at all.
	KnowsZone(name string) bool
	// LocalZone returns the IANA name of the machine's time zone.
	LocalZone() (string, error)
	// Now is the instant of the load: a schedule may have no firing left.
	Now() time.Time
}

// System is the machine itself.
type System struct{}

var _ Host = System{}

// Hostname returns the host name that the kernel knows.
func (System) Hostname() (string, error) { return os.Hostname() }

// Root reports whether the process has effective user id 0.
func (System) Root() bool { return os.Geteuid() == 0 }

// LookupUser finds a user by name.
func (System) LookupUser(name string) (*user.User, error) { return user.Lookup(name) }

// LookupUserID finds a user by number.
func (System) LookupUserID(id string) (*user.User, error) { return user.LookupId(id) }

// LookupGroup finds a group by name.
func (System) LookupGroup(name string) (*user.Group, error) { return user.LookupGroup(name) }

// GroupIDs lists the groups of a user.
func (System) GroupIDs(u *user.User) ([]string, error) { return u.GroupIds() }

// Executable looks a program up in PATH.
func (System) Executable(name string) bool {
	_, err := exec.LookPath(name)
	return err == nil
}

// KnowsZone looks for a zone file.
func (System) KnowsZone(name string) bool {
	const dir = "/usr/share/zoneinfo"
	if _, err := os.Stat(filepath.Join(dir, "Europe")); err != nil {
		return true
	}
	_, err := os.Stat(filepath.Join(dir, filepath.FromSlash(name)))
	return err == nil
}

// Now reads the clock.
func (System) Now() time.Time { return time.Now() }

// LocalZone finds the name of the local zone as the C library would find the zone
// itself: the variable TZ, the link /etc/localtime, and for a system that has a copy
// there instead of a link the name in /etc/timezone. No setting at all means UTC.
func (System) LocalZone() (string, error) {
	if tz, ok := os.LookupEnv("TZ"); ok {
		tz = strings.TrimPrefix(tz, ":")
		if tz == "" {
			return "UTC", nil
		}
		name := afterZoneinfo(tz)
		if _, err := loadZone(name); err != nil {
			return "", errors.New("the variable TZ is set to " + quote(tz) + ", which is not the name of a zone")
		}
		return name, nil
	}
	return zoneOf("/etc/localtime", "/etc/timezone")
}

// zoneOf finds the zone name behind a localtime link, else in a timezone file.
func zoneOf(localtime, timezone string) (string, error) {
	if target, err := filepath.EvalSymlinks(localtime); err == nil && target != localtime {
		if name := afterZoneinfo(target); name != target {
			if _, err := loadZone(name); err == nil {
				return name, nil
			}
		}
	}
	if target, err := os.Readlink(localtime); err == nil {
		if name := afterZoneinfo(target); name != target {
			if _, err := loadZone(name); err == nil {
				return name, nil
			}
		}
	}
	if b, err := os.ReadFile(timezone); err == nil {
		name := strings.TrimSpace(string(b))
		if _, err := loadZone(name); err == nil {
			return name, nil
		}
	}
	if _, err := os.Lstat(localtime); errors.Is(err, os.ErrNotExist) {
		return "UTC", nil
	}
	return "", errors.New(localtime + " is not a link to a zone file, and " + timezone + " names no zone")
}

// afterZoneinfo cuts the folder of the zone database off a path.
func afterZoneinfo(path string) string {
	if i := strings.LastIndex(path, "/zoneinfo/"); i >= 0 {
		path = path[i+len("/zoneinfo/"):]
		path = strings.TrimPrefix(strings.TrimPrefix(path, "posix/"), "right/")
	}
	return path
}

// loadZone loads a zone by its IANA name; paths and the pseudo name Local are none.
func loadZone(name string) (*time.Location, error) {
	if name == "" || name == "Local" || strings.HasPrefix(name, "/") || strings.Contains(name, "..") || strings.Contains(name, "\\") {
		return nil, errors.New("not the name of a time zone")
	}
	return time.LoadLocation(name)
}
