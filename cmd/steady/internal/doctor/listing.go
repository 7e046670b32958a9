package doctor

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/steadymcp/steady/cmd/steady/internal/report"
	"github.com/steadymcp/steady/cmd/steady/internal/session"
	"github.com/steadymcp/steady/registry"
)

var listingProbes = []Probe{
	{ID: "list-failed", Severity: bad, Title: "the list of tools cannot be had",
		Sends: "tools/list",
		Why:   "A client shows no tool at all.",
		Fix:   "Answer tools/list with a list, an empty one if there is nothing."},
	{ID: "list-order", Severity: bad, Title: "the order of the tools changes from launch to launch",
		Sends: "tools/list to several launches, and twice to one",
		Why:   "A prompt is cached by its prefix: with another order nothing is cached, and every turn is paid in full.",
		Fix:   "List tools in the order of registration (package registry), or sort them."},
	{ID: "list-bytes", Severity: poor, Title: "the definitions of the tools change from launch to launch",
		Sends: "tools/list to several launches, and twice to one",
		Why:   "As with the order: a date or a random number in a description defeats the prompt cache.",
		Fix:   "Leave out what changes, and sort what comes from a map."},
	{ID: "list-walk", Severity: bad, Title: "the pages of the list do not end, or repeat a tool",
		Sends: "tools/list with each cursor that comes",
		Why:   "A client that reads every page hangs when it connects.",
		Fix:   "Leave nextCursor out on the last page, and let every cursor lead further."},
	{ID: "list-cursor", Severity: poor, Title: "a bad cursor of a list is taken",
		Sends: "tools/list with a cursor that was never given out",
		Why:   "A client that kept a cursor over a restart begins anew without knowing it, or loops.",
		Fix:   "Answer -32602."},
	{ID: "capability", Severity: poor, Title: "what is announced and what is there differ",
		Sends: "tools/list, prompts/list and resources/list",
		Why:   "Clients ask only for what was announced.",
		Fix:   "Announce a capability exactly if its list can be asked for."},
	{ID: "lint", Severity: poor, Title: "what the linter finds in the catalog",
		Sends: "nothing; see steady lint",
		Why:   "Clients refuse, truncate or hide what does not fit them.",
		Fix:   "See the rule."},
}

// Bounds of a walk through the pages of a list.
const (
	maxPages     = 200
	maxListed    = 20_000
	bogusCursor  = "doctor-bogus-cursor"
	methodAbsent = -32601
)

// pages is a list that was read to its end.
type pages struct {
	items []json.RawMessage
	names []string
	pages int
	wrong string // why the walk was given up
	last  session.Reply
}

// list reads all pages of a list.
func (e *exam) list(s *session.Session, method, member string) *pages {
	p := &pages{}
	seen := map[string]bool{}
	for params := map[string]any{}; ; {
		p.last = s.Call(method, params, e.opts.Timeout)
		if !p.last.OK() {
			return p
		}
		var page map[string]json.RawMessage
		var items []json.RawMessage
		if json.Unmarshal(p.last.Result, &page) != nil || json.Unmarshal(page[member], &items) != nil {
			p.wrong = fmt.Sprintf("the answer has no list of %s", member)
			return p
		}
		p.pages++
		for _, item := range items {
			var named struct{ Name string }
			_ = json.Unmarshal(item, &named)
			p.items, p.names = append(p.items, item), append(p.names, named.Name)
		}
		var cursor string
		_ = json.Unmarshal(page["nextCursor"], &cursor)
		switch {
		case cursor == "":
			return p
		case seen[cursor]:
			p.wrong = fmt.Sprintf("page %d has a cursor that an earlier one had", p.pages)
			return p
		case p.pages == maxPages || len(p.items) > maxListed:
			p.wrong = fmt.Sprintf("after %d pages there is still a cursor", p.pages)
			return p
		}
		seen[cursor] = true
		params = map[string]any{"cursor": cursor}
	}
}

