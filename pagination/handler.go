package pagination

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"reflect"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/steadymcp/steady/errors"
)

// Handler returns a handler of raw arguments whose results are bounded as by a
// [Budget] of opts, for servers that install no middleware. Its structured
// content is held to [BudgetOptions.OutputSchema] when it is cut. Nothing is
// kept: Spill is ignored.
//
// Under a Budget's middleware it only lowers the limit, if its own is lower,
// and leaves the work to it.
func Handler(opts *BudgetOptions, h mcp.ToolHandler) mcp.ToolHandler {
	b := handlerBudget(opts)
	schema := b.schemas.get(b.opts.OutputSchema)
	return func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		limit := b.toolLimit(toolName(req))
		if outer := bounded(ctx); outer != nil {
			outer.lower(limit)
			return h(ctx, req)
		}
		state := newBoundState(limit)
		res, err := h(withBound(ctx, state), req)
		if err != nil || res == nil {
			return res, err
		}
		c := callCutter{Budget: b, ctx: ctx, req: req, limit: state.limit(), schema: schema}
		return c.bound(res, state), nil
	}
}

// HandlerFor is [Handler] for typed handlers. The output that does not fit is
// cut, and read into an Out again; where that does not give the same JSON,
// because Out's methods encode and do not decode, the call is answered with an
// error. What the SDK adds to an output afterwards, the defaults of its schema,
// is not counted.
func HandlerFor[In, Out any](opts *BudgetOptions, h mcp.ToolHandlerFor[In, Out]) mcp.ToolHandlerFor[In, Out] {
	b := handlerBudget(opts)
	schema := b.schemas.get(b.opts.OutputSchema)
	if t := reflect.TypeFor[Out](); schema == nil && t.Kind() != reflect.Interface {
		// As the SDK does; it reports the error when the tool is added.
		if s, err := jsonschema.ForType(t, nil); err == nil {
			schema = b.schemas.get(s)
		}
	}
	return func(ctx context.Context, req *mcp.CallToolRequest, in In) (*mcp.CallToolResult, Out, error) {
		limit := b.toolLimit(toolName(req))
		if outer := bounded(ctx); outer != nil {
			outer.lower(limit)
			return h(ctx, req, in)
		}
		state := newBoundState(limit)
		res, out, err := h(withBound(ctx, state), req, in)
		c := callCutter{Budget: b, ctx: ctx, req: req, limit: state.limit(), schema: schema}
		if err != nil {
			return res, out, c.boundError(err)
		}
		return boundOutput(&c, state, res, out)
	}
}

func handlerBudget(opts *BudgetOptions) *Budget {
	var o BudgetOptions
	if opts != nil {
		o = *opts
	}
	o.Spill = nil
	return NewBudget(&o)
}

// toolName returns the name of the tool that is called, or "" in a request made
// by hand.
func toolName(req *mcp.CallToolRequest) string {
	if req == nil || req.Params == nil {
		return ""
	}
	return req.Params.Name
}

// boundError shortens the text of an error that the SDK is going to show.
func (c *callCutter) boundError(err error) error {
	if _, ok := err.(*jsonrpc.Error); ok { // the SDK, too, looks no deeper
		return err
	}
	room := c.limit - envelope - noteRoom/2
	text := err.Error()
	if textCosts.cost(text, room) <= room {
		return err
	}
	short, _ := cutText(text, room)
	f := errors.Fail(errors.KindInternal, "%s … [%s more bytes]", short, grouped(len(text)-len(short)))
	return f.Cause(err)
}

func boundOutput[Out any](c *callCutter, state *boundState, res *mcp.CallToolResult, out Out) (*mcp.CallToolResult, Out, error) {
	var zero Out
	if any(out) == nil { // the SDK sends what the handler has set
		if res == nil {
			return res, out, nil
		}
		return c.bound(res, state), out, nil
	}
	// This is the result that the SDK would make.
	whole := &mcp.CallToolResult{}
	if res != nil {
		*whole = *res
	}
	if whole.InputRequests != nil {
		return res, out, nil
	}
	if exceeds(out, far*c.opts.Ceiling) {
		return nil, zero, c.refuse(whole, far*c.opts.Ceiling, "that is more than the server will look at").GetError()
	}
	data, err := json.Marshal(out)
	if err != nil {
		return res, out, nil // for the SDK to report
	}
	whole.StructuredContent = json.RawMessage(data)
	if whole.Content == nil || data[0] != '{' {
		whole.Content = append(whole.Content[:len(whole.Content):len(whole.Content)], &mcp.TextContent{Text: string(data)})
	}
	cut := c.bound(whole, state)
	if cut == whole {
		return res, out, nil
	}
	if cut.IsError && !whole.IsError {
		return nil, zero, cut.GetError()
	}
	structured, ok := cut.StructuredContent.(json.RawMessage)
	if !ok {
		return nil, zero, cut.GetError()
	}
	if structured[0] != '{' {
		// The SDK adds the text of a list or scalar by itself.
		cut.Content = slices.DeleteFunc(slices.Clone(cut.Content), func(b mcp.Content) bool {
			t, ok := b.(*mcp.TextContent)
			return ok && t.Text == string(structured)
		})
	}
	shorter, ok := any(structured).(Out)
	if !ok {
		d := json.NewDecoder(bytes.NewReader(structured))
		d.UseNumber() // for fields of type any
		if d.Decode(&shorter) != nil {
			return nil, zero, c.cannotDecode(whole, len(data))
		}
		again, err := json.Marshal(shorter)
		if err != nil || len(again) > len(structured) && rawSize(view(again), math.MaxInt-1) > rawSize(view(structured), math.MaxInt-1) || !sameJSON(view(again), view(structured)) {
			return nil, zero, c.cannotDecode(whole, len(data))
		}
	}
	return cut, shorter, nil
}

func (c *callCutter) cannotDecode(whole *mcp.CallToolResult, size int) error {
	return c.refuse(whole, size, "a shorter version of it would not be a valid result").GetError()
}
