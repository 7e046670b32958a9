package registry_test

import (
	"context"
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/steadymcp/steady/internal/mcptest"
	"github.com/steadymcp/steady/internal/wire"
	"github.com/steadymcp/steady/observe"
	"github.com/steadymcp/steady/registry"
)

func TestFormerName(t *testing.T) {
	t.Parallel()
	for _, revision := range mcptest.Revisions {
		synctest.Test(t, func(t *testing.T) {
			time.Sleep(time.Until(time.Date(2027, 1, 31, 23, 59, 0, 0, time.UTC)))
			var events []registry.FormerNameCalled
			server := mcptest.Server()
			r := registry.New(server, &registry.Options{Observer: observe.Func(func(_ context.Context, e observe.Event) {
				if e, ok := e.(registry.FormerNameCalled); ok {
					events = append(events, e)
				}
			})})
			runs := 0
			require.NoError(t, registry.Add(r, &mcp.Tool{Name: "search_papers"}, func(_ context.Context, _ *mcp.CallToolRequest, in findInput) (*mcp.CallToolResult, findInput, error) {
				runs++
				return nil, in, nil
			}, registry.Aliases("find_papers"),
				registry.Renamed("lookup_papers", "2027-01-31", registry.RenamedArgument("question", "query"), registry.AddedArgument("scope", "all"))))
			cs := mcptest.Connect(t, server, revision)
			require.Equal(t, []string{"search_papers"}, listed(t, cs))

			res, err := call(t, cs, "lookup_papers", `{"question":"x","limit":9007199254740993}`)
			require.NoError(t, err)
			require.False(t, res.IsError, mcptest.Text(res))
			require.Equal(t, map[string]any{"query": "x", "scope": "all", "limit": 9007199254740992.0}, res.StructuredContent)
			require.Contains(t, mcptest.Text(res), "Note: lookup_papers is now called search_papers; the former name works until 2027-01-31.")
			require.Equal(t, map[string]any{"requested": "lookup_papers", "tool": "search_papers", "former": true, "sunset": "2027-01-31"}, res.Meta[wire.MetaRegistry])

			res, err = call(t, cs, "find_papers", `{"query":"x","scope":"y"}`)
			require.NoError(t, err)
			require.Equal(t, map[string]any{"requested": "find_papers", "tool": "search_papers"}, res.Meta[wire.MetaRegistry])
			require.NotContains(t, mcptest.Text(res), "Note")

			res, err = call(t, cs, "search_papers", `{"query":"x","scope":"y"}`)
			require.NoError(t, err)
			require.NotContains(t, res.Meta, wire.MetaRegistry)
			require.Equal(t, 3, runs)

			// An error of the tool is an error, with the notice behind it.
			res, err = call(t, cs, "lookup_papers", `{"limit":1}`)
			require.NoError(t, err)
			require.True(t, res.IsError)
			require.Contains(t, mcptest.Text(res), "Note: ")

			time.Sleep(2 * time.Minute) // the day is over
			res, err = call(t, cs, "lookup_papers", `{"question":"x"}`)
			require.NoError(t, err)
			require.True(t, res.IsError)
			text := mcptest.Text(res)
			require.Contains(t, text, "lookup_papers is no longer offered")
			require.Contains(t, text, "call search_papers with query for what was question")
			require.Equal(t, 3, runs)

			require.Equal(t, map[string]uint64{"lookup_papers": 3}, r.FormerNameCalls())
			require.Len(t, events, 3)
			require.Equal(t, registry.FormerNameCalled{Name: "lookup_papers", Tool: "search_papers", Gone: true, Calls: 3}, events[2])
			require.NoError(t, cs.Close())
		})
	}
}

func TestArgumentsOfFormerNames(t *testing.T) {
	t.Parallel()
	cases := []struct{ args, want string }{
		{`{"question":"x"}`, `{"query":"x","scope":"all"}`},
		{`{"limit":9007199254740993,"question":1.0}`, `{"limit":9007199254740993,"query":1.0,"scope":"all"}`},
		{`{"question":"x","scope":"mine"}`, `{"query":"x","scope":"mine"}`},
		{`{"question":"x","query":"y"}`, `{"question":"x","query":"y","scope":"all"}`},
		{`{}`, `{"scope":"all"}`},
		{`null`, `{"scope":"all"}`},
		{`[1]`, `[1]`},
		{`"x"`, `"x"`},
	}
	for _, revision := range mcptest.Revisions {
		server := mcptest.Server()
		r := registry.New(server, quiet())
		require.NoError(t, registry.AddRaw(r, &mcp.Tool{Name: "f", InputSchema: json.RawMessage(`{"type":"object","properties":{"query":{},"scope":{},"limit":{}}}`)}, raw,
			registry.Renamed("g", "", registry.RenamedArgument("question", "query"), registry.AddedArgument("scope", "all"))))
		cs := mcptest.Connect(t, server, revision)
		for _, c := range cases {
			res, err := call(t, cs, "g", c.args)
			require.NoError(t, err)
			require.Equal(t, c.want, res.Content[0].(*mcp.TextContent).Text)
		}
	}
}

