package otelobserve_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/steadymcp/steady/discovery"
	"github.com/steadymcp/steady/observe/otelobserve"
)

type noInput struct{}

func addTool(server *mcp.Server, name string, h func(context.Context) (*mcp.CallToolResult, error)) {
	mcp.AddTool(server, &mcp.Tool{Name: name}, func(ctx context.Context, _ *mcp.CallToolRequest, _ noInput) (*mcp.CallToolResult, any, error) {
		res, err := h(ctx)
		return res, nil, err
	})
}

func ok(context.Context) (*mcp.CallToolResult, error) {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "the secret result"}}}, nil
}

func TestCallsAreSpansAndDurations(t *testing.T) {
	both(t, func(t *testing.T, revision string, http bool, connect func(testing.TB, *mcp.Server, string) *mcp.ClientSession) {
		r := newRig(t)
		server := newServer()
		addTool(server, "get_order", ok)
		addTool(server, "refuse", func(context.Context) (*mcp.CallToolResult, error) { return nil, errors.New("private text") })
		server.AddTool(&mcp.Tool{Name: "break", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return nil, &jsonrpc.Error{Code: -32001, Message: "private text"}
		})
		server.AddPrompt(&mcp.Prompt{Name: "greet"}, func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			return &mcp.GetPromptResult{}, nil
		})
		server.AddReceivingMiddleware(r.Middleware())
		cs := connect(t, server, revision)
		ctx := context.Background()
		args := map[string]any{}
		for _, tool := range []string{"get_order", "refuse"} {
			_, err := cs.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: args})
			require.NoError(t, err)
		}
		_, err := cs.CallTool(ctx, &mcp.CallToolParams{Name: "break"})
		require.Error(t, err)
		_, err = cs.GetPrompt(ctx, &mcp.GetPromptParams{Name: "greet"})
		require.NoError(t, err)
		_, err = cs.ListTools(ctx, nil)
		require.NoError(t, err)

		common := map[string]string{"mcp.protocol.version": revision, "network.transport": "pipe"}
		if http {
			common["network.transport"], common["network.protocol.name"] = "tcp", "http"
		}
		for _, c := range []struct {
			span   string
			status codes.Code
			attrs  map[string]string
		}{
			{"tools/call get_order", codes.Unset, map[string]string{"mcp.method.name": "tools/call", "gen_ai.tool.name": "get_order", "gen_ai.operation.name": "execute_tool"}},
			{"tools/call refuse", codes.Error, map[string]string{"mcp.method.name": "tools/call", "gen_ai.tool.name": "refuse", "gen_ai.operation.name": "execute_tool", "error.type": "tool_error"}},
			{"tools/call break", codes.Error, map[string]string{"mcp.method.name": "tools/call", "gen_ai.tool.name": "break", "gen_ai.operation.name": "execute_tool", "error.type": "-32001", "rpc.response.status_code": "-32001"}},
			{"prompts/get greet", codes.Unset, map[string]string{"mcp.method.name": "prompts/get", "gen_ai.prompt.name": "greet"}},
			{"tools/list", codes.Unset, map[string]string{"mcp.method.name": "tools/list"}},
		} {
			maps.Copy(c.attrs, common)
			s := r.span(t, c.span)
			require.Equal(t, trace.SpanKindServer, s.SpanKind)
			require.Equal(t, c.status, s.Status.Code)
			got := texts(s.Attributes)
			session := got["mcp.session.id"]
			require.Equal(t, http && revision == revisions[0], session != "")
			delete(got, "mcp.session.id")
			require.Equal(t, c.attrs, got)

			found := false
			for _, p := range r.points(t, "mcp.server.operation.duration") {
				if maps.Equal(p.attrs, c.attrs) {
					found = true
					require.EqualValues(t, 1, p.count)
				}
			}
			require.True(t, found, "no duration with %v", c.attrs)
		}
		if revision == revisions[0] {
			s := r.span(t, "initialize")
			require.Equal(t, revision, texts(s.Attributes)["mcp.protocol.version"])
		}
		require.NotContains(t, dump(t, r), "private text")
		require.NotContains(t, dump(t, r), "secret result")
	})
}

// dump is everything that was exported.
func dump(t testing.TB, r *rig) string {
	t.Helper()
	var b strings.Builder
	for _, s := range r.spans.GetSpans() {
		fmt.Fprintf(&b, "%s %v %v %v %v\n", s.Name, s.Attributes, s.Status, s.Events, s.Links)
	}
	for _, name := range metricNames(t, r) {
		fmt.Fprintf(&b, "%s %v\n", name, r.points(t, name))
	}
	return b.String()
}

