package tasks

import (
	"context"
	"encoding/json"
	stderrors "errors"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/steadymcp/steady/internal/mcptest"
	"github.com/steadymcp/steady/internal/wire"
	"github.com/steadymcp/steady/observe"
)

func rounds(short, long int) int {
	if os.Getenv("STEADY_LONG") != "" {
		return long
	}
	return short
}

// A bucket is what an export writes to. Its first writes fail, each in another
// way; it notes how many write at the same time.
type bucket struct {
	failures int32
	runs     atomic.Int32
	writing  atomic.Int32
	most     atomic.Int32
	written  atomic.Int32
}

func (b *bucket) handle(ctx context.Context, _ string, req mcp.Request) (mcp.Result, error) {
	run := b.runs.Add(1)
	now := b.writing.Add(1)
	defer b.writing.Add(-1)
	for most := b.most.Load(); now > most && !b.most.CompareAndSwap(most, now); most = b.most.Load() {
	}
	// The handler does not listen to its context: it must be waited for.
	time.Sleep(time.Duration(rand.Int64N(int64(8 * time.Second))))
	if run <= b.failures {
		switch run % 4 {
		case 0:
			panic("bucket on fire")
		case 1:
			return nil, stderrors.New("bucket not reachable")
		case 2:
			res := wire.NewToolText(req.(*mcp.CallToolRequest), "bucket full")
			res.IsError = true
			return res, nil
		case 3:
			time.Sleep(2 * time.Minute) // longer than it may
		}
	}
	b.written.Add(1)
	return wire.NewToolText(req.(*mcp.CallToolRequest), fmt.Sprintf("written by run %d", run)), nil
}

// stormRequest is a request of one of many clients of one user: with or without
// the extension, with or without a key, with its members in any order.
func stormRequest(extension bool) *mcp.CallToolRequest {
	caps := map[string]any{}
	if extension {
		caps["extensions"] = map[string]any{ExtensionID: map[string]any{}}
	}
	args := []string{`{"date":"2027-01-31","scope":"all"}`, `{"scope":"all", "date":"2027-01-31"}`}[rand.IntN(2)]
	return &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{
		Name:      "export",
		Arguments: json.RawMessage(args),
		Meta: mcp.Meta{
			mcp.MetaKeyProtocolVersion:    mcptest.Stateless,
			mcp.MetaKeyClientCapabilities: caps,
		},
	}}
}

// persistently calls until somebody tells it the result, with a timeout of its own
// each time, as clients and models do.
func persistently(t *testing.T, m *Manager, handler mcp.MethodHandler) string {
	for {
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(rand.Int64N(int64(6*time.Second))))
		if rand.IntN(4) == 0 {
			cancel() // gone before it began
		}
		res, err := handler(ctx, wire.MethodCallTool, stormRequest(rand.IntN(2) == 0))
		cancel()
		switch res := res.(type) {
		case *mcp.CallToolResult:
			if err == nil && !res.IsError {
				return res.Content[0].(*mcp.TextContent).Text
			}
		case *createResult:
			if text, ok := pollStorm(m, res.ID); ok {
				return text
			}
		}
		time.Sleep(time.Duration(rand.Int64N(int64(time.Second))))
	}
}

// pollStorm follows a handle, and loses patience at times.
func pollStorm(m *Manager, id string) (string, bool) {
	for rand.IntN(10) != 0 {
		rec, err := m.store.Get(context.Background(), id)
		if err != nil {
			return "", false
		}
		if rec.Status.Terminal() {
			var res mcp.CallToolResult
			if rec.Status != Completed || json.Unmarshal(rec.Result, &res) != nil || res.IsError {
				return "", false
			}
			return res.Content[0].(*mcp.TextContent).Text, true
		}
		time.Sleep(time.Second)
	}
	return "", false
}

