package errors_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/steadymcp/steady/errors"
	"github.com/steadymcp/steady/internal/mcptest"
	"github.com/steadymcp/steady/observe"
)

// selfish wraps itself.
type selfish struct{ text string }

func (e *selfish) Error() string { return e.text }
func (e *selfish) Unwrap() error { return e }

// ring wraps an error that wraps it.
type ring struct{ next []error }

func (e *ring) Error() string   { return "ring" }
func (e *ring) Unwrap() []error { return e.next }

func newRing(more ...error) error {
	a, b := &ring{}, &ring{}
	a.next = append(more, b)
	b.next = []error{a, a}
	return a
}

// Chains that do not end are answered, observed and logged all the same, by
// code that walks them with Is and As.
func TestEndlessChains(t *testing.T) {
	look := func(err error) error {
		if errors.Is(err, context.Canceled) {
			return errors.New("translated")
		}
		return nil
	}
	for _, test := range []struct {
		name string
		err  error
		text string
	}{
		{"self", &selfish{"self"}, "internal error (incident ID)"},
		{"ring", newRing(), "internal error (incident ID)"},
		{"wrapped", fmt.Errorf("x: %w", newRing()), "internal error (incident ID)"},
		{"marked", errors.Public(&selfish{"self"}), "self"},
		{"failure inside", newRing(errors.Refused("no")), "no. Do not retry."},
		{"failure around", errors.Refused("no").Cause(&selfish{"self"}), "no. Do not retry."},
		{"failure that shows it", errors.Refused("no: %w", newRing()), "no: internal error. Do not retry."},
		{"failure joined to it", errors.Join(newRing(), errors.Unavailable("shut")), "internal error (incident ID)"},
	} {
		for _, show := range []errors.Visibility{errors.ShowAuthored, errors.ShowMarked} {
			seen := &recorder{}
			s := desk(func() error { return test.err })
			s.AddReceivingMiddleware(errors.Shape(&errors.Options{Show: show, Translate: look, Observer: observe.Multi(seen, observe.Discard)}))
			cs, _ := connect(t, s, "")
			for _, h := range tools {
				r, err := reach(t, cs, h)
				require.NoError(t, err)
				require.Equal(t, test.text, sans(mcptest.Text(r)), test.name)
			}
			for _, e := range seen.take() {
				observe.Slog(nil).Observe(t.Context(), e)
				if h, ok := e.(errors.Hidden); ok {
					require.NotErrorIs(t, h.Err, context.Canceled)
				}
			}
		}
	}
	// An author's own content beside such an error.
	s, _ := shaped(rawServer(func() *mcp.CallToolResult {
		var r mcp.CallToolResult
		r.SetError(newRing())
		r.Content = []mcp.Content{text("mine")}
		return &r
	}), nil)
	cs, _ := connect(t, s, "")
	r, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "raw"})
	require.NoError(t, err)
	require.Equal(t, "mine", mcptest.Text(r))

	// Events that somebody else made.
	for _, e := range []observe.Event{errors.Failed{Kind: errors.KindTimeout, Err: newRing()}, errors.Hidden{Err: newRing()}} {
		observe.Slog(nil).Observe(t.Context(), e)
	}
	require.Empty(t, errors.KindOf(newRing()))
}

// A batch may join thousands of errors and is no endless chain.
func TestLongChainsAreKept(t *testing.T) {
	errs := make([]error, 5000)
	for i := range errs {
		errs[i] = errors.New("x")
	}
	errs[4999] = errors.NotFound("no order 7")
	s, _ := shaped(desk(func() error { return errors.Join(errs...) }), nil)
	cs, _ := connect(t, s, "")
	r, err := reach(t, cs, typedTool)
	require.NoError(t, err)
	require.Equal(t, "no order 7.", mcptest.Text(r))
}

// uncomparable errors meet == in Is.
type uncomparable []string

func (u uncomparable) Error() string { return fmt.Sprint([]string(u)) }

