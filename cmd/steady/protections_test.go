package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
	collectormetrics "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	collectortrace "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"
)

// configFile writes a configuration.
func configFile(t testing.TB, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "steady.yaml")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	return file
}

// protectedServer connects a client of the Go SDK to a server behind the proxy.
func protectedServer(t *testing.T, cfg string, env []string, server ...string) (_ *mcp.ClientSession, log *bytes.Buffer) {
	t.Helper()
	args := append([]string{"proxy", "-config", configFile(t, cfg), "--"}, server...)
	cmd := exec.Command(build(t, filepath.Join("..", "steady")), args...)
	cmd.Env = append(os.Environ(), env...)
	log = &bytes.Buffer{}
	cmd.Stderr = log
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	cs, err := client.Connect(context.Background(), &mcp.CommandTransport{Command: cmd, TerminateDuration: time.Second}, nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = cs.Close() })
	return cs, log
}

func fromNPM(script string) []string {
	return []string{"node", filepath.Join(npm, "@modelcontextprotocol", script)}
}

// called returns a call's text, and whether it failed.
func called(t *testing.T, cs *mcp.ClientSession, name string, arguments map[string]any) (text string, failed bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	res, err := cs.CallTool(ctx, &mcp.CallToolParams{Name: name, Arguments: arguments})
	require.NoError(t, err, name)
	for _, block := range res.Content {
		if b, ok := block.(*mcp.TextContent); ok {
			text += b.Text + "\n"
		}
	}
	return text, res.IsError
}

// A server in TypeScript that knows nothing of steady has what its operator wrote
// into one file.
func TestProtectEverything(t *testing.T) {
	t.Parallel()
	cs, _ := protectedServer(t, `
protect: recommended
limits: {deadline: 1500ms, tools: {get-tiny-image: {rate: 1/h}}}
names: {former: {say: {tool: echo, until: 2999-01-01, arguments: {text: message}}}}
visibility: {hide: [get-env]}
tasks: {tools: {simulate-research-query: {grace: 200ms}}}
`, nil, fromNPM("server-everything/dist/index.js")...)
	var names []string
	for tool, err := range cs.Tools(context.Background(), nil) {
		require.NoError(t, err)
		names = append(names, tool.Name)
	}
	require.Subset(t, names, []string{"echo", "read_result", "task_result"})
	require.NotContains(t, names, "get-env")
	for _, c := range []struct {
		name      string
		arguments map[string]any
		says      string
		fails     bool
	}{
		{"echo", map[string]any{"message": "a"}, "Echo: a", false},
		{"Echo", map[string]any{"Message": "a"}, "Echo: a", false},
		{"mcp__everything__get_sum", map[string]any{"a": "1", "b": 2}, "is 3", false},
		{"get-sums", map[string]any{"a": 1, "b": 2}, "is 3", false},
		{"say", map[string]any{"text": "b"}, "say is now called echo", false},
		{"get-env", nil, `no tool named "get-env"`, true},
		{"get_environment", nil, "no tool named", true},
		{"echo", map[string]any{"volume": 1}, "message", true},
		{"get-tiny-image", nil, "image", false},
		{"get-tiny-image", nil, "Retry", true},
		{"trigger-long-running-operation", map[string]any{"duration": 30, "steps": 3}, "1.5s", true},
	} {
		text, failed := called(t, cs, c.name, c.arguments)
		require.Contains(t, text, c.says, c.name)
		require.Equal(t, c.fails, failed, "%s: %s", c.name, text)
	}
	text, _ := called(t, cs, "simulate-research-query", map[string]any{"topic": "steadiness"})
	require.NotEmpty(t, text)
}

