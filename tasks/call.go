package tasks

import (
	"context"
	stderrors "errors"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/steadymcp/steady/errors"
	"github.com/steadymcp/steady/internal/wire"
)

// A surface is how a caller can follow a task.
type surface int

const (
	surfaceNone      surface = iota // it cannot: it waits for the result
	surfaceTools                    // by task_status and its like
	surfaceExtension                // by the extension
)

func (m *Manager) surfaceOf(req *mcp.CallToolRequest) surface {
	switch {
	case !m.installed.Load():
		return surfaceNone
	case declared(req):
		return surfaceExtension
	case m.opts.ExtensionOnly:
		return surfaceNone
	default:
		return surfaceTools
	}
}

// call is where every tools/call comes in. What only tools with a policy need
// is apart: on the way to any other tool it would take up room on the stack, and
// a stack that has to grow costs more than all that is done here.
func (m *Manager) call(ctx context.Context, next mcp.MethodHandler, req *mcp.CallToolRequest) (mcp.Result, error) {
	if r := runFrom(ctx); r != nil && r.m == m || req.Params == nil { // run by an outer middleware of ours
		return next(ctx, wire.MethodCallTool, req)
	}
	if _, ok := m.policies[req.Params.Name]; ok {
		return m.callKnown(ctx, next, req)
	}
	if m.wrapped.Load() {
		return m.callUnknown(ctx, next, req)
	}
	return next(ctx, wire.MethodCallTool, req)
}

// callKnown calls a tool that has a policy by name.
func (m *Manager) callKnown(ctx context.Context, next mcp.MethodHandler, req *mcp.CallToolRequest) (mcp.Result, error) {
	policy := m.policies[req.Params.Name]
	if policy.Support == Never {
		return next(ctx, wire.MethodCallTool, req)
	}
	r := m.newRun(ctx, next, req)
	return m.serve(ctx, r, policy, func() { go r.body() })
}

// serve answers a call under a policy. It creates a task or joins one. For a
// task that it created it calls start, which must lead to r.conclude; r is
// dropped otherwise.
func (m *Manager) serve(ctx context.Context, r *run, policy Policy, start func()) (mcp.Result, error) {
	r.policy = policy
	r.surface = m.surfaceOf(r.req)
	if policy.Support == Required && r.surface == surfaceNone {
		return m.refuse(ctx, r, "extension not declared", missingExtension(r.req))
	}
	owner := m.ownerOf(r.req)
	if owner == "" {
		return m.anonymousCall(ctx, r)
	}
	id, err := identify(&policy, r.req.Params)
	if err != nil {
		return m.refuse(ctx, r, "no identity", err)
	}
	want := m.record(r, owner, id)
	for {
		got, created, err := m.create(ctx, want)
		switch {
		case stderrors.Is(err, ErrTooManyKeys):
			return m.refuse(ctx, r, "too many keys", errors.Refused("this call of %s was made with too many idempotency keys", want.Tool).
				Because("each is kept, and the work is not done twice").
				Next("repeat it with a key that you have used for it, or without one").DoNotRetry())
		case stderrors.Is(err, ErrFull):
			return m.refuse(ctx, r, "store full", errors.RateLimited("too many calls of %s are kept", want.Tool).RetryAfter(time.Minute))
		case err != nil:
			m.observer.Observe(ctx, OperationFailed{Operation: "create", Task: want.ID, Err: err})
			m.doubt(want)
			return m.refuse(ctx, r, "store failed", errors.Unavailable("%s cannot be called now", want.Tool).
				Because("the server cannot make sure that it runs only once").RetryAfter(storeAway).Cause(err))
		case created:
			return m.lead(ctx, r, got, start)
		}
		res, err, again := m.join(ctx, r, &want, got)
		if !again {
			return res, err
		}
	}
}

