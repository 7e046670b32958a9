package pagination

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/steadymcp/steady/errors"
	"github.com/steadymcp/steady/internal/wire"
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

// draft is one result while it is being cut.
type draft struct {
	*callCutter
	res    *mcp.CallToolResult
	raw    string
	size   int
	schema *jsonschema.Resolved

	blocks []mcp.Content
	cuts   []cut
	gone   []string // what was replaced by a sentence
	kept   *spilled // nil if the full result was not kept
}

// build returns the result with its content cut to room bytes, and the note.
func (d *draft) build(room int) (*mcp.CallToolResult, bool) {
	d.blocks, d.cuts, d.gone = nil, nil, nil
	out := *d.res
	meta := d.res.Meta
	if meta != nil && jsonSize(meta) > room/2 {
		meta = nil
		d.gone = append(d.gone, "_meta of "+sizeOf(jsonSize(d.res.Meta)))
	}
	blocks, mirror := d.res.Content, -1
	if d.raw != "" {
		mirror = mirrorOf(blocks, d.raw)
	}
	room -= len(`{"_meta":,"content":[],"structuredContent":,"isError":true,"resultType":"complete"}`) + len(d.res.RequestState)
	if meta != nil {
		room -= jsonSize(meta)
	}
	blocks = d.replaceBinary(blocks, mirror, room)

	// What the blocks apart from the structured content's take.
	costs := rawCosts
	if mirror >= 0 {
		costs = bothCosts
		room -= blockSize(&mcp.TextContent{}, 0) + 1
	}
	rest := 0
	for i, b := range blocks {
		if i != mirror {
			rest += blockSize(b, room) + 1
		}
	}
	if d.raw != "" {
		structured := costs.cost(d.raw, room)
		if structured+rest > room {
			// Text gets what the structured content leaves, and a quarter at least.
			share := room - min(rest, max(room/4, room-structured))
			text, cuts, ok := d.cutStructured(costs, share)
			if !ok {
				return nil, false
			}
			for _, what := range cuts {
				what.block = structuredBlock
				d.cuts = append(d.cuts, what)
			}
			out.StructuredContent = json.RawMessage(text)
			structured = costs.cost(text, math.MaxInt-1)
			if mirror >= 0 {
				t := *blocks[mirror].(*mcp.TextContent)
				t.Text = text
				blocks[mirror] = &t
			}
		}
		room -= structured
	}
	d.fitBlocks(blocks, mirror, room)
	out.Content = d.blocks
	out.Meta = meta
	d.annotate(&out)
	return &out, true
}

// mirrorOf returns the index of the text block that is raw once more, or -1.
func mirrorOf(blocks []mcp.Content, raw string) int {
	for i, b := range blocks {
		t, ok := b.(*mcp.TextContent)
		if ok && isComposite(trimSpace(t.Text)) == isComposite(trimSpace(raw)) && sameJSON(t.Text, raw) {
			return i
		}
	}
	return -1
}

// replaceBinary returns a copy of blocks in which the largest images, sounds and
// embedded resources are sentences, as many as need be for room.
func (d *draft) replaceBinary(blocks []mcp.Content, mirror, room int) []mcp.Content {
	blocks = append([]mcp.Content(nil), blocks...)
	total := d.rawCost(mirror, room)
	sizes := make([]int, len(blocks))
	for i, b := range blocks {
		sizes[i] = blockSize(b, room)
		if i != mirror {
			total += sizes[i] + 1
		}
	}
	for total > room {
		largest := -1
		for i, b := range blocks {
			if isBinary(b) && (largest < 0 || sizes[i] > sizes[largest]) {
				largest = i
			}
		}
		if largest < 0 {
			break
		}
		sentence := leftOut(blocks[largest])
		d.gone = append(d.gone, sentence)
		blocks[largest] = &mcp.TextContent{Text: "[" + sentence + " was left out: the result is too large]"}
		total -= sizes[largest]
		sizes[largest] = blockSize(blocks[largest], room)
		total += sizes[largest]
	}
	return blocks
}

