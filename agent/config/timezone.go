package config

import (
	"regexp"
	"time"
)

// zone is a time zone that was looked up once.
type zone struct {
	name string
	loc  *time.Location
	err  error
}

func (l *loader) zoneNamed(name string) zone {
	z, ok := l.zones[name]
	if !ok {
		z.name = name
		z.loc, z.err = loadZone(name)
		l.zones[name] = z
	}
	return z
}

// localZone resolves the machine's own zone to a name, once.
func (l *loader) localZone() zone {
	if l.local == nil {
		name, err := l.host.LocalZone()
		z := zone{err: err, loc: time.Local}
		if err == nil {
			z = l.zoneNamed(name)
		}
		l.local = &z
	}
	return *l.local
}

// zone decides the zone of a job: its timezone, else UTC, else the local one. The
// local one becomes a name here, because a firing must be the same instant on every
// node, and nodes can tell only by name that they mean the same zone.
func (b *jobBuilder) zone() {
	j := b.job
	if n := b.all.get("timezone"); n != nil {
		if n.bad || n.kind != scalar {
			return
		}
		z := b.zoneNamed(n.text)
		if z.err != nil {
			b.fail(n, "timezone", "unknown time zone "+quote(n.text), zoneHint(n.text))
			return
		}
		j.Timezone, j.Location = z.name, z.loc
		if !b.host.KnowsZone(z.name) {
			b.warn(n, "timezone", "the zone files of this machine lack "+z.name+"; the agent's own copy is used",
				"other programs of this machine do not know the zone: install its tzdata")
		}
		return
	}
	if j.UTC {
		j.Timezone, j.Location = "UTC", time.UTC
		return
	}
	z := b.localZone()
	j.Timezone, j.Location = z.name, z.loc
	if z.err == nil {
		return
	}
	n := b.all.get("utc")
	const hint = "name the zone: timezone: Europe/Berlin"
	message := "the name of this machine's time zone is not known: " + z.err.Error()
	if b.electing {
		b.fail(n, "utc", message+"; nodes that elect must agree on the instant of a firing", hint)
		return
	}
	j.Timezone = ""
	b.warn(n, "utc", message, hint)
}

// zoneHint proposes a zone for a misspelt name.
func zoneHint(name string) string {
	if m := zoneOffset.FindStringSubmatch(name); m != nil {
		// The signs of these names are those of POSIX: what is to be added for UTC.
		fixed := "Etc/GMT" + map[string]string{"+": "-", "-": "+"}[m[1]] + m[2]
		if _, err := loadZone(fixed); err == nil {
			return "write an IANA name like Europe/Berlin, or " + fixed + " for a fixed offset"
		}
	}
	if near := nearest(name, zoneNames()); near != "" {
		return "did you mean " + near + "?"
	}
	return "write an IANA name like Europe/Berlin"
}

// zoneOffset is a distance to UTC in whole hours.
var zoneOffset = regexp.MustCompile(`^(?i:UTC|GMT)?([+-])0?(1?[0-9])(?::?00)?$`)
