package catalog

import (
	"bytes"
	"context"
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/steadymcp/steady/errors"
	"github.com/steadymcp/steady/internal/wire"
)

// A target is what a call asks for.
type target struct {
	op   *operation     // nil for a free path
	args map[string]any // read from a concrete path
	path string         // of a free path
}

// An effect is what a tool may do to the world.
type effect int

const (
	onlyReads effect = iota
	onlyWrites
	anyEffect
)

// target finds what is asked for by id or path. What the caller may not know
// is not found.
func (c *Catalog) target(ctx context.Context, req *mcp.CallToolRequest, e *edition, args map[string]any, want effect) (*target, error) {
	id, _ := args["id"].(string)
	path, _ := args["path"].(string)
	switch {
	case id != "":
		op := e.operation(id)
		if op == nil || !c.allowed(ctx, req, op.Entry) {
			return nil, c.unknown(ctx, req, e, "id", id)
		}
		return &target{op: op}, nil
	case path != "":
		return c.byPath(ctx, req, e, path, want)
	}
	return nil, errors.Invalid("neither id nor path is given").Next("give the id of an entry; %s finds it", c.names.Find)
}

// unknown says that nothing has an id or path, and what is like it.
func (c *Catalog) unknown(ctx context.Context, req *mcp.CallToolRequest, e *edition, what, name string) error {
	f := errors.NotFound("no entry has the %s %q", what, clip(name, 128))
	near := e.index.search(clip(name, 256), 3, c.allows(ctx, req))
	if len(near.Hits) == 0 {
		return f.Next("ask %s in plain words", c.names.Find)
	}
	var ids []string
	for _, h := range near.Hits[:min(3, len(near.Hits))] {
		ids = append(ids, h.Entry.ID)
	}
	return f.Next("perhaps %s; or ask %s in plain words", strings.Join(ids, ", "), c.names.Find)
}

// byPath finds the entry whose template is a path, or fits it. What stands in
// the path and in its query become arguments, which are checked like others.
func (c *Catalog) byPath(ctx context.Context, req *mcp.CallToolRequest, e *edition, given string, want effect) (*target, error) {
	method := ""
	if m, rest, ok := strings.Cut(given, " "); ok && slices.Contains(methods[1:], strings.ToUpper(m)) {
		method, given = strings.ToUpper(m), strings.TrimSpace(rest)
	}
	path, rawQuery, _ := strings.Cut(given, "?")
	var fits []*target
	for _, op := range e.templates[segments(path)] {
		args, ok := matchTemplate(op.Path, path)
		if !ok || method != "" && op.Method != method || !c.allowed(ctx, req, op.Entry) {
			continue
		}
		fits = append(fits, &target{op: op, args: args})
	}
	// A template as it is written, or with fewer placeholders, is meant first.
	slices.SortStableFunc(fits, func(a, b *target) int {
		return len(a.args) - len(b.args)
	})
	for len(fits) > 1 && len(fits[len(fits)-1].args) > len(fits[0].args) {
		fits = fits[:len(fits)-1]
	}
	if len(fits) > 1 && want != anyEffect {
		fits = slices.DeleteFunc(fits, func(t *target) bool { return t.op.reads() != (want == onlyReads) })
	}
	switch {
	case len(fits) > 1:
		var ids []string
		for _, t := range fits {
			ids = append(ids, t.op.ID)
		}
		return nil, errors.Invalid("several entries have this path").Next("give one of the ids %s", clip(strings.Join(ids, ", "), 500))
	case len(fits) == 0:
		if c.opts.FreePaths && want == onlyReads && (method == "" || method == "GET") {
			return &target{path: given}, nil
		}
		if _, err := checkPath(placeholder.ReplaceAllString(path, "x"), "/"); err != nil {
			c.observer.Observe(ctx, PathRefused{Reason: err.Error()})
			return nil, errors.Refused("this path is not called").Because("%s", err.Error()).Next("give the id of an entry and its arguments")
		}
		return nil, c.unknown(ctx, req, e, "path", path)
	}
	t := fits[0]
	if rawQuery != "" {
		query, err := parseQuery(rawQuery)
		if err != nil {
			return nil, errors.Refused("this path is not called").Because("%s", err.Error())
		}
		for name, values := range query {
			s := t.op.schema.Properties[name]
			if s == nil {
				return nil, t.op.invalid("there is no parameter %q", clip(name, 60))
			}
			t.args[name] = fromText(s, values)
		}
	}
	for name, v := range t.args {
		if s, ok := v.(string); ok {
			t.args[name] = fromText(t.op.schema.Properties[name], []string{s})
		}
	}
	return t, nil
}

