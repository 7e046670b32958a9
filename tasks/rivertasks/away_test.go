package rivertasks_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/steadymcp/steady/tasks"
	"github.com/steadymcp/steady/tasks/rivertasks"
	"github.com/steadymcp/steady/tasks/rivertasks/internal/pgserver"
)

// A cable leads to a database and can be pulled.
type cable struct {
	listener net.Listener
	network  string
	address  string

	mu     sync.Mutex
	pulled bool
	conns  map[net.Conn]bool
}

// newCable returns a cable to a PostgreSQL database, and the DSN that goes through
// it.
func newCable(t *testing.T, dsn string) (*cable, string) {
	t.Helper()
	cfg, err := pgx.ParseConfig(dsn)
	require.NoError(t, err)
	c := &cable{conns: map[net.Conn]bool{}, network: "tcp", address: net.JoinHostPort(cfg.Host, fmt.Sprint(cfg.Port))}
	if cfg.Host[0] == '/' {
		c.network, c.address = "unix", fmt.Sprintf("%s/.s.PGSQL.%d", cfg.Host, cfg.Port)
	}
	c.listener, err = net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.listener.Close(); c.pull() })
	go c.serve()
	through := url.URL{Scheme: "postgres", User: url.UserPassword(cfg.User, cfg.Password), Host: c.listener.Addr().String(),
		Path: "/" + cfg.Database, RawQuery: "sslmode=disable"}
	return c, through.String()
}

func (c *cable) serve() {
	for {
		in, err := c.listener.Accept()
		if err != nil {
			return
		}
		out, err := net.Dial(c.network, c.address)
		if err != nil || !c.add(in, out) {
			_ = in.Close()
			if err == nil {
				_ = out.Close()
			}
			continue
		}
		for _, pair := range [][2]net.Conn{{in, out}, {out, in}} {
			go func() {
				_, _ = io.Copy(pair[0], pair[1])
				_ = pair[0].Close()
			}()
		}
	}
}

func (c *cable) add(conns ...net.Conn) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, conn := range conns {
		c.conns[conn] = true
	}
	return !c.pulled
}

func (c *cable) pull() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pulled = true
	for conn := range c.conns {
		_ = conn.Close()
	}
	clear(c.conns)
}

func (c *cable) mend() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pulled = false
}

// TestDatabaseThatIsAway: nobody is told anything wrong, nothing is lost, and nobody
// is taken for dead.
func TestDatabaseThatIsAway(t *testing.T) {
	t.Parallel()
	cable, dsn := newCable(t, pgserver.DSN(t))
	release := make(chan struct{})
	var count runs
	export := func(_ *tasks.Manager, s *mcp.Server) {
		tool(s, "export", func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			defer count.begin()()
			select {
			case <-release:
				return text("rows"), nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		})
	}
	policies := map[string]tasks.Policy{"export": {Grace: tasks.Eager, RunAgain: true}}
	opts := &rivertasks.Options{Lease: time.Second}
	a, b := startReplica(t, dsn, opts, policies, export), startReplica(t, dsn, opts, policies, export)
	id, other := a.start("export", nil), b.start("export", map[string]any{"n": 2})
	for _, id := range []string{id, other} {
		a.await(id, func(r tasks.Record) bool { return r.Worker != "" })
	}

	cable.pull()
	away := 3 * time.Second // three leases
	if os.Getenv("STEADY_LONG") != "" {
		away = 30 * time.Second
	}
	gone := time.After(away)
	close(release) // the work ends while nobody can write that down
	for _, r := range []*replica{a, b} {
		res := r.call("export", map[string]any{"n": 3})
		require.True(t, res.IsError)
		require.Contains(t, textOf(res), "cannot be called now")
		require.Equal(t, "unavailable", res.Meta["steady/error"].(map[string]any)["kind"])
		res = r.call("task_status", map[string]any{"task_id": id})
		require.Equal(t, "unavailable", res.Meta["steady/error"].(map[string]any)["kind"], textOf(res))
	}
	<-gone
	cable.mend()
	for _, id := range []string{id, other} {
		require.Equal(t, "rows", textOf(a.result(id)))
		require.EqualValues(t, 1, a.record(id).Run, "nobody was taken for dead")
	}
	require.Equal(t, 2, count.all)
	require.Equal(t, "rows", textOf(b.result(b.start("export", map[string]any{"n": 3}))), "and it goes on")
}
