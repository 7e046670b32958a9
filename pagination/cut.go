package pagination

import (
	"math"
	"slices"
	"strings"
)

// A cut is one place where something was left out.
type cut struct {
	path  []string // names and indices from the root
	unit  string   // what shown and total count
	shown int
	total int
	lost  int // about how many bytes are gone, to tell which cut matters most
	block int // of a result's content, or structuredBlock
}

const structuredBlock = -1

// mainCut returns the cut that loses most, or the zero cut.
func mainCut(cuts []cut) cut {
	var m cut
	for _, c := range cuts {
		if c.lost > m.lost {
			m = c
		}
	}
	return m
}

// The units of a cut.
const (
	unitItems  = "items"      // of an array
	unitFields = "fields"     // of an object
	unitText   = "characters" // of a string; bytes of its JSON
	unitBlocks = "blocks"     // of a result's content
)

func (c cut) pointer() string {
	var b strings.Builder
	for _, p := range c.path {
		b.WriteByte('/')
		b.WriteString(strings.ReplaceAll(strings.ReplaceAll(p, "~", "~0"), "/", "~1"))
	}
	return b.String()
}

// cutter writes a smaller version of a JSON value: whole items dropped from
// the end of long arrays, and, where a single item is too much, its long
// strings shortened. It copies what it keeps byte for byte, and never holds
// more than it keeps.
type cutter struct {
	costs *costs
	// whole is whether strings stay whole, because a schema constrains them.
	whole bool

	out  []byte
	cuts []cut
	path []string
}

// cutJSON returns s, JSON text, cut so that it costs at most budget. It returns
// false where nothing can be cut that far.
func cutJSON(s string, costs *costs, budget int, whole bool) (string, []cut, bool) {
	c := &cutter{costs: costs, whole: whole}
	c.out = make([]byte, 0, max(0, min(budget, len(s))))
	if _, ok := c.value(trimSpace(s), budget, math.MaxInt); !ok {
		return "", nil, false
	}
	return string(c.out), c.cuts, true
}

func (c *cutter) cost(s string) int { return c.costs.cost(s, math.MaxInt-1) }

func (c *cutter) write(s string) { c.out = append(c.out, s...) }

// mark and back undo an attempt.
func (c *cutter) mark() (out, cuts int) { return len(c.out), len(c.cuts) }

func (c *cutter) back(out, cuts int) { c.out, c.cuts = c.out[:out], c.cuts[:cuts] }

func (c *cutter) note(unit string, shown, total, lost int) {
	c.cuts = append(c.cuts, cut{path: slices.Clone(c.path), unit: unit, shown: shown, total: total, lost: lost})
}

// value writes s within budget and returns what that costs. Of an array it
// writes no more than most items. When it returns false it has written nothing.
func (c *cutter) value(s string, budget, most int) (int, bool) {
	if s == "" || budget <= 0 {
		return 0, false
	}
	array := s[0] == '['
	if !array || most == math.MaxInt {
		if n := c.costs.cost(s, budget); n <= budget {
			c.write(s)
			return n, true
		}
	}
	if len(c.path) > maxDepth {
		return 0, false
	}
	switch {
	case array:
		return c.array(s, budget, most)
	case s[0] == '{':
		return c.object(s, budget)
	case s[0] == '"' && !c.whole:
		return c.string(s, budget)
	}
	return 0, false
}

func (c *cutter) array(s string, budget, most int) (int, bool) {
	comma := c.cost(",")
	spent := c.cost("[]")
	if spent > budget {
		return 0, false
	}
	out, cuts := c.mark()
	c.write("[")
	w := walk(s)
	kept, total := 0, 0
	for w.next() {
		total++
		separator := 0
		if kept > 0 {
			separator = comma
		}
		room := budget - spent - separator
		n := room + 1
		if kept < most {
			n = c.costs.cost(w.value, room)
		}
		if n > room {
			// A first item that is too much alone is better shortened than
			// left out.
			if kept == 0 && most > 0 {
				c.path = append(c.path, "0")
				n, ok := c.value(w.value, room, math.MaxInt)
				c.path = c.path[:len(c.path)-1]
				if ok {
					kept, spent = 1, spent+n
				}
			}
			break
		}
		if kept > 0 {
			c.write(",")
		}
		c.write(w.value)
		kept++
		spent += separator + n
	}
	total += w.rest()
	if w.failed {
		c.back(out, cuts)
		return 0, false
	}
	c.write("]")
	if kept < total {
		c.note(unitItems, kept, total, len(s)-(len(c.out)-out))
	}
	return spent, true
}

// fits returns how many leading items of the array s can be kept whole within
// budget.
func (c *cutter) fits(s string, budget int) int {
	budget -= c.cost("[]")
	n := 0
	for w := walk(s); w.next(); n++ {
		if budget -= c.costs.cost(w.value, budget) + c.cost(","); budget < 0 {
			break
		}
	}
	return n
}

// member is a field of an object that is being cut.
type member struct {
	key, value string
	cost       int // of value; some number above the budget if it is more
	column     bool
}

