package tasks_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/steadymcp/steady/internal/mcptest"
	"github.com/steadymcp/steady/tasks"
)

// dispatcher is the least that a tasks.Dispatcher can be: one process, or several
// managers in it, whose runs it starts as soon as somebody can.
type dispatcher struct {
	*tasks.MemoryStore
	elsewhere bool // callers that wait are served by others

	mu      sync.Mutex
	members map[*member]bool
	// muteCreate and muteUpdate make the next such operations do their work and fail
	// all the same.
	muteCreate, muteUpdate atomic.Int32
	// claimed, if not nil, is called with the next task that is claimed, and with what
	// ends the context of whoever claims it; the claim is not heard.
	claimed func(rec tasks.Record, giveUp func())
	created func() // if not nil, called once after the next creation, before it is heard
	giveUp  func()
}

type member struct {
	d    *dispatcher
	p    tasks.Process
	wg   sync.WaitGroup
	life context.Context
	end  context.CancelFunc
}

func newDispatcher() *dispatcher {
	return &dispatcher{MemoryStore: tasks.NewMemoryStore(nil), members: map[*member]bool{}}
}

func (d *dispatcher) RunsHere() bool { return !d.elsewhere }

func (d *dispatcher) Attach(p tasks.Process) (tasks.Attachment, error) {
	m := &member{d: d, p: p}
	m.life, m.end = context.WithCancel(context.Background())
	d.mu.Lock()
	defer d.mu.Unlock()
	d.members[m] = true
	return m, nil
}

func (m *member) Drain() {
	m.d.mu.Lock()
	defer m.d.mu.Unlock()
	delete(m.d.members, m)
}

func (m *member) Detach(ctx context.Context) {
	m.Drain()
	stop := context.AfterFunc(ctx, m.end)
	defer stop()
	m.wg.Wait()
}

// lost tells a member that another one has left a task.
func (d *dispatcher) lost(rec tasks.Record) {
	d.mu.Lock()
	m := slices.Collect(maps.Keys(d.members))[0]
	d.mu.Unlock()
	m.p.Lost(context.Background(), rec)
}

var errMute = errors.New("connection lost")

func muted(left *atomic.Int32) error {
	if left.Add(-1) >= 0 {
		return errMute
	}
	return nil
}

func (d *dispatcher) Create(ctx context.Context, now time.Time, r tasks.Record) (tasks.Record, bool, error) {
	got, created, err := d.MemoryStore.Create(ctx, now, r)
	if created {
		d.dispatch(tasks.Record{}, got)
		if f := d.created; f != nil {
			d.created = nil
			f()
		}
	}
	if e := muted(&d.muteCreate); e != nil && err == nil {
		return tasks.Record{}, false, e
	}
	return got, created, err
}

func (d *dispatcher) Update(ctx context.Context, now time.Time, r tasks.Record) (tasks.Record, error) {
	old, err := d.Get(ctx, r.ID)
	if err != nil {
		return old, err
	}
	got, err := d.MemoryStore.Update(ctx, now, r)
	if err == nil {
		d.dispatch(old, got)
	}
	if f := d.claimed; f != nil && err == nil && got.Worker != "" {
		d.claimed = nil
		f(got, d.giveUp)
		return tasks.Record{}, context.Canceled
	}
	if e := muted(&d.muteUpdate); e != nil && err == nil {
		return tasks.Record{}, e
	}
	return got, err
}

func (d *dispatcher) dispatch(old, rec tasks.Record) {
	waits := func(r *tasks.Record) bool { return r.Status == tasks.Working && r.Worker == "" }
	if waits(&rec) && (!waits(&old) || old.Run != rec.Run) {
		go d.offer(rec.ID, rec.Run)
	}
}

func (d *dispatcher) offer(id string, run int64) {
	for {
		d.mu.Lock()
		members := slices.Collect(maps.Keys(d.members))
		for _, m := range members {
			m.wg.Add(1)
		}
		d.mu.Unlock()
		started := false
		for _, m := range members {
			var ctx context.Context
			ctx, d.giveUp = context.WithCancel(m.life)
			started = started || m.p.Start(ctx, id, run) == nil
			d.giveUp()
			m.wg.Done()
		}
		if started {
			return
		}
		time.Sleep(time.Second) // in the bubble
	}
}

// dispatched runs a test with as many managers as there are servers to fill.
func dispatched(t *testing.T, d *dispatcher, opts tasks.Options, add func(*tasks.Manager, *mcp.Server), n int,
	test func(t *testing.T, ms []*tasks.Manager, cs []*mcp.ClientSession)) {
	opts.Store, opts.Owner = d, func(mcp.Request) string { return "ada" }
	var managers []*tasks.Manager
	var sessions []*mcp.ClientSession
	for range n {
		m := newManager(t, opts)
		server := mcptest.Server()
		require.NoError(t, m.Install(server))
		add(m, server)
		managers = append(managers, m)
		sessions = append(sessions, mcptest.Connect(t, server, ""))
	}
	test(t, managers, sessions)
	for _, m := range managers {
		ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
		_ = m.Close(ctx)
		cancel()
	}
}

