package discovery

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// errNoSchema is the error of a tool without an input schema, which the protocol
// wants and servers leave out.
var errNoSchema = errors.New("no schema")

type types uint8

const (
	typeString types = 1 << iota
	typeInteger
	typeNumber
	typeBoolean
	typeObject
	typeArray
	typeNull
)

var typeNames = map[string]types{"string": typeString, "integer": typeInteger, "number": typeNumber, "boolean": typeBoolean,
	"object": typeObject, "array": typeArray, "null": typeNull}

// A shape is what one schema says about a value, as far as repair needs it.
type shape struct {
	types    types    // 0 is anything
	union    bool     // several branches other than null: what is meant is not known
	branches []*shape // of a union by anyOf or oneOf alone
	props    map[string]*shape
	order    []string // of props, sorted
	fields   map[string]field
	required []string
	closed   bool // other keys are refused
	extra    *shape
	items    *shape
	enum     []*node
	bounds   *bounds // nil if there are none
	// constrained is a string that may not be just any text.
	constrained bool
	// plain is true if types, properties and enum are all that the schema asks
	// for, so that check decides alone.
	plain bool
}

// A field is a property and its place among its siblings.
type field struct {
	shape *shape
	at    int
}

// A tool's schema, resolved once.
type compiled struct {
	root     *shape
	resolved *jsonschema.Resolved
}

// compile resolves a tool's input schema. It fails for schemas that cannot be
// resolved here, such as those with references to other documents: their
// tools' arguments pass through untouched.
func compile(schema any) (*compiled, error) {
	s, ok := schema.(*jsonschema.Schema)
	if !ok {
		raw, err := json.Marshal(schema)
		if err != nil {
			return nil, err
		}
		switch {
		case len(raw) > maxArguments:
			return nil, errTooBig
		case string(raw) == "null": // which would be decoded as what nothing fits
			return nil, errNoSchema
		}
		s = &jsonschema.Schema{}
		if err := json.Unmarshal(raw, s); err != nil {
			return nil, err
		}
	} else if s != nil {
		// Resolving notes base addresses in the schema itself, and the tool's
		// owner may resolve the same one.
		s = s.CloneSchemas()
	}
	if s == nil {
		return nil, errNoSchema
	}
	r, err := s.Resolve(&jsonschema.ResolveOptions{})
	if err != nil {
		return nil, err
	}
	b := shaper{root: s, seen: map[*jsonschema.Schema]*shape{}}
	return &compiled{root: b.shape(s, 0), resolved: r}, nil
}

type shaper struct {
	root *jsonschema.Schema
	seen map[*jsonschema.Schema]*shape
}

var anything = &shape{plain: true}

func (b *shaper) shape(s *jsonschema.Schema, depth int) *shape {
	if s == nil {
		return anything
	}
	if known := b.seen[s]; known != nil {
		return known
	}
	if depth > 256 || len(b.seen) > maxNodes {
		return &shape{}
	}
	if s.Ref != "" {
		if target := b.local(s.Ref); target != nil && target != s && onlyRef(s) {
			// Noted only afterwards: a chain of references that ends in itself is
			// cut by depth.
			t := b.shape(target, depth+1)
			b.seen[s] = t
			return t
		}
		return &shape{}
	}
	if branch := soleBranch(s); branch != nil {
		t := *b.shape(branch, depth+1)
		if t.types != 0 {
			t.types |= typeNull
		}
		t.plain = false
		b.seen[s] = &t
		return &t
	}
	t := &shape{}
	b.seen[s] = t
	for _, name := range append(slices.Clone(s.Types), s.Type) {
		t.types |= typeNames[name]
	}
	t.union = len(s.AnyOf) > 0 || len(s.OneOf) > 0 || len(s.AllOf) > 0 || bits(t.types&^typeNull) > 1
	if len(s.AnyOf) > 0 && len(s.OneOf) == 0 {
		t.branches = b.shapes(s.AnyOf, depth)
	} else if len(s.OneOf) > 0 && len(s.AnyOf) == 0 {
		t.branches = b.shapes(s.OneOf, depth)
	}
	if s.Properties != nil {
		t.props = make(map[string]*shape, len(s.Properties))
		for name, p := range s.Properties {
			t.props[name] = b.shape(p, depth+1)
			t.order = append(t.order, name)
		}
		slices.Sort(t.order)
		t.fields = make(map[string]field, len(t.order))
		for i, name := range t.order {
			t.fields[name] = field{t.props[name], i}
		}
	}
	t.required = s.Required
	if a := s.AdditionalProperties; a != nil {
		if isFalse(a) {
			t.closed = len(s.PatternProperties) == 0
		} else {
			t.extra = b.shape(a, depth+1)
		}
	}
	if s.Items != nil {
		t.items = b.shape(s.Items, depth+1)
	}
	for _, e := range s.Enum {
		if raw, err := json.Marshal(e); err == nil {
			if n, err := parseJSON(raw); err == nil {
				t.enum = append(t.enum, n)
			}
		}
	}
	if s.Const != nil {
		if raw, err := json.Marshal(*s.Const); err == nil {
			if n, err := parseJSON(raw); err == nil {
				t.enum = []*node{n}
			}
		}
	}
	t.constrained = s.Format != "" || s.Pattern != "" || s.MinLength != nil || s.MaxLength != nil || len(t.enum) > 0
	t.bounds = boundsOf(s)
	t.plain = !t.constrainedBeyondTypes(s)
	return t
}

