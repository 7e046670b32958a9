//go:build unix

package replicas

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/steadymcp/steady/tasks/rivertasks"
)

// A storm is what a cluster is exposed to.
type storm struct {
	calls    int
	lasts    time.Duration // calls come and processes go for so long
	settle   time.Duration // a call must get its handle, and afterwards all must have ended, within this
	replicas int
	launch   func(number int) launch // how a replica is started; if nil, as usual
}

// long reports whether the tests that take minutes are wanted.
var long = os.Getenv("STEADY_LONG") != ""

// Four processes work on one database while they are killed, stopped and started
// at random, and their callers retry whatever got no answer, with 30 % of the calls
// being repetitions by key or by identity anyway. Nothing is done twice, by two at
// once, or not at all.
func TestChaos(t *testing.T) {
	t.Parallel()
	s := storm{calls: 400, lasts: 8 * time.Second, settle: time.Minute, replicas: 4}
	if long {
		s.calls, s.lasts = 2000, time.Minute
	}
	onEach(t, func(t *testing.T, dsn string) { s.rage(t, newCluster(t, dsn)) })
}

// A chaosCall is one call that a client makes, until it is answered with a handle.
type chaosCall struct {
	user   caller
	tool   string
	args   object
	cancel bool // cancel it as soon as it has a handle

	task string // the handle
	last string // what the last answer was, if none was a handle
}

// plan makes the calls: 70 % for jobs of their own, 15 % that repeat one with its
// key, 15 % that repeat one with a key and a wording of their own.
func (s *storm) plan(random *rand.Rand) []*chaosCall {
	var calls []*chaosCall
	for i := range s.calls {
		c := &chaosCall{user: caller{user: fmt.Sprint("user", random.IntN(5))}}
		if earlier := len(calls) - 1; i%10 < 3 && earlier > 0 {
			// Near enough to meet the first call while it runs, more often than not.
			first := calls[max(0, earlier-random.IntN(40))]
			c.user, c.tool, c.args = first.user, first.tool, first.args
			if i%2 == 0 {
				c.args = object{"job": first.args["job"], "millis": first.args["millis"], "note": "again", "idempotency_key": fmt.Sprint("again", i)}
			}
		} else {
			c.args = object{"job": fmt.Sprint("job", i), "millis": random.IntN(250), "idempotency_key": fmt.Sprint("key", i)}
			switch n := random.IntN(20); {
			case n < 14:
				c.tool = "record"
			case n < 16:
				c.tool, c.cancel = "record", true
			default:
				c.tool = "once"
			}
		}
		calls = append(calls, c)
	}
	return calls
}

func (s *storm) rage(t *testing.T, c *cluster) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	calls := s.plan(random)
	start := s.launch
	if start == nil {
		start = func(int) launch { return launch{} }
	}
	for i := range s.replicas {
		c.start(start(i))
	}

	// The callers, until each has a handle: also after the end of the storm. How long
	// all of them take depends on the machine, how long one does must not.
	const burst = 16 // calls come so many at a time
	var callers sync.WaitGroup
	var tries, cancels atomic.Int64
	queue := make(chan *chaosCall)
	for range burst {
		callers.Go(func() {
			for call := range queue {
				deadline := time.Now().Add(s.settle)
				for call.task == "" && time.Now().Before(deadline) {
					tries.Add(1)
					call.try(t.Context(), c)
				}
				if call.cancel && call.task != "" {
					cancels.Add(1)
					for time.Now().Before(deadline) {
						a, err := call.user.send(t.Context(), c.any(), "tasks/cancel", object{"taskId": call.task})
						if err == nil && a.Error == nil {
							break
						}
						time.Sleep(10 * time.Millisecond)
					}
				}
			}
		})
	}
	stormy := make(chan struct{})
	var kills, stops int
	go func() {
		defer close(stormy)
		for number, end := s.replicas, time.Now().Add(s.lasts); time.Now().Before(end); number++ {
			time.Sleep(time.Duration(200+random.IntN(800)) * time.Millisecond)
			if random.IntN(4) == 0 {
				stops++
				c.stop(c.any())
			} else {
				kills++
				c.kill(c.any())
			}
			time.Sleep(time.Duration(random.IntN(300)) * time.Millisecond)
			if _, err := c.tryStart(start(number % s.replicas)); err != nil {
				t.Errorf("a replica did not start: %v", err)
				return
			}
		}
	}()
	for i, call := range calls {
		queue <- call
		if i%burst == 0 {
			time.Sleep(burst * s.lasts / time.Duration(len(calls)))
		}
	}
	<-stormy
	close(queue)
	callers.Wait()
	ended := time.Now()
	states := s.await(t, c, calls, ended.Add(s.settle))
	t.Logf("%d calls in %d tries, %d cancelled, %d processes killed and %d stopped; all had ended %v after the storm",
		len(calls), tries.Load(), cancels.Load(), kills, stops, time.Since(ended).Round(time.Millisecond))
	s.judge(t, c, calls, states)
}

