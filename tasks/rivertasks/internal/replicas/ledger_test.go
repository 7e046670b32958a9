//go:build unix

package replicas

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite"
)

// A ledger is what the tools have done, in the database of their tasks. It does
// not keep them from doing a thing twice: no column is unique.
type ledger struct {
	db     *sql.DB
	sqlite bool
}

func openLedger(dsn string) (*ledger, error) {
	driver, source := "pgx", dsn
	path, sqlite := strings.CutPrefix(dsn, "sqlite:")
	if sqlite {
		driver, source = "sqlite", "file:"+path+"?_txlock=immediate&_pragma=busy_timeout(60000)&_pragma=journal_mode(WAL)"
	}
	db, err := sql.Open(driver, source)
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(4)
	return &ledger{db: db, sqlite: sqlite}, nil
}

func (l *ledger) close() { l.db.Close() }

// idle reports whether nobody is within a transaction that could keep others from
// writing. On SQLite it finds out by beginning one.
func (l *ledger) idle(ctx context.Context) (bool, error) {
	if !l.sqlite {
		var open int
		err := l.db.QueryRowContext(ctx, `SELECT count(*) FROM pg_stat_activity
			WHERE datname = current_database() AND state = 'idle in transaction'`).Scan(&open)
		return open == 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	tx, err := l.db.BeginTx(ctx, nil)
	if err != nil {
		return false, nil
	}
	return true, tx.Rollback()
}

func (l *ledger) create() error {
	_, err := l.db.Exec(`CREATE TABLE effect (task text NOT NULL, run bigint NOT NULL, job text NOT NULL)`)
	return err
}

// query is a query with PostgreSQL's placeholders in the words of the database.
func (l *ledger) query(q string) string {
	if l.sqlite {
		return strings.NewReplacer("$", "?", " FOR UPDATE", "").Replace(q)
	}
	return q
}

// fenced writes an effect down if the task still has this run and there is none,
// in one transaction. The lock on the record keeps a new run from starting between
// the look and the commit; SQLite's write lock does the same.
func (l *ledger) fenced(ctx context.Context, task string, run int64, job string) error {
	tx, err := l.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	var now int64
	if err := tx.QueryRowContext(ctx, l.query(`SELECT run FROM mcp_task WHERE id = $1 FOR UPDATE`), task).Scan(&now); err != nil {
		return err
	}
	if now != run {
		return fmt.Errorf("run %d has been replaced by run %d", run, now)
	}
	if _, err := tx.ExecContext(ctx, l.query(`INSERT INTO effect (task, run, job) SELECT $1, $2, $3
		WHERE NOT EXISTS (SELECT 1 FROM effect WHERE task = $1)`), task, run, job); err != nil {
		return err
	}
	return tx.Commit()
}

// plain writes an effect down, whatever there is.
func (l *ledger) plain(ctx context.Context, task string, run int64, job string) error {
	_, err := l.db.ExecContext(ctx, l.query(`INSERT INTO effect (task, run, job) VALUES ($1, $2, $3)`), task, run, job)
	return err
}

type effect struct {
	task, job string
	run       int64
}

func (l *ledger) all(ctx context.Context) ([]effect, error) {
	rows, err := l.db.QueryContext(ctx, `SELECT task, run, job FROM effect`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []effect
	for rows.Next() {
		var e effect
		if err := rows.Scan(&e.task, &e.run, &e.job); err != nil {
			return nil, err
		}
		out = append(out, e)
	}
	return out, rows.Err()
}

// held is what the database knows of tasks that have not ended or that somebody
// still holds, and of the processes.
func (l *ledger) held() string {
	var b strings.Builder
	for _, query := range []string{
		`SELECT t.id, t.tool, t.status, t.run, t.worker, t.updated_at, t.job_id, coalesce(cast(j.state AS text), '-') FROM mcp_task t LEFT JOIN river_job j ON j.id = t.job_id
			WHERE t.worker <> '' OR t.status IN ('working', 'input_required') LIMIT 50`,
		`SELECT id, pid, beat, dead, locked FROM mcp_worker`,
	} {
		rows, err := l.db.Query(query)
		if err != nil {
			return err.Error()
		}
		columns, _ := rows.Columns()
		fmt.Fprintln(&b, columns)
		for rows.Next() {
			values := make([]any, len(columns))
			for i := range values {
				values[i] = new(any)
			}
			if err := rows.Scan(values...); err != nil {
				return err.Error()
			}
			for _, v := range values {
				fmt.Fprint(&b, *v.(*any), " ")
			}
			fmt.Fprintln(&b)
		}
		rows.Close()
	}
	return b.String()
}
