package catalog

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/steadymcp/steady/errors"
	"github.com/steadymcp/steady/internal/wire"
)

// An ownTool is a tool of the catalog.
type ownTool struct {
	tool  *mcp.Tool
	op    *operation // checks its arguments; nil if what it runs does
	write bool       // advertised only while there is something to write
	run   func(ctx context.Context, req *mcp.CallToolRequest, args map[string]any) (*mcp.CallToolResult, error)
}

// handle checks the arguments and runs the tool.
func (t *ownTool) handle(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	var raw json.RawMessage
	if req.Params != nil {
		raw = req.Params.Arguments
	}
	if t.op == nil {
		args, err := decodeObject(raw)
		if err != nil {
			return nil, errors.Invalid("the arguments of %s do not fit", t.tool.Name).Because("%s", err.Error())
		}
		return t.run(ctx, req, args)
	}
	args, f := t.op.arguments(raw)
	if f != nil {
		return nil, f
	}
	return t.run(ctx, req, args)
}

func newOwnTool(tool *mcp.Tool, schema map[string]any, run func(context.Context, *mcp.CallToolRequest, map[string]any) (*mcp.CallToolResult, error)) *ownTool {
	schema["type"] = "object"
	schema["additionalProperties"] = false
	raw, err := json.Marshal(schema)
	if err != nil {
		panic(err) // the schemas below are constants
	}
	op, err := compile(&Entry{ID: tool.Name, Parameters: raw})
	if err != nil {
		panic(err)
	}
	tool.InputSchema, tool.OutputSchema = json.RawMessage(raw), envelopeSchema
	return &ownTool{tool: tool, op: op, run: run}
}

// envelopeSchema is the output schema of every tool of a catalog.
var envelopeSchema = json.RawMessage(`{
	"type": "object",
	"required": ["data", "rate_limit"],
	"properties": {
		"data": {"description": "The answer; null if it is empty"},
		"rate_limit": {
			"description": "The quota after this call; null if the call is free or the API does not say",
			"anyOf": [{"type": "null"}, {
				"type": "object",
				"required": ["limit", "remaining", "reset"],
				"properties": {
					"limit": {"type": ["integer", "null"], "description": "Calls in the window"},
					"remaining": {"type": ["integer", "null"], "description": "Calls left"},
					"reset": {"type": ["integer", "null"], "description": "Seconds until the window ends"}
				}
			}]
		}
	}
}`)

// envelope wraps data as every tool answers.
func envelope(req *mcp.CallToolRequest, data any, limit *RateLimit, extra ...mcp.Content) (*mcp.CallToolResult, error) {
	b, err := json.Marshal(struct {
		Data      any        `json:"data"`
		RateLimit *RateLimit `json:"rate_limit"`
	}{data, limit})
	if err != nil {
		return nil, err
	}
	r := wire.NewToolText(req, string(b))
	r.Content = append(r.Content, extra...)
	r.StructuredContent = json.RawMessage(b)
	return r, nil
}

func hints(reads, destroys, repeats, open bool) *mcp.ToolAnnotations {
	return &mcp.ToolAnnotations{ReadOnlyHint: reads, DestructiveHint: &destroys, IdempotentHint: repeats, OpenWorldHint: &open}
}

const free = " Free: it does not count against any quota."

