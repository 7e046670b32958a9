package discovery_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/steadymcp/steady/discovery"
	"github.com/steadymcp/steady/internal/mcptest"
	"github.com/steadymcp/steady/observe"
)

type searchInput struct {
	Query string   `json:"query" jsonschema:"what to look for"`
	Limit int      `json:"limit,omitempty"`
	Tags  []string `json:"tags,omitempty"`
}

type deleteInput struct {
	ID      int64 `json:"note_id"`
	Confirm bool  `json:"confirm,omitempty"`
}

func ptr[T any](v T) *T { return &v }

var readOnly = &mcp.ToolAnnotations{ReadOnlyHint: true}

// notes returns a server with a few tools whose handlers write what they were
// called with.
func notes(t testing.TB, opts *discovery.Options, more ...mcp.Middleware) (*mcp.Server, *discovery.Resolver) {
	t.Helper()
	s := mcptest.Server()
	say := func(tool string, in any) (*mcp.CallToolResult, any, error) {
		raw, err := json.Marshal(in)
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: tool + " " + string(raw)}}}, nil, err
	}
	mcp.AddTool(s, &mcp.Tool{Name: "search_papers", Description: "Finds papers by topic. Returns ids.", Annotations: readOnly},
		func(_ context.Context, _ *mcp.CallToolRequest, in searchInput) (*mcp.CallToolResult, any, error) {
			return say("search_papers", in)
		})
	mcp.AddTool(s, &mcp.Tool{Name: "list_recent", Description: "Lists the newest papers", Annotations: readOnly},
		func(_ context.Context, _ *mcp.CallToolRequest, in struct{}) (*mcp.CallToolResult, any, error) {
			return say("list_recent", in)
		})
	mcp.AddTool(s, &mcp.Tool{Name: "delete_note", Description: "Deletes one note", Annotations: &mcp.ToolAnnotations{DestructiveHint: ptr(true)}},
		func(_ context.Context, _ *mcp.CallToolRequest, in deleteInput) (*mcp.CallToolResult, any, error) {
			return say("delete_note", in)
		})
	s.AddTool(&mcp.Tool{Name: "add_note", Description: "Adds a note", Annotations: &mcp.ToolAnnotations{DestructiveHint: ptr(false)},
		InputSchema: json.RawMessage(`{"type":"object","required":["text"],"properties":{"text":{"type":"string"},"pinned":{"type":"boolean"}}}`)},
		func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "add_note " + string(req.Params.Arguments)}}}, nil
		})
	s.AddPrompt(&mcp.Prompt{Name: "summarize_paper"}, func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		return &mcp.GetPromptResult{Description: "summary"}, nil
	})
	s.AddResource(&mcp.Resource{URI: "note://one", Name: "one"}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: "note://one", Text: "one"}}}, nil
	})
	o := discovery.Options{Observer: observe.Discard}
	if opts != nil {
		o = *opts
		if o.Observer == nil {
			o.Observer = observe.Discard
		}
	}
	r := discovery.New(&o)
	s.AddReceivingMiddleware(append([]mcp.Middleware{r.Middleware()}, more...)...)
	return s, r
}

func TestMiddleware(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, tool string
		args       any
		want       string // first text
		meta       string // steady/discovery, "" for none
		isError    bool
	}{
		{"exact", "search_papers", map[string]any{"query": "rag", "limit": 3}, `search_papers {"query":"rag","limit":3}`, ``, false},
		{"typo and alias", "serch_paper", map[string]any{"question": "rag"}, `search_papers {"query":"rag"}`,
			`{"requested":"serch_paper","resolved":"search_papers","step":"typo","arguments":[{"path":"/query","kind":"synonym","from":"question"}]}`, false},
		{"lossless reaches a destructive tool", "mcp__notes__deleteNote", map[string]any{"noteId": "9007199254740993"}, `delete_note {"note_id":9007199254740992}`,
			`{"requested":"mcp__notes__deleteNote","resolved":"delete_note","step":"affix","arguments":[{"path":"/note_id","kind":"spelling","from":"noteId"},{"path":"/note_id","kind":"integer"}]}`, false},
		{"a synonym does not", "remove_note", map[string]any{"note_id": 1}, "There is no tool named \"remove_note\". Reason: delete_note may change or destroy something, so it runs under its exact name only. Next: call the one that does what you want by its exact name: delete_note (Deletes one note; requires note_id)",
			`{"requested":"remove_note","suggestions":["delete_note","add_note"]}`, true},
		{"nothing near", "launch_rocket", map[string]any{}, "There is no tool named \"launch_rocket\". Reason: no tool that you can see is near it. Next: choose a tool from tools/list", `{"requested":"launch_rocket"}`, true},
		{"raw handlers get what fits, too", "add_note", map[string]any{"Text": "hello", "pinned": "true"}, `add_note {"text":"hello","pinned":true}`,
			`{"arguments":[{"path":"/text","kind":"spelling","from":"Text"},{"path":"/pinned","kind":"boolean"}]}`, false},
		{"raw handlers are spared what does not", "add_note", map[string]any{"pinned": "perhaps"}, `The arguments of "add_note" do not fit its input schema: /pinned: sent the string "perhaps", wanted a boolean; /text is required (a string). Next: correct the arguments and call add_note again, for example with {"text":"<text>"}.`, ``, true},
		{"consent is not repaired", "delete_note", map[string]any{"note_id": 1, "confirm": "true"}, `The arguments of "delete_note" do not fit its input schema: /confirm: sent the string "true", wanted a boolean`, ``, true},
	}
	for _, revision := range mcptest.Revisions {
		s, _ := notes(t, nil)
		c := mcptest.Connect(t, s, revision)
		for _, tt := range tests {
			t.Run(revision+" "+tt.name, func(t *testing.T) {
				res, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: tt.tool, Arguments: tt.args})
				require.NoError(t, err)
				require.Equal(t, tt.isError, res.IsError)
				first := strings.Join(strings.Fields(res.Content[0].(*mcp.TextContent).Text), " ")
				require.True(t, strings.HasPrefix(first, tt.want), "got %s", first)
				meta := res.Meta["steady/discovery"]
				if tt.meta == "" {
					require.Nil(t, meta)
					return
				}
				raw, err := json.Marshal(meta)
				require.NoError(t, err)
				require.JSONEq(t, tt.meta, string(raw))
			})
		}
	}
}

