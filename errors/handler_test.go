package errors_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/steadymcp/steady/errors"
	"github.com/steadymcp/steady/internal/mcptest"
	"github.com/steadymcp/steady/observe"
)

// wrapped returns a server whose three tools are wrapped by hand.
func wrapped(outcome func() error) *mcp.Server {
	s := mcptest.Server()
	mcp.AddTool(s, &mcp.Tool{Name: "typed"}, errors.HandlerFor(func(context.Context, *mcp.CallToolRequest, input) (*mcp.CallToolResult, any, error) {
		return nil, nil, outcome()
	}))
	mcp.AddTool(s, &mcp.Tool{Name: "out"}, errors.HandlerFor(func(context.Context, *mcp.CallToolRequest, input) (*mcp.CallToolResult, output, error) {
		return nil, output{N: 3}, outcome()
	}))
	s.AddTool(&mcp.Tool{Name: "raw", InputSchema: json.RawMessage(`{"type":"object"}`)}, errors.Handler(func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return nil, outcome()
	}))
	return s
}

// The wrappers answer as Shape does, alone and behind a Shape; behind one, its
// Options count and each error is observed once.
func TestHandlers(t *testing.T) {
	for _, test := range shapes {
		t.Run(test.name, func(t *testing.T) {
			for _, revision := range mcptest.Revisions {
				s, seen := shaped(wrapped(test.outcome), test.opts)
				cs, wire := connect(t, s, revision)
				for _, h := range tools {
					r, err := reach(t, cs, h)
					require.NoError(t, err)
					requireToolError(t, r, test.text, test.facts, h)
					requireResultType(t, wire.last(), revision)
					if test.event != "*" {
						require.Equal(t, []string{test.event}, eventNames(t, seen, wire.last()), h)
					}
				}
				if test.opts != nil {
					continue // the wrappers alone have the zero Options
				}
				cs, wire = connect(t, wrapped(test.outcome), revision)
				for _, h := range tools {
					r, err := reach(t, cs, h)
					require.NoError(t, err)
					facts := test.facts
					if h == typedOut {
						facts = "" // the SDK drops them
					}
					requireToolError(t, r, test.text, facts, h)
					requireResultType(t, wire.last(), revision)
				}
			}
		})
	}
}

func TestHandlersSucceed(t *testing.T) {
	for _, revision := range mcptest.Revisions {
		cs, wire := connect(t, wrapped(func() error { return nil }), revision)
		for _, h := range tools {
			r, err := reach(t, cs, h)
			require.NoError(t, err)
			require.False(t, r.IsError)
			require.NotContains(t, wire.last(), "null")
			requireResultType(t, wire.last(), revision)
		}
		r, err := reach(t, cs, typedOut)
		require.NoError(t, err)
		require.Equal(t, `{"n":3}`, mcptest.Text(r), "the SDK still fills in the text")
	}
}

func TestHandlersPassProtocolErrors(t *testing.T) {
	want := &jsonrpc.Error{Code: -32042, Message: "open the page", Data: json.RawMessage(`{"url":"x"}`)}
	for _, revision := range mcptest.Revisions {
		cs, _ := connect(t, wrapped(func() error { return fmt.Errorf("%w", want) }), revision)
		for _, h := range tools {
			_, err := reach(t, cs, h)
			require.Equal(t, want, rpcError(t, err), h)
		}
	}
}

func TestHandlersCheckResults(t *testing.T) {
	type number struct {
		N float64 `json:"n"`
	}
	s := mcptest.Server()
	mcp.AddTool(s, &mcp.Tool{Name: "typed"}, errors.HandlerFor(func(context.Context, *mcp.CallToolRequest, input) (*mcp.CallToolResult, number, error) {
		return nil, number{math.NaN()}, nil
	}))
	mcp.AddTool(s, &mcp.Tool{Name: "out"}, errors.HandlerFor(func(context.Context, *mcp.CallToolRequest, input) (*mcp.CallToolResult, number, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{nil, &strange{}}}, number{}, nil
	}))
	s.AddTool(&mcp.Tool{Name: "raw", InputSchema: json.RawMessage(`{"type":"object"}`)}, errors.Handler(func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{StructuredContent: make(chan int)}, nil
	}))
	for _, revision := range mcptest.Revisions {
		cs, _ := connect(t, s, revision)
		for _, h := range tools {
			r, err := reach(t, cs, h)
			require.NoError(t, err, h)
			require.True(t, r.IsError, h)
			require.Nil(t, r.StructuredContent, h)
			require.Equal(t, "internal error (incident ID)", sans(mcptest.Text(r)), h)
		}
	}
}