func (b *shaper) shapes(all []*jsonschema.Schema, depth int) []*shape {
	var out []*shape
	for _, s := range all {
		out = append(out, b.shape(s, depth+1))
	}
	return out
}

// fitsNoBranch reports whether n certainly fits none of a union's branches.
func (s *shape) fitsNoBranch(n *node) bool {
	return len(s.branches) > 0 && !slices.ContainsFunc(s.branches, func(b *shape) bool { return b.union || b.check(n) != invalid })
}

// constrainedBeyondTypes reports whether s uses a keyword that check does not
// know.
func (t *shape) constrainedBeyondTypes(s *jsonschema.Schema) bool {
	return s.MultipleOf != nil || s.Minimum != nil || s.Maximum != nil || s.ExclusiveMinimum != nil || s.ExclusiveMaximum != nil ||
		s.MinLength != nil || s.MaxLength != nil || s.Pattern != "" || s.PrefixItems != nil || s.ItemsArray != nil || s.MinItems != nil || s.MaxItems != nil ||
		s.AdditionalItems != nil || s.UniqueItems || s.Contains != nil || s.UnevaluatedItems != nil || s.MinProperties != nil || s.MaxProperties != nil ||
		s.DependentRequired != nil || s.PatternProperties != nil || s.PropertyNames != nil || s.UnevaluatedProperties != nil || s.AllOf != nil || s.AnyOf != nil ||
		s.OneOf != nil || s.Not != nil || s.If != nil || s.DependentSchemas != nil || s.DependencySchemas != nil || s.DependencyStrings != nil ||
		s.DynamicRef != "" || s.DynamicAnchor != "" || s.Const != nil || slices.ContainsFunc(t.enum, func(n *node) bool { return n.kind != 's' })
}

func bits(t types) int {
	n := 0
	for ; t != 0; t &= t - 1 {
		n++
	}
	return n
}

// soleBranch returns the one branch of anyOf or oneOf that is not null, if
// nothing else stands beside them.
func soleBranch(s *jsonschema.Schema) *jsonschema.Schema {
	if s.Type != "" || s.Types != nil || s.Properties != nil || s.Items != nil || s.Enum != nil || s.AllOf != nil {
		return nil
	}
	branches := s.AnyOf
	if len(branches) == 0 {
		branches = s.OneOf
	} else if len(s.OneOf) > 0 {
		return nil
	}
	var sole *jsonschema.Schema
	for _, b := range branches {
		if b == nil {
			return nil
		}
		if b.Type == "null" || len(b.Types) == 1 && b.Types[0] == "null" {
			continue
		}
		if sole != nil {
			return nil
		}
		sole = b
	}
	return sole
}

// onlyRef reports whether nothing that narrows stands beside a $ref.
func onlyRef(s *jsonschema.Schema) bool {
	return s.Type == "" && s.Types == nil && s.Properties == nil && s.AnyOf == nil && s.OneOf == nil && s.AllOf == nil && s.Enum == nil && s.Required == nil
}

