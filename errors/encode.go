package errors

import (
	"encoding"
	"encoding/json"
	"math"
	"reflect"
	"strings"
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

var (
	rawMessageType    = reflect.TypeFor[json.RawMessage]()
	timeType          = reflect.TypeFor[time.Time]()
	marshalerType     = reflect.TypeFor[json.Marshaler]()
	textMarshalerType = reflect.TypeFor[encoding.TextMarshaler]()
)

// surely reports whether v is known to encode. False means that only trying
// will tell: v is, or holds, a value with a MarshalJSON of its own, one that
// JSON has no form for, or one nested so deeply that it may be a cycle.
func surely(v reflect.Value, depth int) bool {
	if depth > 32 {
		return false
	}
	if !v.IsValid() {
		return true
	}
	switch v.Type() {
	case rawMessageType:
		raw := v.Bytes()
		return raw == nil || json.Valid(raw)
	case timeType:
		if !v.CanInterface() {
			return false
		}
		y := v.Interface().(time.Time).Year()
		return 0 < y && y < 9999 // a zone can move the outer two out of what JSON allows
	}
	if t := v.Type(); v.Kind() != reflect.Interface && (t.Implements(marshalerType) || t.Implements(textMarshalerType) ||
		v.CanAddr() && reflect.PointerTo(t).Implements(marshalerType)) {
		return v.Kind() == reflect.Pointer && v.IsNil()
	}
	switch v.Kind() {
	case reflect.Bool, reflect.String,
		reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return v.Type() != numberType
	case reflect.Float32, reflect.Float64:
		f := v.Float()
		return !math.IsNaN(f) && !math.IsInf(f, 0)
	case reflect.Pointer, reflect.Interface:
		return v.IsNil() || surely(v.Elem(), depth+1)
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return true
		}
		return surelyEach(v, depth)
	case reflect.Array:
		return surelyEach(v, depth)
	case reflect.Map:
		if v.Type().Key().Kind() != reflect.String || v.Type().Key().Implements(textMarshalerType) {
			return false
		}
		for i := v.MapRange(); i.Next(); {
			if !surely(i.Value(), depth+1) {
				return false
			}
		}
		return true
	case reflect.Struct:
		t := v.Type()
		for i := range t.NumField() {
			f := t.Field(i)
			if !f.IsExported() && !f.Anonymous || strings.HasPrefix(f.Tag.Get("json"), "-") {
				continue
			}
			if !surely(v.Field(i), depth+1) {
				return false
			}
		}
		return true
	default:
		return false
	}
}

var numberType = reflect.TypeFor[json.Number]()

func surelyEach(v reflect.Value, depth int) bool {
	for i := range v.Len() {
		if !surely(v.Index(i), depth+1) {
			return false
		}
	}
	return true
}

// isNil reports whether v is nil or a nil pointer in an interface.
func isNil(v any) bool {
	if v == nil {
		return true
	}
	r := reflect.ValueOf(v)
	return r.Kind() == reflect.Pointer && r.IsNil()
}
