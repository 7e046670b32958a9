package limits

import (
	"context"
	"fmt"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/steadymcp/steady/errors"
	"github.com/steadymcp/steady/internal/mcptest"
	"github.com/steadymcp/steady/internal/wire"
	"github.com/steadymcp/steady/observe"
)

func callBy(user, tool string) *mcp.CallToolRequest {
	return &mcp.CallToolRequest{
		Params: &mcp.CallToolParamsRaw{Name: tool},
		Extra:  &mcp.RequestExtra{TokenInfo: &auth.TokenInfo{UserID: user}},
	}
}

// send passes one call through l's middleware to run.
func send(ctx context.Context, l *Limiter, req *mcp.CallToolRequest, run func(context.Context) error) (*mcp.CallToolResult, error) {
	h := l.Middleware()(func(ctx context.Context, _ string, req mcp.Request) (mcp.Result, error) {
		if err := run(ctx); err != nil {
			return nil, err
		}
		return &mcp.CallToolResult{}, nil
	})
	res, err := h(ctx, wire.MethodCallTool, req)
	if res == nil {
		return nil, err
	}
	return res.(*mcp.CallToolResult), err
}

func requireFailure(t *testing.T, res *mcp.CallToolResult, kind errors.Kind, retryMs any) {
	t.Helper()
	require.NotNil(t, res)
	require.True(t, res.IsError)
	meta := res.Meta[wire.MetaError].(map[string]any)
	require.Equal(t, string(kind), meta["kind"])
	require.EqualValues(t, retryMs, meta["retryAfterMs"])
}

type recorder struct {
	mu     sync.Mutex
	events []string
}

func (r *recorder) Observe(_ context.Context, e observe.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, e.EventName())
}

func (r *recorder) names() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Join(r.events, " ")
}

func block(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }

func ok(context.Context) error { return nil }

func TestDeadlineOfAHandlerThatHeedsItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		seen := &recorder{}
		l := New(&Options{Deadline: time.Second, Tools: map[string]Limit{"slow": {Deadline: 3 * time.Second}}, Observer: seen})
		for tool, want := range map[string]time.Duration{"quick": time.Second, "slow": 3 * time.Second} {
			start := time.Now()
			res, err := send(t.Context(), l, callBy("ada", tool), block)
			require.NoError(t, err)
			require.Equal(t, want, time.Since(start))
			requireFailure(t, res, errors.KindTimeout, nil)
			require.Contains(t, mcptest.Text(res), want.String())
			require.Contains(t, mcptest.Text(res), "Do not retry.")
		}
		require.Equal(t, "limits.overran limits.overran", seen.names())
		require.NoError(t, l.Close(t.Context()))
	})
}

func TestDeadlineOfAHandlerThatDoesNot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		seen := &recorder{}
		l := New(&Options{Deadline: time.Second, Running: 1, Wait: time.Second, Observer: seen})
		release := make(chan struct{})
		start := time.Now()
		res, err := send(t.Context(), l, callBy("ada", "x"), func(context.Context) error { <-release; return nil })
		require.NoError(t, err)
		requireFailure(t, res, errors.KindTimeout, nil)
		require.Equal(t, time.Second+grace, time.Since(start))

		// Its place is taken for as long as it runs.
		res, _ = send(t.Context(), l, callBy("ada", "x"), ok)
		requireFailure(t, res, errors.KindRateLimited, 1000)

		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.ErrorContains(t, l.Close(short), "1 handlers still run")

		close(release)
		require.NoError(t, l.Close(t.Context()))
		res, _ = send(t.Context(), l, callBy("ada", "x"), ok)
		require.False(t, res.IsError)
		require.Equal(t, "limits.overran limits.refused limits.returned", seen.names())
	})
}

func TestAResultInTheLastMomentCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New(&Options{Deadline: time.Second, Observer: observe.Discard})
		res, err := send(t.Context(), l, callBy("ada", "x"), func(ctx context.Context) error { <-ctx.Done(); return nil })
		require.NoError(t, err)
		require.False(t, res.IsError)
	})
}

func TestClientThatLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New(&Options{Observer: observe.Discard})
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		_, err := send(ctx, l, callBy("ada", "x"), block)
		require.ErrorIs(t, err, context.Canceled)
	})
}

