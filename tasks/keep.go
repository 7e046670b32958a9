package tasks

import (
	"context"
	stderrors "errors"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/steadymcp/steady/errors"
)

const (
	beatEvery = 10 * time.Second
	lease     = 3 * beatEvery // without a beat for so long, a worker is lost
	keepBatch = 500           // records that one step of housekeeping touches
)

// keep starts the housekeeping, at the latest with the first call. The first
// beat is done before keep returns, so that every record has a worker that is
// known.
func (m *Manager) keep() {
	m.keeping.Do(func() {
		first, cancel := context.WithTimeout(m.life, beatEvery)
		m.beat(first)
		cancel()
		m.background(func() {
			tick := time.NewTicker(beatEvery)
			defer tick.Stop()
			for {
				select {
				case <-tick.C:
					m.beat(m.life)
					m.reap(m.life)
					m.sweep(m.life)
				case <-m.life.Done():
					return
				}
			}
		})
	})
}

func (m *Manager) beat(ctx context.Context) {
	if err := m.store.Beat(ctx, m.worker, time.Now().Add(lease)); err != nil && ctx.Err() == nil {
		m.observer.Observe(ctx, OperationFailed{Operation: "beat", Err: err})
	}
}

func (m *Manager) sweep(ctx context.Context) {
	for {
		n, err := m.store.Sweep(ctx, time.Now(), keepBatch)
		if err != nil && ctx.Err() == nil {
			m.observer.Observe(ctx, OperationFailed{Operation: "sweep", Err: err})
		}
		if err != nil || n < keepBatch {
			return
		}
	}
}

// reap takes over the tasks of workers that are gone.
func (m *Manager) reap(ctx context.Context) {
	recs, err := m.store.Lost(ctx, time.Now(), keepBatch)
	if err != nil {
		if ctx.Err() == nil {
			m.observer.Observe(ctx, OperationFailed{Operation: "lost", Err: err})
		}
		return
	}
	for _, rec := range recs {
		if rec.Worker != m.worker {
			m.recover(ctx, rec)
		}
	}
}

// recover ends a task whose worker is gone, or runs it again if its policy says
// that this is safe. The new run number fences the old run off, should it not be
// gone after all.
func (m *Manager) recover(ctx context.Context, lost Record) {
	rr := m.rerun.Load()
	again := lost.RunAgain && rr != nil && !lost.Status.Terminal()
	rec, err := m.persist(ctx, lost.ID, func(rec *Record, now time.Time) error {
		if rec.Run != lost.Run || rec.Worker != lost.Worker {
			return errFenced
		}
		rec.Run++
		rec.Worker = ""
		switch {
		case rec.Status.Terminal(): // it had been cancelled
			rec.letGo(now)
		case again:
			rec.Worker = m.worker
			rec.Status, rec.StatusMessage = Working, "Started again after the server that ran it was lost."
			rec.InputRequests, rec.InputResponses = nil, nil
			rec.Disclosed = true // whoever called is not waiting any more
		default:
			e := ending{status: Failed, err: &Error{Code: jsonrpc.CodeInternalError, Message: outcomeUnknown}}
			e.apply(rec, now)
		}
		return nil
	})
	if stderrors.Is(err, errFenced) || stderrors.Is(err, ErrNotFound) { // somebody else was faster
		return
	}
	if err != nil {
		m.observer.Observe(ctx, OperationFailed{Operation: "recover", Task: lost.ID, Err: err})
		return
	}
	m.observer.Observe(ctx, Lost{Task: rec.ID, Tool: rec.Tool, RunAgain: again})
	if again {
		m.runAgain(ctx, rr, rec)
	}
}

// runAgain starts a handler from what the record says of the call.
func (m *Manager) runAgain(ctx context.Context, rr *rerunner, rec Record) {
	r := m.newRun(ctx, rr.next, nil)
	r.surface = surfaceExtension
	r.policy = m.policies[rec.Tool].withDefaults()
	r.adopt(&rec)
	req, giveBack, err := rr.request(ctx, &rec)
	if err == nil && !m.add(r) {
		giveBack()
		err = errClosing
	}
	if err != nil {
		r.req = req
		r.fail(ctx, err, outcomeUnknown, errors.Unavailable("%s cannot be started again", rec.Tool))
		return
	}
	r.req, r.lent, r.giveBack = req, req.Session, giveBack
	r.detach()
	r.slots = m.slotsOf(rec.Tool, &r.policy)
	r.queued = true // it was accepted before: it waits, even beyond the bound
	r.slots.waiting.Add(1)
	go r.body()
}
