package discovery_test

import (
	"bytes"
	"context"
	"encoding/json"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/steadymcp/steady/discovery"
	"github.com/steadymcp/steady/internal/mcptest"
	"github.com/steadymcp/steady/observe"
)

// declared are an operator's aliases: other name to tool.
type declared map[string]string

func (d declared) ResolveAlias(name string) (tool, notice string, ok bool) {
	tool, ok = d[name]
	if name == "zap_note" {
		notice = "zap_note is now delete_note and goes away on 2027-01-31."
	}
	return tool, notice, ok
}

func (declared) ArgumentAliases(tool string) map[string]string {
	if tool == "search_papers" {
		return map[string]string{"needle": "query"}
	}
	return nil
}

func TestDeclaredAliases(t *testing.T) {
	t.Parallel()
	s, _ := notes(t, &discovery.Options{Aliases: declared{"zap_note": "delete_note", "ghost": "hidden_tool", "look_around": "search_papers"}})
	c := mcptest.Connect(t, s, "")
	call := func(name string, args any) *mcp.CallToolResult {
		res, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: args})
		require.NoError(t, err)
		return res
	}
	// What is declared may run a tool that destroys, in every lossless form.
	for _, name := range []string{"zap_note", "zapNote", "mcp__notes__zap_note", "functions.Zap-Note"} {
		res := call(name, map[string]any{"note_id": 1})
		require.False(t, res.IsError, mcptest.Text(res))
		require.Equal(t, "delete_note {\"note_id\":1}\nzap_note is now delete_note and goes away on 2027-01-31.", mcptest.Text(res))
	}
	require.Equal(t, `search_papers {"query":"x"}`, call("look_around", map[string]any{"query": "x"}).Content[0].(*mcp.TextContent).Text)
	require.Equal(t, `search_papers {"query":"x"}`, call("search_papers", map[string]any{"needle": "x"}).Content[0].(*mcp.TextContent).Text)
	// An alias of a tool that nobody can see is no alias.
	require.True(t, call("ghost", nil).IsError)
}

// answering are aliases that translate calls by one of their names themselves.
type answering struct{ declared }

func (answering) AnswersAlias(name string) bool { return name == "zap_note" }

func (answering) AnswerAlias(ctx context.Context, method string, req *mcp.CallToolRequest, next mcp.MethodHandler) (mcp.Result, error) {
	params := *req.Params
	params.Name = "delete_note"
	params.Arguments = bytes.Replace(params.Arguments, []byte(`"oldID"`), []byte(`"note_id"`), 1)
	res, err := next(ctx, method, &mcp.CallToolRequest{Session: req.Session, Extra: req.Extra, Params: &params})
	if r, ok := res.(*mcp.CallToolResult); ok {
		r.Content = append(r.Content, &mcp.TextContent{Text: "translated from " + req.Params.Name})
	}
	return res, err
}

func TestAliasThatIsTranslated(t *testing.T) {
	t.Parallel()
	s := mcptest.Server()
	var got []string
	s.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if r, ok := req.(*mcp.CallToolRequest); ok {
				got = append(got, r.Params.Name+" "+string(r.Params.Arguments))
				return &mcp.CallToolResult{}, nil
			}
			return next(ctx, method, req)
		}
	})
	for _, name := range []string{"delete_note", "search_papers"} {
		s.AddTool(&mcp.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object","required":["note_id"],"properties":{"note_id":{"type":"integer"}}}`)}, nil)
	}
	s.AddReceivingMiddleware(discovery.New(&discovery.Options{Observer: observe.Discard,
		Aliases: answering{declared{"zap_note": "delete_note", "look_around": "search_papers"}}}).Middleware())
	c := mcptest.Connect(t, s, "")
	for _, name := range []string{"zap_note", "mcp__notes__zapNote"} {
		got = nil
		// What is translated is repaired like any other call of the tool.
		res, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: map[string]any{"oldID": "1"}})
		require.NoError(t, err)
		require.False(t, res.IsError, mcptest.Text(res))
		require.Equal(t, []string{`delete_note {"note_id":1}`}, got, "further inside there is only the tool's own name")
		require.Contains(t, mcptest.Text(res), "translated from zap_note")
	}
	got = nil
	res, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "zap_note", Arguments: map[string]any{}})
	require.NoError(t, err)
	require.True(t, res.IsError, "a required argument is missing")
	require.Empty(t, got)

	_, err = c.CallTool(t.Context(), &mcp.CallToolParams{Name: "look_around", Arguments: map[string]any{"note_id": 1}})
	require.NoError(t, err)
	require.Equal(t, []string{`search_papers {"note_id":1}`}, got, "other aliases are resolved here")
}

