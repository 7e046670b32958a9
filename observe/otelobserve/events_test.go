package otelobserve_test

import (
	"context"
	stderrors "errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/codes"

	"github.com/steadymcp/steady"
	"github.com/steadymcp/steady/catalog"
	"github.com/steadymcp/steady/discovery"
	"github.com/steadymcp/steady/errors"
	"github.com/steadymcp/steady/limits"
	"github.com/steadymcp/steady/observe"
	"github.com/steadymcp/steady/pagination"
	"github.com/steadymcp/steady/registry"
	"github.com/steadymcp/steady/stdioguard"
	"github.com/steadymcp/steady/tasks"
)

const private = "private text"

// counted says what each event adds to. Every event of every package is here;
// TestEveryEventIsCounted sees to that.
var counted = []struct {
	event  observe.Event
	metric string // "" if it is in steady.events only
	by     float64
	attrs  map[string]string
}{
	{observe.Dropped{Events: 3}, "steady.events.dropped", 3, nil},

	{errors.Panicked{Method: "tools/call", Name: "get_order", Incident: "I", Value: private, Stack: private}, "steady.panics", 1, tool("get_order")},
	{errors.Panicked{Method: "prompts/get", Name: private}, "steady.panics", 1, map[string]string{"gen_ai.prompt.name": "_OTHER"}},
	{errors.Panicked{Value: private}, "steady.panics", 1, nil},
	{errors.Panicked{Method: "tools/call", Name: private}, "steady.panics", 1, tool("_OTHER")},
	{errors.Hidden{Method: "tools/call", Name: "get_order", Incident: "I", Err: stderrors.New(private)}, "steady.failures", 1, tool("get_order", "steady.failure.kind", "hidden")},
	{errors.Failed{Method: "tools/call", Name: "get_order", Kind: errors.KindConflict, Err: stderrors.New(private)}, "steady.failures", 1, tool("get_order", "steady.failure.kind", "conflict")},
	{errors.Failed{Method: "tools/call", Name: private, Err: stderrors.New(private)}, "steady.failures", 1, tool("_OTHER", "steady.failure.kind", "none")},
	{errors.NilResult{Name: private}, "", 1, nil},

	{discovery.Exact{Tool: "get_order"}, "", 1, nil},
	{discovery.Routed{Method: "tools/call", Requested: private, Tool: "get_order", Step: discovery.StepTypo, Reason: private}, "steady.discovery.rewrites", 1, tool("get_order", "steady.rewrite.part", "name", "steady.rewrite.step", "typo")},
	{discovery.Routed{Method: "prompts/get", Requested: private, Tool: "greet", Step: discovery.StepFold}, "steady.discovery.rewrites", 1, map[string]string{"gen_ai.prompt.name": "greet", "steady.rewrite.part": "prompt", "steady.rewrite.step": "fold"}},
	{discovery.Routed{Method: "resources/read", Tool: private, Step: discovery.StepClean}, "steady.discovery.rewrites", 1, map[string]string{"steady.rewrite.part": "resource", "steady.rewrite.step": "clean"}},
	{discovery.Repaired{Tool: "get_order", Change: discovery.Change{Path: private, Kind: "boolean", From: private}}, "steady.discovery.rewrites", 1, tool("get_order", "steady.rewrite.part", "argument", "steady.rewrite.step", "boolean")},
	{discovery.Suggested{Requested: private, Names: []string{private}}, "steady.discovery.suggestions", 1, nil},
	{discovery.Missed{Requested: private}, "steady.discovery.misses", 1, nil},
	{discovery.Refused{Tool: "get_order", Paths: []string{private}}, "steady.discovery.refusals", 1, tool("get_order")},
	{discovery.Leaked{Tool: "get_order", Path: private}, "", 1, nil},

	{limits.Refused{Tool: "get_order", Reason: "queue full", Bound: "server", Caller: private}, "steady.limits.refusals", 1, tool("get_order", "steady.reason", "queue full", "steady.bound", "server")},
	{limits.Refused{Tool: private, Reason: "rate", Bound: "caller", Caller: private}, "steady.limits.refusals", 1, tool("_OTHER", "steady.reason", "rate", "steady.bound", "caller")},
	{limits.Overran{Tool: "get_order", Deadline: time.Second}, "steady.limits.timeouts", 1, tool("get_order")},
	{limits.Returned{Tool: "get_order", After: time.Second}, "", 1, nil},

	{pagination.Cut{Tool: "get_order", Bytes: 9, Limit: 8}, "steady.pagination.cuts", 1, tool("get_order")},
	{pagination.Cut{Tool: "get_order", Kept: true}, "steady.pagination.spills", 1, tool("get_order")},
	{pagination.Refused{Tool: "get_order"}, "steady.pagination.refusals", 1, tool("get_order")},
	{pagination.Cut{Bytes: 9, Limit: 8}, "steady.pagination.cuts", 1, nil},
	{pagination.CursorRejected{Tool: "get_order", Reason: pagination.CursorForeign}, "steady.pagination.cursor_rejections", 1, tool("get_order", "steady.reason", "foreign")},

	{registry.FormerNameCalled{Name: "lookup", Tool: "get_order", Gone: true}, "steady.registry.former_names", 1, tool("get_order", "steady.former_name", "lookup", "steady.gone", "true")},
	{registry.RegistrationRefused{Tool: private, Reason: private}, "", 1, nil},
	{registry.SchemaCleaned{Tool: private}, "", 1, nil},

	{tasks.Created{Task: "T", Tool: "get_order"}, "steady.tasks", 1, tool("get_order", "steady.task.state", "created")},
	{tasks.Joined{Task: "T", Tool: "get_order"}, "steady.tasks", 1, tool("get_order", "steady.task.state", "joined")},
	{tasks.Ended{Task: "T", Tool: "get_order", Status: tasks.Completed, ToolError: true, Ran: time.Second}, "steady.tasks", 1, tool("get_order", "steady.task.state", "completed", "error.type", "tool_error")},
	{tasks.Ended{Task: "T", Tool: "get_order", Status: tasks.Failed, Cause: stderrors.New(private)}, "steady.tasks", 1, tool("get_order", "steady.task.state", "failed")},
	{tasks.Ended{Task: "T", Tool: "get_order", Status: tasks.Cancelled, Ran: 2 * time.Second}, "steady.task.duration", 2, tool("get_order", "steady.task.state", "cancelled")},
	{tasks.HandedOver{Task: "T", Tool: "get_order"}, "steady.tasks", 1, tool("get_order", "steady.task.state", "handed_over")},
	{tasks.Lost{Task: "T", Tool: "get_order"}, "steady.tasks", 1, tool("get_order", "steady.task.state", "lost")},
	{tasks.Dropped{Task: "T", Tool: "get_order", Reason: private}, "steady.tasks", 1, tool("get_order", "steady.task.state", "dropped")},
	{tasks.Refused{Tool: "get_order", Reason: "queue full"}, "steady.tasks", 1, tool("get_order", "steady.task.state", "refused", "steady.reason", "queue full")},
	{tasks.Panicked{Task: "T", Tool: "get_order", Value: private, Stack: private}, "steady.panics", 1, tool("get_order")},
	{tasks.Denied{Verb: "tasks/get", Task: private, Reason: "foreign", Caller: private}, "steady.tasks.denials", 1, map[string]string{"steady.reason": "foreign"}},
	{tasks.OperationFailed{Operation: "update", Err: stderrors.New(private)}, "steady.tasks.operation_failures", 1, map[string]string{"steady.reason": "update"}},

	{catalog.Refreshed{Version: private}, "", 1, nil},
	{catalog.RefreshFailed{Err: stderrors.New(private)}, "", 1, nil},
	{catalog.LeftOut{}, "", 1, nil},
	{catalog.Missed{Weak: true}, "steady.catalog.misses", 1, map[string]string{"steady.weak": "true"}},
	{catalog.Called{Entry: private, Failed: true}, "steady.catalog.calls", 1, map[string]string{"error.type": "tool_error"}},
	{catalog.PathRefused{Reason: private}, "", 1, nil},
	{catalog.FeedbackGiven{Category: private, Severity: private, Endpoint: private}, "", 1, nil},
	{catalog.FeedbackLost{Err: stderrors.New(private)}, "", 1, nil},

	{stdioguard.Late{}, "", 1, nil},
	{stdioguard.Misplaced{Problem: private}, "", 1, nil},
	{stdioguard.Diverted{FirstLine: private, Lines: 2, Bytes: 40}, "steady.stdio.diverted.size", 40, nil},
	{stdioguard.Diverted{FirstLine: private, Lines: 2, Bytes: 40}, "steady.stdio.diverted.lines", 2, nil},
	{stdioguard.Rejected{Count: 5, Reason: private}, "steady.stdio.rejections", 5, nil},
	{stdioguard.TooLarge{Tool: private}, "", 1, nil},
	{stdioguard.Overloaded{}, "", 1, nil},
	{stdioguard.Draining{Cause: stderrors.New(private)}, "", 1, nil},
	{stdioguard.Cancelled{Cause: stderrors.New(private), InFlight: 2}, "steady.shutdown.cancelled", 2, nil},
	{stdioguard.Abandoned{InFlight: 4}, "steady.shutdown.abandoned", 4, nil},
	{stdioguard.Missed{Events: map[string]int{private: 2, "stdioguard.diverted": 1}}, "steady.events.dropped", 3, nil},

	{steady.Serving{URL: private}, "", 1, nil},
	{steady.Draining{Calls: 2}, "", 1, nil},
	{steady.Cancelled{Calls: 2}, "steady.shutdown.cancelled", 2, nil},
	{steady.TurnedAway{Status: 503, Reason: "too many sessions"}, "steady.http.refusals", 1, map[string]string{"steady.reason": "too many sessions"}},
}