// ownTools returns the tools of the catalog, in the order in which a model
// uses them.
func (c *Catalog) ownTools() []*ownTool {
	n := c.names
	text := func(description string, max int) map[string]any {
		return map[string]any{"type": "string", "description": description, "maxLength": max}
	}
	id := text("Id of the entry, as "+n.Find+" gives it", 128)
	path := text("Path of the entry, or a concrete path that fits it, such as /v1/things/42", maxPathBytes+maxQueryBytes)
	arguments := map[string]any{"type": "object", "description": "Arguments of the entry, by name"}
	tools := []*ownTool{
		newOwnTool(&mcp.Tool{
			Name: n.Find, Title: "Find data", Annotations: hints(true, false, true, false),
			Description: "Searches the catalog of all available operations for those that answer a question. Ask in plain words; names and codes such as 10-K are understood. Returns candidates, best first, each with why it matched and a call that is ready to use. If nothing fits it says so, with the words that matched nothing: then the data is not here, so do not guess." + free,
		}, map[string]any{"properties": map[string]any{
			"question": text("What you want to know or do, in plain words. Empty lists the beginning of the catalog", maxQuestionBytes),
			"limit":    map[string]any{"type": "integer", "minimum": 1, "maximum": 20, "default": DefaultLimit, "description": "How many candidates"},
		}}, c.find),
		newOwnTool(&mcp.Tool{
			Name: n.Describe, Title: "Describe an operation", Annotations: hints(true, false, true, false),
			Description: "Describes one operation of the catalog by its id or path: what it gives, its parameters with their constraints, and an example call. Use it before the first call of an operation." + free,
		}, map[string]any{"properties": map[string]any{"id": id, "path": path}}, c.describe),
		newOwnTool(&mcp.Tool{
			Name: n.Browse, Title: "Browse the catalog", Annotations: hints(true, false, true, false),
			Description: "Lists the catalog page by page, all of it or the entries with a tag. To look for something, " + n.Find + " is better." + free,
		}, map[string]any{"properties": map[string]any{
			"cursor": text("next_cursor of the page before; absent for the first", 512),
			"tag":    text("Only entries with this tag", 128),
		}}, c.browse),
	}
	if c.opts.Caller != nil {
		call := func(verb string) map[string]any {
			return map[string]any{"properties": map[string]any{
				"id": id, "path": path, "arguments": arguments,
				"calls": map[string]any{
					"type": "array", "minItems": 1, "maxItems": c.opts.BatchLimit,
					"description": fmt.Sprintf("Several calls in one, at most %d, instead of id, path and arguments. Each is %s and fails by itself", c.opts.BatchLimit, verb),
					"items": map[string]any{
						"type": "object", "additionalProperties": false,
						"properties": map[string]any{"id": id, "path": path, "arguments": arguments},
					},
				},
			}}
		}
		tools = append(tools, newOwnTool(&mcp.Tool{
			Name: n.Call, Title: "Call an operation that reads", Annotations: hints(true, false, true, true),
			Description: "Calls an operation of the catalog that only reads, by its id and arguments. " + n.Find + " and " + n.Describe + " give both. Counts against the caller's quota, which rate_limit in the answer shows.",
		}, call("made"), func(ctx context.Context, req *mcp.CallToolRequest, args map[string]any) (*mcp.CallToolResult, error) {
			return c.callTool(ctx, req, args, false)
		}))
		if !c.opts.NoWrites {
			write := newOwnTool(&mcp.Tool{
				Name: n.Write, Title: "Call an operation that changes something", Annotations: hints(false, true, false, true),
				Description: "Calls an operation of the catalog that creates, changes or deletes, by its id and arguments. What only reads is called with " + n.Call + ". Counts against the caller's quota.",
			}, call("made in order"), func(ctx context.Context, req *mcp.CallToolRequest, args map[string]any) (*mcp.CallToolResult, error) {
				return c.callTool(ctx, req, args, true)
			})
			write.write = true
			tools = append(tools, write)
		}
	}
	if c.feedback != nil {
		tools = append(tools, c.feedbackTool())
	}
	return tools
}

// Instructions returns what a model should know about using the catalog, for
// [mcp.ServerOptions]. [Catalog.Install] adds it to a server that lacks it.
func (c *Catalog) Instructions() string {
	n := c.names
	var b strings.Builder
	fmt.Fprintf(&b, "The data and operations of this server are in a catalog. Find, describe, call: ask %s in plain words, read the parameters of a candidate with %s", n.Find, n.Describe)
	if c.opts.Caller != nil {
		fmt.Fprintf(&b, ", and call it with %s by its id", n.Call)
		if !c.opts.NoWrites {
			fmt.Fprintf(&b, " (%s if it changes something)", n.Write)
		}
	}
	fmt.Fprintf(&b, ". Finding, describing and browsing with %s are free; search again in other words before you call by guess. Say that something is not available only if %s found nothing or marked its results weak, and then name the words that matched nothing.", n.Browse, n.Find)
	if c.opts.Caller != nil {
		b.WriteString(" Every answer is {data, rate_limit}: slow down when rate_limit.remaining runs low, and wait rate_limit.reset seconds at zero.")
	}
	if c.feedback != nil {
		fmt.Fprintf(&b, " When an answer looks stale, missing, wrong or malformed against the primary source, report what you expected and what you got with %s.", n.Feedback)
	}
	return b.String()
}

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
	if e := op.example(); e != nil {
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
		s := op.schema.Properties[name]
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
	limit := DefaultLimit
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
		op.reads(), op.destroys(), op.repeats(), op.Parameters, op.example(), c.ready(op), c.stale(e)}
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
