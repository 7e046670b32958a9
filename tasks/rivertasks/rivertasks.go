// Package rivertasks is a [tasks.Store] that outlives the process, and that many
// processes can share.
//
//	store, err := rivertasks.Open(ctx, "sqlite:/var/lib/orders/tasks.db", nil)
//	if err != nil { ... }
//	defer store.Close(ctx)
//	slow := tasks.New(&tasks.Options{Store: store, Policies: policies})
//	defer slow.Close(ctx) // before the store
//
// It keeps its records in one file, for all processes of one machine, or in
// PostgreSQL, for many machines: that is the only difference between the two.
// [River] hands the runs out.
//
// [River]: https://riverqueue.com
package rivertasks

import (
	"context"
	"errors"
	"time"

	"github.com/steadymcp/steady/observe"
	"github.com/steadymcp/steady/tasks"
)

// NoWorkers lets a process accept calls and run none: see [Options.Workers].
const NoWorkers = -1

// Options configures a [Store]. The zero value is ready to use.
type Options struct {
	// Workers bounds how many runs this process takes from the queue at the same
	// time. If zero, 64. See also [NoWorkers].
	Workers int

	// Lease is how long a process may show no sign of life before its runs are
	// given to others or failed. All processes of one database should have the
	// same. If zero or less, 3 s.
	Lease time.Duration

	// MaxResult bounds one result, in bytes. The task of a larger one fails, and
	// says that the work was done. If zero or less, 32 MiB.
	MaxResult int

	// MaxPerOwner bounds how many tasks of one principal can be unfinished at the
	// same time. If zero or less, 10,000.
	MaxPerOwner int

	// Schema is the PostgreSQL schema of all tables, which must exist. If empty,
	// that of the connection's search_path.
	Schema string

	// NoMigrate makes Open fail if the database has not the version that this
	// program needs, instead of bringing it there. See [Migrate].
	NoMigrate bool

	// Observer receives the package's events and what River logs. If nil, they go
	// to slog.Default.
	Observer observe.Observer
}

// A Store keeps tasks in a database and gives their runs to the processes that
// share it.
type Store struct {
	tasks.Store
}

// Open opens the database that dsn names and brings its schema up to date. It
// understands
//
//	sqlite:/path/to/file            (created if it is missing; a local disk)
//	postgres://user:password@host/database?sslmode=...   (or postgresql://)
//
// A PostgreSQL address must lead to the server itself or to a pooler in session
// mode: the store listens, and holds locks for as long as it is open.
//
// It returns an error that is a [*NewerError] if the schema was made by a
// program that is newer than this one and that says that this one cannot read it.
func Open(ctx context.Context, dsn string, opts *Options) (*Store, error) {
	return nil, errors.ErrUnsupported
}

// Close ends the store. Close every [tasks.Manager] that uses it before.
func (s *Store) Close(ctx context.Context) error { return errors.ErrUnsupported }

// Migrate brings the schema of a database up to date, as Open does, and nothing
// else: for a step of its own before new programs start.
func Migrate(ctx context.Context, dsn string, opts *Options) error { return errors.ErrUnsupported }

// A NewerError says that the database is newer than this program.
type NewerError struct {
	Have, Want int // schema versions
}

func (e *NewerError) Error() string { return "" }

// An Inspection is the state of a store at one moment.
type Inspection struct {
	Counts  map[tasks.Status]int // tasks by state
	Waiting int                  // runs that no process has taken yet
	Oldest  time.Duration        // age of the oldest run that waits; zero if none
	Stuck   []Stuck              // at most 100
	Workers []Worker
}

// Stuck is a task that ought to have moved on.
type Stuck struct {
	Task, Tool, Worker string
	Since              time.Duration
	Reason             string
}

// A Worker is a process that takes part.
type Worker struct {
	ID, Host string
	PID      int
	Running  int // tasks that it runs
}

// Inspect looks at a database without taking part.
func Inspect(ctx context.Context, dsn string, opts *Options) (*Inspection, error) {
	return nil, errors.ErrUnsupported
}

// Inspect looks at the store.
func (s *Store) Inspect(ctx context.Context) (*Inspection, error) { return nil, errors.ErrUnsupported }
