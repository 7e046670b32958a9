package config

import (
	"encoding/json"
	"reflect"
	"strconv"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
)

// Schema returns the JSON schema of the file, for editors.
func Schema() []byte {
	s := schemaOf(reflect.TypeFor[Config](), "")
	s.Schema = "https://json-schema.org/draft/2020-12/schema"
	s.Title = "The configuration of steady proxy"
	data, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		panic(err) // the schema is made of the types of this package
	}
	return append(data, '\n')
}

// schemaOf says what parser.into takes.
func schemaOf(t reflect.Type, tag reflect.StructTag) *jsonschema.Schema {
	nothing := &jsonschema.Schema{Not: &jsonschema.Schema{}}
	word := func(pattern string) *jsonschema.Schema { return &jsonschema.Schema{Type: "string", Pattern: pattern} }
	var s *jsonschema.Schema
	switch t {
	case reflect.TypeFor[Size]():
		s = word(sizeForm.String())
		s.Type, s.Types, s.Minimum = "", []string{"string", "integer"}, jsonschema.Ptr(1.0)
	case reflect.TypeFor[Rate]():
		s = word(rateForm.String())
	case reflect.TypeFor[Date]():
		s = word(`^[0-9]{4}-[0-9]{2}-[0-9]{2}$`)
	case reflect.TypeFor[Pattern]():
		s = &jsonschema.Schema{Type: "string", MinLength: jsonschema.Ptr(1)}
	case reflect.TypeFor[time.Duration](), reflect.TypeFor[Grace]():
		form := `([0-9]+(\.[0-9]+)?(ns|us|ms|s|m|h))+`
		for special := range specials(t, tag) {
			form += "|" + special
		}
		s = word("^(" + form + ")$")
	case reflect.TypeFor[Servers]():
		s = &jsonschema.Schema{
			Type:                 "object",
			PropertyNames:        word(serverName.String()),
			AdditionalProperties: schemaOf(reflect.TypeFor[Server](), ""),
		}
	}
	if words := choices[t]; words != nil {
		s = &jsonschema.Schema{}
		for _, w := range words {
			s.Enum = append(s.Enum, w)
		}
	}
	if s != nil {
		return s
	}
	switch t.Kind() {
	case reflect.Pointer:
		if t.Elem().Kind() == reflect.Bool {
			return schemaOf(t.Elem(), tag)
		}
		s = schemaOf(t.Elem(), tag)
		s.Type, s.Types = "", []string{"object", "boolean", "null"}
		return s
	case reflect.Struct:
		s = &jsonschema.Schema{Type: "object", Properties: map[string]*jsonschema.Schema{}, AdditionalProperties: nothing}
		for f := range t.Fields() {
			name := f.Tag.Get("yaml")
			if name == "" {
				continue
			}
			p := schemaOf(f.Type, f.Tag)
			p.Description = f.Tag.Get("about")
			if d := f.Tag.Get("default"); d != "" {
				p.Description += " (default " + d + ")"
			}
			s.Properties[name] = p
			s.PropertyOrder = append(s.PropertyOrder, name)
			if f.Tag.Get("required") != "" {
				s.Required = append(s.Required, name)
			}
		}
		return s
	case reflect.Slice:
		return &jsonschema.Schema{Type: "array", Items: schemaOf(t.Elem(), tag)}
	case reflect.Map:
		item := schemaOf(t.Elem(), tag)
		if t.Elem().Kind() == reflect.Struct && item.Required == nil {
			item.Type, item.Types = "", []string{"object", "null"}
		}
		return &jsonschema.Schema{Type: "object", AdditionalProperties: item}
	case reflect.String:
		return &jsonschema.Schema{Types: []string{"string", "number", "boolean"}} // written without quotes
	case reflect.Bool:
		return &jsonschema.Schema{Type: "boolean"}
	case reflect.Int:
		most, err := strconv.ParseFloat(tag.Get("max"), 64)
		if err != nil {
			most = 1_000_000
		}
		return &jsonschema.Schema{Type: "integer", Minimum: jsonschema.Ptr(1.0), Maximum: &most}
	default:
		return &jsonschema.Schema{}
	}
}
