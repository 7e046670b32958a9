package catalog

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/steadymcp/steady/errors"
)

type readyCall struct {
	Tool      string         `json:"tool"`
	Arguments map[string]any `json:"arguments"`
}

// ready returns a call of an entry with its example, or nil if nothing can be
// called.
func (c *Catalog) ready(op *operation) *readyCall {
	if c.opts.Caller == nil {
		return nil
	}
	tool := c.names.Call
	if !op.reads() {
		tool = c.names.Write
	}
	args := map[string]any{"id": op.ID}
	if e := op.example; e != nil {
		args["arguments"] = e
	} else if s := op.sketch(); len(s) > 0 {
		args["arguments"] = s
	}
	return &readyCall{tool, args}
}

// sketch makes up arguments for the required parameters.
func (op *operation) sketch() map[string]any {
	args := map[string]any{}
	for _, name := range op.schema.Required {
		s := op.known[name]
		switch {
		case s == nil:
			args[name] = "<" + name + ">"
		case len(s.Default) > 0:
			args[name] = s.Default
		case len(s.Examples) > 0:
			args[name] = s.Examples[0]
		case len(s.Enum) > 0:
			args[name] = s.Enum[0]
		case s.Type == "integer" || s.Type == "number":
			args[name] = 1
			if s.Minimum != nil {
				args[name] = *s.Minimum
			}
		case s.Type == "boolean":
			args[name] = true
		case s.Type == "array":
			args[name] = []any{}
		case s.Type == "object":
			args[name] = map[string]any{}
		default:
			args[name] = "<" + name + ">"
		}
	}
	return args
}

type foundEntry struct {
	ID       string     `json:"id"`
	Title    string     `json:"title,omitempty"`
	Summary  string     `json:"summary,omitempty"`
	Signal   string     `json:"signal,omitempty"`
	ReadOnly bool       `json:"read_only"`
	Exact    bool       `json:"exact,omitempty"`
	Why      []Match    `json:"why,omitempty"`
	Call     *readyCall `json:"call,omitempty"`
}

func (c *Catalog) find(ctx context.Context, req *mcp.CallToolRequest, args map[string]any) (*mcp.CallToolResult, error) {
	question, _ := args["question"].(string)
	if collapse(question) == "" {
		return c.browse(ctx, req, map[string]any{})
	}
	e, err := c.edition(ctx, req)
	if err != nil {
		return nil, err
	}
	limit := defaultLimit
	if n, ok := args["limit"].(json.Number); ok {
		if v, err := n.Int64(); err == nil {
			limit = int(v)
		}
	}
	found := e.index.search(question, limit, c.allows(ctx, req))
	c.gaps.note(found)
	if len(found.Hits) == 0 || found.Weak {
		c.observer.Observe(ctx, Missed{Weak: len(found.Hits) > 0, Unmatched: len(found.Unmatched), Confidence: found.Confidence})
	}
	data := struct {
		Results    []foundEntry `json:"results"`
		Confidence float64      `json:"confidence"`
		Weak       bool         `json:"weak"`
		Unmatched  []string     `json:"unmatched"`
		Note       string       `json:"note,omitempty"`
		Stale      int64        `json:"stale_seconds,omitempty"`
	}{Results: []foundEntry{}, Confidence: round(found.Confidence), Weak: found.Weak, Unmatched: shorten(found.Unmatched), Note: c.note(found), Stale: c.stale(e)}
	for _, h := range found.Hits {
		for i := range h.Why {
			h.Why[i].Weight = round(h.Why[i].Weight)
		}
		data.Results = append(data.Results, foundEntry{
			ID: h.Entry.ID, Title: h.Entry.Title, Summary: clip(h.Entry.Summary, 400), Signal: clip(h.Entry.Signal, 200), ReadOnly: h.Entry.reads(),
			Exact: h.Exact, Why: h.Why, Call: c.ready(e.operation(h.Entry.ID)),
		})
	}
	return envelope(req, data, nil)
}

func round(f float64) float64 { return float64(int64(f*100+.5)) / 100 }

func shorten(words []string) []string {
	return append([]string{}, words[:min(len(words), 20)]...)
}

// note says what a result means that is not plainly good.
func (c *Catalog) note(r *Result) string {
	unmatched := ""
	if len(r.Unmatched) > 0 {
		unmatched = " Nothing here matches: " + strings.Join(shorten(r.Unmatched), ", ") + "."
	}
	switch {
	case len(r.Hits) == 0 && len(r.Unmatched) > 0 && !slices.ContainsFunc(r.Unmatched, func(word string) bool { return !hasDigit(word) }):
		return "Numbers and codes alone say too little. Ask in words for what you want to know about them, and give them to the operation as arguments."
	case len(r.Hits) == 0:
		return "No entry fits this question." + unmatched + " Ask once more in other words; if that finds nothing either, say that it is not available here, and do not guess."
	case r.Weak:
		return "These are near what was asked for, and perhaps no answer." + unmatched + " Read an entry with " + c.names.Describe + " before you rely on it."
	}
	return strings.TrimSpace(unmatched)
}

