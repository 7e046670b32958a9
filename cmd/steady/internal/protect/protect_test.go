package protect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/steadymcp/steady/tasks"
)

// library is a server with what the protections are for.
func library() *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "library", Version: "1"}, nil)
	readOnly := &mcp.ToolAnnotations{ReadOnlyHint: true}
	type search struct {
		Query string `json:"query"`
		Limit int    `json:"limit,omitempty"`
	}
	mcp.AddTool(server, &mcp.Tool{Name: "search_papers", Description: "Finds papers.", Annotations: readOnly}, func(_ context.Context, _ *mcp.CallToolRequest, in search) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprintf("found %s %d", in.Query, in.Limit)}}}, nil, nil
	})
	mcp.AddTool(server, &mcp.Tool{Name: "delete_papers", Meta: mcp.Meta{"tags": []any{"danger"}}}, func(context.Context, *mcp.CallToolRequest, search) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "deleted"}}}, nil, nil
	})
	mcp.AddTool(server, &mcp.Tool{Name: "all_papers", Annotations: readOnly}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		var rows []map[string]any
		for i := range 5000 {
			rows = append(rows, map[string]any{"id": i, "title": strings.Repeat("x", 60)})
		}
		data, err := json.Marshal(rows)
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(data)}}}, nil, err
	})
	server.AddTool(&mcp.Tool{Name: "break", InputSchema: map[string]any{"type": "object"}, Annotations: readOnly}, func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		const text = "cannot reach postgres://app:hunter2@db/x\n    at query (/srv/app/db.js:10:7)\n    at run (/srv/app/main.js:1:1)"
		if strings.Contains(string(req.Params.Arguments), "protocol") {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: text}
		}
		return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil
	})
	server.AddTool(&mcp.Tool{Name: "export", InputSchema: map[string]any{"type": "object"}}, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(700 * time.Millisecond):
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "exported " + string(req.Params.Arguments)}}}, nil
		}
	})
	server.AddTool(&mcp.Tool{Name: "hang", InputSchema: map[string]any{"type": "object"}}, func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		<-ctx.Done()
		return nil, errors.New("cancelled")
	})
	server.AddPrompt(&mcp.Prompt{Name: "write_review"}, func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		return &mcp.GetPromptResult{Description: "review"}, nil
	})
	server.AddResource(&mcp.Resource{Name: "big", URI: "papers://big"}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: "papers://big", Text: strings.Repeat("line\n", 50_000)}}}, nil
	})
	return server
}

// inBoth runs a test against the library behind a stage, in both eras.
func inBoth(t *testing.T, cfg string, test func(t *testing.T, cs *mcp.ClientSession)) {
	t.Parallel()
	for _, revision := range both {
		t.Run(revision, func(t *testing.T) {
			t.Parallel()
			test(t, dial(t, protector(t, cfg).Stage(serving(library())), revision, nil))
		})
	}
}

func toolNames(t *testing.T, cs *mcp.ClientSession) (names []string) {
	t.Helper()
	for tool, err := range cs.Tools(context.Background(), nil) {
		require.NoError(t, err)
		names = append(names, tool.Name)
	}
	return names
}

func TestRepair(t *testing.T) {
	inBoth(t, "repair: true", func(t *testing.T, cs *mcp.ClientSession) {
		for _, tt := range []struct {
			name      string
			arguments map[string]any
			want      string
		}{
			{"search_papers", map[string]any{"query": "a", "limit": 2}, "found a 2"},
			{"SearchPapers", map[string]any{"query": "a"}, "found a 0"},
			{"mcp__library__search_papers", map[string]any{"Query": "a", "limit": "2"}, "found a 2"},
			{"search_paper", map[string]any{"query": "a"}, "found a 0"},
			{"delete_paper", map[string]any{"query": "a"}, "delete_papers"}, // is proposed, and not run
		} {
			res := callTool(t, cs, tt.name, tt.arguments)
			require.Contains(t, textIn(t, res), tt.want, tt.name)
			require.Equal(t, tt.name == "delete_paper", res.IsError)
		}
		res, err := cs.GetPrompt(context.Background(), &mcp.GetPromptParams{Name: "WriteReview"})
		require.NoError(t, err)
		require.Equal(t, "review", res.Description)
		require.Contains(t, textIn(t, callTool(t, cs, "search_papers", map[string]any{"nonsense": 1})), "query")
	})
}

