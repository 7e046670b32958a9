package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/steadymcp/steady/examples/internal/desk"
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
)

var bugUsage = map[string]string{
	bugBanner:    "the server prints a line on standard output when it starts",
	bugPrint:     "reserve_stock prints a warning when the stock is low",
	bugChild:     "start_export runs a program that prints on standard output",
	bugRefusal:   "cancel_order is a raw handler that returns a rule's refusal as an error",
	bugPanic:     "get_order panics for an order without a customer (" + desk.ForgottenOrder + ")",
	bugLeak:      "get_order forwards a driver's error for one order (" + archivedOrder + ")",
	bugUnordered: "tools are registered from a map",
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
