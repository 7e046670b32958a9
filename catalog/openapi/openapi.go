// Package openapi reads the entries of a [catalog.Catalog] from an OpenAPI
// document, version 3.0 or 3.1, as JSON or YAML.
//
// References to other files and hosts are refused. An operation that the
// catalog cannot call, because its body is no JSON for example, is a problem
// and not an error: the others are read.
package openapi

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/steadymcp/steady/catalog"
)

// Options configures [Parse]. The zero value is ready to use.
type Options struct {
	// Include, if non-nil, chooses the operations that become entries.
	Include func(method, path string, op *openapi3.Operation) bool
	// MaxBytes of the document. If zero, 16 MiB.
	MaxBytes int
}

// A Document is what was read.
type Document struct {
	Entries []catalog.Entry
	// Problems are operations that were left out, and why.
	Problems []catalog.Problem
	// Server is the URL of the first server with its variables at their
	// defaults, for [catalog.NewUpstream]; "" if the document names none. The
	// entries' paths come behind it.
	Server string
	// Version is that of the API.
	Version string
}

// Snapshot returns the entries as a source's answer.
func (d *Document) Snapshot() *catalog.Snapshot {
	return &catalog.Snapshot{Version: d.Version, Entries: d.Entries, Problems: d.Problems}
}

// Source returns a source of the document's entries.
func (d *Document) Source() catalog.Source { return source{d.Snapshot()} }

type source struct{ snapshot *catalog.Snapshot }

func (s source) Load(_ context.Context, have string) (*catalog.Snapshot, error) {
	if have != "" && have == s.snapshot.Version {
		return nil, catalog.ErrUnchanged
	}
	return s.snapshot, nil
}

// Parse reads a document. A nil opts means the zero Options. The error says
// that the document is none, is too large, or refers to something outside.
//
// An operation's extensions x-search-terms (a list), x-signal and x-read-only
// fill in what OpenAPI has no words for.
func Parse(document []byte, opts *Options) (*Document, error) {
	var o Options
	if opts != nil {
		o = *opts
	}
	if o.MaxBytes <= 0 {
		o.MaxBytes = 16 << 20
	}
	if len(document) > o.MaxBytes {
		return nil, fmt.Errorf("openapi: the document has %d bytes, more than %d", len(document), o.MaxBytes)
	}
	loader := openapi3.NewLoader()
	loader.IsExternalRefsAllowed = false
	doc, err := loader.LoadFromData(document)
	if err != nil {
		return nil, fmt.Errorf("openapi: %w", err)
	}
	if !strings.HasPrefix(doc.OpenAPI, "3.") {
		return nil, fmt.Errorf("openapi: the document says version %q, not 3.0 or 3.1", doc.OpenAPI)
	}
	d := &Document{Server: server(doc)}
	if doc.Info != nil {
		d.Version = doc.Info.Version
	}
	seen := map[string]bool{}
	for _, path := range slices.Sorted(slices.Values(doc.Paths.Keys())) {
		item := doc.Paths.Value(path)
		if item == nil {
			continue
		}
		for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
			op := item.GetOperation(method)
			if op == nil || o.Include != nil && !o.Include(method, path, op) {
				continue
			}
			id := unused(seen, identifier(op.OperationID, method, path))
			e, err := entry(id, method, path, item, op)
			if err != nil {
				d.Problems = append(d.Problems, catalog.Problem{ID: id, Err: err})
				continue
			}
			d.Entries = append(d.Entries, *e)
		}
	}
	return d, nil
}

func server(doc *openapi3.T) string {
	if len(doc.Servers) == 0 || doc.Servers[0] == nil {
		return ""
	}
	s := doc.Servers[0]
	url := s.URL
	for name, v := range s.Variables {
		if v != nil {
			url = strings.ReplaceAll(url, "{"+name+"}", v.Default)
		}
	}
	return url
}

var notInID = regexp.MustCompile(`[^A-Za-z0-9._-]+`)

// identifier makes an id from the operation's own, else from method and path.
func identifier(own, method, path string) string {
	id := own
	if id == "" {
		id = strings.ToLower(method) + "-" + strings.NewReplacer("{", "by-", "}", "").Replace(strings.Trim(path, "/"))
	}
	id = strings.Trim(notInID.ReplaceAllString(id, "-"), "-._")
	for strings.Contains(id, "..") {
		id = strings.ReplaceAll(id, "..", ".")
	}
	return cmp.Or(strings.Trim(id[:min(len(id), 120)], "-._"), "operation")
}

func unused(seen map[string]bool, id string) string {
	free := id
	for n := 2; seen[free]; n++ {
		free = fmt.Sprintf("%s-%d", id, n)
	}
	seen[free] = true
	return free
}

// A form collects the parameters of one operation.
type form struct {
	properties map[string]any
	required   []string
	in         map[string]catalog.Location
	example    map[string]any
}

func entry(id, method, path string, item *openapi3.PathItem, op *openapi3.Operation) (*catalog.Entry, error) {
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
	f := &form{properties: map[string]any{}, in: map[string]catalog.Location{}, example: map[string]any{}}
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

// ours are headers that the server sets by itself. OpenAPI says of the first
// three that a parameter of that name is to be ignored; the others are
// credentials.
var ours = []string{"accept", "content-type", "authorization", "cookie", "x-api-key", "api-key", "x-auth-token"}

func (f *form) parameter(p *openapi3.Parameter) error {
	if p.In == openapi3.ParameterInHeader && slices.Contains(ours, strings.ToLower(p.Name)) {
		return nil
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
	if v := parameterExample(p); v != nil {
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

func parameterExample(p *openapi3.Parameter) any {
	if p.Example != nil {
		return p.Example
	}
	for _, name := range sortedKeys(p.Examples) {
		if ref := p.Examples[name]; ref != nil && ref.Value != nil && ref.Value.Value != nil {
			return ref.Value.Value
		}
	}
	return schemaExample(p.Schema)
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
	example, _ := bodyExample(media).(map[string]any)
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
		if v := bodyExample(media); v != nil {
			f.example[name] = v
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

func bodyExample(m *openapi3.MediaType) any {
	if m.Example != nil {
		return m.Example
	}
	for _, name := range sortedKeys(m.Examples) {
		if ref := m.Examples[name]; ref != nil && ref.Value != nil && ref.Value.Value != nil {
			return ref.Value.Value
		}
	}
	return schemaExample(m.Schema)
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

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
