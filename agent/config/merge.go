package config

// merged returns what a key has when both the inherited value and the file's own are
// given; the own one wins. Neither is changed, and what did not change is shared.
func merged(inherited, own *node, f *field) *node {
	switch {
	case inherited == nil:
		return own
	case own == nil:
		return inherited
	case f == nil || f.merge == mergeReplace:
		return own
	case f.merge == mergeByKey && inherited.kind == list && own.kind == list:
		return mergedByKey(inherited, own)
	case inherited.kind != mapping || own.kind != mapping:
		return own
	case len(inherited.entries) == 0:
		return own
	case len(own.entries) == 0:
		return inherited
	}
	out := &node{kind: mapping, pos: own.pos}
	out.entries = make([]entry, len(inherited.entries), len(inherited.entries)+len(own.entries))
	copy(out.entries, inherited.entries)
next:
	for _, e := range own.entries {
		for i := range inherited.entries {
			if inherited.entries[i].key == e.key {
				var k *field
				if f.kind == mapKind {
					k = f.key(e.key)
				}
				out.entries[i] = entry{e.key, e.pos, merged(out.entries[i].value, e.value, k)}
				continue next
			}
		}
		out.entries = append(out.entries, e)
	}
	return out
}

// mergedByKey merges lists of {key, value}: the inherited order first, the last value
// of a name wins.
func mergedByKey(inherited, own *node) *node {
	out := &node{kind: list, pos: own.pos}
	at := make(map[string]int, len(inherited.items)+len(own.items))
	for _, items := range [][]*node{inherited.items, own.items} {
		for _, item := range items {
			name := ""
			if k := item.get("key"); k != nil {
				name = k.text
			}
			if i, ok := at[name]; ok {
				out.items[i] = item
				continue
			}
			at[name] = len(out.items)
			out.items = append(out.items, item)
		}
	}
	return out
}
