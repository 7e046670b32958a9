package tasks

import (
	"context"
	"crypto/rand"
	stderrors "errors"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/steadymcp/steady/errors"
	"github.com/steadymcp/steady/internal/stack"
	"github.com/steadymcp/steady/internal/wire"
)

// A run is one execution of a handler for a task, in this process.
//
// Its caller and its body go separate ways: the body may outlive the caller and
// the caller may be answered before the body has returned. What both agree on
// is the record in the store.
type run struct {
	m       *Manager
	policy  Policy
	surface surface
	req     *mcp.CallToolRequest
	next    mcp.MethodHandler
	entry   *entry // non-nil if the policy comes from a wrapped handler

	// Set once the record exists.
	id      string
	tool    string
	number  int64 // the fencing token
	again   bool  // another run may be started if this one is lost
	alone   bool  // no other call can join the task
	slots   *slots
	queued  bool // has a place in the queue
	slotted bool // has a slot

	lent     *mcp.ServerSession // a worker session, if the handler needed one
	giveBack func()

	ctx    context.Context // the body's: it has the request's values, and ends by cancel
	cancel context.CancelCauseFunc
	limit  *time.Timer // enforces Policy.MaxRun

	recorded bool    // made from its record: nobody waits for its outcome here
	replay   *Record // of a recorded run: what earlier ones were told
	replayed replays

	promoted chan struct{} // closed when the handler wants its caller to have the handle
	promote  sync.Once
	shown    chan struct{} // closed when the handle has been given out
	show     sync.Once
	detached sync.Once

	asking  asking        // questions that wait
	waiting chan struct{} // closed when the run waits for input and needs no worker meanwhile
	ended   chan struct{} // closed when the body has returned and what it came to is recorded

	settled chan struct{} // closed when the outcome is decided, maybe before the body returns
	settle  sync.Once
	out     outcome // valid once settled

	handedOver atomic.Bool
	progressed atomic.Int64 // when Progress last wrote, in Unix nanoseconds
}

// An outcome is what a call came to.
type outcome struct {
	res mcp.Result
	err error
	// withdrawn says that the record is gone: the result asks for input within
	// the request, and the work has not begun.
	withdrawn bool
	parked    bool // the run has ended, and another one goes on when its questions are answered
	panicked  any  // the value, if the handler panicked
	// unfit says that the handler succeeded with a result that cannot be sent, so
	// that res is an error although the work was done.
	unfit bool
}

type runKey struct{}

func runFrom(ctx context.Context) *run {
	r, _ := ctx.Value(runKey{}).(*run)
	return r
}

// newRun prepares a run for a call. The body's context has the values of ctx
// and does not end with it.
func (m *Manager) newRun(ctx context.Context, next mcp.MethodHandler, req *mcp.CallToolRequest) *run {
	r := &run{
		m:        m,
		req:      req,
		next:     next,
		promoted: make(chan struct{}),
		shown:    make(chan struct{}),
		settled:  make(chan struct{}),
		waiting:  make(chan struct{}),
		ended:    make(chan struct{}),
	}
	r.ctx, r.cancel = context.WithCancelCause(context.WithValue(context.WithoutCancel(ctx), runKey{}, r))
	return r
}

// adopt makes rec the record of r, which was created for it.
func (r *run) adopt(rec *Record) {
	r.id, r.tool, r.number, r.again = rec.ID, rec.Tool, rec.Run, rec.RunAgain
	r.alone = rec.Key == "" && rec.Identity == ""
	if rec.Disclosed {
		r.disclosed()
	}
}

// disclosed notes that the handle has been given out.
func (r *run) disclosed() { r.show.Do(func() { close(r.shown) }) }

func (r *run) isDisclosed() bool {
	select {
	case <-r.shown:
		return true
	default:
		return false
	}
}

// Causes with which a body's context is cancelled.
var (
	errMaxRun    = stderrors.New("tasks: the maximum run time is over")
	errCancelled = stderrors.New("tasks: the task was cancelled")
	errFenced    = stderrors.New("tasks: another run has taken over")
	errEnded     = stderrors.New("tasks: the task had ended")
)

