package registry

import (
	"errors"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"
)

// ChangeKind says what a change means to callers.
type ChangeKind string

// The kinds of change.
const (
	// Breaking changes make a call fail that worked, or mean something else;
	// the order of the tools that both listings have is among them, because a
	// prompt is cached by its prefix.
	Breaking ChangeKind = "breaking"
	// Additive changes allow more than before.
	Additive ChangeKind = "additive"
	// Cosmetic changes are in texts. They still change what a model chooses.
	Cosmetic ChangeKind = "cosmetic"
)

// A Change is one difference between two listings.
type Change struct {
	Kind    ChangeKind `json:"kind"`
	Tool    string     `json:"tool,omitempty"`    // "" for the listing as a whole
	Pointer string     `json:"pointer,omitempty"` // JSON pointer into the tool's definition
	Message string     `json:"message"`
}

// String returns the change on one line.
func (c Change) String() string {
	at := strings.TrimSpace(c.Tool + " " + c.Pointer)
	if at != "" {
		at += ": "
	}
	return string(c.Kind) + ": " + at + c.Message
}

// Diff says how what a server advertises has changed from old to now. Changes
// of the same tool stand together, in now's order; removed tools come first.
// Where it cannot tell whether a schema became narrower, a change is Breaking.
func Diff(old, now *Listing) ([]Change, error) {
	if old == nil || now == nil {
		return nil, errors.New("registry: a listing is nil")
	}
	before, err := byName(old)
	if err != nil {
		return nil, fmt.Errorf("registry: the old listing: %w", err)
	}
	after, err := byName(now)
	if err != nil {
		return nil, fmt.Errorf("registry: the new listing: %w", err)
	}
	d := &differ{}
	var kept []string // in old's order
	for _, name := range before.order {
		if after.tools[name] == nil {
			d.tool = name
			d.add(Breaking, "", "the tool was removed")
			continue
		}
		kept = append(kept, name)
	}
	d.tool = ""
	if prefix := after.order[:min(len(kept), len(after.order))]; !slices.Equal(prefix, kept) {
		i := 0
		for i < len(prefix) && prefix[i] == kept[i] {
			i++
		}
		d.add(Breaking, "", "the order changed: tool %d is now %q, which was %q", i+1, after.order[i], kept[i])
	}
	if old.Instructions != now.Instructions {
		d.add(Cosmetic, "", "the server's instructions changed")
	}
	for _, name := range after.order {
		d.tool = name
		if before.tools[name] == nil {
			d.add(Additive, "", "the tool was added")
			continue
		}
		d.compareTools(before.tools[name], after.tools[name])
	}
	return d.changes, nil
}

type namedTools struct {
	order []string
	tools map[string]*document
}

func byName(l *Listing) (*namedTools, error) {
	n := &namedTools{tools: map[string]*document{}}
	for i, raw := range l.Tools {
		doc, err := parseDocument(raw)
		if err != nil {
			return nil, fmt.Errorf("tool %d: %w", i+1, err)
		}
		name := doc.get("name").string()
		if n.tools[name] == nil {
			n.order = append(n.order, name)
			n.tools[name] = doc
		}
	}
	return n, nil
}

type differ struct {
	tool    string
	changes []Change
}

func (d *differ) add(kind ChangeKind, pointer, format string, args ...any) {
	d.changes = append(d.changes, Change{kind, d.tool, pointer, fmt.Sprintf(format, args...)})
}

func (d *differ) compareTools(old, now *document) {
	for _, k := range []string{"title", "description", "icons", "_meta"} {
		if !equal(old.get(k), now.get(k)) {
			d.add(Cosmetic, "/"+k, "the %s changed", k)
		}
	}
	d.compareHints(old.get("annotations"), now.get("annotations"))
	d.compareSchemas("/inputSchema", inlined(old.get("inputSchema")), inlined(now.get("inputSchema")), true)
	was, is := old.get("outputSchema"), now.get("outputSchema")
	switch {
	case was == nil && is == nil:
	case is == nil:
		d.add(Breaking, "/outputSchema", "there is no output schema any more")
	case was == nil:
		d.add(Additive, "/outputSchema", "there is an output schema now")
	default:
		d.compareSchemas("/outputSchema", inlined(was), inlined(is), false)
	}
}

