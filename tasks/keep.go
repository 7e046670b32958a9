package tasks

import (
	"context"
	stderrors "errors"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
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
		if m.dispatch != nil {
			m.attach()
			m.every(m.settleDoubts, m.sweep)
			return
		}
		first, cancel := context.WithTimeout(m.life, beatEvery)
		m.beat(first)
		cancel()
		m.every(m.beat, m.settleDoubts, m.reap, m.sweep)
	})
}

// every does chores, in order, at each beat.
func (m *Manager) every(chores ...func(context.Context)) {
	m.background(func() {
		tick := time.NewTicker(beatEvery)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				for _, chore := range chores {
					chore(m.life)
				}
			case <-m.life.Done():
				return
			}
		}
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

// A doubt is a task that may exist without our knowing, and its worker if it does.
type doubt struct{ id, worker string }

// doubt remembers a task whose creation failed: the store may have done it all the
// same and been unable to say so. Nothing runs then, although the record says that
// this process does.
func (m *Manager) doubt(want Record) {
	const most = 4096
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.doubts) < most {
		m.doubts = append(m.doubts, doubt{want.ID, want.Worker})
	}
}

// settleDoubts ends the tasks that were not started, as soon as the store answers.
func (m *Manager) settleDoubts(ctx context.Context) {
	m.mu.Lock()
	doubts := m.doubts
	m.doubts = nil
	m.mu.Unlock()
	e := ending{status: Failed, err: &Error{Code: jsonrpc.CodeInternalError, Message: "The call was not started: the task store did not answer."}}
	for i, d := range doubts {
		_, err := m.change(ctx, d.id, func(rec *Record, now time.Time) error {
			if rec.Status != Working || rec.Worker != d.worker || rec.Run != 1 {
				return errEnded // somebody has taken it up
			}
			rec.Worker = ""
			e.apply(rec, now)
			return nil
		})
		if err != nil && !stderrors.Is(err, ErrNotFound) && !stderrors.Is(err, errEnded) {
			m.mu.Lock()
			m.doubts = append(m.doubts, doubts[i:]...)
			m.mu.Unlock()
			return
		}
	}
}

// recover ends a task that nobody would carry on with, or has it run again if its
// policy says that this is safe, or if it had not begun. The new run number
// fences the old run off, should it not be gone after all.
func (m *Manager) recover(ctx context.Context, lost Record) {
	rr := m.rerun.Load()
	elsewhere := m.dispatch != nil // whoever the store gives it to
	again := lost.RunAgain && (elsewhere || rr != nil) && !lost.Status.Terminal()
	unanswered := false
	rec, err := m.persist(ctx, lost.ID, func(rec *Record, now time.Time) error {
		if rec.Run != lost.Run || rec.Worker != lost.Worker {
			return errFenced
		}
		if rec.Worker == "" { // of a Dispatcher only
			switch {
			case rec.Status == Working: // it has not begun
				rec.Run++
				again = true
				return nil
			case rec.Status == InputRequired && !now.Before(rec.ParkedUntil):
				unanswered = true
				e := ending{status: Failed, err: &Error{Code: jsonrpc.CodeInternalError, Message: "Nobody answered its questions in time."}}
				e.apply(rec, now)
				return nil
			}
			return errFenced
		}
		rec.Run++
		rec.Worker = ""
		switch {
		case rec.Status.Terminal(): // it had been cancelled
			rec.letGo(now)
		case again:
			rec.Disclosed = true // whoever called is not waiting any more
			if elsewhere && rec.Status == InputRequired {
				rec.ParkedUntil = now.Add(m.parkedFor(rec.Tool)) // the next run will ask the same, and find the answers
				return nil
			}
			rec.Status, rec.StatusMessage = Working, "Started again after the server that ran it was lost."
			rec.InputRequests = nil
			if !elsewhere {
				rec.Worker = m.worker
			}
		default:
			e := ending{status: Failed, err: &Error{Code: jsonrpc.CodeInternalError, Message: outcomeUnknown}}
			e.apply(rec, now)
		}
		return nil
	})
	switch {
	case stderrors.Is(err, errFenced) || stderrors.Is(err, ErrNotFound): // somebody else was faster
		return
	case err != nil:
		m.observer.Observe(ctx, OperationFailed{Operation: "recover", Task: lost.ID, Err: err})
		return
	case unanswered:
		m.observer.Observe(ctx, Ended{Task: rec.ID, Tool: rec.Tool, Status: rec.Status, Ran: rec.UpdatedAt.Sub(rec.CreatedAt)})
		return
	}
	m.observer.Observe(ctx, Lost{Task: rec.ID, Tool: rec.Tool, RunAgain: again})
	if again && !elsewhere {
		m.runAgain(rr, rec)
	}
}
