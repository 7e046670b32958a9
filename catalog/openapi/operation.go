package openapi

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/steadymcp/steady/catalog"
)

// A form collects the parameters of one operation.
type form struct {
	properties map[string]any
	required   []string
	in         map[string]catalog.Location
	example    map[string]any
	secured    map[string]bool // parameters that a security scheme names, as "query api_key"
}

// secured returns the parameters that the document's security schemes are.
func secured(doc *openapi3.T) map[string]bool {
	out := map[string]bool{}
	if doc.Components == nil {
		return out
	}
	for _, ref := range doc.Components.SecuritySchemes {
		if ref != nil && ref.Value != nil && ref.Value.Type == "apiKey" {
			out[ref.Value.In+" "+strings.ToLower(ref.Value.Name)] = true
		}
	}
	return out
}

// elsewhere reports whether an operation is served from another place than the
// document says: it would be called where it is not.
func elsewhere(doc *openapi3.T, item *openapi3.PathItem, op *openapi3.Operation) bool {
	servers := item.Servers
	if op.Servers != nil {
		servers = *op.Servers
	}
	return len(servers) > 0 && server(servers) != server(doc.Servers)
}

func entry(id, method, path string, doc *openapi3.T, item *openapi3.PathItem, op *openapi3.Operation) (*catalog.Entry, error) {
	if elsewhere(doc, item, op) {
		return nil, fmt.Errorf("it has a server of its own, which is not supported")
	}
	e := &catalog.Entry{ID: id, Method: method, Path: path, Summary: op.Summary, Description: op.Description, Tags: op.Tags}
	if e.Summary == "" {
		e.Summary, e.Description = firstSentence(op.Description)
	}
	if op.Deprecated {
		e.Description = strings.TrimSpace("Deprecated. " + e.Description)
	}
	if err := extensions(e, op.Extensions); err != nil {
		return nil, err
	}
	f := &form{properties: map[string]any{}, in: map[string]catalog.Location{}, example: map[string]any{}, secured: secured(doc)}
	for _, p := range parameters(item, op) {
		if err := f.parameter(p); err != nil {
			return nil, err
		}
	}
	if err := f.body(op.RequestBody); err != nil {
		return nil, err
	}
	schema := map[string]any{"type": "object", "properties": f.properties}
	if len(f.required) > 0 {
		slices.Sort(f.required)
		schema["required"] = f.required
	}
	var err error
	if e.Parameters, err = json.Marshal(schema); err != nil {
		return nil, err
	}
	if len(f.in) > 0 {
		e.In = f.in
	}
	if len(f.example) > 0 && !slices.ContainsFunc(f.required, func(name string) bool { _, ok := f.example[name]; return !ok }) {
		if e.Example, err = json.Marshal(f.example); err != nil {
			return nil, err
		}
	}
	return e, nil
}

func extensions(e *catalog.Entry, from map[string]any) error {
	for name, to := range map[string]any{"x-search-terms": &e.Terms, "x-signal": &e.Signal, "x-read-only": &e.ReadOnly} {
		v, ok := from[name]
		if !ok {
			continue
		}
		b, err := json.Marshal(v)
		if err == nil {
			err = json.Unmarshal(b, to)
		}
		if err != nil {
			return fmt.Errorf("the extension %s does not have its form", name)
		}
	}
	return nil
}

// parameters returns those of the operation and those of its path that it does
// not replace.
func parameters(item *openapi3.PathItem, op *openapi3.Operation) []*openapi3.Parameter {
	var out []*openapi3.Parameter
	for _, list := range []openapi3.Parameters{op.Parameters, item.Parameters} {
		for _, ref := range list {
			if ref == nil || ref.Value == nil {
				continue
			}
			p := ref.Value
			if !slices.ContainsFunc(out, func(o *openapi3.Parameter) bool { return o.Name == p.Name && o.In == p.In }) {
				out = append(out, p)
			}
		}
	}
	return out
}

// ours reports whether a parameter is for the server to set, if for anybody: a
// credential, or what rules the transport. A header is left out, because the
// server may add it to every request; nobody adds to a query.
func (f *form) ours(p *openapi3.Parameter) (bool, error) {
	switch {
	case p.In == openapi3.ParameterInHeader && (catalog.Reserved(catalog.InHeader, p.Name) || f.secured[p.In+" "+strings.ToLower(p.Name)]):
		return true, nil
	case p.In == openapi3.ParameterInQuery && (catalog.Reserved(catalog.InQuery, p.Name) || f.secured[p.In+" "+strings.ToLower(p.Name)]):
		if p.Required {
			return true, fmt.Errorf("its credential %q goes into the query, which is not supported", p.Name)
		}
		return true, nil
	}
	return false, nil
}