const outcomeUnknown = "The server stopped while this was running. Whether the work was done is not known: " +
	"check before you start it again."

// body runs the handler and records what came of it.
func (r *run) body() {
	stack.Roomy()
	r.conclude(func() outcome {
		if err := r.begin(); err != nil {
			return outcome{err: err}
		}
		return r.rounds(r.invoke(r.req))
	})
}

// conclude records the outcome of work, however it ends, and frees what the run
// holds.
func (r *run) conclude(work func() outcome) {
	out := outcome{err: errInternal("The handler ended without an answer.")} // runtime.Goexit
	defer func() {
		if r.limit != nil {
			r.limit.Stop()
		}
		r.finish(out)
		r.cancel(nil)
		if r.giveBack != nil {
			r.giveBack()
		}
		r.freeSlot()
		r.m.remove(r)
		close(r.ended)
	}()
	out = work()
}

// begin waits for a free slot and starts the clock.
func (r *run) begin() error {
	if r.queued {
		if err := r.slots.wait(r.ctx); err != nil {
			return err
		}
		r.slotted = true
		SetStatus(r.ctx, "")
	}
	r.limit = time.AfterFunc(r.policy.MaxRun, func() {
		r.fail(r.m.life, errMaxRun, fmt.Sprintf("The work was stopped: it took longer than %v. "+
			"Part of it may have been done: check before you start it again.", r.policy.MaxRun), errors.Timeout("%s did not end in time", r.tool))
	})
	return nil
}

// invoke calls the handler. It is the only place where foreign code runs, so a
// panic ends here: nobody above could recover it.
func (r *run) invoke(req *mcp.CallToolRequest) (out outcome) {
	defer func() {
		if v := recover(); v != nil {
			incident := rand.Text()[:12] // as package errors has them
			r.m.observer.Observe(r.ctx, Panicked{Task: r.id, Tool: req.Params.Name, Incident: incident, Value: v, Stack: string(debug.Stack())})
			out = outcome{err: errIncident(incident), panicked: v}
		}
	}()
	res, err := r.next(r.ctx, wire.MethodCallTool, req)
	return outcome{res: res, err: err}
}

// shape makes of an outcome what a client may see. Nobody else does: the
// middleware outside of this package has long returned. If one of
// [errors.Shape] is installed there, its options count here as well.
func (r *run) shape(out outcome) outcome {
	if out.panicked != nil {
		return out
	}
	as := func(context.Context, string, mcp.Request) (mcp.Result, error) { return out.res, out.err }
	var shaped outcome
	shaped.res, shaped.err = r.m.shape(as)(r.ctx, wire.MethodCallTool, r.req)
	if out.succeeded() && !shaped.succeeded() {
		f := errors.Refused("the result of %s cannot be sent", r.tool).Because("%s", resultNotKept).DoNotRetry()
		return outcome{res: f.Result(r.req), unfit: true}
	}
	return shaped
}

// succeeded reports whether the handler has done its work without an error.
func (o *outcome) succeeded() bool {
	res, ok := o.res.(*mcp.CallToolResult)
	return o.err == nil && (!ok || res == nil || !res.IsError && res.InputRequests == nil)
}