func TestResults(t *testing.T) {
	inBoth(t, "results: {bytes: 20kB}", func(t *testing.T, cs *mcp.ClientSession) {
		res := callTool(t, cs, "all_papers", nil)
		text := textIn(t, res)
		require.Less(t, len(text), 25_000)
		require.Contains(t, text, "5,000 items")
		require.Contains(t, text, "read_result")
		require.Contains(t, toolNames(t, cs), "read_result")
		// What follows the advice gets the rest.
		_, after, ok := strings.Cut(text, `{"handle":"`)
		require.True(t, ok, text[len(text)-600:])
		handle, _, _ := strings.Cut(after, `"`)
		rest := callTool(t, cs, "read_result", map[string]any{"handle": handle, "offset": 4990})
		require.Contains(t, textIn(t, rest), `"id":4999`)

		read, err := cs.ReadResource(context.Background(), &mcp.ReadResourceParams{URI: "papers://big"})
		require.NoError(t, err)
		require.Less(t, len(read.Contents[0].Text), 25_000)
		kept, err := cs.ReadResource(context.Background(), &mcp.ReadResourceParams{URI: "steady-result:///" + handle})
		require.NoError(t, err)
		require.Contains(t, kept.Contents[0].Text, `"id":`)
		templates, err := cs.ListResourceTemplates(context.Background(), nil)
		require.NoError(t, err)
		require.Len(t, templates.ResourceTemplates, 1)
	})
}

func TestErrors(t *testing.T) {
	inBoth(t, "errors: true", func(t *testing.T, cs *mcp.ClientSession) {
		for _, kind := range []string{"result", "protocol"} {
			res := callTool(t, cs, "break", map[string]any{"kind": kind})
			require.True(t, res.IsError)
			text := textIn(t, res)
			require.Contains(t, text, "cannot reach postgres://***@db/x")
			require.NotContains(t, text, "/srv/app")
			require.NotContains(t, text, "hunter2")
		}
		_, err := cs.CallTool(context.Background(), &mcp.CallToolParams{Name: "no_such"})
		require.ErrorContains(t, err, "unknown tool")
	})
}

func TestErrorsHidden(t *testing.T) {
	inBoth(t, "errors: {show: nothing}", func(t *testing.T, cs *mcp.ClientSession) {
		for _, kind := range []string{"result", "protocol"} {
			res := callTool(t, cs, "break", map[string]any{"kind": kind})
			require.True(t, res.IsError)
			require.Regexp(t, `internal error.*incident`, textIn(t, res))
			require.NotContains(t, textIn(t, res), "postgres")
		}
	})
}

func TestDeadline(t *testing.T) {
	inBoth(t, "limits: {deadline: 200ms}", func(t *testing.T, cs *mcp.ClientSession) {
		res := callTool(t, cs, "hang", nil)
		require.True(t, res.IsError)
		require.Contains(t, fmt.Sprint(res.Meta["steady/error"]), "timeout")
	})
}

func TestRate(t *testing.T) {
	inBoth(t, "limits: {tools: {search_papers: {rate: 1/h}}}", func(t *testing.T, cs *mcp.ClientSession) {
		require.False(t, callTool(t, cs, "search_papers", map[string]any{"query": "a"}).IsError)
		res := callTool(t, cs, "search_papers", map[string]any{"query": "a"})
		require.True(t, res.IsError)
		require.Contains(t, fmt.Sprint(res.Meta["steady/error"]), "rate_limited")
		require.Regexp(t, `(?i)again|wait|retry`, textIn(t, res))
	})
}

func TestNames(t *testing.T) {
	const names = "names: {former: {lookup: {tool: search_papers, until: 2999-01-01, arguments: {question: query}, added: {limit: 7}}, gone: {tool: search_papers, until: 2020-01-01}}, aliases: {find: search_papers}}\n"
	for _, cfg := range []string{names, names + "repair: true"} {
		t.Run(cfg[len(names):], func(t *testing.T) {
			inBoth(t, cfg, func(t *testing.T, cs *mcp.ClientSession) {
				text := textIn(t, callTool(t, cs, "lookup", map[string]any{"question": "a"}))
				require.Contains(t, text, "found a 7")
				require.Contains(t, text, "lookup is now called search_papers; the former name works until 2999-01-01")
				require.Contains(t, textIn(t, callTool(t, cs, "find", map[string]any{"query": "b"})), "found b 0")
				res := callTool(t, cs, "gone", map[string]any{"query": "b"})
				require.True(t, res.IsError)
				require.Contains(t, textIn(t, res), "search_papers")
				require.NotContains(t, toolNames(t, cs), "lookup")
			})
		})
	}
}

func TestVisibility(t *testing.T) {
	for cfg, hidden := range map[string]string{
		"visibility: {hide: [\"delete_*\"]}":                                          "delete_papers",
		"visibility: {hide_tags: [danger]}":                                           "delete_papers",
		"visibility: {read_only: true}":                                               "delete_papers",
		"visibility: {only: [\"search_*\"]}":                                          "delete_papers",
		"visibility: {hide: [\"delete_*\"]}\nrepair: {route_tools: [delete_papers]}":  "delete_papers",
		"visibility: {hide: [\"delete_*\"]}\nsearch: {}\ntasks: {tools: {export: }}":  "delete_papers",
		"visibility: {only_tags: [danger]}\nresults:\ntasks: {tools: {export: }}":     "search_papers",
		"visibility: {hide: [\"delete_*\"]}\nnames: {aliases: {drop: delete_papers}}": "delete_papers",
	} {
		t.Run(cfg, func(t *testing.T) {
			inBoth(t, cfg, func(t *testing.T, cs *mcp.ClientSession) {
				require.NotContains(t, toolNames(t, cs), hidden)
				arguments := func(name string) map[string]any {
					if strings.HasPrefix(name, "call_tool") {
						return map[string]any{"id": hidden, "arguments": map[string]any{"query": "x"}}
					}
					return map[string]any{"query": "x"}
				}
				for _, name := range []string{hidden, "drop", strings.ToUpper(hidden), "call_tool", "call_tool_write"} {
					res, err := cs.CallTool(context.Background(), &mcp.CallToolParams{Name: name, Arguments: arguments(name)})
					if err == nil {
						require.True(t, res.IsError, "%s: %s", name, textIn(t, res))
						require.NotContains(t, textIn(t, res), "deleted")
						require.NotContains(t, textIn(t, res), "found x")
					}
				}
			})
		})
	}
}

