package discovery

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/steadymcp/steady/errors"
)

// Handler mends the arguments of one tool for a raw handler, for
// Server.AddTool. tool is the tool that h is registered with; its input schema
// is resolved now, and Handler fails if it cannot be. A nil opts means the
// zero Options.
//
// Behind a [Resolver]'s middleware the work is done once.
func Handler(tool *mcp.Tool, h mcp.ToolHandler, opts *Options) (mcp.ToolHandler, error) {
	if tool == nil || h == nil {
		return nil, fmt.Errorf("discovery: a tool and a handler are needed")
	}
	if _, err := compile(tool.InputSchema); err != nil {
		return nil, fmt.Errorf("discovery: input schema of %s: %w", tool.Name, err)
	}
	wrapped.Store(true)
	r := New(opts)
	return func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if req == nil || req.Params == nil || alreadyRepaired(ctx, req.Params.Arguments) {
			return h(ctx, req)
		}
		r.counters.calls.Add(1)
		r.counters.exact.Add(1)
		out, refusal := r.arguments(ctx, req, tool)
		if refusal != nil {
			return refusal, nil
		}
		silent := len(out.changes) == 0 && len(out.leaked) == 0
		if silent && len(out.arguments) == len(req.Params.Arguments) {
			return h(ctx, req)
		}
		params := *req.Params
		params.Arguments = out.arguments
		changed := *req
		changed.Params = &params
		res, err := h(ctx, &changed)
		if err != nil || res == nil || silent {
			return res, err
		}
		return disclose(res, disclosure{Arguments: out.changes, Leaked: out.leaked}, out.note).(*mcp.CallToolResult), nil
	}, nil
}

// HandlerFor mends the arguments of one tool for a typed handler. It returns
// what to call Server.AddTool with: the tool with its schemas filled in as
// mcp.AddTool fills them in, and a raw handler, which sees the arguments before
// anything has refused them.
//
// The handler does what the SDK does around a typed one: it fills in defaults,
// decodes In, and validates and encodes Out. One thing is better: integers
// above 2^53 keep every digit on both ways.
func HandlerFor[In, Out any](tool *mcp.Tool, h mcp.ToolHandlerFor[In, Out], opts *Options) (*mcp.Tool, mcp.ToolHandler, error) {
	if tool == nil || h == nil {
		return nil, nil, fmt.Errorf("discovery: a tool and a handler are needed")
	}
	t := *tool
	if t.InputSchema == nil && reflect.TypeFor[In]() == reflect.TypeFor[any]() {
		t.InputSchema = &jsonschema.Schema{Type: "object"}
	}
	input, err := schemaFor[In](&t.InputSchema)
	if err != nil {
		return nil, nil, fmt.Errorf("discovery: input schema of %s: %w", t.Name, err)
	}
	var output *jsonschema.Resolved
	if t.OutputSchema != nil || reflect.TypeFor[Out]() != reflect.TypeFor[any]() {
		s, err := schemaFor[Out](&t.OutputSchema)
		if err != nil {
			return nil, nil, fmt.Errorf("discovery: output schema of %s: %w", t.Name, err)
		}
		if output, err = s.Resolve(&jsonschema.ResolveOptions{ValidateDefaults: true}); err != nil {
			return nil, nil, fmt.Errorf("discovery: output schema of %s: %w", t.Name, err)
		}
	}
	typed := func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		var in In
		if err := decode(req.Params.Arguments, input, &in); err != nil {
			res := &mcp.CallToolResult{}
			res.SetError(err)
			return res, nil
		}
		res, out, err := h(ctx, req, in)
		if err != nil {
			if protocol, ok := err.(*jsonrpc.Error); ok {
				return nil, protocol
			}
			res = &mcp.CallToolResult{}
			res.SetError(err)
			return res, nil
		}
		return encodeOutput(res, any(out), output, reflect.TypeFor[Out]())
	}
	raw, err := Handler(&t, typed, opts)
	if err != nil {
		return nil, nil, err
	}
	return &t, raw, nil
}