// local follows a reference within the document, "#" or "#/$defs/x".
func (b *shaper) local(ref string) *jsonschema.Schema {
	if ref == "#" {
		return b.root
	}
	rest, ok := strings.CutPrefix(ref, "#/")
	if !ok {
		return nil
	}
	kind, name, ok := strings.Cut(rest, "/")
	if !ok || strings.Contains(name, "/") {
		return nil
	}
	name = strings.NewReplacer("~1", "/", "~0", "~").Replace(name)
	switch kind {
	case "$defs":
		return b.root.Defs[name]
	case "definitions":
		return b.root.Definitions[name]
	case "properties":
		return b.root.Properties[name]
	}
	return nil
}

func isFalse(s *jsonschema.Schema) bool {
	raw, err := json.Marshal(s)
	return err == nil && (bytes.Equal(raw, []byte("false")) || bytes.Equal(raw, []byte(`{"not":{}}`)) || bytes.Equal(raw, []byte(`{"not":true}`)))
}

type verdict uint8

const (
	invalid verdict = iota
	valid
	unsure // the schema asks for more than check knows
)

// typesOf returns the types that a value has.
func typesOf(n *node) types {
	switch n.kind {
	case 'o':
		return typeObject
	case 'a':
		return typeArray
	case 's':
		return typeString
	case 'b':
		return typeBoolean
	case 'n':
		if whole(n.raw) {
			return typeInteger | typeNumber
		}
		return typeNumber
	}
	return typeNull
}

// whole reports whether a number has no fraction: 5, 5.0 and 5e2 have none.
func whole(raw []byte) bool {
	if !bytes.ContainsAny(raw, ".eE") {
		return true
	}
	f, err := strconv.ParseFloat(string(raw), 64)
	return err == nil && f == math.Trunc(f)
}

// check decides quickly whether n fits. It is exact where every schema on the
// way is plain, and otherwise may answer unsure.
func (s *shape) check(n *node) verdict {
	if s.types != 0 && s.types&typesOf(n) == 0 {
		return invalid
	}
	result := valid
	if !s.plain {
		result = unsure
	}
	if len(s.enum) > 0 && s.plain {
		ok := false
		for _, e := range s.enum {
			ok = ok || n.kind == 's' && (bytes.Equal(e.raw, n.raw) || e.str() == n.str())
		}
		if !ok {
			return invalid
		}
	}
	switch n.kind {
	case 'o':
		for _, r := range s.required {
			if n.get(r) == nil {
				return invalid
			}
		}
		for i := range n.members {
			m := &n.members[i]
			sub, declared := s.props[m.key]
			if !declared {
				if s.closed {
					return invalid
				}
				if sub = s.extra; sub == nil {
					continue
				}
			}
			switch sub.check(m.value) {
			case invalid:
				return invalid
			case unsure:
				result = unsure
			}
		}
	case 'a':
		if s.items == nil {
			break
		}
		for _, item := range n.items {
			switch s.items.check(item) {
			case invalid:
				return invalid
			case unsure:
				result = unsure
			}
		}
	}
	return result
}

// valid reports whether the tool's schema admits n, as the SDK decides it.
func (c *compiled) valid(n *node) bool {
	switch c.root.check(n) {
	case valid:
		return true
	case invalid:
		return false
	}
	return c.validates(n.bytes())
}

func (c *compiled) validates(raw []byte) bool {
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return false
	}
	if c.resolved.Validate(v) == nil {
		return true
	}
	// The SDK fills in defaults before it validates.
	if c.resolved.ApplyDefaults(&v) != nil {
		return false
	}
	return c.resolved.Validate(v) == nil
}

// complaint is what the validator says about arguments that do not fit, in
// parentheses, or nothing.
func (c *compiled) complaint(raw []byte) string {
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return ""
	}
	err := c.resolved.Validate(v)
	if err == nil {
		return ""
	}
	text := strings.ReplaceAll(strings.TrimPrefix(err.Error(), "validating root: "), "\n", "; ")
	return " (" + cut(text, 300) + ")"
}
