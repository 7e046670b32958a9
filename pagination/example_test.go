package pagination_test

import (
	"context"
	"fmt"
	"log"
	"regexp"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/steadymcp/steady/errors"
	"github.com/steadymcp/steady/observe"
	"github.com/steadymcp/steady/pagination"
)

// Order is a row as the tools of these examples return it.
type Order struct {
	ID     string `json:"id"`
	Status string `json:"status"`
	Cents  int    `json:"cents"`
}

// Filter is what selects orders.
type Filter struct {
	Status string `json:"status,omitempty" jsonschema:"Only orders in this status."`
}

// SearchInput is what search_orders takes.
type SearchInput struct {
	pagination.Input
	Filter
}

// ordersAfter stands for a query such as
//
//	SELECT ... WHERE status = $1 AND id > $2 ORDER BY id LIMIT $3
func ordersAfter(_ context.Context, f Filter, after *string, n int) ([]Order, error) {
	var found []Order
	for _, o := range allOrders {
		if len(found) < n && (f.Status == "" || o.Status == f.Status) && (after == nil || o.ID > *after) {
			found = append(found, o)
		}
	}
	return found, nil
}

var allOrders = func() []Order {
	orders := make([]Order, 5000)
	for i := range orders {
		orders[i] = Order{ID: fmt.Sprintf("ORD-%04d", i+1), Status: []string{"paid", "shipped"}[i%2], Cents: 1000 + i}
	}
	return orders
}()

// connect connects a client to server in memory.
func connect(server *mcp.Server) *mcp.ClientSession {
	ctx := context.Background()
	clientEnd, serverEnd := mcp.NewInMemoryTransports()
	if _, err := server.Connect(ctx, serverEnd, nil); err != nil {
		log.Fatal(err)
	}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "client", Version: "v1.0.0"}, nil).Connect(ctx, clientEnd, nil)
	if err != nil {
		log.Fatal(err)
	}
	return session
}

// call calls a tool and returns its texts, with long tokens left out.
func call(session *mcp.ClientSession, tool string, arguments map[string]any) []string {
	res, err := session.CallTool(context.Background(), &mcp.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		log.Fatal(err)
	}
	var texts []string
	for _, c := range res.Content {
		if t, ok := c.(*mcp.TextContent); ok {
			texts = append(texts, token.ReplaceAllString(t.Text, "${1}..."))
		}
	}
	return texts
}

var token = regexp.MustCompile(`(pc1_|"handle":")[\w-]+`)

var impl = &mcp.Implementation{Name: "orders", Version: "v1.0.0"}

func ExamplePager() {
	pager := pagination.Keyset(ordersAfter, func(o Order) string { return o.ID }, &pagination.Options{
		Bounds: pagination.Bounds{Limit: 2, Max: 50},
	})
	search := func(ctx context.Context, req *mcp.CallToolRequest, in SearchInput) (*mcp.CallToolResult, pagination.Page[Order], error) {
		return pager.Page(ctx, req, in.Input, in.Filter)
	}

	server := mcp.NewServer(impl, nil)
	mcp.AddTool(server, pagination.Tool[SearchInput](&mcp.Tool{
		Name:        "search_orders",
		Description: "Finds orders.",
	}, pager), search)

	for _, text := range call(connect(server), "search_orders", map[string]any{"status": "paid"}) {
		fmt.Println(text)
	}
	// Output:
	// {"items":[{"id":"ORD-0001","status":"paid","cents":1000},{"id":"ORD-0003","status":"paid","cents":1002}],"next_cursor":"pc1_...","has_more":true}
	// 2 items, and there are more. For the next page, call search_orders with {"status":"paid","cursor":"pc1_..."}
}

// A limit above the maximum is refused before the handler runs.
func ExampleTool() {
	pager := pagination.Keyset(ordersAfter, func(o Order) string { return o.ID }, nil)
	server := mcp.NewServer(impl, nil)
	mcp.AddTool(server, pagination.Tool[SearchInput](&mcp.Tool{Name: "search_orders"}, pager),
		func(ctx context.Context, req *mcp.CallToolRequest, in SearchInput) (*mcp.CallToolResult, pagination.Page[Order], error) {
			return pager.Page(ctx, req, in.Input, in.Filter)
		})
	server.AddReceivingMiddleware(pagination.NewBudget(nil).Middleware())

	fmt.Println(call(connect(server), "search_orders", map[string]any{"limit": 500})[0])
	// Output:
	// limit 500 is above the maximum of 50. Next: ask for at most 50 and follow next_cursor for the rest.
}

func ExampleBudget() {
	server := mcp.NewServer(impl, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "all_orders"}, func(context.Context, *mcp.CallToolRequest, Filter) (*mcp.CallToolResult, map[string][]Order, error) {
		return nil, map[string][]Order{"orders": allOrders}, nil
	})
	server.AddReceivingMiddleware(pagination.NewBudget(&pagination.BudgetOptions{
		Bytes:    20_000,
		Observer: observe.Discard,
	}).Middleware())

	texts := call(connect(server), "all_orders", nil)
	fmt.Println(texts[0][:59], "...")
	fmt.Println(texts[1])
	// Output:
	// {"orders":[{"cents":1000,"id":"ORD-0001","status":"paid"},{ ...
	// This result was cut: it has 535 kB, and at most 20 kB can be sent. Shown: 168 of 5,000 items of /orders. To see the rest, ask for less, with status.
}

