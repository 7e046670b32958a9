package tasks_test

import (
	"context"
	"net/http"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/steadymcp/steady/internal/mcptest"
	"github.com/steadymcp/steady/tasks"
)

var answerAda = &mcp.ClientOptions{
	ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"name": "Ada"}}, nil
	},
}

// connectHTTP connects a client with the extension over streamable HTTP.
func (c *wireClient) connect(opts *tasks.ClientOptions, copts *mcp.ClientOptions) (*tasks.Client, *mcp.ClientSession) {
	c.t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "c", Version: "1"}, copts)
	x, err := tasks.InstallClient(client, opts)
	require.NoError(c.t, err)
	bearer := roundTrip(func(r *http.Request) (*http.Response, error) {
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer "+c.token)
		return http.DefaultTransport.RoundTrip(r)
	})
	cs, err := client.Connect(c.t.Context(), &mcp.StreamableClientTransport{Endpoint: c.url,
		HTTPClient: &http.Client{Transport: x.RoundTripper(bearer)}}, nil)
	require.NoError(c.t, err)
	c.t.Cleanup(func() { _ = cs.Close() })
	return x, cs
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

var nameSchema = map[string]any{"type": "object", "properties": map[string]any{"name": map[string]any{"type": "string"}}, "required": []any{"name"}}

func TestClientOverHTTP(t *testing.T) {
	j := newJob()
	close(j.release)
	fast := 10 * time.Millisecond
	m := newManager(t, tasks.Options{Policies: map[string]tasks.Policy{
		"export": {Grace: tasks.Eager, PollInterval: fast},
		"legacy": {Grace: tasks.Eager, PollInterval: fast},
		"asks":   {Grace: tasks.Eager, PollInterval: fast},
	}})
	server := exportServer(t, j, m)
	mcp.AddTool(server, &mcp.Tool{Name: "legacy"}, legacy)
	mcp.AddTool(server, &mcp.Tool{Name: "asks"}, asksByResult)
	seen := make(chan tasks.Task, 100)
	_, cs := serveHTTP(t, server, m).connect(&tasks.ClientOptions{OnTask: func(_ context.Context, task tasks.Task) { seen <- task }}, answerAda)

	res, err := call(t.Context(), cs, "export", nil)
	require.NoError(t, err)
	require.Equal(t, `{"rows":42}`, mcptest.Text(res))
	require.Equal(t, tasks.Working, (<-seen).Status)
	require.Equal(t, tasks.Completed, (<-seen).Status)

	// Handlers need no change: what they send becomes the task's.
	res, err = call(t.Context(), cs, "legacy", nil)
	require.NoError(t, err)
	require.Equal(t, "Hello Ada", mcptest.Text(res))
	var messages []string
	for len(seen) > 0 {
		messages = append(messages, (<-seen).StatusMessage)
	}
	require.Contains(t, messages, "1 of 4 (25 %): asking")

	res, err = call(t.Context(), cs, "asks", nil)
	require.NoError(t, err)
	require.Equal(t, "Ada and Ada", mcptest.Text(res))
}

// asksByResult asks twice, by returning its questions.
func asksByResult(_ context.Context, req *mcp.CallToolRequest, _ any) (*mcp.CallToolResult, any, error) {
	answer, _ := req.Params.InputResponses["name"].(*mcp.ElicitResult)
	if answer == nil {
		return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"name": &mcp.ElicitParams{Message: "First?", RequestedSchema: nameSchema}}}, nil, nil
	}
	name := answer.Content["name"].(string)
	if req.Params.RequestState == "" {
		return &mcp.CallToolResult{RequestState: name, InputRequests: mcp.InputRequestMap{"name": &mcp.ElicitParams{Message: "Second?", RequestedSchema: nameSchema}}}, nil, nil
	}
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: req.Params.RequestState + " and " + name}}}, nil, nil
}

