package main

import (
	"context"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
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
	var sessions []*mcp.ClientSession
	for _, set := range protectionSets {
		cmd := exec.Command(steady, "proxy", "-config", configFile(b, set.cfg), "--", server)
		client := mcp.NewClient(&mcp.Implementation{Name: "bench", Version: "1"}, nil)
		session, err := client.Connect(context.Background(), &mcp.CommandTransport{Command: cmd, TerminateDuration: 100 * time.Millisecond}, nil)
		require.NoError(b, err)
		b.Cleanup(func() { _ = session.Close() })
		sessions = append(sessions, session)
	}
	params := &mcp.CallToolParams{Name: "greet", Arguments: map[string]any{"name": strings.Repeat("x", 1000)}}
	const batch = 20
	times := make([][]time.Duration, len(sessions))
	round := func() {
		for i, session := range sessions {
			began := time.Now()
			for range batch {
				_, err := session.CallTool(context.Background(), params)
				require.NoError(b, err)
			}
			times[i] = append(times[i], time.Since(began)/batch)
		}
	}
	for range 5 {
		round()
	}
	clear(times)
	for b.Loop() {
		round()
	}
	median := func(i int) float64 {
		slices.Sort(times[i])
		return float64(times[i][len(times[i])/2].Nanoseconds())
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(median(0)/1000, "none-us")
	for i, set := range protectionSets[1:] {
		b.ReportMetric(median(i+1)/median(0), set.name+"-ratio")
	}
}
