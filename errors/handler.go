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
		p, shaped := policyOf(ctx)
		if !shaped {
			ctx = context.WithValue(ctx, policyKey{}, p)
		}
		returned := false
		defer func() {
			if !returned {
				res, err = p.caught(ctx, callOf(wire.MethodCallTool, req), recover()).tool(wire.NewToolResult(req))
			}
		}()
		res, err = h(ctx, req)
		switch {
		case err != nil:
			res, err = p.answer(ctx, callOf(wire.MethodCallTool, req), err).tool(wire.NewToolResult(req))
		case !shaped:
			res, err = p.tool(ctx, wire.MethodCallTool, req, res)
		}
		returned = true
		return res, err
	}
}

// HandlerFor gives one typed tool handler, for mcp.AddTool, what [Shape] gives
// a whole server, with the zero Options. Behind a Shape it follows that one's
// Options and leaves to it what it would do anyway, so that both may be used.
//
// Without a Shape three things are out of its reach, because the SDK does them
// around the handler: the SDK's own text about arguments that do not fit the
// input schema may name Go types, output that does not fit the output schema
// is answered with code 0, and unless Out is any, a failure's _meta is lost
// (its text and isError are not).
func HandlerFor[In, Out any](h mcp.ToolHandlerFor[In, Out]) mcp.ToolHandlerFor[In, Out] {
	untyped := reflect.TypeFor[Out]() == reflect.TypeFor[any]()
	return func(ctx context.Context, req *mcp.CallToolRequest, in In) (res *mcp.CallToolResult, out Out, err error) {
		p, shaped := policyOf(ctx)
		if !shaped {
			ctx = context.WithValue(ctx, policyKey{}, p)
		}
		var a *answer
		returned := false
		defer func() {
			if !returned {
				a = p.caught(ctx, callOf(wire.MethodCallTool, req), recover())
			}
			if a == nil {
				return
			}
			var none Out
			res, out, err = nil, none, a
			if a.protocol != nil {
				err = a.protocol
			} else if untyped && !shaped {
				res, err = a.tool(wire.NewToolResult(req))
			}
		}()
		res, out, err = h(ctx, req, in)
		if err == nil && !shaped {
			res, err = p.typed(ctx, req, res, any(out))
		}
		if err != nil {
			a = p.answer(ctx, callOf(wire.MethodCallTool, req), err)
		}
		returned = true
		return res, out, err
	}
}

// typed checks what a typed handler returned before the SDK makes one result
// of it.
func (p *policy) typed(ctx context.Context, req *mcp.CallToolRequest, res *mcp.CallToolResult, out any) (*mcp.CallToolResult, error) {
	if err := encodes(out); err != nil {
		return nil, &malformed{"output", err}
	}
	if res == nil {
		return nil, nil
	}
	hadContent := res.Content != nil
	res, err := p.tool(ctx, wire.MethodCallTool, req, res)
	if err == nil && !hadContent && len(res.Content) == 0 {
		// The SDK fills content that is nil with the output as text.
		c := *res
		c.Content = nil
		res = &c
	}
	return res, err
}