// record is the record that a call needs if it is the first of its kind.
func (m *Manager) record(r *run, owner string, call callID) Record {
	now := time.Now()
	id := newHandle(m.epoch)
	params := r.req.Params
	rec := Record{
		ID:            id,
		Owner:         owner,
		Tool:          params.Name,
		Arguments:     params.Arguments,
		Responses:     responsesOf(params),
		RequestState:  params.RequestState,
		ArgumentsHash: call.hash,
		Key:           call.key,
		Identity:      call.identity,
		Status:        Working,
		Disclosed:     r.eager(),
		Worker:        m.worker,
		Caller:        m.callerOf(r, id, owner),
		Run:           1,
		RunAgain:      r.policy.RunAgain,
		CreatedAt:     now,
		TTL:           r.policy.TTL,
		PollInterval:  r.policy.PollInterval,
	}
	if call.byWindow {
		rec.Window = r.policy.Window
	}
	if m.dispatch != nil && (r.eager() || !m.dispatch.RunsHere()) {
		rec.Worker = "" // the store says who starts it
	}
	return rec
}

// eager reports whether the caller gets the handle before the work begins.
func (r *run) eager() bool { return r.policy.Grace == Eager && r.surface != surfaceNone }

// create asks the store, even for a caller that has just gone: a record that
// was created for it would have nobody to end it.
func (m *Manager) create(ctx context.Context, want Record) (Record, bool, error) {
	m.keep()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	return m.store.Create(ctx, time.Now(), want)
}

// lead runs the task that this call has created, and answers.
func (m *Manager) lead(ctx context.Context, r *run, rec Record, start func()) (mcp.Result, error) {
	r.adopt(&rec)
	if rec.Worker == "" && m.isClosed() {
		m.discard(ctx, rec)
		return m.refuse(ctx, r, "closed", errShutDown())
	}
	if rec.Worker == "" {
		m.observer.Observe(ctx, Created{Task: rec.ID, Tool: rec.Tool})
		if r.eager() {
			return m.handle(r, &rec, false), nil
		}
		return m.answerFor(ctx, r, rec)
	}
	r.slots = m.slotsOf(rec.Tool, &r.policy)
	if !m.add(r) {
		m.discard(ctx, rec)
		return m.refuse(ctx, r, "closed", errShutDown())
	}
	queued, ok := r.slots.reserve()
	if !ok {
		m.discard(ctx, rec)
		m.remove(r)
		return m.refuse(ctx, r, "queue full", errors.RateLimited("too many calls of %s are waiting", rec.Tool).RetryAfter(10*time.Second))
	}
	r.queued, r.slotted = queued, !queued
	if queued {
		SetStatus(r.ctx, "Waiting for its turn.")
	}
	m.observer.Observe(ctx, Created{Task: rec.ID, Tool: rec.Tool})
	if r.eager() {
		r.detach()
		start()
		return m.handle(r, &rec, false), nil
	}
	start()
	return r.await(ctx)
}

// discard removes the record of a call that was not started. If somebody has
// been given its handle in between, it fails instead; but if it was offered to
// all processes, it is left to them.
func (m *Manager) discard(ctx context.Context, rec Record) {
	created := rec
	offered := m.dispatch != nil && rec.Worker == "" // to all processes
	if !offered && m.withdraw(context.WithoutCancel(ctx), rec.ID) {
		return
	}
	if (offered || rec.Disclosed) && m.store.Delete(context.WithoutCancel(ctx), rec.ID, rec.Version) == nil {
		return // it would have been, to this very call
	}
	if offered {
		return
	}
	e := ending{status: Failed, err: &Error{Code: jsonrpc.CodeInternalError, Message: "The call was not started: the server is busy."}}
	_, err := m.persist(m.life, rec.ID, func(rec *Record, now time.Time) error {
		if rec.Status.Terminal() || rec.Worker != created.Worker || rec.Run != created.Run {
			return errEnded
		}
		rec.Worker = ""
		e.apply(rec, now)
		return nil
	})
	if err != nil && !stderrors.Is(err, errEnded) && !stderrors.Is(err, ErrNotFound) {
		m.observer.Observe(ctx, OperationFailed{Operation: "discard", Task: rec.ID, Err: err})
	}
}

