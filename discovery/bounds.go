package discovery

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"
)

// Bounds are what a schema asks of a value of the right type. A value outside
// is never moved inside, because nobody can know which one was meant; it is
// reported, with the bound.
type bounds struct {
	schema  *jsonschema.Schema
	pattern *regexp.Regexp // nil if there is none, or none that Go knows
}

// boundsOf returns nil if s has none.
func boundsOf(s *jsonschema.Schema) *bounds {
	if s.Minimum == nil && s.Maximum == nil && s.ExclusiveMinimum == nil && s.ExclusiveMaximum == nil && s.MultipleOf == nil &&
		s.MinLength == nil && s.MaxLength == nil && s.Pattern == "" && s.MinItems == nil && s.MaxItems == nil {
		return nil
	}
	b := &bounds{schema: s}
	if s.Pattern != "" {
		b.pattern, _ = regexp.Compile(s.Pattern)
	}
	return b
}

// broken says in words which bound n breaks, if it does, and returns the value
// at the bound where there is one.
func (b *bounds) broken(n *node) (want string, nearest *node, broken bool) {
	if b == nil {
		return "", nil, false
	}
	switch n.kind {
	case 'n':
		return b.number(n)
	case 's':
		return b.text(n.str())
	case 'a':
		s := b.schema
		switch {
		case s.MinItems != nil && len(n.items) < *s.MinItems:
			return fmt.Sprintf("at least %s", count(*s.MinItems, "item")), nil, true
		case s.MaxItems != nil && len(n.items) > *s.MaxItems:
			return fmt.Sprintf("at most %s", count(*s.MaxItems, "item")), nil, true
		}
	}
	return "", nil, false
}

func (b *bounds) number(n *node) (want string, nearest *node, broken bool) {
	v, err := strconv.ParseFloat(string(n.raw), 64)
	if err != nil && !math.IsInf(v, 0) {
		return "", nil, false
	}
	s := b.schema
	at := func(bound float64) *node { return &node{kind: 'n', raw: []byte(decimal(bound))} }
	switch {
	case s.Minimum != nil && v < *s.Minimum:
		return "at least " + decimal(*s.Minimum), at(*s.Minimum), true
	case s.Maximum != nil && v > *s.Maximum:
		return "at most " + decimal(*s.Maximum), at(*s.Maximum), true
	case s.ExclusiveMinimum != nil && v <= *s.ExclusiveMinimum:
		return "more than " + decimal(*s.ExclusiveMinimum), nil, true
	case s.ExclusiveMaximum != nil && v >= *s.ExclusiveMaximum:
		return "less than " + decimal(*s.ExclusiveMaximum), nil, true
	case s.MultipleOf != nil && *s.MultipleOf > 0 && math.Mod(v, *s.MultipleOf) != 0:
		return "a multiple of " + decimal(*s.MultipleOf), nil, true
	}
	return "", nil, false
}

func (b *bounds) text(v string) (want string, nearest *node, broken bool) {
	s, length := b.schema, utf8.RuneCountInString(v)
	switch {
	case s.MinLength != nil && length < *s.MinLength:
		return fmt.Sprintf("at least %s, and it has %d", count(*s.MinLength, "character"), length), nil, true
	case s.MaxLength != nil && length > *s.MaxLength:
		return fmt.Sprintf("at most %s, and it has %d", count(*s.MaxLength, "character"), length), nil, true
	case b.pattern != nil && !b.pattern.MatchString(v):
		return "a text that matches " + cut(s.Pattern, 100), nil, true
	}
	return "", nil, false
}

func decimal(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