func TestDispatchedCall(t *testing.T) {
	for _, elsewhere := range []bool{false, true} {
		for name, policy := range map[string]tasks.Policy{"eager": {Grace: tasks.Eager}, "waiting": {Grace: time.Minute}} {
			synctest.Test(t, func(t *testing.T) {
				j := newJob()
				d := newDispatcher()
				d.elsewhere = elsewhere
				dispatched(t, d, tasks.Options{Policies: map[string]tasks.Policy{"export": policy}}, func(_ *tasks.Manager, s *mcp.Server) {
					mcp.AddTool(s, &mcp.Tool{Name: "export"}, j.tool)
				}, 2, func(t *testing.T, _ []*tasks.Manager, cs []*mcp.ClientSession) {
					go func() {
						<-j.started
						j.release <- struct{}{}
					}()
					res, err := call(t.Context(), cs[0], "export", args{"date": "d"})
					require.NoError(t, err)
					if name == "eager" {
						res, err = call(t.Context(), cs[1], "task_result", args{"task_id": taskID(t, res)})
						require.NoError(t, err)
					}
					require.Equal(t, `{"rows":42}`, mcptest.Text(res))
					require.EqualValues(t, 1, j.runs.Load())
				})
			})
		}
	}
}

// A run whose process did not hear that its claim, its end or its creation was
// written down goes on as if it had.
func TestStoreThatCannotSayThatItDid(t *testing.T) {
	for after, what := range []string{"the claim", "the end"} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				j := newJob()
				d := newDispatcher()
				policies := map[string]tasks.Policy{"export": {Grace: tasks.Eager}}
				dispatched(t, d, tasks.Options{Policies: policies}, func(_ *tasks.Manager, s *mcp.Server) {
					mcp.AddTool(s, &mcp.Tool{Name: "export"}, j.tool)
				}, 1, func(t *testing.T, _ []*tasks.Manager, cs []*mcp.ClientSession) {
					if after == 0 {
						d.muteCreate.Store(1) // so that nobody waits for the claim
						d.muteUpdate.Store(1)
						res, err := call(t.Context(), cs[0], "export", nil)
						require.NoError(t, err)
						require.True(t, res.IsError)
					}
					res, err := call(t.Context(), cs[0], "export", nil)
					require.NoError(t, err)
					select {
					case <-j.started:
					case <-time.After(time.Minute):
						t.Fatal("it was claimed and never ran")
					}
					if after == 1 {
						d.muteUpdate.Store(1)
					}
					close(j.release)
					time.Sleep(time.Second)
					got, err := call(t.Context(), cs[0], "task_result", args{"task_id": taskID(t, res)})
					require.NoError(t, err)
					require.Equal(t, `{"rows":42}`, mcptest.Text(got))
					again, err := call(t.Context(), cs[0], "export", nil)
					require.NoError(t, err)
					require.Equal(t, taskID(t, res), taskID(t, again), "its key is held")
					require.EqualValues(t, 1, j.runs.Load())
				})
			})
		})
	}
}

// A task that is cancelled while it is being claimed holds nothing, although its
// claim was written down.
func TestClaimThatWasGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJob()
		close(j.release)
		d := newDispatcher()
		d.claimed = func(rec tasks.Record, giveUp func()) {
			rec.Status, rec.ExpiresAt = tasks.Cancelled, time.Now().Add(rec.TTL)
			_, err := d.MemoryStore.Update(context.Background(), time.Now(), rec)
			require.NoError(t, err)
			giveUp()
		}
		policies := map[string]tasks.Policy{"export": {Grace: tasks.Eager}}
		dispatched(t, d, tasks.Options{Policies: policies}, func(_ *tasks.Manager, s *mcp.Server) {
			mcp.AddTool(s, &mcp.Tool{Name: "export"}, j.tool)
		}, 1, func(t *testing.T, _ []*tasks.Manager, cs []*mcp.ClientSession) {
			cancelled, err := call(t.Context(), cs[0], "export", nil)
			require.NoError(t, err)
			id := taskID(t, cancelled)
			time.Sleep(time.Minute)
			res, err := call(t.Context(), cs[0], "task_result", args{"task_id": id})
			require.NoError(t, err)
			require.True(t, res.IsError, "it was cancelled")
			require.Zero(t, j.runs.Load())
			again, err := call(t.Context(), cs[0], "export", nil)
			require.NoError(t, err)
			require.False(t, again.IsError, mcptest.Text(again))
			require.NotEqual(t, id, taskID(t, again))
			time.Sleep(time.Second)
			require.EqualValues(t, 1, j.runs.Load())
		})
	})
}

