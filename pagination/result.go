package pagination

import (
	"context"
	"encoding/json"
	"math"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/steadymcp/steady/errors"
)

// callCutter bounds the result of one call.
type callCutter struct {
	*Budget
	ctx   context.Context
	req   *mcp.CallToolRequest
	limit int
	// list returns the tools of the server; nil if they cannot be known.
	list func() []*mcp.Tool
	// schema is the output schema if the list does not tell.
	schema *jsonschema.Resolved

	tools  []*mcp.Tool // once listed
	looked bool
}

func (c *callCutter) name() string { return shorten(toolName(c.req), 128) }

// arguments returns the call's arguments by name, as JSON.
func (c *callCutter) arguments() map[string]string {
	if c.req == nil || c.req.Params == nil {
		return nil
	}
	return members(trimSpace(string(c.req.Params.Arguments)))
}

// lookUp returns the tool of that name as it is listed, or nil.
func (c *callCutter) lookUp(name string) *mcp.Tool {
	if !c.looked && c.list != nil {
		c.tools = c.list()
	}
	c.looked = true
	for _, t := range c.tools {
		if t != nil && t.Name == name {
			return t
		}
	}
	return nil
}

// called returns the tool that is called, or nil.
func (c *callCutter) called() *mcp.Tool { return c.lookUp(toolName(c.req)) }

// bound returns res or a result in its place that takes at most the limit.
func (c *callCutter) bound(res *mcp.CallToolResult, state *boundState) *mcp.CallToolResult {
	if res.NeedsInput() || res.InputRequests != nil {
		return res
	}
	if res.IsError {
		res = c.explainLimit(res)
	}
	if exact := state.exact.Load(); exact != nil {
		res = restoreExact(res, *exact)
	}
	if held := held(res); held > far*c.opts.Ceiling || !isRaw(res.StructuredContent) && exceeds(res.StructuredContent, far*c.opts.Ceiling) {
		return c.refuse(res, max(held, far*c.opts.Ceiling), "that is more than the server will look at")
	}
	res, raw := encodeStructured(res)
	room := c.limit - envelope
	if quick := 6*(held(res)+len(raw)) + 1024; quick <= room && len(res.Content) < 8 && res.Meta == nil && plain(res.Content) {
		return res
	}
	// Of a result that is much too large the exact size is not worth a pass over
	// all of it.
	size := resultSize(res, raw, 16*room)
	if size <= room {
		return res
	}
	return c.cut(res, raw, max(size, held(res))+envelope)
}

func isRaw(v any) bool {
	if v == nil {
		return true
	}
	_, ok := v.(json.RawMessage)
	return ok
}

// plain reports whether all blocks are text without annotations.
func plain(blocks []mcp.Content) bool {
	for _, b := range blocks {
		if t, ok := b.(*mcp.TextContent); !ok || t.Meta != nil || t.Annotations != nil {
			return false
		}
	}
	return true
}

// held returns how many bytes of payload res holds that need no encoding to be
// counted.
func held(res *mcp.CallToolResult) int {
	n := 0
	for _, b := range res.Content {
		n += heldBytes(b)
	}
	if raw, ok := res.StructuredContent.(json.RawMessage); ok {
		n += len(raw)
	}
	return n
}

// encodeStructured returns res with its structured content as JSON, and that
// JSON. A value that cannot be encoded is left to the SDK.
func encodeStructured(res *mcp.CallToolResult) (*mcp.CallToolResult, string) {
	switch v := res.StructuredContent.(type) {
	case nil:
		return res, ""
	case json.RawMessage:
		return res, view(v)
	default:
		data, err := json.Marshal(v)
		if err != nil {
			return res, ""
		}
		c := *res
		c.StructuredContent = json.RawMessage(data)
		return &c, view(data)
	}
}

// resultSize returns how many bytes res takes on the wire, without what the SDK
// adds later, or some number above limit.
func resultSize(res *mcp.CallToolResult, raw string, limit int) int {
	n := len(`{"_meta":,"content":[],"structuredContent":,"isError":true,"resultType":"complete"}`)
	if res.Meta != nil {
		n += jsonSize(res.Meta)
	}
	n += len(res.RequestState)
	for _, b := range res.Content {
		n += blockSize(b, limit) + 1
	}
	return n + rawSize(raw, limit)
}

