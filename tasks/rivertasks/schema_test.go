package rivertasks_test

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/steadymcp/steady/observe"
	"github.com/steadymcp/steady/tasks/rivertasks"
)

// execute changes a database behind the store's back.
func execute(t *testing.T, dsn, query string) {
	t.Helper()
	if path, ok := strings.CutPrefix(dsn, "sqlite:"); ok {
		path, _, _ = strings.Cut(path, "?")
		db, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(10000)")
		require.NoError(t, err)
		defer db.Close()
		_, err = db.ExecContext(t.Context(), query)
		require.NoError(t, err)
		return
	}
	conn, err := pgx.Connect(t.Context(), dsn)
	require.NoError(t, err)
	defer conn.Close(context.Background())
	_, err = conn.Exec(t.Context(), query)
	require.NoError(t, err)
}

func TestNewerDatabaseIsRefused(t *testing.T) {
	onBoth(t, func(t *testing.T, dsn string) {
		opts := &rivertasks.Options{Observer: observe.Discard}
		require.NoError(t, rivertasks.Migrate(t.Context(), dsn, opts))
		require.NoError(t, rivertasks.Migrate(t.Context(), dsn, opts), "again")

		execute(t, dsn, `INSERT INTO mcp_schema (version, min_reader) VALUES (98, 1)`)
		open(t, dsn, opts) // newer, but this program can use it
		open(t, dsn, &rivertasks.Options{NoMigrate: true})

		execute(t, dsn, `INSERT INTO mcp_schema (version, min_reader) VALUES (99, 50)`)
		for _, noMigrate := range []bool{false, true} {
			_, err := rivertasks.Open(t.Context(), dsn, &rivertasks.Options{NoMigrate: noMigrate})
			newer, ok := errors.AsType[*rivertasks.NewerError](err)
			require.True(t, ok, "%v", err)
			require.Equal(t, 99, newer.Have)
			require.ErrorContains(t, err, "upgraded by a newer program")
		}
		execute(t, dsn, `DELETE FROM mcp_schema WHERE version > 90`)

		execute(t, dsn, `INSERT INTO river_migration (line, version) VALUES ('main', 99)`)
		for _, noMigrate := range []bool{false, true} {
			_, err := rivertasks.Open(t.Context(), dsn, &rivertasks.Options{NoMigrate: noMigrate})
			newer, ok := errors.AsType[*rivertasks.NewerError](err)
			require.True(t, ok, "%v", err)
			require.True(t, newer.River)
		}

		execute(t, dsn, `DELETE FROM river_migration WHERE version >= 6`)
		_, err := rivertasks.Open(t.Context(), dsn, &rivertasks.Options{NoMigrate: true})
		older, ok := errors.AsType[*rivertasks.OlderError](err)
		require.True(t, ok, "%v", err)
		require.Equal(t, 5, older.Have)
		require.True(t, older.River)
	})
}

func TestManyMigrateAtOnce(t *testing.T) {
	onBoth(t, func(t *testing.T, dsn string) {
		execute(t, dsn, `SELECT 1`) // makes the file
		_, err := rivertasks.Open(t.Context(), dsn, &rivertasks.Options{NoMigrate: true})
		older, ok := errors.AsType[*rivertasks.OlderError](err)
		require.True(t, ok, "%v", err)
		require.Zero(t, older.Have)

		var mu sync.Mutex
		epochs := map[string]int{}
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				s, err := rivertasks.Open(t.Context(), dsn, &rivertasks.Options{Observer: observe.Discard})
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				epochs[s.Epoch()]++
				mu.Unlock()
				if err := s.Close(context.Background()); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		require.Len(t, epochs, 1)
	})
}

func TestAddressesThatMakeNoSense(t *testing.T) {
	t.Parallel()
	for dsn, want := range map[string]string{
		"":                                  "sqlite:PATH or postgres://",
		"mysql://root@localhost":            "sqlite:PATH or postgres://",
		"sqlite:":                           "needs the path of a file",
		"sqlite::memory:":                   "tasks.NewMemoryStore",
		"sqlite:x.db?synchronous=off":       "synchronous=normal or synchronous=full",
		"sqlite:x.db?cache=shared":          `no parameter "cache"`,
		"sqlite:x.db?key=hunter2":           `no parameter "key"`,
		"sqlite:/no/such/folder/x.db":       "open /no/such/folder/x.db: no such file or directory",
		"sqlite:/":                          "opening / (it must be a file",
		"postgres://u:hunter2@[::bad/x":     "cannot parse",
		"postgres://u:a@hunter2@host/x":     "write %40",
		"postgres://u:hunter2@127.0.0.1:1/": "connecting to the database",
	} {
		_, err := rivertasks.Open(t.Context(), dsn, nil)
		require.ErrorContains(t, err, want, dsn)
		require.NotContains(t, err.Error(), "hunter2")
	}
}
