package registry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A definition is one tool and what the registry knows of it.
type definition struct {
	name       string
	seq        int       // counts registrations
	source     *mcp.Tool // what the SDK holds
	advertised *mcp.Tool // what clients see
	readOnly   bool
	// register gives the tool and its handler to a server.
	register func(*mcp.Server)
	// inferredIn and inferredOut say that a schema comes from a Go type.
	inferredIn, inferredOut bool

	aliases   []string
	renames   []*Rename
	arguments map[string]string // other name -> parameter
	group     string
	examples  []ToolExample
	visible   Visibility

	others   []*otherName
	cleaned  []SchemaCleaned
	problems []error
}

// exactSchema holds a schema's JSON as it was written. It is used by pointer,
// so that a tool that a server lists can be recognized as the one that was
// registered.
type exactSchema struct{ json.RawMessage }

var emptyInput = &jsonschema.Schema{Type: "object"}

// Add registers a tool with a typed handler, as [mcp.AddTool] does, and says
// what is wrong with it instead of panicking. The tool is copied, with its
// schemas, annotations, icons and _meta; values inside _meta are not.
//
// Where the output schema is given and wants an array or an object, and the
// handler's output has a nil slice or map, an empty one is sent. The output
// itself is never changed, so a handler may return a pointer that it shares.
//
// The error may be left to [Registry.Err].
func Add[In, Out any](r *Registry, tool *mcp.Tool, handler mcp.ToolHandlerFor[In, Out], opts ...ToolOption) error {
	d := define(tool)
	if handler == nil {
		d.problems = append(d.problems, errors.New("the handler is nil"))
	} else if d.source != nil {
		d.infer(reflect.TypeFor[In](), reflect.TypeFor[Out]())
		source := d.source
		if places := emptySlices(reflect.TypeFor[Out](), source.OutputSchema, d.inferredOut); places != nil {
			inner := handler
			handler = func(ctx context.Context, req *mcp.CallToolRequest, in In) (*mcp.CallToolResult, Out, error) {
				res, out, err := inner(ctx, req, in)
				if err == nil {
					places.fill(reflect.ValueOf(&out).Elem())
				}
				return res, out, err
			}
		}
		d.register = func(s *mcp.Server) { mcp.AddTool(s, source, handler) }
	}
	return r.add(d, opts)
}

// AddRaw registers a tool with a handler that reads its arguments by itself,
// as [mcp.Server.AddTool] does. The tool is copied as in [Add]. A tool without
// a schema takes no arguments.
//
// The error may be left to [Registry.Err].
func AddRaw(r *Registry, tool *mcp.Tool, handler mcp.ToolHandler, opts ...ToolOption) error {
	d := define(tool)
	if handler == nil {
		d.problems = append(d.problems, errors.New("the handler is nil"))
	} else if d.source != nil {
		source := d.source
		if source.InputSchema == nil {
			source.InputSchema = emptyInput
		}
		d.register = func(s *mcp.Server) { s.AddTool(source, handler) }
	}
	return r.add(d, opts)
}

func define(tool *mcp.Tool) *definition {
	d := &definition{}
	if tool == nil {
		return d
	}
	c := copyTool(tool)
	d.source, d.name = c, c.Name
	d.readOnly = isReadOnly(tool)
	for _, s := range []*any{&c.InputSchema, &c.OutputSchema} {
		exact, err := exactly(*s)
		if err != nil {
			d.problems = append(d.problems, err)
		}
		*s = exact
	}
	return d
}

func isReadOnly(t *mcp.Tool) bool { return t.Annotations != nil && t.Annotations.ReadOnlyHint }

// exactly returns a schema in a form that the registry recognizes again: a
// *jsonschema.Schema as a copy, which an [mcp.SchemaCache] knows by its pointer,
// anything else as JSON.
func exactly(schema any) (any, error) {
	switch s := schema.(type) {
	case nil:
		return nil, nil
	case *jsonschema.Schema:
		if s == nil {
			return nil, errors.New("a schema is a nil pointer")
		}
		c, err := copySchema(s)
		if err != nil {
			return nil, err
		}
		return c, nil
	default:
		data, err := json.Marshal(s)
		if err != nil {
			return nil, fmt.Errorf("a schema cannot be encoded: %w", err)
		}
		return &exactSchema{data}, nil
	}
}

// infer derives missing schemas from the handler's types, by the SDK's rules.
func (d *definition) infer(in, out reflect.Type) {
	empty := reflect.TypeFor[any]()
	if d.source.InputSchema == nil {
		d.inferredIn = true
		if in == empty {
			d.source.InputSchema = emptyInput
		} else {
			d.source.InputSchema = d.schemaOf(in, "arguments")
		}
	}
	if d.source.OutputSchema == nil && out != empty {
		d.inferredOut = true
		d.source.OutputSchema = d.schemaOf(out, "output")
	}
}

func (d *definition) schemaOf(t reflect.Type, what string) any {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	s, err := jsonschema.ForType(t, &jsonschema.ForOptions{})
	if err != nil {
		d.problems = append(d.problems, fmt.Errorf("no schema can be derived for the %s, %v: %w", what, t, err))
		return nil
	}
	return s
}

