package main

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func sizes() *mistake {
	return &mistake{
		Number: 4,
		Title:  "A result sized by the data",
		About: "A tool that returns whatever matches works as long as little does. Its result fills the context that every later turn pays for, " +
			"and at some size no client reads it any more.",
		Scenes: []*scene{
			{Name: "5000", Code: "search_orders returns every match with its lines; there are 5,000 orders", play: large},
			{Name: "120000", Code: "the same tool, when there are 120,000", play: tooLarge},
			{Name: "pages", Code: "search_orders returns summaries, as many as were asked for", play: pages},
		},
	}
}

const (
	budget     = 80_000   // bytes that a result may take, unless the server says otherwise
	clientLine = 16 << 20 // the longest line that the Go SDK's client reads
)

func large(t *tour, s *scene) error {
	if err := t.without(s, []string{"-bug", "unbounded"}, func(server *server, r *run) error {
		if err := server.connect(t.ctx); err != nil {
			return err
		}
		all, err := server.call(t.ctx, "search_orders", arguments{})
		if err != nil {
			return err
		}
		bytes := server.wire.longest()
		r.expect(!all.IsError && bytes > 1_000_000, "%s bytes on the wire, for one question.", grouped(bytes))
		return nil
	}); err != nil {
		return err
	}
	return t.with(s, []string{"-bug", "unbounded"}, func(server *server, r *run) error {
		if err := server.connect(t.ctx); err != nil {
			return err
		}
		cut, err := server.call(t.ctx, "search_orders", arguments{})
		if err != nil {
			return err
		}
		bytes := server.wire.longest()
		var shown struct{ Orders []orderID }
		err = structured(cut, &shown)
		n := len(shown.Orders)
		r.expect(err == nil && !cut.IsError && n > 0 && bytes <= budget && shown.Orders[0] == orderID{"ORD-1"},
			"The same handler: %s bytes, which are the first %d orders, each of them whole.", grouped(bytes), n)
		note := lastTextOf(cut)
		next := nextCall(note)
		r.expect(containsAll(note, strconv.Itoa(n)+" of 5,000 items") && next != nil, "The answer says how much there is, and how to get the rest:")
		r.quote(note)
		rest, err := server.call(t.ctx, "read_result", next)
		if err != nil {
			return err
		}
		var more struct{ Items []orderID }
		err = structured(rest, &more)
		r.expect(err == nil && len(more.Items) > 0 && more.Items[0].number() == n+1, "Called so, read_result goes on where the answer ended: with ORD-%d.", n+1)
		return nil
	})
}

func tooLarge(t *tour, s *scene) error {
	if err := t.without(s, []string{"-many", "-bug", "unbounded"}, func(server *server, r *run) error {
		if err := server.connect(t.ctx); err != nil {
			return err
		}
		_, err := server.call(t.ctx, "search_orders", arguments{})
		bytes := server.wire.longest()
		r.expect(err != nil && bytes > clientLine, "One line of %s bytes. The client reads no line of more than 16 MiB:", grouped(bytes))
		r.quoteError(err)
		_, err = server.call(t.ctx, "get_order", arguments{"order_id": "ORD-42"})
		r.expect(err != nil, "The connection has ended, for every tool.")
		return nil
	}); err != nil {
		return err
	}
	return t.with(s, []string{"-many", "-bug", "unbounded"}, func(server *server, r *run) error {
		if err := server.connect(t.ctx); err != nil {
			return err
		}
		refused, err := server.call(t.ctx, "search_orders", arguments{})
		bytes := server.wire.longest()
		r.expect(err == nil && refused.IsError && bytes <= budget && strings.Contains(textOf(refused), "Next: "), "The call is answered, in %s bytes, with what to do:", grouped(bytes))
		r.quoteAnswer(refused, err)
		next, err := server.call(t.ctx, "search_orders", arguments{"customer": "CUS-7", "from": "2026-06-01"})
		r.expect(err == nil && !next.IsError && !strings.Contains(textOf(next), "was cut"), "Done so, with a customer and a month, it is answered in full.")
		return nil
	})
}

