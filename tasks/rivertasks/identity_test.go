package rivertasks_test

import (
	"context"
	"database/sql"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/steadymcp/steady/tasks"
	"github.com/steadymcp/steady/tasks/rivertasks"
)

// stored is all that a database has of its tasks, as text.
func stored(t *testing.T, dsn string) string {
	t.Helper()
	if path, ok := strings.CutPrefix(dsn, "sqlite:"); ok {
		path, _, _ = strings.Cut(path, "?")
		db, err := sql.Open("sqlite", "file:"+path)
		require.NoError(t, err)
		defer db.Close()
		_, err = db.ExecContext(t.Context(), `PRAGMA wal_checkpoint`)
		require.NoError(t, err)
		var all strings.Builder
		files, err := filepath.Glob(path + "*")
		require.NoError(t, err)
		for _, f := range files {
			b, err := os.ReadFile(f)
			require.NoError(t, err)
			all.Write(b)
		}
		return all.String()
	}
	conn, err := pgx.Connect(t.Context(), dsn)
	require.NoError(t, err)
	defer conn.Close(context.Background())
	var all string
	require.NoError(t, conn.QueryRow(t.Context(), `SELECT string_agg(concat(encode(body, 'escape'), encode(arguments, 'escape'), encode(result, 'escape'), t::text), '')
		|| (SELECT string_agg(j::text, '') FROM river_job j) FROM mcp_task t`).Scan(&all))
	return all
}

// TestCallerInAnotherProcess: whoever runs a call knows its caller's subject and
// scopes. The token is not kept; if the operator wants it kept, it is encrypted, and
// keys can be replaced while tasks wait.
func TestCallerInAnotherProcess(t *testing.T) {
	onBoth(t, func(t *testing.T, dsn string) {
		const token = "s3cr3t-t0k3n"
		keys := func(current string, ids ...string) *tasks.TokenKeys {
			all := map[string][]byte{}
			for _, id := range ids {
				all[id] = []byte(fmt.Sprintf("%032s", id))
			}
			k, err := tasks.NewTokenKeys(current, all)
			require.NoError(t, err)
			return k
		}
		manager := func(workers int, keep *tasks.TokenKeys) (*tasks.Manager, *mcp.Server) {
			m := tasks.New(&tasks.Options{Store: open(t, dsn, &rivertasks.Options{Workers: workers}), KeepTokens: keep, Observer: logTo(t),
				Policies: map[string]tasks.Policy{"whoami": {Grace: tasks.Eager}}})
			t.Cleanup(func() { _ = m.Close(context.Background()) })
			server := mcp.NewServer(&mcp.Implementation{Name: "who"}, nil)
			require.NoError(t, m.Install(server))
			tool(server, "whoami", func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				info := req.Extra.TokenInfo
				return text(fmt.Sprint(info.UserID, info.Scopes, req.Extra.Header.Get("Authorization"))), nil
			})
			return m, server
		}
		// call makes a call at a process that runs nothing, and returns the task.
		call := func(keep *tasks.TokenKeys, n int) (*mcp.ClientSession, string) {
			m, server := manager(rivertasks.NoWorkers, keep)
			verify := func(context.Context, string, *http.Request) (*auth.TokenInfo, error) {
				return &auth.TokenInfo{UserID: "ada", Scopes: []string{"orders"}, Expiration: time.Now().Add(time.Hour)}, nil
			}
			endpoint := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: true})
			ts := httptest.NewServer(auth.RequireBearerToken(verify, nil)(m.Handler(endpoint)))
			t.Cleanup(ts.Close)
			cs, err := mcp.NewClient(&mcp.Implementation{Name: "client"}, nil).Connect(t.Context(), &mcp.StreamableClientTransport{
				Endpoint: ts.URL, HTTPClient: &http.Client{Transport: bearer(token)}, DisableStandaloneSSE: true}, nil)
			require.NoError(t, err)
			t.Cleanup(func() { _ = cs.Close() })
			res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "whoami", Arguments: map[string]any{"n": n}})
			require.NoError(t, err)
			return cs, handleOf(t, res)
		}
		result := func(cs *mcp.ClientSession, id string) string {
			res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "task_result", Arguments: map[string]any{"task_id": id, "wait_seconds": 20}})
			require.NoError(t, err)
			return textOf(res)
		}
		plain, without := call(nil, 1)
		old, first := call(keys("2026", "2026"), 2)
		require.Contains(t, stored(t, dsn), `"keyId":"2026"`)
		young, second := call(keys("2027", "2026", "2027"), 3)
		require.Contains(t, stored(t, dsn), `"keyId":"2027"`)
		require.NotContains(t, stored(t, dsn), token)

		manager(0, keys("2027", "2026", "2027")) // runs them
		require.Equal(t, "ada[orders]", strings.TrimSpace(result(plain, without)))
		require.Equal(t, "ada[orders]Bearer "+token, result(old, first))
		require.Equal(t, "ada[orders]Bearer "+token, result(young, second))
	})
}

// bearer is a client's transport that sends a token.
type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}