// The questions that come before there is a task are settled within requests,
// those after through the task, and no key is used twice.
func TestMultiRoundTrip(t *testing.T) {
	for name, grace := range map[string]time.Duration{"before the task": time.Hour, "in the task": tasks.Eager} {
		t.Run(name, func(t *testing.T) {
			m := newManager(t, tasks.Options{Policies: map[string]tasks.Policy{"asks": {Grace: grace}}})
			server := mcptest.Server()
			require.NoError(t, m.Install(server))
			mcp.AddTool(server, &mcp.Tool{Name: "asks"}, asksByResult)
			c := serveHTTP(t, server, m)
			params := func(more map[string]any) map[string]any {
				p := map[string]any{"name": "asks", "arguments": map[string]any{}}
				for k, v := range more {
					p[k] = v
				}
				return p
			}
			ada := map[string]any{"action": "accept", "content": map[string]any{"name": "Ada"}}
			r := c.do("tools/call", params(nil), nil)
			if grace > 0 {
				require.Equal(t, "input_required", r.Result["resultType"])
				r = c.do("tools/call", params(nil), nil)
				require.Equal(t, "input_required", r.Result["resultType"], "asking again asks again")
				r = c.do("tools/call", params(map[string]any{"inputResponses": map[string]any{"name": ada}}), nil)
				require.Equal(t, "Ada", r.Result["requestState"])
				last := params(map[string]any{"inputResponses": map[string]any{"name": ada}, "requestState": "Ada"})
				r = c.do("tools/call", last, nil)
				require.Equal(t, "complete", r.Result["resultType"])
				r = c.do("tools/call", last, nil)
				require.Contains(t, r.Result["_meta"], "steady/task", "a lost reply is joined")
				return
			}
			id := r.Result["taskId"].(string)
			asked := map[string]bool{}
			for range 2 {
				requests := c.await(id, "input_required")["inputRequests"].(map[string]any)
				require.Len(t, requests, 1)
				for key := range requests {
					require.False(t, asked[key], "%s is used twice", key)
					asked[key] = true
					// What nobody asked for is ignored, whatever it is.
					answers := map[string]any{key: ada, "unknown": map[string]any{"ignored": true}, "x": 1}
					require.Nil(t, c.do("tasks/update", map[string]any{"taskId": id, "inputResponses": answers}, nil).Error)
				}
			}
			done := c.await(id, "completed")
			require.NotContains(t, done, "inputRequests")
		})
	}
}

// B210: a task is not part of a session; whoever comes back with the same token
// finds it.
func TestResume(t *testing.T) {
	j := newJob()
	m := newManager(t, tasks.Options{Policies: eager})
	c := serveHTTP(t, exportServer(t, j, m), m)
	id := c.create(nil) // by a client that has gone since
	x, cs := c.connect(nil, nil)
	close(j.release)
	c.await(id, "completed")
	res, err := x.Resume(t.Context(), cs, id)
	require.NoError(t, err)
	require.Equal(t, `{"rows":42}`, mcptest.Text(res))
	_, err = x.Resume(t.Context(), cs, "nosuchtask")
	require.ErrorContains(t, err, "Task not found")
}

// What the server says of a call when it becomes a task reaches whoever sees
// only the final result.
func TestJoinIsDisclosedWithTheFinalResult(t *testing.T) {
	j := newJob()
	m := newManager(t, tasks.Options{Policies: map[string]tasks.Policy{"export": {Grace: tasks.Eager, PollInterval: 10 * time.Millisecond}}})
	c := serveHTTP(t, exportServer(t, j, m), m)
	id := c.create(map[string]any{})
	_, cs := c.connect(&tasks.ClientOptions{OnTask: func(_ context.Context, task tasks.Task) {
		if task.Status == tasks.Working {
			close(j.release)
		}
	}}, nil)
	res, err := call(t.Context(), cs, "export", map[string]any{})
	require.NoError(t, err)
	require.Regexp(t, `^\{"rows":42\}\n\(Not started again: this is the call of [0-9.]+m?s ago\.\)$`, mcptest.Text(res))
	require.Equal(t, id, taskID(t, res))
	require.EqualValues(t, 1, j.runs.Load())
}

func TestCancelledByAnother(t *testing.T) {
	j := newJob()
	m := newManager(t, tasks.Options{Policies: map[string]tasks.Policy{"export": {Grace: tasks.Eager, PollInterval: 10 * time.Millisecond}}})
	c := serveHTTP(t, exportServer(t, j, m), m)
	_, cs := c.connect(&tasks.ClientOptions{OnTask: func(_ context.Context, task tasks.Task) {
		if task.Status == tasks.Working {
			c.do("tasks/cancel", map[string]any{"taskId": task.ID}, nil)
		}
	}}, nil)
	_, err := call(t.Context(), cs, "export", nil)
	require.ErrorIs(t, err, tasks.ErrTaskCancelled)
}

