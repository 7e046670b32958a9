package registry_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/steadymcp/steady/internal/mcptest"
	"github.com/steadymcp/steady/observe"
	"github.com/steadymcp/steady/registry"
)

func call(t testing.TB, cs *mcp.ClientSession, name, args string) (*mcp.CallToolResult, error) {
	t.Helper()
	return cs.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: json.RawMessage(args)})
}

// requireUnknown requires that calling hidden is answered exactly like calling
// a tool that does not exist, but for the name.
func requireUnknown(t testing.TB, cs *mcp.ClientSession, hidden string) {
	t.Helper()
	bare := mcptest.Connect(t, mcptest.Server(), cs.InitializeResult().ProtocolVersion)
	_, want := call(t, bare, hidden, `{}`)
	_, got := call(t, cs, hidden, `{}`)
	var a, b *jsonrpc.Error
	require.ErrorAs(t, want, &a)
	require.ErrorAs(t, got, &b)
	require.Equal(t, a, b)
}

func readOnlyTool(name string) *mcp.Tool {
	return &mcp.Tool{Name: name, Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}}
}

var emptyObject = json.RawMessage(`{"type":"object"}`)

func foreign(name string, readOnly bool) *mcp.Tool {
	return &mcp.Tool{Name: name, InputSchema: emptyObject, Annotations: &mcp.ToolAnnotations{ReadOnlyHint: readOnly}}
}

func TestReadOnlyMode(t *testing.T) {
	t.Parallel()
	for _, revision := range mcptest.Revisions {
		server := mcptest.Server()
		r := registry.New(server, &registry.Options{ReadOnly: true, Observer: observe.Discard})
		require.NoError(t, registry.AddRaw(r, readOnlyTool("look"), raw))
		require.NoError(t, registry.AddRaw(r, &mcp.Tool{Name: "change"}, raw, registry.Renamed("alter", "")))
		server.AddTool(foreign("other_look", true), raw)
		server.AddTool(foreign("other_change", false), raw)
		cs := mcptest.Connect(t, server, revision)
		require.Equal(t, []string{"other_look", "look"}, listed(t, cs))
		for _, hidden := range []string{"change", "alter", "other_change", "nothing"} {
			requireUnknown(t, cs, hidden)
		}
		for _, shown := range []string{"look", "other_look"} {
			_, err := call(t, cs, shown, `{}`)
			require.NoError(t, err)
		}
		r.SetReadOnly(false)
		require.Equal(t, []string{"other_change", "other_look", "look", "change"}, listed(t, cs))
		_, err := call(t, cs, "alter", `{}`)
		require.NoError(t, err)
	}
}

func TestGroups(t *testing.T) {
	t.Parallel()
	for _, revision := range mcptest.Revisions {
		synctest.Test(t, func(t *testing.T) {
			server := mcptest.Server()
			r := registry.New(server, quiet())
			addRaw(t, r, "look")
			require.NoError(t, registry.AddRaw(r, &mcp.Tool{Name: "repair"}, raw, registry.Group("admin")))
			changed := 0
			client := mcp.NewClient(&mcp.Implementation{Name: "c"}, &mcp.ClientOptions{
				ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { changed++ },
			})
			cs := mcptest.ConnectClient(t, server, client, revision)
			both := r.Fingerprint()

			require.NoError(t, r.SetEnabled("admin", false))
			require.NoError(t, r.SetEnabled("admin", false))
			time.Sleep(time.Second)
			synctest.Wait()
			require.Equal(t, 1, changed)
			require.Equal(t, []string{"look"}, listed(t, cs))
			requireUnknown(t, cs, "repair")
			require.NotEqual(t, both, r.Fingerprint())

			require.NoError(t, r.SetEnabled("admin", true))
			time.Sleep(time.Second)
			synctest.Wait()
			require.Equal(t, 2, changed)
			require.Equal(t, []string{"look", "repair"}, listed(t, cs))
			_, err := call(t, cs, "repair", `{}`)
			require.NoError(t, err)
			require.Equal(t, both, r.Fingerprint())

			require.ErrorContains(t, r.SetEnabled("nobody", true), "no tool belongs")
			require.Error(t, r.SetEnabled("", true))
			require.NoError(t, cs.Close())
		})
	}
}

type callerKey struct{}

