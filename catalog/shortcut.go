package catalog

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/steadymcp/steady/errors"
)

// A Shortcut is an entry with a tool of its own: the same call with the entry
// filled in. Pickers show it, reviewers allow it by name, and the usual path
// costs one round trip. Keep them few; see [Catalog.Lint].
type Shortcut struct {
	// Name of the tool.
	Name string
	// Entry is the id.
	Entry string
	// Description of the tool. If empty, the entry's summary.
	Description string
	// Pinned arguments are always sent and not in the tool's schema.
	Pinned map[string]any
}

func (s *Shortcut) check(taken map[string]bool) error {
	if !toolName.MatchString(s.Name) {
		return fmt.Errorf("catalog: %q is not the name of a tool", s.Name)
	}
	if taken[s.Name] {
		return fmt.Errorf("catalog: two tools are named %q", s.Name)
	}
	taken[s.Name] = true
	if _, err := json.Marshal(s.Pinned); err != nil {
		return fmt.Errorf("catalog: the pinned arguments of %q: %w", s.Name, err)
	}
	s.Pinned = maps.Clone(s.Pinned)
	return nil
}

// shortcut makes the tool, from the entry as it is now.
func (c *Catalog) shortcut(e *edition, s *Shortcut) (*ownTool, error) {
	op := e.operation(s.Entry)
	if op == nil {
		return nil, fmt.Errorf("catalog: the shortcut %q is for %q, which is no entry", s.Name, s.Entry)
	}
	if c.opts.Caller == nil {
		return nil, fmt.Errorf("catalog: the shortcut %q needs a Caller", s.Name)
	}
	if c.opts.NoWrites && !op.reads() {
		return nil, fmt.Errorf("catalog: the shortcut %q is for an entry that writes", s.Name)
	}
	schema := map[string]any{}
	if err := json.Unmarshal(op.tool().InputSchema.(json.RawMessage), &schema); err != nil {
		return nil, fmt.Errorf("catalog: the shortcut %q: %w", s.Name, err)
	}
	properties, _ := schema["properties"].(map[string]any)
	for name := range s.Pinned {
		if properties[name] == nil {
			return nil, fmt.Errorf("catalog: the shortcut %q pins %q, which is no parameter of %q", s.Name, name, s.Entry)
		}
		delete(properties, name)
	}
	if required, ok := schema["required"].([]any); ok {
		required = slices.DeleteFunc(required, func(v any) bool { name, _ := v.(string); _, pinned := s.Pinned[name]; return pinned })
		if schema["required"] = required; len(required) == 0 {
			delete(schema, "required")
		}
	}
	if properties == nil {
		schema["properties"] = map[string]any{}
	}
	raw, err := json.Marshal(schema)
	if err != nil {
		return nil, fmt.Errorf("catalog: the shortcut %q: %w", s.Name, err)
	}
	description := s.Description
	if description == "" {
		description = op.Summary
	}
	tool := op.tool()
	tool.Name, tool.Description, tool.InputSchema, tool.OutputSchema = s.Name, description, json.RawMessage(raw), envelopeSchema
	want := onlyReads
	if !op.reads() {
		want = onlyWrites
	}
	return &ownTool{tool: tool, run: func(ctx context.Context, req *mcp.CallToolRequest, args map[string]any) (*mcp.CallToolResult, error) {
		for name := range s.Pinned {
			if _, ok := args[name]; ok {
				return nil, errors.Invalid("%s sets %s by itself", s.Name, clip(name, 60)).Next("leave it out")
			}
		}
		maps.Copy(args, s.Pinned)
		a, err := c.callOne(ctx, req, map[string]any{"id": s.Entry, "arguments": args}, want)
		if err != nil {
			return nil, err
		}
		return a.result(req)
	}}, nil
}
