//go:build unix

package replicas

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/steadymcp/steady/observe"
	"github.com/steadymcp/steady/tasks"
	"github.com/steadymcp/steady/tasks/rivertasks"
)

// Every figure is the median of the rounds of one run, beside that of the store in
// memory, which is measured in turns with it.

func openStore(b *testing.B, dsn string) tasks.Store {
	b.Helper()
	if dsn == inMemory {
		return tasks.NewMemoryStore(&tasks.MemoryOptions{MaxTasks: 1 << 20, MaxPerOwner: 1 << 20, MaxBytes: 4 << 30})
	}
	s, err := rivertasks.Open(b.Context(), dsn, &rivertasks.Options{Observer: observe.Discard})
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, s.Close(context.Background())) })
	return s
}

// compare reports the median of what each of two does in terms of the first.
func compare(b *testing.B, memory, measured func() time.Duration) {
	b.Helper()
	var base, ours []time.Duration
	for b.Loop() {
		base = append(base, memory())
		ours = append(ours, measured())
	}
	slices.Sort(base)
	slices.Sort(ours)
	at := func(all []time.Duration, percent int) float64 {
		return float64(all[min(len(all)-1, len(all)*percent/100)].Nanoseconds()) / 1e3
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(at(base, 50), "µs/memory")
	b.ReportMetric(at(ours, 50), "µs/median")
	b.ReportMetric(at(ours, 99), "µs/p99")
	b.ReportMetric(at(ours, 50)/at(base, 50), "ratio")
}

func timed(f func()) time.Duration {
	before := time.Now()
	f()
	return time.Since(before)
}

func eachDatabase(b *testing.B, bench func(b *testing.B, dsn string)) {
	for _, d := range databases {
		b.Run(d.name, func(b *testing.B) { bench(b, d.dsn(b)) })
	}
}

var benchmarked int

// newRecord is a record like those that a manager makes; its worker is alive.
func newRecord(s tasks.Store, worker string) tasks.Record {
	benchmarked++
	return tasks.Record{
		ID: fmt.Sprintf("%s-%032d", s.Epoch(), benchmarked), Owner: fmt.Sprint("owner", benchmarked%100), Tool: "export", Worker: worker,
		Arguments: []byte(`{"date":"2027-01-31","scope":"all"}`), ArgumentsHash: "hash", Key: fmt.Sprint("key", benchmarked),
		Identity: fmt.Sprint("identity", benchmarked), Status: tasks.Working, Run: 1, CreatedAt: time.Now(), TTL: time.Hour,
		PollInterval: time.Second, Disclosed: true,
	}
}

func create(b *testing.B, s tasks.Store, worker string) tasks.Record {
	r, created, err := s.Create(b.Context(), time.Now(), newRecord(s, worker))
	require.NoError(b, err)
	require.True(b, created)
	return r
}

// BenchmarkCreate is what a new call waits for before it has a handle: the record
// and its place in the queue, on disk. At most 5 ms on SQLite.
func BenchmarkCreate(b *testing.B) {
	eachDatabase(b, func(b *testing.B, dsn string) {
		memory, store := openStore(b, inMemory), openStore(b, dsn)
		compare(b, func() time.Duration { return timed(func() { create(b, memory, "") }) },
			func() time.Duration { return timed(func() { create(b, store, "") }) })
	})
}

// BenchmarkGet is a look at a task: at most 1 ms.
func BenchmarkGet(b *testing.B) {
	eachDatabase(b, func(b *testing.B, dsn string) {
		get := func(s tasks.Store) func() time.Duration {
			r := create(b, s, "somebody")
			return func() time.Duration {
				return timed(func() {
					_, err := s.Get(b.Context(), r.ID)
					require.NoError(b, err)
				})
			}
		}
		compare(b, get(openStore(b, inMemory)), get(openStore(b, dsn)))
	})
}

// BenchmarkSeen is how long it takes until who watches a task in one process sees
// what another has changed: at most 100 ms.
func BenchmarkSeen(b *testing.B) {
	eachDatabase(b, func(b *testing.B, dsn string) {
		seen := func(a, other tasks.Store) func() time.Duration {
			r := create(b, a, "somebody")
			return func() time.Duration {
				news := make(chan time.Time, 1)
				go func(version int64) {
					if _, err := other.Watch(b.Context(), r.ID, version); err != nil {
						b.Error(err)
					}
					news <- time.Now()
				}(r.Version)
				time.Sleep(time.Millisecond) // until it watches
				next, err := a.Update(b.Context(), time.Now(), r)
				changed := time.Now()
				require.NoError(b, err)
				took := max(0, (<-news).Sub(changed)) // it may see it before the other knows
				r = next
				return took
			}
		}
		memory := openStore(b, inMemory)
		compare(b, seen(memory, memory), seen(openStore(b, dsn), openStore(b, dsn)))
	})
}

// BenchmarkStart is how long it takes from a call until its handler begins, where
// the caller does not wait for the result: at most 100 ms.
func BenchmarkStart(b *testing.B) {
	eachDatabase(b, func(b *testing.B, dsn string) {
		start := func(s tasks.Store) func() time.Duration {
			begun := make(chan time.Time, 1)
			cs := benchClient(b, s, func() { begun <- time.Now() })
			return func() time.Duration {
				before := time.Now()
				_, err := cs.CallTool(b.Context(), &mcp.CallToolParams{Name: "job"})
				require.NoError(b, err)
				return (<-begun).Sub(before)
			}
		}
		compare(b, start(openStore(b, inMemory)), start(openStore(b, dsn)))
	})
}

// benchClient returns a client of a server whose tool calls begin.
func benchClient(b *testing.B, s tasks.Store, begin func()) *mcp.ClientSession {
	m := tasks.New(&tasks.Options{Store: s, Anonymous: true, Observer: observe.Discard,
		Policies: map[string]tasks.Policy{"job": {Grace: tasks.Eager, Window: tasks.NoWindow}}})
	server := mcp.NewServer(&mcp.Implementation{Name: "bench", Version: "v1.0.0"}, nil)
	require.NoError(b, m.Install(server))
	mcp.AddTool(server, &mcp.Tool{Name: "job"}, func(context.Context, *mcp.CallToolRequest, any) (*mcp.CallToolResult, any, error) {
		begin()
		return nil, nil, nil
	})
	there, here := mcp.NewInMemoryTransports()
	_, err := server.Connect(b.Context(), there, nil)
	require.NoError(b, err)
	cs, err := mcp.NewClient(&mcp.Implementation{Name: "bench", Version: "v1.0.0"}, nil).Connect(b.Context(), here, nil)
	require.NoError(b, err)
	b.Cleanup(func() { cs.Close(); require.NoError(b, m.Close(context.Background())) })
	return cs
}

// BenchmarkThroughput is how many calls a second replicas take from 16 callers over
// HTTP and work off, handlers that do nothing, in terms of one process that keeps
// them in memory. The ratio is of times: what it costs.
func BenchmarkThroughput(b *testing.B) {
	http.DefaultTransport.(*http.Transport).MaxIdleConnsPerHost = 16
	const batch = 400
	for _, replicas := range []int{1, 4} {
		for _, d := range databases {
			b.Run(fmt.Sprint(d.name, "/", replicas), func(b *testing.B) {
				clusters := []*cluster{newCluster(b, inMemory), newCluster(b, d.dsn(b))}
				clusters[0].start(launch{})
				for range replicas {
					clusters[1].start(launch{})
				}
				round := 0
				work := func(c *cluster) time.Duration {
					round++
					return timed(func() {
						var callers sync.WaitGroup
						for n := range 16 {
							callers.Go(func() {
								u := caller{user: fmt.Sprint("user", n)}
								var handles []string
								for i := n; i < batch; i += 16 {
									handles = append(handles, u.create(c, c.any(), "nothing", object{"job": fmt.Sprint(round, "-", i)}))
								}
								for _, task := range handles {
									u.await(c, c.any(), task, "completed")
								}
							})
						}
						callers.Wait()
					}) / batch
				}
				compare(b, func() time.Duration { return work(clusters[0]) }, func() time.Duration { return work(clusters[1]) })
			})
		}
	}
}