// schemaFor returns the schema in field, or derives it from T and puts it there.
func schemaFor[T any](field *any) (*jsonschema.Schema, error) {
	if *field == nil {
		rt := reflect.TypeFor[T]()
		if rt.Kind() == reflect.Pointer {
			rt = rt.Elem()
		}
		s, err := jsonschema.ForType(rt, &jsonschema.ForOptions{})
		if err != nil {
			return nil, err
		}
		*field = s
		return s.CloneSchemas(), nil
	}
	if s, ok := (*field).(*jsonschema.Schema); ok {
		if s == nil {
			return nil, fmt.Errorf("no schema")
		}
		return s.CloneSchemas(), nil
	}
	raw, err := json.Marshal(*field)
	if err != nil {
		return nil, err
	}
	s := &jsonschema.Schema{}
	return s, json.Unmarshal(raw, s)
}

// decode fills in defaults and decodes arguments into in, from their own bytes.
func decode(raw json.RawMessage, s *jsonschema.Schema, in any) error {
	if len(bytes.TrimSpace(raw)) == 0 {
		raw = json.RawMessage("{}")
	}
	root, err := parseJSON(raw)
	if err != nil {
		return fmt.Errorf("the arguments are not valid JSON")
	}
	fillDefaults(root, s, 0)
	if root.kind == 'o' {
		// encoding/json would take "Query" for a field named query.
		for name := range s.Properties {
			for i := 0; i < len(root.members); i++ {
				if k := root.members[i].key; k != name && s.Properties[k] == nil && strings.EqualFold(k, name) && reflect.TypeOf(in).Elem().Kind() == reflect.Struct {
					root.members = slices.Delete(root.members, i, i+1)
					root.changed = true
					i--
				}
			}
		}
	}
	if err := json.Unmarshal(root.bytes(), in); err != nil {
		// The decoder's own text names Go types.
		var wrong *json.UnmarshalTypeError
		if errors.As(err, &wrong) && wrong.Field != "" {
			return fmt.Errorf("the argument %s cannot hold the %s that was sent", quote(wrong.Field), wrong.Value)
		}
		return fmt.Errorf("the arguments cannot be read")
	}
	return nil
}

// fillDefaults adds the defaults of optional properties that are missing.
func fillDefaults(n *node, s *jsonschema.Schema, depth int) {
	if n.kind != 'o' || s == nil || depth > maxDepth {
		return
	}
	names := make([]string, 0, len(s.Properties))
	for name := range s.Properties {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		sub := s.Properties[name]
		if v := n.get(name); v != nil {
			fillDefaults(v, sub, depth+1)
			continue
		}
		if sub == nil || sub.Default == nil || slices.Contains(s.Required, name) {
			continue
		}
		if v, err := parseJSON(sub.Default); err == nil {
			n.members = append(n.members, member{name, v})
			n.changed = true
			fillDefaults(v, sub, depth+1)
		}
	}
}

// encodeOutput makes one result of what a typed handler returned.
func encodeOutput(res *mcp.CallToolResult, out any, schema *jsonschema.Resolved, rt reflect.Type) (*mcp.CallToolResult, error) {
	if res == nil {
		res = &mcp.CallToolResult{}
	}
	if res.InputRequests != nil || out == nil {
		return res, nil
	}
	if v := reflect.ValueOf(out); rt.Kind() == reflect.Pointer && v.IsNil() && schema != nil {
		out = reflect.Zero(rt.Elem()).Interface()
	}
	raw, err := json.Marshal(out)
	if err != nil {
		return nil, fmt.Errorf("marshaling output: %w", err)
	}
	if schema != nil {
		if root, err := parseJSON(raw); err == nil {
			fillDefaults(root, schema.Schema(), 0)
			raw = root.bytes()
		}
		var v any
		if err := json.Unmarshal(raw, &v); err != nil {
			return nil, fmt.Errorf("validating tool output: %w", err)
		}
		if err := schema.Validate(v); err != nil {
			return nil, fmt.Errorf("validating tool output: %w", err)
		}
	}
	c := *res
	c.StructuredContent = json.RawMessage(raw)
	text := &mcp.TextContent{Text: string(raw)}
	switch {
	case c.Content == nil:
		c.Content = []mcp.Content{text}
	case raw[0] != '{':
		c.Content = append(slices.Clip(c.Content), text)
	}
	return &c, nil
}
