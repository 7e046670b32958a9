//lint:file-ignore SA1019 The SDK's examples use the deprecated roots and sampling; so must their client.

package sdkexamples

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	nethttp "net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/steadymcp/steady/internal/mcptest"
)

// TestExamples wraps the SDK's own example servers and compares: each tool,
// prompt and resource that answers without steady answers the same with it, to
// the byte. By default a few of them; with STEADY_LONG=1 all.
func TestExamples(t *testing.T) {
	source := sdkExamples(t)
	var taken []example
	for _, e := range examples {
		if e.reason == "" && (!e.long || os.Getenv("STEADY_LONG") != "") {
			taken = append(taken, e)
		}
	}
	bin := build(t, source, taken)
	for _, e := range taken {
		for _, over := range e.over {
			if over == prints {
				t.Run(e.name, func(t *testing.T) {
					wrapped := slices.DeleteFunc(printed(t, filepath.Join(bin, "wrapped", e.name)), func(line string) bool {
						return e.besides != "" && strings.Contains(line, e.besides)
					})
					require.Equal(t, printed(t, filepath.Join(bin, "bare", e.name)), wrapped)
				})
				continue
			}
			paths := e.paths
			if paths == nil {
				paths = []string{"/"}
			}
			for _, path := range paths {
				for _, revision := range mcptest.Revisions {
					t.Run(fmt.Sprintf("%s%s/%s/%s", e.name, path, [...]string{"stdio", "http", "sse"}[over], revision), func(t *testing.T) {
						bare := e.talk(t, filepath.Join(bin, "bare", e.name), over, path, revision)
						wrapped := e.talk(t, filepath.Join(bin, "wrapped", e.name), over, path, revision)
						compare(t, bare, wrapped)
						e.checkCalls(t, bare, revision)
					})
				}
			}
		}
	}
}

// TestAllExamplesAreKnown fails when the SDK has an example that the table does
// not have, or none of that name any more.
func TestAllExamplesAreKnown(t *testing.T) {
	var have, want []string
	entries, err := os.ReadDir(sdkExamples(t))
	require.NoError(t, err)
	for _, entry := range entries {
		have = append(have, entry.Name())
	}
	for _, e := range examples {
		want = append(want, e.name)
	}
	require.ElementsMatch(t, want, have)
}

// sdkExamples returns the folder of the example servers of the SDK that go.mod
// asks for.
func sdkExamples(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/modelcontextprotocol/go-sdk").Output()
	require.NoError(t, err)
	return filepath.Join(strings.TrimSpace(string(out)), "examples", "server")
}

// build copies the examples to a module of their own, once as they are and once
// hardened, and builds both. It returns the folder of the programs.
func build(t *testing.T, source string, taken []example) string {
	t.Helper()
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	dir := t.TempDir()
	for _, e := range taken {
		ports := freePorts(t, len(e.fixed))
		for kind, change := range map[string]func([]byte) []byte{
			"bare": func(b []byte) []byte { return b },
			"wrapped": func(b []byte) []byte {
				hardened, servers, err := harden(b)
				require.NoError(t, err, e.name)
				require.Equal(t, bytes.Count(b, []byte(" mcp.NewServer(")), servers, "%s: a server is not wrapped", e.name)
				return hardened
			},
		} {
			to := filepath.Join(dir, kind, e.name)
			require.NoError(t, os.MkdirAll(to, 0o755))
			files, err := os.ReadDir(filepath.Join(source, e.name))
			require.NoError(t, err)
			for _, file := range files {
				if file.IsDir() || strings.HasSuffix(file.Name(), "_test.go") {
					continue
				}
				data, err := os.ReadFile(filepath.Join(source, e.name, file.Name()))
				require.NoError(t, err)
				for i, port := range e.fixed {
					data = bytes.ReplaceAll(data, []byte(port), []byte(ports[i]))
				}
				if file.Name() == "main.go" {
					data = change(data)
				}
				require.NoError(t, os.WriteFile(filepath.Join(to, file.Name()), data, 0o644))
			}
		}
	}

	goMod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	require.NoError(t, err)
	goSum, err := os.ReadFile(filepath.Join(root, "go.sum"))
	require.NoError(t, err)
	goMod = bytes.Replace(goMod, []byte("module github.com/steadymcp/steady\n"), []byte("module example.com/strangers\n"), 1)
	goMod = fmt.Appendf(goMod, "\nrequire github.com/steadymcp/steady v0.0.0\nreplace github.com/steadymcp/steady => %s\n", root)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.mod"), goMod, 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.sum"), goSum, 0o644))
	for _, kind := range []string{"bare", "wrapped"} {
		bin := filepath.Join(dir, "bin", kind) + string(filepath.Separator)
		require.NoError(t, os.MkdirAll(bin, 0o755))
		cmd := exec.Command("go", "build", "-mod=mod", "-o", bin, "./"+kind+"/...")
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GOWORK=off")
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, string(out))
	}
	return filepath.Join(dir, "bin")
}

