package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/steadymcp/steady/registry"
)

func sample(n int) *Report {
	r := &Report{
		Target: "./server", Server: "desk\x1b[2J", Version: "1.0", Fingerprint: strings.Repeat("ab", 32), Started: time.Unix(0, 0).UTC(), Launches: 3,
		Catalog:  []Cost{{Profile: "generic", Bytes: 100, Tokens: 25, Budget: registry.Budget{Bytes: 40_000}}},
		Tools:    []Tool{{Name: "a", Class: "reads", Calls: 2}, {Name: "b", Class: "writes", Reason: "it writes"}, {Name: "c", Class: "writes", Reason: "it writes"}},
		Outcomes: []Outcome{{Probe: "p", Title: "t", Status: Passed}, {Probe: "q", Title: "t", Status: Skipped, Reason: "no tool"}},
	}
	for i := range n {
		severity := []registry.Severity{registry.Info, registry.Error, registry.Warning}[i%3]
		for j := range 1 + i%2 {
			r.Findings = append(r.Findings, Finding{
				Probe: fmt.Sprintf("probe-%d", i), Severity: severity, Subject: fmt.Sprintf("tool_%d", j), Message: "<script>alert(1)</script>\nbroken \u202e",
				Why: "why", Fix: strings.Repeat("fix ", 60), Sent: "sent", Received: "received",
			})
		}
	}
	r.Sort()
	return r
}

func text(t *testing.T, r *Report, opts TextOptions) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, r.WriteText(&b, opts))
	return b.String()
}

func TestTextFitsAScreen(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 5, 100} {
		out := text(t, sample(n), TextOptions{})
		lines := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
		require.LessOrEqual(t, len(lines), 24, out)
		for _, line := range lines[1:] {
			require.LessOrEqual(t, len([]rune(line)), 104, line)
		}
		require.NotContains(t, out, "\x1b", "the server does not drive the terminal")
		require.NotContains(t, out, "\u202e")
	}
	out := text(t, sample(5), TextOptions{})
	require.Less(t, strings.Index(out, "\nerror "), strings.Index(out, "\nwarning "))
	require.Less(t, strings.Index(out, "\nwarning "), strings.Index(out, "\ninfo "))
	require.Contains(t, out, "not called: b c (it writes)")
	require.Contains(t, text(t, sample(5), TextOptions{Colour: true}), "\x1b[31m")
	all := text(t, sample(100), TextOptions{Verbose: true})
	require.Contains(t, all, "probe-99")
	require.Contains(t, all, "received: received")
}

func TestPrintable(t *testing.T) {
	t.Parallel()
	for _, r := range "\x00\x1b\x7f\u0085\u00ad\u061c\u200b\u2028\u2029\u202e\u2060\u2066\ufeff\U000e0041" {
		require.Equal(t, "a\uFFFDb", Printable("a"+string(r)+"b"), "%U", r)
	}
	require.Equal(t, "a b c", Printable("a\nb\tc"))
	require.Equal(t, "größer 界 \U0001F4A3", Printable("größer 界 \U0001F4A3"))
	long := sample(1)
	long.Server, long.Target = strings.Repeat("x", 100_000), strings.Repeat("y", 100_000)
	require.Less(t, len(text(t, long, TextOptions{})), 4096)
}

func TestHTMLStandsAlone(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	require.NoError(t, sample(7).WriteHTML(&b))
	page := b.String()
	require.Contains(t, page, "probe-6")
	require.NotContains(t, page, "<script")
	for _, outside := range []string{"src=", "href=", "url(", "@import"} {
		require.NotContains(t, page, outside)
	}
}

func TestSARIF(t *testing.T) {
	t.Parallel()
	r := sample(3)
	r.Excepted = []Finding{{Probe: "probe-1", Severity: registry.Error, Message: "m", Reason: "known"}}
	r.Findings[0].Known = true
	r.Findings[0].Message = "see [this](https://evil.example)\x1b[2J"
	var b bytes.Buffer
	require.NoError(t, r.WriteSARIF(&b, []Rule{{ID: "probe-1", Title: "t", Why: "w", Fix: "f", Severity: registry.Error}}, "cmd/server/main.go"))
	var log struct {
		Version string
		Runs    []struct {
			Results []struct {
				RuleID, Level, BaselineState string
				Message                      struct{ Text string }
				Suppressions                 []struct{ Justification string }
				Locations                    []struct {
					PhysicalLocation struct{ ArtifactLocation struct{ URI string } }
				}
			}
		}
	}
	require.NoError(t, json.Unmarshal(b.Bytes(), &log))
	require.Equal(t, "2.1.0", log.Version)
	results := log.Runs[0].Results
	require.Len(t, results, len(r.Findings)+1)
	require.Equal(t, "error", results[0].Level)
	require.Contains(t, results[0].Message.Text, "[this] (https", "a server's text is no link")
	require.NotContains(t, results[0].Message.Text, "\x1b")
	require.Equal(t, "unchanged", results[0].BaselineState)
	require.Equal(t, "cmd/server/main.go", results[0].Locations[0].PhysicalLocation.ArtifactLocation.URI)
	require.Equal(t, "known", results[len(results)-1].Suppressions[0].Justification)
}

func TestBaseline(t *testing.T) {
	t.Parallel()
	before := sample(4)
	before.Findings = append(before.Findings, Finding{Probe: "p", Severity: registry.Error}, Finding{Probe: "q", Severity: registry.Error})
	var saved bytes.Buffer
	require.NoError(t, before.WriteJSON(&saved))
	known, err := ReadBaseline(&saved)
	require.NoError(t, err)

	now := sample(4)
	now.Findings = append(now.Findings, Finding{Probe: "new", Severity: registry.Warning})
	for i, f := range now.Findings {
		if f.Severity == registry.Info {
			now.Findings[i].Severity = registry.Warning // has become graver
		}
	}
	graver := now.Count(registry.Warning) - sample(4).Count(registry.Warning)
	now.Sort()
	now.Compare(known)
	require.Zero(t, now.Count(registry.Error))
	require.Equal(t, graver, now.Count(registry.Warning))
	require.Equal(t, []string{"p:"}, now.Mended, "q was skipped")
	require.False(t, now.Worse([]registry.Severity{registry.Error}))
	require.True(t, now.Worse([]registry.Severity{registry.Warning}))

	for _, bad := range []string{"", "[]", "{}", `{"findings":7}`} {
		_, err := ReadBaseline(strings.NewReader(bad))
		require.Error(t, err, bad)
	}
}
