package pagination

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/steadymcp/steady/internal/wire"
)

// boundResource returns res or a copy of it that takes at most limit. Text is
// cut, as JSON if it is JSON; blobs become a sentence. One more text content
// says what is missing, so that the others keep their type.
func (b *Budget) boundResource(ctx context.Context, req *mcp.ReadResourceRequest, res *mcp.ReadResourceResult, limit int) *mcp.ReadResourceResult {
	if res.InputRequests != nil {
		return res
	}
	room := limit - envelope - len(`{"_meta":,"contents":[],"resultType":"complete","ttlMs":,"cacheScope":}`) - 32 - len(res.RequestState)
	if res.Meta != nil {
		room -= jsonSize(res.Meta)
	}
	held, size := 0, 0
	for _, c := range res.Contents {
		if c != nil {
			held += len(c.Text) + len(c.Blob)
		}
	}
	if held > far*b.opts.Ceiling {
		size = held
	} else {
		for _, c := range res.Contents {
			if c != nil {
				size += contentsSize(c, math.MaxInt-1) + 1
			}
		}
		if size <= room {
			return res
		}
		size += envelope
	}
	out := *res
	out.Contents = nil
	if res.Meta != nil && jsonSize(res.Meta) > limit/4 {
		out.Meta = nil
		room += jsonSize(res.Meta)
	}
	if limit < 2*(envelope+noteRoom) {
		room -= limit / 4
	} else {
		room -= noteRoom
	}
	event := Cut{Bytes: size, Limit: limit, Unit: unitBlocks, Total: len(res.Contents)}
	whole := true
	for _, c := range res.Contents {
		if c == nil || !whole {
			continue
		}
		if n := contentsSize(c, room) + 1; n <= room {
			out.Contents = append(out.Contents, c)
			room -= n
			event.Shown++
			continue
		}
		if c.Blob != nil {
			if s := leftOutBlob(c); contentsSize(s, room)+1 <= room {
				out.Contents = append(out.Contents, s)
				room -= contentsSize(s, room) + 1
			}
			continue
		}
		whole = false
		if held > far*b.opts.Ceiling {
			continue
		}
		short := *c
		short.Text = ""
		short.Meta = nil
		if text, cuts, ok := cutPlain(c.Text, room-contentsSize(&short, room)-len(`,"text":""`)-1); ok {
			short.Text = text
			m := mainCut(cuts)
			event.Shown, event.Total, event.Unit = m.shown, m.total, m.unit
			out.Contents = append(out.Contents, &short)
		}
	}
	note := fmt.Sprintf("[This resource was cut: it has %s, and at most %s can be sent. Shown: %s of %s %s.]",
		sizeOf(size), sizeOf(limit), grouped(event.Shown), grouped(event.Total), event.Unit)
	out.Contents = append(out.Contents, &mcp.ResourceContents{URI: shorten(req.Params.URI, 500), MIMEType: "text/plain", Text: note})
	out.Meta = maps.Clone(out.Meta)
	if out.Meta == nil {
		out.Meta = mcp.Meta{}
	}
	out.Meta[wire.MetaBudget] = map[string]any{"bytes": size, "limit": limit, "shown": event.Shown, "total": event.Total, "unit": event.Unit}
	b.opts.Observer.Observe(ctx, event)
	return &out
}

func leftOutBlob(c *mcp.ResourceContents) *mcp.ResourceContents {
	return &mcp.ResourceContents{
		URI:      c.URI,
		MIMEType: "text/plain",
		Text:     fmt.Sprintf("[A blob (%s, %s) was left out: the resource is too large]", shorten(c.MIMEType, 40), sizeOf(len(c.Blob))),
	}
}

// cutPlain cuts text: as JSON if it is JSON, so that it stays JSON, and text
// that is nothing but base64 to a sentence.
func cutPlain(s string, room int) (string, []cut, bool) {
	if t := trimSpace(s); isComposite(t) {
		if text, cuts, ok := cutJSON(t, textCosts, room, false); ok && json.Valid([]byte(text)) {
			return text, cuts, true
		}
	}
	if isBase64(s) {
		text := "[base64 text of " + sizeOf(len(s)) + " was left out]"
		return text, []cut{{unit: unitText, total: len(s), lost: len(s)}}, textCosts.cost(text, room) <= room
	}
	text, what := cutText(s, room)
	return text, []cut{what}, text != ""
}