func TestVisibility(t *testing.T) {
	t.Parallel()
	staff := func(ctx context.Context, _ mcp.Request, _ *mcp.Tool) bool { return ctx.Value(callerKey{}) == "staff" }
	for _, revision := range mcptest.Revisions {
		server := mcp.NewServer(&mcp.Implementation{Name: "s"}, &mcp.ServerOptions{PageSize: 2})
		r := registry.New(server, &registry.Options{Observer: observe.Discard, VisibleTo: func(ctx context.Context, _ mcp.Request, tool *mcp.Tool) bool {
			return tool.Name != "secret" && tool.Name != "foreign_secret"
		}})
		addRaw(t, r, "look")
		require.NoError(t, registry.AddRaw(r, &mcp.Tool{Name: "refund"}, raw, registry.VisibleTo(staff), registry.Aliases("pay_back")))
		addRaw(t, r, "secret", "ask")
		server.AddTool(foreign("foreign", true), raw)
		server.AddTool(foreign("foreign_secret", true), raw)
		caller := "guest"
		server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
			return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
				return next(context.WithValue(ctx, callerKey{}, caller), method, req)
			}
		})
		cs := mcptest.Connect(t, server, revision)
		require.Equal(t, []string{"foreign", "look", "ask"}, listed(t, cs))
		for _, hidden := range []string{"refund", "pay_back", "secret", "foreign_secret"} {
			requireUnknown(t, cs, hidden)
		}
		list, err := cs.ListTools(t.Context(), nil)
		require.NoError(t, err)
		require.Equal(t, "private", list.CacheScope, "another caller must not be served this list")

		caller = "staff"
		require.Equal(t, []string{"foreign", "look", "refund", "ask"}, listed(t, cs))
		_, err = call(t, cs, "pay_back", `{}`)
		require.NoError(t, err)
		_, err = call(t, cs, "foreign", `{}`)
		require.NoError(t, err)
	}
}

type findInput struct {
	Query string `json:"query"`
	Scope string `json:"scope"`
	Limit int    `json:"limit,omitempty"`
}

func TestMetadata(t *testing.T) {
	t.Parallel()
	r := registry.New(nil, quiet())
	require.NoError(t, registry.Add(r, &mcp.Tool{Name: "search"}, search,
		registry.Aliases("find"), registry.ArgumentAliases("query", "question", "q"), registry.Group("g"),
		registry.Example("the usual", map[string]any{"query": "x"}),
		registry.Renamed("lookup", "2099-01-31", registry.RenamedArgument("text", "query"))))
	addRaw(t, r, "plain")

	tool, notice, ok := r.ResolveAlias("find")
	require.Equal(t, []any{"search", "", true}, []any{tool, notice, ok})
	tool, notice, ok = r.ResolveAlias("lookup")
	require.Equal(t, []any{"search", "lookup is now called search; the former name works until 2099-01-31.", true}, []any{tool, notice, ok})
	_, _, ok = r.ResolveAlias("search")
	require.False(t, ok)
	require.True(t, r.AnswersAlias("lookup"))
	require.False(t, r.AnswersAlias("find"))
	require.False(t, r.AnswersAlias("search"))
	require.Equal(t, map[string]string{"question": "query", "q": "query", "text": "query"}, r.ArgumentAliases("search"))
	require.Nil(t, r.ArgumentAliases("plain"))
	require.Nil(t, r.ArgumentAliases("nothing"))

	m, ok := r.Metadata("search")
	require.True(t, ok)
	require.Equal(t, registry.Metadata{
		Group: "g", Aliases: []string{"find"},
		Examples: []registry.ToolExample{{About: "the usual", Arguments: json.RawMessage(`{"query":"x"}`)}},
		Renames:  []registry.Rename{{Name: "lookup", Sunset: "2099-01-31", Arguments: [][2]string{{"text", "query"}}}},
	}, m)
	_, ok = r.Metadata("nothing")
	require.False(t, ok)

	// What is removed frees its names.
	r.Remove("search", "nothing")
	_, _, ok = r.ResolveAlias("find")
	require.False(t, ok)
	addRaw(t, r, "find", "search")
}

// A tool that was added or replaced by other means is listed in the same
// form, and a tool that was removed is not.
func TestOtherMeans(t *testing.T) {
	t.Parallel()
	server := mcptest.Server()
	r := registry.New(server, quiet())
	addRaw(t, r, "b", "a", "c")
	server.AddTool(&mcp.Tool{Name: "z", InputSchema: emptyObject}, raw)
	server.AddTool(&mcp.Tool{Name: "a", Description: "replaced", InputSchema: json.RawMessage(`{"type":"object","properties":{"x":{"type":["null","string"]}}}`)}, raw)
	server.RemoveTools("c")
	for range 2 {
		l, err := registry.ListingOf(t.Context(), server)
		require.NoError(t, err)
		require.Len(t, l.Tools, 3)
		require.JSONEq(t, `{"name":"z","inputSchema":{"type":"object","properties":{}}}`, string(l.Tools[0]))
		require.JSONEq(t, `{"name":"b","inputSchema":{"type":"object","properties":{}}}`, string(l.Tools[1]))
		require.JSONEq(t, `{"name":"a","description":"replaced","inputSchema":{"type":"object","properties":{"x":{"type":"string"}}}}`, string(l.Tools[2]))
	}

	verbatim := mcptest.Server()
	v := registry.New(verbatim, &registry.Options{Verbatim: true, Observer: observe.Discard})
	addRaw(t, v, "b")
	verbatim.AddTool(&mcp.Tool{Name: "z", InputSchema: emptyObject}, raw)
	l, err := registry.ListingOf(t.Context(), verbatim)
	require.NoError(t, err)
	for _, tool := range l.Tools {
		require.Contains(t, string(tool), `"inputSchema":{"type":"object"}`)
	}
}

