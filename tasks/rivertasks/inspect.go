package rivertasks

import (
	"context"
	"time"

	"github.com/steadymcp/steady/observe"
	"github.com/steadymcp/steady/tasks"
)

// An Inspection is the state of a store at one moment. It has no arguments and no
// results.
type Inspection struct {
	Schema  int                  // version of the schema
	Counts  map[tasks.Status]int // tasks by state, with those that have expired and are not swept yet
	Waiting int                  // runs that no process has taken
	Oldest  time.Duration        // since the oldest of them was last written; zero if there is none
	Parked  int                  // tasks that wait for input and that nobody runs
	Stuck   []Stuck              // at most 100
	Workers []Worker
}

// Stuck is a task that ought to have moved on.
type Stuck struct {
	Task, Tool, Worker string
	Since              time.Duration // since it was last written
	Reason             string        // "its worker is dead", "no process takes it", "its worker is not known"
}

// A Worker is a process that takes part, or one of several managers in it.
type Worker struct {
	ID, Host string
	PID      int
	Dead     bool
	Running  int // tasks that it runs
}

// patience is how long a run may wait before it counts as stuck, even if the
// processes are just busy.
const patience = 5 * time.Minute

// Inspect looks at a database without taking part, and without changing its
// schema.
func Inspect(ctx context.Context, dsn string, opts *Options) (*Inspection, error) {
	if opts == nil {
		opts = &Options{}
	}
	db, err := openDatabase(ctx, dsn, opts, false, observe.Or(opts.Observer))
	if err != nil {
		return nil, err
	}
	defer db.close()
	if err := db.check(ctx); err != nil {
		return nil, err
	}
	return inspect(ctx, db.read())
}

// Inspect looks at the store.
func (s *Store) Inspect(ctx context.Context) (*Inspection, error) { return inspect(ctx, s.db.read()) }

func inspect(ctx context.Context, q querier) (_ *Inspection, err error) {
	in := &Inspection{Counts: map[tasks.Status]int{}}
	if in.Schema, _, err = readVersion(ctx, q); err != nil {
		return nil, err
	}
	err = each(ctx, q, `SELECT status, count(*) FROM mcp_task GROUP BY status`, nil, func(scan func(...any) error) error {
		var status string
		var n int
		err := scan(&status, &n)
		in.Counts[tasks.Status(status)] = n
		return err
	})
	if err != nil {
		return nil, err
	}
	now := time.Now()
	var oldest *int64
	if _, err = scanOne(ctx, q, `SELECT count(*), min(updated_at) FROM mcp_task t WHERE `+waiting, nil, &in.Waiting, &oldest); err != nil {
		return nil, err
	}
	if oldest != nil {
		in.Oldest = now.Sub(time.Unix(0, *oldest))
	}
	if _, err = scanOne(ctx, q, `SELECT count(*) FROM mcp_task t WHERE `+unheld+` AND t.status = 'input_required'`, nil, &in.Parked); err != nil {
		return nil, err
	}
	err = each(ctx, q, `SELECT w.id, w.host, w.pid, w.dead, (SELECT count(*) FROM mcp_task t WHERE t.worker = w.id AND t.worker <> '') FROM mcp_worker w ORDER BY w.id`,
		nil, func(scan func(...any) error) error {
			var w Worker
			err := scan(&w.ID, &w.Host, &w.PID, &w.Dead, &w.Running)
			in.Workers = append(in.Workers, w)
			return err
		})
	if err != nil {
		return nil, err
	}
	err = each(ctx, q, `SELECT t.id, t.tool, t.worker, t.updated_at, CASE
			WHEN t.worker = '' THEN 'no process takes it' WHEN w.id IS NULL THEN 'its worker is not known' ELSE 'its worker is dead' END
		FROM mcp_task t LEFT JOIN mcp_worker w ON w.id = t.worker
		WHERE t.status = 'working' AND t.worker = '' AND t.updated_at < $1 OR t.worker <> '' AND (w.id IS NULL OR w.dead)
		ORDER BY t.updated_at LIMIT 100`, []any{now.Add(-patience).UnixNano()}, func(scan func(...any) error) error {
		var s Stuck
		var at int64
		err := scan(&s.Task, &s.Tool, &s.Worker, &at, &s.Reason)
		s.Since = now.Sub(time.Unix(0, at))
		in.Stuck = append(in.Stuck, s)
		return err
	})
	return in, err
}

// each calls f for every row of a query.
func each(ctx context.Context, q querier, query string, args []any, f func(scan func(...any) error) error) error {
	rows, err := q.query(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := f(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}