// A handler that returns context.Cause(ctx) says that it was interrupted, with
// whatever the context was cancelled with.
func TestCauseOfAnInterruption(t *testing.T) {
	const next = " Next: check whether it took effect before calling again."
	draining := errors.New("the server is draining")
	for _, test := range []struct {
		name     string
		cause    error
		returned func(ctx context.Context) error
		text     string
		kind     errors.Kind
	}{
		{"cause", draining, context.Cause, "the server is draining." + next, errors.KindTimeout},
		{"wrapped cause", draining, func(ctx context.Context) error { return fmt.Errorf("export: %w", context.Cause(ctx)) }, "export: the server is draining." + next, errors.KindTimeout},
		{"wrapped inside", fmt.Errorf("stopping: %w", draining), context.Cause, "stopping: the server is draining." + next, errors.KindTimeout},
		{"foreign cause", &driverError{"pool closed"}, context.Cause, "the call was cancelled before it finished." + next, errors.KindTimeout},
		{"uncomparable cause", uncomparable{"a"}, context.Cause, "internal error (incident ID)", errors.KindInternal},
		{"failure as cause", errors.Unavailable("closed for today"), context.Cause, "closed for today.", errors.KindUnavailable},
		{"kind as cause", errors.KindUnavailable, context.Cause, "unavailable.", errors.KindUnavailable},
		{"failure in the cause", fmt.Errorf("x: %w", errors.Unavailable("closed for today")), func(ctx context.Context) error { return ctx.Err() }, "closed for today.", errors.KindUnavailable},
		{"another error", draining, func(context.Context) error { return errors.New("no such order") }, "no such order", ""},
		{"failure that blames the cause", draining, func(ctx context.Context) error { return errors.Refused("no").Cause(context.Cause(ctx)) }, "no. Do not retry.", errors.KindConflict},
	} {
		for _, revision := range mcptest.Revisions {
			s := mcptest.Server()
			mcp.AddTool(s, &mcp.Tool{Name: "typed"}, func(ctx context.Context, _ *mcp.CallToolRequest, _ input) (*mcp.CallToolResult, any, error) {
				return nil, nil, test.returned(ctx)
			})
			seen := &recorder{}
			s.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
				return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
					ctx, cancel := context.WithCancelCause(ctx)
					if method == "tools/call" {
						cancel(test.cause)
					}
					defer cancel(nil)
					return next(ctx, method, req)
				}
			}, errors.Shape(&errors.Options{Observer: seen}))
			cs, _ := connect(t, s, revision)
			r, err := reach(t, cs, typedTool)
			require.NoError(t, err)
			require.Equal(t, test.text, sans(mcptest.Text(r)), test.name)
			events := seen.take()
			require.Len(t, events, 1)
			if f, ok := events[0].(errors.Failed); ok {
				require.Equal(t, test.kind, f.Kind, test.name)
				if test.kind == errors.KindTimeout {
					require.ErrorIs(t, f.Err, test.cause)
					require.ErrorIs(t, f.Err, context.Canceled, "so that it is no warning")
				}
			} else {
				require.Equal(t, errors.KindInternal, test.kind, test.name)
			}
		}
	}
}

// A goroutine's panic is observed with the call that it belongs to.
func TestGoKnowsItsCall(t *testing.T) {
	work := func(ctx context.Context) error {
		return <-errors.Go(ctx, func(context.Context) error { panic("x") })
	}
	typed := func(ctx context.Context, _ *mcp.CallToolRequest, _ input) (*mcp.CallToolResult, any, error) {
		return nil, nil, work(ctx)
	}
	for _, test := range []struct {
		name    string
		handler mcp.ToolHandlerFor[input, any]
		shape   bool
	}{
		{"behind Shape", typed, true}, {"behind both", errors.HandlerFor(typed), true},
	} {
		s := mcptest.Server()
		mcp.AddTool(s, &mcp.Tool{Name: "typed"}, test.handler)
		s, seen := shaped(s, nil)
		cs, _ := connect(t, s, "")
		_, err := reach(t, cs, typedTool)
		require.NoError(t, err)
		p := seen.take()[0].(errors.Panicked)
		require.Equal(t, "tools/call", p.Method, test.name)
		require.Equal(t, "typed", p.Name, test.name)
	}

	// One call that makes another: the inner one's name counts.
	seen := &recorder{}
	inner := errors.Handler(func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return nil, work(ctx) })
	outer := errors.Shape(&errors.Options{Observer: seen})(func(ctx context.Context, _ string, _ mcp.Request) (mcp.Result, error) {
		return inner(ctx, &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Name: "inner"}})
	})
	_, err := outer(t.Context(), "tools/call", &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Name: "outer"}})
	require.NoError(t, err)
	require.Equal(t, "inner", seen.take()[0].(errors.Panicked).Name)

	// Without any call.
	require.Error(t, work(t.Context()))
}
