package pgserver

import (
	"bufio"
	"context"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// Every test has a database of its own, and it is gone afterwards.
func TestDSN(t *testing.T) {
	var mu sync.Mutex
	names := map[string]bool{}
	t.Run("at once", func(t *testing.T) {
		for range 4 {
			t.Run("", func(t *testing.T) {
				t.Parallel()
				conn, err := pgx.Connect(t.Context(), DSN(t))
				require.NoError(t, err)
				defer conn.Close(context.Background())
				_, err = conn.Exec(t.Context(), "CREATE TABLE only_here (n int)")
				require.NoError(t, err)
				var name string
				require.NoError(t, conn.QueryRow(t.Context(), "SELECT current_database()").Scan(&name))
				mu.Lock()
				defer mu.Unlock()
				names[name] = true
			})
		}
	})
	require.Len(t, names, 4)
	server, err := find()
	require.NoError(t, err)
	conn, err := pgx.Connect(t.Context(), server.String())
	require.NoError(t, err)
	defer conn.Close(context.Background())
	for name := range names {
		var there bool
		require.NoError(t, conn.QueryRow(t.Context(), "SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)", name).Scan(&there))
		require.False(t, there, name)
	}
}

// A server ends when the process that asked for it does, however that ends.
func TestNoServerIsLeftBehind(t *testing.T) {
	t.Parallel()
	if folder := os.Getenv("PGSERVER_TEST_HOLDER"); folder != "" {
		line, err := start()
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(folder+"/url", []byte(line+"\n"), 0o644))
		select {} // until it is killed
	}
	folder := t.TempDir()
	holder := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestNoServerIsLeftBehind$")
	holder.Env = append(os.Environ(), "PGSERVER_TEST_HOLDER="+folder)
	require.NoError(t, holder.Start())
	defer holder.Process.Kill()

	var line string
	require.Eventually(t, func() bool {
		file, err := os.Open(folder + "/url")
		if err != nil {
			return false
		}
		defer file.Close()
		line, err = bufio.NewReader(file).ReadString('\n')
		return err == nil
	}, 8*time.Minute, 20*time.Millisecond)
	line = strings.TrimSpace(line)
	conn, err := pgx.Connect(t.Context(), line)
	require.NoError(t, err)
	defer conn.Close(context.Background())

	require.NoError(t, holder.Process.Kill())
	_ = holder.Wait()
	server, err := url.Parse(line)
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		_, err := os.Stat(server.Query().Get("host"))
		return os.IsNotExist(err)
	}, time.Minute, 20*time.Millisecond, "the folder of the server is still there")
	require.Error(t, conn.Ping(t.Context()))
}

func TestUnusableServerIsAnError(t *testing.T) {
	for _, c := range []struct{ name, dsn, want string }{
		{"no URL", "host=/nowhere", "must be a URL such as"},
		{"nobody there", "postgres://nobody@127.0.0.1:1/postgres?connect_timeout=2", "does not answer"},
	} {
		t.Run(c.name, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestDSN$")
			cmd.Env = append(os.Environ(), variable+"="+c.dsn)
			out, err := cmd.CombinedOutput()
			require.Error(t, err)
			require.Contains(t, string(out), c.want)
		})
	}
}