// try makes the call once.
func (call *chaosCall) try(ctx context.Context, c *cluster) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	a, err := call.user.send(ctx, c.any(), "tools/call", object{"name": call.tool, "arguments": call.args})
	switch {
	case err != nil:
		call.last = err.Error()
	case a.isError() || a.task() == "":
		call.last = a.text()
	default:
		call.task = a.task()
		return
	}
	time.Sleep(20 * time.Millisecond)
}

// await waits until every task has ended, and returns their states.
func (s *storm) await(t *testing.T, c *cluster, calls []*chaosCall, deadline time.Time) map[string]object {
	states := map[string]object{}
	for _, call := range calls {
		require.NotEmpty(t, call.task, "call %v got no handle, but %q", call.args, call.last)
		for states[call.task] == nil {
			a, err := call.user.send(t.Context(), c.any(), "tasks/get", object{"taskId": call.task})
			require.NoError(t, err)
			require.Nil(t, a.Error, "the handle of %v is lost: %s", call.args, a.text())
			switch a.Result["status"] {
			case "completed", "failed", "cancelled":
				states[call.task] = a.Result
				continue
			}
			require.True(t, time.Now().Before(deadline), "the task of %v is stuck: %v", call.args, a.Result)
			time.Sleep(20 * time.Millisecond)
		}
	}
	return states
}

// judge holds what was done against what was asked for.
func (s *storm) judge(t *testing.T, c *cluster, calls []*chaosCall, states map[string]object) {
	require.Empty(t, c.overlaps(), "two processes worked on one job at the same time")
	found, err := c.ledger.all(t.Context())
	require.NoError(t, err)
	effects, again := map[string]int{}, 0 // by task
	ofJob := map[string]int{}
	for _, e := range found {
		effects[e.task]++
		ofJob[e.job]++
		if e.run > 1 {
			again++
		}
		require.Equal(t, 1, effects[e.task], "%s was done again within one task", e.job)
	}
	jobs, cancelled := map[string]string{}, map[string]bool{}
	for _, call := range calls {
		cancelled[call.args["job"].(string)] = cancelled[call.args["job"].(string)] || call.cancel
	}
	unknown := 0
	for _, call := range calls {
		job, state := call.args["job"].(string), states[call.task]
		status := state["status"]
		switch {
		case call.tool == "once" && status == "failed":
			unknown++
			require.Contains(t, state["statusMessage"], "Whether the work was done is not known", "%v", state)
		case cancelled[job] && status == "cancelled":
		default:
			require.Equal(t, "completed", status, "%s %s: %v", call.tool, job, state)
			require.Equal(t, 1, effects[call.task], "%s %s is completed", call.tool, job)
			require.Equal(t, job, state["result"].(object)["structuredContent"].(object)["job"], "it has the result of another")
		}
		if call.tool == "record" && !cancelled[job] {
			if first, ok := jobs[job]; ok {
				require.Equal(t, first, call.task, "%s became two tasks", job)
			}
			jobs[job] = call.task
			require.Equal(t, 1, ofJob[job], "%s was not done exactly once", job)
		}
	}
	t.Logf("%d effects, %d of them by a later run than the first; %d calls of once with unknown outcome", len(found), again, unknown)

	// Also of what no caller has the handle of, because the answer was lost.
	require.Eventually(t, func() bool {
		seen, err := rivertasks.Inspect(t.Context(), c.settings.DSN, nil)
		require.NoError(t, err)
		return seen.Counts["working"] == 0 && seen.Counts["input_required"] == 0 && seen.Waiting == 0 && len(seen.Stuck) == 0
	}, 30*time.Second, 100*time.Millisecond, "something is still running")
}

// A process that was only stopped is taken for dead, and comes back: what it then
// does counts for nothing.
func TestZombie(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, dsn string) {
		c := newCluster(t, dsn)
		a := c.start(launch{})
		u := caller{user: "ada"}
		// The first runs last until somebody ends them.
		task := u.create(c, a, "record", object{"job": "j", "first": 300_000})
		once := u.create(c, a, "once", object{"job": "o", "first": 300_000})
		u.await(c, a, once, "working")
		require.Eventually(t, func() bool { found, _ := c.ledger.all(t.Context()); return len(found) == 1 }, 10*time.Second, 10*time.Millisecond)
		c.freeze(a)
		b := c.start(launch{})
		done := u.await(c, b, task, "completed").Result["result"].(object)["structuredContent"].(object)
		require.EqualValues(t, 2, done["run"])
		lost := u.await(c, b, once, "failed").Result
		a.signal(syscall.SIGCONT)
		// It has noticed, and lives on.
		require.Equal(t, done, u.await(c, a, task, "completed").Result["result"].(object)["structuredContent"])
		another := u.create(c, a, "record", object{"job": "k"})
		u.await(c, a, another, "completed")
		require.Equal(t, lost["error"], u.await(c, a, once, "failed").Result["error"])
		c.stop(a)
		found, err := c.ledger.all(t.Context())
		require.NoError(t, err)
		effects := map[string]int{}
		for _, e := range found {
			effects[e.task]++
		}
		require.Equal(t, map[string]int{task: 1, once: 1, another: 1}, effects)
	})
}
