package doctor

import (
	"fmt"
	"maps"
	"slices"
)

var limitProbes = []Probe{
	{ID: "limit-zero", Severity: poor, Title: "a limit of 0 means everything, or breaks the tool",
		Sends: "limit 0",
		Why:   "A model that wants a count gets the whole table.",
		Fix:   "Give the limit a minimum of 1, and hold to it (package pagination)."},
	{ID: "limit-negative", Severity: poor, Title: "a negative limit means everything, or breaks the tool",
		Sends: "limit -1",
		Why:   "Databases take -1 for no limit.",
		Fix:   "Give the limit a minimum of 1, and hold to it (package pagination)."},
	{ID: "limit-huge", Severity: bad, Title: "a huge limit is obeyed",
		Sends: "limit 1000000000",
		Why:   "A model that wants to be sure asks for a million; the answer ends the session or fills its context.",
		Fix:   "Give the limit a maximum, and clamp what is above (package pagination)."},
}

var limitNames = []string{
	"limit", "max", "maxresults", "maxitems", "maxcount", "pagesize", "perpage", "count", "size", "top", "topk", "first", "num", "numresults",
	"rows", "take", "batchsize", "resultlimit",
}

// limitOf returns the parameter that bounds a tool's results, or "".
func limitOf(t *tool) string {
	for _, name := range t.input.names {
		if k := t.input.properties[name].kind(); (k == "integer" || k == "number") && slices.Contains(limitNames, fold(name)) {
			return name
		}
	}
	return ""
}

func (e *exam) checkLimits() {
	for _, t := range e.may(freely) {
		name := limitOf(t)
		if name == "" || t.class != reads && t.base == nil {
			continue
		}
		usual, usualItems := 0, 0
		if t.base.ok() {
			usual, usualItems = len(t.base.reply.Raw), items(t.base)
		}
		for _, try := range []struct {
			probe string
			limit int
		}{{"limit-zero", 0}, {"limit-negative", -1}, {"limit-huge", 1_000_000_000}} {
			v := e.call(t, with(t.args, name, try.limit))
			if v == nil {
				continue
			}
			e.pass(try.probe)
			if !v.ok() {
				continue // refused, or judged already
			}
			n, size := items(v), len(v.reply.Raw)
			if try.probe == "limit-huge" {
				if size >= largeResult || n > maxItems {
					e.found(try.probe, t.name, v.reply, "%s %d gives %s", name, try.limit, amount(n, size))
				}
				continue
			}
			if size >= largeResult || n > maxItems || usual > 0 && size > 4*usual+4096 || usualItems > 0 && n > 4*usualItems {
				e.found(try.probe, t.name, v.reply, "%s %d gives %s; without it there are %s", name, try.limit, amount(n, size), amount(usualItems, usual))
			}
		}
	}
}

// maxItems is how many items one answer may have.
const maxItems = 1000

func amount(items, size int) string { return fmt.Sprintf("%d items, %d bytes", items, size) }

// items returns the length of the longest list in a result.
func items(v *verdict) int {
	n, _ := longestList(v.result.value(), 0)
	return n
}

func longestList(v any, depth int) (n int, list []any) {
	if depth > 6 {
		return 0, nil
	}
	switch v := v.(type) {
	case []any:
		return len(v), v
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) { // the same one each time
			if k, l := longestList(v[key], depth+1); k > n {
				n, list = k, l
			}
		}
	}
	return n, list
}
