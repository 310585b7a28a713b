package lease

import "time"

// sighting is since when something has looked the way it looks now, by the observer's
// own clock: what another machine wrote about the time is no evidence.
type sighting struct {
	state string
	since time.Duration
}

// see notes the newest look and reports whether it changed.
func (s *sighting) see(state string, now time.Duration) (changed bool) {
	if s.state == state {
		return false
	}
	s.state, s.since = state, now
	return true
}

// sightings are those of several things by name.
type sightings map[string]sighting

// see notes how everything looks now; what is not there any more is forgotten.
func (s sightings) see(looks map[string]string, now time.Duration) {
	for name := range s {
		if _, there := looks[name]; !there {
			delete(s, name)
		}
	}
	for name, look := range looks {
		seen, known := s[name]
		if !known {
			seen = sighting{state: look, since: now}
		}
		seen.see(look, now)
		s[name] = seen
	}
}

// unchanged returns for how long the thing has looked the same.
func (s sightings) unchanged(name string, now time.Duration) time.Duration {
	return now - s[name].since
}