func TestBounds(t *testing.T) {
	for _, tt := range []struct {
		name string
		opts Options
		want map[string]int // most that ran at once, by "user" and "tool"
	}{
		{"server", Options{Running: 3, PerCaller: None}, map[string]int{"": 3}},
		{"caller", Options{Running: None, PerCaller: 2}, map[string]int{"ada": 2, "bo": 2}},
		{"tool", Options{Running: None, PerCaller: None, Tools: map[string]Limit{"export": {Running: 1}}}, map[string]int{"export": 1, "search": 20}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tt.opts.Wait, tt.opts.Observer = None, observe.Discard
				l := New(&tt.opts)
				var mu sync.Mutex
				now, most := map[string]int{}, map[string]int{}
				var calls sync.WaitGroup
				var done atomic.Int32
				for i := range 40 {
					user, tool := []string{"ada", "bo"}[i%2], []string{"export", "search"}[i/2%2]
					calls.Go(func() {
						res, err := send(t.Context(), l, callBy(user, tool), func(context.Context) error {
							mu.Lock()
							for _, k := range []string{"", user, tool} {
								now[k]++
								most[k] = max(most[k], now[k])
							}
							mu.Unlock()
							time.Sleep(time.Second)
							mu.Lock()
							for _, k := range []string{"", user, tool} {
								now[k]--
							}
							mu.Unlock()
							return nil
						})
						if err == nil && !res.IsError {
							done.Add(1)
						}
					})
				}
				calls.Wait()
				require.EqualValues(t, 40, done.Load())
				for k, n := range tt.want {
					require.Equal(t, n, most[k], k)
				}
				l.gate.mu.Lock()
				defer l.gate.mu.Unlock()
				require.Zero(t, l.gate.total)
				require.Empty(t, l.gate.callers)
				require.Zero(t, l.gate.line.Len())
			})
		})
	}
}

func TestQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New(&Options{Running: 1, Queue: 1, Wait: 2 * time.Second, Observer: observe.Discard})
		release := make(chan struct{})
		var calls sync.WaitGroup
		calls.Go(func() {
			send(t.Context(), l, callBy("ada", "x"), func(context.Context) error { <-release; return nil })
		})
		synctest.Wait()
		var waited time.Duration
		calls.Go(func() {
			start := time.Now()
			res, _ := send(t.Context(), l, callBy("bo", "x"), ok)
			waited = time.Since(start)
			requireFailure(t, res, errors.KindRateLimited, 1000)
		})
		synctest.Wait()
		start := time.Now()
		res, _ := send(t.Context(), l, callBy("cy", "x"), ok)
		require.Zero(t, time.Since(start), "a full queue is answered at once")
		requireFailure(t, res, errors.KindRateLimited, 1000)
		require.Contains(t, mcptest.Text(res), "nothing was done")
		time.Sleep(3 * time.Second)
		close(release)
		calls.Wait()
		require.Equal(t, 2*time.Second, waited)
	})
}

// A caller who fills its own share does not hold up the others.
func TestQueueIsFair(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New(&Options{Running: 2, PerCaller: 1, Observer: observe.Discard})
		ctx, cancel := context.WithCancel(t.Context())
		var calls sync.WaitGroup
		for range 5 {
			calls.Go(func() { send(ctx, l, callBy("ada", "x"), block) })
		}
		synctest.Wait()
		res, err := send(t.Context(), l, callBy("bo", "x"), ok)
		require.NoError(t, err)
		require.False(t, res.IsError)
		cancel()
		calls.Wait()
	})
}

// Nor does one that fills its share of the line keep the others out of it, and
// whoever is turned away hears which bound it was.
func TestQueueHasRoomForOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New(&Options{Running: 100, PerCaller: 1, Queue: 8, Observer: observe.Discard})
		ctx, cancel := context.WithCancel(t.Context())
		var calls sync.WaitGroup
		for range 3 { // one runs, two wait
			calls.Go(func() { send(ctx, l, callBy("ada", "x"), block) })
		}
		synctest.Wait()
		res, _ := send(t.Context(), l, callBy("ada", "x"), ok)
		requireFailure(t, res, errors.KindRateLimited, 1000)
		require.Contains(t, mcptest.Text(res), "1 calls of this caller are running")

		calls.Go(func() { send(ctx, l, callBy("bo", "x"), block) })
		synctest.Wait()
		waited := make(chan *mcp.CallToolResult)
		go func() {
			res, _ := send(t.Context(), l, callBy("bo", "x"), ok)
			waited <- res
		}()
		synctest.Wait()
		cancel()
		calls.Wait()
		require.False(t, (<-waited).IsError, "it had a place in line")
		require.Empty(t, l.gate.waiting)
	})
}

