// Package limits bounds what calls may take from a server: how long one may
// run, how many run at once, and how often a caller may call.
//
// The official SDK runs any number of calls at once and for any length of
// time. A [Limiter] gives every tools/call a deadline below the timeout of the
// common clients, so that the model hears what happened instead of nothing; a
// place among a bounded number of running calls, with a bounded queue in
// front; and a token bucket per caller. A call that does not fit is answered
// with a rate-limited failure that says when to come back. Nothing is ever
// retried here.
//
//	limiter := limits.New(&limits.Options{
//		Rate:  limits.Rate{PerSecond: 10, Burst: 50},
//		Tools: map[string]limits.Limit{"export_orders": {Deadline: 2 * time.Minute, Running: 2}},
//	})
//	defer limiter.Close(ctx)
//	server.AddReceivingMiddleware(limiter.Middleware())
//
// # Order
//
// Install it inside discovery, so that a name has its final form when it is
// looked up in [Options].Tools, and inside errors, which turns the failures
// into results. A call that package tasks moves to the background counts
// against the rate when it comes in; its run time and concurrency are the task
// manager's from the moment that the handle is returned.
//
// # Callers
//
// A caller is the subject of the request's token, else its session; where there
// is neither (standard input and output, stateless HTTP without tokens) all
// requests belong to one caller. The bounds for one caller are then the bounds
// of the server: raise them for a server that many share without tokens.
package limits

import (
	"context"
	"reflect"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/steadymcp/steady/errors"
	"github.com/steadymcp/steady/internal/wire"
	"github.com/steadymcp/steady/observe"
)

// None switches one bound of an [Options] or a [Limit] off. Nothing else does:
// zero means the default.
const None = -1

// Defaults of [Options].
const (
	// DefaultDeadline lies below the 60 s after which the TypeScript and
	// Python clients give up.
	DefaultDeadline  = 50 * time.Second
	DefaultRunning   = 128
	DefaultPerCaller = 32
	DefaultQueue     = 256
	DefaultWait      = 5 * time.Second
	DefaultCallers   = 10_000
)

// Options configures a [Limiter]. The zero value is ready to use.
type Options struct {
	// Deadline is how long a call may take, its time in the queue included. The
	// time that a person takes to answer a question of the handler's counts as
	// well: give such tools a deadline of their own. If zero, DefaultDeadline.
	Deadline time.Duration
	// Running bounds the calls that run at once. If zero, DefaultRunning.
	Running int
	// PerCaller bounds the calls of one caller that run at once. If zero,
	// DefaultPerCaller.
	PerCaller int
	// Queue bounds the calls that wait for a place. One caller, and one tool
	// with a bound of its own, may have a quarter of it, and at least one. If
	// zero, DefaultQueue; None means that nothing waits.
	Queue int
	// Wait is how long a call waits for a place. If zero, DefaultWait; None
	// means until its deadline.
	Wait time.Duration
	// Rate bounds how often one caller may call, all tools together. If zero,
	// there is no bound.
	Rate Rate
	// Tools adds bounds for single tools, by name. They hold besides those
	// above, except for the deadline, which they replace.
	Tools map[string]Limit
	// Callers bounds how many callers have a token bucket of their own; the
	// rest share one. If zero, DefaultCallers.
	Callers int
	// Observer receives an event for each call that was turned away or that
	// overran its deadline. If nil, slog.Default.
	Observer observe.Observer
}

// A Limit bounds one tool.
type Limit struct {
	// Deadline replaces that of the Options. If zero, it stands.
	Deadline time.Duration
	// Running bounds the calls of this tool that run at once, whoever calls.
	// If zero, only the bounds of the Options hold.
	Running int
	// Rate bounds how often one caller may call this tool. If zero, only the
	// bound of the Options holds.
	Rate Rate
}

// A Rate is a token bucket: Burst calls at once, and PerSecond more each
// second. Without PerSecond there is no bound, whatever Burst says.
type Rate struct {
	PerSecond float64
	// Burst is how many calls may come at once. If zero or less, one second's
	// worth, and at least 1.
	Burst int
}

func (r Rate) burst() int {
	if r.Burst > 0 {
		return r.Burst
	}
	return max(int(r.PerSecond), 1)
}

// A Limiter holds the counts. Create one with [New]; it may serve any number
// of servers, which then share its bounds. Its methods may be called
// concurrently.
type Limiter struct {
	opts  Options
	gate  *gate
	rates *buckets
	late  late
}