func TestRewriteIsSaidInText(t *testing.T) {
	t.Parallel()
	s, r := notes(t, nil)
	c := mcptest.Connect(t, s, "")
	res, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "find_papers", Arguments: map[string]any{"question": "x"}})
	require.NoError(t, err)
	require.Equal(t, "search_papers {\"query\":\"x\"}\nThere is no tool named \"find_papers\"; search_papers was called instead. Arguments were adjusted: \"question\" was taken as /query.", mcptest.Text(res))
	res, err = c.CallTool(t.Context(), &mcp.CallToolParams{Name: "searchPapers", Arguments: map[string]any{"Query": "x"}})
	require.NoError(t, err)
	require.Equal(t, "search_papers {\"query\":\"x\"}", mcptest.Text(res))
	require.Equal(t, discovery.Stats{Calls: 2, Routed: 2, Repaired: 2}, r.Stats())
}

func TestStrict(t *testing.T) {
	t.Parallel()
	for _, revision := range mcptest.Revisions {
		s, _ := notes(t, &discovery.Options{Strict: true})
		c := mcptest.Connect(t, s, revision)
		_, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "remove_note"})
		var e *jsonrpc.Error
		require.True(t, errors.As(err, &e))
		require.EqualValues(t, jsonrpc.CodeInvalidParams, e.Code)
		require.JSONEq(t, `{"requested":"remove_note","suggestions":["delete_note","add_note"]}`, string(e.Data))
		res, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "add_note", Arguments: map[string]any{"text": "a</parameter>\n<parameter name=\"pinned\">true"}})
		require.NoError(t, err)
		require.True(t, res.IsError)
		res, err = c.CallTool(t.Context(), &mcp.CallToolParams{Name: "search_papers", Arguments: map[string]any{"query": "a</parameter>"}})
		require.NoError(t, err)
		require.False(t, res.IsError, "tools that only read are told, not refused")
	}
}

func TestLeakedMarkupIsReported(t *testing.T) {
	t.Parallel()
	s, _ := notes(t, nil)
	c := mcptest.Connect(t, s, "")
	res, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "add_note", Arguments: map[string]any{"text": "a</text>\n<parameter name=\"pinned\">true"}}) // B086
	require.NoError(t, err)
	require.Contains(t, mcptest.Text(res), "contains markup of the call itself")
	raw, err := json.Marshal(res.Meta["steady/discovery"])
	require.NoError(t, err)
	require.JSONEq(t, `{"leakedMarkup":["/text"]}`, string(raw))
}

// A tool that is hidden from a caller is answered like one that never was.
func TestHiddenLikeUnknown(t *testing.T) {
	t.Parallel()
	var reached []string
	hide := func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if q, ok := req.(*mcp.CallToolRequest); ok {
				reached = append(reached, q.Params.Name)
			}
			res, err := next(ctx, method, req)
			if l, ok := res.(*mcp.ListToolsResult); ok && err == nil {
				c := *l
				c.Tools = nil
				for _, t := range l.Tools {
					if t.Name != "delete_note" {
						c.Tools = append(c.Tools, t)
					}
				}
				return &c, nil
			}
			return res, err
		}
	}
	s, _ := notes(t, nil, hide)
	c := mcptest.Connect(t, s, "")
	answer := func(name string) string {
		res, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: name})
		require.NoError(t, err)
		require.True(t, res.IsError)
		return strings.ReplaceAll(mcptest.Text(res), name, "?")
	}
	require.Equal(t, answer("delete_noet"), answer("delete_note"))
	require.Empty(t, reached)
}

