package errors

import (
	"context"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/steadymcp/steady/internal/wire"
)

// Shape returns receiving middleware that turns whatever comes out of a
// handler into an answer: panics, errors, nil results, results that cannot be
// encoded. The package comment says what becomes of what. A nil opts means the
// zero Options.
//
// It covers every request and notification that a server receives: tools,
// prompts, resources, completion, subscriptions and custom methods. Install it
// outermost, so that it also covers other middleware. It may be installed on
// many servers; where it is met twice on one call's way, the outermost one's
// Options count.
func Shape(opts *Options) mcp.Middleware {
	own := newPolicy(opts)
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (res mcp.Result, err error) {
			ctx, p, at := enter(ctx, own, method, req)
			returned := false
			defer func() {
				if !returned {
					res, err = p.panicked(ctx, at, recover())
				}
			}()
			res, err = next(ctx, method, req)
			res, err = p.shape(ctx, at, res, err)
			returned = true
			return res, err
		}
	}
}

// panicked returns what a client gets for a panic with value.
func (p *policy) panicked(ctx context.Context, at *call, value any) (mcp.Result, error) {
	return p.caught(ctx, *at, value).reply(*at)
}

// shape returns what a client gets for what next returned.
func (p *policy) shape(ctx context.Context, at *call, res mcp.Result, err error) (mcp.Result, error) {
	if err != nil {
		if at.tool() != nil && isOutputError(err) {
			err = &malformed{"output", err}
		}
		return p.answer(ctx, *at, err).reply(*at)
	}
	switch r := res.(type) {
	case *mcp.CallToolResult:
		return lift(p.tool(ctx, *at, r))
	case *mcp.GetPromptResult:
		if r != nil {
			return p.passed(ctx, *at)(tidyPrompt(r))
		}
	case *mcp.ReadResourceResult:
		if r != nil {
			return p.passed(ctx, *at)(tidyResource(r))
		}
	case *mcp.CompleteResult:
		if r == nil {
			p.observe(ctx, NilResult{Method: at.method})
			r = &mcp.CompleteResult{}
		}
		return p.passed(ctx, *at)(tidyCompletion(r))
	default:
		if !isNil(res) {
			return p.passed(ctx, *at)(tidyOther(res))
		}
		if at.tool() != nil {
			return lift(p.tool(ctx, *at, nil))
		}
	}
	if strings.HasPrefix(at.method, "notifications/") {
		return nil, nil
	}
	return p.hidden(ctx, *at, &malformed{"result", New("the handler returned neither a result nor an error")}).reply(*at)
}

// passed returns a function that passes on a result, or the answer to one that
// no client can be given.
func (p *policy) passed(ctx context.Context, at call) func(mcp.Result, error) (mcp.Result, error) {
	return func(res mcp.Result, err error) (mcp.Result, error) {
		if err != nil {
			return p.hidden(ctx, at, err).reply(at)
		}
		return res, nil
	}
}

// tool returns what a client gets for the result of a tool.
func (p *policy) tool(ctx context.Context, at call, r *mcp.CallToolResult) (*mcp.CallToolResult, error) {
	if r == nil {
		// The work is done, for all that is known: saying otherwise would have
		// it repeated. A typed handler that returns nil answers the same.
		p.observe(ctx, NilResult{Method: at.method, Name: at.name()})
		return wire.NewToolResult(at.tool()), nil
	}
	if r.IsError {
		var err error
		if r, err = p.failed(ctx, at, r); err != nil {
			return nil, err
		}
	}
	fit, err := tidyTool(r)
	if err != nil {
		return p.hidden(ctx, at, err).tool(at, wire.NewToolResult(at.tool()))
	}
	return fit, nil
}

// failed returns what a client gets for a result with isError.
func (p *policy) failed(ctx context.Context, at call, r *mcp.CallToolResult) (*mcp.CallToolResult, error) {
	err := bounded(r.GetError())
	if err == nil {
		return authored(r), nil
	}
	f, isFailure := err.(*Failure)
	_, stamped := r.Meta[wire.MetaError]
	switch {
	case isFailure && stamped: // by Failure.Result, which observes nothing
		p.observe(ctx, Failed{Method: at.method, Name: at.name(), Kind: f.Kind(), Err: f})
		return r, nil
	case saysOnly(r, err): // a typed handler returned err
		if req := at.tool(); req != nil && req.Params != nil {
			at.arguments = req.Params.Arguments
		}
		return p.answer(ctx, at, err).tool(at, r)
	default: // the author wrote the content and left the error for us to see
		p.observe(ctx, Failed{Method: at.method, Name: at.name(), Kind: KindOf(err), Err: err})
		return authored(r), nil
	}
}

// saysOnly reports whether r's content is what SetError makes of err.
func saysOnly(r *mcp.CallToolResult, err error) bool {
	if len(r.Content) != 1 {
		return false
	}
	t, ok := r.Content[0].(*mcp.TextContent)
	return ok && t != nil && t.Text == err.Error()
}
