package config

import (
	_ "embed"
	"strings"
	"sync"
)

// zonesText lists the names of the IANA time zone database, one a line.
//
//go:embed zones.txt
var zonesText string

// zoneNames returns the names of all time zones, for suggestions.
var zoneNames = sync.OnceValue(func() []string { return strings.Fields(zonesText) })
