package tasks

import (
	"context"
	stderrors "errors"
	"time"
)

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

// persist is change for what must be written down: while the store does not
// answer it goes on, until ctx ends.
func (m *Manager) persist(ctx context.Context, id string, f func(rec *Record, now time.Time) error) (Record, error) {
	const most = 10 * time.Second
	var own error
	for pause := 50 * time.Millisecond; ; pause = min(2*pause, most) {
		own = nil
		rec, err := m.change(ctx, id, func(rec *Record, now time.Time) error {
			own = f(rec, now)
			return own
		})
		if err == nil || own != nil ||
			stderrors.Is(err, ErrNotFound) || stderrors.Is(err, ErrFull) || stderrors.Is(err, ErrTerminal) {
			return rec, err
		}
		m.observer.Observe(ctx, OperationFailed{Operation: "update", Task: id, Err: err})
		if !sleep(ctx, pause) {
			return rec, err
		}
	}
}

// watch is Watch of the store, except that it outlasts a store that does not
// answer: its errors are that ctx has ended and that there is no such task.
func (m *Manager) watch(ctx context.Context, id string, after int64) (Record, error) {
	for {
		rec, err := m.store.Watch(ctx, id, after)
		if err == nil || ctx.Err() != nil || stderrors.Is(err, ErrNotFound) {
			return rec, err
		}
		m.observer.Observe(ctx, OperationFailed{Operation: "watch", Task: id, Err: err})
		if !sleep(ctx, time.Second) {
			return Record{}, ctx.Err()
		}
	}
}

// sleep waits for d and reports whether ctx is still alive.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
