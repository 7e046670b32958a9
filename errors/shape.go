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
			p, installed := policyOf(ctx)
			if !installed {
				p = own
				ctx = context.WithValue(ctx, policyKey{}, p)
			}
			returned := false
			defer func() {
				if !returned {
					res, err = p.caught(ctx, callOf(method, req), recover()).reply(req)
				}
			}()
			res, err = next(ctx, method, req)
			res, err = p.shape(ctx, method, req, res, err)
			returned = true
			return res, err
		}
	}
}

// shape returns what a client gets for what next returned.
func (p *policy) shape(ctx context.Context, method string, req mcp.Request, res mcp.Result, err error) (mcp.Result, error) {
	if err != nil {
		if _, ok := req.(*mcp.CallToolRequest); ok && isOutputError(err) {
			err = &malformed{"output", err}
		}
		return p.answer(ctx, callOf(method, req), err).reply(req)
	}
	switch r := res.(type) {
	case *mcp.CallToolResult:
		toolReq, _ := req.(*mcp.CallToolRequest)
		return lift(p.tool(ctx, method, toolReq, r))
	case *mcp.GetPromptResult:
		if r != nil {
			return p.checked(ctx, method, req, func() (mcp.Result, error) { return tidyPrompt(r) })
		}
	case *mcp.ReadResourceResult:
		if r != nil {
			return p.checked(ctx, method, req, func() (mcp.Result, error) { return tidyResource(r) })
		}
	case *mcp.CompleteResult:
		if r == nil {
			p.observe(ctx, NilResult{Method: method})
			r = &mcp.CompleteResult{}
		}
		return p.checked(ctx, method, req, func() (mcp.Result, error) { return tidyCompletion(r) })
	default:
		if !isNil(res) {
			return p.checked(ctx, method, req, func() (mcp.Result, error) { return tidyOther(res) })
		}
		if toolReq, ok := req.(*mcp.CallToolRequest); ok {
			return lift(p.tool(ctx, method, toolReq, nil))
		}
	}
	if strings.HasPrefix(method, "notifications/") {
		return nil, nil
	}
	return p.hidden(ctx, callOf(method, req), &malformed{"result", New("the handler returned neither a result nor an error")}).reply(req)
}

// tool returns what a client gets for the result of a tool.
func (p *policy) tool(ctx context.Context, method string, req *mcp.CallToolRequest, r *mcp.CallToolResult) (*mcp.CallToolResult, error) {
	if r == nil {
		// The work is done, for all that is known: saying otherwise would have
		// it repeated. A typed handler that returns nil answers the same.
		p.observe(ctx, NilResult{Method: method, Name: callOf(method, req).name})
		return wire.NewToolResult(req), nil
	}
	if r.IsError {
		var err error
		if r, err = p.failed(ctx, method, req, r); err != nil {
			return nil, err
		}
	}
	tidied, err := tidyTool(r)
	if err != nil {
		return p.hidden(ctx, callOf(method, req), err).tool(wire.NewToolResult(req))
	}
	return tidied, nil
}

// failed returns what a client gets for a result with isError.
func (p *policy) failed(ctx context.Context, method string, req *mcp.CallToolRequest, r *mcp.CallToolResult) (*mcp.CallToolResult, error) {
	err := r.GetError()
	switch {
	case err == nil: // the author wrote the content
	case saysOnly(r, err):
		if _, answered := r.Meta[wire.MetaError]; answered {
			if f, ok := err.(*Failure); ok { // Failure.Result, which observes nothing
				p.observe(ctx, Failed{Method: method, Name: callOf(method, req).name, Kind: f.Kind(), Err: f})
				return r, nil
			}
		}
		// A typed handler returned err, and the SDK made a result of it.
		at := callOf(method, req)
		if req != nil && req.Params != nil {
			at.rawArguments = req.Params.Arguments
		}
		return p.answer(ctx, at, err).tool(r)
	default: // the author wrote the content and left the error for us to see
		p.observe(ctx, Failed{Method: method, Name: callOf(method, req).name, Kind: KindOf(err), Err: err})
	}
	return authored(r), nil
}

// saysOnly reports whether r's content is what SetError makes of err.
func saysOnly(r *mcp.CallToolResult, err error) bool {
	if len(r.Content) != 1 {
		return false
	}
	t, ok := r.Content[0].(*mcp.TextContent)
	return ok && t != nil && t.Text == err.Error()
}

// checked returns what tidy returns, or the answer to a result that cannot be
// encoded.
func (p *policy) checked(ctx context.Context, method string, req mcp.Request, tidy func() (mcp.Result, error)) (mcp.Result, error) {
	res, err := tidy()
	if err != nil {
		return p.hidden(ctx, callOf(method, req), err).reply(req)
	}
	return res, nil
}

// reply returns the answer to req.
func (a *answer) reply(req mcp.Request) (mcp.Result, error) {
	if r, ok := req.(*mcp.CallToolRequest); ok {
		return lift(a.tool(wire.NewToolResult(r)))
	}
	return nil, a.rpc(req)
}

// lift keeps a nil result from becoming an interface that is not nil.
func lift(r *mcp.CallToolResult, err error) (mcp.Result, error) {
	if r == nil {
		return nil, err
	}
	return r, err
}
