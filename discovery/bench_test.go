package discovery

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/steadymcp/steady/internal/mcptest"
	"github.com/steadymcp/steady/observe"
)

// manyTools returns n tools with different names, made of the words that test
// servers use.
func manyTools(n int) []*mcp.Tool {
	verbs := strings.Fields("get list search create update delete describe start stop export import analyze validate render")
	nouns := strings.Fields("order invoice customer product shipment contract ticket incident dashboard metric pipeline deployment cluster volume bucket secret policy report campaign segment contact deal lead event calendar document folder template workflow integration webhook certificate domain zone record backup snapshot image container pod service gateway route subnet firewall alert schedule shift team member role permission audit budget forecast payment refund coupon subscription plan cart wishlist review rating playlist track album artist station episode podcast patient appointment prescription claim policyholder portfolio position quote dividend currency")
	kinds := []string{"", "summary", "history", "settings"}
	var tools []*mcp.Tool
	for i := 0; len(tools) < n; i++ {
		v, k := verbs[i%len(verbs)], kinds[(i/len(verbs))%len(kinds)]
		o := nouns[(i/(len(verbs)*len(kinds)))%len(nouns)]
		name := v + "_" + o
		if k != "" {
			name += "_" + k
		}
		tools = append(tools, toolOf([]string{"R " + name, strings.ToUpper(v[:1]) + v[1:] + "s the " + k + " of one " + o + " for the people who work with it", o + "_id* limit"}))
	}
	return tools
}

// misses are requests that no lossless step answers: near ones, and ones with
// words that nobody knows.
var misses = []string{"fetch_ordr_histroy", "show_shipments_of_customer", "frobnicate_quuxes_by_zork", "retrieve_deployment_logs", "get_playlst_settigns"}

func BenchmarkMiss(b *testing.B) {
	for _, n := range []int{30, 100, 1000} {
		x := buildIndex(manyTools(n), newSettings(nil))
		o := newSettings(nil)
		for _, name := range misses {
			b.Run(fmt.Sprintf("%d/%s", n, name), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					x.resolve(name, o)
				}
			})
		}
	}
}

func BenchmarkMissWithALongName(b *testing.B) {
	x := buildIndex(manyTools(1000), newSettings(nil))
	o := newSettings(nil)
	for _, n := range []int{40, 100_000} {
		name := strings.Repeat("serch_papers_", n/13)
		b.Run(fmt.Sprint(len(name)), func(b *testing.B) {
			for b.Loop() {
				x.resolve(name, o)
			}
		})
	}
}

func BenchmarkIndex(b *testing.B) {
	for _, n := range []int{30, 1000} {
		tools := manyTools(n)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			o := newSettings(nil)
			for b.Loop() {
				buildIndex(tools, o)
			}
		})
	}
}

type fiveProperties struct {
	Query  string   `json:"query"`
	Limit  int      `json:"limit,omitempty"`
	Tags   []string `json:"tags,omitempty"`
	Sort   string   `json:"sort,omitempty"`
	Strict bool     `json:"strict,omitempty"`
}

// BenchmarkExactCall compares a whole round trip, in memory, of a typed tool
// with and without the middleware, in turns, and reports the ratio of the
// medians.
func BenchmarkExactCall(b *testing.B) {
	for _, n := range []int{1, 30, 1000} {
		b.Run(fmt.Sprint(n, " tools"), func(b *testing.B) {
			connect := func(wrap bool) func() {
				s := mcptest.Server()
				for _, t := range manyTools(n - 1) {
					s.AddTool(t, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
						return &mcp.CallToolResult{}, nil
					})
				}
				mcp.AddTool(s, &mcp.Tool{Name: "search_papers"}, func(_ context.Context, _ *mcp.CallToolRequest, in fiveProperties) (*mcp.CallToolResult, any, error) {
					return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: in.Query}}}, nil, nil
				})
				if wrap {
					s.AddReceivingMiddleware(New(&Options{Observer: observe.Discard}).Middleware())
				}
				c := mcptest.Connect(b, s, "")
				params := &mcp.CallToolParams{Name: "search_papers", Arguments: map[string]any{"query": "retrieval", "limit": 10, "tags": []string{"rag", "index"}, "sort": "year", "strict": true}}
				return func() {
					if _, err := c.CallTool(context.Background(), params); err != nil {
						b.Fatal(err)
					}
				}
			}
			bare, wrapped := connect(false), connect(true)
			for range 200 {
				bare()
				wrapped()
			}
			var with, without []time.Duration
			timed := func(call func()) time.Duration {
				start := time.Now()
				call()
				return time.Since(start)
			}
			for i := 0; b.Loop(); i++ {
				if i%2 == 0 {
					without = append(without, timed(bare))
				}
				with = append(with, timed(wrapped))
				if i%2 == 1 {
					without = append(without, timed(bare))
				}
			}
			b.ReportMetric(float64(median(with))/float64(median(without)), "ratio")
		})
	}
}

// BenchmarkExactLayer is what the middleware itself costs for a call by the
// exact name.
func BenchmarkExactLayer(b *testing.B) {
	tools := manyTools(29)
	tools = append(tools, &mcp.Tool{Name: "search_papers", InputSchema: toolOf([]string{"R search_papers", "", "query* limit tags sort strict"}).InputSchema})
	next := func(_ context.Context, method string, _ mcp.Request) (mcp.Result, error) {
		if method == "tools/list" {
			return &mcp.ListToolsResult{Tools: tools}, nil
		}
		return &mcp.CallToolResult{}, nil
	}
	h := New(&Options{Observer: observe.Discard}).Middleware()(next)
	req := &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Name: "search_papers", Arguments: []byte(`{"query":"retrieval","limit":"10","tags":"a","sort":"year","strict":"true"}`)}}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := h(context.Background(), "tools/call", req); err != nil {
			b.Fatal(err)
		}
	}
}

func median(d []time.Duration) time.Duration {
	if len(d) == 0 {
		return 1
	}
	s := append([]time.Duration(nil), d...)
	slices.Sort(s)
	return s[len(s)/2]
}
