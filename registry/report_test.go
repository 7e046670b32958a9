package registry_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/steadymcp/steady/registry"
)

func TestExceptions(t *testing.T) {
	t.Parallel()
	p := registry.Generic()
	p.Exceptions = []registry.Exception{
		{Rule: "list-unbounded", Tool: "list_colours", Reason: "there are seven"},
		{Rule: "list-unbounded", Tool: "list_orders", Reason: " "},
		{Rule: "schema-ref", Reason: "not any more"},
	}
	r := lint(t, catalogOf(good("list_colours"), good("list_orders")), p)
	require.Equal(t, []string{"error exception-unreasoned", "warning exception-unused", "warning list-unbounded"}, ruleIDs(r))
	require.Len(t, r.Excepted, 1)
	require.Equal(t, "there are seven", r.Excepted[0].Reason)
}

func TestReportForms(t *testing.T) {
	t.Parallel()
	p := registry.OpenAI()
	p.Exceptions = []registry.Exception{{Rule: "list-unbounded", Tool: "list_colours", Reason: "there are seven"}}
	r := lint(t, catalogOf(with("look_up", `{"inputSchema":{"type":"object"}}`), good("list_colours")), p)

	text := r.String()
	for _, want := range []string{"desk for openai: 2 tools", "look_up\n  error    schema-no-properties: there are no properties (/inputSchema)",
		"fix: ", "see: https://github.com/bnb-chain", "excepted\n  list-unbounded list_colours", "there are seven"} {
		require.Contains(t, text, want)
	}

	var b bytes.Buffer
	require.NoError(t, r.WriteJSON(&b))
	var back registry.Report
	require.NoError(t, json.Unmarshal(b.Bytes(), &back))
	require.Equal(t, "schema-no-properties", back.Findings[0].Rule)
	require.Equal(t, r.Bytes, back.Bytes)

	b.Reset()
	require.NoError(t, r.WriteSARIF(&b, "testdata/tools.json"))
	var sarif struct {
		Version string
		Runs    []struct {
			Tool struct {
				Driver struct{ Rules []struct{ ID string } }
			}
			Results []struct {
				RuleID    string
				RuleIndex int
				Level     string
				Locations []struct {
					PhysicalLocation struct{ ArtifactLocation struct{ URI string } }
					LogicalLocations []struct{ FullyQualifiedName string }
				}
				Suppressions []struct{ Justification string }
			}
		}
	}
	require.NoError(t, json.Unmarshal(b.Bytes(), &sarif))
	require.Equal(t, "2.1.0", sarif.Version)
	results := sarif.Runs[0].Results
	require.Len(t, results, 2)
	require.Equal(t, "error", results[0].Level)
	require.Equal(t, results[0].RuleID, sarif.Runs[0].Tool.Driver.Rules[results[0].RuleIndex].ID)
	require.Equal(t, "testdata/tools.json", results[0].Locations[0].PhysicalLocation.ArtifactLocation.URI)
	require.Equal(t, "look_up/inputSchema", results[0].Locations[0].LogicalLocations[0].FullyQualifiedName)
	require.Equal(t, "there are seven", results[1].Suppressions[0].Justification)

	require.Contains(t, lint(t, catalogOf(good("look_up")), nil).String(), "nothing found")
}

// A path is written as the URI that SARIF wants (section 3.4.3), and no place is
// better than an empty one.
func TestSARIFPlaces(t *testing.T) {
	t.Parallel()
	r := lint(t, catalogOf(with("look_up", `{"inputSchema":{"type":"object"}}`)), nil)
	for path, want := range map[string]any{
		"testdata/tools.json":    "testdata/tools.json",
		"my tools/a:b.json":      "my%20tools/a:b.json",
		"a:b.json":               "./a:b.json",
		"https://x.example/?a=1": "https://x.example/?a=1",
		"":                       nil,
	} {
		var b bytes.Buffer
		require.NoError(t, r.WriteSARIF(&b, path))
		var sarif struct {
			Runs []struct {
				Tool struct {
					Driver struct {
						Rules []struct{ FullDescription struct{ Text string } }
					}
				}
				Results []struct {
					Locations []struct {
						PhysicalLocation *struct{ ArtifactLocation struct{ URI string } }
					}
				}
			}
		}
		require.NoError(t, json.Unmarshal(b.Bytes(), &sarif))
		for _, rule := range sarif.Runs[0].Tool.Driver.Rules {
			require.NotEmpty(t, rule.FullDescription.Text)
		}
		at := sarif.Runs[0].Results[0].Locations[0].PhysicalLocation
		if want == nil {
			require.Nil(t, at)
			continue
		}
		require.Equal(t, want, at.ArtifactLocation.URI)
	}
}
