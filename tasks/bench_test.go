package tasks_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/steadymcp/steady/internal/mcptest"
	"github.com/steadymcp/steady/tasks"
)

func nothing(context.Context, *mcp.CallToolRequest, any) (*mcp.CallToolResult, any, error) {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "done"}}}, nil, nil
}

// interleave runs base and other in turns and reports the median of other in
// terms of the median of base.
func interleave(b *testing.B, base, other func()) {
	b.Helper()
	const batch = 20
	var bases, others []time.Duration
	timed := func(f func()) time.Duration {
		before := time.Now()
		for range batch {
			f()
		}
		return time.Since(before) / batch
	}
	for b.Loop() {
		bases = append(bases, timed(base))
		others = append(others, timed(other))
	}
	slices.Sort(bases)
	slices.Sort(others)
	basis, measured := bases[len(bases)/2], others[len(others)/2]
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(basis.Microseconds()), "µs/base")
	b.ReportMetric(float64(measured.Microseconds()), "µs/measured")
	b.ReportMetric(float64(measured)/float64(basis), "ratio")
}

// benchPair connects to a bare server and to one with tasks.
func benchPair(b *testing.B, policy tasks.Policy) (bare, ours *mcp.ClientSession) {
	m := newManager(b, tasks.Options{Policies: map[string]tasks.Policy{"job": policy}})
	server := mcptest.Server()
	require.NoError(b, m.Install(server))
	server.AddReceivingMiddleware(m.Middleware())
	plain := mcptest.Server()
	for _, s := range []*mcp.Server{plain, server} {
		mcp.AddTool(s, &mcp.Tool{Name: "free"}, nothing)
		mcp.AddTool(s, &mcp.Tool{Name: "job"}, nothing)
	}
	return mcptest.Connect(b, plain, ""), mcptest.Connect(b, server, "")
}

func mustCall(b *testing.B, cs *mcp.ClientSession, name string, arguments any) *mcp.CallToolResult {
	res, err := call(b.Context(), cs, name, arguments)
	require.NoError(b, err)
	require.False(b, res.IsError)
	return res
}

// BenchmarkPolicyFreeTool is what a server pays for tools that are none of our
// business, in terms of the round trip of a call: at most 0.01. What is measured
// is the middleware alone, since it is lost in the noise of a round trip.
func BenchmarkPolicyFreeTool(b *testing.B) {
	const times = 1000
	bare, _ := benchPair(b, tasks.Policy{})
	m := newManager(b, tasks.Options{Policies: map[string]tasks.Policy{"job": {}}})
	none := &mcp.CallToolResult{}
	h := m.Middleware()(func(context.Context, string, mcp.Request) (mcp.Result, error) { return none, nil })
	req := &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Name: "free"}}
	var trips, ours []time.Duration
	for b.Loop() {
		before := time.Now()
		mustCall(b, bare, "free", nil)
		trips = append(trips, time.Since(before))
		before = time.Now()
		for range times {
			_, _ = h(b.Context(), "tools/call", req)
		}
		ours = append(ours, time.Since(before)/times)
	}
	slices.Sort(trips)
	slices.Sort(ours)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(ours[len(ours)/2].Nanoseconds()), "ns/measured")
	b.ReportMetric(float64(ours[len(ours)/2])/float64(trips[len(trips)/2]), "ratio")
}

// BenchmarkFastCallUnderAPolicy is a call that ends within its grace: it costs a
// record and its identity.
func BenchmarkFastCallUnderAPolicy(b *testing.B) {
	bare, ours := benchPair(b, tasks.Policy{Window: tasks.NoWindow})
	interleave(b, func() { mustCall(b, bare, "job", nil) }, func() { mustCall(b, ours, "job", nil) })
}

// BenchmarkEmptyJob is an empty job from its call to its result, by two round
// trips: at most twice a plain call and the poll.
func BenchmarkEmptyJob(b *testing.B) {
	bare, ours := benchPair(b, tasks.Policy{Grace: tasks.Eager, Window: tasks.NoWindow, TTL: time.Second})
	interleave(b, func() { mustCall(b, bare, "job", nil) }, func() {
		handle := mustCall(b, ours, "job", nil)
		id := handle.StructuredContent.(map[string]any)["task"].(map[string]any)["taskId"]
		require.Equal(b, "done", mcptest.Text(mustCall(b, ours, "task_result", args{"task_id": id})))
	})
}

// BenchmarkLiveTasks holds 10,000 running tasks: under 200 MB.
func BenchmarkLiveTasks(b *testing.B) {
	const live = 10_000
	for b.Loop() {
		j := newJob()
		var callers atomic.Int64
		m := newManager(b, tasks.Options{
			Owner:    func(mcp.Request) string { return fmt.Sprint("user ", callers.Add(1)%100) },
			Policies: map[string]tasks.Policy{"export": {Grace: tasks.Eager, Concurrency: tasks.Unlimited}},
		})
		cs := mcptest.Connect(b, exportServer(b, j, m), "")
		before := memory()
		for i := range live {
			mustCall(b, cs, "export", args{"date": fmt.Sprint(i)})
		}
		b.ReportMetric(float64(memory()-before)/1e6, "MB")
		close(j.release)
		require.NoError(b, m.Close(context.Background()))
	}
}

// memory is what the process has taken for its heap and stacks.
func memory() uint64 {
	runtime.GC()
	runtime.GC() // stacks shrink at one, and are freed at the next
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return s.HeapInuse + s.StackInuse
}

// BenchmarkSweep removes 100 expired tasks out of a store that keeps few and one
// that keeps many: the cost must not depend on what stays.
func BenchmarkSweep(b *testing.B) {
	const removed = 100
	now := time.Now()
	fill := func(s tasks.Store, prefix string, n int, expires time.Time) {
		for i := range n {
			r := tasks.Record{ID: fmt.Sprint(prefix, i), Owner: "o", Tool: "t", Status: tasks.Working, Run: 1, CreatedAt: now}
			r, _, err := s.Create(context.Background(), now, r)
			require.NoError(b, err)
			r.Status, r.ExpiresAt = tasks.Completed, expires
			_, err = s.Update(context.Background(), now, r)
			require.NoError(b, err)
		}
	}
	open := func(keep int) tasks.Store {
		s := tasks.NewMemoryStore(&tasks.MemoryOptions{MaxTasks: 1 << 20, MaxPerOwner: 1 << 20, MaxBytes: 4 << 30})
		fill(s, "keep", keep, now.Add(time.Hour))
		return s
	}
	few, many := open(1_000), open(200_000)
	var fews, manys []time.Duration
	for b.Loop() {
		for s, to := range map[tasks.Store]*[]time.Duration{few: &fews, many: &manys} {
			fill(s, "gone", removed, now.Add(time.Second))
			before := time.Now()
			n, err := s.Sweep(context.Background(), now.Add(time.Second), removed)
			*to = append(*to, time.Since(before))
			require.NoError(b, err)
			require.Equal(b, removed, n)
		}
	}
	slices.Sort(fews)
	slices.Sort(manys)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(manys[len(manys)/2])/float64(fews[len(fews)/2]), "ratio")
}