func tool(name string, attrs ...string) map[string]string {
	m := map[string]string{"gen_ai.tool.name": name}
	for i := 0; i < len(attrs); i += 2 {
		m[attrs[i]] = attrs[i+1]
	}
	return m
}

func TestEvents(t *testing.T) {
	for _, c := range counted {
		t.Run(fmt.Sprintf("%s/%s", c.event.EventName(), c.metric), func(t *testing.T) {
			r := newRig(t)
			r.Observe(context.Background(), discovery.Exact{Tool: "get_order"}) // makes the name known
			r.Observe(context.Background(), c.event)
			level := slog.LevelInfo
			if l, ok := c.event.(observe.Leveler); ok {
				level = l.EventLevel()
			}
			require.EqualValues(t, 1+btof(c.event == observe.Event(discovery.Exact{Tool: "get_order"})),
				r.sum(t, "steady.events", "steady.event.name", c.event.EventName(), "steady.event.level", level.String()))
			require.NotContains(t, dump(t, r), private)
			if c.metric == "" {
				return
			}
			points := r.points(t, c.metric)
			require.Len(t, points, 1)
			require.InDelta(t, c.by, points[0].value, 1e-9)
			if c.attrs == nil {
				c.attrs = map[string]string{}
			}
			require.Equal(t, c.attrs, points[0].attrs)
		})
	}
}

