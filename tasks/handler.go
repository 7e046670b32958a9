package tasks

import (
	"context"
	stderrors "errors"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Handler gives one tool a policy where it is registered, instead of by name in
// [Options]. The server must be installed on: without that, calls just run.
//
// If the tool has a policy by name as well, that one counts. A tool whose output
// schema clients check should have its policy by name: only then is the
// advertised schema widened for answers that are handles.
func Handler(m *Manager, policy Policy, h mcp.ToolHandler) mcp.ToolHandler {
	enter := m.gate(policy)
	return func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if err := enter(ctx); err != nil {
			return nil, err
		}
		return h(ctx, req)
	}
}

// HandlerFor is [Handler] for a typed handler. Its policy sees only calls whose
// arguments fit the schema.
func HandlerFor[In, Out any](m *Manager, policy Policy, h mcp.ToolHandlerFor[In, Out]) mcp.ToolHandlerFor[In, Out] {
	enter := m.gate(policy)
	return func(ctx context.Context, req *mcp.CallToolRequest, in In) (*mcp.CallToolResult, Out, error) {
		if err := enter(ctx); err != nil {
			var none Out
			return nil, none, err
		}
		return h(ctx, req, in)
	}
}

// gate returns what a wrapped handler calls first. It announces the policy to
// the middleware, which has been waiting to learn whether there is one, and
// blocks until the middleware has decided. An error means that the handler must
// not run, and is seen by nobody.
func (m *Manager) gate(policy Policy) func(context.Context) error {
	policy = policy.withDefaults()
	if policy.Support != Never {
		m.wrapped.Store(true)
	}
	return func(ctx context.Context) error {
		r := runFrom(ctx)
		if r == nil || r.m != m || r.entry == nil || policy.Support == Never {
			return nil
		}
		return r.entry.pass(r, policy)
	}
}

// An entry is where a call whose policy is not known from its name meets the
// handler that knows it.
type entry struct {
	policy  chan Policy
	verdict chan error
	once    sync.Once
}

// errNotRun is the verdict on a call that was answered without running.
var errNotRun = stderrors.New("tasks: answered without running")

// pass lets the first run of the handler through when its task exists. Further
// rounds of the same call pass at once.
func (e *entry) pass(r *run, policy Policy) (err error) {
	e.once.Do(func() {
		e.policy <- policy
		if err = <-e.verdict; err == nil {
			err = r.begin()
		}
	})
	return err
}

// enter calls the handler, which may bring its own policy, and returns where its
// outcome comes.
func (r *run) enter() <-chan outcome {
	r.entry = &entry{policy: make(chan Policy), verdict: make(chan error, 1)}
	first := make(chan outcome, 1)
	go func() {
		out := outcome{err: errInternal("The handler ended without an answer.")} // runtime.Goexit
		defer func() { first <- out }()
		out = r.invoke(r.req)
	}()
	return first
}

// callUnknown serves a call on a server where some handlers bring their own
// policy. Whether this is one of them shows only when it is reached, so the call
// runs in a goroutine from the start.
func (m *Manager) callUnknown(ctx context.Context, next mcp.MethodHandler, req *mcp.CallToolRequest) (mcp.Result, error) {
	r := m.newRun(ctx, next, req)
	unlink := context.AfterFunc(ctx, func() { r.cancel(context.Cause(ctx)) })
	defer unlink()

	first := r.enter()
	select {
	case out := <-first: // no policy: as if we were not here
		r.cancel(nil)
		if out.panicked != nil {
			panic(out.panicked)
		}
		return out.res, out.err
	case policy := <-r.entry.policy:
		unlink()
		started := false
		defer func() {
			if !started {
				r.entry.verdict <- errNotRun
				r.cancel(nil)
			}
		}()
		return m.serve(ctx, r, policy, func() {
			started = true
			r.entry.verdict <- nil
			go r.conclude(func() outcome { return r.rounds(<-first) })
		})
	}
}
