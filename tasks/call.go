package tasks

import (
	"context"
	"encoding/json"
	stderrors "errors"
	"fmt"
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

// call is where every tools/call comes in.
func (m *Manager) call(ctx context.Context, next mcp.MethodHandler, req *mcp.CallToolRequest) (mcp.Result, error) {
	if runFrom(ctx) != nil || req.Params == nil { // run by an outer middleware of ours
		return next(ctx, wire.MethodCallTool, req)
	}
	policy, ok := m.policies[req.Params.Name]
	switch {
	case ok && policy.Support != Never:
		r := m.newRun(ctx, next, req)
		return m.serve(ctx, r, policy, func() { go r.body() })
	case !ok && m.wrapped.Load():
		return m.callUnknown(ctx, next, req)
	}
	return next(ctx, wire.MethodCallTool, req)
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
		case stderrors.Is(err, ErrFull):
			return m.refuse(ctx, r, "store full", errors.RateLimited("too many calls of %s are kept", want.Tool).RetryAfter(time.Minute))
		case err != nil:
			m.observer.Observe(ctx, StoreFailed{Operation: "create", Task: want.ID, Err: err})
			return m.refuse(ctx, r, "store failed", errors.Unavailable("%s cannot be called now", want.Tool).
				Because("the server cannot make sure that it runs only once").RetryAfter(5*time.Second).Cause(err))
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
func (m *Manager) record(r *run, owner string, id callID) Record {
	now := time.Now()
	params := r.req.Params
	rec := Record{
		ID:            newHandle(m.epoch),
		Owner:         owner,
		Tool:          params.Name,
		Arguments:     params.Arguments,
		Responses:     responsesOf(params),
		RequestState:  params.RequestState,
		ArgumentsHash: id.hash,
		Key:           id.key,
		Identity:      id.identity,
		Status:        Working,
		Disclosed:     r.eager(),
		Worker:        m.worker,
		Run:           1,
		RunAgain:      r.policy.RunAgain,
		CreatedAt:     now,
		TTL:           r.policy.TTL,
		PollInterval:  r.policy.PollInterval,
	}
	if id.byWindow {
		rec.Window = r.policy.Window
	}
	return rec
}

// eager reports whether the caller gets the handle before the work begins.
func (r *run) eager() bool { return r.policy.Grace == Eager && r.surface != surfaceNone }

// create asks the store, even for a caller that has just gone: a record that
// was created for it would have nobody to end it.
func (m *Manager) create(ctx context.Context, want Record) (Record, bool, error) {
	m.keep()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
	defer cancel()
	return m.store.Create(ctx, time.Now(), want)
}

// lead runs the task that this call has created, and answers.
func (m *Manager) lead(ctx context.Context, r *run, rec Record, start func()) (mcp.Result, error) {
	r.adopt(&rec)
	r.slots = m.slotsOf(rec.Tool, &r.policy)
	if !m.add(r) {
		m.discard(ctx, rec)
		return m.refuse(ctx, r, "closed", errors.Unavailable("the server is shutting down").RetryAfter(10*time.Second))
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

// discard removes the record of a call that was not started. If it was joined
// in between, it fails instead.
func (m *Manager) discard(ctx context.Context, rec Record) {
	ctx = context.WithoutCancel(ctx)
	if m.store.Delete(ctx, rec.ID, rec.Version) == nil {
		return
	}
	e := ending{status: Failed, err: &Error{Code: jsonrpc.CodeInternalError, Message: "The call was not started: the server is busy."}}
	_, err := m.persist(ctx, rec.ID, func(rec *Record, now time.Time) error {
		rec.Worker = ""
		e.apply(rec, now)
		return nil
	})
	if err != nil {
		m.observer.Observe(ctx, StoreFailed{Operation: "discard", Task: rec.ID, Err: err})
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
		go r.abort("The caller has gone.")
		return
	}
	r.m.background(func() {
		if _, err := r.m.disclose(r.ctx, r.id); err == nil {
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
	byKey := want.Key != "" && got.Key == want.Key
	if byKey && got.ArgumentsHash != want.ArgumentsHash {
		res, err = m.refuse(ctx, r, "key reused", errors.Refused("this idempotency key was used for another call of %s", want.Tool).
			Because("that call had different arguments").
			Next("use a new key for a new operation, or repeat the first call with the arguments it had").DoNotRetry())
		return res, err, false
	}
	if got.Status == Failed || got.Status == Cancelled {
		return m.awaitRelease(ctx, r, got)
	}
	m.observer.Observe(ctx, Joined{Task: got.ID, Tool: got.Tool, ByKey: byKey, Age: time.Since(got.CreatedAt)})

	patience, cancel := r.patience(ctx)
	defer cancel()
	for !got.Status.Terminal() {
		if patience.Err() == nil && !r.wantsHandle(&got) {
			next, err := m.store.Watch(patience, got.ID, got.Version)
			switch {
			case err == nil:
				got = next
			case stderrors.Is(err, ErrNotFound):
				return nil, nil, true
			case patience.Err() == nil:
				m.observer.Observe(ctx, StoreFailed{Operation: "watch", Task: got.ID, Err: err})
				sleep(patience, time.Second)
			}
			continue
		}
		if ctx.Err() != nil {
			return nil, ctx.Err(), false
		}
		shown, err := m.disclose(ctx, got.ID)
		if err == nil {
			return m.handle(r, &shown, true), nil, false
		}
		if stderrors.Is(err, ErrNotFound) {
			return nil, nil, true
		}
		if !stderrors.Is(err, errEnded) {
			res, err = m.refuse(ctx, r, "store failed", err)
			return res, err, false
		}
		got = shown
	}
	res, err = joinedResult(r.req, &got)
	return res, err, false
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
		if _, err := m.store.Watch(patience, got.ID, got.Version); err == nil || stderrors.Is(err, ErrNotFound) {
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
	m.observer.Observe(ctx, StoreFailed{Operation: reason, Err: err})
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
	m.observer.Observe(ctx, Denied{Verb: wire.MethodCallTool, Reason: deniedAnonymous})
	return r.next(ctx, wire.MethodCallTool, r.req)
}

// joinedResult answers a repeated call with what the first one came to.
func joinedResult(req *mcp.CallToolRequest, rec *Record) (mcp.Result, error) {
	switch rec.Status {
	case Completed:
		res, err := storedResult(req, rec.Result)
		if err != nil {
			return nil, errInternal("The stored result cannot be read.")
		}
		res.Content = append(res.Content, &mcp.TextContent{Text: joinNote(rec)})
		return wire.WithMeta(res, wire.MetaTask, rec.meta(true)), nil
	case Failed:
		e := *rec.Error
		e.Message += " " + joinNote(rec)
		return nil, e.protocol()
	default:
		return endedElsewhere(rec).Result(req), nil
	}
}

// endedElsewhere says that somebody else has ended the caller's task.
func endedElsewhere(rec *Record) *errors.Failure {
	return errors.Refused("this call was %s", rec.Status).Because("%s", rec.StatusMessage)
}

func (e *Error) protocol() error {
	return &jsonrpc.Error{Code: e.Code, Message: e.Message, Data: e.Data}
}

// joinNote is the line that tells a model that its call was not run again.
func joinNote(rec *Record) string {
	return fmt.Sprintf("(Not run again: this is the result of the same call of %s ago.)", ago(rec.CreatedAt))
}

func ago(t time.Time) time.Duration {
	d := time.Since(t)
	if d >= time.Second {
		return d.Round(time.Second)
	}
	return d.Round(time.Millisecond)
}

// meta is what a result says about the task behind it, for programs.
func (r *Record) meta(joined bool) map[string]any {
	return map[string]any{
		"taskId": r.ID,
		"status": string(r.Status),
		"joined": joined,
		"ageMs":  time.Since(r.CreatedAt).Milliseconds(),
	}
}

// storedResult decodes a stored result for one answer. Structured content and
// _meta stay as they are: decoding them would round large integers.
func storedResult(req *mcp.CallToolRequest, raw json.RawMessage) (*mcp.CallToolResult, error) {
	var stored mcp.CallToolResult
	if err := json.Unmarshal(raw, &stored); err != nil {
		return nil, err
	}
	var kept struct {
		Meta              map[string]json.RawMessage `json:"_meta"`
		StructuredContent json.RawMessage            `json:"structuredContent"`
	}
	if err := json.Unmarshal(raw, &kept); err != nil {
		return nil, err
	}
	res := wire.NewToolResult(req)
	res.Content, res.IsError = stored.Content, stored.IsError
	if kept.StructuredContent != nil {
		res.StructuredContent = kept.StructuredContent
	}
	res.Meta = make(mcp.Meta, len(kept.Meta))
	for k, v := range kept.Meta {
		res.Meta[k] = v
	}
	return res, nil
}

// slotsOf returns the slots of a tool. Names come from policies and registered
// handlers, so there are only as many as tools.
func (m *Manager) slotsOf(tool string, p *Policy) *slots {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.slots[tool]
	if s == nil {
		s = newSlots(p)
		m.slots[tool] = s
	}
	return s
}

// change applies f to a task by compare and swap, as often as it takes. An
// error of f ends it without a change.
func (m *Manager) change(ctx context.Context, id string, f func(rec *Record, now time.Time) error) (Record, error) {
	for {
		rec, err := m.store.Get(ctx, id)
		if err != nil {
			return Record{}, err
		}
		now := time.Now()
		if err := f(&rec, now); err != nil {
			return rec, err
		}
		got, err := m.store.Update(ctx, now, rec)
		if stderrors.Is(err, ErrConflict) {
			continue
		}
		return got, err
	}
}

// persist is change for what must be written down: it does not end with ctx,
// and it goes on for about two minutes while the store does not answer.
func (m *Manager) persist(ctx context.Context, id string, f func(rec *Record, now time.Time) error) (Record, error) {
	ctx = context.WithoutCancel(ctx)
	var own error
	for pause := 50 * time.Millisecond; ; pause *= 2 {
		own = nil
		rec, err := m.change(ctx, id, func(rec *Record, now time.Time) error {
			own = f(rec, now)
			return own
		})
		if err == nil || own != nil || pause > time.Minute ||
			stderrors.Is(err, ErrNotFound) || stderrors.Is(err, ErrFull) || stderrors.Is(err, ErrTerminal) {
			return rec, err
		}
		m.observer.Observe(ctx, StoreFailed{Operation: "update", Task: id, Err: err})
		sleep(ctx, pause)
	}
}
