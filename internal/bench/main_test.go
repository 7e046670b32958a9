package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
)

// The page has the columns and the rows that the program writes, and no others.
// Each call of the program fails unless it ends as it has to.
func TestPage(t *testing.T) {
	schemas = mcp.NewSchemaCache()
	whole := scenarios
	t.Cleanup(func() { schemas, scenarios = nil, whole })
	scenarios = slices.Clone(whole)
	for i := range scenarios { // to make a thousand tools for each of them takes most of a minute
		scenarios[i].tools = min(scenarios[i].tools, 30)
	}
	table, err := measure(t.Context(), 2, 2, 1)
	require.NoError(t, err)
	text, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(page)))
	require.NoError(t, err)
	_, section, ok := strings.Cut(string(text), begin)
	require.True(t, ok)
	section, _, ok = strings.Cut(section, end)
	require.True(t, ok)
	require.Equal(t, labels(table), labels(section))
}

// labels returns the first line of a table and the first cell of each other.
func labels(table string) []string {
	var found []string
	for line := range strings.Lines(table) {
		if strings.HasPrefix(line, "|") {
			if len(found) > 0 {
				line, _, _ = strings.Cut(line[1:], "|")
			}
			found = append(found, strings.TrimSpace(line))
		}
	}
	return found
}

func TestReplace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "page.md")
	require.NoError(t, os.WriteFile(path, []byte("a\n"+begin+"old\n"+end+"z\n"), 0o644))
	require.NoError(t, replace(path, "new\n"))
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "a\n"+begin+"\nnew\n\n"+end+"z\n", string(text))

	require.NoError(t, os.WriteFile(path, []byte("no marks"), 0o644))
	require.ErrorContains(t, replace(path, "new"), "has no place for the table")
}
