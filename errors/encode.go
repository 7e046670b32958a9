package errors

import (
	"encoding"
	"encoding/json"
	"math"
	"reflect"
	"sync"
	"time"
)

// malformed is a result that a client cannot be given.
type malformed struct {
	what string
	err  error
}

func (m *malformed) Error() string { return "malformed " + m.what + ": " + m.err.Error() }
func (m *malformed) Unwrap() error { return m.err }

// encodes returns the error that encoding v would end in, or nil. For values
// that are known to encode it looks and encodes nothing.
func encodes(v any) error {
	if v == nil || surely(reflect.ValueOf(v), 0) {
		return nil
	}
	_, err := json.Marshal(v)
	return err
}

// surely reports whether v is known to encode. False means that only trying
// will tell: v is, or holds, a value with a MarshalJSON of its own, one that
// JSON has no form for, or one nested so deeply that it may be a cycle.
func surely(v reflect.Value, depth int) bool {
	if !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
		return true
	}
	p := planOf(v.Type())
	if p.verdict != look {
		return p.verdict == sure
	}
	if depth > 32 {
		return false
	}
	switch v.Type() {
	case rawMessageType:
		return v.IsNil() || json.Valid(v.Bytes())
	case timeType:
		if !v.CanInterface() {
			return false
		}
		y := v.Interface().(time.Time).Year()
		return 0 < y && y < 9999 // a zone can move the outer two out of what JSON allows
	}
	switch v.Kind() {
	case reflect.Float32, reflect.Float64:
		f := v.Float()
		return !math.IsNaN(f) && !math.IsInf(f, 0)
	case reflect.Pointer, reflect.Interface:
		return surely(v.Elem(), depth+1)
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			if !surely(v.Index(i), depth+1) {
				return false
			}
		}
	case reflect.Map:
		for i := v.MapRange(); i.Next(); {
			if !surely(i.Value(), depth+1) {
				return false
			}
		}
	case reflect.Struct:
		for _, i := range p.fields {
			if !surely(v.Field(i), depth+1) {
				return false
			}
		}
	}
	return true
}

// A plan is what a type alone tells about encoding its values.
type plan struct {
	verdict verdict
	fields  []int // of a struct: those that have to be looked at
}

type verdict int

const (
	sure   verdict = iota // every value encodes
	look                  // it depends on the value
	unsure                // only trying will tell
)

// plans caches the plan of every type met so far: a program has so many types
// and no more.
var plans sync.Map // from reflect.Type to plan

func planOf(t reflect.Type) plan {
	if p, ok := plans.Load(t); ok {
		return p.(plan)
	}
	return makePlan(t, map[reflect.Type]bool{})
}

var (
	rawMessageType    = reflect.TypeFor[json.RawMessage]()
	timeType          = reflect.TypeFor[time.Time]()
	numberType        = reflect.TypeFor[json.Number]()
	marshalerType     = reflect.TypeFor[json.Marshaler]()
	textMarshalerType = reflect.TypeFor[encoding.TextMarshaler]()
)

// marshals reports whether values of t may be encoded by a method of their own.
func marshals(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return t.Implements(marshalerType) || t.Implements(textMarshalerType) || p.Implements(marshalerType) || p.Implements(textMarshalerType)
}

// makePlan makes the plan of t and of the types inside it. Those in making hold
// themselves, and therefore have to be looked at.
func makePlan(t reflect.Type, making map[reflect.Type]bool) (p plan) {
	if made, ok := plans.Load(t); ok {
		return made.(plan)
	}
	if making[t] {
		return plan{verdict: look}
	}
	making[t] = true
	defer func() { plans.Store(t, p) }()
	switch {
	case t == rawMessageType || t == timeType || t.Kind() == reflect.Interface:
		return plan{verdict: look}
	case t == numberType || marshals(t):
		return plan{verdict: unsure}
	}
	switch t.Kind() {
	case reflect.Bool, reflect.String,
		reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return plan{verdict: sure}
	case reflect.Float32, reflect.Float64:
		return plan{verdict: look}
	case reflect.Map:
		if t.Key().Kind() != reflect.String || marshals(t.Key()) {
			return plan{verdict: unsure}
		}
		return plan{verdict: ofElements(t, making)}
	case reflect.Pointer, reflect.Slice, reflect.Array:
		return plan{verdict: ofElements(t, making)}
	case reflect.Struct:
		for i := range t.NumField() {
			f := t.Field(i)
			if !f.IsExported() && !f.Anonymous || f.Tag.Get("json") == "-" {
				continue
			}
			if makePlan(f.Type, making).verdict != sure {
				p.verdict = look
				p.fields = append(p.fields, i)
			}
		}
		return p
	default: // channels, functions, complex numbers
		return plan{verdict: unsure}
	}
}

// ofElements returns the verdict on a type whose values may hold no element, so
// that one which is unsure about its elements has to be looked at.
func ofElements(t reflect.Type, making map[reflect.Type]bool) verdict {
	return min(makePlan(t.Elem(), making).verdict, look)
}

// isNil reports whether v is nil or a nil pointer in an interface.
func isNil(v any) bool {
	if v == nil {
		return true
	}
	r := reflect.ValueOf(v)
	return r.Kind() == reflect.Pointer && r.IsNil()
}
