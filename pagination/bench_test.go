package pagination

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/steadymcp/steady/internal/mcptest"
	"github.com/steadymcp/steady/observe"
)

// ratio runs two functions in turn, b.N rounds of several calls each, and
// reports how long the second takes in terms of the first, as the median of
// the rounds: a machine that is busy with something else slows both.
func ratio(b *testing.B, calls int, base, measured func()) {
	b.Helper()
	times := func(f func()) float64 {
		start := time.Now()
		for range calls {
			f()
		}
		return float64(time.Since(start))
	}
	times(base)
	times(measured)
	var ratios []float64
	b.ResetTimer()
	for i := range b.N {
		var x, y float64
		if i%2 == 0 {
			x, y = times(base), times(measured)
		} else {
			y, x = times(measured), times(base)
		}
		ratios = append(ratios, y/x)
	}
	slices.Sort(ratios)
	b.ReportMetric(ratios[len(ratios)/2], "ratio")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkUnderBudget is what a budget costs a round trip whose result fits:
// in the round trip, where the noise of a machine is larger than the cost, and
// alone, as the share of a round trip.
func BenchmarkUnderBudget(b *testing.B) {
	for _, n := range []int{1, 50, 200} { // 0.3, 16 and 64 kB, twice
		res := &mcp.CallToolResult{StructuredContent: json.RawMessage(marshal(b, someOrders(n)))}
		res.Content = []mcp.Content{&mcp.TextContent{Text: string(res.StructuredContent.(json.RawMessage))}}
		if n == 200 {
			res.Content = nil
		}
		server := func(budget bool) *mcp.ClientSession {
			s := mcptest.Server()
			s.AddTool(&mcp.Tool{Name: "list", InputSchema: bare}, answer(res))
			if budget {
				s.AddReceivingMiddleware(NewBudget(&BudgetOptions{Observer: observe.Discard}).Middleware())
			}
			return mcptest.Connect(b, s, "")
		}
		without, with := server(false), server(true)
		b.Run(fmt.Sprintf("roundtrip/%dkB", len(marshal(b, res))/1000), func(b *testing.B) {
			ratio(b, 20, func() { callTool(b, without, "list", nil) }, func() { callTool(b, with, "list", nil) })
		})
		b.Run(fmt.Sprintf("share/%dkB", len(marshal(b, res))/1000), func(b *testing.B) {
			h := NewBudget(nil).Middleware()(func(context.Context, string, mcp.Request) (mcp.Result, error) { return res, nil })
			req := request(nil)
			ratio(b, 20, func() { callTool(b, without, "list", nil) }, func() { _, _ = h(context.Background(), "tools/call", req) })
		})
	}
}

// BenchmarkCut is a result of 20 MB that is cut, in terms of encoding it once:
// the time, and the memory that is allocated in terms of its size.
func BenchmarkCut(b *testing.B) {
	budget := NewBudget(&BudgetOptions{Observer: observe.Discard})
	bound := func(res *mcp.CallToolResult) {
		if boundBy(b, budget, res).IsError {
			b.Fatal("refused")
		}
	}
	all, half := someOrders(120_000), someOrders(60_000)
	raw, rawHalf := json.RawMessage(marshal(b, all)), json.RawMessage(marshal(b, half))
	for _, bb := range []struct {
		name  string
		value any // whose encoding is the measure
		res   *mcp.CallToolResult
	}{
		{"structured", all, &mcp.CallToolResult{StructuredContent: raw}},
		{"text", all, &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(raw)}}}},
		{"both", half, &mcp.CallToolResult{StructuredContent: rawHalf, Content: []mcp.Content{&mcp.TextContent{Text: string(rawHalf)}}}},
	} {
		b.Run(bb.name, func(b *testing.B) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			bound(bb.res)
			runtime.ReadMemStats(&after)
			ratio(b, 1, func() { _, _ = json.Marshal(bb.value) }, func() { bound(bb.res) })
			b.ReportMetric(float64(after.TotalAlloc-before.TotalAlloc)/float64(len(raw)), "copies")
		})
	}
}

func BenchmarkCursor(b *testing.B) {
	opts := (&Options{}).orDefault()
	c := content{
		issued: time.Now(), tool: digestOf("search_orders"), caller: digestOf("user:ada"), limit: 20,
		query: `{"status":"shipped","from":"2026-01-01","to":"2026-03-31"}`, position: `{"placed":"2026-02-03","id":"ORD-1234"}`,
	}
	b.Run("seal", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			opts.keys().seal(c.encode())
		}
	})
	token := opts.keys().seal(c.encode())
	b.Run("open", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, r := opts.openCursor(token, "search_orders", "user:ada"); r != nil {
				b.Fatal(r.why)
			}
		}
	})
}
