package run

import "errors"

var (
	errNoCommand = errors.New("the command is empty")
	errNUL       = errors.New("the command or its environment contains a NUL byte")
)

// notInPath says that a bare program name was found nowhere in PATH.
type notInPath struct {
	name   string
	barred string // a file of that name which may not be executed
}

func (e *notInPath) Error() string {
	if e.barred != "" {
		return e.barred + " is not executable"
	}
	return "program " + e.name + " not found in PATH"
}