// An operator learns which bound it was, and who ran into it.
func TestRefusedSaysWhichBound(t *testing.T) {
	slow := Rate{PerSecond: 0.001, Burst: 1}
	for _, tt := range []struct {
		name  string
		opts  Options
		first string // the caller of the call that runs
		want  Refused
		text  string
	}{
		{"server", Options{Running: 1, Queue: None}, "bo", Refused{Reason: "queue full", Bound: "server"}, "the server takes on"},
		{"caller", Options{PerCaller: 1, Queue: None}, "ada", Refused{Reason: "queue full", Bound: "caller"}, "of this caller are running"},
		{"tool", Options{Tools: map[string]Limit{"x": {Running: 1}}, Queue: None}, "bo", Refused{Reason: "queue full", Bound: "tool"}, "of this tool are running"},
		{"in time", Options{PerCaller: 1, Wait: time.Second}, "ada", Refused{Reason: "no place in time", Bound: "caller"}, "none ended in time"},
		{"rate", Options{Rate: slow}, "ada", Refused{Reason: "rate", Bound: "caller"}, "its rate of calls."},
		{"rate of a tool", Options{Rate: Rate{PerSecond: 100}, Tools: map[string]Limit{"x": {Rate: slow}}}, "ada", Refused{Reason: "rate", Bound: "tool"}, "its rate of calls of this tool."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var seen observe.Event
				tt.opts.Observer = observe.Func(func(_ context.Context, e observe.Event) { seen = e })
				l := New(&tt.opts)
				ctx, cancel := context.WithCancel(t.Context())
				done := make(chan struct{})
				go func() {
					defer close(done)
					send(ctx, l, callBy(tt.first, "x"), block)
				}()
				synctest.Wait()
				res, err := send(t.Context(), l, callBy("ada", "x"), ok)
				require.NoError(t, err)
				require.Contains(t, mcptest.Text(res), tt.text)
				tt.want.Tool, tt.want.Caller = "x", "user:ada"
				require.Equal(t, tt.want, seen)
				cancel()
				<-done
			})
		})
	}
}

func TestBurst(t *testing.T) {
	for _, tt := range []struct {
		rate     Rate
		admitted int
	}{
		{Rate{PerSecond: 10, Burst: 1}, 1},
		{Rate{PerSecond: 10}, 10},
		{Rate{PerSecond: 0.5}, 1},
		{Rate{PerSecond: 1e-11, Burst: 3}, 3},
		{Rate{}, 20},
		{Rate{Burst: 3}, 20},
	} {
		synctest.Test(t, func(t *testing.T) {
			l := New(&Options{Rate: tt.rate, Observer: observe.Discard})
			admitted := 0
			for range 20 {
				res, err := send(t.Context(), l, callBy("ada", "x"), ok)
				require.NoError(t, err)
				if !res.IsError {
					admitted++
					continue
				}
				require.Positive(t, res.Meta[wire.MetaError].(map[string]any)["retryAfterMs"])
			}
			require.Equal(t, tt.admitted, admitted, "%+v", tt.rate)
		})
	}
}

// Of two limiters the one whose deadline has passed answers.
func TestNestedLimiters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		outer := New(&Options{Deadline: 5 * time.Second, Observer: observe.Discard})
		inner := New(&Options{Deadline: 10 * time.Minute, Observer: observe.Discard})
		res, err := send(t.Context(), outer, callBy("ada", "x"), func(ctx context.Context) error {
			_, err := send(ctx, inner, callBy("ada", "x"), block)
			return err
		})
		require.NoError(t, err)
		require.Contains(t, mcptest.Text(res), "within 5s")
	})
}

func TestRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New(&Options{
			Rate:     Rate{PerSecond: 2, Burst: 4},
			Tools:    map[string]Limit{"export": {Rate: Rate{PerSecond: 0.1}}},
			Observer: observe.Discard,
		})
		ran := 0
		count := func(context.Context) error { ran++; return nil }
		res, _ := send(t.Context(), l, callBy("ada", "export"), count)
		require.False(t, res.IsError)
		res, _ = send(t.Context(), l, callBy("ada", "export"), count)
		requireFailure(t, res, errors.KindRateLimited, 10_000)
		for range 3 { // the call that was refused has used up nothing
			res, _ = send(t.Context(), l, callBy("ada", "search"), count)
			require.False(t, res.IsError)
		}
		res, _ = send(t.Context(), l, callBy("ada", "search"), count)
		requireFailure(t, res, errors.KindRateLimited, 1000)
		res, _ = send(t.Context(), l, callBy("bo", "search"), count)
		require.False(t, res.IsError, "another caller has a bucket of its own")
		require.Equal(t, 5, ran)
		time.Sleep(time.Second)
		res, _ = send(t.Context(), l, callBy("ada", "search"), count)
		require.False(t, res.IsError)
	})
}

func TestBucketsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New(&Options{Rate: Rate{PerSecond: 1, Burst: 2}, Callers: 10, Observer: observe.Discard})
		refused := 0
		for i := range 100 {
			if res, _ := send(t.Context(), l, callBy(fmt.Sprint(i), "x"), ok); res.IsError {
				refused++
			}
		}
		require.Len(t, l.rates.byKey, 10)
		require.Equal(t, 88, refused, "the callers beyond the bound share one bucket of two")
		for _, wait := range []time.Duration{2 * sweepWhenShort, 2 * sweepEvery} {
			time.Sleep(wait)
			res, _ := send(t.Context(), l, callBy(wait.String(), "x"), ok)
			require.False(t, res.IsError)
			require.Len(t, l.rates.byKey, 1, "full buckets are forgotten: at once while new callers need room, else in time")
		}
	})
}

func TestPanicReachesErrors(t *testing.T) {
	l := New(&Options{Observer: observe.Discard})
	server := mcptest.Server()
	server.AddReceivingMiddleware(errors.Shape(&errors.Options{Observer: observe.Discard}), l.Middleware())
	mcp.AddTool(server, &mcp.Tool{Name: "boom"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		panic("secret")
	})
	cs := mcptest.Connect(t, server, "")
	res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "boom"})
	require.NoError(t, err)
	require.True(t, res.IsError)
	require.Contains(t, mcptest.Text(res), "internal error (incident ")
	require.NotContains(t, mcptest.Text(res), "secret")
}

func TestBothFormsCountOnce(t *testing.T) {
	for _, revision := range mcptest.Revisions {
		l := New(&Options{Rate: Rate{PerSecond: 0.001, Burst: 2}, Observer: observe.Discard})
		server := mcptest.Server()
		server.AddReceivingMiddleware(l.Middleware())
		server.AddTool(&mcp.Tool{Name: "raw", InputSchema: map[string]any{"type": "object"}}, Handler(l, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{}, nil
		}))
		mcp.AddTool(server, &mcp.Tool{Name: "typed"}, HandlerFor(l, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
			return nil, nil, nil
		}))
		cs := mcptest.Connect(t, server, revision)
		for _, name := range []string{"raw", "typed"} {
			res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: name})
			require.NoError(t, err)
			require.False(t, res.IsError)
		}
		res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "raw"})
		require.NoError(t, err, "a call that is turned away is a result, without any other middleware")
		require.True(t, res.IsError)
	}
}

func TestHandlersAlone(t *testing.T) {
	l := New(&Options{Rate: Rate{PerSecond: 0.001, Burst: 1}, Observer: observe.Discard})
	raw := Handler(l, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{}, nil
	})
	res, err := raw(t.Context(), callBy("ada", "x"))
	require.NoError(t, err)
	require.False(t, res.IsError)
	res, err = raw(t.Context(), callBy("ada", "x"))
	require.NoError(t, err)
	require.True(t, res.IsError)

	typed := HandlerFor(l, func(context.Context, *mcp.CallToolRequest, int) (*mcp.CallToolResult, string, error) {
		return nil, "out", nil
	})
	_, out, err := typed(t.Context(), callBy("bo", "x"), 1)
	require.NoError(t, err)
	require.Equal(t, "out", out)
	_, _, err = typed(t.Context(), callBy("bo", "x"), 1)
	require.ErrorContains(t, err, "rate of calls")
}

