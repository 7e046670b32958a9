package errors

import (
	"context"
	"reflect"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/steadymcp/steady/internal/wire"
)

// Handler gives one raw tool handler, for Server.AddTool, what [Shape] gives a
// whole server, with the zero Options. Behind a Shape it follows that one's
// Options and leaves to it what it would do anyway, so that both may be used.
func Handler(h mcp.ToolHandler) mcp.ToolHandler {
	return func(ctx context.Context, req *mcp.CallToolRequest) (res *mcp.CallToolResult, err error) {
		ctx, p, at := enter(ctx, defaultPolicy, wire.MethodCallTool, req)
		returned := false
		defer func() {
			if !returned {
				res, err = p.caught(ctx, *at, recover()).tool(*at, wire.NewToolResult(req))
			}
		}()
		res, err = h(ctx, req)
		switch {
		case err != nil:
			res, err = p.answer(ctx, *at, err).tool(*at, wire.NewToolResult(req))
		case !at.inner:
			res, err = p.tool(ctx, *at, res)
		}
		returned = true
		return res, err
	}
}

// HandlerFor gives one typed tool handler, for mcp.AddTool, what [Shape] gives
// a whole server, with the zero Options. Behind a Shape it follows that one's
// Options and leaves to it what it would do anyway, so that both may be used.
//
// Without a Shape some things are out of its reach, because the SDK does them
// around the handler: the SDK's own text about arguments that do not fit the
// input schema may name Go types, a panic while In is decoded ends the process,
// output that does not fit the output schema is answered with code 0, and
// unless Out is any, a failure's _meta is lost (its text and isError are not).
func HandlerFor[In, Out any](h mcp.ToolHandlerFor[In, Out]) mcp.ToolHandlerFor[In, Out] {
	untyped := reflect.TypeFor[Out]() == reflect.TypeFor[any]()
	return func(ctx context.Context, req *mcp.CallToolRequest, in In) (res *mcp.CallToolResult, out Out, err error) {
		ctx, p, at := enter(ctx, defaultPolicy, wire.MethodCallTool, req)
		var a *answer
		returned := false
		defer func() {
			if !returned {
				a = p.caught(ctx, *at, recover())
			}
			if a == nil {
				return
			}
			var none Out
			res, out, err = nil, none, a
			switch {
			case at.inner:
			case a.protocol != nil:
				err = a.protocol
			case untyped:
				res, err = a.tool(*at, wire.NewToolResult(req))
			}
		}()
		res, out, err = h(ctx, req, in)
		if err == nil && !at.inner {
			res, err = p.typed(ctx, *at, res, any(out))
		}
		if err != nil {
			a = p.answer(ctx, *at, err)
		}
		returned = true
		return res, out, err
	}
}

// typed checks what a typed handler returned before the SDK makes one result
// of it.
func (p *policy) typed(ctx context.Context, at call, res *mcp.CallToolResult, out any) (*mcp.CallToolResult, error) {
	if err := encodes(out); err != nil {
		return nil, &malformed{"output", err}
	}
	if res == nil {
		return nil, nil
	}
	if res.IsError {
		var err error
		if res, err = p.failed(ctx, at, res); err != nil {
			return nil, err
		}
		if a, ok := res.GetError().(*answer); ok {
			return nil, a // beside a result the SDK would send the output too
		}
	}
	fit, err := tidyTool(res)
	if err == nil && res.Content == nil && len(fit.Content) == 0 {
		// The SDK fills content that is nil with the output as text.
		c := *fit
		c.Content = nil
		fit = &c
	}
	return fit, err
}
