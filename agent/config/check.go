package config

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// checker compares a tree with the schema: keys, types, and what must be there.
// Ranges and everything that needs more than one key are checked on the merged
// values later.
type checker struct {
	out  *collector
	src  *source
	path []step
	job  string // the job that the path is in
}

func (c *checker) fail(at pos, message, hint string) {
	c.out.add(at, Diagnostic{Severity: Error, Job: c.job, Key: pathString(c.path), Message: message, Hint: hint})
}

// name returns the last key of the path as the file spells it, for messages.
func (c *checker) name(f *field) string {
	if f.name != "" {
		return f.spelled(c.src.dialect)
	}
	entry := ""
	if last := len(c.path) - 1; last >= 0 && c.path[last].index >= 0 {
		entry = "entry " + strconv.Itoa(c.path[last].index+1) + " of "
	}
	for i := len(c.path) - 1; i >= 0; i-- {
		if c.path[i].index < 0 {
			if c.src.dialect == hclDialect {
				return entry + snakeCase(c.path[i].key)
			}
			return entry + c.path[i].key
		}
	}
	return "the file"
}

// check reports whether a value (and all below it) has the right form.
func (c *checker) check(n *node, f *field) bool {
	if n.bad {
		return false
	}
	switch f.kind {
	case anyKind:
		return true
	case mapKind, secretKind:
		return c.mapping(n, f)
	case freeMapKind:
		return c.freeMap(n, f)
	case listKind:
		return c.list(n, f)
	case eitherKind:
		if n.kind == scalar && !(n.blank() && f.elem.kind != textKind) {
			return c.scalarOf(n, f, f.elem)
		}
		if n.kind != f.other.nodeKind() {
			c.mismatch(n, f)
			return false
		}
		return c.check(n, f.other)
	}
	return c.scalarOf(n, f, f)
}

// nodeKind is the kind of node that a field's value is.
func (f *field) nodeKind() kind {
	switch f.kind {
	case mapKind, freeMapKind, secretKind:
		return mapping
	case listKind:
		return list
	}
	return scalar
}

func (c *checker) mismatch(n *node, f *field) {
	got, hint := "", ""
	switch {
	case n.kind == mapping:
		got = "a mapping"
	case n.kind == list:
		got = "a list"
	case n.blank():
		got = "nothing"
		switch {
		case c.src.dialect != yamlDialect:
		case f.nodeKind() == mapping:
			hint = "remove the key, or write {} for an empty mapping; check the indentation of the lines below"
		case f.nodeKind() == list:
			hint = "remove the key, or write [] for an empty list; check the indentation of the lines below"
		}
	case f.secret():
		got = "a text"
	default:
		got = quote(n.text)
	}
	if f.kind == secretKind && n.kind == scalar {
		hint = "give the secret as value, " + c.spell("fromFile") + " or " + c.spell("fromEnvVar") + " below this key"
	}
	if hint == "" {
		hint = c.instead(n, f)
	}
	d := Diagnostic{Severity: Error, Job: c.job, Key: pathString(c.path), Message: c.name(f) + " must be " + f.noun() + ", not " + got, Hint: hint}
	if f.secret() && !n.blank() && !n.src.namesSecret(n.pos) { // it comes from an anchor
		d.sealed = n.column
	}
	c.out.add(n.pos, d)
}

// instead says how to write what somebody seems to have meant with a value of the wrong
// form.
func (c *checker) instead(n *node, f *field) string {
	inYAML := c.src.dialect == yamlDialect
	switch {
	case n.kind == scalar && f.kind == mapKind && len(f.keys) == 1:
		return "write " + f.keys[0].spelled(c.src.dialect) + ": " + quote(n.text)
	case n.kind == scalar && f.kind == mapKind && len(f.keys) <= 8:
		names := make([]string, len(f.keys))
		for i, k := range f.keys {
			names[i] = k.spelled(c.src.dialect)
		}
		return "its keys are " + andList(names)
	case n.kind == scalar && f.kind == listKind && f.elem.kind == textKind && !f.sealed && !f.elem.sealed:
		return "write [" + quote(n.text) + "]"
	case n.kind == mapping && f.kind == listKind && inYAML && f.pairs:
		return "write each variable as - {key: NAME, value: TEXT}"
	case n.kind == mapping && f.kind == listKind && inYAML && f.label != "":
		return "begin each entry with a dash: - " + f.label + ": ..."
	case n.kind == scalar && f.seconds:
		if d, err := time.ParseDuration(n.text); err == nil {
			return "write the seconds without a unit: " + strconv.FormatFloat(d.Seconds(), 'f', -1, 64)
		}
	}
	return ""
}

func (c *checker) spell(key string) string {
	if c.src.dialect == hclDialect {
		return snakeCase(key)
	}
	return key
}

// scalarOf checks a scalar against kind; f is the key that is named in messages.
func (c *checker) scalarOf(n *node, f, kind *field) bool {
	ok := n.kind == scalar
	hint := ""
	if ok {
		switch kind.kind {
		case boolKind:
			_, ok = parseBool(n.text)
		case intKind:
			_, ok = parseInt(n.text)
		case floatKind:
			_, ok = parseFloat(n.text)
		case enumKind:
			ok = slices.Contains(kind.enum, n.text)
			if !ok {
				if near := nearest(n.text, kind.enum); near != "" {
					hint = "did you mean " + near + "?"
				}
			}
		case identityKind:
			ok = n.text != ""
		}
	}
	if !ok {
		if hint != "" {
			c.fail(n.pos, c.name(f)+" must be "+f.noun()+", not "+quote(n.text), hint)
		} else {
			c.mismatch(n, f)
		}
	}
	return ok
}

