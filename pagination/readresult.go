package pagination

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/steadymcp/steady/errors"
)

// resourceScheme is the scheme of the links to kept results.
const resourceScheme = "steady-result:///"

// Install adds to server the tool that reads kept results, and the resource
// template that links to them resolve by. Only servers with the tool are
// offered it: without this call, or where something hides the tool, cut
// results keep nothing. It does nothing if [BudgetOptions.Spill] is nil.
func (b *Budget) Install(server *mcp.Server) {
	if b.spill == nil {
		return
	}
	mcp.AddTool(server, &mcp.Tool{
		Name:  b.spill.opts.Tool,
		Title: "Read more of a result",
		Description: "Returns more of a result that was cut because it was too large. " +
			"Pass the handle that the cut result names; follow next_offset until it is null. " +
			"Kept results are gone after " + b.spill.opts.TTL.String() + ".",
		Annotations:  &mcp.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true, OpenWorldHint: new(bool)},
		InputSchema:  readSchema(b.toolLimit(b.spill.opts.Tool)),
		OutputSchema: windowSchema(),
	}, b.readResult)
	server.AddResourceTemplate(&mcp.ResourceTemplate{
		Name:        b.spill.opts.Tool,
		Description: "Results that were too large to return whole. Their names come with the results that were cut.",
		URITemplate: resourceScheme + "{handle}",
		MIMEType:    "application/json",
	}, b.readResource)
}

const maxPath = 512 // bytes

type readInput struct {
	Handle string `json:"handle" jsonschema:"The handle that the cut result names."`
	Offset int    `json:"offset,omitempty" jsonschema:"Where to begin: an item's number in a list, or a byte in text. 0 if left out."`
	Limit  int    `json:"limit,omitempty" jsonschema:"How many items to return at most; as many as fit if left out."`
	Path   string `json:"path,omitempty" jsonschema:"JSON Pointer to a part of the result, such as /items/3. What was cut most if left out."`
	Part   int    `json:"part,omitempty" jsonschema:"Number of the block, for a result that has several."`
}

// mostItems bounds the limit of a piece, however large the budget is.
const mostItems = 100_000

// readSchema is the schema of readInput. No more items than half the bytes of a
// piece fit into it, so that is the most that limit may ask for.
func readSchema(bytes int) *jsonschema.Schema {
	s, err := jsonschema.For[readInput](nil)
	if err != nil {
		panic(err) // the type is above
	}
	s.Properties["limit"].Maximum = jsonschema.Ptr(float64(min(max(bytes/2, 1), mostItems)))
	return s
}

// window is a piece of a kept result.
type window struct {
	Part       int             `json:"part"`
	Path       string          `json:"path"`
	Unit       string          `json:"unit"`
	Offset     int             `json:"offset"`
	Shown      int             `json:"shown"`
	Total      int             `json:"total"`
	NextOffset *int            `json:"next_offset"`
	Items      json.RawMessage `json:"items,omitempty"`
	Text       *string         `json:"text,omitempty"`
}

func windowSchema() *jsonschema.Schema {
	count := func(description string) *jsonschema.Schema {
		return &jsonschema.Schema{Type: "integer", Minimum: jsonschema.Ptr(0.0), Description: description}
	}
	return &jsonschema.Schema{
		Type: "object",
		Properties: map[string]*jsonschema.Schema{
			"part":        count("Number of the block."),
			"path":        {Type: "string", Description: "JSON Pointer to what is read."},
			"unit":        {Type: "string", Enum: []any{unitItems, "bytes"}, Description: "What offset, shown and total count."},
			"offset":      count("Where this piece begins."),
			"shown":       count("How much of it is here."),
			"total":       count("How much there is."),
			"next_offset": {Types: []string{"integer", "null"}, Description: "Where the next piece begins; null at the end."},
			"items":       {Type: "array", Description: "The items, of a list."},
			"text":        {Type: "string", Description: "The text, of anything else."},
		},
		PropertyOrder: []string{"part", "path", "unit", "offset", "shown", "total", "next_offset", "items", "text"},
		Required:      []string{"part", "path", "unit", "offset", "shown", "total", "next_offset"},
	}
}

func (b *Budget) readResult(_ context.Context, req *mcp.CallToolRequest, in readInput) (*mcp.CallToolResult, any, error) {
	tool := b.spill.opts.Tool
	e := b.spill.get(in.Handle, b.spill.opts.Principal(req))
	if e == nil {
		return nil, nil, errors.NotFound("There is no kept result %q", shorten(in.Handle, 40)).
			Because("results are kept for %s, and fewer of them when there are many", b.spill.opts.TTL).
			Next("repeat the call that the result came from, asking for less")
	}
	sent := members(orEmpty(string(req.Params.Arguments)))
	if _, ok := sent["part"]; !ok {
		in.Part = e.part
	}
	if _, ok := sent["path"]; !ok && in.Part == e.part {
		in.Path = e.path
	}
	switch {
	case len(in.Path) > maxPath:
		return nil, nil, errors.Invalid("path has %d bytes; %d are the most", len(in.Path), maxPath)
	case in.Part < 0 || in.Part >= len(e.parts):
		return nil, nil, errors.Invalid("part must be from 0 to %d, got %d", len(e.parts)-1, in.Part)
	case in.Offset < 0:
		return nil, nil, errors.Invalid("offset must not be negative, got %d", in.Offset)
	case in.Limit < 0:
		return nil, nil, errors.Invalid("limit must not be negative, got %d", in.Limit)
	}
	value, ok := resolvePointer(e.parts[in.Part], in.Path)
	if !ok {
		return nil, nil, errors.NotFound("There is nothing at %q in that result", shorten(in.Path, 100)).
			Next("leave path out, or pass one that begins with %q", e.path)
	}
	w := window{Part: in.Part, Path: in.Path, Offset: in.Offset}
	room := b.toolLimit(tool) - envelope - 800 - 2*bothCosts.cost(in.Path, math.MaxInt-1)
	if strings.HasPrefix(value, "[") && json.Valid([]byte(value)) {
		w.items(value, room, in.Limit)
	} else {
		w.text(value, room)
	}
	data, err := json.Marshal(w)
	if err != nil {
		return nil, nil, fmt.Errorf("pagination: encoding a piece of a result: %w", err)
	}
	note := fmt.Sprintf("%s to %s of %s %s.", grouped(w.Offset), grouped(w.Offset+w.Shown), grouped(w.Total), w.Unit)
	if w.NextOffset != nil {
		next := nextWindow{Handle: in.Handle, Offset: *w.NextOffset}
		if in.Part != e.part {
			next.Part = &in.Part
		}
		if in.Part != e.part || in.Path != e.path {
			next.Path = &in.Path
		}
		note += " For the rest, call " + tool + " with " + next.String()
	}
	return &mcp.CallToolResult{
		Content:           []mcp.Content{&mcp.TextContent{Text: string(data)}, &mcp.TextContent{Text: note}},
		StructuredContent: json.RawMessage(data),
	}, nil, nil
}