// freePorts returns n ports that nobody listens on. The tests run one after the
// other, so that none takes a port that another was just given.
func freePorts(t *testing.T, n int) []string {
	t.Helper()
	var ports []string
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		defer l.Close()
		_, port, err := net.SplitHostPort(l.Addr().String())
		require.NoError(t, err)
		ports = append(ports, port)
	}
	return ports
}

// An answer is what came back for one request, and the request.
type answer struct {
	method string
	params string // name or URI
	result json.RawMessage
	err    json.RawMessage
	failed bool // a tool's error
}

// talk starts a program, asks for everything that it has, and returns the
// answers as they were on the wire.
func (e example) talk(t *testing.T, program string, over transport, path, revision string) []answer {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()

	ports := freePorts(t, 2)
	addr, free := "127.0.0.1:"+ports[0], ports[1]
	var args []string
	for _, arg := range e.args[over] {
		args = append(args, strings.NewReplacer("ADDR", addr, "HOST", "127.0.0.1", "PORT", ports[0], "FREE", free).Replace(arg))
	}
	cmd := exec.Command(program, args...)
	var stderr buffer
	cmd.Stderr = &stderr

	tape := &recorder{}
	var tr mcp.Transport
	switch over {
	case stdio:
		tr = &mcp.LoggingTransport{Transport: &mcp.CommandTransport{Command: cmd}, Writer: tape}
	default:
		require.NoError(t, cmd.Start())
		defer func() {
			_ = cmd.Process.Signal(os.Interrupt)
			_ = cmd.Wait()
		}()
		waitFor(t, addr)
		if slices.Contains(args, free) {
			waitFor(t, "localhost:"+free)
		}
		client := &nethttp.Client{Transport: tape}
		if over == sse {
			tr = &mcp.SSEClientTransport{Endpoint: "http://" + addr + path, HTTPClient: client}
		} else {
			tr = &mcp.StreamableClientTransport{Endpoint: "http://" + addr + path, HTTPClient: client}
		}
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "reader", Version: "v1.0.0"}, clientOptions())
	client.AddRoots(&mcp.Root{Name: "home", URI: "file:///home"})
	session, err := client.Connect(ctx, tr, &mcp.ClientSessionOptions{ProtocolVersion: revision})
	require.NoError(t, err, "%s", &stderr)
	e.ask(t, ctx, session)
	require.NoError(t, session.Close())
	return tape.answers(t)
}

// ask lists, calls, gets and reads all that the server has. What fails is left
// to the comparison.
func (e example) ask(t *testing.T, ctx context.Context, session *mcp.ClientSession) {
	t.Helper()
	names := map[string]bool{}
	if tools, err := session.ListTools(ctx, nil); err == nil {
		for _, tool := range tools.Tools {
			names[tool.Name] = true
		}
	}
	called := map[string]bool{}
	for _, c := range e.callsOf(names) {
		called[c.tool] = true
		if _, err := session.CallTool(ctx, &mcp.CallToolParams{Name: c.tool, Arguments: c.args}); err != nil {
			t.Logf("%s: %v", c.tool, err)
		}
	}
	for name := range names {
		require.True(t, called[name], "the table has no call of %q", name)
	}
	if prompts, err := session.ListPrompts(ctx, nil); err == nil {
		for _, prompt := range prompts.Prompts {
			_, _ = session.GetPrompt(ctx, &mcp.GetPromptParams{Name: prompt.Name, Arguments: map[string]string{"name": "Ada"}})
			_, _ = session.Complete(ctx, &mcp.CompleteParams{
				Ref:      &mcp.CompleteReference{Type: "ref/prompt", Name: prompt.Name},
				Argument: mcp.CompleteParamsArgument{Name: "name", Value: "Ad"},
			})
		}
	}
	if resources, err := session.ListResources(ctx, nil); err == nil {
		for _, resource := range resources.Resources {
			_, _ = session.ReadResource(ctx, &mcp.ReadResourceParams{URI: resource.URI})
		}
	}
	_, _ = session.ListResourceTemplates(ctx, nil)
}

func sampled(context.Context, *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
	return &mcp.CreateMessageResult{Model: "m", Role: "assistant", Content: &mcp.TextContent{Text: "a sample"}}, nil
}

func elicited(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
	return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"random": "four"}}, nil
}

// These match what differs from run to run whatever the server is.
var (
	moment    = regexp.MustCompile(`\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)?`)
	elapsed   = regexp.MustCompile(`duration_ms=\d+`)
	sessionID = regexp.MustCompile(`\b[A-Z2-7]{26}\b`)
)

func steadied(b []byte) string {
	s := moment.ReplaceAllString(string(b), "TIME")
	s = elapsed.ReplaceAllString(s, "duration_ms=N")
	return sessionID.ReplaceAllString(s, "SESSION")
}

