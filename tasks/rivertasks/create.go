package rivertasks

import (
	"context"
	"errors"
	"time"

	"github.com/steadymcp/steady/tasks"
)

// errAgain says that somebody else was faster, and that looking again helps.
var errAgain = errors.New("rivertasks: changed meanwhile")

// Create implements [tasks.Store]. What decides a race of two calls is the primary
// key of mcp_hold.
func (s *Store) Create(ctx context.Context, now time.Time, r tasks.Record) (got tasks.Record, created bool, err error) {
	ctx, cancel := within(ctx)
	defer cancel()
	for {
		// Most calls that join need no transaction.
		holder, err := s.holder(ctx, s.db.read(), now, &r, "")
		if err != nil {
			return tasks.Record{}, false, err
		}
		if holder != nil {
			if _, has := holder.KeyHash(r.Key); r.Key == "" || has {
				return holder.Record, false, nil
			}
		}
		err = s.db.write(ctx, func(ctx context.Context, t tx) (err error) {
			got, created, err = s.createOrJoin(ctx, t, now, r)
			return err
		})
		if errors.Is(err, errAgain) {
			continue
		}
		if err != nil {
			return tasks.Record{}, false, err
		}
		s.watched.wake(got.ID)
		return got, created, nil
	}
}

func (s *Store) createOrJoin(ctx context.Context, t tx, now time.Time, r tasks.Record) (tasks.Record, bool, error) {
	none := tasks.Record{}
	holder, err := s.holder(ctx, t, now, &r, s.db.dialect().forUpdate)
	if err != nil {
		return none, false, err
	}
	if holder != nil {
		added, err := tasks.AddKey(&holder.Record, &r, now)
		if err != nil || !added {
			return holder.Record, false, err
		}
		if err := s.hold(ctx, t, now, keyHold(&r, r.Key), holder.ID, true); err != nil {
			return none, false, err
		}
		holder.Version++
		holder.UpdatedAt = now
		return holder.Record, false, s.replace(ctx, t, holder)
	}

	full, err := exists(ctx, t, `SELECT 1 FROM mcp_task WHERE owner = $1 AND status IN ('working', 'input_required') LIMIT 1 OFFSET $2`,
		digest(r.Owner), s.opts.MaxPerOwner-1)
	if err != nil {
		return none, false, err
	}
	if full {
		return none, false, tasks.ErrFull
	}
	r.Version, r.UpdatedAt = 1, now
	if err := s.insert(ctx, t, &row{Record: r}); err != nil {
		return none, false, err
	}
	// Keys before identities: two calls that swap theirs must not wait for each other.
	for _, key := range []bool{true, false} {
		for _, h := range holds(&r, key) {
			if err := s.hold(ctx, t, now, h, r.ID, key); err != nil {
				return none, false, err
			}
		}
	}
	return r, true, nil
}

// holder returns the task that a call like r must join, or nil.
func (s *Store) holder(ctx context.Context, q querier, now time.Time, r *tasks.Record, lock string) (*row, error) {
	if r.Key != "" {
		h, err := s.heldBy(ctx, q, now, keyHold(r, r.Key), lock)
		if err != nil || h != nil && h.KeyHeld(now) {
			return h, err
		}
	}
	if r.Identity != "" {
		h, err := s.heldBy(ctx, q, now, identityHold(r), lock)
		if err != nil || h != nil && h.IdentityHeld(now) {
			return h, err
		}
	}
	return nil, nil
}

// heldBy returns the task that has a hold, unless it is over.
func (s *Store) heldBy(ctx context.Context, q querier, now time.Time, hold []byte, lock string) (*row, error) {
	h, err := readOne(ctx, q, `SELECT `+columns+` FROM mcp_hold h JOIN mcp_task t ON t.id = h.task_id WHERE h.hold = $1 `+lock, hold)
	if err != nil || h == nil || !h.Expired(now) {
		return h, err
	}
	alive, err := s.alive(ctx, q, now, h.Worker)
	if err != nil || alive {
		return h, err
	}
	return nil, nil
}

// hold gives a task the hold of its key, or of its identity, which nobody has.
func (s *Store) hold(ctx context.Context, t tx, now time.Time, hold []byte, id string, key bool) error {
	stale := ""
	if _, err := scanOne(ctx, t, `SELECT task_id FROM mcp_hold WHERE hold = $1`, []any{hold}, &stale); err != nil {
		return err
	}
	if stale != "" {
		had, err := s.heldBy(ctx, t, now, hold, "")
		switch {
		case err != nil:
			return err
		case had != nil && (key && had.KeyHeld(now) || !key && had.IdentityHeld(now)):
			return errAgain
		}
	}
	n, err := t.exec(ctx, `INSERT INTO mcp_hold (hold, task_id) VALUES ($1, $2)
		ON CONFLICT (hold) DO UPDATE SET task_id = excluded.task_id WHERE mcp_hold.task_id = $3`, hold, id, stale)
	if err == nil && n == 0 {
		err = errAgain
	}
	return err
}