// stale returns for how many seconds the entries could not be confirmed, or
// zero while they are as fresh as they should be.
func (c *Catalog) stale(e *edition) int64 {
	if c.keeper == nil || e.loaded.IsZero() {
		return 0
	}
	if age := time.Since(e.loaded); age > 2*c.keeper.interval {
		return int64(age.Seconds())
	}
	return 0
}

func (c *Catalog) describe(ctx context.Context, req *mcp.CallToolRequest, args map[string]any) (*mcp.CallToolResult, error) {
	e, err := c.edition(ctx, req)
	if err != nil {
		return nil, err
	}
	t, err := c.target(ctx, req, e, args, anyEffect)
	if err != nil {
		return nil, err
	}
	op := t.op
	data := struct {
		ID          string          `json:"id"`
		Method      string          `json:"method,omitempty"`
		Path        string          `json:"path,omitempty"`
		Title       string          `json:"title,omitempty"`
		Summary     string          `json:"summary,omitempty"`
		Description string          `json:"description,omitempty"`
		Signal      string          `json:"signal,omitempty"`
		Tags        []string        `json:"tags,omitempty"`
		ReadOnly    bool            `json:"read_only"`
		Destructive bool            `json:"destructive"`
		Idempotent  bool            `json:"idempotent"`
		Parameters  json.RawMessage `json:"parameters"`
		Example     json.RawMessage `json:"example,omitempty"`
		Call        *readyCall      `json:"call,omitempty"`
		Stale       int64           `json:"stale_seconds,omitempty"`
	}{op.ID, op.Method, op.Path, op.Title, op.Summary, op.Description, op.Signal, op.Tags,
		op.reads(), op.destroys(), op.repeats(), op.Parameters, op.example, c.ready(op), c.stale(e)}
	if len(data.Parameters) == 0 {
		data.Parameters = json.RawMessage(`{"type":"object"}`)
	}
	return envelope(req, data, nil)
}

type listedEntry struct {
	ID       string   `json:"id"`
	Title    string   `json:"title,omitempty"`
	Summary  string   `json:"summary,omitempty"`
	Tags     []string `json:"tags,omitempty"`
	ReadOnly bool     `json:"read_only"`
}

// browse lists entries by id. The cursor holds the last id, so that a page is
// right even if entries were added or removed since.
func (c *Catalog) browse(ctx context.Context, req *mcp.CallToolRequest, args map[string]any) (*mcp.CallToolResult, error) {
	e, err := c.edition(ctx, req)
	if err != nil {
		return nil, err
	}
	tag, _ := args["tag"].(string)
	cursor, _ := args["cursor"].(string)
	after, ok := readCursor(cursor, tag)
	if !ok {
		return nil, errors.Invalid("the cursor is not one of this listing").Next("leave it out for the first page, with the same tag throughout")
	}
	tags := map[string]int{}
	var ids []string
	entries := map[string]*Entry{}
	for i := range e.index.entries {
		entry := &e.index.entries[i]
		if !c.allowed(ctx, req, entry) {
			continue
		}
		for _, t := range entry.Tags {
			tags[t]++
		}
		if tag == "" || slices.Contains(entry.Tags, tag) {
			ids = append(ids, entry.ID)
			entries[entry.ID] = entry
		}
	}
	slices.Sort(ids)
	if tag != "" && len(ids) == 0 {
		return nil, errors.NotFound("no entry has the tag %q", clip(tag, 128)).Next("use one of %s", clip(strings.Join(slices.Sorted(maps.Keys(tags)), ", "), 800))
	}
	data := struct {
		Entries []listedEntry  `json:"entries"`
		Total   int            `json:"total"`
		Tags    map[string]int `json:"tags,omitempty"`
		Next    *string        `json:"next_cursor"`
		Stale   int64          `json:"stale_seconds,omitempty"`
	}{Entries: []listedEntry{}, Total: len(ids), Stale: c.stale(e)}
	from, found := slices.BinarySearch(ids, after)
	if found {
		from++
	}
	if after == "" {
		from = 0
		if tag == "" && len(tags) <= 200 {
			data.Tags = tags
		}
	}
	to := min(from+c.opts.PageSize, len(ids))
	for _, id := range ids[from:to] {
		entry := entries[id]
		data.Entries = append(data.Entries, listedEntry{id, entry.Title, clip(entry.Summary, 400), entry.Tags, entry.reads()})
	}
	if to < len(ids) {
		next := writeCursor(ids[to-1], tag)
		data.Next = &next
	}
	return envelope(req, data, nil)
}

func writeCursor(after, tag string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(after + "\n" + tag))
}

func readCursor(cursor, tag string) (after string, ok bool) {
	if cursor == "" {
		return "", true
	}
	b, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil {
		return "", false
	}
	after, of, ok := strings.Cut(string(b), "\n")
	return after, ok && of == tag && idPattern.MatchString(after)
}
