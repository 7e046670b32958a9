package catalog

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/steadymcp/steady/errors"
	"github.com/steadymcp/steady/internal/mcptest"
)

var truth = true

// market is a catalog of endpoints of several kinds.
var market = []Entry{
	{ID: "symbol-search", Method: "GET", Path: "/v1/symbols", Title: "Symbol search", Summary: "Find the ticker of a company", Tags: []string{"reference"},
		Parameters: json.RawMessage(`{"type":"object","required":["query"],"properties":{"query":{"type":"string","description":"Name"},"limit":{"type":"integer","minimum":1,"maximum":50,"default":10}}}`),
		Example:    json.RawMessage(`{"query": "apple"}`)},
	{ID: "prices", Method: "GET", Path: "/v1/prices/{symbol}", Summary: "Daily prices of a stock", Tags: []string{"market"},
		Parameters: json.RawMessage(`{"type":"object","required":["symbol"],"properties":{"symbol":{"type":"string"},"days":{"type":"integer"},"adjusted":{"type":"boolean"}}}`)},
	{ID: "sec-filings", Method: "GET", Path: "/v1/filings", Summary: "10-K and 10-Q filings", Tags: []string{"filings"}},
	{ID: "create-alert", Method: "POST", Path: "/v1/alerts", Summary: "Create a price alert", Tags: []string{"market"},
		Parameters: json.RawMessage(`{"type":"object","required":["symbol","above"],"properties":{"symbol":{"type":"string"},"above":{"type":"number"}}}`)},
	{ID: "secret-deals", Method: "GET", Path: "/v1/deals", Summary: "Confidential zeppelin deals", Tags: []string{"hidden"}},
}

// marketAPI is the API behind it.
func marketAPI(t testing.TB) *spy {
	return newSpy(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("X-RateLimit-Limit", "100")
		w.Header().Set("X-RateLimit-Remaining", "42")
		w.Header().Set("X-RateLimit-Reset", "30")
		body, _ := io.ReadAll(r.Body)
		if strings.Contains(r.URL.Path, "BAD") {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		fmt.Fprintf(w, `{"method":%q,"uri":%q,"body":%q,"big":12345678901234567890}`, r.Method, r.RequestURI, body)
	})
}

// desktop is a server with a catalog and a tool of its own.
type desktop struct {
	*mcp.ClientSession
	catalog *Catalog
	api     *spy
}

func newDesktop(t testing.TB, revision string, opts Options) *desktop {
	api := marketAPI(t)
	up := mustUpstream(t, api.URL, &UpstreamOptions{Prefix: "/v1", Authorize: withToken})
	opts.Caller = up
	if opts.Observer == nil {
		opts.Observer = quiet
	}
	c, err := New(Static(market...), &opts)
	require.NoError(t, err)
	server := mcptest.Server()
	mcp.AddTool(server, &mcp.Tool{Name: "own"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "mine"}}}, nil, nil
	})
	require.NoError(t, c.Install(t.Context(), server))
	t.Cleanup(func() { require.NoError(t, c.Close(context.Background())) })
	return &desktop{mcptest.Connect(t, server, revision), c, api}
}

func (d *desktop) call(t testing.TB, name, args string) *mcp.CallToolResult {
	t.Helper()
	r, err := d.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: json.RawMessage(args)})
	require.NoError(t, err, "%s %s", name, args)
	return r
}

// data checks the envelope and returns what is in it.
func (d *desktop) data(t testing.TB, name, args string) map[string]any {
	t.Helper()
	r := d.call(t, name, args)
	require.False(t, r.IsError, "%s %s: %s", name, args, text(r))
	var schema jsonschema.Schema
	require.NoError(t, json.Unmarshal(envelopeSchema, &schema))
	resolved, err := schema.Resolve(nil)
	require.NoError(t, err)
	require.NoError(t, resolved.Validate(r.StructuredContent))
	b, err := json.Marshal(r.StructuredContent)
	require.NoError(t, err)
	require.JSONEq(t, string(b), text(r), "the text is the same JSON")
	m := r.StructuredContent.(map[string]any)
	require.Len(t, m, 2)
	data, _ := m["data"].(map[string]any)
	return data
}

func (d *desktop) fails(t testing.TB, name, args string) string {
	t.Helper()
	r := d.call(t, name, args)
	require.True(t, r.IsError, "%s %s: %s", name, args, text(r))
	require.Nil(t, r.StructuredContent)
	return text(r)
}

func each(t *testing.T, f func(t *testing.T, revision string)) {
	for _, revision := range mcptest.Revisions {
		t.Run(revision, func(t *testing.T) { t.Parallel(); f(t, revision) })
	}
}