func btof(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// TestEveryEventIsCounted finds the event types in the source of all packages,
// so that a new one has to be added above.
func TestEveryEventIsCounted(t *testing.T) {
	known := map[string]bool{}
	for _, c := range counted {
		known[strings.TrimPrefix(reflect.TypeOf(c.event).String(), "*")] = true
	}
	var files []string
	for _, pattern := range []string{"../../*.go", "../../*/*.go"} {
		matches, err := filepath.Glob(pattern)
		require.NoError(t, err)
		files = append(files, matches...)
	}
	require.Greater(t, len(files), 50)
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		syntax, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		require.NoError(t, err)
		for _, decl := range syntax.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if !ok || fn.Name.Name != "EventName" || fn.Recv == nil {
				continue
			}
			recv := fn.Recv.List[0].Type
			if star, ok := recv.(*ast.StarExpr); ok {
				recv = star.X
			}
			name := syntax.Name.Name + "." + recv.(*ast.Ident).Name
			require.True(t, known[name], "%s: %s is not in the table", file, name)
		}
	}
}

type foreign struct{ name string }

func (f foreign) EventName() string  { return f.name }
func (foreign) LogValue() slog.Value { return slog.Value{} }

// The events of others are counted by name, as many names as are sane.
func TestForeignEventsAreBounded(t *testing.T) {
	r := newRig(t)
	r.Observe(context.Background(), nil)
	for i := range 1000 {
		r.Observe(context.Background(), foreign{fmt.Sprintf("app.event_%d", i)})
	}
	require.LessOrEqual(t, len(r.points(t, "steady.events")), 257)
	require.EqualValues(t, 1000, r.sum(t, "steady.events"))
}

