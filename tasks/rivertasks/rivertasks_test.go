package rivertasks_test

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/steadymcp/steady/observe"
	"github.com/steadymcp/steady/tasks"
	"github.com/steadymcp/steady/tasks/rivertasks"
	"github.com/steadymcp/steady/tasks/rivertasks/internal/pgserver"
	"github.com/steadymcp/steady/tasks/taskstest"
)

// open opens a store that is closed with the test.
func open(tb testing.TB, dsn string, opts *rivertasks.Options) *rivertasks.Store {
	tb.Helper()
	o := rivertasks.Options{}
	if opts != nil {
		o = *opts
	}
	if o.Observer == nil {
		o.Observer = logTo(tb)
	}
	s, err := rivertasks.Open(context.Background(), dsn, &o)
	require.NoError(tb, err)
	tb.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		require.NoError(tb, s.Close(ctx))
	})
	return s
}

// logTo shows events as part of a test's log.
func logTo(tb testing.TB) observe.Observer {
	return observe.Func(func(_ context.Context, e observe.Event) { tb.Logf("%s %v", e.EventName(), e.LogValue()) })
}

func sqliteDSN(tb testing.TB) string { return "sqlite:" + filepath.Join(tb.TempDir(), "tasks.db") }

func TestStoreOnSQLite(t *testing.T) {
	taskstest.Run(t, func(t *testing.T) tasks.Store { return open(t, sqliteDSN(t)+"?synchronous=normal", nil) })
}

// A database takes long to make and to migrate, so the suite empties one.
func TestStoreOnPostgres(t *testing.T) {
	dsn := pgserver.DSN(t)
	s := open(t, dsn, nil)
	taskstest.Run(t, func(t *testing.T) tasks.Store {
		empty(t, dsn)
		return s
	})
}

func empty(t *testing.T, dsn string) {
	t.Helper()
	for _, table := range []string{"mcp_task", "mcp_part", "mcp_hold", "mcp_worker", "river_job"} {
		execute(t, dsn, "DELETE FROM "+table)
	}
}