func TestProtectFilesystem(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	large := filepath.Join(dir, "large.txt")
	require.NoError(t, os.WriteFile(large, []byte(strings.Repeat("a line of text\n", 20_000)+"the end\n"), 0o600))
	cs, _ := protectedServer(t, "protect: recommended\nresults: {bytes: 20kB}", nil, append(fromNPM("server-filesystem/dist/index.js"), dir)...)
	text, failed := called(t, cs, "ReadTextFile", map[string]any{"file_path": large})
	require.False(t, failed, text)
	require.Less(t, len(text), 21_000)
	require.Contains(t, text, "read_result")
	_, after, ok := strings.Cut(text, `{"handle":"`)
	require.True(t, ok)
	handle, _, _ := strings.Cut(after, `"`)
	text, failed = called(t, cs, "read_result", map[string]any{"handle": handle, "offset": 320_000 - 100})
	require.False(t, failed, text)
	require.Contains(t, text, "the end")
	// What writes is proposed, and not run, where the name is a guess.
	text, failed = called(t, cs, "write_fyle", map[string]any{"path": filepath.Join(dir, "new.txt"), "content": "x"})
	require.True(t, failed)
	require.Contains(t, text, "write_file")
	require.NoFileExists(t, filepath.Join(dir, "new.txt"))
}

func TestProtectMemory(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "memory.jsonl")
	cs, _ := protectedServer(t, "repair:\nvisibility: {read_only: true}\nsearch:", []string{"MEMORY_FILE_PATH=" + file}, fromNPM("server-memory/dist/index.js")...)
	text, failed := called(t, cs, "find_tools", map[string]any{"question": "read the whole graph"})
	require.False(t, failed)
	require.Contains(t, text, "read_graph")
	text, failed = called(t, cs, "call_tool", map[string]any{"id": "read_graph"})
	require.False(t, failed, text)
	_, failed = called(t, cs, "create_entities", map[string]any{"entities": []any{map[string]any{"name": "a", "entityType": "b", "observations": []any{}}}})
	require.True(t, failed)
	require.NoFileExists(t, file)
}

// A collector is an OTLP endpoint.
type collector struct {
	mu      sync.Mutex
	names   map[string]bool // of spans and metrics
	service map[string]bool
}

func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	c.mu.Lock()
	defer c.mu.Unlock()
	switch r.URL.Path {
	case "/v1/traces":
		var m collectortrace.ExportTraceServiceRequest
		if proto.Unmarshal(body, &m) != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		for _, rs := range m.ResourceSpans {
			c.service[fmt.Sprint(rs.Resource.Attributes)] = true
			for _, ss := range rs.ScopeSpans {
				for _, span := range ss.Spans {
					c.names["span "+span.Name] = true
				}
			}
		}
	case "/v1/metrics":
		var m collectormetrics.ExportMetricsServiceRequest
		if proto.Unmarshal(body, &m) != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		for _, rm := range m.ResourceMetrics {
			for _, sm := range rm.ScopeMetrics {
				for _, metric := range sm.Metrics {
					c.names["metric "+metric.Name] = true
				}
			}
		}
	}
}

// Spans and metrics arrive where the usual variables say, the last of them when the
// session ends.
func TestProtectTelemetry(t *testing.T) {
	t.Parallel()
	c := &collector{names: map[string]bool{}, service: map[string]bool{}}
	server := httptest.NewServer(c)
	defer server.Close()
	cs, log := protectedServer(t, "repair:\ntelemetry: {service: echo-proxy}", []string{
		"OTEL_EXPORTER_OTLP_ENDPOINT=" + server.URL, "OTEL_RESOURCE_ATTRIBUTES=deployment.environment=test",
	}, fromNPM("server-everything/dist/index.js")...)
	text, failed := called(t, cs, "Echo", map[string]any{"message": "a"})
	require.False(t, failed, text)
	require.NoError(t, cs.Close(), log)
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, want := range []string{"span tools/call echo", "metric mcp.server.operation.duration", "metric steady.discovery.rewrites"} {
		require.Contains(t, c.names, want, log)
	}
	require.Contains(t, fmt.Sprint(c.service), "echo-proxy")
	require.Contains(t, fmt.Sprint(c.service), "deployment.environment")
}
