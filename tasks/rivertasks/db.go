package rivertasks

import (
	"context"
	"time"
)

// A querier runs SQL whose parameters are $1, $2 and so on.
type querier interface {
	exec(ctx context.Context, query string, args ...any) (affected int64, err error)
	query(ctx context.Context, query string, args ...any) (resultRows, error)
}

type resultRows interface {
	Next() bool
	Scan(dest ...any) error
	Err() error
	Close()
}

// A tx is a transaction, of which River's jobs can be part.
type tx interface {
	querier
	// enqueue makes River hand a run out once the transaction is committed.
	enqueue(ctx context.Context, j job, queue string) (id int64, err error)
	// cancelJob takes a job out of the queue, and ends its context if it runs.
	cancelJob(ctx context.Context, id int64) error
	// changed tells the other processes of a change of a task.
	changed(ctx context.Context, id string) error
}

// A database is what the engine needs of one of the two, beyond SQL that both
// understand.
type database interface {
	// read returns what sees committed data only.
	read() querier
	// write runs f in a transaction, again if the database says that this helps.
	write(ctx context.Context, f func(context.Context, tx) error) error
	// readVital and writeVital are the same for what shows that a process lives:
	// however busy the process is, it does not wait for its turn.
	readVital() querier
	writeVital(ctx context.Context, f func(context.Context, tx) error) error
	// migrate brings the schema up to date.
	migrate(ctx context.Context) error
	// check returns an error if the schema is not one that this program can use.
	check(ctx context.Context) error
	// listen calls changed with the handles that other processes change, or with ""
	// if it may have missed some, until ctx ends.
	listen(ctx context.Context, changed func(id string))
	// start starts to work on jobs.
	start(cfg workConfig) (worker, error)
	// hold takes a lock that the end of this process frees. It returns nil if it
	// cannot.
	hold(ctx context.Context, worker string) lock
	// holders returns which of the given workers hold their lock.
	holders(ctx context.Context, workers []string) (map[string]bool, error)
	// dialect returns the SQL that differs.
	dialect() *dialect
	close()
}

// A lock shows that its process lives.
type lock interface {
	held() bool
	release()
}

// A dialect is SQL that is not the same in both.
type dialect struct {
	forUpdate   string // locks the rows of mcp_task t
	skipLocked  string // does so, and leaves out those that somebody else has locked
	attemptedBy string // the last worker of river_job j
}

// within bounds one operation: a database that takes longer counts as one that is
// away, and its caller must not wait as long as a lost connection does.
func within(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, 10*time.Second)
}

// exists reports whether a query has a row.
func exists(ctx context.Context, q querier, query string, args ...any) (bool, error) {
	rows, err := q.query(ctx, query, args...)
	if err != nil {
		return false, err
	}
	defer rows.Close()
	return rows.Next(), rows.Err()
}

// scanOne reads the only row of a query. It reports whether there was one.
func scanOne(ctx context.Context, q querier, query string, args []any, dest ...any) (bool, error) {
	rows, err := q.query(ctx, query, args...)
	if err != nil {
		return false, err
	}
	defer rows.Close()
	if !rows.Next() {
		return false, rows.Err()
	}
	return true, rows.Scan(dest...)
}

// scanColumn reads the only column of a query.
func scanColumn[T any](ctx context.Context, q querier, query string, args ...any) (out []T, err error) {
	rows, err := q.query(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var v T
		if err := rows.Scan(&v); err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, rows.Err()
}