// matchTemplate reports whether a path is a template or fits it, and what
// stands for the placeholders then.
func matchTemplate(template, path string) (map[string]any, bool) {
	args := map[string]any{}
	if template == path {
		return args, true
	}
	t, p := strings.Split(template, "/"), strings.Split(path, "/")
	if len(t) != len(p) {
		return nil, false
	}
	for i := range t {
		open := strings.IndexByte(t[i], '{')
		if open < 0 {
			if t[i] != p[i] {
				return nil, false
			}
			continue
		}
		end := strings.IndexByte(t[i], '}')
		before, after := t[i][:open], t[i][end+1:]
		if strings.Contains(after, "{") || len(p[i]) <= len(before)+len(after) || !strings.HasPrefix(p[i], before) || !strings.HasSuffix(p[i], after) {
			return nil, false
		}
		value, err := url.PathUnescape(p[i][len(before) : len(p[i])-len(after)])
		if err != nil || checkSegment(value) != nil {
			return nil, false
		}
		args[t[i][open+1:end]] = value
	}
	return args, true
}

// fromText reads values that were written in a URL as the schema wants them.
func fromText(s *jsonschema.Schema, values []string) any {
	if s != nil && s.Type == "array" {
		list := make([]any, len(values))
		for i, v := range values {
			list[i] = fromText(s.Items, []string{v})
		}
		return list
	}
	v := values[len(values)-1]
	if s != nil {
		switch s.Type {
		case "integer", "number":
			if _, err := strconv.ParseFloat(v, 64); err == nil && json.Valid([]byte(v)) {
				return json.Number(v)
			}
		case "boolean":
			if b, err := strconv.ParseBool(v); err == nil {
				return b
			}
		}
	}
	return v
}

// callTool runs one call, or a batch.
func (c *Catalog) callTool(ctx context.Context, req *mcp.CallToolRequest, args map[string]any, write bool) (*mcp.CallToolResult, error) {
	want := onlyReads
	if write {
		want = onlyWrites
	}
	if calls, ok := args["calls"].([]any); ok {
		if len(args) > 1 {
			return nil, errors.Invalid("calls stands beside id, path or arguments").Next("give either one call or a list of calls")
		}
		return c.callBatch(ctx, req, calls, want)
	}
	a, err := c.callOne(ctx, req, args, want)
	if err != nil {
		return nil, err
	}
	return a.result(req)
}

func (a *done) result(req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	if a.Result != nil {
		return a.Result, nil
	}
	r, err := envelope(req, a.Data, a.RateLimit, a.Content...)
	if err != nil || a.repaired == nil {
		return r, err
	}
	r = wire.WithMeta(r, metaCatalog, map[string]any{"arguments": a.repaired})
	r.Content = append(slices.Clip(r.Content), &mcp.TextContent{Text: "The arguments did not fit and were corrected to " + clip(string(a.repaired), 500)})
	return r, nil
}

// metaCatalog is the key in _meta of what the catalog changed.
const metaCatalog = "steady/catalog"

// done is an answer, with the arguments if they were repaired.
type done struct {
	*Answer
	repaired json.RawMessage
}

// callOne is the way that every call takes: one call, each of a batch, a
// shortcut, a direct call.
func (c *Catalog) callOne(ctx context.Context, req *mcp.CallToolRequest, args map[string]any, want effect) (*done, error) {
	e, err := c.edition(ctx, req)
	if err != nil {
		return nil, err
	}
	t, err := c.target(ctx, req, e, args, want)
	if err != nil {
		return nil, err
	}
	given, _ := args["arguments"].(map[string]any)
	if t.op == nil {
		if len(given) > 0 {
			return nil, errors.Invalid("a path that no entry describes takes no arguments").Next("put them into its query")
		}
		a, err := c.opts.Caller.(PathCaller).CallPath(ctx, req, t.path)
		return c.called(ctx, "", time.Now(), a, nil, err)
	}
	switch {
	case want == onlyReads && !t.op.reads():
		return nil, errors.Refused("%s changes something and is not called with a tool that reads", t.op.ID).Next("call it with %s", c.names.Write)
	case want == onlyWrites && t.op.reads():
		return nil, errors.Refused("%s only reads", t.op.ID).Next("call it with %s", c.names.Call)
	}
	for name, v := range t.args {
		if _, ok := given[name]; ok {
			continue // what is said explicitly holds
		}
		if given == nil {
			given = map[string]any{}
		}
		given[name] = v
	}
	checked, repaired, err := c.arguments(ctx, t.op, given)
	if err != nil {
		return nil, err
	}
	start := time.Now()
	a, err := c.opts.Caller.Call(ctx, req, t.op.Entry, checked)
	return c.called(ctx, t.op.ID, start, a, repaired, err)
}

func (c *Catalog) called(ctx context.Context, id string, start time.Time, a *Answer, repaired json.RawMessage, err error) (*done, error) {
	c.observer.Observe(ctx, Called{Entry: id, Failed: err != nil || a == nil || a.Result != nil && a.Result.IsError, Duration: time.Since(start)})
	if p, ok := errors.AsType[*pathError](err); ok {
		c.observer.Observe(ctx, PathRefused{Reason: p.Error()})
	}
	if err == nil && a == nil {
		err = errors.Unavailable("the call gave no answer")
	}
	if err != nil {
		return nil, err
	}
	return &done{a, repaired}, nil
}