func TestSearch(t *testing.T) {
	inBoth(t, "search: {advertise: [search_papers]}\nresults:", func(t *testing.T, cs *mcp.ClientSession) {
		names := toolNames(t, cs)
		require.Subset(t, names, []string{"search_papers", "find_tools", "describe_tool", "call_tool", "read_result"})
		require.NotContains(t, names, "delete_papers")
		require.Contains(t, textIn(t, callTool(t, cs, "find_tools", map[string]any{"question": "delete papers"})), "delete_papers")
		res := callTool(t, cs, "call_tool_write", map[string]any{"id": "delete_papers", "arguments": map[string]any{"query": "a"}})
		require.Contains(t, textIn(t, res), "deleted")
		require.Contains(t, textIn(t, callTool(t, cs, "search_papers", map[string]any{"query": "a"})), "found a")
	})
}

// With repair, what a search finds can be asked for by name, as models do.
func TestSearchByName(t *testing.T) {
	inBoth(t, "search:\nrepair:", func(t *testing.T, cs *mcp.ClientSession) {
		require.Contains(t, textIn(t, callTool(t, cs, "describe_tool", map[string]any{"name": "search_papers"})), "search_papers")
		res := callTool(t, cs, "call_tool", map[string]any{"tool_name": "search_papers", "arguments": map[string]any{"query": "a"}})
		require.Contains(t, textIn(t, res), "found a")
	})
}

func TestTasks(t *testing.T) {
	inBoth(t, "tasks: {tools: {export: {grace: 50ms}}}", func(t *testing.T, cs *mcp.ClientSession) {
		res := callTool(t, cs, "export", map[string]any{"day": 1})
		text := textIn(t, res)
		require.Contains(t, text, "still running")
		_, after, _ := strings.Cut(text, `{"task_id": "`)
		id, _, _ := strings.Cut(after, `"`)
		again := callTool(t, cs, "export", map[string]any{"day": 1})
		require.Contains(t, textIn(t, again), "Not started again")
		res = callTool(t, cs, "task_result", map[string]any{"task_id": id})
		require.Contains(t, textIn(t, res), `exported {"day":1}`)

		text = textIn(t, callTool(t, cs, "export", map[string]any{"day": 2}))
		_, after, _ = strings.Cut(text, `{"task_id": "`)
		id, _, _ = strings.Cut(after, `"`)
		require.Contains(t, textIn(t, callTool(t, cs, "task_cancel", map[string]any{"task_id": id})), "stopped")
	})
}

func TestCancellation(t *testing.T) {
	inBoth(t, "protect: recommended", func(t *testing.T, cs *mcp.ClientSession) {
		ctx, cancel := context.WithCancel(context.Background())
		time.AfterFunc(100*time.Millisecond, cancel)
		_, err := cs.CallTool(ctx, &mcp.CallToolParams{Name: "hang"})
		require.ErrorIs(t, err, context.Canceled)
		require.Contains(t, textIn(t, callTool(t, cs, "search_papers", map[string]any{"query": "a"})), "found a")
	})
}

// A client with the tasks extension polls the task itself, and its user sees the
// result.
func TestTasksByExtension(t *testing.T) {
	t.Parallel()
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	var statuses []tasks.Status
	follower, err := tasks.InstallClient(client, &tasks.ClientOptions{OnTask: func(_ context.Context, task tasks.Task) { statuses = append(statuses, task.Status) }})
	require.NoError(t, err)
	toStage, in := io.Pipe()
	out, fromStage := io.Pipe()
	p := protector(t, "tasks: {tools: {export: {grace: 20ms, poll: 50ms}}}\nprotect: recommended")
	ended := make(chan error, 1)
	go func() {
		err := p.Stage(serving(library()))(context.Background(), toStage, fromStage)
		_ = fromStage.Close()
		ended <- err
	}()
	cs, err := client.Connect(context.Background(), follower.Transport(&mcp.IOTransport{Reader: out, Writer: in}), nil)
	require.NoError(t, err)
	require.NotContains(t, toolNames(t, cs), "task_status")
	res := callTool(t, cs, "Export", map[string]any{"day": 3})
	require.Contains(t, textIn(t, res), `exported {"day":3}`)
	require.Contains(t, statuses, tasks.Working)
	require.NoError(t, cs.Close())
	<-ended
}
