package registry_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"testing"
	"weak"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
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
				require.Equal(t, []string{"zebra", "ant", "mule", "b_other", "y_other"}, listed(t, cs))

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

func TestMistakes(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 65)
	cases := []struct {
		what string
		add  func(*registry.Registry) error
		want string
	}{
		{"duplicate (B161)", func(r *registry.Registry) error {
			return registry.AddRaw(r, &mcp.Tool{Name: "read_file"}, raw)
		}, "registered already"},
		{"folded duplicate (B161)", func(r *registry.Registry) error {
			return registry.AddRaw(r, &mcp.Tool{Name: "read-File"}, raw)
		}, `differs from "read_file" only in case or separators`},
		{"alias of another", func(r *registry.Registry) error {
			return registry.AddRaw(r, &mcp.Tool{Name: "get"}, raw, registry.Aliases("open_file"))
		}, `other name "open_file" belongs to "read_file"`},
		{"alias is another tool", func(r *registry.Registry) error {
			return registry.AddRaw(r, &mcp.Tool{Name: "get"}, raw, registry.Renamed("readFile", ""))
		}, `belongs to "read_file"`},
		{"name is another's alias", func(r *registry.Registry) error {
			return registry.AddRaw(r, &mcp.Tool{Name: "open-file"}, raw)
		}, `another name of "read_file"`},
		{"alias twice", func(r *registry.Registry) error {
			return registry.AddRaw(r, &mcp.Tool{Name: "get"}, raw, registry.Aliases("a", "a"))
		}, "given twice"},
		{"empty name", func(r *registry.Registry) error { return registry.AddRaw(r, &mcp.Tool{}, raw) }, "empty"},
		{"long name (B140, B141)", func(r *registry.Registry) error { return registry.AddRaw(r, &mcp.Tool{Name: long}, raw) }, "65 bytes"},
		{"route as name (B143)", func(r *registry.Registry) error {
			return registry.AddRaw(r, &mcp.Tool{Name: "GET:/patterns/names"}, raw)
		}, `contains ':'`},
		{"dot", func(r *registry.Registry) error { return registry.AddRaw(r, &mcp.Tool{Name: "a.b"}, raw) }, `contains '.'`},
		{"digit first", func(r *registry.Registry) error { return registry.AddRaw(r, &mcp.Tool{Name: "2fa"}, raw) }, `begins with`},
		{"nil tool", func(r *registry.Registry) error { return registry.AddRaw(r, nil, raw) }, "nil"},
		{"nil handler", func(r *registry.Registry) error { return registry.AddRaw(r, &mcp.Tool{Name: "x"}, nil) }, "handler is nil"},
		{"nil typed handler", func(r *registry.Registry) error {
			return registry.Add[searchInput, any](r, &mcp.Tool{Name: "x"}, nil)
		}, "handler is nil"},
		{"root anyOf (B145)", func(r *registry.Registry) error {
			return registry.AddRaw(r, &mcp.Tool{Name: "x", InputSchema: json.RawMessage(`{"anyOf":[{},{}]}`)}, raw)
		}, "object"},
		{"input is not an object", func(r *registry.Registry) error {
			return registry.Add(r, &mcp.Tool{Name: "x"}, func(context.Context, *mcp.CallToolRequest, int) (*mcp.CallToolResult, any, error) {
				return nil, nil, nil
			})
		}, "object"},
		{"no schema for a channel", func(r *registry.Registry) error {
			return registry.Add(r, &mcp.Tool{Name: "x"}, func(context.Context, *mcp.CallToolRequest, struct{ C chan int }) (*mcp.CallToolResult, any, error) {
				return nil, nil, nil
			})
		}, "arguments"},
		{"schema that is no JSON", func(r *registry.Registry) error {
			return registry.AddRaw(r, &mcp.Tool{Name: "x", InputSchema: json.RawMessage(`{`)}, raw)
		}, "encoded"},
		{"nil schema pointer", func(r *registry.Registry) error {
			return registry.AddRaw(r, &mcp.Tool{Name: "x", InputSchema: (*jsonschema.Schema)(nil)}, raw)
		}, "nil pointer"},
		{"sunset is no day", func(r *registry.Registry) error {
			return registry.AddRaw(r, &mcp.Tool{Name: "x"}, raw, registry.Renamed("y", "soon"))
		}, `"soon" is not a day`},
		{"renamed argument is no parameter", func(r *registry.Registry) error {
			return registry.Add(r, &mcp.Tool{Name: "x"}, search, registry.Renamed("y", "", registry.RenamedArgument("q", "question")))
		}, `"question" is no parameter`},
		{"constant is no parameter", func(r *registry.Registry) error {
			return registry.Add(r, &mcp.Tool{Name: "x"}, search, registry.Renamed("y", "", registry.AddedArgument("scope", "all")))
		}, `"scope" is no parameter`},
		{"argument alias of no parameter", func(r *registry.Registry) error {
			return registry.Add(r, &mcp.Tool{Name: "x"}, search, registry.ArgumentAliases("text", "q"))
		}, "no parameter"},
		{"argument alias is a parameter", func(r *registry.Registry) error {
			return registry.Add(r, &mcp.Tool{Name: "x"}, search, registry.ArgumentAliases("query", "tags"))
		}, "parameter itself"},
		{"argument alias of two", func(r *registry.Registry) error {
			return registry.Add(r, &mcp.Tool{Name: "x"}, search, registry.ArgumentAliases("query", "q"), registry.ArgumentAliases("tags", "q"))
		}, "both"},
		{"example that does not fit", func(r *registry.Registry) error {
			return registry.Add(r, &mcp.Tool{Name: "x"}, search, registry.Example("", map[string]any{"tags": []string{"a"}}))
		}, "example 1 does not fit"},
		{"name that the registry uses itself", func(r *registry.Registry) error {
			return registry.AddRaw(r, &mcp.Tool{Name: "steady_list_changed"}, raw)
		}, "reserved"},
		{"two groups", func(r *registry.Registry) error {
			return registry.Add(r, &mcp.Tool{Name: "x"}, search, registry.Group("a"), registry.Group("b"))
		}, "one group"},
		{"nil visibility", func(r *registry.Registry) error {
			return registry.Add(r, &mcp.Tool{Name: "x"}, search, registry.VisibleTo(nil))
		}, "visibility is nil"},
	}
	for _, c := range cases {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			var refused []registry.RegistrationRefused
			server := mcptest.Server()
			r := registry.New(server, &registry.Options{Observer: observe.Func(func(_ context.Context, e observe.Event) {
				if e, ok := e.(registry.RegistrationRefused); ok {
					refused = append(refused, e)
				}
			})})
			require.NoError(t, registry.AddRaw(r, &mcp.Tool{Name: "read_file"}, raw, registry.Aliases("open_file")))
			require.NoError(t, r.Err())
			err := c.add(r)
			require.ErrorContains(t, err, c.want)
			require.ErrorContains(t, r.Err(), c.want)
			require.Len(t, refused, 1)

			// Whoever looks at neither error meets it in the first listing.
			cs := mcptest.Connect(t, server, "")
			_, err = cs.ListTools(t.Context(), nil)
			require.ErrorContains(t, err, c.want)
			var werr *jsonrpc.Error
			require.ErrorAs(t, err, &werr)
			require.EqualValues(t, jsonrpc.CodeInternalError, werr.Code)
		})
	}
}

