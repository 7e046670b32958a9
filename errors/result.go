package errors

import (
	"context"
	"encoding/json"
	"maps"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/steadymcp/steady/internal/wire"
)

// Result returns the one result that f becomes: isError, a first text block
// with the public half, and kind and retry advice under "steady/error" in
// _meta. There is no structuredContent, because clients validate it against
// the tool's output schema and then hide the error.
//
// req may be nil. Middleware that answers a call itself must pass it, so that
// the result fits the caller's protocol revision.
func (f *Failure) Result(req *mcp.CallToolRequest) *mcp.CallToolResult {
	f = f.orNil()
	return stamp(wire.NewToolResult(req), f.Error(), f.facts(), f)
}

// facts returns the machine-readable half of f.
func (f *Failure) facts() map[string]any {
	f = f.orNil()
	facts := map[string]any{"kind": string(f.kind)}
	if f.retry.Policy != "" {
		facts["retry"] = string(f.retry.Policy)
	}
	if f.retry.After > 0 {
		facts["retryAfterMs"] = f.retry.After.Milliseconds()
	}
	return facts
}

// stamp returns a copy of r that says text, and facts under "steady/error".
// The result's revision and the rest of its _meta stay.
func stamp(r *mcp.CallToolResult, text string, facts map[string]any, err error) *mcp.CallToolResult {
	c := *r
	c.Content = []mcp.Content{&mcp.TextContent{Text: text}}
	c.StructuredContent = nil
	if facts != nil {
		c.Meta = make(mcp.Meta, len(r.Meta)+1)
		maps.Copy(c.Meta, r.Meta)
		c.Meta[wire.MetaError] = facts
	}
	c.SetError(err)
	return &c
}

// Answer turns any error into what a handler returns for a tools/call, by the
// policy of the [Shape] that ctx came through, and by the zero [Options]
// otherwise: a result, or an error where err's chain holds a
// *jsonrpc.Error. It is for middleware, and for work that outlives its request.
// It observes err. It returns nil and nil if err is nil. req may be nil.
func Answer(ctx context.Context, req *mcp.CallToolRequest, err error) (*mcp.CallToolResult, error) {
	if err == nil {
		return nil, nil
	}
	p, _, installed := entered(ctx)
	at := call{method: wire.MethodCallTool, req: req, inner: installed}
	return p.answer(ctx, at, err).tool(at, wire.NewToolResult(req))
}

// reply returns what a method handler answers with.
func (a *answer) reply(at call) (mcp.Result, error) {
	if req, ok := at.req.(*mcp.CallToolRequest); ok {
		return lift(a.tool(at, wire.NewToolResult(req)))
	}
	if at.inner {
		return nil, a
	}
	return nil, a.rpc(at.req)
}

// tool returns what a tool handler answers with. r supplies what the text does
// not.
func (a *answer) tool(at call, r *mcp.CallToolResult) (*mcp.CallToolResult, error) {
	switch {
	case a.protocol == nil:
		return stamp(r, a.text, a.facts, a), nil
	case at.inner:
		return nil, a
	default:
		return nil, a.protocol
	}
}

// lift keeps a nil result from becoming an interface that is not nil.
func lift(r *mcp.CallToolResult, err error) (mcp.Result, error) {
	if r == nil {
		return nil, err
	}
	return r, err
}

// rpc returns the JSON-RPC error that everything but a tool answers with.
func (a *answer) rpc(req mcp.Request) *jsonrpc.Error {
	if a.protocol != nil {
		return a.protocol
	}
	e := &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: clean(a.text, maxMessage)}
	facts := a.facts
	switch a.kind {
	case KindInvalidInput, KindConflict, KindPermissionDenied:
		// The request, and not the server, has to change.
		e.Code = jsonrpc.CodeInvalidParams
	case KindNotFound:
		e.Code = jsonrpc.CodeInvalidParams
		if r, ok := req.(*mcp.ReadResourceRequest); ok && r != nil && r.Params != nil {
			// Resources, section "Error Handling": the URI goes into data. The
			// SDK can be told to use the code of older revisions.
			if missing, ok := AsType[*jsonrpc.Error](mcp.ResourceNotFoundError(r.Params.URI)); ok {
				e.Code = missing.Code
			}
			facts = maps.Clone(facts)
			facts["uri"] = r.Params.URI
		}
	}
	if facts != nil {
		e.Data, _ = json.Marshal(facts) // strings and numbers, which always encode
	}
	return e
}