// An author's own isError result, from a typed handler.
func TestHandlersPassAuthoredErrors(t *testing.T) {
	s := mcptest.Server()
	mcp.AddTool(s, &mcp.Tool{Name: "typed"}, errors.HandlerFor(func(context.Context, *mcp.CallToolRequest, input) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{text("no, password=hunter2")}}, nil, nil
	}))
	mcp.AddTool(s, &mcp.Tool{Name: "out"}, errors.HandlerFor(func(context.Context, *mcp.CallToolRequest, input) (*mcp.CallToolResult, output, error) {
		var r mcp.CallToolResult
		r.SetError(errors.New("no, password=hunter2"))
		return &r, output{}, nil
	}))
	cs, _ := connect(t, s, "")
	for _, h := range []string{typedTool, typedOut} {
		r, err := reach(t, cs, h)
		require.NoError(t, err)
		requireToolError(t, r, "no, password=***", "", h)
	}
}

// Of two Shapes the outer one decides, and each error is observed once.
func TestShapeTwice(t *testing.T) {
	outer, inner := &recorder{}, &recorder{}
	s := desk(func() error { return errors.New("plain") })
	s.AddReceivingMiddleware(
		errors.Shape(&errors.Options{Show: errors.ShowMarked, Observer: outer}),
		errors.Shape(&errors.Options{Observer: inner}),
	)
	cs, _ := connect(t, s, "")
	for _, h := range handlers {
		r, err := reach(t, cs, h)
		if r != nil {
			require.Equal(t, "internal error (incident ID)", sans(mcptest.Text(r)))
		} else {
			require.Equal(t, "internal error (incident ID)", sans(rpcError(t, err).Message))
		}
		require.Len(t, outer.take(), 1, h)
	}
	require.Empty(t, inner.take())
}

func TestProtocolErrorsAreObservedOnce(t *testing.T) {
	outcome := func() error { return fmt.Errorf("x: %w", &jsonrpc.Error{Code: -32042, Message: "open the page"}) }
	seen := &recorder{}
	opts := &errors.Options{Observer: seen}
	twice := desk(outcome)
	twice.AddReceivingMiddleware(errors.Shape(opts), errors.Shape(opts))
	cs, _ := connect(t, twice, "")
	for _, h := range handlers {
		_, err := reach(t, cs, h)
		require.EqualValues(t, -32042, rpcError(t, err).Code)
		require.Len(t, seen.take(), 1, h)
	}
	both, seen := shaped(wrapped(outcome), nil)
	cs, _ = connect(t, both, "")
	for _, h := range tools {
		_, err := reach(t, cs, h)
		require.EqualValues(t, -32042, rpcError(t, err).Code)
		require.Len(t, seen.take(), 1, h)
	}
}

// Middleware that drops the context's values must not let an inner policy
// decide.
func TestShapeTwiceWithoutContext(t *testing.T) {
	s := wrapped(func() error { return errors.New("plain") })
	s.AddReceivingMiddleware(
		errors.Shape(&errors.Options{Show: errors.ShowMarked, Observer: observe.Discard}),
		func(next mcp.MethodHandler) mcp.MethodHandler {
			return func(_ context.Context, method string, req mcp.Request) (mcp.Result, error) {
				return next(context.Background(), method, req)
			}
		},
	)
	cs, _ := connect(t, s, "")
	for _, h := range tools {
		r, err := reach(t, cs, h)
		require.NoError(t, err)
		require.Equal(t, "internal error (incident ID)", sans(mcptest.Text(r)))
	}
}

func TestAnswer(t *testing.T) {
	r, err := errors.Answer(t.Context(), nil, errors.NotFound("no order 7"))
	require.NoError(t, err)
	require.Equal(t, "no order 7.", mcptest.Text(r))
	require.True(t, r.IsError)

	r, err = errors.Answer(t.Context(), &mcp.CallToolRequest{}, errDriver)
	require.NoError(t, err)
	require.Equal(t, "internal error (incident ID)", sans(mcptest.Text(r)))
	require.ErrorIs(t, r.GetError(), errDriver)
	require.Equal(t, errors.KindInternal, errors.KindOf(r.GetError()))

	r, err = errors.Answer(t.Context(), nil, fmt.Errorf("x: %w", &jsonrpc.Error{Code: -32000, Message: "y"}))
	require.Nil(t, r)
	require.Equal(t, &jsonrpc.Error{Code: -32000, Message: "x: y"}, err)

	r, err = errors.Answer(t.Context(), nil, nil)
	require.NoError(t, err)
	require.Nil(t, r)
}

