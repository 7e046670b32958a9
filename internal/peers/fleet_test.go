package peers

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// fleetOf is steady proxy in front of several servers, each of them NAME=COMMAND.
func fleetOf(servers ...string) *example {
	e := &example{name: "fleet", only: stdio, path: proxied.path, behind: []string{"proxy"}}
	for _, s := range servers {
		e.behind = append(e.behind, "-server", s)
	}
	return e
}

// TestFleet has two servers of ours behind one endpoint, which speak either
// revision.
func TestFleet(t *testing.T) {
	t.Parallel()
	eachPeer(t, fleetOf("quick="+quickstart.path, "papers="+papers.path), func(t *testing.T, s *session) {
		s.open()
		names := s.tools()
		require.Subset(t, names, []string{"quick_quote_shipping", "papers_search_papers"})
		for _, name := range names {
			require.True(t, strings.HasPrefix(name, "quick_") || strings.HasPrefix(name, "papers_"), name)
		}
		var found papersFound
		s.same("papers_search_papers", arguments{"query": "prompt injection", "limit": 3}, &found)
		require.Len(t, found.Papers, 3)
		if s.forgets {
			return
		}
		s.refused("papers_get_paper", arguments{"paper_id": "p999"}, `there is no paper "p999"`)
		_, err := s.client.callTool(s.context(), "papers_greet", arguments{})
		require.Error(t, err)
	})
}

// TestFleetOfOthers has servers that others wrote behind one endpoint, none of
// which knows a revision without a handshake.
func TestFleetOfOthers(t *testing.T) {
	t.Parallel()
	node := node(t)
	server := func(name, script string, args ...string) string {
		path, err := filepath.Abs(filepath.Join(npm, "node_modules/@modelcontextprotocol", script, "dist/index.js"))
		require.NoError(t, err)
		return name + "='" + strings.Join(append([]string{node, path}, args...), "' '") + "'"
	}
	dir := t.TempDir()
	e := fleetOf(
		server("every", "server-everything"),
		server("files", "server-filesystem", dir),
		server("memory", "server-memory"),
		server("think", "server-sequential-thinking"),
	)
	eachPeer(t, e, func(t *testing.T, s *session) {
		if os.Getenv("STEADY_LONG") == "" && !slices.Contains([]string{"typescript/v2-modern", "mcp-go/" + stateless, "inspector/legacy"}, s.peer.name) {
			t.Skip("one client of each sort is enough: STEADY_LONG=1 runs all")
		}
		s.peer.revision = handshake
		s.open()
		if !s.forgets {
			require.Subset(t, s.tools(), []string{"every_echo", "files_read_text_file", "memory_read_graph", "think_sequentialthinking"})
		}
		require.Contains(t, s.ok("every_echo", arguments{"message": "hello"}, nil).text(), "hello")
		if s.forgets { // each request starts all of them
			return
		}
		require.Contains(t, s.ok("files_list_allowed_directories", arguments{}, nil).text(), dir)
		s.ok("memory_search_nodes", arguments{"query": "nothing"}, nil)
		s.ok("think_sequentialthinking", arguments{"thought": "x", "nextThoughtNeeded": false, "thoughtNumber": 1, "totalThoughts": 1}, nil)
		prompts, err := s.client.listPrompts(s.context())
		require.NoError(t, err)
		require.Contains(t, prompts, "every_simple-prompt")
		text, err := s.client.getPrompt(s.context(), "every_simple-prompt", map[string]string{})
		require.NoError(t, err)
		require.NotEmpty(t, text)
		uris, err := s.client.listResources(s.context())
		require.NoError(t, err)
		require.NotEmpty(t, uris)
		text, err = s.client.readResource(s.context(), uris[0])
		require.NoError(t, err)
		require.NotEmpty(t, text)
	})
}
