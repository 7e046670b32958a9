package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/steadymcp/steady/examples/internal/desk"
	"github.com/steadymcp/steady/internal/mcptest"
)

// TestTypeScript runs every tool with clients that are not ours: both major
// versions of the TypeScript SDK, over stdio as a command line tool does, over
// HTTP, and over HTTP as a browser does for a page of another origin.
func TestTypeScript(t *testing.T) {
	t.Parallel()
	dir := installClients(t)
	const page = "http://localhost:6274"
	for _, sdk := range []struct{ name, revision string }{
		{"v1", mcptest.Handshake},
		{"v2", mcptest.Handshake},
		{"v2-modern", mcptest.Stateless},
	} {
		for _, transport := range []string{"stdio", "http", "browser"} {
			t.Run(sdk.name+"/"+transport, func(t *testing.T) {
				args := []string{"client.mjs", sdk.name, transport}
				switch transport {
				case "stdio":
					args = append(args, program, "-grace", "1ms") // export_orders is answered with a task
				case "http":
					url, _ := serve(t)
					args = append(args, url)
				case "browser":
					url, _ := serve(t, "-allow-origin", page)
					args = append(args, url, page)
				}
				got := runClient(t, dir, args...)
				if got.Protocol != nil { // v1 does not tell over stdio
					require.Equal(t, sdk.revision, *got.Protocol)
				}
				checkClient(t, got, transport == "stdio")
			})
		}
	}
	for _, sdk := range []string{"v1", "v2", "v2-modern"} {
		t.Run(sdk+"/a result that was cut", func(t *testing.T) {
			got := runClient(t, dir, "client.mjs", sdk, "stdio", program, "-bug", "unbounded")
			require.Empty(t, got.Noise)
			cut, rest := got.Calls["search_orders"], got.Calls["read_result"]
			require.False(t, cut.IsError, cut.Text)
			require.Contains(t, cut.Text, "This result was cut")
			require.Contains(t, string(cut.Structured), `"order_id":"ORD-1"`)
			require.False(t, rest.IsError, rest.Text)
			var next struct{ Offset, Total int }
			require.NoError(t, json.Unmarshal(rest.Structured, &next))
			require.Positive(t, next.Offset)
			require.Equal(t, desk.UsualOrders, next.Total)
		})
	}
	t.Run("a browser on another page is refused", func(t *testing.T) {
		url, _ := serve(t, "-allow-origin", page)
		cmd := exec.CommandContext(t.Context(), "node", "client.mjs", "v2", "browser", url, "http://evil.example")
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		require.Error(t, err)
		require.Contains(t, string(out), "preflight for POST was refused")
	})
}

type clientReport struct {
	Protocol *string
	Tools    []string
	Noise    []string
	Calls    map[string]struct {
		IsError    bool
		Structured json.RawMessage
		Text       string
	}
}

func runClient(t *testing.T, dir string, args ...string) (report clientReport) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "node", args...)
	cmd.Dir = dir
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(t, err, "%s", stderr.String())
	require.NoError(t, json.Unmarshal(out, &report), "%s", out)
	return report
}

func checkClient(t *testing.T, got clientReport, task bool) {
	t.Helper()
	require.Empty(t, got.Noise, "what the client could not read")
	require.Equal(t, slices.Concat(installed, own), got.Tools)
	called := map[string]bool{}
	for label, call := range got.Calls {
		name, refused := strings.CutSuffix(label, " refused")
		called[name] = true
		if refused {
			require.True(t, call.IsError, label)
			require.Equal(t, "null", string(call.Structured), label)
			continue
		}
		require.False(t, call.IsError, "%s: %s", label, call.Text)
		if strings.HasPrefix(string(call.Structured), `{"task":`) {
			continue // its text is for the model
		}
		// A page with more to come says below its JSON how to get the rest.
		first, _, _ := strings.Cut(call.Text, "\n")
		require.JSONEq(t, string(call.Structured), first, label)
	}
	for _, name := range got.Tools {
		if name != "read_result" && (task || !strings.HasPrefix(name, "task_")) {
			require.True(t, called[name], "%s was not called", name)
		}
	}
	if task {
		require.Contains(t, got.Calls["export_orders"].Text, "task_result")
		require.Contains(t, got.Calls["task_result"].Text, "sha256")
	}
	require.Contains(t, got.Calls["cancel_order refused"].Text, "Do not retry.")
	require.Contains(t, got.Calls["search_orders, last page"].Text, `"next_cursor":null`)
	require.Equal(t, got.Calls["export_status"].Text, got.Calls["start_export again"].Text, "a retry finds the export that is done")
	require.JSONEq(t, `{"written":2}`, got.Calls["exports_written"].Text)
}

// installClients installs the pinned packages into a directory of its own, as
// on a machine that has never seen them, and returns the directory. They do not
// go beside the sources: npm packages may hold Go files, which ./... would find.
func installClients(t *testing.T) string {
	t.Helper()
	for _, tool := range []string{"node", "npm"} {
		if _, err := exec.LookPath(tool); err != nil {
			if os.Getenv("CI") == "true" {
				t.Fatalf("%s is missing, and CI must run the TypeScript clients: install Node 20 with npm", tool)
			}
			t.Skipf("%s is not installed; the TypeScript clients need Node 20 with npm", tool)
		}
	}
	dir := t.TempDir()
	for _, name := range []string{"package.json", "package-lock.json", "client.mjs"} {
		data, err := os.ReadFile(filepath.Join("ts", name))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), data, 0o600))
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	install := exec.CommandContext(ctx, "npm", "ci", "--ignore-scripts", "--prefer-offline", "--no-audit", "--no-fund")
	install.Dir = dir
	out, err := install.CombinedOutput()
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		t.Fatal("npm ci took more than five minutes")
	}
	require.NoError(t, err, "npm ci: %s", out)
	return dir
}
