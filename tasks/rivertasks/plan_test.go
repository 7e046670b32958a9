package rivertasks

import (
	"context"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/steadymcp/steady/observe"
	"github.com/steadymcp/steady/tasks"
)

// listened is a database that notes what is asked of it.
type listened struct {
	*sqliteDB
	mu    sync.Mutex
	asked map[string]int // queries, with the number of their parameters
}

func (l *listened) read() querier      { return listenedQuerier{l, l.sqliteDB.read()} }
func (l *listened) readVital() querier { return l.read() }
func (l *listened) write(ctx context.Context, f func(context.Context, tx) error) error {
	return l.sqliteDB.write(ctx, func(ctx context.Context, t tx) error { return f(ctx, listenedTx{t, listenedQuerier{l, t}}) })
}
func (l *listened) writeVital(ctx context.Context, f func(context.Context, tx) error) error {
	return l.write(ctx, f)
}

type listenedQuerier struct {
	l *listened
	querier
}

func (q listenedQuerier) query(ctx context.Context, query string, args ...any) (resultRows, error) {
	q.l.mu.Lock()
	q.l.asked[query] = len(args)
	q.l.mu.Unlock()
	return q.querier.query(ctx, query, args...)
}

type listenedTx struct {
	tx
	q listenedQuerier
}

func (t listenedTx) query(ctx context.Context, query string, args ...any) (resultRows, error) {
	return t.q.query(ctx, query, args...)
}

// TestNothingReadsAllTasks: what goes on all the time, or waits for a caller, finds
// its rows by an index, however many tasks have ended.
func TestNothingReadsAllTasks(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s, err := Open(ctx, "sqlite:"+filepath.Join(t.TempDir(), "tasks.db"), &Options{Workers: NoWorkers, Observer: observe.Discard})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close(context.Background())) })
	file := s.db.(*sqliteDB)
	l := &listened{sqliteDB: file, asked: map[string]int{}}
	s = &Store{opts: s.opts, db: l, observer: s.observer, epoch: s.epoch, life: s.life, end: s.end}

	now := time.Now()
	record := func(id, worker string) tasks.Record {
		return tasks.Record{ID: id, Owner: "o", Tool: "t", Key: id, Identity: id, Worker: worker, Status: tasks.Working, Run: 1, CreatedAt: now, TTL: time.Hour}
	}
	for _, r := range []tasks.Record{record("a", ""), record("b", "dead"), record("c", "")} {
		_, _, err := s.Create(ctx, now, r)
		require.NoError(t, err)
	}
	lost := 0
	a := &attachment{s: s, p: tasks.Process{Worker: "w", Lost: func(context.Context, tasks.Record) { lost++ }}, seen: map[string]*sighting{}, life: ctx}
	_, err = file.writer.ExecContext(ctx, `INSERT INTO mcp_worker (id, beat, dead, locked, host, pid) VALUES ('dead', 1, true, false, '', 0), ('gone', 1, true, false, '', 0)`)
	require.NoError(t, err)
	require.NoError(t, a.beat(ctx))
	require.NoError(t, a.look(ctx))
	require.NoError(t, a.reap(ctx, true))
	require.Equal(t, 1, lost)
	_, err = s.Get(ctx, "a")
	require.NoError(t, err)
	_, err = s.Running(ctx, "o", 10)
	require.NoError(t, err)
	_, err = s.Lost(ctx, now, 10)
	require.NoError(t, err)
	_, err = s.Sweep(ctx, now.Add(2*time.Hour), 10)
	require.NoError(t, err)
	done := record("b", "dead")
	done.Version, done.Status, done.ExpiresAt = 1, tasks.Completed, now.Add(time.Hour)
	_, err = s.Update(ctx, now, done)
	require.NoError(t, err)
	_, err = s.Sweep(ctx, now.Add(2*time.Hour), 10)
	require.NoError(t, err)

	require.Greater(t, len(l.asked), 10)
	for query, n := range l.asked {
		args := make([]any, n)
		for i := range args {
			args[i] = 0
		}
		rows, err := sqlQuerier{file.reader}.query(ctx, "EXPLAIN QUERY PLAN "+query, args...)
		require.NoError(t, err, query)
		for rows.Next() {
			var id, parent, unused int
			var step string
			require.NoError(t, rows.Scan(&id, &parent, &unused, &step))
			if strings.HasPrefix(step, "SCAN t") || strings.HasPrefix(step, "SCAN mcp_task") {
				// These indices leave out what has ended.
				require.Regexp(t, "INDEX mcp_task_(worker|waiting|unfinished)", step, query)
			}
		}
		rows.Close()
	}
}