// A process that stops between the creation of a task and its answer does not end
// what another one has taken up.
func TestStopWhileATaskIsCreated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJob()
		d := newDispatcher()
		policies := map[string]tasks.Policy{"export": {Grace: tasks.Eager}}
		dispatched(t, d, tasks.Options{Policies: policies}, func(_ *tasks.Manager, s *mcp.Server) {
			mcp.AddTool(s, &mcp.Tool{Name: "export"}, j.tool)
		}, 2, func(t *testing.T, ms []*tasks.Manager, cs []*mcp.ClientSession) {
			d.created = func() {
				require.NoError(t, ms[0].Close(context.Background()))
				<-j.started // by the other
			}
			res, err := call(t.Context(), cs[0], "export", nil)
			require.NoError(t, err)
			require.True(t, res.IsError)
			again, err := call(t.Context(), cs[1], "export", nil)
			require.NoError(t, err)
			id := taskID(t, again)
			time.Sleep(time.Second)
			require.EqualValues(t, 1, j.runs.Load(), "the retry joins what runs")
			close(j.release)
			res, err = call(t.Context(), cs[1], "task_result", args{"task_id": id})
			require.NoError(t, err)
			require.Equal(t, `{"rows":42}`, mcptest.Text(res))
		})
	})
}

// A call that was refused because the store did not answer holds nothing.
func TestCallThatWasCreatedUnheard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJob()
		close(j.release)
		d := newDispatcher()
		dispatched(t, d, tasks.Options{Policies: map[string]tasks.Policy{"export": {}}}, func(_ *tasks.Manager, s *mcp.Server) {
			mcp.AddTool(s, &mcp.Tool{Name: "export"}, j.tool)
		}, 1, func(t *testing.T, _ []*tasks.Manager, cs []*mcp.ClientSession) {
			d.muteCreate.Store(1)
			res, err := call(t.Context(), cs[0], "export", nil)
			require.NoError(t, err)
			require.True(t, res.IsError)
			require.Equal(t, "unavailable", res.Meta["steady/error"].(map[string]any)["kind"])
			time.Sleep(time.Minute)
			res, err = call(t.Context(), cs[0], "export", nil)
			require.NoError(t, err)
			require.Equal(t, `{"rows":42}`, mcptest.Text(res))
			require.EqualValues(t, 1, j.runs.Load())
		})
	})
}

// A tool that asks by rounds keeps nothing while it waits, is gone on with by
// whoever is there, and fails if nobody answers.
func TestParkedTask(t *testing.T) {
	for name, answered := range map[string]bool{"answered": true, "not answered": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDispatcher()
				policies := map[string]tasks.Policy{"ask": {Grace: tasks.Eager, Rounds: true, MaxRun: time.Hour}}
				dispatched(t, d, tasks.Options{Policies: policies}, func(_ *tasks.Manager, s *mcp.Server) {
					mcp.AddTool(s, &mcp.Tool{Name: "ask"}, asksByResult)
				}, 2, func(t *testing.T, ms []*tasks.Manager, cs []*mcp.ClientSession) {
					res, err := call(t.Context(), cs[0], "ask", nil)
					require.NoError(t, err)
					id := taskID(t, res)
					for i, name := range []string{"Ada", "Lovelace"} {
						synctest.Wait()
						rec, err := d.Get(t.Context(), id)
						require.NoError(t, err)
						require.Equal(t, tasks.InputRequired, rec.Status)
						require.Empty(t, rec.Worker)
						require.EqualValues(t, i+1, rec.Run)
						d.lost(rec) // too early
						if !answered {
							time.Sleep(time.Hour)
							d.lost(rec)
							rec, err := d.Get(t.Context(), id)
							require.NoError(t, err)
							require.Equal(t, tasks.Failed, rec.Status)
							require.Contains(t, rec.StatusMessage, "Nobody answered")
							return
						}
						if i == 0 {
							ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
							require.NoError(t, ms[0].Close(ctx))
							cancel()
						}
						require.Len(t, rec.InputRequests, 1)
						for key := range rec.InputRequests {
							res, err := call(t.Context(), cs[1], "task_answer", args{"task_id": id,
								"answers": args{key: args{"action": "accept", "content": args{"name": name}}}})
							require.NoError(t, err)
							require.False(t, res.IsError, mcptest.Text(res))
						}
					}
					res, err = call(t.Context(), cs[1], "task_result", args{"task_id": id})
					require.NoError(t, err)
					require.Contains(t, mcptest.Text(res), "Ada and Lovelace")
				})
			})
		})
	}
}

// What a task runs when its process stops goes on elsewhere, once it has stopped.
func TestHandOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJob()
		d := newDispatcher()
		policies := map[string]tasks.Policy{"export": {RunAgain: true, Grace: time.Second}}
		dispatched(t, d, tasks.Options{Policies: policies}, func(_ *tasks.Manager, s *mcp.Server) {
			mcp.AddTool(s, &mcp.Tool{Name: "export"}, j.tool)
		}, 2, func(t *testing.T, ms []*tasks.Manager, cs []*mcp.ClientSession) {
			res, err := call(t.Context(), cs[0], "export", nil) // runs where it came in
			require.NoError(t, err)
			ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
			defer cancel()
			require.NoError(t, ms[0].Close(ctx))
			synctest.Wait()
			require.EqualValues(t, 2, j.runs.Load())
			require.EqualValues(t, 1, j.most.Load(), "never two at once")
			close(j.release)
			res, err = call(t.Context(), cs[1], "task_result", args{"task_id": taskID(t, res)})
			require.NoError(t, err)
			require.Equal(t, `{"rows":42}`, mcptest.Text(res))
		})
	})
}