// finish records the outcome, unless the task has ended otherwise.
func (r *run) finish(out outcome) {
	if out.withdrawn {
		r.decide(out)
		return
	}
	if out.parked { // a caller that still waits gets the handle, and with it the questions
		r.promote.Do(func() { close(r.promoted) })
		return
	}
	e := r.ending(out)
	if r.handedOver.Load() && !e.done { // it was told to stop
		if r.m.dispatch != nil {
			r.m.giveBack(r)
		}
		return
	}
	dropped := ""
	end := func(rec *Record, now time.Time) error {
		dropped = ""
		if rec.Run != r.number {
			return errFenced
		}
		if rec.Status.Terminal() && rec.Worker == "" {
			return nil // we did, and the store's answer was lost
		}
		rec.Worker = ""
		if rec.Status.Terminal() {
			dropped = "the task was " + string(rec.Status)
			rec.letGo(now)
			return nil
		}
		e.apply(rec, now)
		return nil
	}
	rec, err := r.m.persist(r.m.life, r.id, end)
	if stderrors.Is(err, ErrFull) { // the task must end even if its result finds no room
		e = notKept(e.done, err)
		rec, err = r.m.persist(r.m.life, r.id, end)
	}
	switch {
	case stderrors.Is(err, ErrNotFound):
		dropped = "the record has expired"
	case stderrors.Is(err, errFenced):
		dropped = "another run has taken over"
	}
	switch {
	case dropped != "" && !e.done: // it was told to stop, and did
	case dropped != "":
		r.m.observer.Observe(r.ctx, Dropped{Task: r.id, Tool: r.tool, Reason: dropped})
	case err != nil:
		r.m.observer.Observe(r.ctx, OperationFailed{Operation: "finish", Task: r.id, Err: err})
	default:
		r.m.observer.Observe(r.ctx, Ended{Task: r.id, Tool: r.tool, Status: rec.Status, ToolError: e.toolError,
			Ran: rec.UpdatedAt.Sub(rec.CreatedAt), Cause: e.cause})
	}
	r.decide(out)
}

// decide fixes the outcome that the caller sees. The first one counts.
func (r *run) decide(out outcome) {
	r.settle.Do(func() {
		r.out = out
		close(r.settled)
	})
}

// fail ends the task although its body still runs, and tells the body. The key
// and the identity stay held until the body has returned, so that a second run
// does not start beside it. A caller that still waits gets f with message as its
// reason: the outcome is not known, so it must not just try again.
func (r *run) fail(ctx context.Context, cause error, message string, f *errors.Failure) {
	e := ending{status: Failed, err: &Error{Code: jsonrpc.CodeInternalError, Message: message}, cause: cause}
	_ = r.end(ctx, e, outcome{res: f.Because("%s", message).DoNotRetry().Result(r.req)})
}

// abort is fail for a cancellation.
func (r *run) abort(ctx context.Context, message string) error {
	e := ending{status: Cancelled, message: message, cause: errCancelled}
	return r.end(ctx, e, outcome{res: errors.Refused("the call was cancelled").Because("%s", message).Result(r.req)})
}

// handOver stops the body, for another process to take over once it has
// returned.
func (r *run) handOver() {
	r.handedOver.Store(true)
	r.decide(outcome{res: errors.Unavailable("the server is shutting down").RetryAfter(lease).Result(r.req)})
	r.cancel(errClosing)
}

// end writes an ending down and tells the body, even if the store does not answer.
func (r *run) end(ctx context.Context, e ending, out outcome) error {
	rec, err := r.m.persist(ctx, r.id, func(rec *Record, now time.Time) error {
		if rec.Run != r.number {
			return errFenced
		}
		if rec.Status.Terminal() {
			return errEnded
		}
		e.apply(rec, now)
		return nil
	})
	if err == nil {
		r.m.observer.Observe(r.ctx, Ended{Task: r.id, Tool: r.tool, Status: rec.Status, Ran: rec.UpdatedAt.Sub(rec.CreatedAt), Cause: e.cause})
	}
	r.decide(out)
	r.cancel(e.cause)
	if stderrors.Is(err, errFenced) || stderrors.Is(err, errEnded) {
		return nil
	}
	return err
}

// detach makes the run follow its record, which others can now change: another
// replica may accept the cancellation. A store that is not shared has no others.
func (r *run) detach() {
	if r.m.opts.Store == nil {
		return
	}
	r.detached.Do(func() {
		r.m.background(func() {
			var version int64
			for {
				rec, err := r.m.watch(r.ctx, r.id, version)
				switch {
				case r.ctx.Err() != nil:
					return
				case err != nil, rec.Run != r.number:
					r.cancel(errFenced)
					return
				case rec.Status.Terminal() && rec.Worker != "": // not by finish, which clears the worker
					r.decide(outcome{res: endedElsewhere(&rec).Result(r.req)})
					r.cancel(errCancelled)
					return
				}
				version = rec.Version
			}
		})
	})
}
