package report

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
)

// maxBaseline is how large a baseline may be, in bytes.
const maxBaseline = 64 << 20

// A Baseline is the findings that are known: a report that was saved as JSON.
type Baseline struct {
	Findings []Finding `json:"findings"`
}

// ReadBaseline reads a saved report. Only the probe and the subject of its
// findings count.
func ReadBaseline(in io.Reader) (*Baseline, error) {
	data, err := io.ReadAll(io.LimitReader(in, maxBaseline+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxBaseline {
		return nil, fmt.Errorf("the baseline has more than %d bytes", maxBaseline)
	}
	var b struct {
		Findings *[]Finding `json:"findings"`
	}
	if err := json.Unmarshal(data, &b); err != nil {
		return nil, fmt.Errorf("this is no baseline: %w", err)
	}
	if b.Findings == nil {
		return nil, fmt.Errorf("this is no baseline: there are no findings in it")
	}
	return &Baseline{*b.Findings}, nil
}

// Compare marks the findings that the baseline has, and notes those of the
// baseline that are gone; what was not looked for this time is not gone. A finding
// that has become graver is new.
func (r *Report) Compare(b *Baseline) {
	rank := func(f Finding) int { return slices.Index(severities, f.Severity) }
	known := map[string]int{}
	for _, f := range b.Findings {
		if have, ok := known[f.Key()]; !ok || rank(f) < have {
			known[f.Key()] = rank(f)
		}
	}
	for i, f := range r.Findings {
		if have, ok := known[f.Key()]; ok {
			r.Findings[i].Known = rank(f) >= have
			delete(known, f.Key())
		}
	}
	tried := map[string]bool{}
	for _, o := range r.Outcomes {
		tried[o.Probe] = o.Status != Skipped
	}
	for key := range known {
		probe, _, _ := strings.Cut(key, ":")
		if probe, _, _ = strings.Cut(probe, "/"); tried[probe] {
			r.Mended = append(r.Mended, key)
		}
	}
	slices.Sort(r.Mended)
}