func (f *form) parameter(p *openapi3.Parameter) error {
	if ours, err := f.ours(p); ours {
		return err
	}
	s, ok := parameterSchema(p)
	if !ok {
		if p.Required {
			return fmt.Errorf("the parameter %q has a form that is not supported", p.Name)
		}
		return nil
	}
	switch p.In {
	case openapi3.ParameterInPath:
	case openapi3.ParameterInQuery:
		f.in[p.Name] = catalog.InQuery
	case openapi3.ParameterInHeader:
		f.in[p.Name] = catalog.InHeader
	default:
		if p.Required {
			return fmt.Errorf("the parameter %q goes to %q, which is not supported", p.Name, p.In)
		}
		return nil
	}
	if _, ok := f.properties[p.Name]; ok {
		return fmt.Errorf("two parameters are named %q", p.Name)
	}
	if p.Description != "" {
		s["description"] = p.Description
	}
	f.properties[p.Name] = s
	if p.Required || p.In == openapi3.ParameterInPath {
		f.required = append(f.required, p.Name)
	}
	if v := firstExample(p.Example, p.Examples, p.Schema); v != nil {
		f.example[p.Name] = v
	}
	return nil
}

// parameterSchema returns the schema of a parameter in the form in which the
// catalog sends it.
func parameterSchema(p *openapi3.Parameter) (map[string]any, bool) {
	if p.Schema == nil {
		return nil, false // a media type of its own
	}
	s := convert(p.Schema)
	switch s["type"] {
	case "object":
		return nil, false
	case "array":
		if p.In != openapi3.ParameterInQuery || p.Style == openapi3.SerializationSpaceDelimited || p.Style == openapi3.SerializationPipeDelimited || p.Explode != nil && !*p.Explode {
			by := map[string]string{openapi3.SerializationSpaceDelimited: "blanks", openapi3.SerializationPipeDelimited: "|"}[p.Style]
			p := *p
			p.Description = strings.TrimSpace(p.Description + " (several values are separated by " + cmp.Or(by, "commas") + ")")
			return map[string]any{"type": "string", "description": p.Description}, true
		}
	}
	return s, true
}

// firstExample returns the first example that there is: the single one, one of
// those with a name, one of the schema; or nil.
func firstExample(one any, named openapi3.Examples, schema *openapi3.SchemaRef) any {
	if one != nil {
		return one
	}
	for _, name := range sortedKeys(named) {
		if ref := named[name]; ref != nil && ref.Value != nil && ref.Value.Value != nil {
			return ref.Value.Value
		}
	}
	return schemaExample(schema)
}

func schemaExample(ref *openapi3.SchemaRef) any {
	if ref == nil || ref.Value == nil {
		return nil
	}
	if ref.Value.Example != nil {
		return ref.Value.Example
	}
	if len(ref.Value.Examples) > 0 {
		return ref.Value.Examples[0]
	}
	return nil
}

// body adds the JSON body: its properties if it is an object whose names are
// free, else as one parameter.
func (f *form) body(ref *openapi3.RequestBodyRef) error {
	if ref == nil || ref.Value == nil {
		return nil
	}
	media := jsonMedia(ref.Value.Content)
	if media == nil {
		if ref.Value.Required && len(ref.Value.Content) > 0 {
			return fmt.Errorf("its body is not JSON")
		}
		return nil
	}
	s := convert(media.Schema)
	whole := firstExample(media.Example, media.Examples, media.Schema)
	example, _ := whole.(map[string]any)
	properties, _ := s["properties"].(map[string]any)
	more := s["additionalProperties"]
	plain := s["type"] == "object" && len(properties) > 0 && (more == nil || more == false)
	for _, keyword := range []string{"allOf", "anyOf", "oneOf", "not"} {
		plain = plain && s[keyword] == nil
	}
	for name := range properties {
		_, taken := f.properties[name]
		plain = plain && !taken
	}
	if !plain {
		name := "body"
		for n := 2; f.properties[name] != nil; n++ {
			name = fmt.Sprintf("body%d", n)
		}
		f.properties[name] = s
		f.in[name] = catalog.InPayload
		if ref.Value.Required {
			f.required = append(f.required, name)
		}
		if whole != nil {
			f.example[name] = whole
		}
		return nil
	}
	required, _ := s["required"].([]string)
	for name, p := range properties {
		f.properties[name] = p
		f.in[name] = catalog.InBody
		if ref.Value.Required && slices.Contains(required, name) {
			f.required = append(f.required, name)
		}
		if v, ok := example[name]; ok {
			f.example[name] = v
		} else if v := schemaExample(media.Schema.Value.Properties[name]); v != nil {
			f.example[name] = v
		}
	}
	return nil
}

func jsonMedia(content openapi3.Content) *openapi3.MediaType {
	for _, kind := range sortedKeys(content) {
		name, _, _ := strings.Cut(strings.ToLower(kind), ";")
		name = strings.TrimSpace(name)
		if m := content[kind]; m != nil && m.Schema != nil && (name == "application/json" || strings.HasSuffix(name, "+json") || name == "*/*" || name == "application/*") {
			return m
		}
	}
	return nil
}

func firstSentence(text string) (first, rest string) {
	text = strings.TrimSpace(text)
	end := len(text)
	for _, stop := range []string{". ", ".\n", "\n"} {
		if i := strings.Index(text, stop); i > 0 && i+1 < end {
			end = i + 1
		}
	}
	return strings.TrimSpace(text[:end]), strings.TrimSpace(text[end:])
}
