package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/steadymcp/steady/catalog"
	"github.com/steadymcp/steady/internal/mcptest"
)

// program is the built example: the tests run what a reader runs.
var program string

func TestMain(m *testing.M) { mcptest.RunWithPrograms(m, map[string]*string{".": &program}) }

// A process is the running example: the API's address, the server's if it
// serves HTTP, and what it logged.
type process struct {
	api, url string
	log      *record
}

// A record keeps what a process writes to standard error, and tells when a
// line has come.
type record struct {
	mu    sync.Mutex
	lines []string
}

func (r *record) text() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Join(r.lines, "\n")
}

var address = regexp.MustCompile(`the API is at (http://\S+)|steady.serving url=(http://\S+)`)

// watch reads standard error until the process has said where it serves, and
// goes on reading in the background.
func (p *process) watch(t *testing.T, stderr io.Reader, addresses int) {
	t.Helper()
	p.log = &record{}
	ready := make(chan struct{})
	var drained sync.WaitGroup
	drained.Go(func() {
		defer func() {
			if addresses > 0 {
				close(ready)
			}
		}()
		for lines := bufio.NewScanner(stderr); lines.Scan(); {
			p.log.mu.Lock()
			p.log.lines = append(p.log.lines, lines.Text())
			p.log.mu.Unlock()
			if m := address.FindStringSubmatch(lines.Text()); m != nil && addresses > 0 {
				p.api, p.url = p.api+m[1], p.url+m[2]
				if addresses--; addresses == 0 {
					close(ready)
				}
			}
		}
	})
	t.Cleanup(drained.Wait)
	<-ready
	require.NotEmpty(t, p.api, "it did not say where its API is: %s", p.log.text())
}

// onStdio starts the program as a client does.
func onStdio(t *testing.T, revision string, env []string, args ...string) (*mcp.ClientSession, *process) {
	t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Env = append(os.Environ(), env...)
	stderr, writer, err := os.Pipe()
	require.NoError(t, err)
	cmd.Stderr = writer
	p := &process{}
	session, err := newClient().Connect(t.Context(), &mcp.CommandTransport{Command: cmd}, &mcp.ClientSessionOptions{ProtocolVersion: revision})
	require.NoError(t, err)
	require.NoError(t, writer.Close())
	p.watch(t, stderr, 1)
	t.Cleanup(func() { _ = session.Close() })
	return session, p
}

// onHTTP starts the program on a free port.
func onHTTP(t *testing.T, args ...string) *process {
	t.Helper()
	cmd := exec.Command(program, append([]string{"-http", "localhost:0"}, args...)...)
	stderr, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	p := &process{}
	p.watch(t, stderr, 2)
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_, _ = cmd.Process.Wait()
	})
	return p
}

func newClient() *mcp.Client {
	return mcp.NewClient(&mcp.Implementation{Name: "test", Version: "v1"}, nil)
}

// bearer sends a token with every request.
type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

func (p *process) connect(t *testing.T, token, revision string) *mcp.ClientSession {
	t.Helper()
	session, err := newClient().Connect(t.Context(), &mcp.StreamableClientTransport{
		Endpoint: p.url, HTTPClient: &http.Client{Transport: bearer(token)},
	}, &mcp.ClientSessionOptions{ProtocolVersion: revision})
	require.NoError(t, err)
	t.Cleanup(func() { _ = session.Close() })
	return session
}

// usage asks the API how many calls each key has made.
func (p *process) usage(t *testing.T) (calls map[string]int) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.api+"/admin/usage", nil)
	require.NoError(t, err)
	res, err := (&http.Client{Transport: bearer(accounts[0].key)}).Do(r)
	require.NoError(t, err)
	defer res.Body.Close()
	require.NoError(t, json.NewDecoder(res.Body).Decode(&calls))
	return calls
}

type arguments = map[string]any

// answer is the envelope of every tool.
type answer struct {
	Data      json.RawMessage
	RateLimit *struct{ Limit, Remaining, Reset int } `json:"rate_limit"`
}