// A peer's names are counted under one value, however many there are, and do not
// cause a listing each.
func TestUnknownNamesAreOneSeries(t *testing.T) {
	both(t, func(t *testing.T, revision string, _ bool, connect func(testing.TB, *mcp.Server, string) *mcp.ClientSession) {
		r := newRig(t)
		server := newServer()
		addTool(server, "get_order", ok)
		server.AddPrompt(&mcp.Prompt{Name: "greet"}, func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			return &mcp.GetPromptResult{}, nil
		})
		var mu sync.Mutex
		seen := map[string]int{}
		server.AddReceivingMiddleware(r.Middleware(), func(next mcp.MethodHandler) mcp.MethodHandler {
			return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
				mu.Lock()
				seen[method]++
				mu.Unlock()
				return next(ctx, method, req)
			}
		})
		cs := connect(t, server, revision)
		for i := range 50 {
			_, _ = cs.CallTool(context.Background(), &mcp.CallToolParams{Name: fmt.Sprintf("peer-text-%d", i)})
			_, _ = cs.GetPrompt(context.Background(), &mcp.GetPromptParams{Name: fmt.Sprintf("peer-text-%d", i)})
		}
		_, _ = cs.CallTool(context.Background(), &mcp.CallToolParams{Name: strings.Repeat("peer-text", 1000)})
		require.NotContains(t, dump(t, r), "peer-text")
		byTool := map[string]uint64{}
		for _, p := range r.points(t, "mcp.server.operation.duration") {
			byTool[p.attrs["gen_ai.tool.name"]+p.attrs["gen_ai.prompt.name"]] += p.count
		}
		require.EqualValues(t, 101, byTool["_OTHER"])
		require.Equal(t, 1, seen["tools/list"])
		require.Equal(t, 1, seen["prompts/list"])
	})
}

// The name of a session's revision is the peer's text in a handshake.
func TestProtocolVersionIsBounded(t *testing.T) {
	r := newRig(t)
	server := newServer()
	addTool(server, "get_order", ok)
	server.AddReceivingMiddleware(r.Middleware())
	raw := rawSession(t, server)
	raw.send(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"peer-text","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`)
	raw.receive()
	raw.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	raw.send(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"get_order","arguments":{}}}`)
	raw.receive()
	raw.send(`{"jsonrpc":"2.0","id":3,"method":"peer-text/method","params":{}}`)
	raw.receive()
	require.NotContains(t, dump(t, r), "peer-text")
	require.Equal(t, "_OTHER", texts(r.span(t, "tools/call get_order").Attributes)["mcp.protocol.version"])
}

// Every revision that the SDK supports is known.
func TestProtocolVersionsOfTheSDK(t *testing.T) {
	r := newRig(t)
	server := newServer()
	server.AddReceivingMiddleware(r.Middleware())
	conn := rawSession(t, server)
	conn.send(`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2999-01-01","io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`)
	res, ok := conn.receive().(*jsonrpc.Response)
	require.True(t, ok)
	var refused *jsonrpc.Error
	require.ErrorAs(t, res.Error, &refused)
	var data struct{ Supported []string }
	require.NoError(t, json.Unmarshal(refused.Data, &data))
	require.Contains(t, data.Supported, revisions[0])
	for _, version := range data.Supported {
		r.spans.Reset()
		conn := rawSession(t, server)
		conn.send(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"` + version + `","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`)
		conn.receive()
		require.NotEqual(t, "_OTHER", texts(r.span(t, "initialize").Attributes)["mcp.protocol.version"], version)
	}
}

type raw struct {
	t    testing.TB
	conn mcp.Connection
}

func rawSession(t testing.TB, server *mcp.Server) raw {
	t.Helper()
	clientEnd, serverEnd := mcp.NewInMemoryTransports()
	ss, err := server.Connect(context.Background(), serverEnd, nil)
	require.NoError(t, err)
	conn, err := clientEnd.Connect(context.Background())
	require.NoError(t, err)
	t.Cleanup(func() {
		_ = conn.Close()
		_ = ss.Wait()
	})
	return raw{t, conn}
}

