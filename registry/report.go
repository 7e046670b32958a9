package registry

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"unicode"
)

// A Report is what [Lint] found, and what the catalog costs.
type Report struct {
	Profile string `json:"profile"`
	Server  string `json:"server,omitempty"`
	Bytes   int    `json:"bytes"` // of the tools' JSON
	Tokens  int    `json:"tokens"`
	// Exact says that tokens were counted; otherwise a token is four bytes.
	Exact    bool              `json:"exact,omitempty"`
	Budget   Budget            `json:"budget"`
	Tools    []ToolCost        `json:"tools"`
	Findings []Finding         `json:"findings"`
	Excepted []ExceptedFinding `json:"excepted,omitempty"`
}

// ToolCost is what one tool's definition costs.
type ToolCost struct {
	Name   string `json:"name"`
	Bytes  int    `json:"bytes"`
	Tokens int    `json:"tokens"`
}

// An ExceptedFinding is a finding that an [Exception] covers.
type ExceptedFinding struct {
	Finding
	Reason string `json:"reason"`
}

// Count returns how many findings have one of the severities.
func (r *Report) Count(severities ...Severity) (n int) {
	for _, f := range r.Findings {
		if slices.Contains(severities, f.Severity) {
			n++
		}
	}
	return n
}

// WriteText writes a table of what each tool costs, the most expensive first,
// then the findings, those about the catalog first, and then what the rules
// that found something mean.
func (r *Report) WriteText(w io.Writer) error {
	var b bytes.Buffer
	tokens := "tokens (estimated)"
	if r.Exact {
		tokens = "tokens"
	}
	name := visible(r.Server)
	if name == "" {
		name = "catalog"
	}
	fmt.Fprintf(&b, "%s for %s: %d tools, %d bytes, %d %s", name, r.Profile, len(r.Tools), r.Bytes, r.Tokens, tokens)
	if r.Budget.Bytes > 0 {
		fmt.Fprintf(&b, ", %s of the budget", percent(r.Bytes, r.Budget.Bytes))
	}
	b.WriteString("\n\n")
	worst := map[string]string{}
	for _, f := range r.Findings {
		if f.Tool != "" {
			worst[f.Tool] += string(f.Severity)[:1]
		}
	}
	tw := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(tw, "bytes\ttokens\tshare\terrors\twarnings\tadvice\t\n")
	tools := slices.Clone(r.Tools)
	slices.SortStableFunc(tools, func(a, b ToolCost) int { return b.Bytes - a.Bytes })
	for _, t := range tools {
		fmt.Fprintf(tw, "%d\t%d\t%s\t%s\t%s\t%s\t  %s\n", t.Bytes, t.Tokens, percent(t.Bytes, r.Bytes),
			dash(strings.Count(worst[t.Name], "e")), dash(strings.Count(worst[t.Name], "w")), dash(strings.Count(worst[t.Name], "i")), visible(t.Name))
	}
	_ = tw.Flush()
	if len(r.Findings) == 0 {
		b.WriteString("\nnothing found\n")
	}
	for i, f := range r.Findings {
		if i == 0 || f.Tool != r.Findings[i-1].Tool {
			heading := visible(f.Tool)
			if heading == "" {
				heading = "the catalog"
			}
			fmt.Fprintf(&b, "\n%s\n", heading)
		}
		fmt.Fprintf(&b, "  %-7s  %s: %s", f.Severity, f.Rule, visible(f.Message))
		if f.Pointer != "" {
			fmt.Fprintf(&b, " (%s)", visible(f.Pointer))
		}
		b.WriteByte('\n')
	}
	r.writeReasons(&b)
	if len(r.Excepted) > 0 {
		b.WriteString("\nexcepted\n")
		for _, e := range r.Excepted {
			fmt.Fprintf(&b, "  %s %s: %s (%s)\n", e.Rule, visible(e.Tool), visible(e.Message), e.Reason)
		}
	}
	_, err := w.Write(b.Bytes())
	return err
}

// visible returns text from a server, which may be anybody's, so that it stays on
// its line and commands no terminal.
func visible(s string) string {
	if !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if unicode.IsPrint(r) {
			b.WriteRune(r)
			continue
		}
		quoted := strconv.QuoteRuneToASCII(r)
		b.WriteString(quoted[1 : len(quoted)-1])
	}
	return b.String()
}

// writeReasons says once for each rule that found something why it matters,
// what to do, and where a client's limit is from.
func (r *Report) writeReasons(b *bytes.Buffer) {
	for _, rule := range rules {
		said := false
		var sources []string
		for _, f := range r.Findings {
			if f.Rule != rule.ID {
				continue
			}
			if !said {
				fmt.Fprintf(b, "\n%s\n  why: %s\n  fix: %s\n", f.Rule, f.Why, f.Fix)
				said = true
			}
			if f.Source != "" && !slices.Contains(sources, f.Source) {
				sources = append(sources, f.Source)
				fmt.Fprintf(b, "  see: %s\n", f.Source)
			}
		}
	}
}

