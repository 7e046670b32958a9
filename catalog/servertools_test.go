package catalog

import (
	"context"
	"fmt"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/steadymcp/steady/internal/mcptest"
	"github.com/steadymcp/steady/internal/wire"
)

type lampInput struct {
	Room string `json:"room" jsonschema:"the room"`
}

// manyTools is a server with many tools, of which three are of note.
func manyTools(opts *mcp.ServerOptions) *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "test", Version: "1"}, opts)
	for i := range 60 {
		mcp.AddTool(server, &mcp.Tool{Name: fmt.Sprintf("filler_%03d", i), Description: fmt.Sprintf("Handles case %d. In depth.", i)}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
			return nil, nil, nil
		})
	}
	mcp.AddTool(server, &mcp.Tool{Name: "turn_on_lamp", Description: "Switches a lamp on. It stays on.", Annotations: &mcp.ToolAnnotations{IdempotentHint: true}}, func(_ context.Context, _ *mcp.CallToolRequest, in lampInput) (*mcp.CallToolResult, any, error) {
		if in.Room == "attic" {
			return nil, nil, fmt.Errorf("there is no lamp")
		}
		return nil, map[string]any{"lit": in.Room}, nil
	})
	mcp.AddTool(server, &mcp.Tool{Name: "list_lamps", Description: "Lists all lamps", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}}, func(_ context.Context, req *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "two lamps"}, &mcp.ImageContent{Data: []byte("x"), MIMEType: "image/png"}}}, nil, nil
	})
	server.AddTool(&mcp.Tool{Name: "odd_schema", Description: "Paints fences", InputSchema: map[string]any{"type": "object", "properties": map[string]any{"x": map[string]any{"$ref": "https://elsewhere.example/x"}}}}, func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: `{"painted": ` + string(req.Params.Arguments) + `}`}}}, nil
	})
	return server
}

// What a tool says beside its structured content is not lost.
func TestToolAnswer(t *testing.T) {
	t.Parallel()
	words := func(texts ...string) (out []mcp.Content) {
		for _, s := range texts {
			out = append(out, &mcp.TextContent{Text: s})
		}
		return out
	}
	image := &mcp.ImageContent{Data: []byte("x"), MIMEType: "image/png"}
	for _, c := range []struct {
		result mcp.CallToolResult
		data   string
		rest   []mcp.Content
	}{
		{mcp.CallToolResult{StructuredContent: map[string]any{"n": 1}, Content: words(`{ "n": 1 }`)}, `{"n":1}`, nil},
		{mcp.CallToolResult{StructuredContent: map[string]any{"n": 1}, Content: append(words("Beware: an estimate", `{"n":1}`), image)}, `{"n":1}`, append(words("Beware: an estimate"), image)},
		{mcp.CallToolResult{Content: words(`{"n":1}`)}, `{"n":1}`, nil},
		{mcp.CallToolResult{Content: words("one", "two")}, `"one\ntwo"`, nil},
		{mcp.CallToolResult{}, "", nil},
	} {
		c.result.Meta = mcp.Meta{"example.com/trace": "t1"}
		a, err := toolAnswer(&c.result)
		require.NoError(t, err)
		require.Equal(t, c.data, string(a.Data))
		require.ElementsMatch(t, c.rest, a.Content)
		r, err := (&done{Answer: a}).result(&mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{}})
		require.NoError(t, err)
		require.Equal(t, "t1", r.Meta["example.com/trace"])
		require.Len(t, r.Content, 1+len(c.rest))
	}
	_, err := New(Tools(manyTools(nil), nil), &Options{Shortcuts: []Shortcut{{Name: "x", Entry: "list_lamps"}}})
	require.ErrorContains(t, err, "Advertise")
	c, err := New(Tools(manyTools(nil), nil), nil)
	require.NoError(t, err)
	_, err = c.Lint(t.Context())
	require.ErrorContains(t, err, "who asks")
}

