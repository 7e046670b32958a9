package pagination

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// note says how much there was, how much is shown, and how to get the rest.
func (d *draft) note() string {
	var b strings.Builder
	fmt.Fprintf(&b, "This result was cut: it has %s, and at most %s can be sent.", sizeOf(d.size), sizeOf(d.limit))
	m := mainCut(d.cuts)
	if m.total > 0 {
		b.WriteString(" Shown: " + m.describe() + ".")
		if n := len(d.cuts) - 1; n > 0 {
			fmt.Fprintf(&b, " It was shortened in %s more %s.", grouped(n), plural(n, "place"))
		}
	}
	if len(d.gone) > 0 && d.limit >= 2*(envelope+noteRoom) {
		fmt.Fprintf(&b, " Left out: %s", shorten(d.gone[0], 160))
		if n := len(d.gone) - 1; n > 0 {
			fmt.Fprintf(&b, " and %s more", grouped(n))
		}
		b.WriteByte('.')
	}
	b.WriteByte(' ')
	if items := itemsCut(d.cuts, cut{}); items.total > 0 && d.continues() {
		fmt.Fprintf(&b, "Its cursor continues behind all %s items: %s of them are on no page. ", grouped(items.total), grouped(items.total-items.shown))
	}
	if d.kept != nil {
		b.WriteString(d.readCall(m))
	} else {
		b.WriteString(d.again(m))
	}
	return b.String()
}

func (c cut) describe() string {
	s := fmt.Sprintf("%s of %s %s", grouped(c.shown), grouped(c.total), c.unit)
	if len(c.path) > 0 {
		s += " of " + shorten(c.pointer(), 64)
	}
	return s
}

func plural(n int, what string) string {
	if n == 1 {
		return what
	}
	return what + "s"
}

// The names under which tools take what a call can be made smaller with. Names
// that often mean something else, as from, start, max and size do, are not among
// them: the first call that the note makes up for such a tool is a wrong one.
var (
	limitNames  = []string{"limit", "page_size", "pageSize", "per_page", "perPage", "max_results", "maxResults"}
	offsetNames = []string{"offset", "skip", "start_index", "startIndex"}
)

// again says how to call the tool again for less, or for the rest.
func (d *draft) again(m cut) string {
	schema := schemaOf(d.called())
	if d.continues() {
		m = itemsCut(d.cuts, m)
	}
	if schema == nil || m.unit != unitItems || m.shown == 0 {
		return "To see the rest, " + narrower(schema) + "."
	}
	if d.continues() {
		if limit := integerNamed(schema, limitNames); limit != "" {
			return fmt.Sprintf("To miss nothing, call %s again with the same arguments and %s = %d.", d.name(), limit, m.shown)
		}
		return "To miss nothing, " + narrower(schema) + "."
	}
	sent := d.arguments()
	limit, offset := integerNamed(schema, limitNames), integerNamed(schema, offsetNames)
	switch {
	case offset != "":
		var from int64
		if v, ok := sent[offset]; ok {
			from, _ = wholeNumber(v)
		}
		if from >= 0 && from < 1<<53 {
			return fmt.Sprintf("For the rest, call %s again with %s = %d.", d.name(), offset, from+int64(m.shown))
		}
	case limit != "":
		return fmt.Sprintf("Call %s again with %s = %d or less, or %s.", d.name(), limit, m.shown, narrower(schema))
	}
	return "To see the rest, " + narrower(schema) + "."
}

// itemsCut returns the cut that left out most items of the structured content,
// or m if none did.
func itemsCut(cuts []cut, m cut) cut {
	most := 0
	for _, c := range cuts {
		if lost := c.total - c.shown; c.unit == unitItems && c.block == structuredBlock && lost > most {
			m, most = c, lost
		}
	}
	return m
}

// continues reports whether the result hands out a cursor.
func (d *draft) continues() bool {
	top := members(trimSpace(d.raw))
	for _, name := range []string{"next_cursor", "nextCursor", "cursor", "next_page_token", "nextPageToken"} {
		if v, ok := top[name]; ok && v != "null" && v != `""` {
			return true
		}
	}
	return false
}

func integerNamed(s *jsonschema.Schema, names []string) string {
	for _, name := range names {
		if p := s.Properties[name]; p != nil && (p.Type == "integer" || p.Type == "number" || slices.Contains(p.Types, "integer")) {
			return name
		}
	}
	return ""
}

// narrower says what to narrow: it names the tool's parameters, the optional
// ones, in the order of their names.
func narrower(s *jsonschema.Schema) string {
	const most = 6
	var names []string
	if s != nil {
		for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
			if !slices.Contains(s.Required, name) && name != "cursor" && len(name) <= 40 {
				names = append(names, name)
			}
		}
	}
	if len(names) == 0 {
		return "ask for less: a filter, a shorter range, fewer fields"
	}
	return "ask for less, with " + strings.Join(names[:min(most, len(names))], ", ")
}