// arguments repairs and checks the arguments of an entry. The second result is
// not nil if they were changed.
func (c *Catalog) arguments(ctx context.Context, op *operation, given map[string]any) (map[string]any, json.RawMessage, error) {
	raw := json.RawMessage("{}")
	if len(given) > 0 {
		var err error
		if raw, err = json.Marshal(given); err != nil {
			return nil, nil, op.invalid("they cannot be written")
		}
	}
	args, f := op.arguments(raw)
	if f == nil || c.opts.Repairer == nil {
		if f != nil {
			return nil, nil, f
		}
		return args, nil, nil
	}
	fixed, err := c.opts.Repairer.Repair(ctx, op.tool(), raw)
	if err != nil || bytes.Equal(fixed, raw) {
		return nil, nil, f
	}
	args, again := op.arguments(fixed)
	if again != nil {
		return nil, nil, f // what was sent is what the model can correct
	}
	return args, fixed, nil
}

// tool describes an operation as a tool.
func (op *operation) tool() *mcp.Tool {
	destroys := op.destroys()
	parameters := op.Parameters
	if len(parameters) == 0 {
		parameters = json.RawMessage(`{"type":"object"}`)
	}
	return &mcp.Tool{
		Name: op.ID, Title: op.Title, Description: op.Summary, InputSchema: parameters,
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: op.reads(), DestructiveHint: &destroys, IdempotentHint: op.repeats()},
	}
}

// maxBatchBytes bounds the answers of a batch together.
const maxBatchBytes = 2 << 20

type batchItem struct {
	ID    string          `json:"id,omitempty"`
	Path  string          `json:"path,omitempty"`
	Data  json.RawMessage `json:"data,omitempty"`
	Error *batchError     `json:"error,omitempty"`
}

type batchError struct {
	Kind    errors.Kind `json:"kind"`
	Message string      `json:"message"`
}

// callBatch runs several calls, each as if it were the only one. Writes run in
// order; a failure does not stop the others.
func (c *Catalog) callBatch(ctx context.Context, req *mcp.CallToolRequest, calls []any, want effect) (*mcp.CallToolResult, error) {
	items := make([]batchItem, len(calls))
	answers := make([]*done, len(calls))
	slots := make(chan struct{}, c.opts.Concurrency)
	if want == onlyWrites {
		slots = make(chan struct{}, 1)
	}
	var wg sync.WaitGroup
	for i := range calls {
		args, _ := calls[i].(map[string]any)
		items[i].ID, _ = args["id"].(string)
		items[i].Path, _ = args["path"].(string)
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			var err error
			answers[i], err = c.callSafely(ctx, req, args, want)
			if err != nil {
				items[i].Error = shownError(err)
			}
		})
	}
	wg.Wait()
	size := 0
	var limit *RateLimit
	var extra []mcp.Content
	for i, a := range answers {
		if a == nil {
			continue
		}
		limit = tighter(limit, a.RateLimit)
		data := a.Data
		switch {
		case a.Result != nil:
			items[i].Error = &batchError{errors.KindConflict, clip(resultText(a.Result), 2000)}
			continue
		case len(data) == 0:
			data = json.RawMessage("null")
		}
		if size+len(data) > maxBatchBytes {
			items[i].Error = &batchError{errors.KindConflict, "It was called, and its answer has no room beside the others. Call it alone if it only reads."}
			continue
		}
		size += len(data)
		items[i].Data = data
		extra = append(extra, a.Content...)
	}
	return envelope(req, map[string]any{"results": items}, limit, extra...)
}

// callSafely is callOne in a goroutine that no middleware protects.
func (c *Catalog) callSafely(ctx context.Context, req *mcp.CallToolRequest, args map[string]any, want effect) (a *done, err error) {
	err = <-errors.Go(ctx, func(ctx context.Context) (err error) {
		a, err = c.callOne(ctx, req, args, want)
		return err
	})
	return a, err
}

// shownError returns what an item of a batch may show of an error: a failure
// is made to be shown, anything else is not.
func shownError(err error) *batchError {
	if f, ok := errors.AsType[*errors.Failure](err); ok {
		return &batchError{f.Kind(), f.Error()}
	}
	return &batchError{errors.KindInternal, "internal error"}
}

func resultText(r *mcp.CallToolResult) string {
	var texts []string
	for _, block := range r.Content {
		if t, ok := block.(*mcp.TextContent); ok {
			texts = append(texts, t.Text)
		}
	}
	if len(r.InputRequests) > 0 {
		texts = append(texts, "It asks for input. Call it alone.")
	}
	return strings.Join(texts, "\n")
}

// tighter returns the limit that leaves less.
func tighter(a, b *RateLimit) *RateLimit {
	switch {
	case b == nil:
		return a
	case a == nil || a.Remaining == nil || b.Remaining != nil && *b.Remaining < *a.Remaining:
		return b
	}
	return a
}
