package command

import (
	"testing"

	"github.com/yacron2/yacron2/internal/version"
)

func TestVersion(t *testing.T) {
	for _, args := range [][]string{{"version"}, {"-version"}, {"--version"}, {"--vers"}} {
		r := run(t, nil, args...)
		if r.code != exitOK || r.out != version.Version+"\n" || r.err != "" {
			t.Errorf("%q: %+v", args, r)
		}
	}
	run(t, nil, "version", "please").expect(t, exitMisuse, nil, []string{`unexpected argument "please"`})
}