func (c *cutter) object(s string, budget int) (int, bool) {
	var members []member
	fixed := c.cost("{}")
	w := walk(s)
	for w.next() {
		if len(members) > 0 {
			fixed += c.cost(",")
		}
		fixed += c.costs.cost(w.key, budget) + c.cost(":")
		if fixed > budget {
			break
		}
		members = append(members, member{key: w.key, value: w.value, cost: c.costs.cost(w.value, budget)})
	}
	total := len(members)
	if fixed > budget {
		total += 1 + w.rest()
	}
	if w.failed {
		return 0, false
	}
	if total == len(members) {
		if n, ok := c.shrinkMembers(members, budget, fixed); ok {
			return n, true
		}
	}
	return c.dropMembers(members, total, len(s), budget)
}

// shrinkMembers keeps every member: the small ones whole, while the large ones
// share what is left evenly.
func (c *cutter) shrinkMembers(members []member, budget, fixed int) (int, bool) {
	level := waterLevel(members, budget-fixed)
	rows := c.columns(members, level)
	// What a large member leaves of its share goes to those after it.
	room, large := budget-fixed, 0
	for _, m := range members {
		if m.cost <= level && !m.column {
			room -= m.cost
		} else {
			large++
		}
	}
	out, cuts := c.mark()
	spent := fixed
	c.write("{")
	for i, m := range members {
		if i > 0 {
			c.write(",")
		}
		c.write(m.key)
		c.write(":")
		if m.cost <= level && !m.column {
			c.write(m.value)
			spent += m.cost
			continue
		}
		most := math.MaxInt
		if m.column {
			most = rows
		}
		c.path = append(c.path, unquote(m.key))
		n, ok := c.value(m.value, room/large, most)
		c.path = c.path[:len(c.path)-1]
		if !ok {
			c.back(out, cuts)
			return 0, false
		}
		spent += n
		room -= n
		large--
	}
	c.write("}")
	return spent, true
}

// waterLevel returns the highest level at which the members' costs, each at
// most the level, add up to at most room.
func waterLevel(members []member, room int) int {
	costs := make([]int, len(members))
	for i, m := range members {
		costs[i] = m.cost
	}
	slices.Sort(costs)
	for i, n := range costs {
		if share := room / (len(costs) - i); n > share {
			return max(share, 0)
		}
		room -= n
	}
	return math.MaxInt
}

// columns finds arrays of one length among members, at least one of which is
// above the level and has to be cut. They are taken for the columns of a table:
// it marks them, and returns how many rows fit in each.
func (c *cutter) columns(members []member, level int) (rows int) {
	var arrays, large []int
	for i, m := range members {
		if m.value[0] == '[' {
			arrays = append(arrays, i)
			if m.cost > level {
				large = append(large, i)
			}
		}
	}
	if len(large) == 0 || len(arrays) < 2 {
		return 0
	}
	length := countItems(members[large[0]].value)
	if length < 2 {
		return 0
	}
	for _, i := range large[1:] {
		if countItems(members[i].value) != length {
			return 0
		}
	}
	rows = length
	for _, i := range large {
		rows = min(rows, c.fits(members[i].value, level))
	}
	same := 0
	for _, i := range arrays {
		members[i].column = rows > 0 && (members[i].cost > level || countItems(members[i].value) == length)
		if members[i].column {
			same++
		}
	}
	if same < 2 {
		members[large[0]].column = false
	}
	return rows
}

// dropMembers keeps whole members only, as many as fit, in order.
func (c *cutter) dropMembers(members []member, total, size, budget int) (int, bool) {
	out, cuts := c.mark()
	spent := c.cost("{}")
	c.write("{")
	kept := 0
	for _, m := range members {
		n := c.cost(m.key) + c.cost(":") + m.cost
		if kept > 0 {
			n += c.cost(",")
		}
		if spent+n > budget {
			continue
		}
		if kept > 0 {
			c.write(",")
		}
		c.write(m.key)
		c.write(":")
		c.write(m.value)
		spent += n
		kept++
	}
	if kept == 0 {
		c.back(out, cuts)
		return 0, false
	}
	c.write("}")
	c.note(unitFields, kept, total, size-(len(c.out)-out))
	return spent, true
}

// string shortens a string and says so in it.
func (c *cutter) string(s string, budget int) (int, bool) {
	if skipString(s, 0) != len(s) {
		return 0, false // no JSON
	}
	content := s[1 : len(s)-1]
	total := len(content)
	marker := func(kept int) string { return "… [" + grouped(total-kept) + " more bytes]" }
	if isBase64(content) {
		marker = func(int) string { return "[base64 text of " + grouped(total) + " bytes left out]" }
	}
	// No marker is longer than that of everything.
	spent := c.cost(`""`) + c.cost(marker(0))
	if spent > budget {
		return 0, false
	}
	kept := 0
	if !isBase64(content) {
		for kept < total {
			size := escapeSize(content, kept)
			n := c.cost(content[kept : kept+size])
			if spent+n > budget {
				break
			}
			spent += n
			kept += size
		}
	}
	c.write(`"` + content[:kept] + marker(kept) + `"`)
	c.note(unitText, kept, total, total-kept)
	return spent, true
}
