package tasks

import (
	"context"
	stderrors "errors"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/steadymcp/steady/errors"
	"github.com/steadymcp/steady/internal/wire"
)

// This file starts runs from what their records say of the call.

// attach takes part in what the other processes of the store do.
func (m *Manager) attach() {
	p := Process{Worker: m.worker, Tools: map[string]int{}, Start: m.start, Lost: m.recover}
	for name, policy := range m.policies {
		if policy.Support != Never {
			p.Tools[name] = max(policy.Concurrency, 0)
		}
	}
	a, err := m.dispatch.Attach(p)
	if err != nil {
		m.observer.Observe(m.life, OperationFailed{Operation: "attach", Err: err})
		return
	}
	m.mu.Lock()
	m.attached = a
	closed := m.closed
	m.mu.Unlock()
	if closed { // Close has come first and knows nothing of it
		a.Drain()
		a.Detach(context.Background())
	}
}

// start is [Process.Start].
func (m *Manager) start(ctx context.Context, id string, number int64) error {
	rr := m.rerun.Load()
	if rr == nil {
		return ErrNotHere
	}
	rec, err := m.watch(ctx, id, 0)
	if stderrors.Is(err, ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	if !rec.waits(number) {
		return nil
	}
	if !rr.has(ctx, rec.Tool) {
		return ErrNotHere
	}
	if m.isClosed() {
		m.giveBack(&run{m: m, id: id, number: number})
		return nil
	}
	rec, err = m.persist(ctx, id, func(rec *Record, _ time.Time) error {
		if rec.Worker == m.worker && rec.Run == number && m.local(id) == nil {
			return nil // we did, and the store's answer was lost
		}
		if !rec.waits(number) {
			return errFenced
		}
		rec.Worker = m.worker
		return nil
	})
	if stderrors.Is(err, errFenced) || stderrors.Is(err, ErrNotFound) {
		return nil
	}
	if err != nil {
		if ctx.Err() != nil {
			m.background(func() { m.unclaim(id, number) })
		}
		return err
	}
	r := m.runAgain(rr, rec)
	select {
	case <-r.ended:
	case <-r.waiting:
	case <-ctx.Done():
		m.background(func() { m.stopRun(r) })
		if m.isClosed() { // a handler that ignores it is ours to wait for, and not the store's
			return nil
		}
		select {
		case <-r.ended:
		case <-m.life.Done():
		}
	}
	return nil
}

// unclaim gives a run back that this process does not start. Its claim was given up,
// because the task was cancelled for example, and may have been written down all
// the same: then nobody else would ever touch the task.
func (m *Manager) unclaim(id string, number int64) {
	if !sleep(m.life, time.Second) { // the store may be about to write it
		return
	}
	rec, err := m.watch(m.life, id, 0)
	if err == nil && rec.Worker == m.worker && rec.Run == number && m.local(id) == nil {
		m.giveBack(&run{m: m, id: id, number: number})
	}
}

// waits reports whether run number of rec is to be started.
func (r *Record) waits(number int64) bool {
	return r.Status == Working && r.Worker == "" && r.Run == number
}

func (m *Manager) isClosed() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.closed
}

// stopRun ends a run whose store says that it is not to go on. If the record does
// not know of that, an operator has taken it out of the queue.
func (m *Manager) stopRun(r *run) {
	if m.isClosed() {
		r.cancel(errClosing)
		return
	}
	_ = r.abort(m.life, "Stopped by the operator.")
}

// runAgain starts the handler of a task that this process has claimed.
func (m *Manager) runAgain(rr *rerunner, rec Record) *run {
	r := m.newRun(m.life, rr.next, nil)
	r.recorded = true
	r.surface = rec.Caller.surface()
	r.replay = &rec
	r.adopt(&rec)
	req, giveBack, err := rr.request(r.ctx, &rec)
	r.req = req
	if err == nil && !m.add(r) {
		giveBack()
		m.giveBack(r)
		close(r.ended)
		return r
	}
	if err != nil {
		r.req = &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Name: rec.Tool}}
		go r.conclude(func() outcome { return outcome{err: err} })
		return r
	}
	r.lent, r.giveBack = req.Session, giveBack
	r.detach()
	policy, ok := m.policies[rec.Tool]
	if ok {
		r.enqueue(policy)
		go r.body()
	} else {
		go r.conclude(r.meet)
	}
	return r
}

// enqueue gives a run that was accepted before a place in the queue, even beyond
// its bound.
func (r *run) enqueue(policy Policy) {
	r.policy = policy
	r.slots = r.m.slotsOf(r.tool, &policy)
	if r.slots.free != nil {
		r.queued = true
		r.slots.waiting.Add(1)
	}
}

// meet runs a handler that may bring its own policy, see [Handler].
func (r *run) meet() outcome {
	first := r.enter()
	select {
	case out := <-first:
		return r.rounds(out)
	case policy := <-r.entry.policy:
		r.enqueue(policy)
		r.entry.verdict <- nil
		return r.rounds(<-first)
	}
}

// giveBack lets another process go on with the task of a run whose body has ended
// because the server stops. A task that waits for input waits on.
func (m *Manager) giveBack(r *run) {
	rec, err := m.persist(m.life, r.id, func(rec *Record, now time.Time) error {
		if rec.Run != r.number {
			return errFenced
		}
		rec.Worker = ""
		switch {
		case rec.Status.Terminal():
			rec.letGo(now)
		case rec.Status == InputRequired:
			rec.ParkedUntil = now.Add(m.parkedFor(rec.Tool))
		default:
			rec.Run++
			rec.StatusMessage = "The server that ran it stopped: it is started again."
			rec.Disclosed = true
		}
		return nil
	})
	switch {
	case err == nil:
		m.observer.Observe(m.life, HandedOver{Task: rec.ID, Tool: rec.Tool})
	case !stderrors.Is(err, errFenced) && !stderrors.Is(err, ErrNotFound):
		m.observer.Observe(m.life, OperationFailed{Operation: "hand over", Task: r.id, Err: err})
	}
}

// parkedFor is how long a task of a tool waits for input without a worker.
func (m *Manager) parkedFor(tool string) time.Duration {
	p := m.policies[tool]
	return positiveOr(p.MaxRun, time.Hour)
}

// answerFor answers the caller of a task that another process may run.
func (m *Manager) answerFor(ctx context.Context, r *run, rec Record) (mcp.Result, error) {
	got, res, err := m.awaitEnd(ctx, r, rec, false)
	switch {
	case stderrors.Is(err, ErrNotFound):
		return nil, errUnknownTask()
	case err != nil || res != nil:
		return res, err
	case got.Status == Completed:
		res, err := storedResult(r.req, got.Result)
		if err != nil {
			return nil, errInternal("The stored result cannot be read.")
		}
		return wire.WithMeta(res, wire.MetaTask, got.meta(false)), nil
	case got.Done:
		return resultLost(&got).Result(r.req), nil
	case got.Status == Failed:
		return nil, got.Error.protocol()
	}
	return endedElsewhere(&got).Result(r.req), nil
}

// errShutDown refuses a call because the manager is closed.
func errShutDown() *errors.Failure {
	return errors.Unavailable("the server is shutting down").RetryAfter(10 * time.Second)
}