// restoreExact puts the page that a handler returned back in place of the one
// in which the SDK has rounded large integers.
func restoreExact(res *mcp.CallToolResult, exact string) *mcp.CallToolResult {
	raw, ok := res.StructuredContent.(json.RawMessage)
	if res.IsError || !ok || view(raw) == exact || !sameJSON(view(raw), exact) {
		return res
	}
	c := *res
	c.StructuredContent = json.RawMessage(exact)
	return &c
}

// explainLimit answers in words where the SDK has refused a limit.
func (c *callCutter) explainLimit(res *mcp.CallToolResult) *mcp.CallToolResult {
	cause := res.GetError()
	if cause == nil || !strings.HasPrefix(cause.Error(), `validating "arguments"`) {
		return res
	}
	value, ok := c.arguments()["limit"]
	schema := schemaOf(c.called())
	if !ok || schema == nil {
		return res
	}
	if schema.Properties["cursor"] == nil || slices.Contains(schema.Required, "limit") {
		return res // it does not page, and the words below would not be true
	}
	limit := schema.Properties["limit"]
	if limit == nil || limit.Type != "integer" || limit.Maximum == nil || *limit.Maximum < 1 || *limit.Maximum > math.MaxInt32 {
		return res
	}
	b := Bounds{Max: int(*limit.Maximum)}
	if json.Unmarshal(limit.Default, &b.Limit) != nil {
		b.Limit = b.Max
	}
	f := limitFailure(value, b.orDefault())
	if f == nil {
		return res // something else was refused
	}
	return f.Cause(cause).Result(c.req)
}

// schemaOf returns a tool's input schema, or nil.
func schemaOf(t *mcp.Tool) *jsonschema.Schema {
	if t == nil {
		return nil
	}
	if s, ok := t.InputSchema.(*jsonschema.Schema); ok {
		return s
	}
	data, err := json.Marshal(t.InputSchema)
	if err != nil {
		return nil
	}
	var s jsonschema.Schema
	if json.Unmarshal(data, &s) != nil {
		return nil
	}
	return &s
}

// refuse answers in place of a result that is not shown at all.
func (c *callCutter) refuse(res *mcp.CallToolResult, size int, why string) *mcp.CallToolResult {
	c.opts.Observer.Observe(c.ctx, Refused{Tool: c.name(), Bytes: size, Limit: c.limit})
	more := ""
	if size >= far*c.opts.Ceiling {
		more = "more than "
		size = far * c.opts.Ceiling
	}
	var f *errors.Failure
	if res.IsError {
		f = errors.Fail(errors.KindInternal, "The call to %s failed, and its message has %s%s, of which at most %s can be sent", c.name(), more, sizeOf(size), sizeOf(c.limit))
	} else {
		f = errors.Invalid("The result of %s has %s%s; at most %s can be sent", c.name(), more, sizeOf(size), sizeOf(c.limit))
	}
	f = f.Because("%s", why).Next("%s", narrower(schemaOf(c.called())))
	if cause := res.GetError(); cause != nil {
		f = f.Cause(cause)
	}
	return f.Result(c.req)
}

// cut makes res fit.
func (c *callCutter) cut(res *mcp.CallToolResult, raw string, size int) *mcp.CallToolResult {
	schema := c.schema
	tool := c.called()
	if tool != nil {
		schema = c.schemas.get(tool.OutputSchema)
	}
	if res.IsError {
		schema = nil // it describes results, and clients do not hold errors to it
	}
	room := c.limit - envelope - noteRoom
	if c.limit < 2*(envelope+noteRoom) {
		room = c.limit / 4 // the note is short then
	}
	d := draft{callCutter: c, res: res, raw: raw, size: size, schema: schema}
	for range 3 {
		out, ok := d.build(room)
		if !ok {
			break
		}
		_, cutRaw := encodeStructured(out)
		over := resultSize(out, cutRaw, math.MaxInt-1) - (c.limit - envelope)
		if over <= 0 {
			c.opts.Observer.Observe(c.ctx, d.event())
			return out
		}
		if room -= over; room <= 0 {
			break
		}
	}
	d.cuts = nil
	d.keep()
	refused := c.refuse(res, size, "a shorter version of it would not be a valid result")
	if d.kept == nil {
		return refused
	}
	more := *refused
	more.Content = append(more.Content[:len(more.Content):len(more.Content)], &mcp.TextContent{Text: d.readCall(cut{})})
	return &more
}