// rows are what most endpoints answer.
type rows struct {
	Rows  []map[string]any
	Total int
}

func call(t *testing.T, session *mcp.ClientSession, tool string, args arguments) *mcp.CallToolResult {
	t.Helper()
	res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
	require.NoError(t, err)
	return res
}

// ask makes a call that must succeed and decodes its data.
func ask[T any](t *testing.T, session *mcp.ClientSession, tool string, args arguments) (data T, a answer) {
	t.Helper()
	res := call(t, session, tool, args)
	require.False(t, res.IsError, "%s %v: %s", tool, args, mcptest.Text(res))
	structured, err := json.Marshal(res.StructuredContent)
	require.NoError(t, err)
	require.JSONEq(t, string(structured), res.Content[0].(*mcp.TextContent).Text)
	require.NoError(t, json.Unmarshal(structured, &a))
	require.NoError(t, json.Unmarshal(a.Data, &data))
	return data, a
}

// refused makes a call that must fail and returns what the model reads.
func refused(t *testing.T, session *mcp.ClientSession, tool string, args arguments) string {
	t.Helper()
	res := call(t, session, tool, args)
	text := mcptest.Text(res)
	require.True(t, res.IsError, "%s %v: %s", tool, args, text)
	for _, a := range accounts {
		require.NotContains(t, text, a.key)
		require.NotContains(t, text, a.token)
	}
	return text
}

type found struct {
	Results []struct {
		ID   string
		Call struct {
			Tool      string
			Arguments arguments
		}
	}
	Weak      bool
	Unmatched []string
}

// everyTool uses each of the tools once.
func everyTool(t *testing.T, session *mcp.ClientSession) {
	t.Helper()
	var left []string
	for tool, err := range session.Tools(t.Context(), nil) {
		require.NoError(t, err)
		left = append(left, tool.Name)
	}
	require.Len(t, left, 5+len(shortcuts))
	used := func(tool string) string {
		i := slices.Index(left, tool)
		require.GreaterOrEqual(t, i, 0, "%s is not listed", tool)
		left = slices.Delete(left, i, i+1)
		return tool
	}

	f, a := ask[found](t, session, used("find_data"), arguments{"question": "which executives bought shares of their own company"})
	require.Equal(t, "insider-trades", f.Results[0].ID)
	require.Nil(t, a.RateLimit, "finding is free")
	described, a := ask[struct{ Path string }](t, session, used("describe_data"), arguments{"id": f.Results[0].ID})
	require.Equal(t, "/v1/ownership/form4", described.Path)
	require.Nil(t, a.RateLimit)
	listed, a := ask[struct {
		Entries []struct{ ID string }
		Total   int
		Next    string `json:"next_cursor"`
	}](t, session, used("get_catalog"), nil)
	require.Equal(t, 58, listed.Total)
	require.NotEmpty(t, listed.Next, "it comes in pages")
	require.Nil(t, a.RateLimit)

	require.Equal(t, "call_api", f.Results[0].Call.Tool)
	generic, a := ask[rows](t, session, used("call_api"), f.Results[0].Call.Arguments)
	require.NotEmpty(t, generic.Rows)
	require.NotNil(t, a.RateLimit)
	require.Equal(t, 60, a.RateLimit.Limit)
	for _, s := range shortcuts {
		args := example(t, s.Entry)
		short, a := ask[rows](t, session, used(s.Name), args)
		require.NotNil(t, a.RateLimit)
		same, _ := ask[rows](t, session, "call_api", arguments{"id": s.Entry, "arguments": args})
		require.Equal(t, same, short)
		direct, _ := ask[rows](t, session, s.Entry, args)
		require.Equal(t, same, direct, "the id stands for a tool too")
	}
	ask[any](t, session, used("submit_feedback"), report)
	require.Empty(t, left)
}

var report = arguments{
	"category": "stale", "severity": "low", "endpoint": "quotes",
	"expected": "a price of the last trading day", "got": "a price from last week", "source": "the exchange's own page",
}

