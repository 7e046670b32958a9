package pagination

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/steadymcp/steady/internal/wire"
	"github.com/steadymcp/steady/observe"
)

// Options configures a [Pager]. The zero value is ready to use.
type Options struct {
	// Bounds is how many items a page has; its zero value means 20, at most 50.
	Bounds
	// Bytes is how much of the wire a page takes, note included: a page ends
	// early, with at least one item, before it takes more. If zero or less,
	// [DefaultBytes]. Under a [Budget] the smaller of the two counts.
	Bytes int
	// MaxAge is how long a cursor can be used. If zero or less, 24 hours.
	MaxAge time.Duration
	// Keys seal the cursors. If nil, keys that are made at random when the
	// process starts: cursors then end with the process, and the next page
	// cannot come from another one.
	Keys *Keys
	// Aggregate, if not empty, is the name of a tool that counts or adds up on
	// the server. A page with more to come points to it.
	Aggregate string
	// Principal, if non-nil, names the caller that a cursor belongs to. If nil,
	// it is the user of the request's token, else the session; on standard
	// input and output, and over HTTP with neither, every caller is the same.
	Principal func(mcp.Request) string
	// Observer receives an event for every cursor that was not followed. If
	// nil, events go to [log/slog.Default].
	Observer observe.Observer
}

func (o *Options) orDefault() Options {
	var c Options
	if o != nil {
		c = *o
	}
	c.Bounds = c.Bounds.orDefault()
	if c.Bytes <= 0 {
		c.Bytes = DefaultBytes
	}
	if c.MaxAge <= 0 {
		c.MaxAge = 24 * time.Hour
	}
	if c.Principal == nil {
		c.Principal = wire.Principal
	}
	c.Observer = observe.Or(c.Observer)
	return c
}

func (o *Options) keys() *Keys {
	if o.Keys != nil {
		return o.Keys
	}
	return processKeys()
}

// A Pager pages through the rows of one source. Q is the query that selects
// and orders them, T is a row as the tool returns it.
//
// The query travels in the cursor: the page after the first is of the query
// that the first page was of, and the caller need not repeat it. For that, Q
// is encoded as JSON; fields that are not are taken from the call at hand. The
// names in that JSON should be those of the tool's parameters, as they are
// when the tool's input embeds Q: then a call that says something else than
// its cursor is refused. What a caller may see must not be part of Q: take it
// from the context or from the request.
//
// Make one with [Keyset], [SliceByKey], [Slice], [Seq], [Offset] or
// [Upstream]. A Pager is safe for concurrent use if its source is.
type Pager[Q, T any] struct {
	opts   Options
	source source[Q, T]
	count  func(context.Context, Q) (int, error)
}

// source returns at most n rows from position on; the empty position is the
// beginning.
type source[Q, T any] func(ctx context.Context, q Q, position string, n int) (batch[T], error)

type batch[T any] struct {
	items []T
	more  bool // whether there are rows behind items
	// after returns the position behind items[i].
	after func(i int) (string, error)
	total *int
}

// WithTotal returns a copy of p whose pages say how many rows there are, as
// counted by count.
func (p *Pager[Q, T]) WithTotal(count func(context.Context, Q) (int, error)) *Pager[Q, T] {
	c := *p
	c.count = count
	return &c
}

// Page returns one page: what a tool's handler returns. The result carries the
// page as structured content and the same JSON as text; when there is more to
// come, a second text ends with the exact next call.
//
// A typed handler returns all three values. A handler of raw arguments gets in
// from [ParseInput] and returns the result and the error. The page is finished:
// a change to it does not reach the text.
//
// A cursor or limit that cannot be followed is a [*errors.Failure], which tells
// the model what to do; any other error is the source's.
func (p *Pager[Q, T]) Page(ctx context.Context, req *mcp.CallToolRequest, in Input, query Q) (*mcp.CallToolResult, Page[T], error) {
	c := call[Q, T]{Pager: p, ctx: ctx, query: query, tool: cmp.Or(toolName(req), "this tool")}
	if req != nil {
		if req.Params != nil {
			c.arguments = req.Params.Arguments
		}
		c.caller = p.opts.Principal(req)
	}
	page, note, err := c.page(in)
	if err != nil {
		return nil, Page[T]{}, err
	}
	data, err := json.Marshal(page)
	if err != nil {
		return nil, Page[T]{}, fmt.Errorf("pagination: encoding a page: %w", err)
	}
	res := wire.NewToolText(req, string(data))
	if note != "" {
		res.Content = append(res.Content, &mcp.TextContent{Text: note})
	}
	res.StructuredContent = json.RawMessage(data)
	if b := bounded(ctx); b != nil && hasLongInteger(string(data)) {
		exact := string(data)
		b.exact.Store(&exact)
	}
	return res, page, nil
}

// call is one call of Page.
type call[Q, T any] struct {
	*Pager[Q, T]
	ctx       context.Context
	tool      string
	caller    string
	arguments json.RawMessage

	query     Q
	queryJSON string
	limit     int
	position  string
	first     string // a note about a first page that the caller did not ask for
	repeat    bool   // whether the next call repeats the arguments
}

