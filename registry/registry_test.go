package registry_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"weak"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/steadymcp/steady/internal/mcptest"
	"github.com/steadymcp/steady/observe"
	"github.com/steadymcp/steady/registry"
)

type searchInput struct {
	Query string   `json:"query" jsonschema:"what to look for"`
	Tags  []string `json:"tags,omitempty"`
}

type searchOutput struct {
	Found []string `json:"found"`
}

func search(_ context.Context, _ *mcp.CallToolRequest, in searchInput) (*mcp.CallToolResult, searchOutput, error) {
	return nil, searchOutput{Found: []string{in.Query}}, nil
}

func raw(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(req.Params.Arguments)}}}, nil
}

func quiet() *registry.Options { return &registry.Options{Observer: observe.Discard} }

// listed returns the names of every page.
func listed(t testing.TB, cs *mcp.ClientSession) (names []string) {
	t.Helper()
	for tool, err := range cs.Tools(t.Context(), nil) {
		require.NoError(t, err)
		names = append(names, tool.Name)
	}
	return names
}

func addRaw(t testing.TB, r *registry.Registry, names ...string) {
	t.Helper()
	for _, n := range names {
		require.NoError(t, registry.AddRaw(r, &mcp.Tool{Name: n}, raw))
	}
}

func TestOrder(t *testing.T) {
	t.Parallel()
	for _, revision := range mcptest.Revisions {
		for _, pageSize := range []int{0, 1, 2, 3, 100} {
			t.Run(fmt.Sprint(revision, pageSize), func(t *testing.T) {
				server := mcp.NewServer(&mcp.Implementation{Name: "s"}, &mcp.ServerOptions{PageSize: pageSize})
				server.AddTool(&mcp.Tool{Name: "y_other", InputSchema: json.RawMessage(`{"type":"object"}`)}, raw)
				tools := registry.New(server, quiet())
				addRaw(t, tools, "zebra", "ant", "mule")
				server.AddTool(&mcp.Tool{Name: "b_other", InputSchema: json.RawMessage(`{"type":"object"}`)}, raw)
				cs := mcptest.Connect(t, server, revision)
				require.Equal(t, []string{"b_other", "y_other", "zebra", "ant", "mule"}, listed(t, cs))

				sorted := registry.New(mcptest.Server(), &registry.Options{SortByName: true, Observer: observe.Discard})
				addRaw(t, sorted, "zebra", "ant", "mule")
				server = mcp.NewServer(&mcp.Implementation{Name: "s"}, &mcp.ServerOptions{PageSize: pageSize})
				sorted.Install(server)
				server.AddTool(&mcp.Tool{Name: "b_other", InputSchema: json.RawMessage(`{"type":"object"}`)}, raw)
				require.Equal(t, []string{"ant", "b_other", "mule", "zebra"}, listed(t, mcptest.Connect(t, server, revision)))
			})
		}
	}
}

// B135, B136: the order and the bytes are the same at every launch.
func TestSameBytesAtEveryLaunch(t *testing.T) {
	t.Parallel()
	launch := func() []byte {
		tools := registry.New(mcptest.Server(), quiet())
		for i := range 20 {
			meta := mcp.Meta{}
			for _, j := range rand.Perm(10) {
				meta[fmt.Sprint("k", j)] = j
			}
			require.NoError(t, registry.Add(tools, &mcp.Tool{Name: fmt.Sprint("tool_", 20-i), Meta: meta, InputSchema: map[string]any{
				"type": "object", "properties": map[string]any{"b": map[string]any{"type": "string"}, "a": map[string]any{"type": "string"}, "c": true},
			}}, func(context.Context, *mcp.CallToolRequest, map[string]any) (*mcp.CallToolResult, any, error) {
				return nil, nil, nil
			}))
			require.NoError(t, registry.Add(tools, &mcp.Tool{Name: fmt.Sprint("typed_", i)}, search))
		}
		server := mcptest.Server()
		tools.Install(server)
		l, err := registry.ListingOf(t.Context(), server)
		require.NoError(t, err)
		require.Equal(t, tools.Fingerprint(), l.Fingerprint())
		data, err := json.Marshal(l)
		require.NoError(t, err)
		return data
	}
	first := launch()
	for range 20 {
		require.Equal(t, string(first), string(launch()))
	}
}

