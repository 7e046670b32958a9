package registry

import (
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"
)

// compareSchemas compares what may be sent. For results the meaning is turned
// around: whoever reads them breaks when more is possible than before.
func (d *differ) compareSchemas(at string, old, now *document, input bool) {
	narrower, wider := Breaking, Additive
	if !input {
		narrower, wider = Additive, Breaking
	}
	if equal(old, now) {
		return
	}
	if !old.isObject() || !now.isObject() {
		d.add(Breaking, at, "the schema was %s and is %s", orMissing(old), orMissing(now))
		return
	}
	d.compareTypes(at, old, now, narrower, wider)
	d.compareProperties(at, old, now, input)
	d.compareBounds(at, old, now, narrower, wider)
	d.compareMultiple(at, old, now, narrower, wider)
	for _, k := range []string{"items", "additionalProperties"} {
		was, is := old.get(k), now.get(k)
		none := func(s *document) bool { return s != nil && s.scalar == "false" }
		switch {
		case was.isObject() && is.isObject():
			d.compareSchemas(at+"/"+k, was, is, input)
		case equal(was, is):
		case is == nil:
			d.add(wider, at+"/"+k, "%s is not restricted any more", k)
		case was == nil:
			d.add(narrower, at+"/"+k, "%s is restricted now", k)
		case none(was) && is.isObject():
			d.add(wider, at+"/"+k, "%s was %s and is %s", k, was.bytes(), is.bytes())
		case was.isObject() && none(is):
			d.add(narrower, at+"/"+k, "%s was %s and is %s", k, was.bytes(), is.bytes())
		default:
			d.add(Breaking, at+"/"+k, "%s was %s and is %s", k, was.bytes(), is.bytes())
		}
	}
	d.compareBranches(at, "anyOf", old, now, narrower, wider, input)
	d.compareBranches(at, "oneOf", old, now, narrower, wider, input)
	d.compareBranches(at, "allOf", old, now, wider, narrower, input) // one more of these is narrower
	for _, k := range []string{"not", "if", "then", "else", "pattern", "format", "prefixItems",
		"patternProperties", "propertyNames", "dependentRequired", "dependentSchemas", "contains", "uniqueItems", "$ref"} {
		was, is := old.get(k), now.get(k)
		switch {
		case equal(was, is):
		case is == nil:
			d.add(wider, at+"/"+k, "%s is gone", k)
		case was == nil:
			d.add(narrower, at+"/"+k, "there is %s now", k)
		default:
			d.add(Breaking, at+"/"+k, "%s changed", k)
		}
	}
	// There are definitions only where references to them could not be inlined.
	for _, k := range []string{"$defs", "definitions"} {
		if was := old.get(k); was.isObject() {
			for i, name := range was.keys {
				if is := now.get(k).get(name); is != nil {
					d.compareSchemas(at+"/"+k+"/"+escapePointer(name), was.members[i], is, input)
				}
			}
		}
	}
	if was, is := old.get("default"), now.get("default"); !equal(was, is) {
		kind := Breaking // a call that leaves the value out does something else
		if !input || was == nil {
			kind = Cosmetic
		}
		d.add(kind, at+"/default", "the default was %s and is %s", orMissing(was), orMissing(is))
	}
	for _, k := range []string{"title", "description", "examples", "deprecated"} {
		if !equal(old.get(k), now.get(k)) {
			d.add(Cosmetic, at+"/"+k, "the %s changed", k)
		}
	}
}

// compareBranches compares alternatives, whatever their order is. fewer and more
// say what it means that there are fewer or more of them.
func (d *differ) compareBranches(at, keyword string, old, now *document, fewer, more ChangeKind, input bool) {
	was, is := old.get(keyword), now.get(keyword)
	at += "/" + keyword
	switch {
	case equal(was, is):
		return
	case is == nil:
		d.add(more, at, "%s is gone", keyword)
		return
	case was == nil:
		d.add(fewer, at, "there is %s now", keyword)
		return
	case !was.isArray() || !is.isArray() || len(was.members)*len(is.members) > maxPairs:
		d.add(Breaking, at, "%s changed", keyword)
		return
	}
	gone, fresh := without(was, is), without(is, was)
	switch {
	case len(gone) == 1 && len(fresh) == 1:
		d.compareSchemas(at+"/"+strconv.Itoa(slices.Index(is.members, fresh[0])), gone[0], fresh[0], input)
	case len(gone) > 0 && len(fresh) > 0:
		d.add(Breaking, at, "%d of the branches of %s changed", len(gone), keyword)
	case len(gone) > 0:
		d.add(fewer, at, "%d of the branches of %s are gone", len(gone), keyword)
	case len(fresh) > 0:
		d.add(more, at, "%d of the branches of %s are new", len(fresh), keyword)
	}
}

// maxPairs bounds how many members are compared with one another.
const maxPairs = 10_000

// without returns the members of a that b does not have.
func without(a, b *document) (left []*document) {
	for _, m := range a.members {
		if !slices.ContainsFunc(b.members, func(o *document) bool { return equal(m, o) }) {
			left = append(left, m)
		}
	}
	return left
}