// With Spill, the whole result is kept for a while, and a tool reads it.
func ExampleBudget_Install() {
	server := mcp.NewServer(impl, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "all_orders"}, func(context.Context, *mcp.CallToolRequest, Filter) (*mcp.CallToolResult, map[string][]Order, error) {
		return nil, map[string][]Order{"orders": allOrders}, nil
	})
	budget := pagination.NewBudget(&pagination.BudgetOptions{
		Spill:    &pagination.SpillOptions{},
		Observer: observe.Discard,
	})
	budget.Install(server)
	server.AddReceivingMiddleware(budget.Middleware())

	texts := call(connect(server), "all_orders", nil)
	fmt.Println(texts[len(texts)-1])
	// Output:
	// This result was cut: it has 535 kB, and at most 80 kB can be sent. Shown: 729 of 5,000 items of /orders. For the rest, call read_result with {"handle":"...","offset":729}
}

// HandlerFor bounds one handler, on a server without middleware.
func ExampleHandlerFor() {
	all := func(context.Context, *mcp.CallToolRequest, Filter) (*mcp.CallToolResult, map[string][]Order, error) {
		return nil, map[string][]Order{"orders": allOrders}, nil
	}
	server := mcp.NewServer(impl, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "all_orders"}, pagination.HandlerFor(&pagination.BudgetOptions{
		Observer: observe.Discard,
	}, all))

	fmt.Println(call(connect(server), "all_orders", nil)[1])
	// Output:
	// This result was cut: it has 535 kB, and at most 80 kB can be sent. Shown: 729 of 5,000 items of /orders. To see the rest, ask for less: a filter, a shorter range, fewer fields.
}

// A question about all rows is not answered by reading all rows. A tool of its
// own computes the answer where the rows are, and the pages point to it.
func ExampleOptions_aggregate() {
	pager := pagination.Keyset(ordersAfter, func(o Order) string { return o.ID }, &pagination.Options{
		Bounds:    pagination.Bounds{Limit: 1, Max: 50},
		Aggregate: "revenue",
	})
	server := mcp.NewServer(impl, nil)
	mcp.AddTool(server, pagination.Tool[SearchInput](&mcp.Tool{Name: "search_orders"}, pager),
		func(ctx context.Context, req *mcp.CallToolRequest, in SearchInput) (*mcp.CallToolResult, pagination.Page[Order], error) {
			return pager.Page(ctx, req, in.Input, in.Filter)
		})

	type Revenue struct {
		Orders int `json:"orders"`
		Cents  int `json:"cents"`
	}
	mcp.AddTool(server, &mcp.Tool{Name: "revenue", Description: "Adds up the value of orders."},
		func(_ context.Context, _ *mcp.CallToolRequest, f Filter) (*mcp.CallToolResult, Revenue, error) {
			var r Revenue
			for _, o := range allOrders {
				if f.Status == "" || o.Status == f.Status {
					r.Orders++
					r.Cents += o.Cents
				}
			}
			return nil, r, nil
		})

	session := connect(server)
	fmt.Println(call(session, "search_orders", map[string]any{"status": "shipped"})[1])
	fmt.Println(call(session, "revenue", map[string]any{"status": "shipped"})[0])
	// Output:
	// 1 item, and there are more. To count or add up over all of them, call revenue instead of reading every page. For the next page, call search_orders with {"status":"shipped","cursor":"pc1_..."}
	// {"cents":8750000,"orders":2500}
}

// Processes that share their keys follow each other's cursors.
func ExampleNewKeys() {
	current, old := []byte(strings.Repeat("c", 32)), []byte(strings.Repeat("o", 32)) // from a vault
	keys, err := pagination.NewKeys(current, old)
	if err != nil {
		log.Fatal(err)
	}
	pager := pagination.Slice(func(context.Context, Filter) ([]Order, error) {
		return slices.Clone(allOrders), nil
	}, &pagination.Options{Keys: keys})

	_, page, err := pager.Page(context.Background(), nil, pagination.Input{Limit: 1}, Filter{})
	if err != nil {
		log.Fatal(err)
	}
	_, page, err = pager.Page(context.Background(), nil, pagination.Input{Cursor: *page.NextCursor}, Filter{})
	fmt.Println(page.Items[0].ID, err)
	// Output:
	// ORD-0002 <nil>
}

// Walk reads every page, and says so when it could not.
func ExampleWalk() {
	pager := pagination.Keyset(ordersAfter, func(o Order) string { return o.ID }, nil)
	page := func(ctx context.Context, cursor string) (pagination.Page[Order], error) {
		_, page, err := pager.Page(ctx, nil, pagination.Input{Limit: 50, Cursor: cursor}, Filter{Status: "paid"})
		return page, err
	}
	n := 0
	for _, err := range pagination.Walk(context.Background(), page) {
		if err != nil {
			log.Fatal(err)
		}
		n++
	}
	fmt.Println(n, "orders")
	// Output:
	// 2500 orders
}

// A handler of raw arguments reads limit and cursor itself, because the SDK
// validates nothing for it.
func ExampleParseInput() {
	bounds := pagination.Bounds{Limit: 2, Max: 50}
	pager := pagination.Keyset(ordersAfter, func(o Order) string { return o.ID }, &pagination.Options{Bounds: bounds})
	search := func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		in, err := pagination.ParseInput(req.Params.Arguments, bounds)
		if err != nil {
			return errors.Answer(ctx, req, err)
		}
		res, _, err := pager.Page(ctx, req, in, Filter{Status: "paid"})
		return res, err
	}
	server := mcp.NewServer(impl, nil)
	server.AddTool(pagination.Tool[pagination.Input](&mcp.Tool{Name: "paid_orders"}, pager), search)

	fmt.Println(call(connect(server), "paid_orders", map[string]any{"limit": 0})[0])
	// Output:
	// limit must be from 1 to 50, got 0. Next: leave limit out for 2 items.
}
