package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/steadymcp/steady/examples/internal/desk"
	"github.com/steadymcp/steady/registry"
)

// bugs are the mistakes that -bug puts into the server, each as it is made in
// earnest. They are kept away from the handlers, which are there to be copied.
// The same bug can be run with steady and, by -bare, without.
type bugs map[string]bool

const (
	bugBanner    = "banner"
	bugPrint     = "print"
	bugChild     = "child"
	bugRefusal   = "refusal"
	bugPanic     = "panic"
	bugLeak      = "leak"
	bugUnordered = "unordered"
	bugUnbounded = "unbounded"
	bugBucket    = "bucket"
	bugHeedless  = "heedless"
)

var bugUsage = map[string]string{
	bugBanner:    "the server prints a line on standard output when it starts",
	bugPrint:     "reserve_stock prints a warning when the stock is low",
	bugChild:     "start_export runs a program that prints on standard output",
	bugRefusal:   "cancel_order is a raw handler that returns a rule's refusal as an error",
	bugPanic:     "get_order panics for an order without a customer (" + desk.ForgottenOrder + ")",
	bugLeak:      "get_order forwards a driver's error for one order (" + archivedOrder + ")",
	bugUnordered: "tools are registered from a map",
	bugBucket:    "the bucket does not take the first export",
	bugHeedless:  "export_orders goes on when its caller has gone",
	bugUnbounded: "search_orders returns every match with all its lines",
}

// archivedOrder is the order whose reading fails with -bug leak.
const archivedOrder = "ORD-7"

func parseBugs(list string) (bugs, error) {
	b := bugs{}
	for name := range strings.SplitSeq(list, ",") {
		switch name = strings.TrimSpace(name); {
		case name == "":
		case bugUsage[name] == "":
			return nil, fmt.Errorf("no bug %q; there are %s", name, strings.Join(slices.Sorted(maps.Keys(bugUsage)), ", "))
		default:
			b[name] = true
		}
	}
	return b, nil
}

// bucketFails is how many exports fail.
func (b bugs) bucketFails() int {
	if b[bugBucket] {
		return 1
	}
	return 0
}

func (b bugs) banner() {
	if b[bugBanner] {
		fmt.Println("Order desk 1.4.0 starting, profile: production")
	}
}

func (b bugs) inReserveStock(next mcp.ToolHandlerFor[reserveInput, reserveOutput]) mcp.ToolHandlerFor[reserveInput, reserveOutput] {
	if !b[bugPrint] {
		return next
	}
	return func(ctx context.Context, req *mcp.CallToolRequest, in reserveInput) (*mcp.CallToolResult, reserveOutput, error) {
		result, out, err := next(ctx, req, in)
		if err == nil && out.Low {
			fmt.Printf("WARN low stock: %s, %d left\n", out.SKU, out.Left)
		}
		return result, out, err
	}
}

func (b bugs) inStartExport(next mcp.ToolHandlerFor[exportInput, exportOutput]) mcp.ToolHandlerFor[exportInput, exportOutput] {
	if !b[bugChild] {
		return next
	}
	return func(ctx context.Context, req *mcp.CallToolRequest, in exportInput) (*mcp.CallToolResult, exportOutput, error) {
		// Any program would do; this one is sure to be there.
		self, err := os.Executable()
		if err != nil {
			return nil, exportOutput{}, err
		}
		hook := exec.CommandContext(ctx, self, "-say", "export-hook: bucket is mounted")
		hook.Stdout, hook.Stderr = os.Stdout, os.Stderr
		if err := hook.Run(); err != nil {
			return nil, exportOutput{}, err
		}
		return next(ctx, req, in)
	}
}

// inExportOrders loses the request's context, as code does that hands its work
// to a library without one.
func (b bugs) inExportOrders(next mcp.ToolHandlerFor[exportInput, exportedOutput]) mcp.ToolHandlerFor[exportInput, exportedOutput] {
	if !b[bugHeedless] {
		return next
	}
	return func(ctx context.Context, req *mcp.CallToolRequest, in exportInput) (*mcp.CallToolResult, exportedOutput, error) {
		return next(context.WithoutCancel(ctx), req, in)
	}
}

