package report

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/nikolalohinski/gonja/v2/builtins"
	gonja "github.com/nikolalohinski/gonja/v2/config"
	"github.com/nikolalohinski/gonja/v2/exec"
	"github.com/nikolalohinski/gonja/v2/tokens"
)

// maxRendered bounds what a template may produce, in bytes.
const maxRendered = 8 << 20

var (
	errTooLarge = fmt.Errorf("the template produces more than %d MiB", maxRendered>>20)
	errNoFiles  = errors.New("other templates cannot be included")
)

// Template is a compiled Jinja2 template. It is safe for concurrent use.
type Template struct {
	compiled *exec.Template
	names    []string // that it uses and that may not exist
}

// CheckTemplate returns why text is not a template, or nil.
func CheckTemplate(text string) error {
	_, err := Compile(text)
	return err
}

// Compile parses a template. Unknown filters and tests are errors as well.
func Compile(text string) (t *Template, err error) {
	defer recovered(&err)
	env := environment()
	names, err := inspect(text, env)
	if err != nil {
		return nil, err
	}
	compiled, err := exec.NewTemplate("template", gonja.New(), source(text), env)
	if err != nil {
		if inner := errors.Unwrap(err); inner != nil {
			err = inner // what it is wrapped in repeats the whole text
		}
		return nil, err
	}
	return &Template{compiled: compiled, names: names}, nil
}

// Render fills in the variables. Names that do not exist render as nothing, and so do
// attributes of what is not there.
func (t *Template) Render(variables map[string]any) (text string, err error) {
	defer recovered(&err)
	data := make(map[string]any, len(t.names)+len(variables))
	for _, name := range t.names {
		data[name] = undefined(nil)
	}
	for name, value := range variables {
		if value == nil {
			value = none(nil)
		}
		data[name] = value
	}
	out := &limitedBuilder{left: maxRendered}
	if err := t.compiled.Execute(out, exec.NewContext(data)); err != nil {
		if out.left < 0 {
			return "", errTooLarge
		}
		return "", err
	}
	return out.String(), nil
}

// recovered turns a panic of the template engine into an error.
func recovered(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("the template cannot be used: %v", p)
	}
}

// inspect reads the tokens of a template: it returns the names that it uses and that
// are none of the engine's own, and refuses filters and tests that do not exist.
func inspect(text string, env *exec.Environment) (names []string, err error) {
	stream := tokens.LexAll(text, gonja.New())
	var before, beforeThat tokens.Type
	for ; !stream.End(); stream.Next() {
		token := stream.Current()
		if token.Type == tokens.Error {
			break // the parser says it better
		}
		if token.Type == tokens.Name {
			switch {
			case before == tokens.Pipe && !env.Filters.Exists(token.Val):
				return nil, fmt.Errorf("there is no filter %q (line %d)", token.Val, token.Line)
			case (before == tokens.Is || before == tokens.Not && beforeThat == tokens.Is) && !env.Tests.Exists(token.Val):
				return nil, fmt.Errorf("there is no test %q (line %d)", token.Val, token.Line)
			case before != tokens.Dot && before != tokens.Pipe && !env.Context.Has(token.Val):
				names = append(names, token.Val)
			}
		}
		before, beforeThat = token.Type, before
	}
	return names, nil
}

// source is the loader of one template text; there are no others.
type source string

func (s source) Read(name string) (io.Reader, error) {
	if name != "template" {
		return nil, errNoFiles
	}
	return strings.NewReader(string(s)), nil
}

func (s source) Resolve(name string) (string, error) {
	if name != "template" {
		return "", errNoFiles
	}
	return name, nil
}

// Inherit is asked for the loader of an included template.
func (s source) Inherit(name string) (loader, error) {
	if name != "" && name != "template" {
		return nil, errNoFiles
	}
	return s, nil
}

// limitedBuilder is a strings.Builder that takes no more than left bytes.
type limitedBuilder struct {
	strings.Builder
	left int
}

func (b *limitedBuilder) Write(p []byte) (int, error) {
	if b.left -= len(p); b.left < 0 {
		return 0, errTooLarge
	}
	return b.Builder.Write(p)
}

func (b *limitedBuilder) WriteString(s string) (int, error) {
	if b.left -= len(s); b.left < 0 {
		return 0, errTooLarge
	}
	return b.Builder.WriteString(s)
}

// environment is the engine's own, with what it does differently from Jinja2 for
// values that are not there put right. It is built once and not changed afterwards.
var environment = sync.OnceValue(func() *exec.Environment {
	filters := exec.NewFilterSet(map[string]exec.FilterFunction{}).Update(builtins.Filters)
	tests := exec.NewTestSet(map[string]exec.TestFunction{}).Update(builtins.Tests)
	adapt(filters, tests)
	return &exec.Environment{
		Context:           exec.EmptyContext().Update(builtins.GlobalFunctions).Update(builtins.GlobalVariables),
		Filters:           filters,
		Tests:             tests,
		ControlStructures: builtins.ControlStructures,
		Methods:           builtins.Methods,
	}
})