// fetchTools lists the tools of the main session once.
func (e *exam) fetchTools() *pages {
	s := e.session()
	if s == nil {
		return nil
	}
	if e.listing != nil {
		return nil
	}
	p := e.list(s, "tools/list", "tools")
	e.listing = &registry.Listing{
		Server: e.server.Name, Version: e.server.Version, Instructions: e.server.Instructions, Tools: p.items,
	}
	if e.listing.Tools == nil {
		e.listing.Tools = []json.RawMessage{}
	}
	e.learnTools(p.items)
	e.first = p
	return p
}

// learnTools takes from a list what there is to call, and decides what may be.
func (e *exam) learnTools(items []json.RawMessage) {
	for _, raw := range items {
		var got struct {
			Name         string
			InputSchema  json.RawMessage
			OutputSchema json.RawMessage
			Annotations  json.RawMessage
		}
		if json.Unmarshal(raw, &got) != nil || got.Name == "" {
			continue
		}
		class := classify(got.Name, parseAnnotations(got.Annotations))
		if t := e.named(got.Name); t != nil {
			// Which of them a call reaches is not known, so the least is done.
			if leave, reason := e.opts.Gate.decide(t.name, class); leave < t.leave {
				t.class, t.leave, t.reason = class, leave, reason
			}
			continue
		}
		t := &tool{name: got.Name, input: parseSchema(got.InputSchema), output: got.OutputSchema, example: map[string]any{}}
		if string(t.output) == "null" {
			t.output = nil
		}
		t.class = class
		t.leave, t.reason = e.opts.Gate.decide(t.name, t.class)
		for _, example := range t.input.examples {
			if m, ok := example.(map[string]any); ok {
				t.example = m
				break
			}
		}
		e.tools = append(e.tools, t)
	}
}

// named returns the tool of that name, or nil.
func (e *exam) named(name string) *tool {
	for _, t := range e.tools {
		if t.name == name {
			return t
		}
	}
	return nil
}

func (e *exam) checkListing() {
	e.fetchTools()
	p := e.first
	s := e.session()
	if p == nil || s == nil {
		return
	}
	_, announced := e.server.Capabilities["tools"]
	e.pass("list-failed", "list-walk", "capability", "list-order", "list-bytes")
	switch {
	case p.wrong != "" && p.pages > 0:
		e.found("list-walk", "tools/list", &p.last, "%s", p.wrong)
	case p.wrong != "":
		e.found("list-failed", "tools/list", &p.last, "%s", p.wrong)
	case !p.last.OK() && announced:
		e.found("list-failed", "tools/list", &p.last, "tools are announced, and the list cannot be had")
	}
	e.compareListings(s, p)
	e.checkListCursor(s, p)
	for _, l := range []struct{ method, member string }{{"tools/list", "tools"}, {"prompts/list", "prompts"}, {"resources/list", "resources"}} {
		_, announced := e.server.Capabilities[l.member]
		got := p
		if l.member != "tools" {
			if s = e.session(); s == nil {
				return
			}
			got = e.list(s, l.method, l.member)
			if got.wrong != "" && got.pages > 0 {
				e.found("list-walk", l.method, &got.last, "%s", got.wrong)
			}
			e.lists[l.member] = got
		}
		switch {
		case ended(&got.last):
			e.died(l.method, &got.last)
		case announced && !got.last.OK() && l.member != "tools":
			e.found("capability", l.member, &got.last, "%s are announced, and %s fails", l.member, l.method)
		case !announced && got.last.OK() && len(got.items) > 0:
			e.found("capability", l.member, &got.last, "%d %s are there and not announced", len(got.items), l.member)
		}
	}
	e.lint()
}

// compareListings asks the same session again, and other launches.
func (e *exam) compareListings(s *session.Session, first *pages) {
	e.compare(first, e.list(s, "tools/list", "tools"), "when asked twice")
	launches := e.opts.Launches
	if e.opts.Target.IsHTTP() {
		launches = 2 // sessions, of one process
	}
	for i := 1; i < launches; i++ {
		other, err := e.open()
		if err != nil {
			e.found("list-failed", "launch", nil, "launch %d of %d failed: %v", i+1, launches, err)
			return
		}
		e.compare(first, e.list(other, "tools/list", "tools"), fmt.Sprintf("at launch %d", i+1))
		other.Close()
	}
}

