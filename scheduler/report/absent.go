package report

import (
	"github.com/nikolalohinski/gonja/v2/exec"
	"github.com/nikolalohinski/gonja/v2/loaders"
)

type loader = loaders.Loader

// none is a value that is null: it prints as None, is false, and its attributes are
// undefined. undefined is one that does not exist: it prints as nothing. The engine's
// own nil prints as nothing, too, and is an error where an attribute of it is used.
// Both are empty lists, which makes them false, and nothing to iterate over.
type (
	none      []struct{}
	undefined []struct{}
)

func (none) String() string                          { return "None" }
func (none) GetAttribute(string) (*exec.Value, bool) { return exec.AsValue(undefined(nil)), true }
func (none) GetItem(any) (*exec.Value, bool)         { return exec.AsValue(undefined(nil)), true }
func (none) MarshalJSON() ([]byte, error)            { return []byte("null"), nil }
func (undefined) String() string                     { return "" }
func (undefined) GetAttribute(string) (*exec.Value, bool) {
	return exec.AsValue(undefined(nil)), true
}
func (undefined) GetItem(any) (*exec.Value, bool) { return exec.AsValue(undefined(nil)), true }
func (undefined) MarshalJSON() ([]byte, error)    { return []byte("null"), nil }

// variables are the attributes of a map by name; one that is missing is undefined.
type variables map[string]string

func (v variables) GetAttribute(name string) (*exec.Value, bool) {
	if value, ok := v[name]; ok {
		return exec.AsValue(value), true
	}
	return exec.AsValue(undefined(nil)), true
}

func (v variables) GetItem(key any) (*exec.Value, bool) {
	name, _ := key.(string)
	return v.GetAttribute(name)
}

func isNone(v *exec.Value) bool {
	_, ok := v.Interface().(none)
	return ok || v.IsNil()
}

func isUndefined(v *exec.Value) bool {
	_, ok := v.Interface().(undefined)
	return ok
}

// adapt replaces the filters and tests that ask whether a value is there.
func adapt(filters *exec.FilterSet, tests *exec.TestSet) {
	for _, name := range []string{"default", "d", "tojson"} {
		original, ok := filters.Get(name)
		if !ok {
			continue
		}
		plain := name == "tojson"
		filters.Update(exec.NewFilterSet(map[string]exec.FilterFunction{
			name: func(e *exec.Evaluator, in *exec.Value, params *exec.VarArgs) *exec.Value {
				if isUndefined(in) || plain && isNone(in) {
					in = exec.AsValue(nil)
				}
				return original(e, in, params)
			},
		}))
	}
	tests.Update(exec.NewTestSet(map[string]exec.TestFunction{
		"none": exec.TestFunction(func(_ *exec.Context, in *exec.Value, _ *exec.VarArgs) (bool, error) {
			return isNone(in), nil
		}),
		"defined": exec.TestFunction(func(_ *exec.Context, in *exec.Value, _ *exec.VarArgs) (bool, error) {
			return !in.IsError() && !isUndefined(in), nil
		}),
		"undefined": exec.TestFunction(func(_ *exec.Context, in *exec.Value, _ *exec.VarArgs) (bool, error) {
			return in.IsError() || isUndefined(in), nil
		}),
	}))
}
