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
// [River] hands the runs out; it is licensed under the MPL 2.0.
//
// All processes of a database should have the same tools, with the same policies.
// One that is given a run of a tool that it does not have passes it on. A tool that
// has its policy by name in one process needs it by name in all: by that its runs
// are handed out.
//
// [River]: https://riverqueue.com
package rivertasks

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/riverqueue/river"

	"github.com/steadymcp/steady/observe"
	"github.com/steadymcp/steady/tasks"
)

// NoWorkers lets a process accept calls and run none: see [Options.Workers].
const NoWorkers = -1

// Options configures a [Store]. The zero value is ready to use.
type Options struct {
	// Workers bounds how many runs of one tool this process takes from the queue at
	// the same time, together with the tool's own [tasks.Policy.Concurrency]. If zero,
	// 64. See also [NoWorkers].
	Workers int

	// Lease is how long a process may show no sign of life before its runs are
	// given to others or failed. All processes of one database should have the
	// same. At least 300 ms and at most an hour. If zero or less, 3 s.
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
// share it. It is a [tasks.Dispatcher].
type Store struct {
	opts     Options
	db       database
	observer observe.Observer
	epoch    string
	watched  watched
	named    sync.Map // tools that have a policy by name, in this process
	attached sync.Map // workers of this process
	failing  sync.Map // operations in the background that do not work now

	life context.Context // ends with the store
	end  context.CancelFunc
	work sync.WaitGroup // background work
}

var _ tasks.Dispatcher = (*Store)(nil)

// Open opens the database that dsn names and brings its schema up to date. It
// understands
//
//	sqlite:/path/to/file            (created if it is missing; a local disk)
//	postgres://user:password@host/database?sslmode=...   (or postgresql://)
//
// A file is written so that a handle that was given out survives a loss of power;
// sqlite:/path/to/file?synchronous=normal is twice as fast, and then may lose the
// last moments.
//
// A PostgreSQL address must lead to the server itself or to a pooler in session
// mode: the store listens, and holds locks for as long as it is open.
//
// The error is a [*NewerError] if the database was upgraded by a newer program so
// that this one cannot use it, and an [*OlderError] if it has to be upgraded first
// and [Options.NoMigrate] is set.
func Open(ctx context.Context, dsn string, opts *Options) (*Store, error) {
	s := &Store{}
	if opts != nil {
		s.opts = *opts
	}
	s.opts = s.opts.withDefaults()
	s.observer = observe.Or(s.opts.Observer)
	db, err := openDatabase(ctx, dsn, &s.opts, !s.opts.NoMigrate, s.observer)
	if err != nil {
		return nil, err
	}
	s.db = db
	if s.opts.NoMigrate {
		err = db.check(ctx)
	} else {
		err = migrate(ctx, db)
	}
	if err == nil {
		err = writable(ctx, db)
	}
	if err == nil {
		_, err = scanOne(ctx, db.read(), `SELECT epoch FROM mcp_store`, nil, &s.epoch)
	}
	if err != nil {
		db.close()
		return nil, err
	}
	s.life, s.end = context.WithCancel(context.Background())
	s.watch(s.life)
	return s, nil
}

func (o Options) withDefaults() Options {
	positive := func(v *int, otherwise int) {
		if *v <= 0 {
			*v = otherwise
		}
	}
	if o.Workers != NoWorkers {
		positive(&o.Workers, 64)
		o.Workers = min(o.Workers, river.QueueNumWorkersMax)
	}
	positive(&o.MaxResult, 32<<20)
	positive(&o.MaxPerOwner, 10_000)
	if o.Lease <= 0 {
		o.Lease = 3 * time.Second
	}
	o.Lease = min(max(o.Lease, 300*time.Millisecond), time.Hour)
	return o
}

// Close ends the store. Close every [tasks.Manager] that uses it before. It may be
// called many times.
func (s *Store) Close(ctx context.Context) error {
	s.end()
	done := make(chan struct{})
	go func() {
		s.work.Wait()
		s.db.close()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Migrate brings the schema of a database up to date, as Open does, and nothing
// else: for a step of its own before new programs start.
func Migrate(ctx context.Context, dsn string, opts *Options) error {
	if opts == nil {
		opts = &Options{}
	}
	db, err := openDatabase(ctx, dsn, opts, true, observe.Or(opts.Observer))
	if err != nil {
		return err
	}
	defer db.close()
	return migrate(ctx, db)
}

func migrate(ctx context.Context, db database) error {
	return doing("bringing the schema of the database up to date", db.migrate(ctx))
}

// doing says in an error what was being done, unless it says all that there is.
func doing(what string, err error) error {
	if _, newer := errors.AsType[*NewerError](err); err == nil || newer {
		return err
	}
	return fmt.Errorf("rivertasks: %s: %w", what, err)
}

// writable returns an error if the database can be read only: whoever starts the
// program is to learn that, rather than its callers.
func writable(ctx context.Context, db database) error {
	err := db.write(ctx, func(ctx context.Context, t tx) error {
		_, err := t.exec(ctx, `UPDATE mcp_store SET epoch = epoch`)
		return err
	})
	return doing("writing to the database", err)
}

// openDatabase connects to what a DSN names. If create is set, a missing file is
// created.
func openDatabase(ctx context.Context, dsn string, opts *Options, create bool, o observe.Observer) (database, error) {
	scheme, rest, _ := strings.Cut(dsn, ":")
	logger := riverLogger(o)
	switch scheme {
	case "sqlite":
		path, query, _ := strings.Cut(strings.TrimPrefix(rest, "//"), "?")
		return openSQLite(ctx, path, query, create, logger)
	case "postgres", "postgresql":
		return openPostgres(ctx, dsn, opts.Schema, logger)
	}
	return nil, errors.New("rivertasks: the address of the database must be sqlite:PATH or postgres://...; it is neither")
}

// report tells what came of an operation in the background, if it is new that it
// fails.
func (s *Store) report(ctx context.Context, operation string, err error) {
	if err == nil {
		s.failing.Delete(operation)
		return
	}
	if _, known := s.failing.LoadOrStore(operation, true); !known && ctx.Err() == nil {
		s.observer.Observe(ctx, OperationFailed{Operation: operation, Err: err})
	}
}