func TestFindTool(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, revision string) {
		d := newDesktop(t, revision, Options{})
		data := d.data(t, "find_data", `{"question":"what ticker is nvidia"}`)
		first := data["results"].([]any)[0].(map[string]any)
		require.Equal(t, "symbol-search", first["id"])
		require.Equal(t, map[string]any{"tool": "call_api", "arguments": map[string]any{"id": "symbol-search", "arguments": map[string]any{"query": "apple"}}}, first["call"])
		require.Equal(t, "ticker", first["why"].([]any)[0].(map[string]any)["word"])
		require.Equal(t, []any{"nvidia"}, data["unmatched"])
		// The call is ready: it works as it is.
		b, err := json.Marshal(first["call"].(map[string]any)["arguments"])
		require.NoError(t, err)
		require.NotNil(t, d.data(t, "call_api", string(b)))

		data = d.data(t, "find_data", `{"question":"notify me when a stock is above a level","limit":1}`)
		call := data["results"].([]any)[0].(map[string]any)["call"].(map[string]any)
		require.Equal(t, "call_api_write", call["tool"])
		require.Equal(t, map[string]any{"symbol": "<symbol>", "above": 1.0}, call["arguments"].(map[string]any)["arguments"], "a sketch for want of an example")

		data = d.data(t, "find_data", `{"question":"unicorn breeding in mongolia"}`)
		require.Empty(t, data["results"])
		require.Contains(t, data["note"], "do not guess")
		require.Contains(t, data["note"], "unicorn")

		data = d.data(t, "find_data", `{"question":"978-3-16-148410-0"}`)
		require.Empty(t, data["results"])
		require.Contains(t, data["note"], "Ask in words", "a number asks for nothing")

		// B240: no question is no error.
		for _, args := range []string{`{}`, `{"question":""}`, `{"question":" ?! "}`, `null`} {
			require.Len(t, d.data(t, "find_data", args)["entries"], len(market), args)
		}
		require.Contains(t, d.fails(t, "find_data", `{"question":"x","limit":100}`), "maximum")
		require.Contains(t, d.fails(t, "find_data", `{"question":"`+strings.Repeat("x", 3000)+`"}`), "maxLength")
		require.Contains(t, d.fails(t, "find_data", `{"query":"x"}`), "query")
		require.Contains(t, d.fails(t, "find_data", `{"question":"a","question":"b"}`), "stands twice")
	})
}

func TestDescribeTool(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, revision string) {
		d := newDesktop(t, revision, Options{})
		data := d.data(t, "describe_data", `{"id":"prices"}`)
		require.Equal(t, "/v1/prices/{symbol}", data["path"])
		require.Equal(t, true, data["read_only"])
		require.Contains(t, data["parameters"].(map[string]any)["properties"], "days")
		for _, path := range []string{"/v1/prices/{symbol}", "/v1/prices/AAPL", "GET /v1/prices/AAPL?days=3"} {
			require.Equal(t, "prices", d.data(t, "describe_data", fmt.Sprintf(`{"path":%q}`, path))["id"], path)
		}
		require.Equal(t, true, d.data(t, "describe_data", `{"id":"create-alert"}`)["destructive"])
		require.Contains(t, d.fails(t, "describe_data", `{"id":"price"}`), "perhaps prices")
		require.Contains(t, d.fails(t, "describe_data", `{"path":"/v1/nothing"}`), "find_data")
		require.Contains(t, d.fails(t, "describe_data", `{"path":"https://elsewhere.example/x"}`), "not called")
		require.Contains(t, d.fails(t, "describe_data", `{}`), "neither id nor path")
	})
}

func TestBrowseTool(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, revision string) {
		d := newDesktop(t, revision, Options{PageSize: 2})
		var ids []string
		cursor := ""
		for pages := 0; ; pages++ {
			require.Less(t, pages, 5)
			data := d.data(t, "get_catalog", fmt.Sprintf(`{"cursor":%q}`, cursor))
			for _, e := range data["entries"].([]any) {
				ids = append(ids, e.(map[string]any)["id"].(string))
			}
			require.EqualValues(t, len(market), data["total"])
			if data["next_cursor"] == nil {
				break
			}
			cursor = data["next_cursor"].(string)
		}
		require.Equal(t, []string{"create-alert", "prices", "sec-filings", "secret-deals", "symbol-search"}, ids)
		require.EqualValues(t, 2, d.data(t, "get_catalog", `{"tag":"market"}`)["total"])
		require.Contains(t, d.fails(t, "get_catalog", `{"tag":"nope"}`), "filings, hidden, market")
		require.Contains(t, d.fails(t, "get_catalog", `{"cursor":"nope"}`), "cursor")
		require.Contains(t, d.fails(t, "get_catalog", fmt.Sprintf(`{"cursor":%q,"tag":"market"}`, cursor)), "same tag")
	})
}

