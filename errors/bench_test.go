package errors_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/steadymcp/steady/errors"
	"github.com/steadymcp/steady/internal/mcptest"
)

type fiveIn struct {
	Query  string   `json:"query"`
	Status string   `json:"status,omitempty"`
	Limit  int      `json:"limit,omitempty"`
	Exact  bool     `json:"exact,omitempty"`
	Tags   []string `json:"tags,omitempty"`
}

type fiveOut struct {
	ID     string   `json:"id"`
	Status string   `json:"status"`
	Total  int      `json:"total"`
	Price  float64  `json:"price"`
	Tags   []string `json:"tags"`
}

func five(context.Context, *mcp.CallToolRequest, fiveIn) (*mcp.CallToolResult, fiveOut, error) {
	return nil, fiveOut{"ORD-1", "paid", 3, 9.5, []string{"a"}}, nil
}

func fiveServer(h mcp.ToolHandlerFor[fiveIn, fiveOut], middleware ...mcp.Middleware) *mcp.Server {
	s := mcptest.Server()
	mcp.AddTool(s, &mcp.Tool{Name: "five"}, h)
	s.AddReceivingMiddleware(middleware...)
	return s
}

func caller(b *testing.B, s *mcp.Server, params *mcp.CallToolParams) func() {
	cs := mcptest.Connect(b, s, "")
	return func() {
		if r, err := cs.CallTool(context.Background(), params); err != nil || r.IsError {
			b.Fatal(r, err)
		}
	}
}

// Claim: at most 3 % of a round trip in memory, together with registry, and at
// most 6 allocations. "Noise" compares two servers without middleware: how far
// its ratio is from 1 says how far to trust the others.
func BenchmarkShape(b *testing.B) {
	params := &mcp.CallToolParams{Name: "five", Arguments: fiveIn{"x", "paid", 5, true, []string{"a", "b"}}}
	bare := mcptest.Side{Name: "bare", Do: caller(b, fiveServer(five), params)}
	b.Run("Noise", func(b *testing.B) {
		mcptest.Compare(b, bare, mcptest.Side{Name: "bare2", Do: caller(b, fiveServer(five), params)})
	})
	b.Run("Shape", func(b *testing.B) {
		mcptest.Compare(b, bare, mcptest.Side{Name: "shaped", Do: caller(b, fiveServer(five, errors.Shape(nil)), params)})
	})
	b.Run("HandlerFor", func(b *testing.B) {
		mcptest.Compare(b, bare, mcptest.Side{Name: "shaped", Do: caller(b, fiveServer(errors.HandlerFor(five)), params)})
	})
	b.Run("Both", func(b *testing.B) {
		mcptest.Compare(b, bare, mcptest.Side{Name: "shaped", Do: caller(b, fiveServer(errors.HandlerFor(five), errors.Shape(nil)), params)})
	})
}

// BenchmarkShapeLarge is for results whose encoding costs: a raw handler's
// values, and its own JSON.
func BenchmarkShapeLarge(b *testing.B) {
	rows := make([]fiveOut, 2000)
	for i := range rows {
		rows[i] = fiveOut{"ORD-1", "paid", i, 9.5, []string{"a", "b"}}
	}
	encoded, err := json.Marshal(map[string]any{"rows": rows})
	if err != nil {
		b.Fatal(err)
	}
	results := map[string]*mcp.CallToolResult{
		"values": {StructuredContent: map[string]any{"rows": rows}},
		"raw":    {StructuredContent: json.RawMessage(encoded)},
		"text":   {Content: []mcp.Content{&mcp.TextContent{Text: strings.Repeat("x", len(encoded))}}},
	}
	for _, name := range []string{"values", "raw", "text"} {
		b.Run(name, func(b *testing.B) {
			side := func(name string, s *mcp.Server) mcptest.Side {
				return mcptest.Side{Name: name, Do: caller(b, s, &mcp.CallToolParams{Name: "raw"})}
			}
			shapedServer := rawServer(func() *mcp.CallToolResult { return results[name] })
			shapedServer.AddReceivingMiddleware(errors.Shape(nil))
			mcptest.Compare(b, side("bare", rawServer(func() *mcp.CallToolResult { return results[name] })), side("shaped", shapedServer))
		})
	}
}

// BenchmarkShapeList is for a list, whose schemas cost much to encode.
func BenchmarkShapeList(b *testing.B) {
	side := func(name string, middleware ...mcp.Middleware) mcptest.Side {
		s := mcptest.Server()
		for i := range 24 {
			mcp.AddTool(s, &mcp.Tool{Name: fmt.Sprint("five", i), Description: strings.Repeat("what it does ", 20)}, five)
		}
		s.AddReceivingMiddleware(middleware...)
		cs := mcptest.Connect(b, s, "")
		return mcptest.Side{Name: name, Do: func() {
			if _, err := cs.ListTools(context.Background(), nil); err != nil {
				b.Fatal(err)
			}
		}}
	}
	mcptest.Compare(b, side("bare"), side("shaped", errors.Shape(nil)))
}

// BenchmarkShapeAlone is the cost of the middleware without a wire.
func BenchmarkShapeAlone(b *testing.B) {
	result := &mcp.CallToolResult{
		Content:           []mcp.Content{&mcp.TextContent{Text: `{"id":"ORD-1","status":"paid","total":3,"price":9.5,"tags":["a"]}`}},
		StructuredContent: json.RawMessage(`{"id":"ORD-1","status":"paid","total":3,"price":9.5,"tags":["a"]}`),
	}
	call := errors.Shape(nil)(func(context.Context, string, mcp.Request) (mcp.Result, error) { return result, nil })
	req := &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Name: "five"}}
	b.ReportAllocs()
	for b.Loop() {
		_, _ = call(context.Background(), "tools/call", req)
	}
}
