package pagination

import (
	"cmp"
	"encoding"
	"encoding/json"
	"reflect"
	"strings"
)

// exceeds reports whether the JSON of v surely has more than limit bytes. It
// does not encode v: that would be the copy that the question is to avoid. It
// counts no more than is certain, so that false only means "perhaps not", and
// stops when it knows.
func exceeds(v any, limit int) bool {
	s := sizer{left: limit}
	s.value(reflect.ValueOf(v), 0)
	return s.left < 0
}

type sizer struct{ left int }

var (
	jsonMarshaler = reflect.TypeFor[json.Marshaler]()
	textMarshaler = reflect.TypeFor[encoding.TextMarshaler]()
	rawMessage    = reflect.TypeFor[json.RawMessage]()
	jsonNumber    = reflect.TypeFor[json.Number]()
)

func (s *sizer) value(v reflect.Value, depth int) {
	if s.left < 0 || depth > maxDepth || !v.IsValid() {
		return
	}
	t := v.Type()
	if t == rawMessage || t == jsonNumber {
		s.left -= v.Len()
		return
	}
	if p := reflect.PointerTo(t); t.Implements(jsonMarshaler) || t.Implements(textMarshaler) || p.Implements(jsonMarshaler) || p.Implements(textMarshaler) {
		s.left-- // at least one digit; its method is not run for this
		return
	}
	switch v.Kind() {
	case reflect.String:
		s.left -= v.Len() + 2
	case reflect.Interface, reflect.Pointer:
		if !v.IsNil() {
			s.value(v.Elem(), depth+1)
		}
	case reflect.Slice, reflect.Array:
		if v.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8 {
			s.left -= v.Len() // base64 is longer
			return
		}
		s.left -= 1 + v.Len() // a comma or bracket each
		for i := 0; i < v.Len() && s.left >= 0; i++ {
			s.value(v.Index(i), depth+1)
		}
	case reflect.Map:
		for it := v.MapRange(); s.left >= 0 && it.Next(); {
			s.left -= 3 // "":
			if it.Key().Kind() == reflect.String {
				s.left -= it.Key().Len()
			}
			s.value(it.Value(), depth+1)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			f := t.Field(i)
			tag := f.Tag.Get("json")
			if !f.IsExported() || tag == "-" || f.Anonymous || s.left < 0 {
				continue
			}
			name, options, _ := strings.Cut(tag, ",")
			if !strings.Contains(options, "omit") {
				s.left -= len(cmp.Or(name, f.Name)) + 3 // "":
			} else if v.Field(i).IsZero() {
				continue // perhaps left out
			}
			s.value(v.Field(i), depth+1)
		}
	default:
		s.left--
	}
}
