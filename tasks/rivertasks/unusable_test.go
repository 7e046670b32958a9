package rivertasks_test

import (
	"context"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/steadymcp/steady/observe"
	"github.com/steadymcp/steady/tasks"
	"github.com/steadymcp/steady/tasks/rivertasks"
	"github.com/steadymcp/steady/tasks/rivertasks/internal/pgserver"
)

// TestFileThatIsReplaced: two databases of the same name would each let the same
// work begin.
func TestFileThatIsReplaced(t *testing.T) {
	t.Parallel()
	for _, gone := range []string{"removed", "replaced"} {
		t.Run(gone, func(t *testing.T) {
			dsn := sqliteDSN(t)
			path := strings.TrimPrefix(dsn, "sqlite:")
			r := startReplica(t, dsn, nil, crashPolicies, crashTools(false))
			id := r.start("safe", nil)
			require.Equal(t, "done null", textOf(r.result(id)))

			moved := path + ".moved"
			require.NoError(t, os.Rename(path, moved))
			if gone == "replaced" {
				require.NoError(t, os.WriteFile(path, nil, 0o600))
			}
			res := r.call("safe", map[string]any{"n": 2})
			require.True(t, res.IsError)
			require.Equal(t, "unavailable", res.Meta["steady/error"].(map[string]any)["kind"])
			err := r.store.Beat(t.Context(), "w", r.record(id).CreatedAt)
			require.ErrorContains(t, err, "was removed or replaced while it was in use")

			require.NoError(t, os.Rename(moved, path))
			require.Equal(t, `done {"n":2}`, textOf(r.result(r.start("safe", map[string]any{"n": 2}))), "it was put back")
		})
	}
}

// TestFileIsNobodyElses: what users send and get is in it.
func TestFileIsNobodyElses(t *testing.T) {
	t.Parallel()
	dsn := sqliteDSN(t)
	open(t, dsn, nil)
	files, err := filepath.Glob(strings.TrimPrefix(dsn, "sqlite:") + "*")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, f := range files {
		info, err := os.Stat(f)
		require.NoError(t, err)
		require.Zero(t, info.Mode().Perm()&0o077, "%s: %v", f, info.Mode())
	}
}

// TestLookingMakesNoFile: a name that was misspelled is an error, not a new and
// empty database.
func TestLookingMakesNoFile(t *testing.T) {
	t.Parallel()
	dsn := sqliteDSN(t)
	_, err := rivertasks.Inspect(t.Context(), dsn, nil)
	require.ErrorContains(t, err, "no such file")
	_, err = rivertasks.Open(t.Context(), dsn, &rivertasks.Options{NoMigrate: true})
	require.ErrorContains(t, err, "no such file")
	require.NoFileExists(t, strings.TrimPrefix(dsn, "sqlite:"))
}

// TestDatabaseThatCannotBeWritten is refused when the program starts, and not one
// call at a time.
func TestDatabaseThatCannotBeWritten(t *testing.T) {
	onBoth(t, func(t *testing.T, dsn string) {
		opts := &rivertasks.Options{Observer: observe.Discard}
		require.NoError(t, rivertasks.Migrate(t.Context(), dsn, opts))
		if database, ok := strings.CutPrefix(dsn, "postgres:"); ok {
			u, err := url.Parse(database)
			require.NoError(t, err)
			execute(t, dsn, `ALTER DATABASE `+strings.TrimPrefix(u.Path, "/")+` SET default_transaction_read_only = on`)
		} else { // root may write any file
			execute(t, dsn, `CREATE TRIGGER read_only BEFORE UPDATE ON mcp_store BEGIN SELECT RAISE(FAIL, 'attempt to write a read-only database'); END`)
		}
		for _, noMigrate := range []bool{false, true} {
			_, err := rivertasks.Open(t.Context(), dsn, &rivertasks.Options{NoMigrate: noMigrate})
			require.ErrorContains(t, err, "read-only")
			require.ErrorContains(t, err, "rivertasks: ")
		}
		_, err := rivertasks.Inspect(t.Context(), dsn, opts)
		require.NoError(t, err, "looking needs no more than reading")
	})
}

// TestDatabaseThatIsFull: calls are refused, what runs is written down once there is
// room.
func TestDatabaseThatIsFull(t *testing.T) {
	t.Parallel()
	dsn := sqliteDSN(t)
	release := make(chan struct{})
	r := startReplica(t, dsn, nil, eager, func(_ *tasks.Manager, s *mcp.Server) {
		tool(s, "export", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			<-release
			return text("rows"), nil
		})
	})
	id := r.start("export", nil)
	r.await(id, func(r tasks.Record) bool { return r.Worker != "" })
	for _, what := range []string{"INSERT", "UPDATE"} {
		execute(t, dsn, `CREATE TRIGGER full_`+what+` BEFORE `+what+` ON mcp_task BEGIN SELECT RAISE(FAIL, 'database or disk is full'); END`)
	}
	close(release)
	res := r.call("export", map[string]any{"n": 2})
	require.Equal(t, "unavailable", res.Meta["steady/error"].(map[string]any)["kind"], textOf(res))
	require.Equal(t, tasks.Working, r.record(id).Status)
	execute(t, dsn, `DROP TRIGGER full_INSERT; DROP TRIGGER full_UPDATE`)
	require.Equal(t, "rows", textOf(r.result(id)))
	require.EqualValues(t, 1, r.record(id).Run)
}

// TestOneConnection: an operator may leave the store no more.
func TestOneConnection(t *testing.T) {
	t.Parallel()
	u, err := url.Parse(pgserver.DSN(t))
	require.NoError(t, err)
	q := u.Query()
	q.Set("pool_max_conns", "1")
	u.RawQuery = q.Encode()
	a := startReplica(t, u.String(), nil, crashPolicies, crashTools(false))
	b := startReplica(t, u.String(), nil, crashPolicies, crashTools(false))
	for n := range 5 {
		require.False(t, b.result(a.start("safe", map[string]any{"n": n})).IsError)
	}
}

// TestClockThatIsAhead: a run that a process with a fast clock puts into the queue is
// due at once, and not when the database's clock says the same.
func TestClockThatIsAhead(t *testing.T) {
	t.Parallel()
	dsn := pgserver.DSN(t)
	front := startReplica(t, dsn, noWorkers, crashPolicies, crashTools(false))
	execute(t, dsn, `CREATE FUNCTION ahead() RETURNS trigger LANGUAGE plpgsql AS $$
		BEGIN NEW.scheduled_at := NEW.scheduled_at + interval '5 minutes'; RETURN NEW; END $$;
		CREATE TRIGGER ahead BEFORE INSERT ON river_job FOR EACH ROW EXECUTE FUNCTION ahead()`)
	startReplica(t, dsn, nil, crashPolicies, crashTools(false))
	require.Equal(t, "done null", textOf(front.result(front.start("safe", nil))))
}