// entries are those of the embedded catalog.
func entries(t *testing.T) []catalog.Entry {
	t.Helper()
	var list struct{ Entries []catalog.Entry }
	require.NoError(t, json.Unmarshal(catalogFile, &list))
	require.Len(t, list.Entries, 58)
	return list.Entries
}

// example returns the arguments of the worked example of an entry.
func example(t *testing.T, id string) (args arguments) {
	t.Helper()
	all := entries(t)
	i := slices.IndexFunc(all, func(e catalog.Entry) bool { return e.ID == id })
	require.GreaterOrEqual(t, i, 0, id)
	require.NoError(t, json.Unmarshal(all[i].Example, &args))
	return args
}

func TestEveryToolOnStdio(t *testing.T) {
	t.Parallel()
	for _, revision := range mcptest.Revisions {
		t.Run(revision, func(t *testing.T) {
			t.Parallel()
			session, p := onStdio(t, revision, nil)
			everyTool(t, session)
			require.Eventually(t, func() bool { return strings.Contains(p.log.text(), "a price from last week") },
				10*time.Second, 10*time.Millisecond, "without a file, reports are logged")
			require.Equal(t, map[string]int{"key-demo": 1 + 3*len(shortcuts), "key-ada": 0, "key-bela": 0}, p.usage(t))
		})
	}
}

func TestEveryToolOnHTTP(t *testing.T) {
	t.Parallel()
	p := onHTTP(t)
	// One address, both eras.
	everyTool(t, p.connect(t, "token-ada", mcptest.Handshake))
	everyTool(t, p.connect(t, "token-bela", mcptest.Stateless))
	calls := 1 + 3*len(shortcuts)
	require.Equal(t, map[string]int{"key-demo": 0, "key-ada": calls, "key-bela": calls}, p.usage(t))
}

// TestEveryEndpoint calls each as its entry's example says, in two processes.
func TestEveryEndpoint(t *testing.T) {
	t.Parallel()
	one, _ := onStdio(t, mcptest.Stateless, nil, "-quota", "100")
	other, _ := onStdio(t, mcptest.Stateless, nil, "-quota", "100")
	third, _ := onStdio(t, mcptest.Stateless, nil, "-quota", "100", "-seed", "2")
	same := 0
	for _, e := range entries(t) {
		args := arguments{"id": e.ID, "arguments": example(t, e.ID)}
		_, a := ask[any](t, one, "call_api", args)
		_, b := ask[any](t, other, "call_api", args)
		_, c := ask[any](t, third, "call_api", args)
		require.JSONEq(t, string(a.Data), string(b.Data), "%s differs from launch to launch", e.ID)
		if string(a.Data) == string(c.Data) {
			same++
		}
		if e.ID == "company-profile" {
			continue
		}
		var r rows
		require.NoError(t, json.Unmarshal(a.Data, &r))
		require.NotEmpty(t, r.Rows, "the example of %s finds nothing", e.ID)
		require.LessOrEqual(t, len(r.Rows), 100)
	}
	require.LessOrEqual(t, same, 1, "the seed makes no difference")
}

func TestFilters(t *testing.T) {
	t.Parallel()
	session, _ := onStdio(t, mcptest.Stateless, nil)
	get := func(id string, args arguments) rows {
		r, _ := ask[rows](t, session, "call_api", arguments{"id": id, "arguments": args})
		return r
	}
	all := get("insider-trades", arguments{"symbol": "NMBS", "limit": 100})
	some := get("insider-trades", arguments{"symbol": "NMBS", "code": "P", "min_value": 1e6, "since": "2026-06-01", "limit": 100})
	require.NotEmpty(t, some.Rows)
	require.Less(t, some.Total, all.Total)
	for _, r := range some.Rows {
		require.Equal(t, "P", r["code"])
		require.GreaterOrEqual(t, r["value"], 1e6)
		require.GreaterOrEqual(t, r["day"], "2026-06-01")
	}
	require.Len(t, get("insider-trades", arguments{"limit": 3}).Rows, 3)
	require.Len(t, get("insider-trades", arguments{}).Rows, usualRows)
	bars := get("daily-bars", arguments{"symbol": "NMBS", "from": "2026-11-02", "to": "2026-11-06"})
	require.Len(t, bars.Rows, 5)
	require.Contains(t, refused(t, session, "quotes", arguments{"symbols": []string{"XXXX"}}), "found nothing")
	require.Contains(t, refused(t, session, "call_api", arguments{"id": "sec-filings", "arguments": arguments{"symbol": "NMBS", "form": "S-1"}}), "10-K")
}