// With both halves the span of a call shows what became of it.
func TestWrappedServer(t *testing.T) {
	both(t, func(t *testing.T, revision string, _ bool, connect func(testing.TB, *mcp.Server, string) *mcp.ClientSession) {
		r := newRig(t)
		server := newServer()
		mcp.AddTool(server, &mcp.Tool{Name: "get_order", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}}, func(context.Context, *mcp.CallToolRequest, struct {
			ID int `json:"id"`
		}) (*mcp.CallToolResult, any, error) {
			return &mcp.CallToolResult{}, nil, nil
		})
		addTool(server, "explode", func(context.Context) (*mcp.CallToolResult, error) { panic(private) })
		addTool(server, "big", func(context.Context) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: strings.Repeat(private+"\n", 20000)}}}, nil
		})
		server.AddPrompt(&mcp.Prompt{Name: "greet"}, func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			return &mcp.GetPromptResult{}, nil
		})
		stack, err := steady.Wrap(server, &steady.Options{Observer: r})
		require.NoError(t, err)
		t.Cleanup(func() { _ = stack.Close(context.Background()) })
		server.AddReceivingMiddleware(r.Middleware())
		cs := connect(t, server, revision)
		call := func(name string, args map[string]any) {
			_, err := cs.CallTool(context.Background(), &mcp.CallToolParams{Name: name, Arguments: args})
			require.NoError(t, err)
		}
		_, err = cs.GetPrompt(context.Background(), &mcp.GetPromptParams{Name: "Greet"})
		require.NoError(t, err)
		require.Equal(t, "greet", texts(r.span(t, "prompts/get greet").Attributes)["gen_ai.prompt.name"])

		call("getOrder", map[string]any{"id": "5"})
		s := r.span(t, "tools/call get_order")
		require.Equal(t, "get_order", texts(s.Attributes)["gen_ai.tool.name"])
		var names []string
		for _, e := range s.Events {
			names = append(names, e.Name)
		}
		require.Subset(t, names, []string{"discovery.routed"})
		require.EqualValues(t, 1, r.sum(t, "steady.discovery.rewrites", "steady.rewrite.part", "name", "gen_ai.tool.name", "get_order"))

		call("explode", map[string]any{})
		s = r.span(t, "tools/call explode")
		require.Len(t, texts(s.Attributes)["steady.incident"], 12)
		require.Equal(t, "tool_error", texts(s.Attributes)["error.type"])
		require.EqualValues(t, 1, r.sum(t, "steady.panics", "gen_ai.tool.name", "explode"))

		call("big", map[string]any{})
		require.EqualValues(t, 1, r.sum(t, "steady.pagination.cuts", "gen_ai.tool.name", "big"))
		call("nothing_like_it", map[string]any{})
		require.EqualValues(t, 1, r.sum(t, "steady.discovery.misses")+r.sum(t, "steady.discovery.suggestions"))
		require.NotContains(t, dump(t, r), private)
		require.NotContains(t, dump(t, r), "nothing_like_it")
		require.NotContains(t, dump(t, r), "getOrder")
	})
}