func (d *draft) rawCost(mirror, limit int) int {
	if mirror >= 0 {
		return bothCosts.cost(d.raw, limit)
	}
	return rawCosts.cost(d.raw, limit)
}

func isBinary(c mcp.Content) bool {
	switch c.(type) {
	case *mcp.ImageContent, *mcp.AudioContent, *mcp.EmbeddedResource:
		return true
	}
	return false
}

// leftOut describes a binary block.
func leftOut(c mcp.Content) string {
	switch c := c.(type) {
	case *mcp.ImageContent:
		return fmt.Sprintf("an image (%s, %s)", shorten(c.MIMEType, 40), sizeOf(len(c.Data)))
	case *mcp.AudioContent:
		return fmt.Sprintf("a sound (%s, %s)", shorten(c.MIMEType, 40), sizeOf(len(c.Data)))
	case *mcp.EmbeddedResource:
		if c.Resource != nil {
			return fmt.Sprintf("the resource %s (%s)", shorten(c.Resource.URI, 120), sizeOf(len(c.Resource.Text)+len(c.Resource.Blob)))
		}
	}
	return "a block"
}

// cutStructured cuts the structured content so that it fits the schema.
func (d *draft) cutStructured(costs *costs, room int) (string, []cut, bool) {
	for _, whole := range []bool{false, true} {
		text, cuts, ok := cutJSON(d.raw, costs, room, whole)
		if ok && fitsSchema(text, d.schema) {
			return text, cuts, true
		}
	}
	return "", nil, false
}

// fitBlocks puts as many blocks into d.blocks as fit in room, in order. The
// first text that does not fit is cut, and what follows is left out.
func (d *draft) fitBlocks(blocks []mcp.Content, mirror, room int) {
	left, lost := 0, 0
	for i, b := range blocks {
		if i == mirror {
			d.blocks = append(d.blocks, b) // counted with the structured content
			continue
		}
		n := blockSize(b, room) + 1
		if n <= room && left == 0 {
			d.blocks = append(d.blocks, b)
			room -= n
			continue
		}
		if t, ok := b.(*mcp.TextContent); ok && left == 0 {
			if shorter, ok := d.cutBlock(t, i, room); ok {
				d.blocks = append(d.blocks, shorter)
				room = 0
				continue
			}
		}
		left++
		lost += max(heldBytes(b), 1)
	}
	if left > 0 {
		d.cuts = append(d.cuts, cut{unit: unitBlocks, shown: len(blocks) - left, total: len(blocks), lost: lost, block: len(blocks) - left})
	}
}

// cutBlock cuts the text block of that number.
func (d *draft) cutBlock(t *mcp.TextContent, block, room int) (*mcp.TextContent, bool) {
	c := *t
	c.Text = ""
	room -= blockSize(&c, 0) + 1
	const least = 200 // a shorter piece of text is not worth a block
	if room < least {
		return nil, false
	}
	text, cuts, ok := cutPlain(t.Text, room)
	if !ok {
		return nil, false
	}
	for _, what := range cuts {
		what.block = block
		d.cuts = append(d.cuts, what)
	}
	c.Text = text
	return &c, true
}

// annotate adds the note, the link to the rest, and the facts in _meta.
func (d *draft) annotate(out *mcp.CallToolResult) {
	d.keep()
	facts := map[string]any{"bytes": d.size, "limit": d.limit}
	if m := mainCut(d.cuts); m.total > 0 {
		facts["shown"], facts["total"], facts["unit"] = m.shown, m.total, m.unit
		if len(m.path) > 0 {
			facts["path"] = shorten(m.pointer(), 100)
		}
	}
	if d.kept != nil {
		facts["handle"] = d.kept.handle
		if link := d.link(); link != nil {
			out.Content = append(out.Content, link)
		}
	}
	out.Content = append(out.Content, &mcp.TextContent{Text: d.note()})
	meta := maps.Clone(out.Meta)
	if meta == nil {
		meta = mcp.Meta{}
	}
	meta[wire.MetaBudget] = facts
	out.Meta = meta
}
