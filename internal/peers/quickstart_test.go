package peers

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestQuickstart calls the one tool of the smallest server.
func TestQuickstart(t *testing.T) {
	t.Parallel()
	eachPeer(t, quickstart, useQuickstart)
}

// TestProxy does the same through steady proxy.
func TestProxy(t *testing.T) {
	t.Parallel()
	eachPeer(t, proxied, useQuickstart)
}

// TestProtect mends calls of a server in TypeScript that knows nothing of steady.
func TestProtect(t *testing.T) {
	t.Parallel()
	eachPeer(t, protected, func(t *testing.T, s *session) {
		s.open()
		require.Subset(t, s.tools(), []string{"echo", "get-sum", "read_result"})
		a := s.ok("get-sum", arguments{"a": "2", "b": 3}, nil)
		require.Contains(t, a.text(), "is 5")
		if s.forgets {
			return // each call starts two servers
		}
		if !s.checksNames {
			require.Contains(t, s.ok("GetSum", arguments{"a": 2, "b": 3}, nil).text(), "is 5")
			s.refused("add_numbers", arguments{"a": 2, "b": 3}, `no tool named "add_numbers"`)
		}
		s.refused("echo", arguments{"volume": 11}, "message")
		s.ok("get-structured-content", arguments{"location": "Chicago"}, nil)
	})
}

func useQuickstart(t *testing.T, s *session) {
	s.open()
	s.mustCallAll("read_result")
	var quote struct{ Cents int }
	s.same("quote_shipping", arguments{"country": "FR", "kilos": 10}, &quote)
	require.Equal(t, 2400, quote.Cents)
	if s.checksNames {
		_, err := s.client.callTool(s.context(), "quoteShipping", arguments{"country": "FR", "kilos": 10})
		require.Error(t, err)
	} else {
		s.ok("quoteShipping", arguments{"country": "FR", "kilos": 10}, nil)
		s.refused("ship_parcel", arguments{"country": "FR"}, `"ship_parcel"`)
	}
	quote.Cents = 0
	s.ok("quote_shipping", arguments{"country": "FR", "kilos": "10"}, &quote)
	require.Equal(t, 2400, quote.Cents)
	s.refused("quote_shipping", arguments{"country": "FR"}, "kilos")
	s.refused("quote_shipping", arguments{"country": "FR", "kilos": 45}, "a parcel of 45 kg cannot be shipped", "split it")
}

// TestAdopt calls the tools of a server that a diff has hardened: one of them
// panics, one prints on standard output and one says too much.
func TestAdopt(t *testing.T) {
	t.Parallel()
	eachPeer(t, adopted, func(t *testing.T, s *session) {
		s.open()
		s.mustCallAll("read_result")
		s.same("get_note", arguments{"id": "n1"}, nil)
		var found struct{ IDs []string }
		s.same("search_notes", arguments{"query": "plants"}, &found)
		require.Equal(t, []string{"n1", "n2"}, found.IDs)
		eventually(t, func() bool { return strings.Contains(s.server.stderr.String(), "searching for plants") }, "what is printed goes to standard error")
		s.refused("get_note", arguments{"id": "n9"}, "internal error (incident ")
		a := s.call("export_notes", nil)
		require.True(t, a.IsError)
		require.NotContains(t, a.text(), "/srv/notes")
		s.same("get_note", arguments{"id": "n2"}, nil)
	})
}