func (c *checker) list(n *node, f *field) bool {
	if n.kind != list {
		c.mismatch(n, f)
		return false
	}
	ok := true
	for i, item := range n.items {
		c.path = append(c.path, step{index: i})
		ok = c.check(item, f.elem) && ok
		c.path = c.path[:len(c.path)-1]
	}
	return ok
}

func (c *checker) freeMap(n *node, f *field) bool {
	if n.kind != mapping {
		c.mismatch(n, f)
		return false
	}
	ok := true
	for i := range n.entries {
		e := &n.entries[i]
		if e.value.kind != scalar {
			c.path = append(c.path, step{key: e.key, index: -1})
			c.out.add(e.value.pos, Diagnostic{Severity: Error, Job: c.job, Key: pathString(c.path), hidden: f.sealed,
				Message: c.name(f) + ": the value of " + quote(e.key) + " must be a text"})
			c.path = c.path[:len(c.path)-1]
			ok = false
		}
	}
	return ok
}

func (c *checker) mapping(n *node, f *field) bool {
	if n.kind != mapping {
		c.mismatch(n, f)
		return false
	}
	ok := true
	for i := range n.entries {
		e := &n.entries[i]
		k := f.key(e.key)
		c.path = append(c.path, step{key: e.key, index: -1})
		if k == nil {
			c.unknown(e, f)
			ok = false
		} else {
			ok = c.check(e.value, k) && ok
		}
		c.path = c.path[:len(c.path)-1]
	}
	var missing []string
	for _, k := range f.keys {
		if k.required && n.get(k.name) == nil {
			missing = append(missing, strconv.Quote(k.spelled(c.src.dialect)))
		}
	}
	if len(missing) > 0 {
		what := c.name(f)
		if f == jobKeys {
			what = "this job"
		}
		noun := "key "
		if len(missing) > 1 {
			noun = "keys "
		}
		c.fail(n.pos, what+" lacks the "+noun+andList(missing), "")
		ok = false
	}
	if f.kind == secretKind {
		ok = c.oneSource(n, f) && ok
	}
	return ok
}

// oneSource makes sure that a secret comes from one place.
func (c *checker) oneSource(n *node, f *field) bool {
	var given []string
	at := n.pos
	for i := range n.entries {
		e := &n.entries[i]
		if isSecretSource(e.key) && e.value.kind == scalar && e.value.text != "" {
			given = append(given, c.spell(e.key))
			at = e.pos
		}
	}
	if len(given) > 1 {
		c.fail(at, c.name(f)+" has more than one source: "+andList(given), "keep one of them")
		return false
	}
	return true
}

func isSecretSource(key string) bool {
	return key == "value" || key == "fromFile" || key == "fromEnvVar"
}

// unknown reports a key that the schema does not have at this place.
func (c *checker) unknown(e *entry, f *field) {
	d := c.src.dialect
	var names []string
	for _, k := range f.keys {
		names = append(names, k.spelled(d))
	}
	hint := ""
	meant := f.alias(e.key)
	if near := nearest(e.key, names); meant == nil && near != "" {
		meant = f.keys[slices.Index(names, near)]
	}
	if meant != nil {
		hint = "did you mean " + meant.spelled(d) + "?"
	} else if places := whereKey(fileKeys, e.key, d); len(places) > 0 {
		// jobs and defaults have the same keys: name the place nearest by path.
		hint = "this key belongs to " + places[0]
		if at := pathString(c.path); strings.HasPrefix(at, "jobs[") {
			for _, p := range places {
				if strings.HasPrefix(p, "jobs.") {
					hint = "this key belongs to " + strings.TrimPrefix(p, "jobs.")
					break
				}
			}
		}
	} else if len(names) <= 12 {
		hint = "known keys: " + strings.Join(names, ", ")
	}
	where := ""
	if len(c.path) > 1 {
		c.path = c.path[:len(c.path)-1]
		where = " in " + c.name(f)
		if f == jobKeys {
			where = " in a job"
		}
		c.path = append(c.path, step{key: e.key, index: -1})
	}
	problem := Diagnostic{Severity: Error, Job: c.job, Key: pathString(c.path), Message: "unknown key " + quote(e.key) + where, Hint: hint}
	if !plainKey.MatchString(e.key) || e.value.blank() && c.src.belowSecret(int(e.pos.line)) {
		// A value that has come to stand where a key should.
		problem.Key, problem.Message, problem.sealed = pathString(c.path[:len(c.path)-1]), "what stands here is no key"+where, e.pos.column
	} else if unknown := meant == nil && len(whereKey(fileKeys, e.key, d)) == 0; (unknown || meant != nil && meant.secret()) && !plainly(e.value) {
		problem.sealed = c.src.afterKey(e.pos) // who knows what it is
	}
	c.out.add(e.pos, problem)
}

// plainKey matches what a key looks like, right or wrong.
var plainKey = regexp.MustCompile(`^[\pL_][\pL\pN_.-]{0,63}$`)

// plainly reports whether a value is one that no secret is.
func plainly(n *node) bool {
	if n.kind != scalar {
		return len(n.entries)+len(n.items) == 0
	}
	_, isBool := parseBool(n.text)
	_, isNumber := parseFloat(n.text)
	return isBool || isNumber && len(n.text) < 8
}

// andList joins words to "a, b and c".
func andList(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " and " + words[last]
}
