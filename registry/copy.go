package registry

import (
	"errors"
	"maps"
	"reflect"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// copyTool copies everything of a tool but its schemas.
func copyTool(t *mcp.Tool) *mcp.Tool {
	c := *t
	c.Meta = maps.Clone(t.Meta)
	c.Icons = slices.Clone(t.Icons)
	for i := range c.Icons {
		c.Icons[i].Sizes = slices.Clone(c.Icons[i].Sizes)
	}
	if t.Annotations != nil {
		a := *t.Annotations
		a.DestructiveHint = copyBool(a.DestructiveHint)
		a.OpenWorldHint = copyBool(a.OpenWorldHint)
		c.Annotations = &a
	}
	return &c
}

func copyBool(b *bool) *bool {
	if b == nil {
		return nil
	}
	c := *b
	return &c
}

// copySchema copies a schema with everything in it. (Its CloneSchemas shares
// the lists of names and values.) A schema that stands in two places does so in
// the copy, for the SDK to refuse; one that contains itself is an error, because
// the SDK would not return.
func copySchema(s *jsonschema.Schema) (*jsonschema.Schema, error) {
	c := &schemaCopier{done: map[*jsonschema.Schema]*jsonschema.Schema{}}
	s = c.copy(reflect.ValueOf(s)).Interface().(*jsonschema.Schema)
	return s, c.err
}

type schemaCopier struct {
	done map[*jsonschema.Schema]*jsonschema.Schema // nil while it is being copied
	err  error
}

func (c *schemaCopier) copy(v reflect.Value) reflect.Value {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface, reflect.Slice, reflect.Map:
		if v.IsNil() {
			return v
		}
	}
	switch v.Kind() {
	case reflect.Pointer:
		if s, ok := v.Interface().(*jsonschema.Schema); ok {
			return reflect.ValueOf(c.schema(s))
		}
		if v.Elem().Kind() == reflect.Struct {
			return v // a value of the author's own, in an enum for example
		}
		to := reflect.New(v.Type().Elem())
		to.Elem().Set(c.copy(v.Elem()))
		return to
	case reflect.Interface:
		return c.copy(v.Elem())
	case reflect.Slice:
		to := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		for i := range v.Len() {
			to.Index(i).Set(c.copy(v.Index(i)))
		}
		return to
	case reflect.Map:
		to := reflect.MakeMapWithSize(v.Type(), v.Len())
		for _, k := range v.MapKeys() {
			to.SetMapIndex(k, c.copy(v.MapIndex(k)))
		}
		return to
	default:
		return v
	}
}

func (c *schemaCopier) schema(s *jsonschema.Schema) *jsonschema.Schema {
	if to, seen := c.done[s]; seen {
		if to == nil {
			c.err = errors.New("a schema contains itself; use $ref")
		}
		return to
	}
	c.done[s] = nil
	to := &jsonschema.Schema{}
	from, fields := reflect.ValueOf(s).Elem(), reflect.ValueOf(to).Elem()
	for i := range fields.NumField() {
		fields.Field(i).Set(c.copy(from.Field(i)))
	}
	c.done[s] = to
	return to
}
