package adopt

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/steadymcp/steady/internal/mcptest"
)

// build applies steady.diff to a copy of the plain server and builds both.
func build(t *testing.T) (before, after string) {
	t.Helper()
	dir := t.TempDir()
	source, err := os.ReadFile("before/main.go")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "main.go"), source, 0o644))
	diff, err := filepath.Abs("steady.diff")
	require.NoError(t, err)
	apply := exec.Command("git", "apply", diff)
	apply.Dir = dir
	out, err := apply.CombinedOutput()
	require.NoError(t, err, string(out))

	before, after = filepath.Join(dir, "before"), filepath.Join(dir, "after")
	for program, from := range map[string]string{before: "./before", after: filepath.Join(dir, "main.go")} {
		out, err := exec.Command("go", "build", "-o", program, from).CombinedOutput()
		require.NoError(t, err, string(out))
	}
	return before, after
}

func start(t *testing.T, program string) (call func(tool string, args map[string]any) (*mcp.CallToolResult, error)) {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "v1"}, nil)
	session, err := client.Connect(t.Context(), &mcp.CommandTransport{Command: exec.Command(program)}, nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = session.Close() })
	return func(tool string, args map[string]any) (*mcp.CallToolResult, error) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		return session.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: args})
	}
}

func TestDiff(t *testing.T) {
	before, after := build(t)
	type args = map[string]any

	t.Run("what worked is the same", func(t *testing.T) {
		bare, err := start(t, before)("get_note", args{"id": "n1"})
		require.NoError(t, err)
		hardened, err := start(t, after)("get_note", args{"id": "n1"})
		require.NoError(t, err)
		require.False(t, bare.IsError)
		require.Equal(t, bare, hardened)
	})

	t.Run("a panic", func(t *testing.T) {
		call := start(t, before)
		_, err := call("get_note", args{"id": "n9"})
		require.Error(t, err)
		_, err = call("get_note", args{"id": "n1"})
		require.Error(t, err, "the process is gone")

		call = start(t, after)
		result, err := call("get_note", args{"id": "n9"})
		require.NoError(t, err)
		require.True(t, result.IsError)
		require.Regexp(t, `^internal error \(incident [A-Z2-7]+\)`, mcptest.Text(result))
		_, err = call("get_note", args{"id": "n1"})
		require.NoError(t, err)
	})

	t.Run("a print", func(t *testing.T) {
		call := start(t, before)
		_, err := call("search_notes", args{"query": "plants"})
		require.Error(t, err, "the session is gone")

		call = start(t, after)
		result, err := call("search_notes", args{"query": "plants"})
		require.NoError(t, err)
		require.Equal(t, args{"ids": []any{"n1", "n2"}}, result.StructuredContent)
	})

	t.Run("an error from below", func(t *testing.T) {
		result, err := start(t, before)("export_notes", nil)
		require.NoError(t, err)
		require.Contains(t, mcptest.Text(result), "customer-4711")

		result, err = start(t, after)("export_notes", nil)
		require.NoError(t, err)
		require.True(t, result.IsError)
		require.NotContains(t, mcptest.Text(result), "customer-4711")
		require.Contains(t, mcptest.Text(result), "incident")
	})

	t.Run("a guessed name", func(t *testing.T) {
		_, err := start(t, before)("getNote", args{"noteId": "n1"})
		require.ErrorContains(t, err, "unknown tool")

		result, err := start(t, after)("getNote", args{"noteId": "n1"})
		require.NoError(t, err)
		require.Contains(t, mcptest.Text(result), "Water the plants")
	})
}

// TestDocumented holds the pages that show the diff to the diff.
func TestDocumented(t *testing.T) {
	diff, err := os.ReadFile("steady.diff")
	require.NoError(t, err)
	for _, page := range []string{"README.md", "../../docs/adopting.md"} {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		shown := string(text)
		for line := range strings.Lines(string(diff)) {
			if strings.HasPrefix(line, "--- ") || strings.HasPrefix(line, "+++ ") || line[0] != '+' && line[0] != '-' {
				continue
			}
			require.Contains(t, shown, "\n"+line, page)
		}
	}
}