func TestCallTool(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, revision string) {
		d := newDesktop(t, revision, Options{})
		r := d.call(t, "call_api", `{"id":"prices","arguments":{"symbol":"AAPL","days":3}}`)
		require.Contains(t, text(r), `"big":12345678901234567890`)
		require.Contains(t, text(r), `"rate_limit":{"limit":100,"remaining":42,"reset":30}`)
		require.Equal(t, "/v1/prices/AAPL?days=3", d.data(t, "call_api", `{"id":"prices","arguments":{"symbol":"AAPL","days":3}}`)["uri"])
		require.Equal(t, "/v1/symbols?limit=10&query=x", d.data(t, "call_api", `{"id":"symbol-search","arguments":{"query":"x"}}`)["uri"], "defaults are sent")
		for path, uri := range map[string]string{
			"/v1/prices/AAPL":                      "/v1/prices/AAPL",
			"/v1/prices/AAPL?days=5&adjusted=true": "/v1/prices/AAPL?adjusted=true&days=5",
			"GET /v1/prices/BRK.B":                 "/v1/prices/BRK.B",
			"/v1/prices/a%20b":                     "/v1/prices/a%20b",
		} {
			require.Equal(t, uri, d.data(t, "call_api", fmt.Sprintf(`{"path":%q}`, path))["uri"], path)
		}
		require.Equal(t, "/v1/prices/MSFT", d.data(t, "call_api", `{"path":"/v1/prices/{symbol}","arguments":{"symbol":"MSFT"}}`)["uri"])
		require.Equal(t, `{"above":5,"symbol":"A"}`, d.data(t, "call_api_write", `{"id":"create-alert","arguments":{"symbol":"A","above":5}}`)["body"])

		require.Contains(t, d.fails(t, "call_api", `{"id":"create-alert","arguments":{"symbol":"A","above":5}}`), "call it with call_api_write")
		require.Contains(t, d.fails(t, "call_api_write", `{"id":"prices","arguments":{"symbol":"A"}}`), "call it with call_api")
		require.Contains(t, d.fails(t, "call_api", `{"id":"prices"}`), "symbol (required, string)")
		require.Contains(t, d.fails(t, "call_api", `{"id":"prices","symbol":"A"}`), "symbol")
		require.Contains(t, d.fails(t, "call_api", `{"path":"/v1/prices/AAPL?nope=1"}`), `no parameter "nope"`)
		require.Contains(t, d.fails(t, "call_api", `{"path":"/v1/prices/..%2f..%2fadmin"}`), "not called")
		require.Contains(t, d.fails(t, "call_api", `{"path":"/v1/free"}`), "no entry has the path", "free paths are off")
		require.Contains(t, d.fails(t, "call_api", `{"id":"prices","arguments":{"symbol":"BAD"}}`), "status 500")
		require.Contains(t, d.fails(t, "call_api", `{}`), "neither id nor path")
	})
}

func TestFreePath(t *testing.T) {
	t.Parallel()
	d := newDesktop(t, mcptest.Stateless, Options{FreePaths: true})
	require.Equal(t, "/v1/free?x=1", d.data(t, "call_api", `{"path":"/v1/free?x=1"}`)["uri"])
	require.Contains(t, d.fails(t, "call_api", `{"path":"/v2/free"}`), "does not begin with /v1/")
	require.Contains(t, d.fails(t, "call_api", `{"path":"/v1/free","arguments":{"x":1}}`), "query")
	require.Contains(t, d.fails(t, "call_api_write", `{"path":"/v1/free"}`), "no entry")
	require.Contains(t, d.fails(t, "call_api", `{"path":"DELETE /v1/free"}`), "no entry")
	_, err := New(Static(), &Options{FreePaths: true})
	require.ErrorContains(t, err, "PathCaller")
}

func TestBatch(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, revision string) {
		d := newDesktop(t, revision, Options{BatchLimit: 6, Concurrency: 2})
		data := d.data(t, "call_api", `{"calls":[
			{"id":"prices","arguments":{"symbol":"A"}},
			{"id":"prices","arguments":{"symbol":"BAD"}},
			{"id":"nope"},
			{"path":"//elsewhere.example/v1/x"},
			{"id":"create-alert","arguments":{"symbol":"A","above":1}},
			{"path":"/v1/prices/B"}]}`)
		results := data["results"].([]any)
		require.Len(t, results, 6)
		for i, want := range []string{"/v1/prices/A", "status 500", "no entry", "not called", "call_api_write", "/v1/prices/B"} {
			b, err := json.Marshal(results[i])
			require.NoError(t, err)
			require.Contains(t, string(b), want)
			require.Equal(t, !strings.HasPrefix(want, "/"), strings.Contains(string(b), `"error"`), string(b))
		}
		require.Contains(t, d.fails(t, "call_api", `{"calls":[`+strings.Repeat(`{"id":"prices"},`, 6)+`{"id":"prices"}]}`), "maxItems")
		require.Contains(t, d.fails(t, "call_api", `{"calls":[]}`), "minItems")
		require.Contains(t, d.fails(t, "call_api", `{"calls":[{"id":"prices"}],"id":"prices"}`), "either one call or a list")
	})
}

// What was rewritten is told for each call of a batch too.
func TestBatchTellsWhatWasRewritten(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, revision string) {
		d := newDesktop(t, revision, Options{Repairer: RepairFunc(func(context.Context, *mcp.Tool, json.RawMessage) (json.RawMessage, error) {
			return json.RawMessage(`{"symbol":"AAPL"}`), nil
		})})
		results := d.data(t, "call_api", `{"calls":[{"id":"SEC_Filings"},{"id":"prices","arguments":{"symbl":"AAPL"}},{"id":"prices","arguments":{"symbol":"B"}}]}`)["results"].([]any)
		for i, want := range []any{map[string]any{"id": "sec-filings"}, map[string]any{"arguments": map[string]any{"symbol": "AAPL"}}, nil} {
			require.Equal(t, want, results[i].(map[string]any)["rewritten"])
		}
	})
}