func (r raw) send(text string) {
	r.t.Helper()
	msg, err := jsonrpc.DecodeMessage([]byte(text))
	require.NoError(r.t, err)
	require.NoError(r.t, r.conn.Write(context.Background(), msg))
}

func (r raw) receive() jsonrpc.Message {
	r.t.Helper()
	msg, err := r.conn.Read(context.Background())
	require.NoError(r.t, err)
	return msg
}

func TestTraceContextComesFromTheClient(t *testing.T) {
	for _, public := range []bool{false, true} {
		t.Run(fmt.Sprintf("public=%v", public), func(t *testing.T) {
			both(t, func(t *testing.T, revision string, overHTTP bool, connect func(testing.TB, *mcp.Server, string) *mcp.ClientSession) {
				r := newRig(t, func(o *otelobserve.Options) { o.PublicEndpoint = public })
				server := newServer()
				var member string
				addTool(server, "get_order", func(ctx context.Context) (*mcp.CallToolResult, error) {
					member = baggage.FromContext(ctx).Member("tenant").Value()
					_, span := r.tracer.Tracer("handler").Start(ctx, "query")
					span.End()
					return ok(ctx)
				})
				server.AddReceivingMiddleware(r.Middleware())
				var cs *mcp.ClientSession
				if overHTTP {
					// An instrumented HTTP server: each request has a span.
					inner := newHandler(server, revision)
					cs = connectHTTP(t, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
						ctx, span := r.tracer.Tracer("http").Start(req.Context(), "http "+req.Method)
						defer span.End()
						inner.ServeHTTP(w, req.WithContext(ctx))
					}), revision)
				} else {
					cs = connect(t, server, revision)
				}
				ctx, span := r.tracer.Tracer("client").Start(context.Background(), "agent")
				m, err := baggage.NewMember("tenant", "t1")
				require.NoError(t, err)
				b, err := baggage.New(m)
				require.NoError(t, err)
				ctx = baggage.ContextWithBaggage(ctx, b)
				carrier := propagation.MapCarrier{}
				w3c.Inject(ctx, carrier)
				meta := mcp.Meta{}
				for k, v := range carrier {
					meta[k] = v
				}
				_, err = cs.CallTool(ctx, &mcp.CallToolParams{Name: "get_order", Arguments: map[string]any{}, Meta: meta})
				require.NoError(t, err)
				span.End()

				agent, call, query := r.span(t, "agent"), r.span(t, "tools/call get_order"), r.span(t, "query")
				require.Equal(t, call.SpanContext.SpanID(), query.Parent.SpanID(), "the handler's span is a child of the call's")
				var linked []trace.SpanID
				for _, l := range call.Links {
					linked = append(linked, l.SpanContext.SpanID())
				}
				if public {
					require.NotEqual(t, agent.SpanContext.TraceID(), call.SpanContext.TraceID())
					require.True(t, slices.Contains(linked, agent.SpanContext.SpanID()))
					require.Empty(t, member, "baggage of an untrusted client is dropped")
					return
				}
				require.Equal(t, "t1", member)
				require.Equal(t, agent.SpanContext.SpanID(), call.Parent.SpanID())
				require.Equal(t, agent.SpanContext.TraceID(), call.SpanContext.TraceID())
				require.Equal(t, overHTTP, len(linked) == 1, "the span of the HTTP request is linked")
			})
		})
	}
}

// Without context in _meta the parent is the span of the HTTP request, if it is
// this request's, or the client's span that the headers name.
func TestParentOverHTTP(t *testing.T) {
	for _, revision := range revisions {
		t.Run(revision, func(t *testing.T) {
			stateless := revision == revisions[1]
			r := newRig(t)
			server := newServer()
			addTool(server, "get_order", ok)
			server.AddReceivingMiddleware(r.Middleware())
			inner := newHandler(server, revision)
			var posts sync.Map
			cs := connectHTTP(t, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
				ctx := w3c.Extract(req.Context(), propagation.HeaderCarrier(req.Header))
				ctx, span := r.tracer.Tracer("http").Start(ctx, "http")
				defer span.End()
				inner.ServeHTTP(w, req.WithContext(ctx))
			}), revision, func(req *http.Request) {
				ctx, span := r.tracer.Tracer("client").Start(req.Context(), "post")
				posts.Store(span.SpanContext().SpanID(), true)
				w3c.Inject(ctx, propagation.HeaderCarrier(req.Header))
				span.End()
			})
			_, err := cs.CallTool(context.Background(), &mcp.CallToolParams{Name: "get_order", Arguments: map[string]any{}})
			require.NoError(t, err)
			call := r.span(t, "tools/call get_order")
			require.True(t, call.Parent.IsValid())
			_, posted := posts.Load(call.Parent.SpanID())
			require.Equal(t, !stateless, posted, "in a session it is the client's span, otherwise the HTTP server's")
			require.Equal(t, stateless, len(call.Links) == 0, "the span that opened the session is linked")
		})
	}
}

