package registry_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/steadymcp/steady/registry"
)

// The tables of rules and limits in the documentation are those of the code.
func TestDocumentedTables(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("| rule | severity | why | what to do |\n|---|---|---|---|\n")
	for _, r := range registry.Rules() {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", r.ID, r.Severity, cell(r.Why), cell(r.Fix))
	}
	b.WriteString("\n| profile | limit | source |\n|---|---|---|\n")
	for _, p := range registry.Profiles() {
		row := func(what, source string) {
			if what != "" {
				fmt.Fprintf(&b, "| %s | %s | %s |\n", p.Name, what, cell(source))
			}
		}
		limit := func(what string, l registry.Limit) {
			if l.Max > 0 {
				row(what+": "+strconv.Itoa(l.Max), l.Source)
			}
		}
		if p.NamePattern.Expr != nil {
			row("names match `"+p.NamePattern.Expr.String()+"`", p.NamePattern.Source)
		}
		limit("bytes of `"+p.FullName.Form+"`", p.FullName.Limit)
		if p.Ends.First > 0 {
			row(fmt.Sprintf("keeps the first %d and the last %d characters of longer names", p.Ends.First, p.Ends.Last), p.Ends.Source)
		}
		if p.FullName.Server > 0 {
			row(fmt.Sprintf("keeps %d bytes of the server's name", p.FullName.Server), p.Ends.Source)
		}
		if p.PropertyKey.Expr != nil {
			row("parameters match `"+p.PropertyKey.Expr.String()+"`", p.PropertyKey.Source)
		}
		limit("tools", p.Tools)
		limit("characters of a description", p.Description)
		limit("characters of the instructions", p.Instructions)
		limit("values of an enum", p.EnumValues)
		if p.Formats != nil {
			row(fmt.Sprintf("formats of strings: %s", strings.Join(p.Formats["string"], ", ")), p.FormatsSource)
		}
		row(fmt.Sprintf("budget: %d bytes, %d tokens, %d bytes a tool", p.Budget.Bytes, p.Budget.Tokens, p.Budget.ToolBytes), p.Budget.Source)
		for _, r := range registry.Rules() {
			if source, ok := p.Refuses[r.ID]; ok {
				row("`"+r.ID+"` is an error", source)
			}
		}
	}
	const begin, end = "<!-- tables: begin -->\n", "<!-- tables: end -->"
	const doc = "../docs/registry.md"
	data, err := os.ReadFile(doc)
	require.NoError(t, err)
	before, rest, ok := strings.Cut(string(data), begin)
	require.True(t, ok)
	have, after, ok := strings.Cut(rest, end)
	require.True(t, ok)
	if os.Getenv("STEADY_UPDATE_DOCS") != "" {
		require.NoError(t, os.WriteFile(doc, []byte(before+begin+b.String()+end+after), 0o644))
		return
	}
	require.Equal(t, b.String(), have, "run with STEADY_UPDATE_DOCS=1 to rewrite the tables")
}

func cell(s string) string { return strings.ReplaceAll(s, "|", `\|`) }
