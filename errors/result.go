package errors

import (
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
	r := wire.NewToolResult(req)
	meta := map[string]any{"kind": string(f.kind), "retry": string(f.retry.Policy)}
	if f.retry.After > 0 {
		meta["retryAfterMs"] = f.retry.After.Milliseconds()
	}
	r.Meta = mcp.Meta{wire.MetaError: meta}
	r.Content = []mcp.Content{&mcp.TextContent{Text: f.Error()}}
	r.SetError(f)
	return r
}