func storm(t *testing.T, callers int, failures int32, managers int) {
	synctest.Test(t, func(t *testing.T) {
		b := &bucket{failures: failures}
		store := NewMemoryStore(nil)
		var ms []*Manager
		var handlers []mcp.MethodHandler
		for range managers { // replicas that share a store
			m := New(&Options{
				Store:         store,
				ExtensionOnly: true,
				Owner:         func(mcp.Request) string { return "ada" },
				Observer:      observe.Discard,
				Policies: map[string]Policy{"export": {
					MaxRun:   time.Minute,
					Identity: By(func(in struct{ Date, Scope string }) string { return in.Date + in.Scope }),
				}},
			})
			require.NoError(t, m.Install(mcptest.Server()))
			ms = append(ms, m)
			handlers = append(handlers, m.Middleware()(b.handle))
		}
		texts := make([]string, callers)
		var wg sync.WaitGroup
		for i := range callers {
			wg.Go(func() {
				texts[i] = persistently(t, ms[i%managers], handlers[i%managers])
			})
		}
		wg.Wait()
		for _, m := range ms {
			require.NoError(t, m.Close(t.Context()))
		}
		require.EqualValues(t, 1, b.most.Load(), "runs at the same time")
		require.EqualValues(t, failures+1, b.runs.Load(), "runs")
		for _, text := range texts {
			require.Equal(t, fmt.Sprintf("written by run %d", failures+1), text)
		}
	})
}

// Whatever tells that the calls are one, and whether or not the result finds
// room, the work is done once. The callers give up at random.
func TestRetryStormByWhatTells(t *testing.T) {
	t.Parallel()
	byDate := By(func(in struct{ Date string }) string { return in.Date })
	for name, c := range map[string]struct {
		policy Policy
		keys   int // different keys of the callers
		size   int // of the result
	}{
		"by one key":                  {Policy{Window: NoWindow}, 1, 10},
		"by arguments":                {Policy{}, 0, 10},
		"by arguments and fresh keys": {Policy{}, 100, 10},
		"too big, by one key":         {Policy{Window: NoWindow}, 1, 1 << 20},
		"too big, by arguments":       {Policy{}, 0, 1 << 20},
		"too big, by identity":        {Policy{Identity: byDate}, 100, 1 << 20},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := New(&Options{
					Store:         NewMemoryStore(&MemoryOptions{MaxBytes: 512 << 10}),
					ExtensionOnly: true,
					Owner:         func(mcp.Request) string { return "ada" },
					Observer:      observe.Discard,
					Policies:      map[string]Policy{"export": c.policy},
				})
				require.NoError(t, m.Install(mcptest.Server()))
				var runs atomic.Int32
				handler := m.Middleware()(func(_ context.Context, _ string, req mcp.Request) (mcp.Result, error) {
					runs.Add(1)
					time.Sleep(8 * time.Second)
					return wire.NewToolText(req.(*mcp.CallToolRequest), string(make([]byte, c.size))), nil
				})
				var wg sync.WaitGroup
				for i := range 200 {
					wg.Go(func() {
						for range 5 { // within the default window
							ctx, cancel := context.WithTimeout(t.Context(), time.Duration(rand.Int64N(int64(10*time.Second))))
							req := stormRequest(rand.IntN(2) == 0)
							if c.keys > 0 {
								req.Params.Meta[metaKey] = fmt.Sprint(i % c.keys)
							}
							_, _ = handler(ctx, wire.MethodCallTool, req)
							cancel()
							time.Sleep(time.Duration(rand.Int64N(int64(time.Second))))
						}
					})
				}
				wg.Wait()
				require.NoError(t, m.Close(t.Context()))
				require.EqualValues(t, 1, runs.Load())
			})
		})
	}
}

func TestRetryStorm(t *testing.T) {
	t.Parallel()
	for i := range rounds(1, 200) {
		t.Run(fmt.Sprint(i), func(t *testing.T) { storm(t, 1000, 0, 1) })
	}
}

func TestRetryStormOnReplicas(t *testing.T) {
	t.Parallel()
	for i := range rounds(1, 50) {
		t.Run(fmt.Sprint(i), func(t *testing.T) { storm(t, 300, 0, 3) })
	}
}

func TestRetryStormOnAFailingBucket(t *testing.T) {
	t.Parallel()
	for i := range rounds(2, 200) {
		t.Run(fmt.Sprint(i), func(t *testing.T) { storm(t, 60, rand.Int32N(9), 1+i%2) })
	}
}