// countingCaller notes how many calls run at once, and in which order.
type countingCaller struct {
	wait          chan struct{}
	running, most atomic.Int32
	order         chan string
	size          int
}

func (c *countingCaller) Call(ctx context.Context, _ *mcp.CallToolRequest, e *Entry, args map[string]any) (*Answer, error) {
	n := c.running.Add(1)
	for m := c.most.Load(); n > m && !c.most.CompareAndSwap(m, n); m = c.most.Load() {
	}
	c.order <- fmt.Sprint(args["n"])
	select {
	case <-c.wait:
	case <-ctx.Done():
	}
	c.running.Add(-1)
	if fmt.Sprint(args["n"]) == "3" {
		panic("a bug in a caller")
	}
	data, _ := json.Marshal(strings.Repeat("x", c.size))
	return &Answer{Data: data}, nil
}

func batch(n int) []any {
	var calls []any
	for i := range n {
		calls = append(calls, map[string]any{"id": "op", "arguments": map[string]any{"n": json.Number(fmt.Sprint(i))}})
	}
	return calls
}

func TestBatchIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, write := range []bool{false, true} {
			caller := &countingCaller{wait: make(chan struct{}), order: make(chan string, 10), size: 300 << 10}
			read := !write
			c, err := New(Static(Entry{ID: "op", ReadOnly: &read, Parameters: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}}}`)}), &Options{Caller: caller, Concurrency: 3, Observer: quiet})
			require.NoError(t, err)
			want := onlyReads
			if write {
				want = onlyWrites
			}
			var r *mcp.CallToolResult
			go func() { r, err = c.callBatch(t.Context(), anyCall, batch(10), want) }()
			synctest.Wait()
			close(caller.wait)
			synctest.Wait()
			require.NoError(t, err)
			most := int32(3)
			if write {
				most = 1
				for i := range 10 {
					require.Equal(t, fmt.Sprint(i), <-caller.order, "writes run in order")
				}
			}
			require.Equal(t, most, caller.most.Load())
			var body struct {
				Data struct {
					Results []batchItem `json:"results"`
				} `json:"data"`
			}
			require.NoError(t, json.Unmarshal([]byte(text(r)), &body))
			require.Equal(t, errors.KindInternal, body.Data.Results[3].Error.Kind, "a panic fails one")
			require.NotContains(t, text(r), "a bug in a caller")
			require.Contains(t, body.Data.Results[9].Error.Message, "no room", "together they are bounded")
			require.Less(t, len(text(r)), maxBatchBytes+(64<<10))
			require.NoError(t, c.Close(t.Context()))
		}
	})
}

// B243: the id of an entry works as the name of a tool, and is never said not
// to exist.
func TestDirectCall(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, revision string) {
		d := newDesktop(t, revision, Options{Allow: hide("hidden")})
		require.Equal(t, "/v1/prices/AAPL", d.data(t, "prices", `{"symbol":"AAPL"}`)["uri"])
		require.Equal(t, "POST", d.data(t, "create-alert", `{"symbol":"A","above":1}`)["method"])
		r := d.call(t, "SEC_filings", `{}`)
		require.Contains(t, text(r), "/v1/filings", "case and separators do not matter")
		require.Equal(t, map[string]any{"id": "sec-filings"}, r.Meta["steady/catalog"], "and it is disclosed")
		require.Nil(t, d.call(t, "sec-filings", `{}`).Meta["steady/catalog"])
		require.Contains(t, text(d.call(t, "call_api", `{"id":"secFilings"}`)), "/v1/filings")
		require.Contains(t, d.fails(t, "prices", `{}`), "required")
		require.Contains(t, d.fails(t, "prices", `{"symbol":"a","symbol":"b"}`), "stands twice")
		require.Equal(t, "mine", text(d.call(t, "own", `{}`)))
		_, hidden := d.CallTool(t.Context(), &mcp.CallToolParams{Name: "secret-deals"})
		_, unknown := d.CallTool(t.Context(), &mcp.CallToolParams{Name: "secret-zeals"})
		require.Error(t, hidden)
		require.Equal(t, strings.ReplaceAll(unknown.Error(), "zeals", "deals"), hidden.Error(), "hidden is answered like unknown")
	})
}

// What guards the tools of the catalog guards an entry that is called by its
// id too: nothing of what is inside is passed by.
func TestDirectCallRunsThroughWhatIsInside(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, revision string) {
		for _, refused := range []string{"call_api", "call_api_write"} {
			caller := &countingCaller{wait: make(chan struct{}), order: make(chan string, 10)}
			close(caller.wait)
			c, err := New(Static(Entry{ID: "read-it", ReadOnly: &truth}, Entry{ID: "write-it"}), &Options{Caller: caller, Observer: quiet})
			require.NoError(t, err)
			require.NoError(t, c.Refresh(t.Context()))
			server := mcptest.Server()
			var seen []string
			server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
				return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
					if call, ok := req.(*mcp.CallToolRequest); ok {
						seen = append(seen, call.Params.Name+" "+string(call.Params.Arguments))
						if call.Params.Name == refused {
							return nil, errors.RateLimited("slowly")
						}
					}
					return next(ctx, method, req)
				}
			})
			require.NoError(t, c.Install(t.Context(), server))
			cs := mcptest.Connect(t, server, revision)
			for name, through := range map[string]string{"read-it": "call_api", "write-it": "call_api_write"} {
				seen = nil
				_, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: map[string]any{}})
				require.Equal(t, through == refused, err != nil, name)
				require.Equal(t, []string{through + ` {"id":"` + name + `","arguments":{}}`}, seen)
			}
			require.Len(t, caller.order, 1)
		}
	})
}

// A source that hangs holds up nothing but the catalog.
func TestSourceHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, err := New(&slowSource{takes: time.Hour, version: "1"}, &Options{Caller: &countingCaller{}, Observer: quiet})
		require.NoError(t, err)
		server := mcptest.Server()
		mcp.AddTool(server, &mcp.Tool{Name: "own"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "mine"}}}, nil, nil
		})
		require.NoError(t, c.Install(t.Context(), server))
		cs := mcptest.Connect(t, server, "")
		start := time.Now()
		r, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "own"})
		require.NoError(t, err)
		require.Equal(t, "mine", text(r))
		require.Zero(t, time.Since(start))
		for range 5 {
			_, err = cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "nothing"})
			require.Error(t, err)
		}
		require.Contains(t, toolNames(t, cs), "call_api_write", "until it is known that there is nothing to write")
		require.LessOrEqual(t, time.Since(start), time.Second, "it is waited for once")
		require.NoError(t, c.Close(t.Context()))
		require.NoError(t, cs.Close())
	})
}

// A tool of the author's is not replaced.
func TestInstallRefusesTakenNames(t *testing.T) {
	t.Parallel()
	server := mcptest.Server()
	mcp.AddTool(server, &mcp.Tool{Name: "find_data"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "mine"}}}, nil, nil
	})
	c, err := New(Static(market...), &Options{Observer: quiet})
	require.NoError(t, err)
	require.ErrorContains(t, c.Install(t.Context(), server), `"find_data"`)
	hidden, err := New(Tools(server, &ToolsOptions{Advertise: []string{}}), &Options{Observer: quiet})
	require.NoError(t, err)
	require.ErrorContains(t, hidden.Install(t.Context(), server), `"find_data"`, "also if it is not advertised")
	r, err := mcptest.Connect(t, server, "").CallTool(t.Context(), &mcp.CallToolParams{Name: "find_data"})
	require.NoError(t, err)
	require.Equal(t, "mine", text(r))
	require.Empty(t, slices.Collect(server.Sessions())[1:], "only the client's session is left")

	server = mcptest.Server()
	require.NoError(t, c.Install(t.Context(), server))
	require.Error(t, c.Install(t.Context(), server), "nor are those of a catalog")
	picky := mcptest.Server()
	picky.AddReceivingMiddleware(func(mcp.MethodHandler) mcp.MethodHandler {
		return func(context.Context, string, mcp.Request) (mcp.Result, error) { panic("no client") }
	})
	require.NoError(t, c.Install(t.Context(), picky), "a middleware that cannot do without a client is left alone")
	renamed, err := New(Static(market...), &Options{Observer: quiet, Names: Names{Find: "f", Describe: "d", Browse: "b", Call: "c", Write: "w"}})
	require.NoError(t, err)
	require.NoError(t, renamed.Install(t.Context(), server))
}

// A list that depends on the caller is not kept for others.
func TestListIsPrivateWithAllow(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, revision string) {
		for _, opts := range []Options{{}, {Allow: hide("hidden")}} {
			list, err := newDesktop(t, revision, opts).ListTools(t.Context(), nil)
			require.NoError(t, err)
			require.Equal(t, opts.Allow != nil, list.CacheScope == "private")
		}
	})
}

// A tool of the server wins over an entry of its name.
func TestDirectCallOfATool(t *testing.T) {
	t.Parallel()
	c, err := New(Static(Entry{ID: "own", Summary: "x", ReadOnly: &truth}), &Options{Observer: quiet, Caller: &countingCaller{order: make(chan string, 1)}})
	require.NoError(t, err)
	server := mcptest.Server()
	mcp.AddTool(server, &mcp.Tool{Name: "own"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "mine"}}}, nil, nil
	})
	require.NoError(t, c.Install(t.Context(), server))
	cs := mcptest.Connect(t, server, "")
	r, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "own"})
	require.NoError(t, err)
	require.Equal(t, "mine", text(r))
}

func hide(tag string) func(context.Context, *mcp.CallToolRequest, *Entry) bool {
	return func(_ context.Context, _ *mcp.CallToolRequest, e *Entry) bool { return !slices.Contains(e.Tags, tag) }
}

// An id is read generously only if that leaves one entry, and no tool.
func TestLookup(t *testing.T) {
	t.Parallel()
	e := newEdition(&Snapshot{Entries: []Entry{{ID: "a-b"}, {ID: "a_b"}, {ID: "c-d", Title: "E F"}}}, nil)
	require.Equal(t, "a_b", e.lookup("a_b").ID)
	require.Nil(t, e.lookup("aB"))
	require.Equal(t, "c-d", e.lookup("C.D").ID)
	require.Nil(t, e.lookup("e-f"), "a title is no id")
	require.Nil(t, e.lookup(""))
	require.Nil(t, (*edition)(nil).lookup("x"))

	d := newDesktop(t, mcptest.Stateless, Options{Shortcuts: []Shortcut{{Name: "sec_filings", Entry: "prices"}}})
	require.Contains(t, d.fails(t, "sec_filings", `{}`), "prices", "the tool of that name")
	_, err := d.CallTool(t.Context(), &mcp.CallToolParams{Name: "SEC-Filings"})
	require.Error(t, err, "near a tool, it is left to those who resolve names of tools")
}

// B223: one authoriser for all tools; what is hidden is answered like what is
// unknown.
func TestAllow(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, revision string) {
		d := newDesktop(t, revision, Options{Allow: hide("hidden"), Feedback: &FeedbackOptions{Sink: SinkFunc(func(context.Context, Report) error { return nil })}})
		for _, question := range []string{"zeppelin", "secret-deals", "confidential zeppelin deals"} {
			data := d.data(t, "find_data", fmt.Sprintf(`{"question":%q}`, question))
			b, err := json.Marshal(data)
			require.NoError(t, err)
			require.NotContains(t, string(b), `"id":"secret-deals"`, question)
			require.Contains(t, data["unmatched"], strings.Fields(strings.ReplaceAll(question, "-", " "))[0])
		}
		for _, c := range [][2]string{{"describe_data", `{"id":%q}`}, {"call_api", `{"id":%q}`}, {"describe_data", `{"path":"/v1/%s"}`}, {"call_api", `{"path":"/v1/%s"}`}} {
			hidden, unknown := "secret-deals", "secret-zeals"
			if strings.Contains(c[1], "path") {
				hidden, unknown = "deals", "zeals"
			}
			require.Equal(t, strings.ReplaceAll(d.fails(t, c[0], fmt.Sprintf(c[1], unknown)), "zeals", "deals"), d.fails(t, c[0], fmt.Sprintf(c[1], hidden)))
		}
		data := d.data(t, "get_catalog", `{}`)
		require.EqualValues(t, len(market)-1, data["total"])
		require.NotContains(t, data["tags"], "hidden")
		require.Contains(t, d.fails(t, "get_catalog", `{"tag":"hidden"}`), "no entry has the tag")
		seen, _ := d.api.seen()
		require.Empty(t, seen)
	})
}

func toolNames(t testing.TB, cs *mcp.ClientSession) []string {
	list, err := cs.ListTools(t.Context(), nil)
	require.NoError(t, err)
	var out []string
	for _, tool := range list.Tools {
		out = append(out, tool.Name)
	}
	return out
}

func TestAdvertisedTools(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, revision string) {
		d := newDesktop(t, revision, Options{})
		require.Equal(t, []string{"call_api", "call_api_write", "describe_data", "find_data", "get_catalog", "own"}, toolNames(t, d.ClientSession))
		list, err := d.ListTools(t.Context(), nil)
		require.NoError(t, err)
		for _, tool := range list.Tools {
			if tool.Name == "own" {
				continue
			}
			require.Equal(t, tool.Name != "call_api_write", tool.Annotations.ReadOnlyHint, tool.Name)
			require.Equal(t, !strings.HasPrefix(tool.Name, "call_api"), strings.Contains(tool.Description, "Free"), tool.Name)
			require.NotNil(t, tool.OutputSchema)
		}

		d = newDesktop(t, revision, Options{NoWrites: true})
		require.NotContains(t, toolNames(t, d.ClientSession), "call_api_write")
		require.Contains(t, d.fails(t, "call_api", `{"id":"create-alert"}`), "no entry")

		d = newDesktop(t, revision, Options{Allow: func(_ context.Context, _ *mcp.CallToolRequest, e *Entry) bool { return e.reads() }})
		require.NotContains(t, toolNames(t, d.ClientSession), "call_api_write", "nothing to write for this caller")

		c, err := New(Static(market...), &Options{Observer: quiet, Names: Names{Find: "look", Describe: "tell"}})
		require.NoError(t, err)
		server := mcptest.Server()
		require.NoError(t, c.Install(t.Context(), server))
		require.Equal(t, []string{"get_catalog", "look", "tell"}, toolNames(t, mcptest.Connect(t, server, revision)), "nothing to call without a caller")
	})
}

func TestInstructions(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, revision string) {
		c, err := New(Static(market...), &Options{Observer: quiet, Caller: &countingCaller{}})
		require.NoError(t, err)
		for _, given := range []string{"", "Be kind.", c.Instructions()} {
			server := mcp.NewServer(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ServerOptions{Instructions: given})
			require.NoError(t, c.Install(t.Context(), server))
			got := mcptest.Connect(t, server, revision).InitializeResult().Instructions
			require.Equal(t, 1, strings.Count(got, "find_data in plain words"))
			require.True(t, strings.HasPrefix(got, given))
			require.Contains(t, got, "call_api_write")
			require.NotContains(t, got, "submit_feedback")
		}
	})
}

func TestShortcut(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, revision string) {
		opts := Options{Allow: hide("hidden"), Shortcuts: []Shortcut{
			{Name: "stock_prices", Entry: "prices", Description: "Prices of a stock", Pinned: map[string]any{"adjusted": true}},
			{Name: "symbol_search", Entry: "symbol-search"},
			{Name: "alert", Entry: "create-alert"},
			{Name: "deals", Entry: "secret-deals"},
		}}
		d := newDesktop(t, revision, opts)
		require.Equal(t, "/v1/prices/A?adjusted=true", d.data(t, "stock_prices", `{"symbol":"A"}`)["uri"])
		require.Equal(t, "POST", d.data(t, "alert", `{"symbol":"A","above":1}`)["method"])
		require.Contains(t, d.fails(t, "stock_prices", `{"symbol":"A","adjusted":false}`), "sets adjusted by itself")
		require.Contains(t, d.fails(t, "stock_prices", `{}`), "required")
		require.Contains(t, d.fails(t, "deals", `{}`), "no entry")
		list, err := d.ListTools(t.Context(), nil)
		require.NoError(t, err)
		seen := map[string]*mcp.Tool{}
		for _, tool := range list.Tools {
			seen[tool.Name] = tool
		}
		require.NotContains(t, seen, "deals")
		require.NotContains(t, seen["stock_prices"].InputSchema.(map[string]any)["properties"], "adjusted")
		require.True(t, seen["stock_prices"].Annotations.ReadOnlyHint)
		require.False(t, seen["alert"].Annotations.ReadOnlyHint)
		require.Equal(t, "Find the ticker of a company", seen["symbol_search"].Description)
	})
	for want, s := range map[string]Shortcut{
		"is no entry":            {Name: "a", Entry: "nope"},
		"no parameter":           {Name: "a", Entry: "prices", Pinned: map[string]any{"nope": 1}},
		"not the name of a tool": {Name: "a b", Entry: "prices"},
		"two tools":              {Name: "find_data", Entry: "prices"},
		"pinned":                 {Name: "a", Entry: "prices", Pinned: map[string]any{"days": func() {}}},
	} {
		c, err := New(Static(market...), &Options{Observer: quiet, Caller: &countingCaller{}, Shortcuts: []Shortcut{s}})
		if err == nil {
			err = c.Install(t.Context(), mcptest.Server())
		}
		require.ErrorContains(t, err, want)
	}
}

func TestRepair(t *testing.T) {
	t.Parallel()
	asked := 0
	d := newDesktop(t, mcptest.Stateless, Options{Repairer: RepairFunc(func(_ context.Context, tool *mcp.Tool, args json.RawMessage) (json.RawMessage, error) {
		asked++
		require.Equal(t, "prices", tool.Name)
		require.True(t, tool.Annotations.ReadOnlyHint)
		switch {
		case strings.Contains(string(args), "fail"):
			return nil, errors.New("no idea")
		case strings.Contains(string(args), "worse"):
			return []byte(`{"symbol":7}`), nil
		}
		return []byte(strings.ReplaceAll(string(args), `"5"`, `5`)), nil
	})})
	r := d.call(t, "call_api", `{"id":"prices","arguments":{"symbol":"A","days":"5"}}`)
	require.Contains(t, text(r), "/v1/prices/A?days=5")
	require.Equal(t, map[string]any{"arguments": map[string]any{"symbol": "A", "days": 5.0}}, r.Meta["steady/catalog"], "a rewrite is disclosed")
	require.Contains(t, mcptest.Text(r), "were corrected to")
	d.data(t, "call_api", `{"id":"prices","arguments":{"symbol":"A","days":5}}`)
	require.Equal(t, 1, asked, "what fits is not repaired")
	require.Contains(t, d.fails(t, "call_api", `{"id":"prices","arguments":{"symbol":"fail","days":"x"}}`), "days: type")
	require.Contains(t, d.fails(t, "call_api", `{"id":"prices","arguments":{"symbol":"worse","days":"x"}}`), "days: type", "it hears about what it sent")
}

func TestGaps(t *testing.T) {
	t.Parallel()
	rec := &recorder{}
	d := newDesktop(t, mcptest.Stateless, Options{Observer: rec})
	for _, q := range []string{"zeppelin deals", "unicorn prices", "unicorns", "unicorn", "acct4711 of x", "ticker"} {
		d.data(t, "find_data", fmt.Sprintf(`{"question":%q}`, q))
	}
	var b strings.Builder
	require.NoError(t, d.catalog.Gaps(&b))
	require.Contains(t, b.String(), "6 questions: ")
	require.Regexp(t, `unicorn +2 +1`, b.String())
	require.NotContains(t, b.String(), "4711", "what may be a value is not kept")
	require.Contains(t, rec.names(), "catalog.missed")
	for _, e := range rec.events {
		require.NotContains(t, fmt.Sprint(e), "unicorn", "events hold no arguments")
	}
}

func TestGapsAreBounded(t *testing.T) {
	t.Parallel()
	var g gaps
	for i := range 3 * maxGapWords {
		g.note(&Result{Unmatched: []string{fmt.Sprintf("w%c%c%c%c", 'a'+i%26, 'a'+i/26%26, 'a'+i/676%26, 'a'+i/17576)}})
		g.report(fmt.Sprint(i), "wrong")
	}
	require.LessOrEqual(t, len(g.words), maxGapWords)
	require.GreaterOrEqual(t, g.lost, 2*maxGapWords)
	for range 3 {
		g.note(&Result{Unmatched: []string{"zeppelin"}})
	}
	require.Equal(t, 3, g.words["zeppelin"].times, "what comes after the junk is counted")
	for i := range 2 * maxGapWords {
		g.note(&Result{Unmatched: []string{fmt.Sprintf("x%c%c%c%c", 'a'+i%26, 'a'+i/26%26, 'a'+i/676%26, 'a'+i/17576)}})
	}
	require.Equal(t, 3, g.words["zeppelin"].times, "and stays")
	require.Len(t, g.reports, maxGapReports)
}

func TestLint(t *testing.T) {
	t.Parallel()
	c, err := New(Static(
		Entry{ID: "a", Summary: "Same"}, Entry{ID: "b", Summary: "same"}, Entry{ID: "c"}, Entry{ID: "d", Summary: strings.Repeat("long ", 100)},
		Entry{ID: "e", Summary: "E", Parameters: json.RawMessage(`{"type":"object","required":["x"],"properties":{"x":{"type":"string"}}}`)},
		Entry{ID: "f", Summary: "F", Parameters: json.RawMessage(`{"type":"object","properties":{"x":{"type":"string"}}}`), Example: json.RawMessage(`{"x":1}`)},
		Entry{ID: "?"},
	), &Options{Observer: quiet, Shortcuts: []Shortcut{{Name: "s1", Entry: "a"}, {Name: "s2", Entry: "nope"}, {Name: "s3", Entry: "a"}, {Name: "s4", Entry: "a"}, {Name: "s5", Entry: "a"}, {Name: "s6", Entry: "a"}, {Name: "s7", Entry: "a"}, {Name: "s8", Entry: "a"}, {Name: "s9", Entry: "a"}}})
	require.NoError(t, err)
	findings, err := c.Lint(t.Context())
	require.NoError(t, err)
	all := strings.Join(findings, "\n")
	for _, want := range []string{"9 shortcuts", "no entry nope", `entry "?"`, "b: the same summary as a", "c: no summary", "d: a summary of 499 bytes", "e: no example", "x has no description", "f: the example does not fit"} {
		require.Contains(t, all, want)
	}
	c, err = New(Static(Entry{ID: "a", Summary: "A lamp"}), &Options{Observer: quiet})
	require.NoError(t, err)
	findings, err = c.Lint(t.Context())
	require.NoError(t, err)
	require.Empty(t, findings)
}

func TestNewErrors(t *testing.T) {
	t.Parallel()
	_, err := New(nil, nil)
	require.Error(t, err)
	_, err = New(Static(), &Options{Names: Names{Find: "get_catalog"}})
	require.ErrorContains(t, err, "two tools")
	_, err = New(Static(), &Options{Names: Names{Find: "no good"}})
	require.ErrorContains(t, err, "not the name of a tool")
}

func FuzzCall(f *testing.F) {
	for _, s := range []string{`{"id":"prices","arguments":{"symbol":"A"}}`, `{"path":"/v1/prices/A?days=3"}`, `{"calls":[{"id":"prices"}]}`, `{"id":"x","id":"y"}`, `[]`, `{"question":"ticker"}`, `{"cursor":"AA"}`, `{"path":"GET //x"}`} {
		f.Add(s)
	}
	caller := &countingCaller{order: make(chan string, 1<<20), wait: make(chan struct{})}
	close(caller.wait)
	c, err := New(Static(market...), &Options{Caller: caller, Observer: quiet})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, args string) {
		for len(caller.order) > 0 {
			<-caller.order
		}
		for _, tool := range c.own {
			req := &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Name: tool.tool.Name, Arguments: json.RawMessage(args)}}
			r, err := tool.handle(t.Context(), req)
			if err != nil {
				if _, ok := errors.AsType[*errors.Failure](err); !ok {
					t.Fatalf("%s %s: %v", tool.tool.Name, args, err)
				}
				continue
			}
			if _, err := json.Marshal(r); err != nil {
				t.Fatalf("%s %s: %v", tool.tool.Name, args, err)
			}
		}
	})
}
