//go:build unix

package replicas

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/steadymcp/steady/tasks/rivertasks/internal/pgserver"
)

// The database goes away for longer than a lease, and for 30 s in the long form.
// Meanwhile nobody is told anything that is not so; afterwards everything goes on.
func TestDatabaseAway(t *testing.T) {
	t.Parallel()
	away := 5 * time.Second
	if long {
		away = 30 * time.Second
	}
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		dsn := databases[0].dsn(t)
		c := newCluster(t, dsn)
		// Somebody holds the write lock: all that can happen to a file on a local disk.
		// Reading goes on.
		outage(t, c, away, true, func() (restore func()) {
			tx, err := c.ledger.db.BeginTx(context.Background(), nil)
			require.NoError(t, err)
			_, err = tx.Exec(`DELETE FROM effect WHERE job = 'none'`)
			require.NoError(t, err)
			return func() { require.NoError(t, tx.Rollback()) }
		})
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		dsn := pgserver.DSN(t)
		p := newProxy(t, dsn)
		c := newCluster(t, dsn)
		c.settings.DSN = p.dsn()
		outage(t, c, away, false, func() func() {
			p.cut()
			return p.restore
		})
	})
}

func outage(t *testing.T, c *cluster, away time.Duration, readable bool, goAway func() (restore func())) {
	c.settings.Effects = c.settings.DSN
	if !readable {
		c.settings.Effects = c.direct // what the tools do is not what goes away
	}
	a, b := c.start(launch{}), c.start(launch{})
	u := caller{user: "ada"}
	millis := func(d time.Duration) int { return int(d.Milliseconds()) }
	tasks := map[string]string{}
	for i := range 4 {
		r := []*replica{a, b}[i%2]
		for _, tool := range []string{"record", "once"} {
			for _, takes := range []time.Duration{away / 2, away + time.Second} {
				job := fmt.Sprint(tool, i, takes)
				tasks[u.create(c, r, tool, object{"job": job, "millis": millis(takes), "status": "started"})] = tool
			}
		}
	}
	question := u.create(c, a, "ask", object{"job": "asked"})
	u.await(c, b, question, "input_required")
	for task := range tasks {
		require.Eventually(t, func() bool {
			state := u.get(c, b, task).Result
			return state["statusMessage"] == "started" || state["status"] == "completed" // on a slow machine
		}, 10*time.Second, 10*time.Millisecond)
	}

	restore := goAway()
	gone := time.Now()
	refused := 0
	for i := 0; time.Since(gone) < away; i++ {
		for _, r := range []*replica{a, b} {
			ctx, cancel := context.WithTimeout(t.Context(), max(100*time.Millisecond, away-time.Since(gone)))
			x, err := u.send(ctx, r, "tools/call", object{"name": "record", "arguments": object{"job": fmt.Sprint("meanwhile", i), "idempotency_key": fmt.Sprint("m", i)}})
			cancel()
			if err == nil { // else it waits, as long as its caller does
				refused++
				require.True(t, x.isError(), "a handle without a record: %v", x.Result)
				require.Contains(t, x.text(), "cannot be called now")
				require.Equal(t, "unavailable", x.kind(), "%v", x.Result)
				require.NotContains(t, strings.ToLower(x.text()), "sql")
			}
			for task := range tasks {
				ctx, cancel := context.WithTimeout(t.Context(), max(100*time.Millisecond, away-time.Since(gone)))
				x, err := u.send(ctx, r, "tasks/get", object{"taskId": task})
				cancel()
				switch {
				case err != nil:
				case x.Error != nil:
					require.NotEqual(t, -32602, x.Error.Code, "it does exist: %s", x.text())
				default:
					require.NotContains(t, []any{"failed", "cancelled"}, x.Result["status"], "%v", x.Result)
				}
				break // one at a time is enough
			}
		}
		time.Sleep(50 * time.Millisecond)
	}
	restore()
	back := time.Now()
	for task, tool := range tasks {
		u.await(c, a, task, "completed")
		if tool == "once" {
			u.await(c, b, task, "completed")
		}
	}
	require.Equal(t, "input_required", u.get(c, b, question).Result["status"])
	require.Eventually(t, func() bool {
		x, err := u.send(t.Context(), b, "tools/call", object{"name": "record", "arguments": object{"job": "after"}})
		return err == nil && !x.isError()
	}, 10*time.Second, 20*time.Millisecond, "calls are still refused")
	t.Logf("away for %v; %d calls refused; everything had ended %v after", away, refused, time.Since(back).Round(time.Millisecond))
	found, err := c.ledger.all(t.Context())
	require.NoError(t, err)
	effects := map[string]int{}
	for _, e := range found {
		effects[e.task]++
	}
	for task := range tasks {
		require.Equal(t, 1, effects[task])
	}
	require.Empty(t, c.overlaps())
}

// One replica is cut off from the database and the other is not: it is taken for
// dead while it works on, and both work at the same time. What it does where the
// tasks are kept is fenced off by the number of its run, and it stops as soon as it
// hears of it.
func TestReplicaCutOff(t *testing.T) {
	t.Parallel()
	dsn := pgserver.DSN(t)
	p := newProxy(t, dsn)
	c := newCluster(t, dsn)
	a := c.start(launch{change: func(s *settings) { s.DSN, s.Effects = p.dsn(), dsn }})
	u := caller{user: "ada"}
	const started, takes = "started", 6000
	// The first ends while it is cut off and after it was replaced, the second not.
	short := u.create(c, a, "record", object{"job": "short", "millis": takes, "status": started})
	endless := u.create(c, a, "record", object{"job": "endless", "millis": 10 * takes, "status": started})
	once := u.create(c, a, "once", object{"job": "once", "millis": takes, "status": started})
	for _, task := range []string{short, endless, once} {
		require.Eventually(t, func() bool { return u.get(c, a, task).Result["statusMessage"] == started }, 10*time.Second, 10*time.Millisecond)
	}
	b := c.start(launch{})
	p.cut()
	cut := time.Now()
	require.Contains(t, u.await(c, b, once, "failed").Result["statusMessage"], "Whether the work was done is not known")
	t.Logf("noticed %v after", time.Since(cut).Round(time.Millisecond))
	done := u.await(c, b, short, "completed").Result
	require.EqualValues(t, 2, done["result"].(object)["structuredContent"].(object)["run"])
	p.restore()

	// It is told to stop, and lives on.
	u.ask(c, b, "tasks/cancel", object{"taskId": endless})
	require.Eventually(t, func() bool {
		x, err := u.send(t.Context(), a, "tasks/get", object{"taskId": short})
		return err == nil && x.Error == nil && x.Result["status"] == "completed"
	}, 10*time.Second, 20*time.Millisecond)
	again := u.create(c, a, "record", object{"job": "again"})
	u.await(c, a, again, "completed")
	require.Less(t, c.stop(a), 5*time.Second, "a handler goes on")
	require.Equal(t, "failed", u.get(c, b, once).Result["status"])
	found, err := c.ledger.all(t.Context())
	require.NoError(t, err)
	effects := map[string]int{}
	for _, e := range found {
		effects[e.task]++
	}
	require.Equal(t, map[string]int{short: 1, once: 1, again: 1}, effects)
}
