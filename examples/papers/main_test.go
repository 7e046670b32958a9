package main

import (
	"context"
	"os/exec"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/steadymcp/steady/internal/mcptest"
)

// connect starts the program as a client would and connects to it.
func connect(t *testing.T, args ...string) *mcp.ClientSession {
	t.Helper()
	command := exec.Command(program, args...)
	client := mcp.NewClient(&mcp.Implementation{Name: "client", Version: "v1.0.0"}, nil)
	session, err := client.Connect(t.Context(), &mcp.CommandTransport{Command: command}, nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, session.Close()) })
	return session
}

var program string

func TestMain(m *testing.M) { mcptest.RunWithPrograms(m, map[string]*string{".": &program}) }

func call(t *testing.T, s *mcp.ClientSession, tool string, args map[string]any) (*mcp.CallToolResult, string) {
	t.Helper()
	res, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
	require.NoError(t, err)
	var text []string
	for _, c := range res.Content {
		text = append(text, c.(*mcp.TextContent).Text)
	}
	return res, strings.Join(text, "\n")
}

// structured returns the value at keys in a result's structured content.
func structured(t *testing.T, res *mcp.CallToolResult, keys ...string) any {
	t.Helper()
	require.False(t, res.IsError)
	v := res.StructuredContent
	for _, k := range keys {
		v = v.(map[string]any)[k]
	}
	return v
}

func TestTools(t *testing.T) {
	s := connect(t)

	res, _ := call(t, s, "search_papers", map[string]any{"query": "prompt injection", "limit": 3})
	papers := structured(t, res, "papers").([]any)
	require.NotEmpty(t, papers)
	first := papers[0].(map[string]any)
	require.Contains(t, strings.ToLower(first["title"].(string)), "prompt injection")
	id := first["paper_id"]

	res, _ = call(t, s, "get_paper", map[string]any{"paper_id": id})
	require.Contains(t, structured(t, res, "text"), "prompt injection")
	require.Empty(t, structured(t, res, "notes"))

	res, _ = call(t, s, "list_recent", map[string]any{})
	require.Len(t, structured(t, res, "papers"), usualFound)

	res, _ = call(t, s, "add_note", map[string]any{"paper_id": id, "text": "ask Hana about zebrafish"})
	notes := structured(t, res, "notes").([]any)
	require.Len(t, notes, 1)
	noteID := notes[0].(map[string]any)["id"]
	res, _ = call(t, s, "search_papers", map[string]any{"query": "zebrafish"})
	require.EqualValues(t, 1, structured(t, res, "total"), "notes are found too")

	res, _ = call(t, s, "tag_paper", map[string]any{"paper_id": id, "tags": []string{"Urgent"}})
	require.Contains(t, structured(t, res, "tags"), "urgent")
	res, _ = call(t, s, "search_papers", map[string]any{"query": "injection", "tag": "urgent"})
	require.EqualValues(t, 1, structured(t, res, "total"))

	res, text := call(t, s, "delete_note", map[string]any{"paper_id": id, "note_id": noteID, "confirm": false})
	require.True(t, res.IsError)
	require.Contains(t, text, "ask the user")
	res, _ = call(t, s, "delete_note", map[string]any{"paper_id": id, "note_id": noteID, "confirm": true})
	require.Empty(t, structured(t, res, "notes"))

	for tool, args := range map[string]map[string]any{
		"get_paper":     {"paper_id": "p999"},
		"add_note":      {"paper_id": "p001", "text": "  "},
		"tag_paper":     {"paper_id": "p001", "tags": []string{strings.Repeat("x", 41)}},
		"delete_note":   {"paper_id": "p001", "note_id": "n99", "confirm": true},
		"search_papers": {"query": "x", "limit": mostFound + 1},
	} {
		res, _ := call(t, s, tool, args)
		require.True(t, res.IsError, tool)
	}
}

// What models were seen to guess, and the tool that each guess reaches.
var guesses = []struct {
	tool    string
	args    map[string]any
	reaches string // "" if the call must not run
}{
	{"search_paper", map[string]any{"query": "consensus"}, "search_papers"},
	{"searchPapers", map[string]any{"query": "consensus"}, "search_papers"},
	{"mcp__papers__search_papers", map[string]any{"query": "consensus"}, "search_papers"},
	{"functions.search_papers", map[string]any{"query": "consensus"}, "search_papers"},
	{"find_papers", map[string]any{"query": "consensus"}, "search_papers"},
	{"search_knowledgebase", map[string]any{"query": "consensus"}, "search_papers"},
	{"serach_papers", map[string]any{"query": "consensus"}, "search_papers"},
	{"search_articles", map[string]any{"query": "consensus"}, "search_papers"},
	{"search_papers", map[string]any{"question": "consensus"}, "search_papers"},
	{"search_papers", map[string]any{"search_term": "consensus", "limit": "5"}, "search_papers"},
	{"search_papers", map[string]any{"arguments": map[string]any{"query": "consensus"}}, "search_papers"},
	{"get_paper", map[string]any{"paperId": "p001"}, "get_paper"},
	{"get_paper", map[string]any{"id": "p001"}, "get_paper"},
	{"fetch_paper", map[string]any{"paper_id": "p001"}, "get_paper"},
	{"list_recent<|channel|>commentary", nil, "list_recent"},
	{"tag_paper", map[string]any{"paper_id": "p001", "tags": "read"}, "tag_paper"},
	{"delete_paper", map[string]any{"paper_id": "p001"}, ""},
	{"remove_note", map[string]any{"paper_id": "p001", "note_id": "n1", "confirm": true}, ""},
	{"delete_note", map[string]any{"paper_id": "p001", "note_id": "n1", "confirm": "true"}, ""},
	{"send_email", map[string]any{"to": "hana@example.org"}, ""},
}

func TestGuesses(t *testing.T) {
	s := connect(t)
	for _, g := range guesses {
		res, text := call(t, s, g.tool, g.args)
		if g.reaches == "" {
			require.True(t, res.IsError, "%s %v: %s", g.tool, g.args, text)
			continue
		}
		require.False(t, res.IsError, "%s %v: %s", g.tool, g.args, text)
		if facts, ok := res.Meta["steady/discovery"].(map[string]any); ok && facts["resolved"] != nil {
			require.Equal(t, g.reaches, facts["resolved"])
		}
	}
}

// Without discovery each of them fails, so that TestGuesses shows something.
func TestGuessesWithoutDiscovery(t *testing.T) {
	s := connect(t, "-bare")
	for _, g := range guesses {
		res, err := s.CallTool(context.Background(), &mcp.CallToolParams{Name: g.tool, Arguments: g.args})
		require.True(t, err != nil || res.IsError, "%s %v", g.tool, g.args)
	}
}
