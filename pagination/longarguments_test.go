package pagination

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
)

// Arguments that are too long to be repeated are referred to, and never left
// out of the next call without a word.
func TestLongArgumentsAreReferredTo(t *testing.T) {
	type query struct {
		Q string `json:"q"`
	}
	p := Offset(func(_ context.Context, _ query, offset, n int) ([]int, error) {
		out := make([]int, n)
		for i := range out {
			out[i] = offset + i
		}
		return out, nil
	}, &Options{Bounds: Bounds{Limit: 5, Max: 5}})
	arguments, err := json.Marshal(query{strings.Repeat("<", 2000)})
	require.NoError(t, err)
	req := &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Name: "search", Arguments: arguments}}
	res, page, err := p.Page(t.Context(), req, Input{}, query{strings.Repeat("<", 2000)})
	require.NoError(t, err)
	require.NotNil(t, page.NextCursor)
	text := res.Content[len(res.Content)-1].(*mcp.TextContent).Text
	require.Contains(t, text, "call search with the same arguments as now and \"cursor\":")
	require.True(t, strings.HasSuffix(text, `"`+*page.NextCursor+`"`), text)
}