// listenOn checks what a client sees over transport that listens to the task
// which id starts.
func listenOn(t *testing.T, transport mcp.Transport, id func(*mcp.ClientSession) string, finish func()) {
	t.Helper()
	messages := make(chan map[string]any, 100)
	client := mcp.NewClient(&mcp.Implementation{Name: "c", Version: "1"}, nil)
	x, err := tasks.InstallClient(client, nil)
	require.NoError(t, err)
	cs, err := client.Connect(t.Context(), &recorder{x.Transport(transport), messages}, nil)
	require.NoError(t, err)
	defer cs.Close()
	task := id(cs)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel() // a session does not close while a custom listen is open
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = mcp.CallCustomMethod[*listenParams, *mcp.SubscriptionsListenResult](ctx, cs, "subscriptions/listen", listenTo(task))
	}()
	acked := <-messages
	require.Equal(t, []any{task}, acked["notifications"].(map[string]any)["taskIds"])
	first := <-messages
	require.Equal(t, task, first["taskId"])
	require.Equal(t, "working", first["status"])
	require.NotEmpty(t, first["_meta"].(map[string]any)[mcp.MetaKeySubscriptionID])
	finish()
	last := <-messages
	require.Equal(t, "completed", last["status"])
	cancel()
	<-ended
}

func TestPushInMemory(t *testing.T) {
	j := newJob()
	m := newManager(t, tasks.Options{Policies: eager})
	server := exportServer(t, j, m)
	clientEnd, serverEnd := mcp.NewInMemoryTransports()
	ss, err := server.Connect(t.Context(), m.Transport(serverEnd), nil)
	require.NoError(t, err)
	listenOn(t, clientEnd, startExport(t, m), func() { close(j.release) })
	_ = ss.Wait() // an error, if the answer to the listen met the closed pipe
}

// startExport returns a function that starts an export and returns its handle,
// by the tools that stand in for the extension: it does not wait for the end.
func startExport(t *testing.T, _ *tasks.Manager) func(cs *mcp.ClientSession) string {
	return func(cs *mcp.ClientSession) string {
		handle := make(chan string, 1)
		ctx, cancel := context.WithCancel(t.Context())
		t.Cleanup(cancel)
		go func() { _, _ = call(ctx, cs, "export", nil) }()
		require.Eventually(t, func() bool {
			res, err := call(ctx, cs, "task_status", nil)
			if err != nil {
				return false
			}
			running := res.StructuredContent.(map[string]any)["tasks"].([]any)
			if len(running) == 0 {
				return false
			}
			handle <- running[0].(map[string]any)["taskId"].(string)
			return true
		}, 10*time.Second, time.Millisecond)
		return <-handle
	}
}

// TestPushOverStdio serves from a process of its own: this one, started again.
func TestPushOverStdio(t *testing.T) {
	if os.Getenv("STEADY_TASKS_STDIO") != "" {
		serveStdio(t)
		return
	}
	release := t.TempDir() + "/release"
	cmd := exec.Command(os.Args[0], "-test.run=^TestPushOverStdio$")
	cmd.Env = append(os.Environ(), "STEADY_TASKS_STDIO="+release)
	cmd.Stderr = os.Stderr
	listenOn(t, &mcp.CommandTransport{Command: cmd}, startExport(t, nil), func() {
		require.NoError(t, os.WriteFile(release, nil, 0o600))
	})
}

func serveStdio(t *testing.T) {
	j := newJob()
	m := newManager(t, tasks.Options{Policies: eager})
	go func() {
		for {
			if _, err := os.Stat(os.Getenv("STEADY_TASKS_STDIO")); err == nil {
				close(j.release)
				return
			}
			time.Sleep(5 * time.Millisecond) // for the file of another process
		}
	}()
	_ = exportServer(t, j, m).Run(t.Context(), m.Transport(&mcp.StdioTransport{}))
	os.Exit(0) // the test binary would print its verdict
}