// prepare encodes what is advertised.
func (d *definition) prepare(verbatim bool) error {
	adv, cleaned, err := advertise(d.source, verbatim, d.inferredIn, d.inferredOut)
	if err != nil {
		return err
	}
	d.advertised, d.cleaned = adv, cleaned
	for _, a := range d.aliases {
		d.others = append(d.others, newOtherName(a, d))
	}
	for _, r := range d.renames {
		o, err := newFormerName(d, r)
		if err != nil {
			return err
		}
		d.others = append(d.others, o)
		for _, a := range r.Arguments {
			if _, declared := d.arguments[a[0]]; !declared && !o.properties[a[0]] {
				ArgumentAliases(a[1], a[0])(d)
			}
		}
	}
	properties, err := declaredProperties(adv)
	if err != nil {
		return err
	}
	for alias, param := range d.arguments {
		if !properties[param] {
			return fmt.Errorf("argument alias %q stands for %q, which is no parameter", alias, param)
		}
		if properties[alias] {
			return fmt.Errorf("argument alias %q is a parameter itself", alias)
		}
	}
	return d.checkExamples()
}

func (d *definition) checkExamples() error {
	if len(d.examples) == 0 {
		return nil
	}
	resolved, err := d.inputSchema()
	if err != nil {
		return err
	}
	for i, e := range d.examples {
		var args map[string]any
		if err := json.Unmarshal(e.Arguments, &args); err != nil {
			return fmt.Errorf("example %d is not an object: %w", i+1, err)
		}
		if err := resolved.Validate(args); err != nil {
			return fmt.Errorf("example %d does not fit the input schema: %w", i+1, err)
		}
	}
	return nil
}

// inputSchema returns what the server validates arguments with, without some
// keywords of its root.
func (d *definition) inputSchema(without ...string) (*jsonschema.Resolved, error) {
	data, err := json.Marshal(d.source.InputSchema)
	if err != nil {
		return nil, err
	}
	doc, err := parseDocument(data)
	if err != nil {
		return nil, fmt.Errorf("the input schema cannot be read: %w", err)
	}
	for _, k := range without {
		doc.remove(k)
	}
	var schema jsonschema.Schema
	if err := json.Unmarshal(doc.bytes(), &schema); err != nil {
		return nil, fmt.Errorf("the input schema cannot be read: %w", err)
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		return nil, fmt.Errorf("the input schema cannot be resolved: %w", err)
	}
	return resolved, nil
}

// allNames returns the tool's name and then every other name.
func (d *definition) allNames() []string {
	all := append([]string{d.name}, d.aliases...)
	for _, r := range d.renames {
		all = append(all, r.Name)
	}
	return all
}

// advertise returns t as clients see it.
func advertise(t *mcp.Tool, verbatim, inferredIn, inferredOut bool) (*mcp.Tool, []SchemaCleaned, error) {
	c := *t
	var changes []change
	for _, s := range []struct {
		schema   *any
		name     string
		input    bool
		inferred bool
	}{
		{&c.InputSchema, "inputSchema", true, inferredIn},
		{&c.OutputSchema, "outputSchema", false, inferredOut},
	} {
		if *s.schema == nil {
			continue
		}
		data, err := json.Marshal(*s.schema)
		if err != nil {
			return nil, nil, fmt.Errorf("%s cannot be encoded: %w", s.name, err)
		}
		doc, err := parseDocument(data)
		if err != nil {
			return nil, nil, fmt.Errorf("%s cannot be read: %w", s.name, err)
		}
		if !verbatim {
			for _, ch := range clean(doc, s.input, s.inferred) {
				ch.pointer = "/" + s.name + ch.pointer
				changes = append(changes, ch)
			}
		}
		*s.schema = json.RawMessage(doc.bytes())
	}
	return &c, summarize(t.Name, changes), nil
}

// maxPointers is how many places an event names.
const maxPointers = 5

// summarize makes one event of each kind of change.
func summarize(tool string, changes []change) (events []SchemaCleaned) {
	type kind struct {
		what string
		warn bool
	}
	at := map[kind]int{}
	seen := map[change]bool{}
	for _, ch := range changes {
		if seen[ch] {
			continue // in another copy of the same definition
		}
		seen[ch] = true
		k := kind{ch.what, ch.warn}
		i, ok := at[k]
		if !ok {
			i = len(events)
			at[k] = i
			events = append(events, SchemaCleaned{Tool: tool, Change: ch.what, Loss: ch.warn})
		}
		e := &events[i]
		e.Count++
		if len(e.Pointers) < maxPointers {
			e.Pointers = append(e.Pointers, ch.pointer)
		}
	}
	return events
}

func declaredProperties(t *mcp.Tool) (map[string]bool, error) {
	data, ok := t.InputSchema.(json.RawMessage)
	if !ok {
		return nil, nil
	}
	doc, err := parseDocument(data)
	if err != nil {
		return nil, err
	}
	set := map[string]bool{}
	if p := doc.get("properties"); p.isObject() {
		for _, k := range p.keys {
			set[k] = true
		}
	}
	return set, nil
}

// date is the form of a sunset.
const date = time.DateOnly
