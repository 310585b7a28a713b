package command

import (
	"flag"
	"os"
	"strings"

	"github.com/yacron2/yacron2/agent/config"
)

// sourceFlags are the options that name the configuration.
type sourceFlags struct {
	dirs, files []string
}

func (s *sourceFlags) add(fs *flag.FlagSet, env *Env) {
	fs.Func("config-dir", "`DIR` with configuration files, read in the order of their names, not recursively. May be repeated. "+
		"If there is neither -config-dir nor -config-file: "+strings.Join(env.ConfigDirs, ", or else ")+".", into(&s.dirs))
	fs.Func("config-file", "Configuration `FILE`. May be repeated.", into(&s.files))
}

// into returns the setter of an option that may be repeated.
func into(list *[]string) func(string) error {
	return func(value string) error {
		*list = append(*list, value)
		return nil
	}
}

// addPath adds a path that may be either.
func (s *sourceFlags) addPath(path string) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		s.dirs = append(s.dirs, path)
		return
	}
	s.files = append(s.files, path)
}

// fill falls back on the default folders. It reports a configuration that is nowhere
// and returns false then.
func (s *sourceFlags) fill(m *Meta) bool {
	if len(s.dirs)+len(s.files) > 0 {
		return true
	}
	for _, dir := range m.ConfigDirs {
		if _, err := os.Stat(dir); err == nil {
			s.dirs = []string{dir}
			return true
		}
	}
	m.errorf("there is no configuration: neither %s exists", strings.Join(m.ConfigDirs, " nor "))
	m.hintf("name it with -config-dir or -config-file")
	return false
}

// failConfig shows all errors of a configuration and returns the exit code.
func (m *Meta) failConfig(diags config.Diagnostics) int {
	found := diags.Errors()
	_ = found.Render(m.Stderr)
	m.errorf("the configuration is not valid: %s", count(len(found), "error"))
	return exitFailed
}
