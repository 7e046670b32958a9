package peers

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

type (
	paper struct {
		PaperID string `json:"paper_id"`
		Title   string
		Tags    []string
		Notes   []struct{ ID, Text string }
	}
	papersFound struct {
		Papers []paper
		Total  int
	}
)

// TestPapers calls every tool of the knowledge base.
func TestPapers(t *testing.T) {
	t.Parallel()
	eachPeer(t, papers, func(t *testing.T, s *session) {
		s.open()
		s.mustCallAll()
		var found papersFound
		s.same("search_papers", arguments{"query": "prompt injection", "limit": 3}, &found)
		require.Len(t, found.Papers, 3)
		require.Contains(t, strings.ToLower(found.Papers[0].Title), "prompt injection")
		id := found.Papers[0].PaperID
		var recent papersFound
		s.same("list_recent", nil, &recent)
		require.Len(t, recent.Papers, 10)
		var p paper
		s.same("get_paper", arguments{"paper_id": id}, &p)
		require.Equal(t, found.Papers[0].Title, p.Title)
		s.same("tag_paper", arguments{"paper_id": id, "tags": []string{"Urgent"}}, &p)
		require.Contains(t, p.Tags, "urgent")
		p = paper{}
		s.same("add_note", arguments{"paper_id": id, "text": "ask Hana about zebrafish"}, &p)
		require.Len(t, p.Notes, 1)
		note := arguments{"paper_id": id, "note_id": p.Notes[0].ID, "confirm": false}
		s.refused("delete_note", note, "ask the user")
		if s.keeps() {
			note["confirm"] = true
			p = paper{}
			s.same("delete_note", note, &p)
			require.Empty(t, p.Notes)
		}

		if s.checksNames {
			_, err := s.client.callTool(s.context(), "search_paper", arguments{"query": "consensus"})
			require.Error(t, err)
		} else {
			for _, name := range []string{"search_paper", "searchPapers", "mcp__papers__search_papers", "find_papers", "search_knowledgebase"} {
				s.ok(name, arguments{"query": "consensus"}, &found)
				require.NotEmpty(t, found.Papers, name)
			}
			s.refused("remove_note", note, `"remove_note"`, "delete_note")
		}
		s.ok("search_papers", arguments{"question": "consensus", "limit": "3"}, &found)
		require.Len(t, found.Papers, 3)
		s.refused("get_paper", arguments{}, "paper_id")
		s.refused("get_paper", arguments{"paper_id": "p999"}, `there is no paper "p999"`, "search_papers")
	})
}
