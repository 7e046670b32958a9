package doctor

import (
	"encoding/json"
	"maps"
	"slices"
)

var cursorProbes = []Probe{
	{ID: "walk-endless", Severity: bad, Title: "the pages of a result do not end",
		Sends: "each cursor that a tool returns",
		Why:   "A model that reads to the end never gets there, and pays for every page.",
		Fix:   "Leave the cursor out on the last page, and let each lead further (package pagination)."},
	{ID: "cursor-bogus", Severity: poor, Title: "a cursor that was never given out is taken",
		Sends: "a made-up cursor",
		Why:   "The model believes to read on and reads the first page again, or another.",
		Fix:   "Seal cursors, and refuse those that are not your own (package pagination)."},
	{ID: "cursor-empty", Severity: advice, Title: "an empty cursor is refused",
		Sends: `cursor ""`,
		Why:   "Models send an empty text for what they leave out.",
		Fix:   "Take it for the first page."},
	{ID: "cursor-repeated", Severity: poor, Title: "a cursor gives another page the second time",
		Sends: "the same cursor twice",
		Why:   "Whoever repeats a call after a timeout loses a page.",
		Fix:   "Let the cursor hold the position, not the session (package pagination)."},
	{ID: "cursor-foreign", Severity: poor, Title: "a cursor is taken for another query",
		Sends: "a cursor with other filters than it was given out for",
		Why:   "Rows are skipped without a word: the position of one query is none in another.",
		Fix:   "Bind the cursor to the tool and the query (package pagination)."},
}

var (
	cursorNames = []string{"cursor", "pagetoken", "nexttoken", "continuation", "continuationtoken", "nextcursor", "startcursor", "pagecursor", "nextpagetoken"}
	nextNames   = []string{"nextcursor", "nextpagetoken", "nexttoken", "continuation", "continuationtoken", "endcursor", "nextpage", "cursor"}
)

// walkPages is how many pages of a result are read.
const walkPages = 12

func (e *exam) checkCursors() {
	for _, t := range e.may(freely) {
		if t.class != reads || !t.base.ok() || t.base.result.shape != "" {
			continue
		}
		for _, name := range t.input.names {
			if slices.Contains(cursorNames, fold(name)) && t.input.properties[name].kind() == "string" {
				e.checkCursor(t, name)
				break
			}
		}
	}
}

func (e *exam) checkCursor(t *tool, name string) {
	// Small pages, so that there is more than one.
	args := t.args
	if limit := limitOf(t); limit != "" {
		args = with(args, limit, 2)
	}
	first := e.call(t, args)
	if !first.ok() {
		return
	}
	if v := e.call(t, with(args, name, "ZG9jdG9yLWJvZ3Vz")); v != nil {
		e.pass("cursor-bogus")
		if v.ok() && !asksForMore(v) {
			what := "with a page"
			if content(v) == content(first) {
				what = "with the first page"
			}
			e.found("cursor-bogus", t.name, v.reply, "a made-up cursor is answered %s", what)
		}
	}
	if v := e.call(t, with(args, name, "")); v != nil {
		e.pass("cursor-empty")
		if v.refused() {
			e.found("cursor-empty", t.name, v.reply, "an empty cursor is refused: %s", clip(v.text, 100))
		}
	}
	cursor := next(first)
	if cursor == "" {
		return
	}
	second := e.walk(t, args, name, first)
	again := e.call(t, with(args, name, cursor))
	if second.ok() && again != nil {
		e.pass("cursor-repeated")
		switch {
		case again.refused():
			e.found("cursor-repeated", t.name, again.reply, "a cursor is refused the second time: %s", clip(again.text, 100))
		case content(second) != content(again):
			e.found("cursor-repeated", t.name, again.reply, "the same cursor gives another page the second time")
		}
	}
	if filter, value, ok := e.otherFilter(t, name); ok {
		foreign := e.call(t, with(with(args, name, cursor), filter, value))
		if foreign != nil {
			e.pass("cursor-foreign")
			if foreign.ok() {
				e.found("cursor-foreign", t.name, foreign.reply, "a cursor is taken although %s has changed", filter)
			}
		}
	}
}

// walk reads pages until they end, and files why they do not. It returns the
// second page.
func (e *exam) walk(t *tool, args map[string]any, name string, page *verdict) (second *verdict) {
	seenCursor, seenPage := map[string]bool{}, map[string]bool{content(page): true}
	empty := 0
	e.pass("walk-endless")
	for range walkPages {
		cursor := next(page)
		if cursor == "" {
			return second
		}
		if seenCursor[cursor] {
			e.found("walk-endless", t.name, page.reply, "a page has the cursor %s of an earlier one", quote(cursor))
			return second
		}
		seenCursor[cursor] = true
		if page = e.call(t, with(args, name, cursor)); !page.ok() {
			return second
		}
		if second == nil {
			second = page
		}
		n := items(page)
		if key := content(page); n > 0 && seenPage[key] {
			e.found("walk-endless", t.name, page.reply, "a page comes again under another cursor")
			return second
		} else {
			seenPage[key] = true
		}
		if n > 0 {
			empty = 0
		} else if empty++; empty == 3 && next(page) != "" {
			e.found("walk-endless", t.name, page.reply, "pages are empty, and have cursors to more")
			return second
		}
	}
	return second
}

// otherFilter returns a parameter and a value that makes another query.
func (e *exam) otherFilter(t *tool, cursor string) (string, any, bool) {
	for _, name := range t.input.names {
		p := t.input.properties[name]
		if name == cursor || name == limitOf(t) || slices.Contains(t.input.required, name) {
			continue
		}
		switch {
		case len(p.enum) > 0:
			return name, p.enum[len(p.enum)-1], true
		case p.kind() == "boolean":
			return name, true, true
		}
	}
	return "", nil, false
}

// next returns the cursor to the next page, or "".
func next(v *verdict) string {
	if !v.ok() {
		return ""
	}
	return findNext(v.result.value(), 0)
}

func findNext(v any, depth int) string {
	m, ok := v.(map[string]any)
	if !ok || depth > 3 {
		return ""
	}
	keys := slices.Sorted(maps.Keys(m))
	for _, want := range nextNames {
		for _, key := range keys {
			if s, ok := m[key].(string); ok && s != "" && fold(key) == want {
				return s
			}
		}
	}
	for _, key := range keys {
		if s := findNext(m[key], depth+1); s != "" {
			return s
		}
	}
	return ""
}

// content returns a page's items, without the cursor that leads from it, which
// may be sealed anew each time.
func content(v *verdict) string {
	value := v.result.value()
	if _, list := longestList(value, 0); list != nil {
		value = list
	}
	data, err := json.Marshal(value)
	if err != nil || value == nil {
		return v.text
	}
	return string(data)
}