// An endpoint for both eras, with a server for each request: one Telemetry
// reports all of them, and has every session once the endpoint has stopped.
func TestEndpoint(t *testing.T) {
	r := newRig(t)
	endpoint, err := steady.Handler(func(*http.Request) *mcp.Server {
		server := newServer()
		addTool(server, "get_order", ok)
		_, err := steady.Wrap(server, &steady.Options{Observer: r})
		require.NoError(t, err)
		server.AddReceivingMiddleware(r.Middleware())
		return server
	}, &steady.HTTPOptions{Observer: r})
	require.NoError(t, err)
	for _, revision := range revisions {
		cs := connectHTTP(t, endpoint, revision)
		_, err := cs.CallTool(context.Background(), &mcp.CallToolParams{Name: "get_order", Arguments: map[string]any{}})
		require.NoError(t, err)
	}
	require.EqualValues(t, 1, r.sum(t, "steady.sessions.active"))
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	require.NoError(t, endpoint.Shutdown(ctx))
	require.NoError(t, r.Close(ctx))
	require.EqualValues(t, 0, r.sum(t, "steady.sessions.active"))
	versions := map[string]uint64{}
	for _, p := range r.points(t, "mcp.server.operation.duration") {
		if p.attrs["mcp.method.name"] == "tools/call" {
			versions[p.attrs["mcp.protocol.version"]] += p.count
			require.Equal(t, "tcp", p.attrs["network.transport"])
		}
	}
	require.Equal(t, map[string]uint64{revisions[0]: 1, revisions[1]: 1}, versions)
}

// A task that outlives its call has a span of its own below the call's, however
// it ends.
func TestBackgroundRunIsASpan(t *testing.T) {
	for _, cancelled := range []bool{false, true} {
		t.Run(fmt.Sprintf("cancelled=%v", cancelled), func(t *testing.T) {
			r := newRig(t)
			server := newServer()
			release := make(chan struct{})
			addTool(server, "export", func(ctx context.Context) (*mcp.CallToolResult, error) {
				select {
				case <-release:
				case <-ctx.Done():
				}
				_, span := r.tracer.Tracer("handler").Start(ctx, "query")
				span.End()
				return ok(ctx)
			})
			stack, err := steady.Wrap(server, &steady.Options{Observer: r, Tasks: &tasks.Options{
				Policies: map[string]tasks.Policy{"export": {Support: tasks.Optional, Grace: time.Millisecond}},
			}})
			require.NoError(t, err)
			server.AddReceivingMiddleware(r.Middleware())
			cs := inMemory(t, server, revisions[0])
			res, err := cs.CallTool(context.Background(), &mcp.CallToolParams{Name: "export", Arguments: map[string]any{}})
			require.NoError(t, err)
			if cancelled {
				handle := res.StructuredContent.(map[string]any)["task"].(map[string]any)
				res, err := cs.CallTool(context.Background(), &mcp.CallToolParams{Name: "task_cancel", Arguments: map[string]any{"task_id": handle["taskId"]}})
				require.NoError(t, err)
				require.False(t, res.IsError)
			} else {
				close(release)
			}
			ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
			defer cancel()
			require.NoError(t, stack.Close(ctx))
			call, task, query := r.span(t, "tools/call export"), r.span(t, "task export"), r.span(t, "query")
			require.Equal(t, call.SpanContext.TraceID(), task.SpanContext.TraceID())
			require.Equal(t, call.SpanContext.SpanID(), task.Parent.SpanID())
			require.Equal(t, call.SpanContext.SpanID(), task.Links[0].SpanContext.SpanID())
			require.Equal(t, call.SpanContext.SpanID(), query.Parent.SpanID())
			state := "completed"
			if cancelled {
				state = "cancelled"
			}
			require.Equal(t, state, texts(task.Attributes)["steady.task.state"])
			require.EqualValues(t, 1, r.sum(t, "steady.tasks", "steady.task.state", state, "gen_ai.tool.name", "export"))
		})
	}
}

