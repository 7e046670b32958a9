package tasks

import (
	"context"
	stderrors "errors"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// ErrNoTask is returned to a handler that asks for something that only a task
// can do: its tool has no policy, or its caller cannot follow a task.
var ErrNoTask = stderrors.New("tasks: this call cannot become a task")

// RunOf returns the task that a handler works for and the number of its run,
// which counts from 1, or false if it works for none. ctx is the handler's.
//
// A process that was thought dead, while it was only stopped, may work beside the
// run that has replaced its own. The number tells the two apart: a handler that
// writes where the tasks are kept can do so on condition that the task's record
// still has this number, and what was written twice in any other place can be
// told by it.
func RunOf(ctx context.Context) (task string, run int64, ok bool) {
	r := runFrom(ctx)
	if r == nil || r.id == "" {
		return "", 0, false
	}
	return r.id, r.number, true
}

// Promote gives the caller of the running tool its handle now, instead of
// after the grace. It returns when the handle is on its way, and [ErrNoTask] if
// the caller cannot have one; the handler may go on in either case.
//
// ctx is the handler's.
func Promote(ctx context.Context) error {
	r := runFrom(ctx)
	if r == nil || r.surface == surfaceNone {
		return ErrNoTask
	}
	r.promote.Do(func() { close(r.promoted) })
	select {
	case <-r.shown:
		return nil
	case <-r.settled:
		return errEnded
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// SetStatus tells whoever asks for the task what its handler is doing. It does
// nothing for a call that is no task. Every call writes to the store: use it
// when a stage changes, and [Progress] to count.
func SetStatus(ctx context.Context, format string, args ...any) {
	r := runFrom(ctx)
	if r == nil || r.id == "" {
		return
	}
	message := format
	if len(args) > 0 {
		message = fmt.Sprintf(format, args...)
	}
	_, err := r.m.change(ctx, r.id, func(rec *Record, _ time.Time) error {
		switch {
		case rec.Run != r.number:
			return errFenced
		case rec.Status.Terminal() || rec.StatusMessage == message:
			return errEnded
		}
		rec.StatusMessage = message
		return nil
	})
	if err != nil && !stderrors.Is(err, errEnded) && !stderrors.Is(err, errFenced) && ctx.Err() == nil {
		r.m.observer.Observe(ctx, OperationFailed{Operation: "status", Task: r.id, Err: err})
	}
}

// progressEvery is how often Progress writes to the store.
const progressEvery = 250 * time.Millisecond

// Progress says that done of total units of the work are done; a total of zero
// means that it is not known. A caller that still waits and has asked for
// progress notifications gets one; everybody else sees it in the task's
// status. It may be called as often as is convenient.
func Progress(ctx context.Context, done, total float64) {
	r := runFrom(ctx)
	if r == nil {
		return
	}
	if !r.isDisclosed() {
		if token := r.req.Params.GetProgressToken(); token != nil && r.req.Session != nil {
			// It comes through the sending middleware, and is not stopped there.
			_ = r.req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Progress: done, Total: total})
		}
		return
	}
	r.noteProgress(ctx, done, total, "")
}

func (r *run) noteProgress(ctx context.Context, done, total float64, message string) {
	now := time.Now().UnixNano()
	last := r.progressed.Load()
	finished := total > 0 && done >= total
	if !finished && now-last < int64(progressEvery) || !r.progressed.CompareAndSwap(last, now) {
		return
	}
	text := fmt.Sprintf("%v done", done)
	if total > 0 {
		text = fmt.Sprintf("%v of %v (%.0f %%)", done, total, 100*done/total)
	}
	if message != "" {
		text += ": " + message
	}
	SetStatus(ctx, "%s", text)
}

// Elicit asks the user and waits for the answer. The call becomes a task, if it
// is not one yet, whose status is input_required until its client or, for
// clients without the extension, the model has answered. The answer fits
// p.RequestedSchema if its action is "accept".
//
// It returns [ErrNoTask] for a call that cannot become a task, and an error if
// the client cannot ask its user.
func Elicit(ctx context.Context, p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
	r := runFrom(ctx)
	if r == nil {
		return nil, ErrNoTask
	}
	return r.elicit(ctx, p, func() (*mcp.ElicitResult, error) { return r.req.Session.Elicit(direct(ctx), p) })
}

// elicit asks through the task, or through session if the caller still waits
// and its revision lets a server ask in the middle of a call.
func (r *run) elicit(ctx context.Context, p *mcp.ElicitParams, session func() (*mcp.ElicitResult, error)) (*mcp.ElicitResult, error) {
	caps := clientCapabilities(r.req)
	able := caps != nil && caps.Elicitation != nil
	switch {
	case able && !hasTasks(r.req) && r.req.Session != nil && !r.isDisclosed():
		return session()
	case r.surface == surfaceNone:
		return nil, ErrNoTask
	case r.surface == surfaceExtension && !able:
		return nil, stderrors.New("tasks: the client does not support elicitation")
	}
	res := new(mcp.ElicitResult)
	return res, r.askOne(ctx, p, res)
}

// direct marks a context so that the sending middleware lets a request through
// to the session.
type directKey struct{}

func direct(ctx context.Context) context.Context { return context.WithValue(ctx, directKey{}, true) }

func isDirect(ctx context.Context) bool { return ctx.Value(directKey{}) != nil }

// sending is what becomes of the messages that a handler sends through its
// session once the request that it came with has been answered: the extension
// knows no progress and no log messages of tasks, and questions become input
// requests.
func (m *Manager) sending(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if method == notificationAcked {
			return acknowledge(ctx, next, req)
		}
		r := runFrom(ctx)
		if r == nil || r.m != m || isDirect(ctx) {
			return next(ctx, method, req)
		}
		switch method {
		case notificationProgress:
			if p, ok := req.GetParams().(*mcp.ProgressNotificationParams); ok && r.isDisclosed() {
				r.noteProgress(ctx, p.Progress, p.Total, p.Message)
				return nil, nil
			}
		case notificationMessage:
			if r.isDisclosed() {
				return nil, nil
			}
		case methodElicit:
			if p, ok := req.GetParams().(*mcp.ElicitParams); ok {
				return r.elicit(ctx, p, func() (*mcp.ElicitResult, error) {
					res, err := next(ctx, method, req)
					er, _ := res.(*mcp.ElicitResult)
					return er, err
				})
			}
		case methodSample, methodListRoots:
			if r.isDisclosed() {
				return r.request(ctx, method, req.GetParams())
			}
		}
		return next(ctx, method, req)
	}
}
