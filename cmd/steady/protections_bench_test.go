package main

import (
	"context"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/steadymcp/steady/cmd/steady/internal/proxytest"
)

// protectionSets are what a call is timed with. The first is no protection.
var protectionSets = []struct{ name, cfg string }{
	{"none", ""},
	{"repair", "repair:"},
	{"results", "results:"},
	{"errors", "errors:"},
	{"limits", "limits:"},
	{"names", "names: {aliases: {other: greet}}"},
	{"visibility", "visibility: {hide: [none]}"},
	{"search", "search: {advertise: [greet]}"},
	{"tasks-on-other", "tasks: {tools: {none: }}"},
	{"tasks", "tasks: {tools: {greet: {window: off}}}"},
	{"telemetry", "telemetry: {traces: true}"},
	{"recommended", "protect: recommended"},
	{"all", "protect: recommended\nnames: {aliases: {other: greet}}\nvisibility: {hide: [none]}\ntasks: {tools: {none: }}\ntelemetry:"},
}

// BenchmarkProtections calls a tool with 1 kB there and back, in turns through the
// proxy without protections and with each, and reports the ratios of the medians.
func BenchmarkProtections(b *testing.B) {
	steady := build(b, filepath.Join("..", "steady"))
	server := buildSDK(b, "everything")
	b.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9") // nobody
	params := &mcp.CallToolParams{Name: "greet", Arguments: map[string]any{"name": strings.Repeat("x", 1000)}}
	calls := make([]func() error, len(protectionSets))
	for i, set := range protectionSets {
		cmd := exec.Command(steady, "proxy", "-config", configFile(b, set.cfg), "--", server)
		client := mcp.NewClient(&mcp.Implementation{Name: "bench", Version: "1"}, nil)
		session, err := client.Connect(context.Background(), &mcp.CommandTransport{Command: cmd, TerminateDuration: 100 * time.Millisecond}, nil)
		require.NoError(b, err)
		b.Cleanup(func() { _ = session.Close() })
		calls[i] = func() error {
			_, err := session.CallTool(context.Background(), params)
			return err
		}
	}
	times := proxytest.InTurns(b, calls...)
	b.ReportMetric(float64(times[0].Microseconds()), "none-us")
	for i, set := range protectionSets[1:] {
		b.ReportMetric(float64(times[i+1])/float64(times[0]), set.name+"-ratio")
	}
}
