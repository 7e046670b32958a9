// Package report holds what the doctor found and writes it down: as text, JSON,
// SARIF and HTML, compared with a baseline.
package report

import (
	"cmp"
	"encoding/json"
	"io"
	"slices"
	"time"

	"github.com/steadymcp/steady/registry"
)

// A Report is what the doctor found. Its texts hold no secret that the user gave.
type Report struct {
	Steady      string    `json:"steady"` // the version of this program
	Target      string    `json:"target"`
	Server      string    `json:"server,omitempty"`
	Version     string    `json:"version,omitempty"`
	Revision    string    `json:"revision,omitempty"` // of the protocol
	Fingerprint string    `json:"fingerprint,omitempty"`
	Started     time.Time `json:"started"`
	Seconds     float64   `json:"seconds"`
	Launches    int       `json:"launches"` // how often the server was started
	Catalog     []Cost    `json:"catalog,omitempty"`
	Tools       []Tool    `json:"tools"`
	Findings    []Finding `json:"findings"`
	// Excepted are the findings that the user said are right.
	Excepted []Finding `json:"excepted,omitempty"`
	Outcomes []Outcome `json:"probes"`
	// Mended are the findings of the baseline that were not found again.
	Mended []string `json:"mended,omitempty"`
}

// Cost is what the catalog costs a client.
type Cost struct {
	Profile string          `json:"profile"`
	Bytes   int             `json:"bytes"`
	Tokens  int             `json:"tokens"`
	Budget  registry.Budget `json:"budget"`
}

// A Tool is one tool, and whether it was called.
type Tool struct {
	Name string `json:"name"`
	// Class is what the server says it does: reads, repeatable (it writes, and
	// twice is the same as once), writes, destroys or unknown.
	Class  string `json:"class"`
	Calls  int    `json:"calls"`
	Reason string `json:"reason,omitempty"` // why it was not called
}

// A Finding is one place where a probe found something.
type Finding struct {
	Probe    string            `json:"probe"`
	Severity registry.Severity `json:"severity"`
	// Subject is what it is about: a tool, a prompt, a line; "" for the server.
	Subject string `json:"subject,omitempty"`
	Message string `json:"message"`
	// Sent and Received are the evidence, cut.
	Sent     string `json:"sent,omitempty"`
	Received string `json:"received,omitempty"`
	Why      string `json:"why"`
	Fix      string `json:"fix"`
	Source   string `json:"source,omitempty"` // where a client's limit is documented
	Reason   string `json:"reason,omitempty"` // of an exception
	// Times is how often it was seen, if more than once.
	Times int `json:"times,omitempty"`
	// Known says that the baseline has it.
	Known bool `json:"known,omitempty"`
}

// Key identifies a finding from one run to the next.
func (f *Finding) Key() string { return f.Probe + ":" + f.Subject }

// An Outcome is what came of one probe.
type Outcome struct {
	Probe  string `json:"probe"`
	Title  string `json:"title"`
	Status Status `json:"status"`
	Reason string `json:"reason,omitempty"` // why it was skipped
}

// Status is what came of a probe.
type Status string

// The statuses.
const (
	Passed  Status = "passed"
	Found   Status = "found"
	Skipped Status = "skipped"
)

var severities = []registry.Severity{registry.Error, registry.Warning, registry.Info}

// Graver reports whether a is worse than b.
func Graver(a, b registry.Severity) bool {
	return slices.Index(severities, a) < slices.Index(severities, b)
}

// Sort puts the worst findings first, those of one probe together.
func (r *Report) Sort() {
	slices.SortStableFunc(r.Findings, func(a, b Finding) int {
		return cmp.Or(
			cmp.Compare(slices.Index(severities, a.Severity), slices.Index(severities, b.Severity)),
			cmp.Compare(a.Probe, b.Probe), cmp.Compare(a.Subject, b.Subject))
	})
}

// Count returns how many findings have a severity; those that the baseline
// knows do not count.
func (r *Report) Count(severity registry.Severity) (n int) {
	for _, f := range r.Findings {
		if f.Severity == severity && !f.Known {
			n++
		}
	}
	return n
}

// Worse reports whether there is a new finding of one of the severities.
func (r *Report) Worse(than []registry.Severity) bool {
	return slices.ContainsFunc(than, func(s registry.Severity) bool { return r.Count(s) > 0 })
}

// WriteJSON writes the report as indented JSON, which is also a baseline.
func (r *Report) WriteJSON(w io.Writer) error { return writeJSON(w, r) }

func writeJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// A group is the findings of one probe that are equally grave.
type group struct {
	Probe    string
	Severity registry.Severity
	Findings []Finding
}

// groups returns the findings, worst first; known ones only if all.
func (r *Report) groups(all bool) (out []group) {
	for _, f := range r.Findings {
		if f.Known && !all {
			continue
		}
		if n := len(out); n > 0 && out[n-1].Probe == f.Probe && out[n-1].Severity == f.Severity {
			out[n-1].Findings = append(out[n-1].Findings, f)
			continue
		}
		out = append(out, group{f.Probe, f.Severity, []Finding{f}})
	}
	return out
}
