package tasks_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/steadymcp/steady/internal/mcptest"
	"github.com/steadymcp/steady/tasks"
)

// Both forms of a wrapped handler do what a policy by name does.
func TestHandler(t *testing.T) {
	for _, rev := range mcptest.Revisions {
		for _, form := range []string{"raw", "typed", "typed and by name"} {
			t.Run(rev+" "+form, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					j := newJob()
					opts := tasks.Options{}
					if form == "typed and by name" {
						opts.Policies = map[string]tasks.Policy{"export": {}}
					}
					m := newManager(t, opts)
					server := mcptest.Server()
					require.NoError(t, m.Install(server))
					server.AddReceivingMiddleware(m.Middleware()) // twice on the way, once the work
					if form == "raw" {
						server.AddTool(&mcp.Tool{Name: "export", InputSchema: json.RawMessage(`{"type":"object"}`)},
							tasks.Handler(m, tasks.Policy{}, func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
								if err := j.run(ctx); err != nil {
									return nil, err
								}
								return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: `{"rows":42}`}}}, nil
							}))
					} else {
						mcp.AddTool(server, &mcp.Tool{Name: "export"}, tasks.HandlerFor(m, tasks.Policy{}, j.tool))
					}
					mcp.AddTool(server, &mcp.Tool{Name: "plain"}, func(ctx context.Context, _ *mcp.CallToolRequest, _ any) (*mcp.CallToolResult, any, error) {
						<-ctx.Done() // a tool without a policy ends with its request
						return nil, nil, context.Cause(ctx)
					})
					cs := mcptest.Connect(t, server, rev)

					before := time.Now()
					res, err := call(t.Context(), cs, "export", args{"date": "d"})
					require.NoError(t, err)
					require.Equal(t, 5*time.Second, time.Since(before))
					id := taskID(t, res)
					res, err = call(t.Context(), cs, "export", args{"date": "d"})
					require.NoError(t, err)
					require.Equal(t, id, taskID(t, res))
					close(j.release)
					res, err = call(t.Context(), cs, "task_result", args{"task_id": id})
					require.NoError(t, err)
					require.Equal(t, `{"rows":42}`, mcptest.Text(res))
					res, err = call(t.Context(), cs, "export", args{"date": "d"})
					require.NoError(t, err)
					require.Contains(t, mcptest.Text(res), `{"rows":42}`)
					require.EqualValues(t, 1, j.runs.Load())

					ctx, cancel := context.WithTimeout(t.Context(), time.Second)
					defer cancel()
					_, err = call(ctx, cs, "plain", nil)
					require.Error(t, err)
					synctest.Wait()
					require.NoError(t, m.Close(t.Context()))
				})
			})
		}
	}
}

func TestHandlerWithoutInstallJustRuns(t *testing.T) {
	j := newJob()
	close(j.release)
	m := newManager(t, tasks.Options{})
	server := mcptest.Server()
	mcp.AddTool(server, &mcp.Tool{Name: "export"}, tasks.HandlerFor(m, tasks.Policy{Grace: tasks.Eager}, j.tool))
	cs := mcptest.Connect(t, server, "")
	for range 2 {
		res, err := call(t.Context(), cs, "export", nil)
		require.NoError(t, err)
		require.Equal(t, `{"rows":42}`, mcptest.Text(res))
	}
	require.EqualValues(t, 2, j.runs.Load())
}

// Some servers are made anew for every request; what the manager knows is not
// theirs.
func TestServerPerRequest(t *testing.T) {
	j := newJob()
	m := newManager(t, tasks.Options{Policies: eager, Owner: func(mcp.Request) string { return "ada" }})
	h := m.Handler(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return exportServer(t, j, m) }, &mcp.StreamableHTTPOptions{Stateless: true}))
	s := httptest.NewServer(h)
	defer s.Close()
	c := &wireClient{t: t, url: s.URL, declared: true, revision: mcptest.Stateless}
	id := c.create(nil)
	require.Equal(t, "working", c.get(id)["status"])
	require.Equal(t, id, c.create(nil))
	close(j.release)
	c.await(id, "completed")
	require.EqualValues(t, 1, j.runs.Load())
}