// New returns a Limiter. A nil opts means the zero Options.
func New(opts *Options) *Limiter {
	var o Options
	if opts != nil {
		o = *opts
	}
	o.Deadline = orDefault(o.Deadline, DefaultDeadline)
	o.Running = orDefault(o.Running, DefaultRunning)
	o.PerCaller = orDefault(o.PerCaller, DefaultPerCaller)
	o.Queue = orDefault(o.Queue, DefaultQueue)
	o.Wait = orDefault(o.Wait, DefaultWait)
	o.Callers = orDefault(o.Callers, DefaultCallers)
	o.Observer = observe.Or(o.Observer)
	tools := make(map[string]Limit, len(o.Tools))
	for name, limit := range o.Tools {
		tools[name] = limit
	}
	o.Tools = tools
	l := &Limiter{opts: o, gate: newGate(&o), rates: newBuckets(o.Callers)}
	l.late.init()
	return l
}

// orDefault resolves the three meanings of a bound: zero is the default, None
// or anything below zero is no bound, which is stored as zero.
func orDefault[T int | time.Duration](v, byDefault T) T {
	switch {
	case v == 0:
		return byDefault
	case v < 0:
		return 0
	}
	return v
}

// Middleware returns receiving middleware that bounds every tools/call.
// Other methods pass through. It may be called many times.
func (l *Limiter) Middleware() mcp.Middleware {
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			call, ok := req.(*mcp.CallToolRequest)
			if !ok || method != wire.MethodCallTool || call.Params == nil || l.holds(ctx) {
				return next(ctx, method, req)
			}
			res, err := bound(l, ctx, call, func(ctx context.Context) (mcp.Result, error) {
				return next(ctx, method, req)
			})
			if failure, ok := err.(*errors.Failure); ok {
				return failure.Result(call), nil
			}
			return res, err
		}
	}
}

// Handler bounds one raw tool handler by l. Where l's middleware is installed
// too, the call is counted once.
func Handler(l *Limiter, h mcp.ToolHandler) mcp.ToolHandler {
	return func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if l.holds(ctx) {
			return h(ctx, req)
		}
		res, err := bound(l, ctx, req, func(ctx context.Context) (*mcp.CallToolResult, error) {
			return h(ctx, req)
		})
		if failure, ok := err.(*errors.Failure); ok {
			return failure.Result(req), nil
		}
		return res, err
	}
}

// HandlerFor bounds one typed tool handler by l. Where l's middleware is
// installed too, the call is counted once. Unless Out is any, the SDK makes the
// result of a refusal, and its _meta is missing.
func HandlerFor[In, Out any](l *Limiter, h mcp.ToolHandlerFor[In, Out]) mcp.ToolHandlerFor[In, Out] {
	type output struct {
		result *mcp.CallToolResult
		out    Out
	}
	untyped := reflect.TypeFor[Out]() == reflect.TypeFor[any]()
	return func(ctx context.Context, req *mcp.CallToolRequest, in In) (*mcp.CallToolResult, Out, error) {
		if l.holds(ctx) {
			return h(ctx, req, in)
		}
		o, err := bound(l, ctx, req, func(ctx context.Context) (output, error) {
			result, out, err := h(ctx, req, in)
			return output{result, out}, err
		})
		if failure, ok := err.(*errors.Failure); ok && untyped {
			var none Out
			return failure.Result(req), none, nil
		}
		return o.result, o.out, err
	}
}

type heldKey struct{ *Limiter }

// holds reports whether ctx belongs to a call that l already counts.
func (l *Limiter) holds(ctx context.Context) bool { return ctx.Value(heldKey{l}) != nil }

// bound runs one call inside all of l's bounds.
func bound[R any](l *Limiter, ctx context.Context, call *mcp.CallToolRequest, run func(context.Context) (R, error)) (R, error) {
	var zero R
	tool, caller := call.Params.Name, wire.Principal(call)
	if err := l.take(ctx, caller, tool); err != nil {
		return zero, err
	}
	ctx = context.WithValue(ctx, heldKey{l}, true)
	deadline := &passed{l.deadline(tool)}
	if deadline.after > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, deadline.after, deadline)
		defer cancel()
	}
	leave, err := l.enter(ctx, caller, tool, deadline)
	if err != nil {
		return zero, err
	}
	return await(l, ctx, tool, deadline, leave, run)
}

func (l *Limiter) refused(ctx context.Context, caller, tool, bound, reason string) {
	l.opts.Observer.Observe(ctx, Refused{Tool: tool, Reason: reason, Bound: bound, Caller: wire.Shown(caller)})
}

func (l *Limiter) deadline(tool string) time.Duration {
	if own := l.opts.Tools[tool].Deadline; own != 0 {
		return max(own, 0)
	}
	return l.opts.Deadline
}