// A middleware that stands inside may take tools off the list.
func TestInnerFilter(t *testing.T) {
	t.Parallel()
	server := mcptest.Server()
	server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			res, err := next(ctx, method, req)
			if l, ok := res.(*mcp.ListToolsResult); ok {
				c := *l
				c.Tools = c.Tools[:1]
				return &c, err
			}
			return res, err
		}
	})
	addRaw(t, registry.New(server, quiet()), "b", "a")
	require.Equal(t, []string{"a"}, listed(t, mcptest.Connect(t, server, "")))
}

func TestCleaningIsObserved(t *testing.T) {
	t.Parallel()
	var events []registry.SchemaCleaned
	r := registry.New(nil, &registry.Options{Observer: observe.Func(func(_ context.Context, e observe.Event) {
		events = append(events, e.(registry.SchemaCleaned))
	})})
	require.NoError(t, registry.AddRaw(r, &mcp.Tool{Name: "f", InputSchema: json.RawMessage(`{"type":"object","properties":{"t":{"$ref":"#/$defs/T"},"u":{"$ref":"#/$defs/T"}},"$defs":{"T":{"properties":{"t":{"$ref":"#/$defs/T"}}}}}`)}, raw))
	require.Equal(t, []registry.SchemaCleaned{
		{Tool: "f", Change: "cut the recursion of a $ref", Count: 1, Pointers: []string{"/inputSchema/$defs/T/properties/t"}, Loss: true},
	}, events, "one place, however often it is copied")

	events = nil
	var properties []string
	for i := range 20 {
		properties = append(properties, fmt.Sprintf(`"p%d":{"type":["null","string"]}`, i))
	}
	require.NoError(t, registry.AddRaw(r, &mcp.Tool{Name: "g", InputSchema: json.RawMessage(`{"type":"object","properties":{` + strings.Join(properties, ",") + `}}`)}, raw))
	require.Len(t, events, 1)
	require.Equal(t, 20, events[0].Count)
	require.Len(t, events[0].Pointers, 5)
	require.Equal(t, slog.LevelDebug, events[0].EventLevel())
	for _, e := range []observe.Event{events[0], registry.RegistrationRefused{}, registry.FormerNameCalled{}} {
		require.NotEmpty(t, e.EventName())
		require.NotEmpty(t, e.LogValue().Group())
	}
}

// Tools come and go while others list and call. (Run with -race.)
func TestConcurrency(t *testing.T) {
	t.Parallel()
	server := mcptest.Server()
	r := registry.New(server, quiet())
	addRaw(t, r, "fixed")
	require.NoError(t, registry.AddRaw(r, &mcp.Tool{Name: "grouped"}, raw, registry.Group("g")))
	cs := mcptest.Connect(t, server, "")
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := range 50 {
			name := fmt.Sprint("tool_", i)
			_ = registry.AddRaw(r, &mcp.Tool{Name: name}, raw)
			_ = r.SetEnabled("g", i%2 == 0)
			r.SetReadOnly(false)
			r.Remove(name)
			r.Fingerprint()
			r.Install(mcptest.Server())
		}
	}()
	for range 50 {
		names := listed(t, cs)
		require.Contains(t, names, "fixed")
		require.NotContains(t, names, "steady_list_changed")
		_, err := call(t, cs, "fixed", `{}`)
		require.NoError(t, err)
	}
	<-done
}

// FuzzCursor sends cursors that nobody was given.
func FuzzCursor(f *testing.F) {
	server := mcp.NewServer(&mcp.Implementation{Name: "s"}, &mcp.ServerOptions{PageSize: 2})
	r := registry.New(server, quiet())
	addRaw(f, r, "a", "b", "c")
	cs := mcptest.Connect(f, server, "")
	page, err := cs.ListTools(context.Background(), nil)
	require.NoError(f, err)
	for _, s := range []string{page.NextCursor, "", "MToxOjE6YQ", "MTotMTo5OTk5OTk5OTk5OTk5Ong"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, cursor string) {
		res, err := cs.ListTools(context.Background(), &mcp.ListToolsParams{Cursor: cursor})
		var werr *jsonrpc.Error
		if err != nil {
			require.ErrorAs(t, err, &werr)
			require.EqualValues(t, jsonrpc.CodeInvalidParams, werr.Code)
			return
		}
		require.LessOrEqual(t, len(res.Tools), 2)
	})
}
