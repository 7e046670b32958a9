package main

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"
)

// All data is generated from a seed: the same call gets the same answer at
// every launch. Companies and people are invented.
type data struct{ seed uint64 }

// lastDay is the day on which the data ends, a Friday.
var lastDay = time.Date(2026, time.November, 27, 16, 0, 0, 0, time.UTC)

const (
	candidates = 240 // rows that an endpoint has of one subject
	periods    = 40  // of one company, if the rows are its years or quarters
	usualRows  = 20
)

type company struct {
	Symbol, Name, Sector, Exchange, City string
	Price                                float64
}

var companies = []company{
	{"ALDR", "Alder Foods", "consumer", "XNYS", "Omaha", 61.2},
	{"BRZE", "Breeze Airlines Holding", "transport", "XNYS", "Denver", 18.4},
	{"CBLT", "Cobalt Ridge Mining", "materials", "XNYS", "Reno", 33.9},
	{"CRDL", "Cradle Therapeutics", "health", "XNAS", "Boston", 104.5},
	{"DLTA", "Deltaform Robotics", "industry", "XNAS", "Pittsburgh", 72.8},
	{"EMBR", "Ember Energy", "energy", "XNYS", "Houston", 47.1},
	{"FNCH", "Finch Media", "communication", "XNAS", "New York", 25.6},
	{"GRNT", "Granary Bank", "finance", "XNYS", "Chicago", 88.3},
	{"HLCN", "Halcyon Insurance", "finance", "XNYS", "Hartford", 140.2},
	{"IRNW", "Ironwood Steel", "materials", "XNYS", "Cleveland", 39.7},
	{"KSTR", "Kestrel Aerospace", "defense", "XNYS", "Wichita", 211.9},
	{"LNTN", "Lantern Games", "communication", "XNAS", "Seattle", 56.0},
	{"MRDN", "Meridian Logistics", "transport", "XNYS", "Memphis", 93.4},
	{"NMBS", "Nimbus Networks", "technology", "XNAS", "San Jose", 182.6},
	{"NRTH", "Northwind Power", "utilities", "XNYS", "Minneapolis", 44.8},
	{"OPAL", "Opal Semiconductors", "technology", "XNAS", "Austin", 318.7},
	{"PRRY", "Prairie Motors", "consumer", "XNYS", "Detroit", 12.9},
	{"QRZL", "Quarzal Retail", "consumer", "XNYS", "Dallas", 7.3},
	{"RVBN", "Riverbend Homes", "real estate", "XNYS", "Phoenix", 66.1},
	{"SLTE", "Slate Software", "technology", "XNAS", "Portland", 128.0},
	{"TDPL", "Tidepool Biotech", "health", "XNAS", "San Diego", 21.5},
	{"UMBR", "Umbra Defense Systems", "defense", "XNYS", "Arlington", 156.4},
	{"VRDN", "Verdant Farms", "consumer", "XNYS", "Fresno", 29.8},
	{"WRLD", "Worldline Shipping", "transport", "XNYS", "Newark", 35.2},
}

func companyOf(symbol string) (company, bool) {
	i := slices.IndexFunc(companies, func(c company) bool { return strings.EqualFold(c.Symbol, symbol) })
	if i < 0 {
		return company{}, false
	}
	return companies[i], true
}

var people = func() (names []string) {
	for _, first := range strings.Fields("Ada Bela Chidi Dalia Emeka Farid Greta Hana Ivo Jun") {
		for _, last := range strings.Fields("Abara Brandt Castellan Dufour Egede Fontana") {
			names = append(names, first+" "+last)
		}
	}
	return names
}()

type row = map[string]any

