package catalog

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/steadymcp/steady/errors"
	"github.com/steadymcp/steady/internal/wire"
)

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
	if err != nil {
		return nil, err
	}
	if tooLarge(r) {
		return nil, a.op.unusable("would make a result of more than %d bytes", maxResultBytes)
	}
	for key, value := range a.Meta {
		r = wire.WithMeta(r, key, value)
	}
	if !a.rewritten() {
		return r, nil
	}
	if a.repaired != nil {
		r.Content = append(slices.Clip(r.Content), &mcp.TextContent{Text: "The arguments did not fit and were corrected to " + clip(string(a.repaired), 500)})
	}
	return wire.WithMeta(r, metaCatalog, a.facts()), nil
}

// metaCatalog is the key in _meta of what the catalog changed.
const metaCatalog = "steady/catalog"

// done is an answer, with what was rewritten on the way to it.
type done struct {
	*Answer
	op       *operation      // what was called
	resolved string          // the id that was meant, if another was written
	repaired json.RawMessage // the arguments, if others were written
}

func (a *done) rewritten() bool { return a.resolved != "" || a.repaired != nil }

// facts tells what was rewritten.
func (a *done) facts() map[string]any {
	facts := map[string]any{}
	if a.resolved != "" {
		facts["id"] = a.resolved
	}
	if a.repaired != nil {
		facts["arguments"] = a.repaired
	}
	return facts
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
		return c.called(ctx, "", time.Now(), &done{Answer: a, op: pathOperation()}, err)
	}
	switch {
	case want == onlyReads && !t.op.reads():
		return nil, errors.Refused("%s changes something and is not called with a tool that reads", t.op.ID).Next("call it with %s", c.names.Write)
	case want == onlyWrites && t.op.reads():
		return nil, errors.Refused("%s only reads", t.op.ID).Next("call it with %s", c.names.Call)
	}
	for name, v := range t.args {
		if said, ok := given[name]; ok && !sameValue(said, v) {
			return nil, errors.Invalid("%s has two values for %s, in the path and in the arguments", t.op.ID, clip(name, 60)).Next("give it once")
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
	d := &done{Answer: a, op: t.op, repaired: repaired}
	if asked, ok := args["id"].(string); ok && asked != "" && asked != t.op.ID {
		d.resolved = t.op.ID
	}
	return c.called(ctx, t.op.ID, start, d, err)
}

// sameValue reports whether an argument says what a path says, which is text.
func sameValue(argument, inPath any) bool {
	return reflect.DeepEqual(argument, inPath) || fmt.Sprint(argument) == fmt.Sprint(inPath)
}

func (c *Catalog) called(ctx context.Context, id string, start time.Time, d *done, err error) (*done, error) {
	failed := err != nil || d.Answer == nil || d.Result != nil && d.Result.IsError
	c.observer.Observe(ctx, Called{Entry: id, Failed: failed, Rewritten: d.rewritten(), Duration: time.Since(start)})
	if p, ok := errors.AsType[*pathError](err); ok {
		c.observer.Observe(ctx, PathRefused{Reason: p.Error()})
	}
	if err == nil && d.Answer == nil {
		err = errors.Unavailable("the call gave no answer")
	}
	if err != nil {
		return nil, err
	}
	return d, nil
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
