package pagination

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/steadymcp/steady/internal/wire"
)

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