// String returns what WriteText writes.
func (r *Report) String() string {
	var b strings.Builder
	_ = r.WriteText(&b)
	return b.String()
}

func percent(n, of int) string {
	if of == 0 {
		return "-"
	}
	return fmt.Sprintf("%d%%", (n*100+of/2)/of)
}

func dash(n int) string {
	if n == 0 {
		return "-"
	}
	return fmt.Sprint(n)
}

// WriteJSON writes the report as indented JSON.
func (r *Report) WriteJSON(w io.Writer) error {
	c := *r
	if c.Findings == nil {
		c.Findings = []Finding{}
	}
	if c.Tools == nil {
		c.Tools = []ToolCost{}
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(c)
}

// reference returns a URI as it is, and a path as one.
func reference(uri string) string {
	if u, err := url.Parse(uri); err == nil && u.String() == uri && (u.Scheme == "" || u.Host != "" || u.Scheme == "file") {
		return uri
	}
	return (&url.URL{Path: filepath.ToSlash(uri)}).String()
}

// WriteSARIF writes the findings as SARIF 2.1.0, for code scanning. uri is the
// file that they are shown at, relative to the repository: the snapshot of the
// listing, or the file that registers the tools. If it is empty, findings say
// only which tool they are about. A path may have blanks; it is encoded.
func (r *Report) WriteSARIF(w io.Writer, uri string) error {
	type text struct {
		Text string `json:"text"`
	}
	type sarifRule struct {
		ID      string `json:"id"`
		Short   text   `json:"shortDescription"`
		Full    text   `json:"fullDescription"`
		Help    text   `json:"help"`
		Default struct {
			Level string `json:"level"`
		} `json:"defaultConfiguration"`
	}
	type physical struct {
		Artifact struct {
			URI string `json:"uri"`
		} `json:"artifactLocation"`
		Region struct {
			StartLine int `json:"startLine"`
		} `json:"region"`
	}
	type logical struct {
		Name string `json:"fullyQualifiedName"`
		Kind string `json:"kind"`
	}
	type location struct {
		Physical *physical `json:"physicalLocation,omitempty"`
		Logical  []logical `json:"logicalLocations"`
	}
	type suppression struct {
		Kind   string `json:"kind"`
		Reason string `json:"justification"`
	}
	type result struct {
		RuleID       string            `json:"ruleId"`
		RuleIndex    int               `json:"ruleIndex"`
		Level        string            `json:"level"`
		Message      text              `json:"message"`
		Locations    []location        `json:"locations"`
		Fingerprints map[string]string `json:"partialFingerprints"`
		Suppressions []suppression     `json:"suppressions,omitempty"`
	}
	type run struct {
		Tool struct {
			Driver struct {
				Name  string      `json:"name"`
				URI   string      `json:"informationUri"`
				Rules []sarifRule `json:"rules"`
			} `json:"driver"`
		} `json:"tool"`
		Results []result `json:"results"`
	}
	levels := map[Severity]string{Error: "error", Warning: "warning", Info: "note"}
	out := run{Results: []result{}}
	out.Tool.Driver.Name, out.Tool.Driver.URI = "steady", "https://github.com/steadymcp/steady"
	index := map[string]int{}
	for i, rule := range rules {
		s := sarifRule{ID: rule.ID, Short: text{rule.Why}, Full: text{rule.Why + " " + rule.Fix}, Help: text{rule.Fix}}
		s.Default.Level = levels[rule.Severity]
		index[rule.ID] = i
		out.Tool.Driver.Rules = append(out.Tool.Driver.Rules, s)
	}
	add := func(f Finding, reason string) {
		where := f.Tool
		if where == "" {
			where = "catalog"
		}
		var at location
		if uri != "" {
			at.Physical = &physical{}
			at.Physical.Artifact.URI, at.Physical.Region.StartLine = reference(uri), 1
		}
		at.Logical = []logical{{visible(where + f.Pointer), "member"}}
		res := result{
			RuleID: f.Rule, RuleIndex: index[f.Rule], Level: levels[f.Severity],
			Message:      text{visible(where + ": " + f.Message + ". " + f.Fix)},
			Locations:    []location{at},
			Fingerprints: map[string]string{"steady/v1": f.Rule + ":" + where + f.Pointer},
		}
		if reason != "" {
			res.Suppressions = []suppression{{"external", reason}}
		}
		out.Results = append(out.Results, res)
	}
	for _, f := range r.Findings {
		add(f, "")
	}
	for _, e := range r.Excepted {
		add(e.Finding, e.Reason)
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(map[string]any{
		"$schema": "https://json.schemastore.org/sarif-2.1.0.json",
		"version": "2.1.0",
		"runs":    []run{out},
	})
}
