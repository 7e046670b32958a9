package rivertasks

import (
	"context"
	"time"
)

// Sweep implements [tasks.Store]. It removes 100 tasks in one transaction, so that
// nobody waits long for it.
func (s *Store) Sweep(ctx context.Context, now time.Time, limit int) (swept int, err error) {
	const batch = 100
	for swept < limit {
		n := min(batch, limit-swept)
		removed, err := s.sweepBatch(ctx, now, n)
		swept += removed
		if err != nil || removed < n {
			return swept, err
		}
	}
	return swept, nil
}

func (s *Store) sweepBatch(ctx context.Context, now time.Time, limit int) (removed int, err error) {
	ctx, cancel := within(ctx)
	defer cancel()
	const expired = `FROM mcp_task t WHERE t.expires_at <= $1 AND NOT EXISTS (
		SELECT 1 FROM mcp_worker w WHERE w.id = t.worker AND NOT w.dead AND (w.until IS NULL OR w.until > $1)) `
	any, err := exists(ctx, s.db.read(), `SELECT 1 `+expired+`LIMIT 1`, now.UnixNano())
	if err != nil || !any {
		return 0, err
	}
	var ids []string
	err = s.db.write(ctx, func(ctx context.Context, t tx) (err error) {
		ids, err = scanColumn[string](ctx, t, `SELECT t.id `+expired+`ORDER BY t.expires_at LIMIT $2 `+s.db.dialect().skipLocked, now.UnixNano(), limit)
		if err != nil {
			return err
		}
		for _, id := range ids {
			if err := remove(ctx, t, id); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	for _, id := range ids {
		s.watched.wake(id)
	}
	return len(ids), nil
}