// TestMending sends what models send.
func TestMending(t *testing.T) {
	t.Parallel()
	session, _ := onStdio(t, mcptest.Stateless, nil)
	want, _ := ask[rows](t, session, "sec_filings", arguments{"symbol": "NMBS", "limit": 2})
	for _, c := range []struct {
		tool string
		args arguments
	}{
		{"call_api", arguments{"id": "sec-filings", "arguments": arguments{"ticker": "NMBS", "limit": "2"}}},
		{"secFilings", arguments{"symbol": "NMBS", "limit": 2}},
		{"call_api", arguments{"path": "/v1/sec/filings?symbol=NMBS&limit=2"}},
		{"sec-filings", arguments{"symbol": "NMBS", "limit": "2"}},
	} {
		res := call(t, session, c.tool, c.args)
		require.False(t, res.IsError, "%v: %s", c, mcptest.Text(res))
		var a struct{ Data rows }
		require.NoError(t, json.Unmarshal([]byte(res.Content[0].(*mcp.TextContent).Text), &a))
		require.Equal(t, want, a.Data, "%v", c)
	}
}

func TestQuota(t *testing.T) {
	t.Parallel()
	const quota = 3
	for _, revision := range mcptest.Revisions {
		t.Run(revision, func(t *testing.T) {
			t.Parallel()
			p := onHTTP(t, "-quota", fmt.Sprint(quota), "-window", "1h")
			ada, bela := p.connect(t, "token-ada", revision), p.connect(t, "token-bela", revision)
			for range 10 {
				ask[found](t, ada, "find_data", arguments{"question": "price of a share"})
			}
			args := arguments{"id": "quotes", "arguments": arguments{"symbols": []string{"NMBS"}}}
			for i := range quota {
				_, a := ask[rows](t, ada, "call_api", args)
				require.Equal(t, quota, a.RateLimit.Limit)
				require.Equal(t, quota-1-i, a.RateLimit.Remaining)
				require.InDelta(t, 3600, a.RateLimit.Reset, 60)
			}
			for _, tool := range []string{"call_api", "quotes"} {
				given := args
				if tool == "quotes" {
					given = args["arguments"].(arguments)
				}
				res := call(t, ada, tool, given)
				require.True(t, res.IsError)
				require.Contains(t, mcptest.Text(res), "the quota for quotes is used up")
				require.Regexp(t, `Retry after (1h0m0s|59m\d+s)\.`, mcptest.Text(res))
				facts, err := json.Marshal(res.Meta["steady/error"])
				require.NoError(t, err)
				require.Contains(t, string(facts), `"kind":"rate_limited"`)
				require.Contains(t, string(facts), `"retry":"after"`)
			}
			ask[found](t, ada, "find_data", arguments{"question": "price of a share"})
			_, a := ask[rows](t, bela, "call_api", args)
			require.Equal(t, quota-1, a.RateLimit.Remaining, "the quota is each caller's own")

			// In a batch each call fails by itself.
			batch, _ := ask[struct {
				Results []struct {
					Data  json.RawMessage
					Error *struct{ Kind string }
				}
			}](t, bela, "call_api", arguments{"calls": []arguments{args, args, args, args}})
			limited := 0
			for _, r := range batch.Results {
				if r.Error != nil {
					require.Equal(t, "rate_limited", r.Error.Kind)
					limited++
				}
			}
			require.Equal(t, 2, limited)
		})
	}
}

