package config

// Key is one key of the configuration as the schema has it, for documentation.
type Key struct {
	Name string // as YAML files spell it
	HCL  string // as HCL files spell it
	// Block is the HCL block that stands for the mapping, or for one element of the
	// list; Label is the key that the block's label holds. Both may be "".
	Block, Label string
	// Pairs says that HCL writes the list of keys and values as names = values.
	Pairs bool

	Type     string  // for people, e.g. "whole number"
	Default  *string // what holds if the key is absent; nil: nothing, or see its Keys
	Required bool    // wherever the mapping around it is written
	Keys     []Key   // of a mapping, or of the elements of a list
}

// Schema lists the keys of the top level, each with those below it.
func Schema() []Key { return describeKeys(fileKeys) }

func describeKeys(f *field) []Key {
	if f == nil {
		return nil
	}
	var keys []Key
	for _, k := range f.keys {
		d := Key{Name: k.name, HCL: k.hclName, Block: k.block, Label: k.label, Pairs: k.pairs, Type: k.typeName(), Default: k.fallback, Required: k.required}
		switch k.kind {
		case mapKind:
			d.Keys = describeKeys(k)
		case listKind:
			d.Keys = describeKeys(k.elem)
		case eitherKind:
			d.Keys = describeKeys(k.other)
		}
		keys = append(keys, d)
	}
	return keys
}

// typeName says what a value of the field is.
func (f *field) typeName() string {
	switch f.kind {
	case boolKind:
		return "true or false"
	case intKind:
		return "whole number"
	case floatKind:
		return "number"
	case enumKind:
		return orList(f.enum)
	case mapKind:
		return "mapping"
	case freeMapKind:
		return "mapping of texts"
	case secretKind:
		return "secret"
	case identityKind:
		return "name or number"
	case anyKind:
		return "anything"
	case listKind:
		return "list of " + f.elem.plural()
	case eitherKind:
		return f.elem.typeName() + " or " + f.other.typeName()
	}
	return "text"
}

func (f *field) plural() string {
	switch f.kind {
	case mapKind:
		return "mappings"
	case floatKind:
		return "numbers"
	}
	return "texts"
}
