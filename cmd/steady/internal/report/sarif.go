package report

import (
	"io"
	"strings"

	"github.com/steadymcp/steady/registry"
)

// A Rule is a probe, or a rule of the linter, as SARIF lists them.
type Rule struct {
	ID       string
	Title    string
	Why      string
	Fix      string
	Severity registry.Severity
}

var levels = map[registry.Severity]string{registry.Error: "error", registry.Warning: "warning", registry.Info: "note"}

// WriteSARIF writes the findings as SARIF 2.1.0. Every result is shown at uri, a
// file of the repository, since a server that is only run has no lines.
func (r *Report) WriteSARIF(w io.Writer, rules []Rule, uri string) error {
	type text struct {
		Text string `json:"text"`
	}
	type object = map[string]any
	listed := []object{}
	index := map[string]int{}
	for i, rule := range rules {
		index[rule.ID] = i
		listed = append(listed, object{
			"id": rule.ID, "shortDescription": text{rule.Title}, "fullDescription": text{rule.Why}, "help": text{rule.Fix},
			"defaultConfiguration": object{"level": levels[rule.Severity]},
		})
	}
	results := []object{}
	add := func(f Finding) {
		subject := f.Subject
		if subject == "" {
			subject = "server"
		}
		result := object{
			"ruleId": f.Probe, "level": levels[f.Severity],
			"message": text{strings.ReplaceAll(Printable(about(f)), "](", "] (") + ". " + f.Fix}, // [a](b) is a link in a message
			"locations": []object{{
				"physicalLocation": object{"artifactLocation": object{"uri": uri}, "region": object{"startLine": 1}},
				"logicalLocations": []object{{"fullyQualifiedName": subject, "kind": "member"}},
			}},
			"partialFingerprints": object{"steady/v1": f.Key()},
		}
		if i, ok := index[f.Probe]; ok {
			result["ruleIndex"] = i
		}
		if f.Reason != "" {
			result["suppressions"] = []object{{"kind": "external", "justification": f.Reason}}
		}
		if f.Known {
			result["baselineState"] = "unchanged"
		}
		results = append(results, result)
	}
	for _, f := range r.Findings {
		add(f)
	}
	for _, f := range r.Excepted {
		add(f)
	}
	return writeJSON(w, object{
		"$schema": "https://json.schemastore.org/sarif-2.1.0.json",
		"version": "2.1.0",
		"runs": []object{{
			"tool": object{"driver": object{
				"name": "steady doctor", "version": r.Steady, "informationUri": "https://github.com/steadymcp/steady", "rules": listed,
			}},
			"results": results,
		}},
	})
}
