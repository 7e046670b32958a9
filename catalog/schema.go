package catalog

import (
	"encoding/json"
	"fmt"
	"net/url"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/steadymcp/steady/errors"
)

// Bounds of a schema. It comes with the entries, so it may be anybody's: the
// validator follows it without bounds of its own.
const (
	maxSchemaDepth    = 64      // levels of JSON, and schemas that apply to one value through each other
	maxSchemaParts    = 4096    // schemas inside
	maxSchemaPatterns = 256     // regular expressions inside
	maxSchemaWork     = 10_000  // schemas that apply to one value, each as often as it does
	maxValidationWork = 250_000 // schemas that are applied to values for one set of arguments
)

// A part is one schema inside a schema, with what it applies to.
type part struct {
	schema     *jsonschema.Schema
	cost       int     // of applying it to a value, without its parts
	matching   int     // of its pattern for a byte
	same       []*part // apply to the same value
	properties map[string]*part
	rest       []*part // apply to the values of other properties
	names      *part   // applies to the names
	prefix     []*part
	items      []*part // apply to the items behind the prefix
	every      *part   // applies to all items
	height     int     // of same; 0 while it is not known, -1 while it is being found
	work       int     // of same, with cost
}

// A partList collects the parts of one schema.
type partList struct {
	root     *jsonschema.Schema
	byPlace  map[string]*part // by JSON pointer, and by # and anchor
	all      []*part
	patterns int
	nested   bool // one inside has an identifier of its own
}

// measure returns the parts of a schema whose validation ends: a schema that
// applies to a value because it applies to it is refused, and so is one that
// is too deep or too large.
func measure(root *jsonschema.Schema) (*part, error) {
	l := &partList{root: root, byPlace: map[string]*part{}}
	top, err := l.add(root, "")
	if err != nil {
		return nil, err
	}
	for _, p := range l.all {
		if p.schema.DynamicRef != "" {
			return nil, errors.New("a $dynamicRef, which is not supported")
		}
		if p.schema.Ref == "" {
			continue
		}
		to, err := l.target(p.schema.Ref)
		if err != nil {
			return nil, err
		}
		p.same = append(p.same, to)
	}
	for _, p := range l.all {
		if err := p.climb(); err != nil {
			return nil, err
		}
	}
	return top, nil
}

// target finds what a reference refers to.
func (l *partList) target(ref string) (*part, error) {
	fragment := ref
	if l.root.ID != "" {
		fragment = strings.TrimPrefix(ref, strings.TrimSuffix(l.root.ID, "#"))
	}
	place, err := url.PathUnescape(strings.TrimPrefix(fragment, "#"))
	if err == nil && strings.HasPrefix(fragment, "#") && !l.nested {
		if place != "" && place[0] != '/' {
			place = "#" + place
		}
		if p := l.byPlace[place]; p != nil {
			return p, nil
		}
	}
	return nil, fmt.Errorf("the reference %q does not lead to a schema inside", clip(ref, 100))
}

// climb finds how many schemas apply to one value, and through how many others.
func (p *part) climb() error {
	switch {
	case p.height > 0:
		return nil
	case p.height < 0:
		return errors.New("a schema refers to itself for the same value")
	}
	p.height = -1
	most := 0
	p.work = p.cost
	for _, s := range p.same {
		if err := s.climb(); err != nil {
			return err
		}
		most = max(most, s.height)
		if p.work += s.work; p.work > maxSchemaWork {
			return fmt.Errorf("more than %d schemas apply to one value", maxSchemaWork)
		}
	}
	if p.height = most + 1; p.height > maxSchemaDepth {
		return fmt.Errorf("more than %d schemas apply to one value through each other", maxSchemaDepth)
	}
	return nil
}