// What other packages answer with Failure.Result reaches the client as it is,
// and is observed.
func TestResultOfAFailure(t *testing.T) {
	f := errors.Unavailable("the shop is closed").Cause(errDriver)
	s := mcptest.Server()
	seen := &recorder{}
	s.AddReceivingMiddleware(errors.Shape(&errors.Options{Observer: seen}), func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if r, ok := req.(*mcp.CallToolRequest); ok {
				return f.Result(r), nil
			}
			return next(ctx, method, req)
		}
	})
	for _, revision := range mcptest.Revisions {
		cs, wire := connect(t, s, revision)
		r, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "any"})
		require.NoError(t, err)
		requireToolError(t, r, "the shop is closed.", `{"kind":"unavailable","retry":"after"}`, revision)
		requireResultType(t, wire.last(), revision)
		require.Equal(t, []string{"Failed unavailable"}, eventNames(t, seen, wire.last()))
	}
}

func TestGo(t *testing.T) {
	seen := &recorder{}
	s := mcptest.Server()
	mcp.AddTool(s, &mcp.Tool{Name: "typed"}, func(ctx context.Context, _ *mcp.CallToolRequest, _ input) (*mcp.CallToolResult, any, error) {
		return nil, nil, <-errors.Go(ctx, func(context.Context) error { panic("secret") })
	})
	mcp.AddTool(s, &mcp.Tool{Name: "out"}, func(ctx context.Context, _ *mcp.CallToolRequest, _ input) (*mcp.CallToolResult, any, error) {
		done := errors.Go(context.WithoutCancel(ctx), func(context.Context) error { panic("after the reply") })
		go func() { <-done }()
		return nil, nil, nil
	})
	s.AddReceivingMiddleware(errors.Shape(&errors.Options{Observer: seen}))
	cs, wire := connect(t, s, "")
	r, err := reach(t, cs, typedTool)
	require.NoError(t, err)
	requireToolError(t, r, "internal error (incident ID)", hiddenFacts, "Go")
	events := seen.take()
	require.Len(t, events, 1, "observed where it happened, and not again when it is returned")
	require.Contains(t, wire.last(), events[0].(errors.Panicked).Incident)
	_, err = reach(t, cs, typedOut)
	require.NoError(t, err)
	_, err = reach(t, cs, typedOut)
	require.NoError(t, err)
}

// What a handler joins to the error of a goroutine that panicked is not lost.
func TestGoJoined(t *testing.T) {
	seen := &recorder{}
	s := desk(func() error { return nil })
	mcp.AddTool(s, &mcp.Tool{Name: "typed"}, func(ctx context.Context, _ *mcp.CallToolRequest, _ input) (*mcp.CallToolResult, any, error) {
		return nil, nil, errors.Join(errDriver, <-errors.Go(ctx, func(context.Context) error { panic("secret") }))
	})
	s.AddReceivingMiddleware(errors.Shape(&errors.Options{Observer: seen}))
	cs, wire := connect(t, s, "")
	r, err := reach(t, cs, typedTool)
	require.NoError(t, err)
	requireToolError(t, r, "internal error (incident ID)", hiddenFacts, "joined")
	require.Equal(t, []string{"Panicked ID secret", "Hidden ID"}, eventNames(t, seen, wire.last()))
}

// The failure that a handler makes of a panic in its goroutine is what is shown.
func TestGoAsCause(t *testing.T) {
	seen := &recorder{}
	s := mcptest.Server()
	mcp.AddTool(s, &mcp.Tool{Name: "typed"}, func(ctx context.Context, _ *mcp.CallToolRequest, _ input) (*mcp.CallToolResult, any, error) {
		err := <-errors.Go(ctx, func(context.Context) error { panic("secret") })
		return nil, nil, errors.Unavailable("no price today").Cause(err)
	})
	s.AddReceivingMiddleware(errors.Shape(&errors.Options{Observer: seen}))
	cs, _ := connect(t, s, "")
	r, err := reach(t, cs, typedTool)
	require.NoError(t, err)
	requireToolError(t, r, "no price today.", `{"kind":"unavailable","retry":"after","incident":"ID"}`, "cause")
	require.Len(t, seen.take(), 2)
}