func TestOwnWords(t *testing.T) {
	t.Parallel()
	tools := []*mcp.Tool{
		{Name: "search_manuscripts", InputSchema: &jsonschema.Schema{Type: "object"}, Annotations: readOnly},
		{Name: "get_standard_procedure", InputSchema: &jsonschema.Schema{Type: "object"}, Annotations: readOnly},
	}
	o := &discovery.Options{Observer: observe.Discard, Synonyms: [][]string{{"manuscript", "screed"}}, Abbreviations: [][]string{{"standard_procedure", "stp"}}, Prefixes: []string{"acme"}, Suffixes: []string{"beta"}}
	for requested, want := range map[string]string{"search_screeds": "search_manuscripts", "get_stp": "get_standard_procedure", "acme_search_manuscripts": "search_manuscripts", "search_manuscripts_beta": "search_manuscripts"} {
		require.Equal(t, want, discovery.Resolve(requested, tools, o).Tool, requested)
		require.Empty(t, discovery.Resolve("search_screeds", tools, nil).Tool)
	}
}

// Where nothing is near, the answer names the tool that looks for tools.
func TestMissNamesTheFinder(t *testing.T) {
	t.Parallel()
	s, _ := notes(t, nil)
	s.AddTool(&mcp.Tool{Name: "find_tools", Description: "Finds tools", InputSchema: &jsonschema.Schema{Type: "object"}, Annotations: readOnly},
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{}, nil
		})
	c := mcptest.Connect(t, s, "")
	res, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "zorkify"})
	require.NoError(t, err)
	require.Contains(t, mcptest.Text(res), "look for the tool with find_tools")
}

// A layer inside may answer with a result of its own, such as a task.
type ticket struct {
	mcp.ResultBase
	Ticket string `json:"ticket"`
}

func TestOtherResultsAreDisclosedToo(t *testing.T) {
	t.Parallel()
	h := discovery.New(observed).Middleware()(func(_ context.Context, method string, _ mcp.Request) (mcp.Result, error) {
		if method == "tools/list" {
			return &mcp.ListToolsResult{Tools: []*mcp.Tool{{Name: "start_export", InputSchema: &jsonschema.Schema{Type: "object"}}}}, nil
		}
		return &ticket{Ticket: "t1"}, nil
	})
	res, err := h(t.Context(), "tools/call", &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Name: "startExport"}})
	require.NoError(t, err)
	raw, err := json.Marshal(res.GetMeta()["steady/discovery"])
	require.NoError(t, err)
	require.JSONEq(t, `{"requested":"startExport","resolved":"start_export","step":"fold"}`, string(raw))
}

// A list that cannot be had leaves the call as it came.
func TestWithoutAListNothingChanges(t *testing.T) {
	t.Parallel()
	h := discovery.New(observed).Middleware()(func(_ context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if method == "tools/list" {
			return nil, context.DeadlineExceeded
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: req.(*mcp.CallToolRequest).Params.Name}}}, nil
	})
	res, err := h(t.Context(), "tools/call", &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Name: "anything"}})
	require.NoError(t, err)
	require.Equal(t, "anything", mcptest.Text(res.(*mcp.CallToolResult)))
}
