package rivertasks

import (
	"bytes"
	"context"
	"time"

	"github.com/steadymcp/steady/tasks"
)

// Update implements [tasks.Store].
func (s *Store) Update(ctx context.Context, now time.Time, r tasks.Record) (got tasks.Record, err error) {
	ctx, cancel := within(ctx)
	defer cancel()
	err = s.db.write(ctx, func(ctx context.Context, t tx) error {
		old, err := readOne(ctx, t, `SELECT `+columns+` FROM mcp_task t WHERE t.id = $1 `+s.db.dialect().forUpdate, r.ID)
		switch {
		case err != nil:
			return err
		case old == nil:
			return tasks.ErrNotFound
		case old.Version != r.Version:
			return tasks.ErrConflict
		}
		if err := tasks.CheckUpdate(&old.Record, &r); err != nil {
			return err
		}
		if len(r.Result) > s.opts.MaxResult && !bytes.Equal(r.Result, old.Result) {
			return tasks.ErrFull
		}
		next := &row{Record: r, queue: old.queue, jobID: old.jobID, body: old.body}
		next.Version, next.UpdatedAt = r.Version+1, now
		if err := s.requeue(ctx, t, old, next); err != nil {
			return err
		}
		if !bytes.Equal(r.Result, old.Result) {
			if err := s.writeResult(ctx, t, next); err != nil {
				return err
			}
		}
		if err := s.letGo(ctx, t, now, &next.Record); err != nil {
			return err
		}
		got = next.Record
		return s.replace(ctx, t, next)
	})
	if err != nil {
		return tasks.Record{}, err
	}
	s.watched.wake(r.ID)
	return got, nil
}

// waits reports whether a record is a run that waits to be started.
func waits(r *tasks.Record) bool { return r.Status == tasks.Working && r.Worker == "" }

// requeue brings the queue in line with a change: a run that waits has a job, and
// one that is not to go on has none. A process that stops its own run needs not be
// told by River.
func (s *Store) requeue(ctx context.Context, t tx, old, next *row) (err error) {
	waited := waits(&old.Record)
	moved := next.Run != old.Run
	stopped := next.Status.Terminal() && (waited || next.Worker != "") && !old.Status.Terminal()
	if _, ours := s.attached.Load(old.Worker); old.jobID != 0 && (moved || stopped) && !ours {
		if err := t.cancelJob(ctx, old.jobID); err != nil {
			return err
		}
		next.jobID = 0
	}
	if waits(&next.Record) && (moved || !waited) {
		next.jobID, err = t.enqueue(ctx, job{Task: next.ID, Run: next.Run}, next.queue)
	}
	return err
}

// letGo forgets the holds that have ended.
func (s *Store) letGo(ctx context.Context, t tx, now time.Time, r *tasks.Record) error {
	for _, key := range []bool{true, false} {
		if key && r.KeyHeld(now) || !key && r.IdentityHeld(now) {
			continue
		}
		for _, h := range holds(r, key) {
			if _, err := t.exec(ctx, `DELETE FROM mcp_hold WHERE hold = $1 AND task_id = $2`, h, r.ID); err != nil {
				return err
			}
		}
	}
	return nil
}

// insert writes a new record.
func (s *Store) insert(ctx context.Context, t tx, r *row) (err error) {
	r.queue = anyTool
	if _, ok := s.named.Load(r.Tool); ok {
		r.queue = queueOf(r.Tool)
	}
	if waits(&r.Record) {
		if r.jobID, err = t.enqueue(ctx, job{Task: r.ID, Run: r.Run}, r.queue); err != nil {
			return err
		}
	}
	body, err := encode(&r.Record, nil)
	if err != nil {
		return err
	}
	arguments, err := writeParts(ctx, t, r.ID, partArguments, r.Arguments)
	if err != nil {
		return err
	}
	n, err := t.exec(ctx, `INSERT INTO mcp_task (id, version, owner, tool, status, run, worker, queue, job_id, disclosed, created_at, updated_at, expires_at, parked_until, body, arguments)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16) ON CONFLICT DO NOTHING`,
		r.ID, r.Version, digest(r.Owner), plain(r.Tool), string(r.Status), r.Run, r.Worker, r.queue, r.jobID, r.Disclosed,
		r.CreatedAt.UnixNano(), r.UpdatedAt.UnixNano(), nanos(r.ExpiresAt), nanos(r.ParkedUntil), body, arguments)
	if err == nil && n == 0 {
		err = tasks.ErrConflict
	}
	if err != nil {
		return err
	}
	return t.changed(ctx, r.ID)
}

// replace writes a record whose row is locked, except for what is large.
func (s *Store) replace(ctx context.Context, t tx, r *row) error {
	body, err := encode(&r.Record, r.body)
	if err != nil {
		return err
	}
	_, err = t.exec(ctx, `UPDATE mcp_task SET version = $2, status = $3, run = $4, worker = $5, job_id = $6, disclosed = $7,
		updated_at = $8, expires_at = $9, parked_until = $10, body = $11 WHERE id = $1`,
		r.ID, r.Version, string(r.Status), r.Run, r.Worker, r.jobID, r.Disclosed,
		r.UpdatedAt.UnixNano(), nanos(r.ExpiresAt), nanos(r.ParkedUntil), body)
	if err != nil {
		return err
	}
	return t.changed(ctx, r.ID)
}

func (s *Store) writeResult(ctx context.Context, t tx, r *row) error {
	column, err := writeParts(ctx, t, r.ID, partResult, r.Result)
	if err != nil {
		return err
	}
	_, err = t.exec(ctx, `UPDATE mcp_task SET result = $2 WHERE id = $1`, r.ID, column)
	return err
}

// Delete implements [tasks.Store].
func (s *Store) Delete(ctx context.Context, id string, version int64) error {
	ctx, cancel := within(ctx)
	defer cancel()
	err := s.db.write(ctx, func(ctx context.Context, t tx) error {
		var have, jobID int64
		found, err := scanOne(ctx, t, `SELECT t.version, t.job_id FROM mcp_task t WHERE t.id = $1 `+s.db.dialect().forUpdate, []any{id}, &have, &jobID)
		switch {
		case err != nil:
			return err
		case !found:
			return tasks.ErrNotFound
		case have != version:
			return tasks.ErrConflict
		}
		if jobID != 0 {
			if err := t.cancelJob(ctx, jobID); err != nil {
				return err
			}
		}
		return remove(ctx, t, id)
	})
	if err == nil {
		s.watched.wake(id)
	}
	return err
}

// remove deletes a task and all that belongs to it.
func remove(ctx context.Context, t tx, id string) error {
	for _, query := range []string{
		`DELETE FROM mcp_task WHERE id = $1`,
		`DELETE FROM mcp_hold WHERE task_id = $1`,
		`DELETE FROM mcp_part WHERE task_id = $1`,
	} {
		if _, err := t.exec(ctx, query, id); err != nil {
			return err
		}
	}
	return t.changed(ctx, id)
}