// Other middleware can tell what a result says about its error.
func TestResultKnowsItsKind(t *testing.T) {
	var got error
	s := desk(func() error { return context.DeadlineExceeded })
	s.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			res, err := next(ctx, method, req)
			if r, ok := res.(*mcp.CallToolResult); ok {
				got = r.GetError()
			}
			return res, err
		}
	}, errors.Shape(&errors.Options{Observer: observe.Discard}))
	cs, _ := connect(t, s, "")
	for _, h := range tools {
		_, err := reach(t, cs, h)
		require.NoError(t, err)
		require.ErrorIs(t, got, errors.KindTimeout)
		require.ErrorIs(t, got, context.DeadlineExceeded)
		require.Equal(t, errors.KindTimeout, errors.KindOf(got))
		require.NotErrorIs(t, got, errors.KindInternal)
	}
}

// Many calls fail in many ways at once, on one session.
func TestConcurrentCalls(t *testing.T) {
	shared := errors.Refused("no").Cause(errDriver)
	var n atomic.Int64
	s, _ := shaped(desk(func() error {
		switch n.Add(1) % 5 {
		case 0:
			panic(shared)
		case 1:
			return shared.Next("wait")
		case 2:
			return shared
		case 3:
			return errDriver
		}
		return nil
	}), nil)
	cs, _ := connect(t, s, "")
	var wg sync.WaitGroup
	for range 8 {
		for _, h := range handlers {
			wg.Go(func() {
				for range 5 {
					_, _ = reach(t, cs, h)
				}
			})
		}
	}
	wg.Wait()
	_, err := reach(t, cs, typedTool)
	require.NoError(t, err)
}

func TestGoReturns(t *testing.T) {
	done := errors.Go(t.Context(), func(context.Context) error { return errDriver })
	require.Same(t, errDriver, <-done)
	_, open := <-done
	require.False(t, open)
	require.NoError(t, <-errors.Go(t.Context(), func(ctx context.Context) error { return ctx.Err() }))

	err := <-errors.Go(t.Context(), func(context.Context) error { runtime.Goexit(); return nil })
	require.Equal(t, "internal error (incident ID)", sans(err.Error()), "a goroutine that ended is not one that succeeded")
	require.Equal(t, errors.KindInternal, errors.KindOf(err))
}

// An observer is the user's code too.
func TestObserverPanics(t *testing.T) {
	s := desk(func() error { panic("x") })
	s.AddReceivingMiddleware(errors.Shape(&errors.Options{Observer: observe.Func(func(context.Context, observe.Event) { panic("observer") })}))
	cs, _ := connect(t, s, "")
	for _, h := range handlers {
		r, err := reach(t, cs, h)
		require.True(t, err != nil || r.IsError)
	}
}

// Goexit cannot be answered, only observed.
func TestGoexitIsObserved(t *testing.T) {
	seen := &recorder{}
	call := errors.Shape(&errors.Options{Observer: seen})(func(context.Context, string, mcp.Request) (mcp.Result, error) {
		runtime.Goexit()
		return nil, nil
	})
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = call(context.Background(), "tools/call", &mcp.CallToolRequest{})
	}()
	<-done
	require.Nil(t, seen.take()[0].(errors.Panicked).Value)
}

// Requests made by hand have no session and no parameters.
func TestHandMadeRequests(t *testing.T) {
	for _, req := range []mcp.Request{
		&mcp.CallToolRequest{}, (*mcp.CallToolRequest)(nil), &mcp.GetPromptRequest{}, (*mcp.GetPromptRequest)(nil), &mcp.ReadResourceRequest{}, nil,
	} {
		for _, next := range []mcp.MethodHandler{
			func(context.Context, string, mcp.Request) (mcp.Result, error) { panic("x") },
			func(context.Context, string, mcp.Request) (mcp.Result, error) { return nil, nil },
			func(context.Context, string, mcp.Request) (mcp.Result, error) { return nil, errors.NotFound("x") },
		} {
			call := errors.Shape(&errors.Options{Observer: observe.Discard})(next)
			res, err := call(t.Context(), "m", req)
			require.True(t, (res == nil) != (err == nil), "%T: one of the two", req)
		}
	}
}