// maxCompared bounds what is copied to compare a schema, in bytes.
const maxCompared = 1 << 20

// inlined returns a schema with its local references replaced, or as it is, if
// they cannot be.
func inlined(s *document) *document {
	if s == nil {
		return object()
	}
	c, _, ok := inlineWithin(s, maxCompared)
	if !ok {
		return s
	}
	c.remove("$defs")
	c.remove("definitions")
	return c
}

func (d *differ) compareHints(old, now *document) {
	if equal(old, now) {
		return
	}
	const at = "/annotations"
	destroys := func(a *document) bool {
		return !a.get("readOnlyHint").isTrue() && (a.get("destructiveHint") == nil || a.get("destructiveHint").isTrue())
	}
	switch {
	case old.get("readOnlyHint").isTrue() && !now.get("readOnlyHint").isTrue():
		d.add(Breaking, at, "the tool is not read-only any more: clients that let it run will ask")
	case !destroys(old) && destroys(now):
		d.add(Breaking, at, "the tool counts as destructive now: clients that let it run will ask")
	default:
		d.add(Cosmetic, at, "the hints changed")
	}
}

func equal(a, b *document) bool {
	if a == nil || b == nil {
		return a == b
	}
	return string(a.encode(nil, true)) == string(b.encode(nil, true))
}

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
	for _, k := range []string{"items", "additionalProperties"} {
		was, is := old.get(k), now.get(k)
		switch {
		case was.isObject() && is.isObject():
			d.compareSchemas(at+"/"+k, was, is, input)
		case equal(was, is):
		case is == nil || is.isTrue():
			d.add(wider, at+"/"+k, "%s is not restricted any more", k)
		case was == nil || was.isTrue():
			d.add(narrower, at+"/"+k, "%s is restricted now", k)
		default:
			d.add(Breaking, at+"/"+k, "%s was %s and is %s", k, was.bytes(), is.bytes())
		}
	}
	for _, k := range []string{"anyOf", "oneOf", "allOf", "not", "if", "then", "else", "const", "pattern", "format", "multipleOf", "prefixItems",
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

func (d *differ) compareTypes(at string, old, now *document, narrower, wider ChangeKind) {
	was, is := typesOf(old), typesOf(now)
	lost := slices.ContainsFunc(was, func(t string) bool { return !includesType(is, t) })
	won := slices.ContainsFunc(is, func(t string) bool { return !includesType(was, t) })
	switch {
	case lost && won:
		d.add(Breaking, at+"/type", "the type was %s and is %s", strings.Join(was, " or "), strings.Join(is, " or "))
	case lost:
		d.add(narrower, at+"/type", "the type was %s and is only %s", strings.Join(was, " or "), strings.Join(is, " or "))
	case won:
		d.add(wider, at+"/type", "the type was only %s and is %s", strings.Join(was, " or "), strings.Join(is, " or "))
	}
	oldEnum, newEnum := old.get("enum"), now.get("enum")
	switch {
	case equal(oldEnum, newEnum):
	case oldEnum == nil:
		d.add(narrower, at+"/enum", "the values are restricted now")
	case newEnum == nil:
		d.add(wider, at+"/enum", "the values are not restricted any more")
	default:
		without := func(a, b *document) (names []string) {
			for _, v := range a.members {
				if !slices.ContainsFunc(b.members, func(w *document) bool { return equal(v, w) }) {
					names = append(names, string(v.bytes()))
				}
			}
			return names
		}
		if gone := without(oldEnum, newEnum); gone != nil {
			d.add(narrower, at+"/enum", "the values %s are gone", shortList(gone, 8))
		}
		if fresh := without(newEnum, oldEnum); fresh != nil {
			d.add(wider, at+"/enum", "the values %s are new", shortList(fresh, 8))
		}
	}
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

// number returns the exact value of a number.
func number(d *document) (*big.Float, bool) {
	if d.kind != 0 || len(d.scalar) > 64 {
		return nil, false
	}
	f, _, err := big.ParseFloat(d.scalar, 10, 256, big.ToNearestEven)
	return f, err == nil
}
