package rivertasks

import (
	"context"
	"os"
	"time"
)

// This file is how processes know of each other whether they are alive. No clocks
// are compared: each counts its beats, and the others look whether the number
// changes, for as long as they can see it themselves.

const beatsPerLease = 6

// live beats and looks until the attachment ends.
func (a *attachment) live() {
	tick := time.NewTicker(a.s.opts.Lease / beatsPerLease)
	defer tick.Stop()
	reaping := make(chan struct{}, 1) // one reaper at a time; beats go on meanwhile
	for round := 0; ; round++ {
		select {
		case <-tick.C:
		case <-a.life.Done():
			return
		}
		ctx, cancel := context.WithTimeout(a.life, a.s.opts.Lease)
		a.s.report(a.life, "beat", a.beat(ctx))
		err := a.look(ctx)
		a.s.report(a.life, "look", err)
		if err != nil {
			a.last = time.Time{}
		}
		cancel()
		select {
		case reaping <- struct{}{}:
			slow := round%beatsPerLease == 0
			a.work.Go(func() {
				defer func() { <-reaping }()
				a.s.report(a.life, "reap", a.reap(a.life, slow))
			})
		default:
		}
	}
}

// beat shows that this process is alive.
func (a *attachment) beat(ctx context.Context) error {
	if a.lock != nil && !a.lock.held() {
		a.lock = nil
	}
	if a.lock == nil {
		a.lock = a.s.db.hold(ctx, a.p.Worker)
	}
	return a.s.db.writeVital(ctx, func(ctx context.Context, t tx) error {
		_, err := t.exec(ctx, `INSERT INTO mcp_worker (id, beat, until, dead, locked, host, pid) VALUES ($1, 1, NULL, false, $2, $3, $4)
			ON CONFLICT (id) DO UPDATE SET beat = mcp_worker.beat + 1, until = NULL, dead = false, locked = excluded.locked`,
			a.p.Worker, a.lock != nil, a.host, os.Getpid())
		return err
	})
}

// A sighting is what was last seen of another worker.
type sighting struct {
	beat  int64
	since time.Time
}

// look finds the workers that are dead: those that have not beaten for the lease,
// or those that have ended and missed two beats. A free lock alone proves nothing:
// a restart of the database frees all.
func (a *attachment) look(ctx context.Context) error {
	type other struct {
		id, host string
		beat     int64
		locked   bool
	}
	q := a.s.db.readVital()
	// A worker without a row, whose row was removed, has the beat -1.
	rows, err := q.query(ctx, `SELECT id, host, beat, locked FROM mcp_worker WHERE until IS NULL AND NOT dead
		UNION ALL SELECT DISTINCT t.worker, '', -1, false FROM mcp_task t
			WHERE t.worker <> '' AND NOT EXISTS (SELECT 1 FROM mcp_worker w WHERE w.id = t.worker)`)
	if err != nil {
		return err
	}
	var others []other
	for rows.Next() {
		var o other
		if err := rows.Scan(&o.id, &o.host, &o.beat, &o.locked); err != nil {
			rows.Close()
			return err
		}
		if o.id != a.p.Worker {
			others = append(others, o)
		}
	}
	rows.Close()
	if err := rows.Err(); err != nil {
		return err
	}

	lease := a.s.opts.Lease
	now := time.Now()
	blind := now.Sub(a.last) > lease/2 // it could not see them beat: it starts anew
	a.last = now
	seen := map[string]*sighting{}
	var silent []other
	var unlocked []string
	for _, o := range others {
		s := a.seen[o.id]
		if s == nil || s.beat != o.beat || blind {
			s = &sighting{o.beat, now}
		}
		seen[o.id] = s
		switch age := now.Sub(s.since); {
		case age >= lease:
			silent = append(silent, o)
		case o.locked && age >= 2*lease/beatsPerLease:
			unlocked = append(unlocked, o.id)
		}
	}
	a.seen = seen
	ended := map[string]bool{}
	if len(unlocked) > 0 {
		held, err := a.s.db.holders(ctx, unlocked)
		if err != nil {
			return err
		}
		for _, o := range others {
			if held, asked := held[o.id]; asked && !held {
				silent = append(silent, o)
				ended[o.id] = true
			}
		}
	}
	for _, o := range silent {
		if err := a.bury(ctx, o.id, o.host, o.beat, ended[o.id]); err != nil {
			return err
		}
	}
	return nil
}

// bury notes that a worker is dead, unless it has beaten since.
func (a *attachment) bury(ctx context.Context, id, host string, beat int64, unlocked bool) error {
	var found bool
	err := a.s.db.writeVital(ctx, func(ctx context.Context, t tx) error {
		query, args := `UPDATE mcp_worker SET dead = true WHERE id = $1 AND beat = $2 AND NOT dead`, []any{id, beat}
		if beat < 0 {
			query, args = `INSERT INTO mcp_worker (id, beat, until, dead, locked, host, pid) VALUES ($1, 0, NULL, true, false, '', 0) ON CONFLICT DO NOTHING`, []any{id}
		}
		n, err := t.exec(ctx, query, args...)
		found = n == 1
		return err
	})
	if err == nil && found {
		a.s.observer.Observe(ctx, WorkerLost{Worker: id, Host: host, Unlocked: unlocked})
	}
	return err
}