// Arguments may change places, or hand a name on.
func TestArgumentsAreRenamedAtOnce(t *testing.T) {
	t.Parallel()
	server := mcptest.Server()
	r := registry.New(server, quiet())
	require.NoError(t, registry.AddRaw(r, &mcp.Tool{Name: "f", InputSchema: json.RawMessage(`{"type":"object","properties":{"a":{},"b":{},"c":{}}}`)}, raw,
		registry.Renamed("swap", "", registry.RenamedArgument("a", "b"), registry.RenamedArgument("b", "a")),
		registry.Renamed("chain", "", registry.RenamedArgument("a", "b"), registry.RenamedArgument("b", "c"), registry.AddedArgument("a", 0))))
	cs := mcptest.Connect(t, server, "")
	for _, c := range []struct{ name, args, want string }{
		{"swap", `{"a":1,"b":2}`, `{"b":1,"a":2}`},
		{"swap", `{"a":1}`, `{"b":1}`},
		{"swap", `{"b":1}`, `{"a":1}`},
		{"chain", `{"a":1,"b":2}`, `{"b":1,"c":2,"a":0}`},
		{"chain", `{"a":1}`, `{"b":1,"a":0}`},
		{"chain", `{"b":1,"c":2}`, `{"b":1,"c":2,"a":0}`},
	} {
		res, err := call(t, cs, c.name, c.args)
		require.NoError(t, err)
		require.Equal(t, c.want, res.Content[0].(*mcp.TextContent).Text, "%s %s", c.name, c.args)
	}
}

// What stands between the registry's two middlewares sees present names, and of
// what this caller may not see, or nobody has, nothing.
func TestMiddleware(t *testing.T) {
	t.Parallel()
	for _, revision := range mcptest.Revisions {
		server := mcptest.Server()
		r := registry.New(server, quiet())
		require.NoError(t, registry.AddRaw(r, &mcp.Tool{Name: "f", InputSchema: json.RawMessage(`{"type":"object","properties":{"a":{}}}`)}, raw,
			registry.Aliases("ff"), registry.Renamed("g", "", registry.RenamedArgument("b", "a"))))
		require.NoError(t, registry.AddRaw(r, &mcp.Tool{Name: "hidden"}, raw, registry.Renamed("was_hidden", ""),
			registry.VisibleTo(func(context.Context, mcp.Request, *mcp.Tool) bool { return false })))
		server.AddTool(foreign("other", true), raw)
		var seen []string
		server.AddReceivingMiddleware(r.Middleware(), func(next mcp.MethodHandler) mcp.MethodHandler {
			return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
				if c, ok := req.(*mcp.CallToolRequest); ok {
					seen = append(seen, c.Params.Name+string(c.Params.Arguments))
				}
				return next(ctx, method, req)
			}
		})
		cs := mcptest.Connect(t, server, revision)
		for _, name := range []string{"f", "ff", "g", "other"} {
			_, err := call(t, cs, name, `{"b":1}`)
			require.NoError(t, err, name)
		}
		require.Equal(t, []string{`f{"b":1}`, `f{"b":1}`, `f{"a":1}`, `other{"b":1}`}, seen)
		for _, name := range []string{"hidden", "was_hidden", "nothing"} {
			requireUnknown(t, cs, name)
		}
		require.Len(t, seen, 4)
		require.Equal(t, map[string]uint64{"g": 1, "was_hidden": 0}, r.FormerNameCalls(), "counted once")
	}
}