func pages(t *tour, s *scene) error {
	if err := t.without(s, []string{"-many"}, func(server *server, r *run) error {
		if err := server.connect(t.ctx); err != nil {
			return err
		}
		first, err := server.call(t.ctx, "search_orders", arguments{"limit": 50})
		if err != nil {
			return err
		}
		var p page
		err = structured(first, &p)
		r.expect(err == nil && len(p.Items) == 50 && p.Total == 120_000 && p.NextCursor == nil, "%d of %s orders, and no way to the others.", len(p.Items), grouped(p.Total))
		return nil
	}); err != nil {
		return err
	}
	// What is out of bounds is refused by the tool's own schema; discovery
	// would answer before it.
	if err := t.run(s, "with", t.orders, append(t.flags("discovery"), "-many"), func(server *server, r *run) error {
		if err := server.connect(t.ctx); err != nil {
			return err
		}
		refused, err := server.call(t.ctx, "search_orders", arguments{"limit": 500})
		r.expect(err == nil && refused.IsError && containsAll(textOf(refused), "limit 500", "maximum of 50"), "A limit of 500 is refused before anything is searched:")
		r.quote(textOf(refused))
		return nil
	}); err != nil {
		return err
	}
	return t.with(s, []string{"-many"}, func(server *server, r *run) error {
		if err := server.connect(t.ctx); err != nil {
			return err
		}
		quarter := arguments{"from": "2026-04-01", "to": "2026-06-30"}
		w, err := t.walk(server, arguments{"status": "shipped", "from": quarter["from"], "to": quarter["to"], "limit": 50})
		if err != nil {
			return err
		}
		r.expect(len(w.first.Items) == 50 && w.first.NextCursor != nil && strings.Contains(w.note, *w.first.NextCursor),
			"50 of %s orders shipped in a quarter, in %s bytes, and the next call:", grouped(w.first.Total), grouped(w.longest))
		r.quote(hidden(w.note, w.first.NextCursor))
		r.expect(w.first.Total > 1000 && w.orders == w.first.Total && w.pages == (w.orders+49)/50 && w.longest <= budget,
			"Followed to the end, that is %d pages, in which each order is once.", w.pages)
		sum, err := server.call(t.ctx, "revenue", quarter)
		if err != nil {
			return err
		}
		var revenue struct {
			Orders int `json:"orders"`
			Cents  int `json:"revenue_cents"`
		}
		err = structured(sum, &revenue)
		r.expect(err == nil && revenue.Cents > 0 && revenue.Cents == w.cents && revenue.Orders == w.orders,
			"They come to EUR %s. Nobody has to read them for that: revenue says it in one call.", grouped(revenue.Cents/100))
		return nil
	})
}

// A page is what search_orders returns.
type page struct {
	Items []struct {
		orderID
		TotalCents int `json:"total_cents"`
	}
	Total      int
	NextCursor *string `json:"next_cursor"`
}

type orderID struct {
	OrderID string `json:"order_id"`
}

// number is the order's place in the order of placement, from 1.
func (o orderID) number() int {
	n, _ := strconv.Atoi(strings.TrimPrefix(o.OrderID, "ORD-"))
	return n
}

// A walk is what came of following a search from page to page.
type walk struct {
	first         page
	note          string // below the first page
	pages, orders int
	cents         int
	longest       int // bytes of a page on the wire
}

// walk follows a search until there is no cursor. Orders that come twice, or in
// another order than that of placement, are not counted.
func (t *tour) walk(server *server, search arguments) (w walk, err error) {
	last := 0
	for args := search; ; {
		result, err := server.call(t.ctx, "search_orders", args)
		if err != nil {
			return w, err
		}
		var p page
		if err := structured(result, &p); err != nil {
			return w, err
		}
		if w.pages++; w.pages == 1 {
			w.first, w.note = p, lastTextOf(result)
		}
		for _, o := range p.Items {
			if o.number() > last {
				last = o.number()
				w.orders++
				w.cents += o.TotalCents
			}
		}
		if p.NextCursor == nil || w.pages > 10_000 {
			w.longest = server.wire.longest()
			return w, nil
		}
		args = arguments{"cursor": *p.NextCursor}
	}
}

func structured(result *mcp.CallToolResult, out any) error {
	data, err := json.Marshal(result.StructuredContent)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, out)
}

// lastTextOf returns what stands below the JSON, or "".
func lastTextOf(result *mcp.CallToolResult) string {
	if len(result.Content) < 2 {
		return ""
	}
	t, _ := result.Content[len(result.Content)-1].(*mcp.TextContent)
	if t == nil {
		return ""
	}
	return t.Text
}

// nextCall returns the arguments in which a text ends, or nil.
func nextCall(text string) (args arguments) {
	if i := strings.IndexByte(text, '{'); i >= 0 {
		_ = json.NewDecoder(strings.NewReader(text[i:])).Decode(&args)
	}
	return args
}

// hidden shortens a cursor in a text, which nobody reads.
func hidden(text string, cursor *string) string {
	if cursor == nil {
		return text
	}
	return strings.ReplaceAll(text, *cursor, shorten(*cursor, 4))
}

// grouped writes 1234567 as 1,234,567.
func grouped(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