// await waits for the outcome, at most for the grace, and answers with it or
// with a handle.
func (r *run) await(ctx context.Context) (mcp.Result, error) {
	var over <-chan time.Time
	promoted := r.promoted
	if r.surface == surfaceNone {
		promoted = nil
	} else if r.policy.Grace > 0 {
		timer := time.NewTimer(r.policy.Grace)
		defer timer.Stop()
		over = timer.C
	}
	select {
	case <-r.settled:
		return r.out.res, r.out.err
	case <-ctx.Done():
		r.leave()
		return nil, ctx.Err()
	case <-over:
	case <-promoted:
	}
	rec, err := r.m.disclose(ctx, r.id)
	r.detach()
	if err == nil {
		r.disclosed()
		return r.m.handle(r, &rec, false), nil
	}
	select { // it has just ended, or is about to
	case <-r.settled:
		return r.out.res, r.out.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// leave is called when the caller has gone. It may come back, so the work goes
// on, unless there is no way to recognize it.
func (r *run) leave() {
	if r.alone {
		r.m.background(func() { _ = r.abort(r.m.life, "The caller has gone.") })
		return
	}
	r.m.background(func() {
		if _, err := r.m.disclose(r.m.life, r.id); err == nil {
			r.disclosed()
			r.detach()
		}
	})
}

// disclose notes that somebody knows the handle: the task is then kept for its
// whole time to live, is listed, and cannot be withdrawn. It fails if the task
// has ended.
func (m *Manager) disclose(ctx context.Context, id string) (Record, error) {
	return m.persist(ctx, id, func(rec *Record, _ time.Time) error {
		if rec.Status.Terminal() {
			return errEnded
		}
		rec.Disclosed = true
		return nil
	})
}

// join answers a call that repeats the one that got belongs to. If again is
// true, that one has let go of its key and the caller must try anew.
func (m *Manager) join(ctx context.Context, r *run, want *Record, got Record) (res mcp.Result, err error, again bool) {
	hash, byKey := got.KeyHash(want.Key)
	if byKey && hash != want.ArgumentsHash {
		res, err = m.refuse(ctx, r, "key reused", errors.Refused("this idempotency key was used for another call of %s", want.Tool).
			Because("that call had different arguments").
			Next("use a new key for a new operation, or repeat the first call with the arguments it had").DoNotRetry())
		return res, err, false
	}
	if (got.Status == Failed || got.Status == Cancelled) && !got.Done {
		return m.awaitRelease(ctx, r, got)
	}
	end, res, err := m.awaitEnd(ctx, r, got, true)
	if stderrors.Is(err, ErrNotFound) {
		return nil, nil, true
	}
	if err != nil {
		return nil, err, false
	}
	m.observer.Observe(ctx, Joined{Task: got.ID, Tool: got.Tool, ByKey: want.Key != "" && got.Key == want.Key, Age: time.Since(got.CreatedAt)})
	if res == nil {
		res, err = joinedResult(r.req, &end)
	}
	return res, err, false
}

// awaitEnd waits for the end of a task that runs elsewhere, at most as long as its
// caller has patience for: then the answer is a handle, or an error.
func (m *Manager) awaitEnd(ctx context.Context, r *run, rec Record, joined bool) (Record, mcp.Result, error) {
	patience, cancel := r.patience(ctx)
	defer cancel()
	for !rec.Status.Terminal() {
		if patience.Err() == nil && !r.wantsHandle(&rec) {
			next, err := m.watch(patience, rec.ID, rec.Version)
			if stderrors.Is(err, ErrNotFound) {
				return rec, nil, err
			}
			if err == nil {
				rec = next
			}
			continue
		}
		if ctx.Err() != nil {
			return rec, nil, ctx.Err()
		}
		shown, err := m.disclose(ctx, rec.ID)
		if err == nil {
			return shown, m.handle(r, &shown, joined), nil
		}
		if stderrors.Is(err, ErrNotFound) {
			return rec, nil, err
		}
		if !stderrors.Is(err, errEnded) {
			res, err := m.refuse(ctx, r, "store failed", err)
			return rec, res, err
		}
		rec = shown
	}
	return rec, nil, nil
}

// wantsHandle reports whether a caller that joins rec has nothing to wait for:
// the task asks for input, which its result will not, or it is known to take
// long.
func (r *run) wantsHandle(rec *Record) bool {
	return r.surface != surfaceNone &&
		(rec.Status == InputRequired || rec.Disclosed && r.policy.Grace == OnPromote)
}

// patience is how long a caller that joins waits for a result before it takes a
// handle.
func (r *run) patience(ctx context.Context) (context.Context, context.CancelFunc) {
	switch {
	case r.surface == surfaceNone, r.policy.Grace == OnPromote:
		return context.WithCancel(ctx)
	default:
		return context.WithTimeout(ctx, max(r.policy.Grace, 0))
	}
}

// stopping is how long a call waits for an earlier one that has been stopped
// but whose handler has not returned.
const stopping = 5 * time.Second

// awaitRelease waits until a task that has ended without success lets go of its
// key.
func (m *Manager) awaitRelease(ctx context.Context, r *run, got Record) (mcp.Result, error, bool) {
	patience, cancel := context.WithTimeout(ctx, stopping)
	defer cancel()
	if got.Worker != "" {
		if _, err := m.watch(patience, got.ID, got.Version); err == nil || stderrors.Is(err, ErrNotFound) {
			return nil, nil, true
		}
	}
	if ctx.Err() != nil {
		return nil, ctx.Err(), false
	}
	res, err := m.refuse(ctx, r, "still stopping", errors.Unavailable("the same call of %s was stopped and is still ending", got.Tool).
		Because("two of them must not run at once").RetryAfter(stopping))
	return res, err, false
}

// refuse answers a call that is not run. The error is for the caller if it is a
// Failure or a protocol error, and kept from it otherwise.
func (m *Manager) refuse(ctx context.Context, r *run, reason string, err error) (mcp.Result, error) {
	m.observer.Observe(ctx, Refused{Tool: r.req.Params.Name, Reason: reason})
	if f, ok := errorAs[*errors.Failure](err); ok {
		return f.Result(r.req), nil
	}
	if _, ok := errorAs[*jsonrpc.Error](err); ok {
		return nil, err
	}
	m.observer.Observe(ctx, OperationFailed{Operation: reason, Err: err})
	return nil, errInternal("The tool cannot be called because of an internal error.")
}

// missingExtension refuses a caller that a tool requires the extension from. The
// error code exists only in the revisions that have the extension.
func missingExtension(req *mcp.CallToolRequest) error {
	if hasTasks(req) {
		return errMissingCapability()
	}
	return errors.Denied("%s needs a client that supports the extension %s", req.Params.Name, ExtensionID)
}

// anonymousCall serves a caller that nothing tells from others: there is nobody
// whose task it could be.
func (m *Manager) anonymousCall(ctx context.Context, r *run) (mcp.Result, error) {
	if r.policy.Support == Required {
		return m.refuse(ctx, r, "anonymous", errors.Denied("%s needs to know who calls it", r.req.Params.Name).
			Because("its result is fetched later, and only by the caller").
			Next("sign in, or use a transport with sessions"))
	}
	if ctx.Value(anonymousKey{}) != r.req.Params.Name { // or Middleware has said so, and this is Install's
		m.observer.Observe(ctx, Denied{Verb: wire.MethodCallTool, Reason: deniedAnonymous})
		ctx = context.WithValue(ctx, anonymousKey{}, r.req.Params.Name)
	}
	return r.next(ctx, wire.MethodCallTool, r.req)
}

// anonymousKey leads to the tool that an anonymous call has been observed for.
type anonymousKey struct{}
