package peers

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// A catalogAnswer is the envelope of every tool.
type catalogAnswer[T any] struct {
	Data      T
	RateLimit *struct{ Remaining int } `json:"rate_limit"`
}

type catalogRows struct{ Rows []map[string]any }

// TestMarketdata calls every tool of the server in front of an API.
func TestMarketdata(t *testing.T) {
	t.Parallel()
	eachPeer(t, marketdata, func(t *testing.T, s *session) {
		s.open()
		s.mustCallAll()
		var found catalogAnswer[struct {
			Results []struct {
				ID   string
				Call struct {
					Tool      string
					Arguments arguments
				}
			}
		}]
		s.same("find_data", arguments{"question": "which executives bought shares of their own company"}, &found)
		require.Nil(t, found.RateLimit, "finding is free")
		first := found.Data.Results[0]
		require.Equal(t, "insider-trades", first.ID)
		var described catalogAnswer[struct{ Path string }]
		s.same("describe_data", arguments{"id": first.ID}, &described)
		require.Equal(t, "/v1/ownership/form4", described.Data.Path)
		var listed catalogAnswer[struct {
			Entries []json.RawMessage
			Total   int
		}]
		s.same("get_catalog", nil, &listed)
		require.Equal(t, 58, listed.Data.Total)
		var rows catalogAnswer[catalogRows]
		s.same(first.Call.Tool, first.Call.Arguments, &rows)
		require.NotEmpty(t, rows.Data.Rows)
		require.Equal(t, 59, rows.RateLimit.Remaining)
		for name, args := range map[string]arguments{
			"symbol_search":   {"query": "nimbus"},
			"sec_filings":     {"symbol": "NMBS", "limit": 2},
			"insider_trades":  {"symbol": "NMBS"},
			"financials":      {"symbol": "NMBS"},
			"congress_trades": {"limit": 3},
			"news_sentiment":  {"symbol": "NMBS"},
		} {
			rows = catalogAnswer[catalogRows]{}
			s.same(name, args, &rows)
			require.NotEmpty(t, rows.Data.Rows, name)
			require.NotNil(t, rows.RateLimit, name)
		}
		s.same("submit_feedback", arguments{
			"category": "stale", "severity": "low", "endpoint": "quotes",
			"expected": "a price of the last trading day", "got": "a price from last week", "source": "the exchange's own page",
		}, nil)

		if !s.checksNames {
			s.ok("secFilings", arguments{"symbol": "NMBS"}, &rows)
			require.NotEmpty(t, rows.Data.Rows)
			s.ok("sec-filings", arguments{"symbol": "NMBS"}, &rows) // an entry, which is no tool
			require.NotEmpty(t, rows.Data.Rows)
			s.refused("delete_catalog", arguments{}, `"delete_catalog"`, "get_catalog")
		}
		s.ok("sec_filings", arguments{"ticker": "NMBS", "limit": "2"}, &rows)
		require.Len(t, rows.Data.Rows, 2)
		s.refused("call_api", arguments{"id": "sec-filings", "arguments": arguments{"symbol": "NMBS", "form": "S-1"}}, "10-K")
		s.refused("call_api", arguments{"path": "//spy.example/v1/quotes"})
		s.refused("call_api", arguments{"id": "quotes", "arguments": arguments{"symbols": []string{"XXXX"}}}, "found nothing")
	})
}

// TestToken connects without the token that the server asks for.
func TestToken(t *testing.T) {
	t.Parallel()
	url := marketdata.overHTTP(t).url
	for _, p := range peers {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			_, err := p.connect(t, &server{example: &example{name: "stranger"}, url: url})
			require.Error(t, err)
			require.NotContains(t, err.Error(), "key-demo")
		})
	}
}