func TestRenamesThatCannotWork(t *testing.T) {
	t.Parallel()
	tool := &mcp.Tool{Name: "f", InputSchema: json.RawMessage(`{"type":"object","required":["a"],"properties":{"a":{"$ref":"#/$defs/A"},"b":{"enum":["x"]}},"$defs":{"A":{"type":"string"}}}`)}
	for _, c := range []struct {
		changes []registry.ArgumentChange
		want    string
	}{
		{[]registry.ArgumentChange{registry.RenamedArgument("x", "a"), registry.RenamedArgument("y", "a")}, `two arguments are renamed to "a"`},
		{[]registry.ArgumentChange{registry.RenamedArgument("x", "a"), registry.RenamedArgument("x", "b")}, `the argument "x" is renamed twice`},
		{[]registry.ArgumentChange{registry.AddedArgument("a", 5)}, `5 is no value of "a"`},
		{[]registry.ArgumentChange{registry.AddedArgument("b", "y")}, `"y" is no value of "b"`},
		{[]registry.ArgumentChange{registry.AddedArgument("z", "y")}, `"z" is no parameter`},
		{[]registry.ArgumentChange{registry.AddedArgument("a", "y"), registry.AddedArgument("b", "x")}, ""},
	} {
		err := registry.AddRaw(registry.New(nil, quiet()), tool, raw, registry.Renamed("g", "", c.changes...))
		if c.want == "" {
			require.NoError(t, err)
			continue
		}
		require.ErrorContains(t, err, c.want)
	}
}

// FuzzFormerArguments sends arbitrary arguments to a former name.
func FuzzFormerArguments(f *testing.F) {
	server := mcptest.Server()
	r := registry.New(server, quiet())
	require.NoError(f, registry.AddRaw(r, &mcp.Tool{Name: "f", InputSchema: json.RawMessage(`{"type":"object","properties":{"query":{},"scope":{}}}`)},
		func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(req.Params.Arguments)}}}, nil
		}, registry.Renamed("g", "", registry.RenamedArgument("question", "query"), registry.AddedArgument("scope", "all"))))
	cs := mcptest.Connect(f, server, "")
	for _, s := range []string{`{"question":1}`, `{"question":1,"question":2}`, `[]`, `{"a":{"question":[{}]}}`, `{"\u0071uestion":"\ud800"}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, args []byte) {
		if !json.Valid(args) {
			return
		}
		res, err := cs.CallTool(context.Background(), &mcp.CallToolParams{Name: "g", Arguments: json.RawMessage(args)})
		if err != nil {
			return // the SDK refuses it
		}
		got := res.Content[0].(*mcp.TextContent).Text
		require.True(t, json.Valid([]byte(got)), got)
		var sent, run map[string]any
		if json.Unmarshal(args, &sent) != nil || json.Unmarshal([]byte(got), &run) != nil {
			return
		}
		if sent == nil {
			sent = map[string]any{}
		}
		if v, ok := sent["question"]; ok && sent["query"] == nil {
			delete(sent, "question")
			sent["query"] = v
		}
		if _, ok := sent["scope"]; !ok {
			sent["scope"] = "all"
		}
		if _, both := run["question"]; !both {
			require.Equal(t, sent, run)
		}
	})
}

// ownResult is another middleware's answer to tools/call.
type ownResult struct{ mcp.ResultBase }

// What asks for input has no content, and what another layer answers (a task,
// say) has only _meta to disclose in.
func TestDisclosureInOtherResults(t *testing.T) {
	t.Parallel()
	var answer mcp.Result
	var chain mcp.MethodHandler
	server := mcptest.Server()
	server.AddReceivingMiddleware(func(mcp.MethodHandler) mcp.MethodHandler {
		return func(context.Context, string, mcp.Request) (mcp.Result, error) { return answer, nil }
	})
	r := registry.New(server, quiet())
	require.NoError(t, registry.AddRaw(r, &mcp.Tool{Name: "f"}, raw, registry.Renamed("g", "")))
	server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler { chain = next; return next })
	ask := func() mcp.Result {
		res, err := chain(t.Context(), "tools/call", &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Name: "g"}})
		require.NoError(t, err)
		return res
	}

	answer = &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"q": &mcp.ElicitParams{Message: "sure?"}}}
	res := ask()
	require.Empty(t, res.(*mcp.CallToolResult).Content)
	require.Contains(t, res.GetMeta(), wire.MetaRegistry)
	require.NotContains(t, answer.GetMeta(), wire.MetaRegistry, "the handler's own result is not changed")

	answer = &ownResult{}
	require.Contains(t, ask().GetMeta(), wire.MetaRegistry)

	answer = (*mcp.CallToolResult)(nil)
	require.Nil(t, ask())
}