func TestLateMistakeLeavesOthersAlone(t *testing.T) {
	t.Parallel()
	server := mcptest.Server()
	r := registry.New(server, quiet())
	addRaw(t, r, "a")
	cs := mcptest.Connect(t, server, "")
	require.Equal(t, []string{"a"}, listed(t, cs))
	require.Error(t, registry.AddRaw(r, &mcp.Tool{Name: "A"}, raw))
	require.Equal(t, []string{"a"}, listed(t, cs))
	require.Error(t, r.Err())
}

// Mistakes are mended by registering under the refused name, or by removing it.
func TestMistakesAreMended(t *testing.T) {
	t.Parallel()
	server := mcptest.Server()
	r := registry.New(server, quiet())
	cs := mcptest.Connect(t, server, "")
	refused := func(want string) {
		t.Helper()
		_, err := cs.ListTools(t.Context(), nil)
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, r.Err(), want)
	}

	for range 3 {
		require.Error(t, registry.AddRaw(r, &mcp.Tool{Name: "bad name"}, raw))
	}
	require.Equal(t, 1, strings.Count(r.Err().Error(), "bad name"), "the same mistake counts once")
	require.Error(t, registry.AddRaw(r, &mcp.Tool{Name: "search", InputSchema: json.RawMessage(`{`)}, raw))
	require.Error(t, registry.AddRaw(r, nil, raw))
	addRaw(t, r, "bad_name")
	refused(`"bad name"`) // another name: nobody can know that it is the same tool
	r.Remove("bad name")
	require.NotContains(t, r.Err().Error(), "bad name")
	refused(`"search"`)
	addRaw(t, r, "search")
	refused("the tool is nil")
	r.Remove("")
	require.NoError(t, r.Err())
	require.Equal(t, []string{"bad_name", "search"}, listed(t, cs))
}