func (d *differ) compareTypes(at string, old, now *document, narrower, wider ChangeKind) {
	was, is := typesOf(old), typesOf(now)
	lost := slices.ContainsFunc(was, func(t string) bool { return !includesType(is, t) })
	won := slices.ContainsFunc(is, func(t string) bool { return !includesType(was, t) })
	switch {
	case lost && won:
		d.add(Breaking, at+"/type", "the type was %s and is %s", orAnyType(was), orAnyType(is))
	case lost:
		d.add(narrower, at+"/type", "the type was %s and is only %s", orAnyType(was), orAnyType(is))
	case won:
		d.add(wider, at+"/type", "the type was only %s and is %s", orAnyType(was), orAnyType(is))
	}
	oldEnum, newEnum := old.get("enum"), now.get("enum")
	switch {
	case equal(oldEnum, newEnum):
	case oldEnum == nil:
		d.add(narrower, at+"/enum", "the values are restricted now")
	case newEnum == nil:
		d.add(wider, at+"/enum", "the values are not restricted any more")
	default:
		if gone := missingValues(oldEnum, newEnum); gone != nil {
			d.add(narrower, at+"/enum", "the values %s are gone", shortList(gone, 8))
		}
		if fresh := missingValues(newEnum, oldEnum); fresh != nil {
			d.add(wider, at+"/enum", "the values %s are new", shortList(fresh, 8))
		}
	}
}

// missingValues returns the values of a that b does not have.
func missingValues(a, b *document) (names []string) {
	have := map[string]bool{}
	for _, v := range b.members {
		have[string(comparable(v))] = true
	}
	for _, v := range a.members {
		if !have[string(comparable(v))] {
			names = append(names, string(v.bytes()))
		}
	}
	return names
}

func orAnyType(types []string) string {
	if len(types) == len(everyType) {
		return "any"
	}
	return strings.Join(types, " or ")
}

var everyType = []string{"array", "boolean", "null", "number", "object", "string"}

func typesOf(s *document) []string {
	typ := s.get("type")
	if name := typ.string(); name != "" {
		return []string{name}
	}
	if !typ.isArray() {
		return everyType
	}
	var list []string
	for _, m := range typ.members {
		list = append(list, m.string())
	}
	slices.Sort(list)
	return list
}

func includesType(types []string, t string) bool {
	return slices.Contains(types, t) || t == "integer" && slices.Contains(types, "number")
}

func (d *differ) compareProperties(at string, old, now *document, input bool) {
	was, is := old.get("properties"), now.get("properties")
	mustBefore, mustNow := names(old.get("required")), names(now.get("required"))
	property := func(k string) string { return at + "/properties/" + escapePointer(k) }
	if was.isObject() {
		for i, k := range was.keys {
			if m := is.get(k); m == nil {
				d.add(Breaking, property(k), "the property was removed")
			} else {
				d.compareSchemas(property(k), was.members[i], m, input)
				switch {
				case mustNow[k] == mustBefore[k]:
				case mustNow[k] == input:
					d.add(Breaking, property(k), "the property is %s now", optionality(mustNow[k]))
				default:
					d.add(Additive, property(k), "the property is %s now", optionality(mustNow[k]))
				}
			}
		}
	}
	if is.isObject() {
		for _, k := range is.keys {
			switch {
			case was.get(k) != nil:
			case input && mustNow[k]:
				d.add(Breaking, property(k), "a required property was added")
			default:
				d.add(Additive, property(k), "a property was added")
			}
		}
	}
	for _, k := range slices.Sorted(maps.Keys(mustNow)) {
		if input && !mustBefore[k] && is.get(k) == nil {
			d.add(Breaking, at+"/required", "%s is required now", k)
		}
	}
}

func optionality(required bool) string {
	if required {
		return "required"
	}
	return "optional"
}

// compareBounds compares keywords of which more, or less, is narrower.
func (d *differ) compareBounds(at string, old, now *document, narrower, wider ChangeKind) {
	for _, b := range []struct {
		keyword string
		upper   bool // a smaller number is narrower
	}{
		{"minimum", false}, {"exclusiveMinimum", false}, {"minLength", false}, {"minItems", false}, {"minProperties", false},
		{"maximum", true}, {"exclusiveMaximum", true}, {"maxLength", true}, {"maxItems", true}, {"maxProperties", true},
	} {
		was, is := old.get(b.keyword), now.get(b.keyword)
		if equal(was, is) {
			continue
		}
		kind := narrower
		switch {
		case is == nil:
			kind = wider
		case was != nil:
			x, ok1 := number(was)
			y, ok2 := number(is)
			if !ok1 || !ok2 {
				kind = Breaking
				break
			}
			switch c := y.Cmp(x); {
			case c == 0:
				continue
			case (c > 0) == b.upper:
				kind = wider
			}
		}
		d.add(kind, at+"/"+b.keyword, "%s was %s and is %s", b.keyword, orMissing(was), orMissing(is))
	}
}

// compareMultiple compares multipleOf: what divides a number allows more.
func (d *differ) compareMultiple(at string, old, now *document, narrower, wider ChangeKind) {
	const k = "multipleOf"
	was, is := old.get(k), now.get(k)
	x, ok1 := number(was)
	y, ok2 := number(is)
	kind := Breaking
	switch {
	case equal(was, is):
		return
	case is == nil:
		kind = wider
	case was == nil:
		kind = narrower
	case ok1 && ok2 && x.Sign() > 0 && y.Sign() > 0:
		if new(big.Float).Quo(x, y).IsInt() {
			kind = wider
		} else if new(big.Float).Quo(y, x).IsInt() {
			kind = narrower
		}
	}
	d.add(kind, at+"/"+k, "%s was %s and is %s", k, orMissing(was), orMissing(is))
}

// number returns the exact value of a number.
func number(d *document) (*big.Float, bool) {
	if d == nil || d.kind != 0 || len(d.scalar) > 64 {
		return nil, false
	}
	f, _, err := big.ParseFloat(d.scalar, 10, 256, big.ToNearestEven)
	return f, err == nil
}