// checkCalls fails if tools failed without the stack, so that there was nothing
// to compare.
func (e example) checkCalls(t *testing.T, bare []answer, revision string) {
	t.Helper()
	fine := 0
	for _, a := range bare {
		if a.method != "tools/call" {
			continue
		}
		if a.err == nil && !a.failed {
			fine++
		} else if revision == mcptest.Handshake {
			require.Contains(t, e.fails, a.params, "%s%s", a.result, a.err)
		}
	}
	require.NotZero(t, fine)
}

func compare(t *testing.T, bare, wrapped []answer) {
	t.Helper()
	counts := map[string]int{}
	require.Len(t, wrapped, len(bare))
	for i, b := range bare {
		w := wrapped[i]
		what := b.method + " " + b.params
		require.Equal(t, what, w.method+" "+w.params)
		switch {
		case b.err != nil || b.failed:
			// An error is where the stack says something else; it must stay one.
			require.True(t, w.err != nil || w.failed, "%s failed without steady, and with it: %s", what, w.result)
			counts["failed"]++
		default:
			require.Equal(t, steadied(b.result), steadied(w.result), what)
			counts[b.method]++
		}
	}
	t.Logf("the same to the byte: %v", counts)
}

// printed runs a program to its end and returns the lines that it printed.
func printed(t *testing.T, program string) []string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, program)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	require.NoError(t, cmd.Run(), "%s%s", &stdout, &stderr)
	require.NotEmpty(t, stdout.String()+stderr.String())
	return slices.Collect(strings.Lines(steadied(stdout.Bytes()) + steadied(stderr.Bytes())))
}

func waitFor(t *testing.T, addr string) {
	t.Helper()
	require.Eventually(t, func() bool {
		conn, err := net.DialTimeout("tcp", addr, time.Second)
		if err == nil {
			conn.Close()
		}
		return err == nil
	}, 20*time.Second, 10*time.Millisecond)
}

// A recorder keeps the messages that a client sent and received, over HTTP as a
// RoundTripper, and on stdio as the writer of a mcp.LoggingTransport.
type recorder struct {
	mu        sync.Mutex
	stdio     bytes.Buffer
	exchanges []*exchange
}

type exchange struct{ sent, received buffer }

func (r *recorder) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.stdio.Write(p)
}

func (r *recorder) RoundTrip(req *nethttp.Request) (*nethttp.Response, error) {
	e := &exchange{}
	r.mu.Lock()
	r.exchanges = append(r.exchanges, e)
	r.mu.Unlock()
	if req.Body != nil {
		req = req.Clone(req.Context())
		req.Body = tee{req.Body, &e.sent}
	}
	resp, err := nethttp.DefaultTransport.RoundTrip(req)
	if err == nil {
		resp.Body = tee{resp.Body, &e.received}
	}
	return resp, err
}

// tee copies what is read from a body.
type tee struct {
	io.ReadCloser
	to io.Writer
}

func (t tee) Read(p []byte) (int, error) {
	n, err := t.ReadCloser.Read(p)
	_, _ = t.to.Write(p[:n])
	return n, err
}

// A buffer may be written while it is read.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// answers pairs the client's requests with the server's answers, in the order
// of the requests.
func (r *recorder) answers(t *testing.T) []answer {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	var sent, received []string
	for line := range strings.Lines(r.stdio.String()) {
		if message, ok := strings.CutPrefix(line, "write: "); ok {
			sent = append(sent, message)
		} else if message, ok := strings.CutPrefix(line, "read: "); ok {
			received = append(received, message)
		}
	}
	for _, exchange := range r.exchanges {
		sent = append(sent, exchange.sent.String())
		for line := range strings.Lines(exchange.received.String()) {
			received = append(received, strings.TrimPrefix(line, "data: "))
		}
	}

	type message struct {
		ID            *int
		Method        string
		Params        struct{ Name, URI string }
		Result, Error json.RawMessage
	}
	asked := map[int]answer{}
	for _, line := range sent {
		var m message
		if json.Unmarshal([]byte(line), &m) == nil && m.ID != nil && m.Method != "" {
			asked[*m.ID] = answer{method: m.Method, params: m.Params.Name + m.Params.URI}
		}
	}
	for _, line := range received {
		var m message
		if json.Unmarshal([]byte(line), &m) != nil || m.ID == nil || m.Method != "" {
			continue
		}
		a, ok := asked[*m.ID]
		require.True(t, ok, "an answer to nothing: %s", line)
		var tool struct{ IsError bool }
		_ = json.Unmarshal(m.Result, &tool)
		a.result, a.err, a.failed = m.Result, m.Error, tool.IsError
		asked[*m.ID] = a
	}
	var answers []answer
	for _, id := range slices.Sorted(maps.Keys(asked)) {
		answers = append(answers, asked[id])
	}
	return answers
}
