package tasks

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// listTools adapts the advertised tools to the client: one that has the
// extension needs no tools that stand in for it, and one that has not may get a
// handle where a result belongs, which clients check against the tool's output
// schema.
func (m *Manager) listTools(ctx context.Context, next mcp.MethodHandler, method string, req *mcp.ListToolsRequest) (mcp.Result, error) {
	res, err := next(ctx, method, req)
	list, ok := res.(*mcp.ListToolsResult)
	if err != nil || !ok || list == nil || m.opts.ExtensionOnly {
		return res, err
	}
	adapted := *list
	if declared(req) {
		ours := m.opts.ToolNames.all()
		isOurs := func(t *mcp.Tool) bool { return slices.Contains(ours, t.Name) }
		if slices.ContainsFunc(list.Tools, isOurs) {
			adapted.Tools = slices.DeleteFunc(slices.Clone(list.Tools), isOurs)
		}
		return &adapted, nil
	}
	cloned := false
	for i, t := range list.Tools {
		if t.OutputSchema == nil {
			continue
		}
		if p, ok := m.policies[t.Name]; !ok || p.Support == Never {
			continue
		}
		if !cloned {
			adapted.Tools, cloned = slices.Clone(list.Tools), true
		}
		adapted.Tools[i] = m.widened(t)
	}
	return &adapted, nil
}

// A widenedTool is a tool with the output schema of its calls that may become
// tasks.
type widenedTool struct{ own, wide *mcp.Tool }

// widened returns a tool with a widened output schema. It is asked for at every
// list, and with package discovery at every call, so the last one is kept.
func (m *Manager) widened(t *mcp.Tool) *mcp.Tool {
	if kept, ok := m.wide.Load(t.Name); ok && kept.(widenedTool).own == t {
		return kept.(widenedTool).wide
	}
	wide := *t
	wide.OutputSchema = widen(t.OutputSchema)
	m.wide.Store(t.Name, widenedTool{t, &wide})
	return &wide
}

// runningSchema is the schema of the structured content of a result that is a
// handle.
const runningSchema = `{"type":"object","properties":{"task":{"type":"object","properties":{"taskId":{"type":"string"},"status":{"type":"string"}},"required":["taskId","status"]}},"required":["task"]}`

// widen returns an output schema that a handle fits as well. If that cannot be
// said, because the schema refers to parts of itself that would move, it
// returns nil: without an output schema nothing is checked.
func widen(schema any) any {
	raw, err := json.Marshal(schema)
	if err != nil {
		return nil
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) != nil {
		return nil
	}
	wide := map[string]json.RawMessage{"type": json.RawMessage(`"object"`)}
	for _, shared := range []string{"$schema", "$id", "$defs", "definitions"} {
		if v, ok := members[shared]; ok {
			wide[shared] = v
			delete(members, shared)
		}
	}
	if !refersOnlyToDefs(raw) {
		return nil
	}
	own, err := json.Marshal(members)
	if err != nil {
		return nil
	}
	wide["anyOf"] = slices.Concat(json.RawMessage("["), own, json.RawMessage(","+runningSchema+"]"))
	out, err := json.Marshal(wide)
	if err != nil {
		return nil
	}
	return json.RawMessage(out)
}

// refersOnlyToDefs reports whether every reference within a schema points to
// definitions that stay where they are, or outside. A "$ref" counts wherever it
// is, even as the name of a property: then its value is no text.
func refersOnlyToDefs(raw []byte) bool {
	var schema any
	return json.Unmarshal(raw, &schema) == nil && onlyDefs(schema)
}

func onlyDefs(schema any) bool {
	switch v := schema.(type) {
	case map[string]any:
		for name, member := range v {
			ref, isText := member.(string)
			switch {
			case !isText:
				if !onlyDefs(member) {
					return false
				}
			case name != "$ref" && name != "$dynamicRef" && name != "$recursiveRef":
			case strings.HasPrefix(ref, "#") && !strings.HasPrefix(ref, "#/$defs/") && !strings.HasPrefix(ref, "#/definitions/"):
				return false
			}
		}
	case []any:
		return !slices.ContainsFunc(v, func(e any) bool { return !onlyDefs(e) })
	}
	return true
}