// What the author changes after the registration changes nothing, and what the
// registry does changes nothing of the author's.
func TestToolIsCopied(t *testing.T) {
	t.Parallel()
	yes := true
	limit := 3.0
	schema := &jsonschema.Schema{
		Type:       "object",
		Properties: map[string]*jsonschema.Schema{"a": {Type: "integer", Enum: []any{1, map[string]any{"k": 1}}, Maximum: &limit}},
		Required:   []string{"a"},
	}
	tool := &mcp.Tool{
		Name: "f", InputSchema: schema, Meta: mcp.Meta{"k": 1},
		Icons:       []mcp.Icon{{Source: "a.png", Sizes: []string{"48x48"}}},
		Annotations: &mcp.ToolAnnotations{DestructiveHint: &yes},
	}
	r := registry.New(nil, quiet())
	require.NoError(t, registry.AddRaw(r, tool, raw))
	advertised := func() string {
		server := mcptest.Server()
		r.Install(server)
		l, err := registry.ListingOf(t.Context(), server)
		require.NoError(t, err)
		res, err := mcptest.Connect(t, server, "").CallTool(t.Context(), &mcp.CallToolParams{Name: "f", Arguments: map[string]any{"a": 1}})
		require.NoError(t, err)
		return string(l.Tools[0]) + mcptest.Text(res)
	}
	before := advertised()
	schema.Properties["a"].Enum[1].(map[string]any)["k"] = 2
	schema.Properties["a"].Enum[0] = 2
	schema.Properties["b"] = &jsonschema.Schema{}
	schema.Required[0] = "b"
	limit, yes = 0, false
	tool.Meta["k"] = 2
	tool.Icons[0].Sizes[0] = "1x1"
	tool.Annotations.Title = "changed"
	require.Equal(t, before, advertised())

	loop := &jsonschema.Schema{Type: "object"}
	loop.Properties = map[string]*jsonschema.Schema{"a": loop}
	require.ErrorContains(t, registry.AddRaw(r, &mcp.Tool{Name: "g", InputSchema: loop}, raw), "contains itself")
}

func TestCursorSurvivesChanges(t *testing.T) {
	t.Parallel()
	for _, byName := range []bool{false, true} {
		server := mcp.NewServer(&mcp.Implementation{Name: "s"}, &mcp.ServerOptions{PageSize: 2})
		r := registry.New(server, &registry.Options{Observer: observe.Discard, SortByName: byName})
		addRaw(t, r, "a", "b", "d", "e")
		cs := mcptest.Connect(t, server, "")
		page, err := cs.ListTools(t.Context(), nil)
		require.NoError(t, err)
		rest := func() (names []string) {
			for tool, err := range cs.Tools(t.Context(), &mcp.ListToolsParams{Cursor: page.NextCursor}) {
				require.NoError(t, err)
				names = append(names, tool.Name)
			}
			return names
		}
		require.Equal(t, []string{"d", "e"}, rest())
		addRaw(t, r, "f")
		require.Equal(t, []string{"d", "e", "f"}, rest())
		r.Remove("b") // the tool that the cursor names
		require.Equal(t, []string{"d", "e", "f"}, rest())
		r.Remove("a", "d")
		require.Equal(t, []string{"e", "f"}, rest())
	}
}

func TestBadCursor(t *testing.T) {
	t.Parallel()
	server := mcptest.Server()
	addRaw(t, registry.New(server, quiet()), "a")
	for _, revision := range mcptest.Revisions {
		cs := mcptest.Connect(t, server, revision)
		for _, cursor := range []string{"x", "!!", strings.Repeat("A", 5000), "MTotMTowOg",
			base64.RawURLEncoding.EncodeToString([]byte("1:0:0:" + strings.Repeat("a", 5000)))} {
			_, err := cs.ListTools(t.Context(), &mcp.ListToolsParams{Cursor: cursor})
			var werr *jsonrpc.Error
			require.ErrorAs(t, err, &werr, cursor)
			require.EqualValues(t, jsonrpc.CodeInvalidParams, werr.Code)
		}
	}
}

// One definition serves many servers, as programs need that build a server for
// each HTTP request; and it does not keep them.
func TestServerPerRequest(t *testing.T) {
	t.Parallel()
	r := registry.New(nil, quiet())
	require.NoError(t, registry.Add(r, &mcp.Tool{Name: "search"}, search, registry.Renamed("lookup", "")))
	addRaw(t, r, "another")
	var gone weak.Pointer[mcp.Server]
	for range 3 {
		server := mcptest.Server()
		r.Install(server)
		r.Install(server) // twice is once
		cs := mcptest.Connect(t, server, "")
		require.Equal(t, []string{"search", "another"}, listed(t, cs))
		res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "lookup", Arguments: map[string]any{"query": "x"}})
		require.NoError(t, err)
		require.False(t, res.IsError)
	}
	require.EqualValues(t, 3, r.FormerNameCalls()["lookup"])

	gone = func() weak.Pointer[mcp.Server] {
		server := mcptest.Server()
		r.Install(server)
		return weak.Make(server)
	}()
	for range 10 {
		runtime.GC()
	}
	require.Nil(t, gone.Value(), "the registry keeps servers alive")
	addRaw(t, r, "later")
}

// What is registered goes on being validated as written, whatever is advertised.
func TestAcceptsWhatItAcceptedBefore(t *testing.T) {
	t.Parallel()
	type input struct {
		Names []string `json:"names,omitempty"`
		Limit *int     `json:"limit,omitempty"`
	}
	server := mcptest.Server()
	r := registry.New(server, quiet())
	require.NoError(t, registry.Add(r, &mcp.Tool{Name: "f"}, func(_ context.Context, _ *mcp.CallToolRequest, in input) (*mcp.CallToolResult, any, error) {
		return nil, nil, nil
	}))
	cs := mcptest.Connect(t, server, "")
	res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "f", Arguments: map[string]any{"names": nil, "limit": nil}})
	require.NoError(t, err)
	require.False(t, res.IsError, mcptest.Text(res))
	res, err = cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "f", Arguments: map[string]any{"names": "x"}})
	require.NoError(t, err)
	require.True(t, res.IsError)
}
