package command

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// The options that the command line had when it was a single command, before it had
// subcommands. They still do what they did.
type legacyOptions struct {
	config   string
	level    string
	validate bool
	jobSetID bool
	version  bool
	help     bool
}

// legacyLong maps their long names to what sets them; a nil string target means that
// the option takes no value.
func (o *legacyOptions) long() map[string]legacyTarget {
	return map[string]legacyTarget{
		"config":          {text: &o.config},
		"log-level":       {text: &o.level},
		"validate-config": {flag: &o.validate},
		"job-set-id":      {flag: &o.jobSetID},
		"version":         {flag: &o.version},
		"help":            {flag: &o.help},
	}
}

type legacyTarget struct {
	text *string
	flag *bool
}

var legacyShort = map[byte]string{'c': "config", 'l': "log-level", 'v': "validate-config", 'h': "help"}

// parse reads options as the old parser did: short ones may be joined and have their
// value attached, long ones may be cut as long as they stay unambiguous.
func (o *legacyOptions) parse(args []string) error {
	long := o.long()
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		var name, value string
		var attached bool
		switch {
		case arg == "-version":
			name = "version"
		case strings.HasPrefix(arg, "--"):
			name, value, attached = strings.Cut(arg[2:], "=")
			full, err := wholeOption(name, long)
			if err != nil {
				return err
			}
			name = full
		case len(arg) > 1 && arg[0] == '-':
			full, ok := legacyShort[arg[1]]
			if !ok {
				return fmt.Errorf("there is no option %s before a command", arg)
			}
			name = full
			if rest := arg[2:]; rest != "" {
				if long[name].flag != nil {
					args = append([]string{"-" + rest}, args...)
				} else {
					value, attached = strings.TrimPrefix(rest, "="), true
				}
			}
		default:
			return fmt.Errorf("unexpected argument %q: options come after the command", arg)
		}
		target := long[name]
		switch {
		case target.flag != nil && attached:
			return fmt.Errorf("--%s takes no value", name)
		case target.flag != nil:
			*target.flag = true
		case attached:
			*target.text = value
		case len(args) == 0:
			return fmt.Errorf("a value is missing after %s", arg)
		default:
			*target.text, args = args[0], args[1:]
		}
	}
	return nil
}

// wholeOption returns the one long option that begins with name.
func wholeOption(name string, long map[string]legacyTarget) (string, error) {
	if _, ok := long[name]; ok {
		return name, nil
	}
	var found []string
	for full := range long {
		if strings.HasPrefix(full, name) {
			found = append(found, full)
		}
	}
	slices.Sort(found)
	switch {
	case name == "" || len(found) == 0:
		return "", fmt.Errorf("there is no option --%s before a command", name)
	case len(found) > 1:
		return "", fmt.Errorf("--%s could be --%s", name, strings.Join(found, " or --"))
	}
	return found[0], nil
}

var legacyLevels = []string{"DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"}

// translate turns a command line without a command into one with the command that
// does the same, and says so on standard error. It returns nil and an exit code if
// there is none.
func translate(args []string, env Env) ([]string, int) {
	var o legacyOptions
	misuse := func(text string) ([]string, int) {
		env.errorf("%s", plain(text))
		env.hintf("yacron2 -help lists the commands")
		return nil, exitMisuse
	}
	if err := o.parse(args); err != nil {
		return misuse(err.Error())
	}
	switch {
	case o.help:
		return []string{"-help"}, exitOK
	case o.level != "" && !slices.Contains(legacyLevels, o.level):
		return misuse(fmt.Sprintf("unknown log level %q: write %s", o.level, strings.Join(legacyLevels, ", ")))
	case o.version:
		return []string{"version"}, exitOK
	case o.validate && o.config == "" && !o.jobSetID:
		// Almost everywhere else -v prints a version, so on its own it is taken for a
		// mistake rather than for a check of the default folder.
		env.errorf("-v alone neither validates nor prints a version")
		env.hintf("use: yacron2 validate, or: yacron2 version")
		return nil, exitMisuse
	}
	legacyDir := env.ConfigDirs[len(env.ConfigDirs)-1]
	path := o.config
	if path == "" {
		path = legacyDir
	}
	if _, err := os.Stat(path); err != nil && path == legacyDir {
		env.errorf("there is no configuration in %s", legacyDir)
		env.hintf("use: yacron2 agent -config-dir DIR")
		return nil, exitFailed
	}
	option := "-config-file"
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		option = "-config-dir"
	}
	out := []string{"agent", option, path}
	switch {
	case o.jobSetID:
		out = []string{"validate", "-job-set-id", option, path}
	case o.validate:
		out = []string{"validate", option, path}
	case o.level != "":
		out = append(out, "-log-level", legacyLevel(o.level))
	}
	env.hintf("this form is an old one, the new one is: yacron2 %s", shellJoin(out))
	return out, exitOK
}

// legacyLevel returns today's name of an old level.
func legacyLevel(level string) string {
	switch level {
	case "WARNING":
		return "warn"
	case "CRITICAL":
		return "error"
	}
	return strings.ToLower(level)
}

// shellJoin writes a command line so that it can be pasted.
func shellJoin(args []string) string {
	quoted := make([]string, len(args))
	for i, arg := range args {
		quoted[i] = arg
		if arg == "" || strings.ContainsFunc(arg, func(r rune) bool { return !strings.ContainsRune(shellSafe, r) }) {
			quoted[i] = "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
		}
	}
	return strings.Join(quoted, " ")
}

const shellSafe = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,@%"