// One request opens a session, and does not decide for those that follow: neither
// if its span was not sampled, nor if all that is known of it is the client's span.
func TestTheOpenerOfASessionIsNoParent(t *testing.T) {
	const opener, sampled = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00", "00-1111111111111111222222222222222a-3333333333333333-01"
	for _, spans := range []bool{false, true} {
		t.Run(fmt.Sprintf("spans of the HTTP server=%v", spans), func(t *testing.T) {
			r := newRig(t)
			server := newServer()
			addTool(server, "get_order", ok)
			server.AddReceivingMiddleware(r.Middleware())
			inner := newHandler(server, revisions[0])
			header := opener
			cs := connectHTTP(t, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
				ctx := w3c.Extract(req.Context(), propagation.HeaderCarrier(req.Header))
				if spans {
					var span trace.Span
					ctx, span = r.tracer.Tracer("http").Start(ctx, "http")
					defer span.End()
				}
				inner.ServeHTTP(w, req.WithContext(ctx))
			}), revisions[0], func(req *http.Request) { req.Header.Set("traceparent", header) })
			header = sampled
			_, err := cs.CallTool(context.Background(), &mcp.CallToolParams{Name: "get_order", Arguments: map[string]any{}})
			require.NoError(t, err)
			call := r.span(t, "tools/call get_order")
			require.Equal(t, "1111111111111111222222222222222a", call.SpanContext.TraceID().String())
			require.Equal(t, "3333333333333333", call.Parent.SpanID().String())
			require.Len(t, call.Links, 1)
			require.Equal(t, "0af7651916cd43dd8448eb211c80319c", call.Links[0].SpanContext.TraceID().String())
		})
	}
}

func TestResourceURIs(t *testing.T) {
	for _, wanted := range []bool{false, true} {
		r := newRig(t, func(o *otelobserve.Options) { o.ResourceURIs = wanted })
		server := newServer()
		uri := "file:///" + strings.Repeat("a", 2000)
		server.AddResource(&mcp.Resource{Name: "a", URI: uri}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: uri, Text: "x"}}}, nil
		})
		server.AddReceivingMiddleware(r.Middleware())
		_, err := inMemory(t, server, revisions[1]).ReadResource(context.Background(), &mcp.ReadResourceParams{URI: uri})
		require.NoError(t, err)
		want := ""
		if wanted {
			want = uri[:1024]
		}
		require.Equal(t, want, texts(r.span(t, "resources/read").Attributes)["mcp.resource.uri"])
		for _, p := range r.points(t, "mcp.server.operation.duration") {
			require.NotContains(t, p.attrs, "mcp.resource.uri")
		}
	}
}

// A tool that is added later is found, when the server may be asked again.
func TestNamesAreLearned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		tools := []*mcp.Tool{{Name: "a"}}
		h := r.Middleware()(func(_ context.Context, method string, _ mcp.Request) (mcp.Result, error) {
			if method == "tools/list" {
				return &mcp.ListToolsResult{Tools: tools}, nil
			}
			return &mcp.CallToolResult{}, nil
		})
		call := func(name string) string {
			r.spans.Reset()
			_, err := h(context.Background(), "tools/call", &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Name: name}})
			require.NoError(t, err)
			return r.spans.GetSpans()[0].Name
		}
		require.Equal(t, "tools/call a", call("a"))
		tools = append(tools, &mcp.Tool{Name: "b"})
		require.Equal(t, "tools/call _OTHER", call("b"), "not asked again so soon")
		time.Sleep(10 * time.Second) // the bubble's clock
		require.Equal(t, "tools/call b", call("b"))
	})
}

