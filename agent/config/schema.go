package config

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// valueKind is the type of a key's value.
type valueKind uint8

const (
	textKind     valueKind = iota // any scalar
	boolKind                      // yes/true/on/1/y, no/false/off/0/n
	intKind                       // decimal
	floatKind                     // decimal or with exponent
	enumKind                      // one of field.enum, exactly
	mapKind                       // a mapping with field.keys
	freeMapKind                   // a mapping with free keys and scalars
	anyKind                       // anything at all
	listKind                      // a list of field.elem
	secretKind                    // a mapping with value, fromFile or fromEnvVar
	eitherKind                    // a scalar as in field.elem, or a list or mapping as in field.other
	identityKind                  // a name or a number
)

// field describes one key: everything that the checks, the merging of defaults and
// the front ends need to know of it.
type field struct {
	name     string // in camelCase, as YAML files spell it
	hclName  string // snake_case
	kind     valueKind
	required bool
	sealed   bool     // the text is a secret or may hold one: never show it
	enum     []string // of enumKind
	keys     []*field // of mapKind and secretKind
	byName   map[string]*field
	elem     *field // of listKind; the scalar form of eitherKind
	other    *field // the list or mapping form of eitherKind
	merge    mergeRule
	// block is the name of an HCL block that stands for one element of a list or
	// for the mapping itself; label is the key that the block's label holds.
	block, label string
	pairs        bool // a list of {key, value} that HCL writes as an object
	seconds      bool // a number of seconds

	aliases []string // names that other programs have for it; they are no keys here

	fallback *string // the value if the key is absent; nil: none, or not one text
	implied  bool    // a mapping that is in effect with its fallbacks even if absent
}

// mergeRule says what becomes of a key that both defaults and job have.
type mergeRule uint8

const (
	mergeUsual   mergeRule = iota // mappings merge, everything else is replaced
	mergeReplace                  // a mapping that is replaced whole
	mergeByKey                    // a list whose elements are merged by their key `key`
)

func newField(name string, k valueKind) *field {
	return &field{name: name, hclName: snakeCase(name), kind: k}
}

func text(name string) *field     { return newField(name, textKind) }
func boolean(name string) *field  { return newField(name, boolKind) }
func integer(name string) *field  { return newField(name, intKind) }
func float(name string) *field    { return newField(name, floatKind) }
func identity(name string) *field { return newField(name, identityKind) }
func freeMap(name string) *field  { return newField(name, freeMapKind) }
func anything(name string) *field { return newField(name, anyKind) }

func enum(name string, values ...string) *field {
	f := newField(name, enumKind)
	f.enum = values
	return f
}

func object(name string, keys ...*field) *field {
	f := newField(name, mapKind)
	f.setKeys(keys)
	f.block = f.hclName
	return f
}

func secret(name string) *field {
	f := newField(name, secretKind)
	f.setKeys(secretSources())
	f.merge = mergeReplace
	f.block = f.hclName
	return f
}

// secretSources are the keys of which a secret takes one.
func secretSources() []*field {
	return []*field{text("value").seal(), text("fromFile"), text("fromEnvVar")}
}

func listOf(name string, elem *field) *field {
	f := newField(name, listKind)
	f.elem = elem
	return f
}

func either(name string, scalarForm, otherForm *field) *field {
	f := newField(name, eitherKind)
	f.elem, f.other = scalarForm, otherForm
	return f
}

func (f *field) setKeys(keys []*field) {
	f.keys = keys
	f.byName = make(map[string]*field, len(keys))
	for _, k := range keys {
		f.byName[k.name] = k
	}
}

func (f *field) need() *field                  { f.required = true; return f }
func (f *field) seal() *field                  { f.sealed = true; return f }
func (f *field) merged(m mergeRule) *field     { f.merge = m; return f }
func (f *field) blocks(b, label string) *field { f.block, f.label = b, label; return f }

// asPairs makes a list of {key, value} an object in HCL.
func (f *field) asPairs() *field { f.pairs, f.block = true, f.hclName; return f }

// or says what holds if the key is absent.
func (f *field) or(text string) *field { f.fallback = &text; return f }

// inSeconds says what the number counts.
func (f *field) inSeconds() *field { f.seconds = true; return f }

// calls names what other programs call the key, for hints.
func (f *field) calls(names ...string) *field { f.aliases = names; return f }

// always says that a mapping is in effect even if it is absent.
func (f *field) always() *field { f.implied = true; return f }

// without returns a mapping like f, less some keys.
func (f *field) without(names ...string) *field {
	out := *f
	var keys []*field
	for _, k := range f.keys {
		if !slices.Contains(names, k.name) {
			keys = append(keys, k)
		}
	}
	out.setKeys(keys)
	return &out
}

// named returns f under another name.
func (f *field) named(name string) *field {
	out := *f
	out.name, out.hclName = name, snakeCase(name)
	if out.block != "" {
		out.block = out.hclName
	}
	return &out
}

// key returns the field of one key of a mapping, or nil.
func (f *field) key(name string) *field { return f.byName[name] }

// alias returns the field that other programs give this name, or nil.
func (f *field) alias(name string) *field {
	plain := plainWord(name)
	for _, k := range f.keys {
		if slices.ContainsFunc(k.aliases, func(a string) bool { return plainWord(a) == plain }) {
			return k
		}
	}
	return nil
}

// secret reports whether a value of the field is a secret, or holds some.
func (f *field) secret() bool {
	sealed := func(k *field) bool { return k.sealed || k.kind == secretKind }
	return sealed(f) || f.kind == listKind && (sealed(f.elem) || slices.ContainsFunc(f.elem.keys, sealed))
}

// spelled returns the field's name as a file of the given language spells it.
func (f *field) spelled(d dialect) string {
	if d == hclDialect {
		return f.hclName
	}
	return f.name
}

// noun names what a value of the field is, for messages.
func (f *field) noun() string {
	switch f.kind {
	case boolKind:
		return "true or false"
	case intKind:
		return "a whole number"
	case floatKind:
		return "a number"
	case enumKind:
		return orList(f.enum)
	case mapKind, freeMapKind, secretKind:
		return "a mapping"
	case listKind:
		return "a list"
	case eitherKind:
		return f.elem.noun() + " or " + f.other.noun()
	case identityKind:
		return "a name or a number"
	}
	return "a text"
}

// orList joins values to "a, b or c".
func orList(values []string) string {
	switch len(values) {
	case 0:
		return ""
	case 1:
		return values[0]
	}
	last := len(values) - 1
	return strings.Join(values[:last], ", ") + " or " + values[last]
}

// snakeCase turns camelCase into snake_case; sessionTTL becomes session_ttl.
func snakeCase(name string) string {
	var b strings.Builder
	runes := []rune(name)
	for i, r := range runes {
		if unicode.IsUpper(r) {
			if i > 0 && !unicode.IsUpper(runes[i-1]) && runes[i-1] != '_' {
				b.WriteByte('_')
			}
			r = unicode.ToLower(r)
		}
		b.WriteRune(r)
	}
	return b.String()
}

// step is one part of the path from the root of a file to a value.
type step struct {
	key   string
	index int // of a list element; -1: a key
}

// pathString renders a path: jobs[0].onFailure.retry.
func pathString(path []step) string {
	var b strings.Builder
	for _, s := range path {
		if s.index >= 0 {
			b.WriteString("[" + strconv.Itoa(s.index) + "]")
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('.')
		}
		b.WriteString(s.key)
	}
	return b.String()
}