// add adds a schema and what is inside. A nil schema is a nil part.
func (l *partList) add(s *jsonschema.Schema, place string) (*part, error) {
	if s == nil {
		return nil, nil
	}
	p := &part{schema: s, cost: 1 + (len(s.Enum)+len(s.Required)+len(s.Properties))/8}
	if l.all = append(l.all, p); len(l.all) > maxSchemaParts {
		return nil, fmt.Errorf("more than %d schemas inside", maxSchemaParts)
	}
	l.byPlace[place] = p
	for _, anchor := range []string{s.Anchor, s.DynamicAnchor} {
		if anchor != "" {
			l.byPlace["#"+anchor] = p
		}
	}
	l.nested = l.nested || place != "" && s.ID != ""
	if s.Pattern != "" {
		n, err := l.pattern(s.Pattern)
		if err != nil {
			return nil, err
		}
		p.matching = n
	}
	var err error
	one := func(s *jsonschema.Schema, keyword string) *part {
		if err != nil {
			return nil
		}
		var sub *part
		sub, err = l.add(s, place+"/"+keyword)
		return sub
	}
	put := func(to *[]*part, s *jsonschema.Schema, keyword string) {
		if sub := one(s, keyword); sub != nil {
			*to = append(*to, sub)
		}
	}
	list := func(to *[]*part, list []*jsonschema.Schema, keyword string) {
		for i, s := range list {
			put(to, s, keyword+"/"+strconv.Itoa(i))
		}
	}
	named := func(to *[]*part, m map[string]*jsonschema.Schema, keyword string) {
		for name, s := range m {
			put(to, s, keyword+"/"+pointerEscaper.Replace(name))
		}
	}
	list(&p.same, s.AllOf, "allOf")
	list(&p.same, s.AnyOf, "anyOf")
	list(&p.same, s.OneOf, "oneOf")
	put(&p.same, s.Not, "not")
	put(&p.same, s.If, "if")
	put(&p.same, s.Then, "then")
	put(&p.same, s.Else, "else")
	named(&p.same, s.DependentSchemas, "dependentSchemas")
	named(&p.same, s.DependencySchemas, "dependencies")
	p.properties = map[string]*part{}
	for name, s := range s.Properties {
		if sub := one(s, "properties/"+pointerEscaper.Replace(name)); sub != nil {
			p.properties[name] = sub
		}
	}
	for pattern := range s.PatternProperties {
		n, e := l.pattern(pattern)
		if e != nil {
			return nil, e
		}
		p.matching += n
	}
	named(&p.rest, s.PatternProperties, "patternProperties")
	put(&p.rest, s.AdditionalProperties, "additionalProperties")
	put(&p.rest, s.UnevaluatedProperties, "unevaluatedProperties")
	p.names = one(s.PropertyNames, "propertyNames")
	list(&p.prefix, s.PrefixItems, "prefixItems")
	list(&p.prefix, s.ItemsArray, "items")
	put(&p.items, s.Items, "items")
	put(&p.items, s.AdditionalItems, "additionalItems")
	put(&p.items, s.UnevaluatedItems, "unevaluatedItems")
	p.every = one(s.Contains, "contains")
	// These apply to nothing, and may be referred to.
	var unused []*part
	named(&unused, s.Defs, "$defs")
	named(&unused, s.Definitions, "definitions")
	put(&unused, s.ContentSchema, "contentSchema")
	return p, err
}

var pointerEscaper = strings.NewReplacer("~", "~0", "/", "~1")

// pattern returns how large the program of a regular expression is.
func (l *partList) pattern(text string) (int, error) {
	if l.patterns++; l.patterns > maxSchemaPatterns {
		return 0, fmt.Errorf("more than %d patterns inside", maxSchemaPatterns)
	}
	re, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return 0, fmt.Errorf("the pattern %q cannot be read", clip(text, 60))
	}
	prog, err := syntax.Compile(re.Simplify())
	if err != nil {
		return 0, fmt.Errorf("the pattern %q cannot be read", clip(text, 60))
	}
	return len(prog.Inst), nil
}

// bearable reports whether a value is validated within the bound on work. It
// follows the validator without judging, so it counts at least what that does.
func (p *part) bearable(v any) bool {
	left := maxValidationWork
	return p.spend(v, &left)
}

func (p *part) spend(v any, left *int) bool {
	if *left -= p.cost; *left < 0 {
		return false
	}
	for _, s := range p.same {
		if !s.spend(v, left) {
			return false
		}
	}
	match := func(s string) { *left -= len(s) * p.matching / 256 }
	switch v := v.(type) {
	case string:
		match(v)
	case []any:
		if p.schema.UniqueItems {
			*left -= comparisons(v)
		}
		for i, item := range v {
			if p.every != nil && !p.every.spend(item, left) {
				return false
			}
			if i < len(p.prefix) {
				if !p.prefix[i].spend(item, left) {
					return false
				}
				continue
			}
			for _, s := range p.items {
				if !s.spend(item, left) {
					return false
				}
			}
		}
	case map[string]any:
		for name, value := range v {
			match(name)
			if p.names != nil && !p.names.spend(name, left) {
				return false
			}
			if s := p.properties[name]; s != nil {
				if !s.spend(value, left) {
					return false
				}
				if len(p.schema.PatternProperties) == 0 {
					continue
				}
			}
			for _, s := range p.rest {
				if !s.spend(value, left) {
					return false
				}
			}
		}
	}
	return *left >= 0
}

// comparisons returns what it costs to find equal items. Lists and objects can
// be made such that their hashes are equal and each is compared with each.
func comparisons(list []any) int {
	for _, item := range list {
		switch item.(type) {
		case []any, map[string]any:
			return len(list) * len(list) / 64
		}
	}
	return len(list) / 8
}

// together returns the parts that say what a value may be: p, and what applies
// to the same value and is not behind a not.
func (p *part) together() []*part {
	list, seen := []*part{p}, map[*part]bool{p: true}
	for i := 0; i < len(list); i++ {
		for _, s := range list[i].same {
			if !seen[s] && s.schema != list[i].schema.Not {
				seen[s] = true
				list = append(list, s)
			}
		}
	}
	return list
}

// declared returns the properties that a schema has names for, its own first.
func (p *part) declared() map[string]*jsonschema.Schema {
	out := map[string]*jsonschema.Schema{}
	for _, s := range p.together() {
		for name, sub := range s.properties {
			if out[name] == nil {
				out[name] = sub.schema
			}
		}
	}
	return out
}

// open reports whether a schema says that there may be properties that it has
// no names for. Saying nothing is not enough: what is misspelt would be sent.
func (p *part) open() bool {
	return slices.ContainsFunc(p.together(), func(s *part) bool {
		more := s.schema.AdditionalProperties
		return more != nil && !isFalse(more) || len(s.schema.PatternProperties) > 0
	})
}

// isFalse reports whether a schema is the one that nothing fits.
func isFalse(s *jsonschema.Schema) bool {
	b, err := json.Marshal(s)
	return err == nil && string(b) == "false"
}