// A client without the extension checks results against the advertised output
// schema, and a handle must pass as well as the result.
func TestOutputSchemaCoversHandles(t *testing.T) {
	j := newJob()
	m := newManager(t, tasks.Options{Policies: map[string]tasks.Policy{"export": {Grace: tasks.Eager}, "refs": {}, "self": {}}})
	server := exportServer(t, j, m)
	raw := func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return nil, nil }
	in := json.RawMessage(`{"type":"object"}`)
	server.AddTool(&mcp.Tool{Name: "refs", InputSchema: in, OutputSchema: json.RawMessage(
		`{"type":"object","$defs":{"n":{"type":"integer"}},"properties":{"n":{"$ref":"#/$defs/n"}},"required":["n"]}`)}, raw)
	server.AddTool(&mcp.Tool{Name: "self", InputSchema: in, OutputSchema: json.RawMessage(
		`{"type":"object","properties":{"child":{"$ref":"#"}}}`)}, raw)
	server.AddTool(&mcp.Tool{Name: "untouched", InputSchema: in, OutputSchema: json.RawMessage(`{"type":"object"}`)}, raw)
	cs := mcptest.Connect(t, server, "")
	list, err := cs.ListTools(t.Context(), nil)
	require.NoError(t, err)
	schemas := map[string]*jsonschema.Resolved{}
	for _, tool := range list.Tools {
		if tool.OutputSchema == nil {
			continue
		}
		b, err := json.Marshal(tool.OutputSchema)
		require.NoError(t, err)
		var s jsonschema.Schema
		require.NoError(t, json.Unmarshal(b, &s))
		require.Equal(t, "object", s.Type)
		schemas[tool.Name], err = s.Resolve(nil)
		require.NoError(t, err)
	}
	require.NotContains(t, schemas, "self", "a schema that cannot be moved is not advertised")
	require.Contains(t, schemas, "untouched")

	res, err := call(t.Context(), cs, "export", nil)
	require.NoError(t, err)
	handle := res.StructuredContent
	close(j.release)
	res, err = call(t.Context(), cs, "task_result", args{"task_id": taskID(t, res)})
	require.NoError(t, err)
	require.NoError(t, schemas["export"].Validate(handle))
	require.NoError(t, schemas["export"].Validate(res.StructuredContent))
	require.Error(t, schemas["export"].Validate(map[string]any{"rows": "many"}))
	require.NoError(t, schemas["refs"].Validate(handle))
	require.NoError(t, schemas["refs"].Validate(map[string]any{"n": 1}))
	require.Error(t, schemas["refs"].Validate(map[string]any{"n": "1"}))
}

func TestPromoteAndProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newManager(t, tasks.Options{Policies: map[string]tasks.Policy{"steps": {Grace: tasks.OnPromote}}})
		server := mcptest.Server()
		require.NoError(t, m.Install(server))
		mcp.AddTool(server, &mcp.Tool{Name: "steps"}, func(ctx context.Context, _ *mcp.CallToolRequest, _ any) (*mcp.CallToolResult, any, error) {
			tasks.Progress(ctx, 1, 10) // the caller gets it: it asked for progress
			time.Sleep(time.Minute)
			if err := tasks.Promote(ctx); err != nil {
				return nil, nil, err
			}
			tasks.SetStatus(ctx, "reading %s", "orders")
			time.Sleep(time.Minute)
			for i := range 1000 {
				tasks.Progress(ctx, float64(i), 1000)
				time.Sleep(time.Millisecond)
			}
			time.Sleep(time.Minute)
			return nil, nil, nil
		})
		progress := make(chan float64, 10)
		client := mcp.NewClient(&mcp.Implementation{Name: "c", Version: "1"}, &mcp.ClientOptions{
			ProgressNotificationHandler: func(_ context.Context, req *mcp.ProgressNotificationClientRequest) { progress <- req.Params.Progress },
		})
		cs := mcptest.ConnectClient(t, server, client, "")
		params := &mcp.CallToolParams{Name: "steps", Arguments: args{}, Meta: mcp.Meta{}}
		params.SetProgressToken("p")
		before := time.Now()
		res, err := cs.CallTool(t.Context(), params)
		require.NoError(t, err)
		require.Equal(t, time.Minute, time.Since(before))
		require.Equal(t, 1.0, <-progress)
		id := taskID(t, res)
		status := func() string {
			res, err := call(t.Context(), cs, "task_status", args{"task_id": id, "wait_seconds": 0})
			require.NoError(t, err)
			return mcptest.Text(res)
		}
		synctest.Wait()
		require.Contains(t, status(), "reading orders")
		// Progress is kept a few times a second: half a second's worth by now.
		time.Sleep(time.Minute + 700*time.Millisecond)
		require.Contains(t, status(), "of 1000 (50 %)")
		require.Empty(t, progress, "the protocol has no progress of tasks")
		require.NoError(t, m.Close(t.Context()))
	})
}

func TestContextFunctionsOutsideOfATask(t *testing.T) {
	require.ErrorIs(t, tasks.Promote(t.Context()), tasks.ErrNoTask)
	_, err := tasks.Elicit(t.Context(), &mcp.ElicitParams{})
	require.ErrorIs(t, err, tasks.ErrNoTask)
	tasks.SetStatus(t.Context(), "x")
	tasks.Progress(t.Context(), 1, 2)
}
