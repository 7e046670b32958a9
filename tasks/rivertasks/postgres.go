package rivertasks

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
)

// pgDB is a PostgreSQL database.
type pgDB struct {
	pool    *pgxpool.Pool
	vital   *pgxpool.Pool // for what must not wait, see readVital
	channel string        // of NOTIFY
	logger  *slog.Logger
	jobs    *queue[pgx.Tx]
}

// Keys of advisory locks, whose numbers all programs of a database share: that of
// the migration, and the first half of a worker's.
const (
	lockMigrate = 0x6d63705f7461736b // "mcp_task"
	lockWorker  = 0x6d637077         // "mcpw"
)

func openPostgres(ctx context.Context, dsn, schema string, logger *slog.Logger) (_ *pgDB, err error) {
	cfg, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, fmt.Errorf("rivertasks: %w", err) // without the password
	}
	if strings.Contains(cfg.ConnConfig.Host, "@") { // what follows would be printed as the name of a host
		return nil, errors.New("rivertasks: the address of the database has more than one @: write %40 for those in the user's name or password")
	}
	if !strings.Contains(dsn, "pool_max_conns") {
		cfg.MaxConns = 16
	}
	if cfg.ConnConfig.ConnectTimeout == 0 {
		cfg.ConnConfig.ConnectTimeout = 5 * time.Second
	}
	if schema != "" {
		cfg.ConnConfig.RuntimeParams["search_path"] = pgx.Identifier{schema}.Sanitize()
	}
	d := &pgDB{logger: logger}
	if d.pool, err = pgxpool.NewWithConfig(ctx, cfg); err != nil {
		return nil, err
	}
	vital := cfg.Copy()
	vital.MaxConns = 2
	if d.vital, err = pgxpool.NewWithConfig(ctx, vital); err != nil {
		d.pool.Close()
		return nil, err
	}
	defer func() {
		if err != nil {
			d.close()
		}
	}()
	var current *string
	if err := d.pool.QueryRow(ctx, `SELECT current_schema()`).Scan(&current); err != nil {
		return nil, fmt.Errorf("rivertasks: connecting to the database: %w", err)
	}
	if current == nil {
		return nil, fmt.Errorf("rivertasks: there is no schema %q in the database: create it first", cfg.ConnConfig.RuntimeParams["search_path"])
	}
	d.channel = "mcp_task." + *current
	if len(d.channel) > 63 { // PostgreSQL's limit for a name
		d.channel = fmt.Sprintf("mcp_task.%x", digest(*current)[:16])
	}
	d.jobs, err = newQueue(riverpgxv5.New(d.pool), logger)
	return d, err
}

func (d *pgDB) close() {
	d.vital.Close()
	d.pool.Close()
}

func (d *pgDB) dialect() *dialect {
	return &dialect{
		forUpdate:   `FOR UPDATE OF t`,
		skipLocked:  `FOR UPDATE OF t SKIP LOCKED`,
		attemptedBy: `j.attempted_by[array_upper(j.attempted_by, 1)]`,
	}
}

func (d *pgDB) read() querier      { return pgQuerier{d.pool} }
func (d *pgDB) readVital() querier { return pgQuerier{d.vital} }

// write tries again when PostgreSQL has ended a transaction because of another
// one.
func (d *pgDB) write(ctx context.Context, f func(context.Context, tx) error) error {
	return d.writeOn(ctx, d.pool, f)
}

func (d *pgDB) writeVital(ctx context.Context, f func(context.Context, tx) error) error {
	return d.writeOn(ctx, d.vital, f)
}

func (d *pgDB) writeOn(ctx context.Context, pool *pgxpool.Pool, f func(context.Context, tx) error) error {
	for {
		err := d.writeOnce(ctx, pool, f)
		pgErr, ok := errors.AsType[*pgconn.PgError](err)
		if !ok || pgErr.Code != "40001" && pgErr.Code != "40P01" || ctx.Err() != nil {
			return err
		}
	}
}

func (d *pgDB) writeOnce(ctx context.Context, pool *pgxpool.Pool, f func(context.Context, tx) error) error {
	t, err := pool.Begin(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = t.Rollback(context.WithoutCancel(ctx)) }()
	if err := f(ctx, pgTx{pgQuerier{t}, t, d}); err != nil {
		return err
	}
	return t.Commit(ctx)
}

// migrate holds a lock: River's migrations need transactions of their own, and
// River takes none. They come from the pool, which may have a single connection.
func (d *pgDB) migrate(ctx context.Context) error {
	conn, err := d.connect(ctx)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	if _, err := conn.Exec(ctx, `SELECT pg_advisory_lock($1)`, int64(lockMigrate)); err != nil {
		return err
	}
	m, err := rivermigrate.New(riverpgxv5.New(d.pool), &rivermigrate.Config{Logger: d.logger})
	if err != nil {
		return err
	}
	_, err = m.ExistingVersions(ctx)
	if err := newerRiver(ctx, d.read(), m.AllVersions(), err); err != nil {
		return err
	}
	if _, err := m.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return err
	}
	return d.writeOnce(ctx, d.pool, func(ctx context.Context, t tx) error { return migrateTx(ctx, t, "postgres") })
}