// items fills w with as many items of the array s as fit in room.
func (w *window) items(s string, room, most int) {
	w.Unit = unitItems
	if most <= 0 {
		most = math.MaxInt
	}
	out := []byte{'['}
	for it := walk(s); it.next(); w.Total++ {
		if w.Total != w.Offset+w.Shown || w.Shown >= most {
			continue
		}
		n := bothCosts.cost(it.value, room) + bothCosts.cost(",", 1)
		item := it.value
		if n > room {
			if w.Shown > 0 {
				most = w.Shown
				continue
			}
			// Alone it is too much: show its beginning, and its path leads to
			// the rest.
			var ok bool
			if item, _, ok = cutJSON(it.value, bothCosts, room, false); !ok {
				item = `"[` + grouped(len(it.value)) + ` bytes: read it with its path]"`
			}
			n = room
		}
		if w.Shown > 0 {
			out = append(out, ',')
		}
		out = append(out, item...)
		room -= n
		w.Shown++
	}
	w.Items = append(out, ']')
	w.follow()
}

// text fills w with a piece of a string's content, or of raw text.
func (w *window) text(s string, room int) {
	w.Unit = "bytes"
	literal := strings.HasPrefix(s, `"`) && json.Valid([]byte(s))
	if literal {
		s = s[1 : len(s)-1]
	}
	w.Total = len(s)
	w.Offset = runeStart(s, min(w.Offset, len(s)))
	end := w.Offset
	for end < len(s) {
		size := 0
		if literal {
			size = escapeSize(s, end)
		} else {
			_, size = utf8.DecodeRuneInString(s[end:])
		}
		// The piece is sent in a string, and that once more in a text: what is
		// escaped the first time is escaped again.
		n := textCosts.cost(s[end:end+size], math.MaxInt-1)
		if n == size {
			room -= 2 * n
		} else {
			room -= 3 * n
		}
		if room < 0 {
			break
		}
		end += size
	}
	text := s[w.Offset:end]
	w.Shown = len(text)
	if literal {
		text = unquote(`"` + text + `"`)
	}
	w.Text = &text
	w.follow()
}

func (w *window) follow() {
	if next := w.Offset + w.Shown; w.Shown > 0 && next < w.Total {
		w.NextOffset = &next
	}
}

// nextWindow is the arguments of a call that reads on.
type nextWindow struct {
	Handle string  `json:"handle"`
	Part   *int    `json:"part,omitempty"` // nil where the kept result says it
	Path   *string `json:"path,omitempty"` // nil where the kept result says it
	Offset int     `json:"offset"`
}

func (w nextWindow) String() string {
	data, err := json.Marshal(w)
	if err != nil {
		return "{}" // text and numbers always encode
	}
	return string(data)
}

// resolvePointer returns the value that a JSON Pointer (RFC 6901) leads to.
func resolvePointer(s, pointer string) (string, bool) {
	if pointer == "" {
		return s, true
	}
	if pointer[0] != '/' || strings.Count(pointer, "/") > maxDepth {
		return "", false
	}
	for _, step := range strings.Split(pointer[1:], "/") {
		step = strings.ReplaceAll(strings.ReplaceAll(step, "~1", "/"), "~0", "~")
		s = trimSpace(s)
		if !isComposite(s) {
			return "", false
		}
		index := -1
		if s[0] == '[' {
			n, err := strconv.Atoi(step)
			if err != nil || n < 0 {
				return "", false
			}
			index = n
		}
		found := false
		i := 0
		for w := walk(s); w.next(); i++ {
			if index >= 0 && i == index || index < 0 && unquote(w.key) == step {
				s, found = w.value, true
				break
			}
		}
		if !found {
			return "", false
		}
	}
	return s, true
}

// readResource serves the link to a kept result. The middleware cuts it like
// any other resource.
func (b *Budget) readResource(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	e := b.spill.get(strings.TrimPrefix(req.Params.URI, resourceScheme), b.spill.opts.Principal(req))
	if e == nil {
		return nil, mcp.ResourceNotFoundError(req.Params.URI)
	}
	res := &mcp.ReadResourceResult{}
	res.CacheScope = "private" // it is kept for one caller
	for _, p := range e.parts {
		mime := "text/plain"
		if s := trimSpace(p); isComposite(s) && json.Valid([]byte(s)) {
			mime = "application/json"
		}
		res.Contents = append(res.Contents, &mcp.ResourceContents{URI: req.Params.URI, MIMEType: mime, Text: p})
	}
	return res, nil
}