// What a client is told after its call was answered is found by its id as well.
func TestIncidentOfATaskIsOnItsSpan(t *testing.T) {
	for name, end := range map[string]func() error{
		"error": func() error {
			return fmt.Errorf("writing: %w", &os.PathError{Op: "open", Path: "/exports", Err: os.ErrPermission})
		},
		"panic": func() error { panic("no bucket") },
	} {
		t.Run(name, func(t *testing.T) { incidentOfATask(t, end) })
	}
}

func incidentOfATask(t *testing.T, end func() error) {
	r := newRig(t)
	server := newServer()
	release := make(chan struct{})
	addTool(server, "export", func(context.Context) (*mcp.CallToolResult, error) {
		<-release
		return nil, end()
	})
	stack, err := steady.Wrap(server, &steady.Options{Observer: r, Tasks: &tasks.Options{
		Policies: map[string]tasks.Policy{"export": {Grace: time.Millisecond}},
	}})
	require.NoError(t, err)
	server.AddReceivingMiddleware(r.Middleware())
	cs := inMemory(t, server, revisions[0])
	res, err := cs.CallTool(context.Background(), &mcp.CallToolParams{Name: "export", Arguments: map[string]any{}})
	require.NoError(t, err)
	handle := res.StructuredContent.(map[string]any)["task"].(map[string]any)
	close(release)
	res, err = cs.CallTool(context.Background(), &mcp.CallToolParams{Name: "task_result", Arguments: map[string]any{"task_id": handle["taskId"]}})
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	require.NoError(t, stack.Close(ctx))
	incident := texts(r.span(t, "task export").Attributes)["steady.incident"]
	require.NotEmpty(t, incident)
	require.Contains(t, res.Content[0].(*mcp.TextContent).Text, "internal error (incident "+incident+")")
}

// The calls of tasks that never end are forgotten, the oldest first.
func TestRunsAreBounded(t *testing.T) {
	r := newRig(t)
	const runs = 4096
	h := r.Middleware()(func(ctx context.Context, _ string, _ mcp.Request) (mcp.Result, error) {
		for i := range runs + 1 {
			r.Observe(ctx, tasks.Created{Task: fmt.Sprint(i), Tool: "export"})
		}
		return &mcp.ListToolsResult{}, nil
	})
	_, err := h(context.Background(), "tools/list", &mcp.ListToolsRequest{})
	require.NoError(t, err)
	r.spans.Reset()
	for _, id := range []int{0, 1, runs} {
		r.Observe(context.Background(), tasks.Ended{Task: fmt.Sprint(id), Status: tasks.Completed})
	}
	var parents []bool
	for _, s := range r.spans.GetSpans() {
		parents = append(parents, s.Parent.IsValid())
	}
	require.Equal(t, []bool{false, true, true}, parents)
}

// A task that this process did not take the call of is seen as well, unless the
// Telemetry only counts.
func TestRunOfAnotherProcessIsASpan(t *testing.T) {
	for _, spans := range []bool{false, true} {
		t.Run(fmt.Sprintf("middleware=%v", spans), func(t *testing.T) {
			r := newRig(t)
			ctx, other := r.tracer.Tracer("cancels").Start(context.Background(), "other")
			if spans {
				r.Middleware()
			}
			r.Observe(ctx, tasks.Ended{Task: "T", Tool: "export", Status: tasks.Failed, Ran: time.Minute})
			other.End()
			require.EqualValues(t, 1, r.sum(t, "steady.tasks", "steady.task.state", "failed"))
			if !spans {
				require.Len(t, r.spans.GetSpans(), 1)
				return
			}
			task := r.span(t, "task export")
			require.False(t, task.Parent.IsValid())
			require.Equal(t, "T", texts(task.Attributes)["steady.task.id"])
			require.Equal(t, codes.Error, task.Status.Code)
			require.WithinDuration(t, task.StartTime.Add(time.Minute), task.EndTime, time.Second)
		})
	}
}
