package rivertasks

import (
	"context"
	"errors"
	"time"

	"github.com/steadymcp/steady/tasks"
)

const reapBatch = 200

// unheld are the tasks that have not ended and that nobody runs: an index has them.
// SQLite uses it only where its condition is repeated word for word, and without it
// would read every task that there is, twice a second.
const unheld = `t.worker = '' AND t.status IN ('working', 'input_required')`

// waiting are the unheld tasks whose run waits to be started.
const waiting = unheld + ` AND t.status = 'working'`

// reap hands over the tasks that nobody would carry on with. If slow is set, it
// also looks for what should never happen.
func (a *attachment) reap(ctx context.Context, slow bool) error {
	q, d := a.s.db.read(), a.s.db.dialect()
	dead, err := scanColumn[string](ctx, q, `SELECT id FROM mcp_worker WHERE dead`)
	if err != nil {
		return err
	}
	for _, id := range dead {
		// What it had claimed, and what River had given it and it had not.
		for _, query := range []string{
			`SELECT ` + columns + ` FROM mcp_task t WHERE t.worker = $1 AND t.worker <> '' LIMIT $2`,
			`SELECT ` + columns + ` FROM river_job j JOIN mcp_task t ON t.job_id = j.id
				WHERE j.state = 'running' AND ` + d.attemptedBy + ` = $1 AND ` + waiting + ` LIMIT $2`,
		} {
			if err := a.lost(ctx, q, query, id, reapBatch); err != nil {
				return err
			}
		}
		if err := a.forget(ctx, id); err != nil {
			return err
		}
	}
	if err := a.lost(ctx, q, `SELECT `+columns+` FROM mcp_task t
		WHERE `+unheld+` AND t.status = 'input_required' AND t.parked_until <= $1 LIMIT $2`, time.Now().UnixNano(), reapBatch); err != nil {
		return err
	}
	if !slow {
		return nil
	}
	return a.reconcile(ctx)
}

// lost tells the manager of the tasks that a query finds.
func (a *attachment) lost(ctx context.Context, q querier, query string, args ...any) error {
	return readEach(ctx, q, func(r *row) error {
		a.p.Lost(ctx, r.Record)
		return nil
	}, query, args...)
}

// forget removes a dead worker that has left nothing, with the rows of its jobs:
// River would keep them as running for ever.
func (a *attachment) forget(ctx context.Context, id string) error {
	left, err := exists(ctx, a.s.db.read(), `SELECT 1 FROM mcp_task t WHERE t.worker = $1 AND t.worker <> ''`, id)
	if err != nil || left {
		return err
	}
	return a.s.db.write(ctx, func(ctx context.Context, t tx) error {
		jobs, err := scanColumn[int64](ctx, t, `SELECT j.id FROM river_job j LEFT JOIN mcp_task t ON t.job_id = j.id AND `+waiting+`
			WHERE j.state = 'running' AND j.kind = $1 AND `+a.s.db.dialect().attemptedBy+` = $2 AND t.id IS NULL`, job{}.Kind(), id)
		if err != nil {
			return err
		}
		for _, j := range jobs {
			if err := t.cancelJob(ctx, j); err != nil {
				return err
			}
		}
		left, err := exists(ctx, t, `SELECT 1 FROM river_job j JOIN mcp_task t ON t.job_id = j.id
			WHERE j.state = 'running' AND `+a.s.db.dialect().attemptedBy+` = $1 AND `+waiting, id)
		if err != nil || left {
			return err
		}
		_, err = t.exec(ctx, `DELETE FROM mcp_worker WHERE id = $1 AND dead`, id)
		return err
	})
}

// reconcile finds runs that wait and that the queue does not know of. Somebody has
// changed River's tables by hand: a job that was cancelled was meant to be, one
// that is gone was not.
func (a *attachment) reconcile(ctx context.Context) error {
	q := a.s.db.read()
	const jobless = ` FROM mcp_task t LEFT JOIN river_job j ON j.id = t.job_id WHERE ` + waiting + ` AND `
	err := readEach(ctx, q, func(r *row) error {
		now := time.Now()
		r.Status, r.StatusMessage = tasks.Cancelled, "Stopped by the operator."
		r.ExpiresAt, r.KeyUntil, r.IdentityUntil = now.Add(r.TTL), now, now
		if _, err := a.s.Update(ctx, now, r.Record); err != nil && !errors.Is(err, tasks.ErrConflict) && !errors.Is(err, tasks.ErrNotFound) {
			return err
		}
		return nil
	}, `SELECT `+columns+jobless+`j.state = 'cancelled' LIMIT $1`, reapBatch)
	if err != nil {
		return err
	}
	return a.lost(ctx, q, `SELECT `+columns+jobless+`(j.id IS NULL OR j.state IN ('completed', 'discarded')) LIMIT $1`, reapBatch)
}