// answer returns what an endpoint says to arguments that fit, or false if they
// name a company that there is not.
func (d *data) answer(e *endpoint, args map[string]any) (any, bool) {
	var subject *company
	if symbol, ok := args["symbol"].(string); ok {
		c, ok := companyOf(symbol)
		if !ok {
			return nil, false
		}
		subject = &c
	}
	if special, ok := specials[e.ID]; ok {
		return special(d, args, subject)
	}
	all := d.rows(e, args, subject)
	rows := slices.DeleteFunc(all, func(r row) bool { return !fits(r, args) })
	return cut(rows, args), true
}

// cut is how every list is answered: not more than was asked for, and how many
// there are.
func cut(rows []row, args map[string]any) any {
	limit := usualRows
	for _, name := range []string{"limit", "quarters"} {
		if n, ok := args[name].(float64); ok {
			limit = int(n)
		}
	}
	return map[string]any{"rows": rows[:min(limit, len(rows))], "total": len(rows)}
}

// rows generates all rows of an endpoint about a subject, the latest first. If
// the subject is nil they are about all companies in turn.
func (d *data) rows(e *endpoint, args map[string]any, subject *company) []row {
	columns, ok := datasets[e.ID]
	if !ok {
		columns = columnsOf("day value=0.0..100.0") // an endpoint that was added to the directory
	}
	n := candidates
	if subject != nil && slices.ContainsFunc(columns, func(c column) bool { return c.kind == "period" || c.kind == "quarter" }) {
		n = periods
	}
	rows := make([]row, 0, n)
	for i := range n {
		c := companies[i%len(companies)]
		name := ""
		if subject != nil {
			c, name = *subject, subject.Symbol
		}
		g := generator{rand: d.rand(e.ID, name, i), company: c, row: i, quarters: args["period"] == "quarter"}
		r := row{}
		for _, column := range columns {
			r[column.name] = g.value(column)
		}
		rows = append(rows, r)
	}
	return rows
}

func (d *data) rand(parts ...any) *rand.Rand {
	h := fnv.New64a()
	fmt.Fprintln(h, parts...)
	return rand.New(rand.NewPCG(d.seed, h.Sum64()))
}

// fits reports whether a row is what the arguments ask for. An argument whose
// name no column has narrows nothing.
func fits(r row, args map[string]any) bool {
	for name, want := range args {
		switch name {
		case "since", "from", "to":
			at, ok := dateOf(r)
			if ok && (name == "to" && at > want.(string)+"~" || name != "to" && at < want.(string)) {
				return false
			}
			continue
		case "hours":
			at, ok := r["time"].(string)
			if ok && at < lastDay.Add(-time.Duration(want.(float64))*time.Hour).Format(time.RFC3339) {
				return false
			}
			continue
		case "period":
			continue // the rows are made for it
		}
		if column, ok := strings.CutPrefix(name, "min_"); ok {
			if n, ok := number(r[column]); ok && n < want.(float64) {
				return false
			}
			continue
		}
		if column, ok := strings.CutPrefix(name, "max_"); ok {
			if n, ok := number(r[column]); ok && n > want.(float64) {
				return false
			}
			continue
		}
		switch have := r[name].(type) {
		case string:
			if !strings.Contains(strings.ToLower(have), strings.ToLower(fmt.Sprint(want))) {
				return false
			}
		case bool:
			if have != want {
				return false
			}
		case int, float64:
			if n, _ := number(have); n != want {
				return false
			}
		}
	}
	return true
}

// dateOf returns the day, moment, month or quarter of a row. All are written
// so that they can be compared as text.
func dateOf(r row) (string, bool) {
	for _, name := range []string{"day", "time", "month", "quarter"} {
		if at, ok := r[name].(string); ok {
			return at, true
		}
	}
	return "", false
}

func number(v any) (float64, bool) {
	switch v := v.(type) {
	case int:
		return float64(v), true
	case float64:
		return v, true
	}
	return 0, false
}

// A column says how the values of a row are made.
type column struct {
	name, kind string
	picks      []string // one of these
	low, high  float64  // or a number in between
	decimals   int
}

