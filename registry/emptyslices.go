package registry

import (
	"encoding"
	"encoding/json"
	"reflect"
	"strings"
)

// emptySlices returns a function that makes nil slices and maps of an output
// empty where the output schema wants an array or an object, or nil if there
// are none. Without it a result is refused only when there is nothing to
// report, which tests rarely try.
//
// A derived schema allows null in such places, so there is nothing to do.
func emptySlices(t reflect.Type, schema any, inferred bool) func(reflect.Value) {
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
		fill := fillStruct(t.Elem(), doc, 0)
		if fill == nil {
			return nil
		}
		return func(v reflect.Value) {
			if !v.IsNil() {
				fill(v.Elem())
			}
		}
	}
	return fillValue(t, doc, 0)
}

var (
	marshaler     = reflect.TypeFor[json.Marshaler]()
	textMarshaler = reflect.TypeFor[encoding.TextMarshaler]()
)

func fillValue(t reflect.Type, schema *document, depth int) func(reflect.Value) {
	if depth > 16 || t.Implements(marshaler) || t.Implements(textMarshaler) {
		return nil
	}
	switch t.Kind() {
	case reflect.Struct:
		return fillStruct(t, schema, depth)
	case reflect.Slice:
		if schema.get("type").string() == "array" {
			return func(v reflect.Value) {
				if v.IsNil() && v.CanSet() {
					v.Set(reflect.MakeSlice(t, 0, 0))
				}
			}
		}
	case reflect.Map:
		if schema.get("type").string() == "object" {
			return func(v reflect.Value) {
				if v.IsNil() && v.CanSet() {
					v.Set(reflect.MakeMap(t))
				}
			}
		}
	}
	return nil
}

// fillStruct covers the fields that are values. What pointers and elements hold
// is shared with whoever made it, and is left alone.
func fillStruct(t reflect.Type, schema *document, depth int) func(reflect.Value) {
	if t.Kind() != reflect.Struct {
		return nil
	}
	var fills []func(reflect.Value)
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
		if fill := fillValue(f.Type, below, depth+1); fill != nil {
			fills = append(fills, func(v reflect.Value) { fill(v.Field(i)) })
		}
	}
	if fills == nil {
		return nil
	}
	return func(v reflect.Value) {
		for _, fill := range fills {
			fill(v)
		}
	}
}
