package pagination

import (
	"context"
	"encoding/json"
	"strings"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/steadymcp/steady/internal/wire"
)

// listTools returns the tools as next lists them to the caller of req, or nil.
// It asks anew each time, because a tool can be replaced without a word; only
// results that are cut pay for it.
func listTools(ctx context.Context, next mcp.MethodHandler, req *mcp.CallToolRequest) []*mcp.Tool {
	if req.Session == nil {
		return nil // made by hand: the SDK has nobody to ask
	}
	const most = 64 // pages
	// The request's _meta has the revision and the client where there was no
	// handshake.
	params := &mcp.ListToolsParams{Meta: req.Params.Meta}
	var tools []*mcp.Tool
	for range most {
		res, err := next(ctx, wire.MethodListTools, &mcp.ListToolsRequest{Session: req.Session, Params: params, Extra: req.Extra})
		list, ok := res.(*mcp.ListToolsResult)
		if err != nil || !ok || list == nil {
			break
		}
		tools = append(tools, list.Tools...)
		if list.NextCursor == "" {
			break
		}
		params = &mcp.ListToolsParams{Meta: params.Meta, Cursor: list.NextCursor}
	}
	return tools
}

// schemaCache keeps resolved schemas by their JSON, so that a replaced tool is
// noticed and a tool that is listed as a fresh copy each time is not resolved
// again. The zero value is ready to use.
type schemaCache struct {
	mu       sync.Mutex
	resolved map[string]*jsonschema.Resolved // nil for a schema that cannot be resolved
}

// maxSchemas bounds the cache; above it, it starts anew.
const maxSchemas = 256

// get returns the resolved form of schema, or nil if there is none.
func (c *schemaCache) get(schema any) *jsonschema.Resolved {
	if schema == nil {
		return nil
	}
	data, err := json.Marshal(schema)
	if err != nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if r, ok := c.resolved[string(data)]; ok {
		return r
	}
	if c.resolved == nil || len(c.resolved) >= maxSchemas {
		c.resolved = map[string]*jsonschema.Resolved{}
	}
	var s jsonschema.Schema
	var r *jsonschema.Resolved
	if json.Unmarshal(data, &s) == nil {
		r, _ = s.Resolve(nil)
	}
	if r != nil {
		// A dialect that the library does not know says nothing about a value.
		if err := r.Validate(nil); err != nil && strings.Contains(err.Error(), "cannot validate version") {
			r = nil
		}
	}
	c.resolved[string(data)] = r
	return r
}

// fitsSchema reports whether JSON text is valid and fits the schema; without a
// schema, whether it is valid. Numbers are rounded for the question only.
func fitsSchema(s string, schema *jsonschema.Resolved) bool {
	if schema == nil {
		return json.Valid([]byte(s))
	}
	var v any
	return json.Unmarshal([]byte(s), &v) == nil && schema.Validate(&v) == nil
}