// Names that become known while a call runs, and names that another server of the
// same Telemetry has, are those of the tool that ran.
func TestTheSpanNamesTheToolThatRan(t *testing.T) {
	r := newRig(t)
	route := map[string]string{"find": "search"}
	h := r.Middleware()(func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if method == "tools/list" {
			return &mcp.ListToolsResult{}, nil // another caller's, or there is none yet
		}
		name := req.(*mcp.CallToolRequest).Params.Name
		if to := route[name]; to != "" {
			r.Observe(ctx, discovery.Routed{Method: method, Requested: name, Tool: to, Step: discovery.StepVerb})
		} else {
			r.Observe(ctx, discovery.Exact{Tool: name})
		}
		if name == "call_api" { // calls a tool itself
			r.Observe(ctx, discovery.Routed{Method: method, Requested: "lampAttic", Tool: "lamp_attic", Step: discovery.StepFold})
		}
		return &mcp.CallToolResult{}, nil
	})
	call := func(name string) string {
		r.spans.Reset()
		_, err := h(context.Background(), "tools/call", &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Name: name}})
		require.NoError(t, err)
		return r.spans.GetSpans()[0].Name
	}
	require.Equal(t, "tools/call get_order", call("get_order"))
	require.Equal(t, "tools/call search", call("find"))
	r.Observe(context.Background(), discovery.Exact{Tool: "find"}) // on another server
	require.Equal(t, "tools/call search", call("find"))
	r.Observe(context.Background(), discovery.Exact{Tool: "call_api"})
	require.Equal(t, "tools/call call_api", call("call_api"))
}

func TestPanicEndsTheSpan(t *testing.T) {
	r := newRig(t)
	h := r.Middleware()(func(context.Context, string, mcp.Request) (mcp.Result, error) { panic("private text") })
	require.Panics(t, func() { _, _ = h(context.Background(), "tools/list", &mcp.ListToolsRequest{}) })
	require.Equal(t, "panic", texts(r.span(t, "tools/list").Attributes)["error.type"])
}

func TestCancelledIsNoServerError(t *testing.T) {
	r := newRig(t)
	h := r.Middleware()(func(ctx context.Context, _ string, _ mcp.Request) (mcp.Result, error) { return nil, ctx.Err() })
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, _ = h(ctx, "tools/list", &mcp.ListToolsRequest{})
	require.Equal(t, "cancelled", texts(r.span(t, "tools/list").Attributes)["error.type"])
}

func TestSessionsAreMeasured(t *testing.T) {
	r := newRig(t)
	server := newServer()
	server.AddReceivingMiddleware(r.Middleware())
	cs := inMemory(t, server, revisions[0])
	require.EqualValues(t, 1, r.sum(t, "steady.sessions.active"))
	require.NoError(t, cs.Close())
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	require.NoError(t, r.Close(ctx))
	require.EqualValues(t, 0, r.sum(t, "steady.sessions.active"))
	points := r.points(t, "mcp.server.session.duration")
	require.Len(t, points, 1)
	require.EqualValues(t, 1, points[0].count)
	require.Equal(t, map[string]string{"mcp.protocol.version": revisions[0], "network.transport": "pipe"}, points[0].attrs)
}

func TestCloseRecordsOpenSessions(t *testing.T) {
	r := newRig(t)
	server := newServer()
	server.AddReceivingMiddleware(r.Middleware())
	_ = inMemory(t, server, revisions[0])
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	require.ErrorContains(t, r.Close(ctx), "1 sessions were still open")
	require.Len(t, r.points(t, "mcp.server.session.duration"), 1)
	require.NoError(t, r.Close(ctx), "nothing is left")
}

func TestManySessionsAtOnce(t *testing.T) {
	r := newRig(t)
	server := newServer()
	for _, name := range []string{"a", "b", "c", "d"} {
		addTool(server, name, ok)
	}
	server.AddReceivingMiddleware(r.Middleware())
	const sessions, calls = 64, 8
	var wg sync.WaitGroup
	for i := range sessions {
		cs := inMemory(t, server, revisions[i%2])
		wg.Go(func() {
			for j := range calls {
				name := string(rune('a' + j%5)) // "e" is unknown
				_, _ = cs.CallTool(context.Background(), &mcp.CallToolParams{Name: name, Arguments: map[string]any{}})
			}
		})
	}
	wg.Wait()
	var count uint64
	for _, p := range r.points(t, "mcp.server.operation.duration") {
		if p.attrs["mcp.method.name"] == "tools/call" {
			count += p.count
		}
	}
	require.EqualValues(t, sessions*calls, count)
	require.EqualValues(t, sessions/2, r.sum(t, "steady.sessions.active"))
}
