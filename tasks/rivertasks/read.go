package rivertasks

import (
	"context"
	"time"

	"github.com/steadymcp/steady/tasks"
)

// Epoch implements [tasks.Store]. It is as old as the database.
func (s *Store) Epoch() string { return s.epoch }

// Get implements [tasks.Store].
func (s *Store) Get(ctx context.Context, id string) (tasks.Record, error) {
	ctx, cancel := within(ctx)
	defer cancel()
	r, err := readOne(ctx, s.db.read(), `SELECT `+columns+` FROM mcp_task t WHERE t.id = $1`, id)
	if err != nil {
		return tasks.Record{}, err
	}
	if r == nil {
		return tasks.Record{}, tasks.ErrNotFound
	}
	return r.Record, nil
}

// Running implements [tasks.Store].
func (s *Store) Running(ctx context.Context, owner string, limit int) ([]tasks.Record, error) {
	ctx, cancel := within(ctx)
	defer cancel()
	rows, err := readRows(ctx, s.db.read(), `SELECT `+columns+` FROM mcp_task t
		WHERE t.owner = $1 AND t.disclosed AND t.status IN ('working', 'input_required') ORDER BY t.created_at, t.id LIMIT $2`, digest(owner), limit)
	return records(rows), err
}

// Watch implements [tasks.Store].
func (s *Store) Watch(ctx context.Context, id string, after int64) (tasks.Record, error) {
	for {
		changed, leave := s.watched.wait(id, after)
		r, err := s.Get(ctx, id)
		if err != nil || r.Version > after {
			leave()
			return r, err
		}
		select {
		case <-changed:
			leave()
		case <-ctx.Done():
			leave()
			return tasks.Record{}, ctx.Err()
		}
	}
}

// Beat implements [tasks.Store], for those who tell the time of their end
// themselves. Whoever is attached needs no clock.
func (s *Store) Beat(ctx context.Context, worker string, until time.Time) error {
	ctx, cancel := within(ctx)
	defer cancel()
	return s.db.write(ctx, func(ctx context.Context, t tx) error {
		_, err := t.exec(ctx, `INSERT INTO mcp_worker (id, beat, until, dead, locked, host, pid) VALUES ($1, 1, $2, false, false, '', 0)
			ON CONFLICT (id) DO UPDATE SET beat = mcp_worker.beat + 1, until = excluded.until, dead = false`, worker, until.UnixNano())
		return err
	})
}

// Lost implements [tasks.Store].
func (s *Store) Lost(ctx context.Context, now time.Time, limit int) ([]tasks.Record, error) {
	ctx, cancel := within(ctx)
	defer cancel()
	rows, err := readRows(ctx, s.db.read(), `SELECT `+columns+` FROM mcp_worker w JOIN mcp_task t ON t.worker = w.id
		WHERE t.worker <> '' AND (w.dead OR w.until <= $1) LIMIT $2`, now.UnixNano(), limit)
	return records(rows), err
}

// alive reports whether a worker is alive at now. An attached one is until the
// others have found it dead.
func (s *Store) alive(ctx context.Context, q querier, now time.Time, worker string) (bool, error) {
	if worker == "" {
		return false, nil
	}
	return exists(ctx, q, `SELECT 1 FROM mcp_worker WHERE id = $1 AND NOT dead AND (until IS NULL OR until > $2)`, worker, now.UnixNano())
}
