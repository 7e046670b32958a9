package registry_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/steadymcp/steady/errors"
	"github.com/steadymcp/steady/internal/mcptest"
	"github.com/steadymcp/steady/internal/wire"
	"github.com/steadymcp/steady/observe"
	"github.com/steadymcp/steady/registry"
)

func caller(b *testing.B, server *mcp.Server, tool string) func() {
	cs := mcptest.Connect(b, server, "")
	params := &mcp.CallToolParams{Name: tool, Arguments: map[string]any{"query": "x"}}
	return func() {
		res, err := cs.CallTool(context.Background(), params)
		if err != nil || res.IsError {
			b.Fatal(err, res)
		}
	}
}

// fill registers the tool that is called and some that are not.
func fill(b *testing.B, r *registry.Registry, opts ...registry.ToolOption) {
	require.NoError(b, registry.Add(r, &mcp.Tool{Name: "search"}, search, opts...))
	for i := range 20 {
		require.NoError(b, registry.Add(r, &mcp.Tool{Name: fmt.Sprint("tool_", i)}, search))
	}
}

func bare() *mcp.Server {
	server := mcptest.Server()
	register(server)
	return server
}

func register(server *mcp.Server) {
	mcp.AddTool(server, &mcp.Tool{Name: "search"}, search)
	for i := range 20 {
		mcp.AddTool(server, &mcp.Tool{Name: fmt.Sprint("tool_", i)}, search)
	}
}

// Claim: errors and registry together cost at most 3 % of a round trip in
// memory and at most 6 allocations.
func BenchmarkCall(b *testing.B) {
	server := mcptest.Server()
	fill(b, registry.New(server, nil))
	server.AddReceivingMiddleware(errors.Shape(nil))
	mcptest.Compare(b, mcptest.Side{Name: "bare", Do: caller(b, bare(), "search")}, mcptest.Side{Name: "steady", Do: caller(b, server, "search")})
}

// Claim: visibility and former names cost at most 1 % of a round trip. A call by
// a former name has a longer answer besides, which is paid for like any other:
// the baseline is a tool that gives that answer itself.
func BenchmarkVisibilityAndFormerName(b *testing.B) {
	plain := mcptest.Server()
	fill(b, registry.New(plain, nil))
	server := mcptest.Server()
	r := registry.New(server, &registry.Options{Observer: observe.Discard})
	fill(b, r,
		registry.VisibleTo(func(context.Context, mcp.Request, *mcp.Tool) bool { return true }),
		registry.Renamed("lookup", "2099-01-01", registry.RenamedArgument("q", "query")))
	_, notice, ok := r.ResolveAlias("lookup")
	require.True(b, ok)
	verbose := mcptest.Server()
	said := registry.New(verbose, &registry.Options{Observer: observe.Discard})
	about := map[string]any{"requested": "lookup", "tool": "search", "former": true, "sunset": "2099-01-01"}
	require.NoError(b, registry.Add(said, &mcp.Tool{Name: "search"}, func(_ context.Context, _ *mcp.CallToolRequest, in searchInput) (*mcp.CallToolResult, searchOutput, error) {
		out := searchOutput{Found: []string{in.Query}}
		data, err := json.Marshal(out)
		return &mcp.CallToolResult{
			Meta:    mcp.Meta{wire.MetaRegistry: about},
			Content: []mcp.Content{&mcp.TextContent{Text: string(data)}, &mcp.TextContent{Text: "Note: " + notice}},
		}, out, err
	}))
	b.Run("visibility", func(b *testing.B) {
		mcptest.Compare(b, mcptest.Side{Name: "plain", Do: caller(b, plain, "search")}, mcptest.Side{Name: "visible", Do: caller(b, server, "search")})
	})
	b.Run("former", func(b *testing.B) {
		mcptest.Compare(b, mcptest.Side{Name: "plain", Do: caller(b, verbose, "search")}, mcptest.Side{Name: "former", Do: caller(b, server, "lookup")})
	})
}

// Claim: a listing costs no more than the SDK's.
func BenchmarkList(b *testing.B) {
	server := mcptest.Server()
	fill(b, registry.New(server, nil))
	lister := func(s *mcp.Server) func() {
		cs := mcptest.Connect(b, s, "")
		return func() {
			if _, err := cs.ListTools(context.Background(), nil); err != nil {
				b.Fatal(err)
			}
		}
	}
	mcptest.Compare(b, mcptest.Side{Name: "bare", Do: lister(bare())}, mcptest.Side{Name: "steady", Do: lister(server)})
}

// Claim: giving the tools to one more server costs about what registering them
// by hand does, with and without the SDK's cache of schemas.
func BenchmarkInstall(b *testing.B) {
	for _, cached := range []bool{false, true} {
		b.Run(fmt.Sprint("cache=", cached), func(b *testing.B) {
			var forBare, forSteady mcp.ServerOptions
			if cached {
				forBare.SchemaCache, forSteady.SchemaCache = mcp.NewSchemaCache(), mcp.NewSchemaCache()
			}
			impl := &mcp.Implementation{Name: "s"}
			r := registry.New(nil, nil)
			fill(b, r)
			mcptest.Compare(b,
				mcptest.Side{Name: "bare", Do: func() { register(mcp.NewServer(impl, &forBare)) }},
				mcptest.Side{Name: "steady", Do: func() { r.Install(mcp.NewServer(impl, &forSteady)) }})
		})
	}
}

// BenchmarkMiddleware is the registry's own share of a call, without a wire:
// next to a round trip of several 100 us, what is left of the claims above when
// the machine is too busy to measure them as ratios.
func BenchmarkMiddleware(b *testing.B) {
	server := mcptest.Server()
	result := &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "x"}}}
	var chain mcp.MethodHandler
	server.AddReceivingMiddleware(func(mcp.MethodHandler) mcp.MethodHandler {
		return func(context.Context, string, mcp.Request) (mcp.Result, error) { return result, nil }
	})
	r := registry.New(server, &registry.Options{Observer: observe.Discard})
	fill(b, r, registry.Aliases("find"), registry.Renamed("lookup", "2099-01-01", registry.RenamedArgument("q", "query")))
	require.NoError(b, registry.Add(r, &mcp.Tool{Name: "visible"}, search,
		registry.VisibleTo(func(context.Context, mcp.Request, *mcp.Tool) bool { return true })))
	server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler { chain = next; return next })
	for _, name := range []string{"search", "visible", "find", "lookup"} {
		b.Run(name, func(b *testing.B) {
			req := &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Name: name, Arguments: json.RawMessage(`{"q":"x"}`)}}
			b.ReportAllocs()
			for b.Loop() {
				_, _ = chain(context.Background(), "tools/call", req)
			}
		})
	}
}

// BenchmarkVisibilityOfOtherTools calls a tool that is not the registry's, where
// a visibility for all tools has to be asked: it costs a listing.
func BenchmarkVisibilityOfOtherTools(b *testing.B) {
	server := mcptest.Server()
	registry.New(server, &registry.Options{Observer: observe.Discard, VisibleTo: func(context.Context, mcp.Request, *mcp.Tool) bool { return true }})
	register(server)
	mcptest.Compare(b, mcptest.Side{Name: "bare", Do: caller(b, bare(), "search")}, mcptest.Side{Name: "visible", Do: caller(b, server, "search")})
}