func (b bugs) inGetOrder(next mcp.ToolHandlerFor[orderInput, orderOutput]) mcp.ToolHandlerFor[orderInput, orderOutput] {
	if !b[bugPanic] && !b[bugLeak] {
		return next
	}
	return func(ctx context.Context, req *mcp.CallToolRequest, in orderInput) (*mcp.CallToolResult, orderOutput, error) {
		if b[bugLeak] && in.OrderID == archivedOrder {
			return nil, orderOutput{}, readArchive(in.OrderID)
		}
		result, out, err := next(ctx, req, in)
		if b[bugPanic] && err == nil {
			fmt.Fprintf(os.Stderr, "reading an order of %s\n", out.Customer.Name)
		}
		return result, out, err
	}
}

// archiveURL is what an operator configured: a password with a percent sign,
// pasted as it is.
var archiveURL = "postgres://desk:Tr0ub4dor%zz@db-3.internal:5432/orders"

// readArchive fails as a driver does that cannot read its address: net/url
// quotes the whole address in its error.
func readArchive(id string) error {
	const query = "SELECT id, customer_id, total_cents FROM orders_archive WHERE id = $1"
	if _, err := url.Parse(archiveURL); err != nil {
		return fmt.Errorf("query %q with %q: %w", query, id, err)
	}
	return nil
}

// searchOrders returns the tool as it should be; with -bug unbounded, one that
// returns whatever there is; and without pagination, one that has a bound and
// no way to the rest, as it is quickly written on the SDK alone.
func (c config) searchOrders(s *shop, t *mcp.Tool, opts ...registry.ToolOption) tool {
	switch {
	case c.bugs[bugUnbounded]:
		t.Description = "Find orders by status, customer or day. Use it to look at orders. Returns every match with its lines."
		t.InputSchema, t.OutputSchema = input[search](nil), schema[everyOrder]()
		return newTool(t, s.everyOrder) // opts speak of a limit
	case c.without["pagination"]:
		t.InputSchema, t.OutputSchema = input[firstInput](func(properties map[string]*jsonschema.Schema) {
			bound(properties["limit"], 1, maxFound)
			properties["limit"].Default = []byte(strconv.Itoa(usuallyFound))
		}), schema[firstOrders]()
		return newTool(t, s.firstOrders, opts...)
	}
	return newTool(t, s.searchOrders, opts...)
}

type everyOrder struct {
	Orders []orderOutput `json:"orders"`
}

func (s *shop) everyOrder(_ context.Context, _ *mcp.CallToolRequest, in search) (*mcp.CallToolResult, everyOrder, error) {
	filter, err := in.filter()
	if err != nil {
		return nil, everyOrder{}, err
	}
	found, _ := s.desk.Search(filter, in.NewestFirst, math.MaxInt)
	out := everyOrder{Orders: []orderOutput{}}
	for _, o := range found {
		out.Orders = append(out.Orders, s.inFull(o))
	}
	return nil, out, nil
}

type firstInput struct {
	search
	Limit int `json:"limit,omitempty" jsonschema:"How many orders to show."`
}

type firstOrders struct {
	Items   []summary `json:"items"`
	Total   int       `json:"total" jsonschema:"how many orders match"`
	HasMore bool      `json:"has_more" jsonschema:"whether more match than are shown"`
}

func (s *shop) firstOrders(_ context.Context, _ *mcp.CallToolRequest, in firstInput) (*mcp.CallToolResult, firstOrders, error) {
	filter, err := in.filter()
	if err != nil {
		return nil, firstOrders{}, err
	}
	found, total := s.desk.Search(filter, in.NewestFirst, min(max(in.Limit, 1), maxFound))
	return nil, firstOrders{Items: append([]summary{}, summaries(found)...), Total: total, HasMore: total > len(found)}, nil
}

// cancelOrder returns the tool as it should be or, with -bug refusal, as one
// written by hand on [mcp.Server.AddTool], which makes an error of a raw
// handler an error of the protocol.
func (b bugs) cancelOrder(s *shop, t *mcp.Tool) tool {
	if !b[bugRefusal] {
		return newTool(t, s.cancelOrder)
	}
	t.OutputSchema = nil
	return newRawTool(t, func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		var in orderInput
		if err := json.Unmarshal(req.Params.Arguments, &in); err != nil {
			return nil, err
		}
		o, _, err := s.desk.Cancel(in.OrderID)
		if err != nil {
			return nil, fmt.Errorf("cancel order: %v", err)
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(o.Status)}}}, nil
	})
}
