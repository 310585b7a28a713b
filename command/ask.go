package command

import (
	"context"
	"flag"

	"github.com/yacron2/yacron2/api"
)

// ask is what commands begin with that show one answer of an agent: it reads arguments, of
// which there are none beside the options, and asks. ok is false if that went wrong, which
// it has reported then; code is the exit code.
func ask[T any](m *Meta, flags *flag.FlagSet, args []string, what func(*api.Client, context.Context) (T, error)) (answer T, code int, ok bool) {
	if !m.parse(flags, args, 0) {
		return answer, exitMisuse, false
	}
	client, err := m.client()
	if err != nil {
		return answer, m.fail(err), false
	}
	defer client.Close()
	answer, err = what(client, context.Background())
	if err != nil {
		return answer, m.fail(err), false
	}
	return answer, exitOK, true
}

// askFlags are the options of a command that has none of its own.
func (m *Meta) askFlags() *flag.FlagSet {
	fs := m.flagSet()
	m.formatFlag(fs)
	m.clientFlags(fs)
	return fs
}