func (c *call[Q, T]) page(in Input) (Page[T], string, error) {
	if err := c.begin(in); err != nil {
		return Page[T]{}, "", err
	}
	b, err := c.source(c.ctx, c.query, c.position, c.limit)
	if err != nil {
		return Page[T]{}, "", err
	}
	if len(b.items) > c.limit {
		b.items, b.more = b.items[:c.limit], true
	}
	kept, err := c.fit(b.items)
	if err != nil {
		return Page[T]{}, "", err
	}
	b.more = kept > 0 && (b.more || kept < len(b.items))
	page := Page[T]{Items: b.items[:kept:kept], HasMore: b.more, Total: b.total}
	if page.Items == nil {
		page.Items = []T{}
	}
	if c.count != nil {
		total, err := c.count(c.ctx, c.query)
		if err != nil {
			return Page[T]{}, "", err
		}
		page.Total = &total
	}
	if page.HasMore {
		token, err := c.nextCursor(b, kept)
		if err != nil {
			return Page[T]{}, "", err
		}
		page.NextCursor = &token
	}
	return page, c.note(page), nil
}

// begin settles limit, query and position.
func (c *call[Q, T]) begin(in Input) error {
	if in.Limit < 0 {
		return limitFailure(strconv.Itoa(in.Limit), c.opts.Bounds)
	}
	// Validation has refused more, where there was any.
	c.limit = min(in.Limit, c.opts.Max)
	var err error
	if c.queryJSON, err = encodeQuery(c.query); err != nil {
		return err
	}
	if in.Cursor != "" {
		// No cursor has space or quotes around it; models copy them along.
		cursor := strings.Trim(in.Cursor, " \t\r\n\"'`")
		if isPlaceholder(cursor) {
			c.first = fmt.Sprintf("%q is no cursor of %s: this is the first page.", shorten(in.Cursor, 24), c.tool)
		} else if r := c.follow(cursor); r != nil {
			c.opts.Observer.Observe(c.ctx, CursorRejected{Tool: c.tool, Reason: r.why})
			return r.failure
		}
	}
	if c.limit == 0 {
		c.limit = c.opts.Limit
	}
	return nil
}

// nextCursor seals where the page after b.items[:kept] begins.
func (c *call[Q, T]) nextCursor(b batch[T], kept int) (string, error) {
	position, err := b.after(kept - 1)
	if err != nil {
		return "", err
	}
	if position == c.position {
		return "", fmt.Errorf("pagination: %s: the page after this one would begin where this one does", c.tool)
	}
	next := content{
		issued:   time.Now(),
		tool:     digestOf(c.tool),
		caller:   digestOf(c.caller),
		limit:    c.limit,
		query:    c.queryJSON,
		position: position,
	}
	if len(next.query) > maxQuery {
		next.digested, next.query = true, digestQuery(next.query)
	}
	encoded := next.encode()
	if len(encoded) > maxContent {
		return "", fmt.Errorf("pagination: %s: a position of %d bytes does not fit in a cursor", c.tool, len(position))
	}
	return c.opts.keys().seal(encoded), nil
}

// fit returns how many of items go into the page: all, or as many as its bytes
// allow, but at least one.
func (c *call[Q, T]) fit(items []T) (int, error) {
	room := c.opts.Bytes
	if b := bounded(c.ctx); b != nil {
		room = min(room, b.limit())
	}
	// The arguments stand in the note, where a < takes six bytes. A page should
	// hold more than them.
	arguments := textCosts.cost(view(c.arguments), maxRepeated)
	c.repeat = arguments <= min(maxRepeated, room/4)
	if c.repeat {
		room -= arguments
	}
	// The cursor stands in the structured content, in its text and in the next
	// call.
	cursor := (min(len(c.queryJSON), maxQuery) + sealSize + contentHeader + 64) * 4 / 3
	room -= envelope + noteRoom + 3*cursor + textCosts.cost(c.first, math.MaxInt-1)
	for i, item := range items {
		data, err := json.Marshal(item)
		if err != nil {
			return 0, fmt.Errorf("pagination: encoding an item: %w", err)
		}
		room -= bothCosts.cost(view(data), math.MaxInt) + bothCosts.cost(",", 1)
		if room < 0 && i > 0 {
			return i, nil
		}
	}
	return len(items), nil
}

// maxRepeated is the longest arguments that the next call repeats, in bytes on
// the wire.
const maxRepeated = 4096

// note is the text beside the JSON. It ends with the next call if there is one.
func (c *call[Q, T]) note(page Page[T]) string {
	var b strings.Builder
	b.WriteString(c.first)
	if page.NextCursor == nil {
		return b.String()
	}
	if b.Len() > 0 {
		b.WriteByte(' ')
	}
	if page.Total != nil {
		fmt.Fprintf(&b, "%s of %s items. ", grouped(len(page.Items)), grouped(*page.Total))
	} else {
		fmt.Fprintf(&b, "%s %s, and there are more. ", grouped(len(page.Items)), plural(len(page.Items), "item"))
	}
	if c.opts.Aggregate != "" {
		fmt.Fprintf(&b, "To count or add up over all of them, call %s instead of reading every page. ", c.opts.Aggregate)
	}
	if c.repeat {
		fmt.Fprintf(&b, "For the next page, call %s with %s", c.tool, c.nextArguments(*page.NextCursor))
	} else {
		// They are too long to be said once more, and the caller has them.
		fmt.Fprintf(&b, `For the next page, call %s with the same arguments as now and "cursor":%q`, c.tool, *page.NextCursor)
	}
	return b.String()
}

// nextArguments returns this call's arguments with the next cursor: whatever
// the tool requires is among them.
func (c *call[Q, T]) nextArguments(cursor string) string {
	var b strings.Builder
	b.WriteByte('{')
	s := orEmpty(string(c.arguments))
	if isComposite(s) && s[0] == '{' {
		for w := walk(s); w.next(); {
			if unquote(w.key) != "cursor" {
				b.WriteString(w.key + ":" + w.value + ",")
			}
		}
	}
	b.WriteString(`"cursor":"` + cursor + `"}`)
	return b.String()
}

// grouped formats n with commas: 1,234,567.
func grouped(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
