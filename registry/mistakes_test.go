package registry_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/steadymcp/steady/internal/mcptest"
	"github.com/steadymcp/steady/observe"
	"github.com/steadymcp/steady/registry"
)

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

func TestSpecNames(t *testing.T) {
	t.Parallel()
	r := registry.New(mcptest.Server(), &registry.Options{SpecNames: true, Observer: observe.Discard})
	addRaw(t, r, "orders.search", "2fa", strings.Repeat("x", 128))
	require.Error(t, registry.AddRaw(r, &mcp.Tool{Name: strings.Repeat("y", 129)}, raw))
}
