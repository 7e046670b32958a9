package wire

import (
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// completeResult is a tool result whose unexported resultType is "complete".
// Decoding is the only way to set that field from outside the SDK.
var completeResult = func() mcp.CallToolResult {
	var r mcp.CallToolResult
	if err := json.Unmarshal([]byte(`{"content":[],"resultType":"complete"}`), &r); err != nil {
		panic("wire: the SDK no longer decodes resultType: " + err.Error())
	}
	return r
}()

// NewToolResult returns an empty result that middleware may answer req with.
//
// The SDK fills in resultType only for results that its own tool dispatch
// returns; a result made by middleware would lack it, and revision 2026-07-28
// requires it. For earlier revisions, which do not know the field, it stays
// unset.
//
// req may be nil or made by hand: without a revision the field is unset.
func NewToolResult(req *mcp.CallToolRequest) *mcp.CallToolResult {
	r := &mcp.CallToolResult{}
	if Revision(req) >= StatelessRevision {
		*r = completeResult
	}
	r.Content = []mcp.Content{}
	return r
}

// NewToolText returns a result with one text block.
func NewToolText(req *mcp.CallToolRequest, text string) *mcp.CallToolResult {
	r := NewToolResult(req)
	r.Content = []mcp.Content{&mcp.TextContent{Text: text}}
	return r
}

// Revision returns the protocol revision of a request, or "" if there is none:
// req may be nil, and its session and parameters may be missing.
func Revision(req *mcp.CallToolRequest) string {
	if req == nil {
		return ""
	}
	return req.ProtocolVersion()
}

// WithMeta returns a copy of r whose _meta has key set to value. Neither r nor
// its _meta is changed.
func WithMeta(r *mcp.CallToolResult, key string, value any) *mcp.CallToolResult {
	c := *r
	c.Meta = make(mcp.Meta, len(r.Meta)+1)
	for k, v := range r.Meta {
		c.Meta[k] = v
	}
	c.Meta[key] = value
	return &c
}