func (e *exam) compare(first, other *pages, when string) {
	if !other.last.OK() || other.wrong != "" {
		return
	}
	if !slices.Equal(first.names, other.names) {
		for i, name := range first.names {
			if i < len(other.names) && other.names[i] != name {
				e.found("list-order", "tools/list", nil, "%s tool %d is %s, which was %s", when, i+1, other.names[i], name)
				return
			}
		}
		e.found("list-order", "tools/list", nil, "%s there are %d tools, and were %d", when, len(other.names), len(first.names))
		return
	}
	for i := range first.items {
		if string(first.items[i]) != string(other.items[i]) {
			e.found("list-bytes", first.names[i], &session.Reply{Request: []byte("tools/list"), Raw: other.items[i]}, "its definition differs %s: %s", when, differs(first.items[i], other.items[i]))
		}
	}
}

// differs shows where two texts part.
func differs(a, b []byte) string {
	i := 0
	for i < len(a) && i < len(b) && a[i] == b[i] {
		i++
	}
	show := func(t []byte) string { return clip(string(t[max(i-15, 0):]), 50) }
	return fmt.Sprintf("%q, was %q", show(b), show(a))
}

func (e *exam) checkListCursor(s *session.Session, p *pages) {
	r := s.Call("tools/list", map[string]any{"cursor": bogusCursor}, e.opts.Timeout)
	e.pass("list-cursor")
	switch {
	case ended(&r):
		e.died("tools/list", &r)
	case r.Err != nil:
		e.found("list-cursor", "tools/list", &r, "a bad cursor is not answered")
	case r.Error != nil && internalCode(r.Error.Code):
		e.found("list-cursor", "tools/list", &r, "a bad cursor is answered with the code %d", r.Error.Code)
	case r.OK() && p.pages > 1:
		e.found("list-cursor", "tools/list", &r, "a bad cursor is answered with a page")
	}
}

// lint runs the linter for every profile, and files what it finds once.
func (e *exam) lint() {
	if len(e.opts.Profiles) == 0 {
		e.skip("lint", "no profile was given")
		return
	}
	e.pass("lint")
	type place struct{ rule, tool, message string }
	clients := map[place][]string{}
	var order []place
	worst := map[place]registry.Finding{}
	for _, given := range e.opts.Profiles {
		p := *given
		p.Exceptions = nil // they hold for all findings of the exam
		r, err := registry.Lint(e.ctx, e.listing, &p)
		if err != nil {
			e.found("list-failed", "tools/list", nil, "the list cannot be read: %v", err)
			return
		}
		e.costs = append(e.costs, report.Cost{Profile: r.Profile, Bytes: r.Bytes, Tokens: r.Tokens, Budget: r.Budget})
		for _, f := range r.Findings {
			at := place{f.Rule, f.Tool + f.Pointer, f.Message}
			if _, ok := worst[at]; !ok {
				order = append(order, at)
			}
			if w, ok := worst[at]; !ok || f.Severity == registry.Error && w.Severity != registry.Error {
				worst[at] = f
			}
			clients[at] = append(clients[at], r.Profile)
		}
	}
	for _, at := range order {
		f := worst[at]
		message := f.Message
		if n := len(clients[at]); n < len(e.opts.Profiles) {
			message += " (" + strings.Join(clients[at], ", ") + ")"
		}
		if f.Pointer != "" {
			message += " at " + f.Pointer
		}
		if f.Severity != registry.Info {
			e.set("lint", report.Found, "")
		}
		e.file(report.Finding{
			Probe: "lint/" + f.Rule, Severity: f.Severity, Subject: f.Tool, Message: message, Why: f.Why, Fix: f.Fix, Source: f.Source,
		})
	}
}