func (d *pgDB) check(ctx context.Context) error {
	m, err := rivermigrate.New(riverpgxv5.New(d.pool), &rivermigrate.Config{Logger: d.logger})
	if err != nil {
		return err
	}
	return checkSchema(ctx, d.read(), "postgres", `SELECT 1 WHERE to_regclass('mcp_schema') IS NOT NULL`, m)
}

// listen keeps a connection that listens, and makes a new one when it is lost.
func (d *pgDB) listen(ctx context.Context, changed func(string)) {
	for ctx.Err() == nil {
		_ = d.listenOnce(ctx, changed) // the floor goes on without, and reports what fails
		select {
		case <-time.After(500 * time.Millisecond):
		case <-ctx.Done():
		}
	}
}

func (d *pgDB) listenOnce(ctx context.Context, changed func(string)) error {
	conn, err := d.connect(ctx)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	if _, err := conn.Exec(ctx, `LISTEN `+pgx.Identifier{d.channel}.Sanitize()); err != nil {
		return err
	}
	changed("") // whatever was missed
	for {
		n, err := conn.WaitForNotification(ctx)
		if err != nil {
			return err
		}
		if n.Payload != "" {
			changed(n.Payload)
		}
	}
}

// connect makes a connection outside of the pool.
func (d *pgDB) connect(ctx context.Context) (*pgx.Conn, error) {
	return pgx.ConnectConfig(ctx, d.pool.Config().ConnConfig)
}

func (d *pgDB) start(cfg workConfig) (worker, error) {
	return d.jobs.start(riverpgxv5.New(d.pool), cfg)
}

// pgLock is an advisory lock on a connection of its own: PostgreSQL frees it when
// the process is gone.
type pgLock struct {
	conn *pgx.Conn
	gone atomic.Bool
	end  context.CancelFunc
}

func (d *pgDB) hold(ctx context.Context, worker string) lock {
	conn, err := d.connect(ctx)
	if err != nil {
		return nil
	}
	var got bool
	err = conn.QueryRow(ctx, `SELECT pg_try_advisory_lock($1, $2)`, int32(lockWorker), lockNumber(worker)).Scan(&got)
	if err != nil || !got { // another worker has the same number: it does without
		_ = conn.Close(ctx)
		return nil
	}
	l := &pgLock{conn: conn}
	ctx, l.end = context.WithCancel(context.WithoutCancel(ctx))
	go func() { // nothing ever comes, except the end of the connection
		_, _ = conn.WaitForNotification(ctx)
		l.gone.Store(true)
		_ = conn.Close(context.WithoutCancel(ctx))
	}()
	return l
}

func (l *pgLock) held() bool { return !l.gone.Load() }
func (l *pgLock) release()   { l.end() }

func (d *pgDB) holders(ctx context.Context, workers []string) (map[string]bool, error) {
	numbers, err := scanColumn[int64](ctx, d.readVital(), `SELECT objid::bigint FROM pg_locks l
		WHERE locktype = 'advisory' AND classid::bigint = $1 AND objsubid = 2 AND granted
		AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`, int64(lockWorker))
	if err != nil {
		return nil, err
	}
	held := map[string]bool{}
	for _, w := range workers {
		for _, n := range numbers {
			held[w] = held[w] || uint32(n) == uint32(lockNumber(w))
		}
	}
	return held, nil
}

func lockNumber(worker string) int32 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(worker))
	return int32(h.Sum32())
}

// pgTx is a transaction.
type pgTx struct {
	pgQuerier
	tx pgx.Tx
	db *pgDB
}

// enqueue takes care that a run is due at once. River lets it be due when this
// process says it is, and takes it when the database does: it would wait for as long
// as this clock is ahead.
func (t pgTx) enqueue(ctx context.Context, j job, queue string) (int64, error) {
	id, err := t.db.jobs.insert(ctx, t.tx, j, queue)
	if err != nil {
		return 0, err
	}
	_, err = t.exec(ctx, `UPDATE river_job SET scheduled_at = clock_timestamp() WHERE id = $1 AND scheduled_at > clock_timestamp()`, id)
	return id, err
}
func (t pgTx) cancelJob(ctx context.Context, id int64) error {
	return t.db.jobs.cancel(ctx, t.tx, id)
}

func (t pgTx) changed(ctx context.Context, id string) error {
	_, err := t.exec(ctx, `SELECT pg_notify($1, $2)`, t.db.channel, id)
	return err
}

type pgQuerier struct {
	db interface {
		Exec(ctx context.Context, query string, args ...any) (pgconn.CommandTag, error)
		Query(ctx context.Context, query string, args ...any) (pgx.Rows, error)
	}
}

func (q pgQuerier) exec(ctx context.Context, query string, args ...any) (int64, error) {
	tag, err := q.db.Exec(ctx, query, args...)
	return tag.RowsAffected(), err
}

func (q pgQuerier) query(ctx context.Context, query string, args ...any) (resultRows, error) {
	return q.db.Query(ctx, query, args...)
}
