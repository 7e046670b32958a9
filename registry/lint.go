package registry

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// A Finding is one place where a rule applies.
type Finding struct {
	Rule     string   `json:"rule"`
	Severity Severity `json:"severity"`
	// Tool is the tool's name, or "" for what concerns the catalog.
	Tool string `json:"tool,omitempty"`
	// Pointer is a JSON pointer into the tool's definition, "" for all of it.
	Pointer string `json:"pointer,omitempty"`
	Message string `json:"message"`
	Why     string `json:"why"`
	Fix     string `json:"fix"`
	// Source says where a client's limit is documented. It is empty for rules
	// that are not about one client.
	Source string `json:"source,omitempty"`

	index int // of the tool
}

// Lint looks for what clients refuse, truncate or hide in a listing, and for
// what makes models choose or call wrongly. A nil profile means [Generic].
//
// It reads the listing only, so it works on any server's. It returns an error
// for a listing that cannot be read, and what the profile's CountTokens
// returns; findings are no error.
func Lint(ctx context.Context, listing *Listing, profile *Profile) (*Report, error) {
	if listing == nil {
		return nil, errors.New("registry: the listing is nil")
	}
	if profile == nil {
		profile = Generic()
	}
	l := &linter{profile: profile, listing: listing, server: profile.Server}
	if l.server == "" {
		l.server = listing.Server
	}
	if err := l.read(ctx); err != nil {
		return nil, err
	}
	for i := range l.tools {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		t := &l.tools[i]
		l.checkMembers(t)
		l.checkName(t)
		l.checkTexts(t)
		l.checkSchemas(t)
		l.checkHints(t)
		l.checkParameters(t)
	}
	l.checkNames()
	if err := l.checkDescriptions(ctx); err != nil {
		return nil, err
	}
	l.checkCatalog()
	return l.report(), nil
}

// A linter is one run.
type linter struct {
	profile  *Profile
	listing  *Listing
	server   string
	tools    []lintedTool
	findings []Finding
}

type lintedTool struct {
	index       int
	name        string
	words       []string // of the name
	own         []string // those, without the server's name or "api" before them
	doc         *document
	description string
	input       *document
	bytes       int
	tokens      int
}

func (l *linter) read(ctx context.Context) error {
	for i, raw := range l.listing.Tools {
		doc, err := parseDocument(raw)
		if err != nil {
			return fmt.Errorf("registry: tool %d of the listing: %w", i+1, err)
		}
		if !doc.isObject() {
			return fmt.Errorf("registry: tool %d of the listing is not an object", i+1)
		}
		t := lintedTool{
			index:       i,
			name:        doc.get("name").string(),
			doc:         doc,
			description: doc.get("description").string(),
			input:       doc.get("inputSchema"),
			bytes:       len(doc.bytes()),
		}
		t.words = nameWords(t.name)
		t.own = ownWords(t.words, l.server)
		t.tokens = (t.bytes + 3) / 4
		if l.profile.CountTokens != nil {
			if t.tokens, err = l.profile.CountTokens(ctx, raw); err != nil {
				return fmt.Errorf("registry: counting the tokens of tool %q: %w", t.name, err)
			}
		}
		l.tools = append(l.tools, t)
	}
	return nil
}

// found records a finding. A nil tool means the catalog.
func (l *linter) found(id string, t *lintedTool, pointer, format string, args ...any) {
	rule := ruleByID[id]
	f := Finding{Rule: id, Severity: rule.Severity, Pointer: pointer, Message: fmt.Sprintf(format, args...), Why: rule.Why, Fix: rule.Fix, index: -1}
	if t != nil {
		f.Tool, f.index = t.name, t.index
	}
	if source, ok := l.profile.Refuses[id]; ok {
		f.Severity, f.Source = Error, source
	}
	l.findings = append(l.findings, f)
}

// sourced is found for a limit of the profile.
func (l *linter) sourced(source, id string, t *lintedTool, pointer, format string, args ...any) {
	l.found(id, t, pointer, format, args...)
	l.findings[len(l.findings)-1].Source = source
}

func (l *linter) report() *Report {
	r := &Report{Profile: l.profile.Name, Server: l.server, Budget: l.profile.Budget, Exact: l.profile.CountTokens != nil}
	for _, t := range l.tools {
		r.Bytes += t.bytes
		r.Tokens += t.tokens
	}
	for _, t := range l.tools {
		r.Tools = append(r.Tools, ToolCost{Name: t.name, Bytes: t.bytes, Tokens: t.tokens})
	}
	used := make([]bool, len(l.profile.Exceptions))
	for i, e := range l.profile.Exceptions {
		if strings.TrimSpace(e.Reason) == "" {
			used[i] = true
			l.found("exception-unreasoned", nil, "", "the exception from %s for %s has no reason", e.Rule, orAny(e.Tool))
		}
	}
	for _, f := range l.findings {
		i := slices.IndexFunc(l.profile.Exceptions, func(e Exception) bool {
			return e.Rule == f.Rule && (e.Tool == "" || e.Tool == f.Tool) && strings.TrimSpace(e.Reason) != ""
		})
		if i < 0 {
			r.Findings = append(r.Findings, f)
			continue
		}
		used[i] = true
		r.Excepted = append(r.Excepted, ExceptedFinding{f, l.profile.Exceptions[i].Reason})
	}
	l.findings = nil
	for i, e := range l.profile.Exceptions {
		switch _, known := ruleByID[e.Rule]; {
		case used[i]:
		case !known:
			l.found("exception-unused", nil, "", "there is no rule %q, which an exception for %s names", e.Rule, orAny(e.Tool))
		default:
			l.found("exception-unused", nil, "", "the exception from %s for %s matches nothing", e.Rule, orAny(e.Tool))
		}
	}
	r.Findings = append(r.Findings, l.findings...)
	order := map[string]int{}
	for i, rule := range rules {
		order[rule.ID] = i
	}
	slices.SortStableFunc(r.Findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.index, b.index), cmp.Compare(order[a.Rule], order[b.Rule]))
	})
	return r
}

func orAny(tool string) string {
	if tool == "" {
		return "any tool"
	}
	return tool
}