func TestQuotaComesBack(t *testing.T) {
	t.Parallel()
	session, _ := onStdio(t, mcptest.Stateless, nil, "-quota", "1", "-window", "1s")
	ask[rows](t, session, "symbol_search", arguments{"query": "nimbus"})
	require.Eventually(t, func() bool {
		return !call(t, session, "symbol_search", arguments{"query": "nimbus"}).IsError
	}, 20*time.Second, 100*time.Millisecond)
}

func TestWrongToken(t *testing.T) {
	t.Parallel()
	p := onHTTP(t)
	// A key for the API is no token for this server.
	for _, authorization := range []string{"", "Bearer wrong", "Bearer key-ada", "Basic token-ada", "Bearer "} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.url, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}`))
		require.NoError(t, err)
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		if authorization != "" {
			r.Header.Set("Authorization", authorization)
		}
		res, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		require.Equal(t, http.StatusUnauthorized, res.StatusCode, authorization)
	}
	for _, revision := range mcptest.Revisions {
		_, err := newClient().Connect(t.Context(), &mcp.StreamableClientTransport{
			Endpoint: p.url, HTTPClient: &http.Client{Transport: bearer("wrong")}, MaxRetries: -1,
		}, &mcp.ClientSessionOptions{ProtocolVersion: revision})
		require.Error(t, err)
	}
	require.Equal(t, map[string]int{"key-demo": 0, "key-ada": 0, "key-bela": 0}, p.usage(t))
}

func TestWrongKey(t *testing.T) {
	t.Parallel()
	for _, revision := range mcptest.Revisions {
		session, p := onStdio(t, revision, []string{keyVariable + "=stolen-key"})
		text := refused(t, session, "symbol_search", arguments{"query": "nimbus"})
		require.Contains(t, text, "this caller may not call symbol-search")
		require.NotContains(t, text, "stolen-key")
		ask[found](t, session, "find_data", arguments{"question": "price of a share"})
		require.NotContains(t, p.log.text(), "stolen-key")
	}
}

// A spy is somebody else's server. It counts requests, and those with a
// credential.
type spy struct {
	*httptest.Server
	requests, credentials atomic.Int32
}

func newSpy(t *testing.T) *spy {
	s := &spy{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.requests.Add(1)
		if r.Header.Get("Authorization") != "" {
			s.credentials.Add(1)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// injected are paths that a document could talk a model into. The spy listens
// on host.
func injected(host string) []string {
	return []string{
		"//" + host + "/x", "///" + host + "/x", "http://" + host + "/v1/quotes", "HTTP://" + host + "/v1", "http:" + host,
		"https://evil.example/v1/quotes", "//evil.example/x", `/\` + host + "/v1", `\\` + host + `\v1`, "@" + host + "/v1/quotes",
		"http://127.0.0.1@" + host + "/v1", "/v1//" + host + "/x", " //" + host + "/x", "\t//" + host + "/x", "/%2f" + host + "/x",
		"/v1/../admin/usage", "/v1/%2e%2e/admin/usage", "/v1/%252e%252e/admin/usage", "/v1/..%2fadmin/usage", "/v1/.%2e/admin/usage",
		"/v1/..;/admin/usage", `/v1/..\admin/usage`, "/v1/./../admin/usage", "/v1/quotes/../../admin/usage", "/v1/\u2025/admin/usage",
		"/admin/usage", "/v10/admin", "/v1/x#@" + host, "GET //" + host + "/x", "GET http://" + host + "/v1",
		"http://169.254.169.254/latest/meta-data", "file:///etc/passwd",
	}
}

func TestInjectedPaths(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{nil, {"-free-paths"}} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			t.Parallel()
			s := newSpy(t)
			host := strings.TrimPrefix(s.URL, "http://")
			session, p := onStdio(t, mcptest.Stateless, nil, args...)
			for _, path := range injected(host) {
				refused(t, session, "call_api", arguments{"path": path})
				refused(t, session, "describe_data", arguments{"path": path})
				refused(t, session, "call_api", arguments{"id": path})
				batch, _ := ask[struct{ Results []struct{ Error any } }](t, session, "call_api", arguments{"calls": []arguments{{"path": path}}})
				require.NotNil(t, batch.Results[0].Error, path)
				if strings.Contains(path, "/") {
					refused(t, session, "company-profile", arguments{"symbol": path})
				}
			}
			require.Zero(t, s.requests.Load(), "a request has left for another host")
			require.Zero(t, p.usage(t)["key-demo"], "a request has reached the API")
			ask[rows](t, session, "call_api", arguments{"path": "/v1/reference/symbols?query=nimbus"})
			require.Equal(t, 1, p.usage(t)["key-demo"])
		})
	}
}

// TestInjectedPathsWithoutSteady shows that the paths are dangerous, so that
// TestInjectedPaths shows something.
func TestInjectedPathsWithoutSteady(t *testing.T) {
	t.Parallel()
	s := newSpy(t)
	session, _ := onStdio(t, mcptest.Stateless, nil, "-bare", "-path")
	call(t, session, "call_api", arguments{"path": "//" + strings.TrimPrefix(s.URL, "http://") + "/x"})
	require.EqualValues(t, 1, s.credentials.Load(), "the key has gone to another host")
	res := call(t, session, "call_api", arguments{"path": "/v1/../admin/usage"})
	require.Contains(t, mcptest.Text(res), "key-ada", "the keys of others were read")
}

func TestFeedbackFile(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "feedback.jsonl")
	p := onHTTP(t, "-feedback", file)
	session := p.connect(t, "token-ada", mcptest.Stateless)
	for range 2 {
		ask[any](t, session, "submit_feedback", report)
	}
	refused(t, session, "submit_feedback", arguments{"category": "stale"})
	written, err := os.ReadFile(file)
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSpace(string(written)), "\n")
	require.Len(t, lines, 1, "an equal report is one report")
	var kept catalog.Report
	require.NoError(t, json.Unmarshal([]byte(lines[0]), &kept))
	require.Equal(t, "user:ada", kept.Caller)
	require.True(t, kept.Known)
	require.Equal(t, report["got"], kept.Got)
}

// TestNewEndpoint adds an endpoint to the API's catalog: it is found and can be
// called while the server runs, and the tools are as before.
func TestNewEndpoint(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "catalog.json")
	require.NoError(t, os.WriteFile(file, catalogFile, 0o600))
	session, _ := onStdio(t, mcptest.Stateless, nil, "-catalog", file, "-refresh", "50ms")
	question := arguments{"question": "satellite photos of parking lots"}
	f, _ := ask[found](t, session, "find_data", question)
	require.Empty(t, f.Results)
	require.Contains(t, f.Unmatched, "satellite")

	longer := strings.Replace(string(catalogFile), `"entries": [`, `"entries": [
		{"id": "parking-lots", "method": "GET", "path": "/v1/physical/parking", "summary": "Cars on parking lots, counted on satellite photos"},`, 1)
	require.NoError(t, os.WriteFile(file+".new", []byte(longer), 0o600))
	require.NoError(t, os.Rename(file+".new", file))
	require.Eventually(t, func() bool {
		f, _ := ask[found](t, session, "find_data", question)
		return len(f.Results) > 0 && f.Results[0].ID == "parking-lots"
	}, 20*time.Second, 50*time.Millisecond)
	r, _ := ask[rows](t, session, "call_api", arguments{"id": "parking-lots"})
	require.NotEmpty(t, r.Rows)
	list, err := session.ListTools(t.Context(), nil)
	require.NoError(t, err)
	require.Len(t, list.Tools, 5+len(shortcuts))
}

func TestLatency(t *testing.T) {
	t.Parallel()
	session, _ := onStdio(t, mcptest.Stateless, nil, "-latency", "300ms")
	start := time.Now()
	ask[rows](t, session, "symbol_search", arguments{"query": "nimbus"})
	require.GreaterOrEqual(t, time.Since(start), 300*time.Millisecond)
}

func TestBare(t *testing.T) {
	t.Parallel()
	bare, _ := onStdio(t, mcptest.Stateless, nil, "-bare")
	session, _ := onStdio(t, mcptest.Stateless, nil)
	list, err := bare.ListTools(t.Context(), nil)
	require.NoError(t, err)
	require.Len(t, list.Tools, 58)
	for _, id := range []string{"quotes", "company-profile", "fx-rates", "sec-10k-sections"} {
		args := example(t, id)
		res := call(t, bare, strings.ReplaceAll(id, "-", "_"), args)
		require.False(t, res.IsError, mcptest.Text(res))
		_, a := ask[any](t, session, "call_api", arguments{"id": id, "arguments": args})
		require.JSONEq(t, string(a.Data), mcptest.Text(res), "both ask the same API")
	}
}

func TestCatalog(t *testing.T) {
	t.Parallel()
	source, err := catalog.JSON(catalogFile)
	require.NoError(t, err)
	c, err := catalog.New(source, &catalog.Options{Shortcuts: shortcuts})
	require.NoError(t, err)
	defer func() { require.NoError(t, c.Close(t.Context())) }()
	complaints, err := c.Lint(t.Context())
	require.NoError(t, err)
	require.Empty(t, complaints)
	for _, e := range entries(t) {
		_, generated := datasets[e.ID]
		_, special := specials[e.ID]
		require.True(t, generated != special, "%s has no data, or twice", e.ID)
	}
	require.Len(t, entries(t), len(datasets)+len(specials))
}

// TestAPI asks the API itself: it trusts no caller.
func TestAPI(t *testing.T) {
	t.Parallel()
	p := onHTTP(t)
	for _, c := range []struct {
		path, key string
		want      int
	}{
		{"/v1/reference/symbols?query=nimbus", "key-ada", http.StatusOK},
		{"/v1/reference/companies/NMBS", "key-ada", http.StatusOK},
		{"/v1/reference/companies/XXXX", "key-ada", http.StatusNotFound},
		{"/v1/reference/companies/", "key-ada", http.StatusNotFound},
		{"/v1/nothing", "key-ada", http.StatusNotFound},
		{"/v1/reference/symbols", "key-ada", http.StatusBadRequest},
		{"/v1/reference/symbols?query=x&limit=many", "key-ada", http.StatusBadRequest},
		{"/v1/reference/symbols?query=x&limit=1000", "key-ada", http.StatusBadRequest},
		{"/v1/reference/symbols?query=x&exchange=MOON", "key-ada", http.StatusBadRequest},
		{"/v1/reference/symbols?query=x&page=2", "key-ada", http.StatusBadRequest},
		{"/v1/reference/symbols?query=nimbus", "", http.StatusUnauthorized},
		{"/admin/usage", "token-ada", http.StatusUnauthorized},
		{"/catalog.json", "", http.StatusOK},
	} {
		address, err := url.Parse(p.api + c.path)
		require.NoError(t, err)
		res, err := http.DefaultClient.Do((&http.Request{Method: http.MethodGet, URL: address, Header: http.Header{"Authorization": {"Bearer " + c.key}}}).WithContext(t.Context()))
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		require.Equal(t, c.want, res.StatusCode, c.path)
	}
}

func TestFlags(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ args, want string }{
		{"stray", `unexpected argument "stray"`},
		{"-path", "-path goes with -bare"},
		{"-bare -http localhost:0", "-bare is for stdio"},
		{"-quota 0", "out of range"},
		{"-latency -1s", "out of range"},
	} {
		t.Run(c.args, func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), program, strings.Fields(c.args)...)
			var stderr strings.Builder
			cmd.Stderr = &stderr
			out, err := cmd.Output()
			var exit *exec.ExitError
			require.ErrorAs(t, err, &exit)
			require.Equal(t, 1, exit.ExitCode())
			require.Contains(t, stderr.String(), c.want)
			require.Empty(t, out)
		})
	}
}