// columnsOf reads the columns of a dataset, as in "day form=10-K|10-Q
// value=1.0..9.0". A column that says no more than its name is of the kind that
// has this name.
func columnsOf(text string) (columns []column) {
	for _, field := range strings.Fields(text) {
		name, kind, ok := strings.Cut(field, "=")
		c := column{name: name, kind: kind}
		if !ok {
			c.kind = name
		}
		if low, high, ok := strings.Cut(kind, ".."); ok {
			var err1, err2 error
			c.low, err1 = strconv.ParseFloat(low, 64)
			c.high, err2 = strconv.ParseFloat(high, 64)
			if err := cmp.Or(err1, err2); err != nil {
				panic(err) // the table decides, not input
			}
			c.kind = "number"
			if _, fraction, ok := strings.Cut(high, "."); ok {
				c.decimals = max(1, len(fraction))
			}
		} else if strings.Contains(kind, "|") {
			c.kind, c.picks = "pick", strings.Split(strings.ReplaceAll(kind, "_", " "), "|")
		}
		columns = append(columns, c)
	}
	return columns
}

// A generator makes the values of one row.
type generator struct {
	rand     *rand.Rand
	company  company
	row      int
	quarters bool // the period of the row is a quarter, and not a year
}

func (g *generator) value(c column) any {
	day := weekday(lastDay.AddDate(0, 0, -g.row))
	switch c.kind {
	case "number":
		n := c.low + g.rand.Float64()*(c.high-c.low)
		if c.decimals == 0 {
			return int(n)
		}
		return round(n, c.decimals)
	case "pick":
		return c.picks[g.rand.IntN(len(c.picks))]
	case "bool":
		return g.rand.IntN(3) == 0
	case "symbol":
		return g.company.Symbol
	case "company":
		return g.company.Name
	case "sector":
		return g.company.Sector
	case "price":
		return round(g.company.Price*(.8+.4*g.rand.Float64()), 2)
	case "person":
		return people[g.rand.IntN(len(people))]
	case "day":
		return day.Format(time.DateOnly)
	case "spaced":
		return weekday(lastDay.AddDate(0, 0, -17*g.row)).Format(time.DateOnly)
	case "week":
		return lastDay.AddDate(0, 0, -7*g.row).Format(time.DateOnly)
	case "ahead":
		return weekday(lastDay.AddDate(0, 0, 3+g.row/4)).Format(time.DateOnly)
	case "time":
		return day.Add(-time.Duration(g.rand.IntN(360)) * time.Minute).Format(time.RFC3339)
	case "hour":
		return lastDay.Add(-time.Duration(g.row) * time.Hour).Format(time.RFC3339)
	case "month":
		return time.Date(2026, time.October, 1, 0, 0, 0, 0, time.UTC).AddDate(0, -g.row, 0).Format("2006-01")
	case "quarter":
		return quarter(g.row)
	case "period":
		if g.quarters {
			return quarter(g.row)
		}
		return strconv.Itoa(2025 - g.row)
	case "year":
		return 2026 - g.row%10
	case "id":
		return fmt.Sprintf("%010d-26-%06d", g.rand.IntN(1e6), g.rand.IntN(1e6))
	}
	panic("no kind of column: " + c.kind) // the table decides, not input
}

// quarter returns the n-th quarter before the last one that is over.
func quarter(n int) string {
	q := 2026*4 + 2 - n // counted from zero
	return fmt.Sprintf("%dQ%d", q/4, q%4+1)
}

// weekday moves a weekend to the Friday before.
func weekday(day time.Time) time.Time {
	switch day.Weekday() {
	case time.Saturday:
		return day.AddDate(0, 0, -1)
	case time.Sunday:
		return day.AddDate(0, 0, -2)
	}
	return day
}

func round(n float64, decimals int) float64 {
	p := math.Pow10(decimals)
	return math.Round(n*p) / p
}