func TestOtherMethodsPass(t *testing.T) {
	l := New(&Options{Running: 1, Queue: None, Observer: observe.Discard})
	h := l.Middleware()(func(ctx context.Context, _ string, _ mcp.Request) (mcp.Result, error) {
		_, bounded := ctx.Deadline()
		require.False(t, bounded)
		return nil, nil
	})
	_, err := h(t.Context(), wire.MethodListTools, &mcp.ListToolsRequest{})
	require.NoError(t, err)
	_, err = h(t.Context(), wire.MethodCallTool, &mcp.CallToolRequest{})
	require.NoError(t, err, "parameters may be missing")
}

func BenchmarkMiddleware(b *testing.B) {
	l := New(&Options{Rate: Rate{PerSecond: 1e9}, Observer: observe.Discard})
	h := l.Middleware()(func(context.Context, string, mcp.Request) (mcp.Result, error) { return nil, nil })
	req := callBy("ada", "x")
	b.ReportAllocs()
	for b.Loop() {
		_, _ = h(b.Context(), wire.MethodCallTool, req)
	}
}

// Whatever the options are, a call is run or refused with advice that makes sense,
// and nothing hangs.
func TestAbsurdOptions(t *testing.T) {
	inf := math.Inf(1)
	for name, tt := range map[string]struct {
		opts Options
		runs int // of three calls at once, each of a second
	}{
		"all off":               {Options{Deadline: None, Running: None, PerCaller: None, Queue: None, Wait: None, Callers: None}, 3},
		"far below None":        {Options{Deadline: math.MinInt64, Running: math.MinInt, PerCaller: math.MinInt, Queue: math.MinInt, Wait: math.MinInt64, Callers: math.MinInt}, 3},
		"far above":             {Options{Deadline: math.MaxInt64, Running: math.MaxInt, PerCaller: math.MaxInt, Queue: math.MaxInt, Wait: math.MaxInt64, Callers: math.MaxInt}, 3},
		"a deadline of nothing": {Options{Deadline: 1}, 0},
		"a wait of nothing":     {Options{Running: 1, Wait: 1}, 1},
		"a line of one":         {Options{Running: 1, Queue: 1, Wait: None}, 2},
		"off for a tool":        {Options{Deadline: 1, Tools: map[string]Limit{"x": {Deadline: None, Running: None, Rate: Rate{PerSecond: -1, Burst: -1}}}}, 3},
		"a negative rate":       {Options{Rate: Rate{PerSecond: -1, Burst: 1}}, 3},
		"a rate of NaN":         {Options{Rate: Rate{PerSecond: math.NaN(), Burst: 1}}, 3},
		"an infinite rate":      {Options{Rate: Rate{PerSecond: inf, Burst: 1}}, 3},
		"a huge rate":           {Options{Rate: Rate{PerSecond: math.MaxFloat64, Burst: 1}}, 3},
		"a huge rate alone":     {Options{Rate: Rate{PerSecond: 1e30}}, 3},
		"a tiny rate":           {Options{Rate: Rate{PerSecond: math.SmallestNonzeroFloat64}}, 1},
		"a huge burst":          {Options{Rate: Rate{PerSecond: 1e-9, Burst: math.MaxInt}}, 3},
		"a burst of one caller": {Options{Callers: 1, Rate: Rate{PerSecond: 1, Burst: 2}}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tt.opts.Observer = observe.Discard
				l := New(&tt.opts)
				var ran atomic.Int32
				var calls sync.WaitGroup
				for range 3 {
					calls.Go(func() {
						res, err := send(t.Context(), l, callBy("ada", "x"), func(ctx context.Context) error {
							select {
							case <-time.After(time.Second):
								return nil
							case <-ctx.Done():
								return ctx.Err()
							}
						})
						require.NoError(t, err)
						if !res.IsError {
							ran.Add(1)
							return
						}
						if advice := res.Meta[wire.MetaError].(map[string]any)["retryAfterMs"]; advice != nil {
							require.Positive(t, advice)
							require.LessOrEqual(t, advice, longestWait.Milliseconds())
						}
					})
				}
				calls.Wait()
				require.EqualValues(t, tt.runs, ran.Load())
				require.NoError(t, l.Close(t.Context()))
			})
		})
	}
}