func TestServerTools(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, revision string) {
		server := manyTools(&mcp.ServerOptions{PageSize: 20})
		tools := Tools(server, &ToolsOptions{Advertise: []string{"list_lamps"}, Except: []string{"filler_007"}})
		c, err := New(tools, &Options{Observer: quiet})
		require.NoError(t, err)
		require.NoError(t, c.Install(t.Context(), server))
		d := &desktop{ClientSession: mcptest.Connect(t, server, revision), catalog: c}
		var names []string
		for tool, err := range d.Tools(t.Context(), nil) {
			require.NoError(t, err)
			names = append(names, tool.Name)
		}
		require.Equal(t, []string{"call_api", "call_api_write", "describe_data", "find_data", "get_catalog", "list_lamps"}, names)

		data := d.data(t, "find_data", `{"question":"switch the light on"}`)
		first := data["results"].([]any)[0].(map[string]any)
		require.Equal(t, "turn_on_lamp", first["id"])
		require.Equal(t, "Switches a lamp on.", first["summary"])
		require.Equal(t, "call_api_write", first["call"].(map[string]any)["tool"])
		require.Equal(t, "hall", d.data(t, "call_api_write", `{"id":"turn_on_lamp","arguments":{"room":"hall"}}`)["lit"])
		require.Contains(t, d.fails(t, "call_api_write", `{"id":"turn_on_lamp","arguments":{"room":"attic"}}`), "there is no lamp", "a tool's own error is passed on")
		require.Contains(t, d.fails(t, "call_api_write", `{"id":"turn_on_lamp","arguments":{}}`), "required")
		require.Contains(t, d.fails(t, "call_api", `{"id":"turn_on_lamp","arguments":{"room":"hall"}}`), "call_api_write")
		require.Contains(t, d.fails(t, "call_api", `{"calls":[{"id":"list_lamps"}],"id":"x"}`), "either")

		r := d.call(t, "call_api", `{"id":"list_lamps"}`)
		require.Contains(t, text(r), `"data":"two lamps"`)
		require.Len(t, r.Content, 2, "an image comes along")
		require.Contains(t, text(d.call(t, "call_api_write", `{"id":"odd_schema","arguments":{"x":12345678901234567890}}`)), `{"painted":{"x":12345678901234567890}}`, "digits are kept")

		// Hidden from the list, it can be called by name, by the SDK's own way.
		require.Equal(t, "hall", d.call(t, "turn_on_lamp", `{"room":"hall"}`).StructuredContent.(map[string]any)["lit"])
		require.Contains(t, d.fails(t, "call_api", `{"id":"find_data"}`), "no entry", "the catalog's tools are no entries")
		require.Contains(t, d.fails(t, "describe_data", `{"id":"filler_007"}`), "no entry")
		require.EqualValues(t, 62, d.data(t, "get_catalog", `{}`)["total"])

		b := d.data(t, "call_api_write", `{"calls":[{"id":"turn_on_lamp","arguments":{"room":"attic"}},{"id":"turn_on_lamp","arguments":{"room":"hall"}}]}`)["results"].([]any)
		require.Contains(t, fmt.Sprint(b[0]), "there is no lamp")
		require.Contains(t, fmt.Sprint(b[1]), "hall")

		// A new tool is found at once.
		server.AddTool(&mcp.Tool{Name: "water_plants", Description: "Waters the plants", InputSchema: map[string]any{"type": "object"}}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{}, nil
		})
		require.Equal(t, "water_plants", d.data(t, "find_data", `{"question":"water the plants"}`)["results"].([]any)[0].(map[string]any)["id"])
	})
}

// A filter that stands inside hides tools from the catalog as well.
func TestServerToolsPerCaller(t *testing.T) {
	t.Parallel()
	server := manyTools(nil)
	few := true
	server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			res, err := next(ctx, method, req)
			if list, ok := res.(*mcp.ListToolsResult); ok && err == nil && few {
				shown := *list
				shown.Tools = shown.Tools[len(shown.Tools)-3:]
				return &shown, nil
			}
			return res, err
		}
	})
	tools := Tools(server, nil)
	c, err := New(tools, &Options{Observer: quiet})
	require.NoError(t, err)
	require.NoError(t, c.Install(t.Context(), server))
	d := &desktop{ClientSession: mcptest.Connect(t, server, ""), catalog: c}
	require.EqualValues(t, 3, d.data(t, "get_catalog", `{}`)["total"])
	require.Empty(t, d.data(t, "find_data", `{"question":"handle case"}`)["results"])
	few = false
	require.EqualValues(t, 63, d.data(t, "get_catalog", `{}`)["total"])
	require.NotEmpty(t, d.data(t, "find_data", `{"question":"handle case"}`)["results"])
	few = true
	require.Contains(t, d.fails(t, "describe_data", `{"id":"filler_001"}`), "no entry")

	_, err = c.edition(t.Context(), anyCall)
	require.Error(t, err, "without a session there is nobody to list for")
	_, err = c.Lint(t.Context())
	require.Error(t, err)
}

// B225: nil advertises all, an empty list none.
func TestAdvertise(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		advertise []string
		want      int
	}{{nil, 63 + 5}, {[]string{}, 5}, {[]string{"list_lamps", "nope"}, 6}} {
		server := manyTools(nil)
		catalog, err := New(Tools(server, &ToolsOptions{Advertise: c.advertise}), &Options{Observer: quiet})
		require.NoError(t, err)
		require.NoError(t, catalog.Install(t.Context(), server))
		require.Len(t, toolNames(t, mcptest.Connect(t, server, "")), c.want)
	}
}

// A result that is no tool result, such as a task's, is not passed off as one.
func TestServerToolsOtherResult(t *testing.T) {
	t.Parallel()
	tools := &ServerTools{next: func(context.Context, string, mcp.Request) (mcp.Result, error) { return &mcp.ListToolsResult{}, nil }}
	_, err := tools.Call(t.Context(), anyCall, &Entry{ID: "export"}, nil)
	require.ErrorContains(t, err, "call the tool export itself")
	tools.next = func(context.Context, string, mcp.Request) (mcp.Result, error) { return wire.NewToolText(nil, "x"), nil }
	a, err := tools.Call(t.Context(), &mcp.CallToolRequest{}, &Entry{ID: "export"}, nil)
	require.NoError(t, err)
	require.Equal(t, `"x"`, string(a.Data))
}

func TestLiveEditionsAreBounded(t *testing.T) {
	t.Parallel()
	n := 0
	source := liveFunc(func() *Snapshot {
		n++
		return &Snapshot{Version: fmt.Sprint(n % (3 * maxEditions)), Entries: []Entry{{ID: "a"}}}
	})
	c, err := New(source, &Options{Observer: quiet})
	require.NoError(t, err)
	for range 5 * maxEditions {
		_, err := c.edition(t.Context(), anyCall)
		require.NoError(t, err)
	}
	require.Len(t, c.shelf.(*liveShelf).editions, maxEditions)
	require.NoError(t, c.Refresh(t.Context()))
	_, known := c.Age()
	require.True(t, known)
}

type liveFunc func() *Snapshot

func (f liveFunc) Load(context.Context, string) (*Snapshot, error) { return f(), nil }
func (liveFunc) Live()                                             {}
