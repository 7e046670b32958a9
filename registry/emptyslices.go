package registry

import (
	"encoding"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
)

// emptyPlaces are the fields of an output, as paths of indexes, whose nil
// slices and maps are made empty. The empty path is the output itself.
type emptyPlaces [][]int

// emptySlices returns the slices and maps of an output for which the output
// schema wants an array or an object. Without filling them a result is refused
// only when there is nothing to report, which tests rarely try.
//
// A derived schema allows null in such places, so there is nothing to do.
func emptySlices(t reflect.Type, schema any, inferred bool) emptyPlaces {
	if schema == nil || inferred {
		return nil
	}
	data, err := json.Marshal(schema)
	if err != nil {
		return nil
	}
	doc, err := parseDocument(data)
	if err != nil {
		return nil
	}
	if t.Kind() == reflect.Pointer {
		if t.Implements(marshaler) || t.Implements(textMarshaler) || t.Elem().Kind() != reflect.Struct {
			return nil
		}
		t = t.Elem()
	}
	return findEmpty(nil, t, doc, nil)
}

// fill makes the places of v, which can be set, empty. What v points at may be
// shared with the handler and with other calls, so v gets a copy of it instead.
func (places emptyPlaces) fill(v reflect.Value) {
	target, owned := v, true
	if v.Kind() == reflect.Pointer {
		owned = v.IsNil()
		if owned {
			v.Set(reflect.New(v.Type().Elem())) // as the SDK does for a nil pointer
		}
		target = v.Elem()
	}
	for _, path := range places {
		if !at(target, path).IsNil() {
			continue
		}
		if !owned {
			c := reflect.New(target.Type())
			c.Elem().Set(target)
			v.Set(c)
			target, owned = c.Elem(), true
		}
		switch f := at(target, path); f.Kind() {
		case reflect.Slice:
			f.Set(reflect.MakeSlice(f.Type(), 0, 0))
		case reflect.Map:
			f.Set(reflect.MakeMap(f.Type()))
		}
	}
}

func at(v reflect.Value, path []int) reflect.Value {
	for _, i := range path {
		v = v.Field(i)
	}
	return v
}

var (
	marshaler     = reflect.TypeFor[json.Marshaler]()
	textMarshaler = reflect.TypeFor[encoding.TextMarshaler]()
)

// findEmpty appends the places below path, where a t is. It covers the fields
// that are values: what pointers and elements hold is shared with whoever made
// it, and is left alone.
func findEmpty(places emptyPlaces, t reflect.Type, schema *document, path []int) emptyPlaces {
	if len(path) > 16 || t.Implements(marshaler) || t.Implements(textMarshaler) {
		return places
	}
	switch wanted := schema.get("type").string(); t.Kind() {
	case reflect.Slice:
		if wanted == "array" {
			places = append(places, path)
		}
	case reflect.Map:
		if wanted == "object" {
			places = append(places, path)
		}
	case reflect.Struct:
		for i := range t.NumField() {
			f := t.Field(i)
			name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
			below := schema
			switch {
			case name == "-" || strings.Contains(options, "omit") || !f.IsExported():
				continue
			case f.Anonymous && name == "":
			default:
				if name == "" {
					name = f.Name
				}
				below = schema.get("properties").get(name)
			}
			places = findEmpty(places, f.Type, below, append(slices.Clone(path), i))
		}
	}
	return places
}