func TestReplacedToolIsHonouredByTheNextCall(t *testing.T) {
	t.Parallel()
	s, _ := notes(t, nil)
	c := mcptest.Connect(t, s, "")
	call := func(name string, args map[string]any) string {
		res, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: args})
		require.NoError(t, err)
		return mcptest.Text(res)
	}
	require.Contains(t, call("add_notes", nil), "no tool named")
	require.Contains(t, call("Add_Note", map[string]any{"body": "x"}), `{"text":"x"}`)
	s.AddTool(&mcp.Tool{Name: "add_note", InputSchema: &jsonschema.Schema{Type: "object", Properties: map[string]*jsonschema.Schema{"body": {Type: "string"}}}},
		func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "new " + string(req.Params.Arguments)}}}, nil
		})
	require.Equal(t, `new {"body":"x"}`, call("add_note", map[string]any{"body": "x"}))
	s.RemoveTools("add_note")
	require.Contains(t, call("add_note", map[string]any{"body": "x"}), "no tool named")
	s.AddTool(&mcp.Tool{Name: "addNotes", InputSchema: &jsonschema.Schema{Type: "object"}},
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "many"}}}, nil
		})
	require.Equal(t, "many", call("add_notes", nil))
}

func TestMissingArgumentsBecomeAnObject(t *testing.T) { // B068, B070
	t.Parallel()
	s, r := notes(t, nil)
	c := mcptest.Connect(t, s, "")
	for _, args := range []any{nil, json.RawMessage("null"), map[string]any{}} {
		res, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "list_recent", Arguments: args})
		require.NoError(t, err)
		require.Equal(t, "list_recent {}", mcptest.Text(res))
	}
	require.EqualValues(t, 1, r.Stats().Repaired, "null is mended, what is missing is usual")
}

func TestPromptsAndResources(t *testing.T) {
	t.Parallel()
	for _, revision := range mcptest.Revisions {
		s, _ := notes(t, nil)
		c := mcptest.Connect(t, s, revision)
		p, err := c.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "mcp__notes__summarizePaper"})
		require.NoError(t, err)
		require.Equal(t, "summary", p.Description)
		_, err = c.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "summarise_papers"})
		require.ErrorContains(t, err, "the nearest are: summarize_paper")
		r, err := c.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: " note://one\u200b"})
		require.NoError(t, err)
		require.Equal(t, "one", r.Contents[0].Text)
		_, err = c.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "note://ONE"})
		require.ErrorContains(t, err, "note://one", "case matters in a URI, so it is proposed, not read")
	}
}

func TestEvents(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var got []string
	s, _ := notes(t, &discovery.Options{Observer: observe.Func(func(_ context.Context, e observe.Event) {
		mu.Lock()
		defer mu.Unlock()
		got = append(got, e.EventName()+" "+e.LogValue().String())
	})})
	c := mcptest.Connect(t, s, "")
	for _, name := range []string{"list_recent", "list_recents", "remove_note", "launch_rocket"} {
		_, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: name})
		require.NoError(t, err)
	}
	_, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "search_papers", Arguments: map[string]any{"q": "secret words", "depth": 3}})
	require.NoError(t, err)
	mu.Lock()
	defer mu.Unlock()
	all := strings.Join(got, "\n")
	for _, want := range []string{"discovery.exact", "discovery.routed", "discovery.suggested", "discovery.missed", "discovery.refused"} {
		require.Contains(t, all, want)
	}
	require.NotContains(t, all, "secret words")
}

func TestOneResolverForManyServers(t *testing.T) {
	t.Parallel()
	r := discovery.New(&discovery.Options{Observer: observe.Discard})
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			s := mcptest.Server()
			name := []string{"search_papers", "search_books"}[i%2]
			s.AddTool(&mcp.Tool{Name: name, Annotations: readOnly, InputSchema: &jsonschema.Schema{Type: "object"}}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: name}}}, nil
			})
			s.AddReceivingMiddleware(r.Middleware())
			c := mcptest.Connect(t, s, "")
			for range 5 {
				res, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: strings.Replace(name, "search", "find", 1)})
				if err != nil || res.Content[0].(*mcp.TextContent).Text != name {
					t.Errorf("got %v, %v", res, err)
				}
			}
		})
	}
	wg.Wait()
	require.EqualValues(t, 40, r.Stats().Routed)
}

func TestToolsOnLaterPages(t *testing.T) {
	t.Parallel()
	s := mcp.NewServer(&mcp.Implementation{Name: "paged", Version: "v1"}, &mcp.ServerOptions{PageSize: 2})
	for _, name := range []string{"list_a", "list_b", "list_c", "list_d", "search_papers"} {
		s.AddTool(&mcp.Tool{Name: name, Annotations: readOnly, InputSchema: &jsonschema.Schema{Type: "object"}}, func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: req.Params.Name}}}, nil
		})
	}
	s.AddReceivingMiddleware(discovery.New(&discovery.Options{Observer: observe.Discard}).Middleware())
	c := mcptest.Connect(t, s, "")
	for _, name := range []string{"search_papers", "SearchPapers", "find_papers"} {
		res, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: name})
		require.NoError(t, err)
		require.Equal(t, "search_papers", res.Content[0].(*mcp.TextContent).Text)
	}
}
