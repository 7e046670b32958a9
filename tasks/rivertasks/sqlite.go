package rivertasks

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/riverqueue/river/riverdriver/riversqlite"
	"github.com/riverqueue/river/rivermigrate"
	_ "modernc.org/sqlite" // the driver "sqlite"
)

// sqliteDB is one file. River and everything that writes share one connection, so
// that within the process nobody waits for a lock that SQLite hands out unfairly;
// what only reads has others.
type sqliteDB struct {
	path    string
	file    os.FileInfo // which file that was when it was opened
	writer  *sql.DB
	reader  *sql.DB
	watcher *sql.DB // one connection that stays open, for PRAGMA data_version
	logger  *slog.Logger
	jobs    *queue[*sql.Tx]
}

func openSQLite(ctx context.Context, path, query string, create bool, logger *slog.Logger) (_ *sqliteDB, err error) {
	if path == "" || strings.HasPrefix(path, ":memory:") {
		return nil, errors.New("rivertasks: sqlite: needs the path of a file, such as sqlite:/var/lib/app/tasks.db; for tasks in memory use tasks.NewMemoryStore")
	}
	values, err := url.ParseQuery(query)
	if err != nil {
		return nil, fmt.Errorf("rivertasks: the parameters of the sqlite address: %w", err)
	}
	// A handle that was given out survives a loss of power.
	synchronous := "FULL"
	for name, v := range values {
		if name != "synchronous" || len(v) != 1 || !strings.EqualFold(v[0], "normal") && !strings.EqualFold(v[0], "full") {
			return nil, fmt.Errorf("rivertasks: sqlite: takes synchronous=normal or synchronous=full, and there is no parameter %q, or not with this value", name)
		}
		synchronous = strings.ToUpper(v[0])
	}
	if path, err = filepath.Abs(path); err != nil {
		return nil, err
	}
	address := func(pragmas ...string) string {
		params := url.Values{"_txlock": {"immediate"}, "_pragma": append([]string{"busy_timeout(10000)", "journal_mode(WAL)", "synchronous(" + synchronous + ")"}, pragmas...)}
		return (&url.URL{Scheme: "file", OmitHost: true, Path: filepath.ToSlash(path), RawQuery: params.Encode()}).String()
	}
	if create {
		if err := createFile(path); err != nil {
			return nil, fmt.Errorf("rivertasks: %w", err)
		}
	}
	d := &sqliteDB{path: path, logger: logger}
	defer func() {
		if err != nil {
			d.close()
		}
	}()
	if d.writer, err = sql.Open("sqlite", address()); err != nil {
		return nil, err
	}
	d.writer.SetMaxOpenConns(1)
	if d.file, err = os.Stat(path); err == nil { // SQLite would create it
		err = d.writer.PingContext(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("rivertasks: opening %s (it must be a file of SQLite's, which this process may write, as it must its folder): %w", path, err)
	}
	if d.reader, err = sql.Open("sqlite", address("query_only(1)")); err != nil {
		return nil, err
	}
	d.reader.SetMaxOpenConns(4)
	d.reader.SetMaxIdleConns(4)
	if d.watcher, err = sql.Open("sqlite", address("query_only(1)")); err != nil {
		return nil, err
	}
	d.watcher.SetMaxOpenConns(1)
	d.jobs, err = newQueue(riversqlite.New(d.writer), logger)
	return d, err
}

var creating sync.Mutex

// createFile makes an empty file if there is none, for nobody else to read: it will
// hold what users sent and got. To close a file that SQLite has open would free its
// locks, so one that exists is left alone, and one that is new not used meanwhile.
func createFile(path string) error {
	creating.Lock()
	defer creating.Unlock()
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return f.Close()
}

// inPlace returns an error if the file is not the one any more that others open by
// its name: what is written to it, nobody else would ever see.
func (d *sqliteDB) inPlace() error {
	if now, err := os.Stat(d.path); err == nil && os.SameFile(now, d.file) {
		return nil
	}
	return fmt.Errorf("rivertasks: %s was removed or replaced while it was in use: put it back, or restart every process that uses it", d.path)
}

func (d *sqliteDB) close() {
	for _, db := range []*sql.DB{d.watcher, d.reader, d.writer} {
		if db != nil {
			_ = db.Close()
		}
	}
}

func (d *sqliteDB) dialect() *dialect {
	return &dialect{attemptedBy: `json_extract(j.attempted_by, '$[#-1]')`}
}

func (d *sqliteDB) read() querier { return sqlQuerier{d.reader} }

func (d *sqliteDB) write(ctx context.Context, f func(context.Context, tx) error) error {
	if err := d.inPlace(); err != nil {
		return err
	}
	t, err := d.writer.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer t.Rollback()
	if err := f(ctx, sqliteTx{sqlQuerier{t}, t, d.jobs}); err != nil {
		return err
	}
	return t.Commit()
}

// What writes takes turns here, in order, and each turn is short.
func (d *sqliteDB) readVital() querier { return d.read() }
func (d *sqliteDB) writeVital(ctx context.Context, f func(context.Context, tx) error) error {
	return d.write(ctx, f)
}

// migrate needs no other lock than that of its transaction.
func (d *sqliteDB) migrate(ctx context.Context) error {
	t, err := d.writer.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer t.Rollback()
	m, err := rivermigrate.New(riversqlite.New(d.writer), &rivermigrate.Config{Logger: d.logger})
	if err != nil {
		return err
	}
	_, err = m.ExistingVersionsTx(ctx, t)
	if err := newerRiver(ctx, sqlQuerier{t}, m.AllVersions(), err); err != nil {
		return err
	}
	//lint:ignore SA1019 what cannot be in one transaction is PostgreSQL's, and here the transaction is the lock
	if _, err := m.MigrateTx(ctx, t, rivermigrate.DirectionUp, nil); err != nil {
		return err
	}
	if err := migrateTx(ctx, sqlQuerier{t}, "sqlite"); err != nil {
		return err
	}
	return t.Commit()
}

func (d *sqliteDB) check(ctx context.Context) error {
	m, err := rivermigrate.New(riversqlite.New(d.reader), &rivermigrate.Config{Logger: d.logger})
	if err != nil {
		return err
	}
	return checkSchema(ctx, d.read(), "sqlite", `SELECT 1 FROM sqlite_master WHERE name = 'mcp_schema'`, m)
}

// lookEvery is how often listen looks; a look costs some 15 us.
const lookEvery = 20 * time.Millisecond

// listen relies on PRAGMA data_version, which changes when another connection has
// written, and on the numbers of the changes.
func (d *sqliteDB) listen(ctx context.Context, changed func(string)) {
	var version, seen int64
	first := true
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		if err := d.look(ctx, &version, &seen, first, changed); err == nil {
			first = false
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

func (d *sqliteDB) look(ctx context.Context, version, seen *int64, first bool, changed func(string)) error {
	q := sqlQuerier{d.watcher}
	var now int64
	if _, err := scanOne(ctx, q, `PRAGMA data_version`, nil, &now); err != nil || now == *version && !first {
		return err
	}
	var last int64
	if _, err := scanOne(ctx, q, `SELECT n FROM mcp_seq`, nil, &last); err != nil {
		return err
	}
	if !first {
		ids, err := scanColumn[string](ctx, q, `SELECT id FROM mcp_task WHERE seq > $1 AND seq <= $2`, *seen, last)
		if err != nil {
			return err
		}
		for _, id := range ids {
			changed(id)
		}
	}
	*version, *seen = now, last
	return nil
}

func (d *sqliteDB) start(cfg workConfig) (worker, error) {
	return d.jobs.start(riversqlite.New(d.writer), cfg)
}

// sqliteTx is a transaction of the writer.
type sqliteTx struct {
	sqlQuerier
	tx   *sql.Tx
	jobs *queue[*sql.Tx]
}

func (t sqliteTx) enqueue(ctx context.Context, j job, queue string) (int64, error) {
	return t.jobs.insert(ctx, t.tx, j, queue)
}
func (t sqliteTx) cancelJob(ctx context.Context, id int64) error { return t.jobs.cancel(ctx, t.tx, id) }

func (t sqliteTx) changed(ctx context.Context, id string) error {
	if _, err := t.exec(ctx, `UPDATE mcp_seq SET n = n + 1`); err != nil {
		return err
	}
	_, err := t.exec(ctx, `UPDATE mcp_task SET seq = (SELECT n FROM mcp_seq) WHERE id = $1`, id)
	return err
}

// sqlQuerier is a querier of package database/sql, for SQLite's parameters.
type sqlQuerier struct {
	db interface {
		ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
		QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	}
}

func (q sqlQuerier) exec(ctx context.Context, query string, args ...any) (int64, error) {
	res, err := q.db.ExecContext(ctx, numbered(query), args...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

func (q sqlQuerier) query(ctx context.Context, query string, args ...any) (resultRows, error) {
	rows, err := q.db.QueryContext(ctx, numbered(query), args...)
	if err != nil {
		return nil, err
	}
	return sqlRows{rows}, nil
}

// numbered makes ?1 of $1. Our SQL has no other dollar that is followed by a digit.
func numbered(query string) string {
	b := []byte(query)
	for i := 0; i+1 < len(b); i++ {
		if b[i] == '$' && b[i+1] >= '1' && b[i+1] <= '9' {
			b[i] = '?'
		}
	}
	return string(b)
}

type sqlRows struct{ *sql.Rows }

func (r sqlRows) Close() { _ = r.Rows.Close() }
