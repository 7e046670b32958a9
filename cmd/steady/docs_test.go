package main

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/steadymcp/steady/cmd/steady/internal/config"
	"github.com/steadymcp/steady/cmd/steady/internal/doctor"
	"github.com/steadymcp/steady/cmd/steady/internal/report"
)

// The table of probes in the documentation is that of the code.
func TestDocumentedProbes(t *testing.T) {
	t.Parallel()
	cell := func(text string) string { return strings.ReplaceAll(text, "|", `\|`) }
	var b strings.Builder
	family := ""
	for _, p := range doctor.Probes() {
		if p.Family != family {
			family = p.Family
			fmt.Fprintf(&b, "\n### %s\n\n| probe | | what is found | what is sent | why it matters | what to do |\n|---|---|---|---|---|---|\n", family)
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s | %s |\n", p.ID, p.Severity, cell(p.Title), cell(p.Sends), cell(p.Why), cell(p.Fix))
	}
	documented(t, "../../docs/doctor.md", "<!-- probes: begin -->\n", b.String()+"\n", "<!-- probes: end -->")
}

// Every probe says everything, and has a planted mistake that it finds, or a
// reason for having none.
func TestProbesAreComplete(t *testing.T) {
	t.Parallel()
	elsewhere := map[string]string{
		"lint":           "found as lint/ and the rule",
		"task-poll":      "needs a server with tasks that break",
		"http-malformed": "TestMistakesOverHTTP",
		"http-session":   "TestMistakesOverHTTP",
		"http-origin":    "TestMistakesOverHTTP",
		"http-method":    "TestMistakesOverHTTP",
	}
	planted := map[string]bool{}
	for _, m := range mistakes {
		for _, id := range strings.Fields(m.want) {
			planted[id] = true
		}
	}
	ids := map[string]bool{}
	for _, p := range doctor.Probes() {
		require.False(t, ids[p.ID], "%s twice", p.ID)
		ids[p.ID] = true
		for _, text := range []string{p.Title, p.Sends, p.Why, p.Fix, string(p.Severity), p.Family} {
			require.NotEmpty(t, text, p.ID)
		}
		require.True(t, planted[p.ID] || elsewhere[p.ID] != "", "%s has no planted mistake", p.ID)
	}
	for _, m := range mistakes {
		for _, id := range strings.Fields(m.want + " " + m.also) {
			require.True(t, ids[id] || strings.HasPrefix(id, "lint/"), "%s expects %s, which is no probe", m.name, id)
		}
	}
}

// Every probe says what came of it, for whatever server.
func TestEveryProbeHasAnOutcome(t *testing.T) {
	t.Parallel()
	r := examine(t, "-only", "listing", "--", orders(t), "-bare")
	require.Len(t, r.Outcomes, len(doctor.Probes()))
	for _, o := range r.Outcomes {
		require.Equal(t, o.Status == report.Skipped, o.Reason != "", o.Probe)
	}
}

// The configuration in the documentation is the one that -init prints.
func TestDocumentedConfiguration(t *testing.T) {
	t.Parallel()
	documented(t, "../../docs/proxy.md", "<!-- config: begin -->\n```yaml\n", config.Commented, "```\n<!-- config: end -->")
}

// documented fails the test if a document does not have text between begin and end,
// or puts it there if that is asked for.
func documented(t *testing.T, doc, begin, text, end string) {
	t.Helper()
	data, err := os.ReadFile(doc)
	require.NoError(t, err)
	before, rest, ok := strings.Cut(string(data), begin)
	require.True(t, ok)
	have, after, ok := strings.Cut(rest, end)
	require.True(t, ok)
	if os.Getenv("STEADY_UPDATE_DOCS") != "" {
		require.NoError(t, os.WriteFile(doc, []byte(before+begin+text+end+after), 0o644))
		return
	}
	require.Equal(t, text, have, "run with STEADY_UPDATE_DOCS=1 to rewrite it")
}