func TestMistakesAreBounded(t *testing.T) {
	t.Parallel()
	r := registry.New(nil, quiet())
	for i := range 1000 {
		require.Error(t, registry.AddRaw(r, &mcp.Tool{Name: fmt.Sprint("bad name ", i)}, raw))
	}
	require.Equal(t, 100, strings.Count(r.Err().Error(), "bad name"))
	require.ErrorContains(t, r.Err(), `"bad name 999"`)
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

func TestSpecNames(t *testing.T) {
	t.Parallel()
	r := registry.New(mcptest.Server(), &registry.Options{SpecNames: true, Observer: observe.Discard})
	addRaw(t, r, "orders.search", "2fa", strings.Repeat("x", 128))
	require.Error(t, registry.AddRaw(r, &mcp.Tool{Name: strings.Repeat("y", 129)}, raw))
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

// B156: an output with nothing to report is still valid.
func TestNilSlicesOfOutput(t *testing.T) {
	t.Parallel()
	type report struct {
		Errors []string       `json:"errors"`
		ByCode map[string]int `json:"by_code"`
		Inner  struct {
			Lines []int `json:"lines"`
		} `json:"inner"`
		Omitted []int  `json:"omitted,omitempty"`
		Null    []int  `json:"null"`
		Raw     []byte `json:"raw"`
	}
	schema := json.RawMessage(`{"type":"object","required":["errors"],"properties":{"errors":{"type":"array","items":{"type":"string"}},
		"by_code":{"type":"object"},"inner":{"type":"object","properties":{"lines":{"type":"array"}}},"null":{"type":["null","array"]},"raw":{"type":["null","string"]}}}`)
	for name, add := range map[string]func(*registry.Registry) error{
		"value": func(r *registry.Registry) error {
			return registry.Add(r, &mcp.Tool{Name: "f", OutputSchema: schema}, func(context.Context, *mcp.CallToolRequest, any) (*mcp.CallToolResult, report, error) {
				return nil, report{}, nil
			})
		},
		"pointer": func(r *registry.Registry) error {
			return registry.Add(r, &mcp.Tool{Name: "f", OutputSchema: schema}, func(context.Context, *mcp.CallToolRequest, any) (*mcp.CallToolResult, *report, error) {
				return nil, &report{}, nil
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			server := mcptest.Server()
			require.NoError(t, add(registry.New(server, quiet())))
			res, err := mcptest.Connect(t, server, "").CallTool(t.Context(), &mcp.CallToolParams{Name: "f"})
			require.NoError(t, err)
			require.False(t, res.IsError, mcptest.Text(res))
			got, err := json.Marshal(res.StructuredContent)
			require.NoError(t, err)
			require.JSONEq(t, `{"errors":[],"by_code":{},"inner":{"lines":[]},"null":null,"raw":null}`, string(got))
		})
	}
}

// A handler may return the same value every time. (Run with -race.)
func TestSharedOutputIsLeftAlone(t *testing.T) {
	t.Parallel()
	type inner struct {
		Lines []int `json:"lines"`
	}
	type report struct {
		Errors []string `json:"errors"`
		Inner  inner    `json:"inner"`
		Count  int      `json:"count"`
	}
	schema := json.RawMessage(`{"type":"object","properties":{"errors":{"type":"array"},"inner":{"type":"object","properties":{"lines":{"type":"array"}}},"count":{"type":"integer"}}}`)
	shared := &report{Count: 3}
	server := mcptest.Server()
	r := registry.New(server, quiet())
	require.NoError(t, registry.Add(r, &mcp.Tool{Name: "f", OutputSchema: schema}, func(context.Context, *mcp.CallToolRequest, any) (*mcp.CallToolResult, *report, error) {
		return nil, shared, nil
	}))
	require.NoError(t, registry.Add(r, &mcp.Tool{Name: "none", OutputSchema: schema}, func(context.Context, *mcp.CallToolRequest, any) (*mcp.CallToolResult, *report, error) {
		return &mcp.CallToolResult{IsError: true}, nil, nil
	}))
	cs := mcptest.Connect(t, server, "")
	var calls sync.WaitGroup
	for range 8 {
		calls.Go(func() {
			res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "f"})
			if assert.NoError(t, err) && assert.False(t, res.IsError, mcptest.Text(res)) {
				got, _ := json.Marshal(res.StructuredContent)
				assert.JSONEq(t, `{"errors":[],"inner":{"lines":[]},"count":3}`, string(got))
			}
		})
	}
	calls.Wait()
	require.Equal(t, &report{Count: 3}, shared, "the handler's own value was changed")
	_, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "none"})
	require.NoError(t, err, "no output at all")
}
