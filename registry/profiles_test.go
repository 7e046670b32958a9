package registry_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/steadymcp/steady/registry"
)

func TestEveryLimitHasASource(t *testing.T) {
	t.Parallel()
	for _, p := range registry.Profiles() {
		for name, source := range map[string]string{
			"name": p.NamePattern.Source, "budget": p.Budget.Source, "enum": p.EnumValues.Source,
		} {
			require.NotEmpty(t, source, "%s %s", p.Name, name)
		}
		for name, l := range map[string]registry.Limit{"full name": p.FullName.Limit, "tools": p.Tools, "description": p.Description, "instructions": p.Instructions} {
			require.Equal(t, l.Max > 0, l.Source != "", "%s %s", p.Name, name)
		}
		require.Equal(t, p.Formats != nil, p.FormatsSource != "")
		require.Equal(t, p.PropertyKey.Expr != nil, p.PropertyKey.Source != "")
		require.Equal(t, p.Ends.First > 0, p.Ends.Source != "")
		ids := map[string]bool{}
		for _, r := range registry.Rules() {
			ids[r.ID] = true
		}
		for id, source := range p.Refuses {
			require.True(t, ids[id], id)
			require.True(t, strings.HasPrefix(source, "https://"), id)
		}
	}
}
