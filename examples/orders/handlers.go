package main

import (
	"context"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/steadymcp/steady/errors"
	"github.com/steadymcp/steady/examples/internal/desk"
	"github.com/steadymcp/steady/pagination"
)

// newPager pages through the orders by their IDs, which are in the order of
// placement: an order that is placed, cancelled or shipped between two pages
// neither repeats another nor hides one.
func (s *shop) newPager() *pagination.Pager[search, summary] {
	return pagination.Keyset(func(_ context.Context, q search, after *string, n int) ([]summary, error) {
		filter, err := q.filter()
		if err != nil {
			return nil, err
		}
		if after == nil {
			found, _ := s.desk.Search(filter, q.NewestFirst, n)
			return summaries(found), nil
		}
		found, err := s.desk.SearchAfter(filter, q.NewestFirst, *after, n)
		return summaries(found), err
	}, func(o summary) string { return o.OrderID }, &pagination.Options{
		Bounds:    pagination.Bounds{Limit: usuallyFound, Max: maxFound},
		Aggregate: "revenue",
	}).WithTotal(func(_ context.Context, q search) (int, error) {
		filter, err := q.filter()
		if err != nil {
			return 0, err
		}
		_, total := s.desk.Search(filter, false, 0)
		return total, nil
	})
}

func (s *shop) searchOrders(ctx context.Context, req *mcp.CallToolRequest, in searchInput) (*mcp.CallToolResult, pagination.Page[summary], error) {
	return s.pager.Page(ctx, req, in.Input, in.search)
}

func (q search) filter() (desk.Filter, error) {
	return newFilter(q.Status, q.Customer, q.From, q.To)
}

func summaries(orders []desk.Order) (out []summary) {
	for _, o := range orders {
		out = append(out, summary{
			OrderID: o.ID, Placed: o.Placed, Status: o.Status, CustomerID: o.CustomerID, TotalCents: o.TotalCents,
		})
	}
	return out
}

func (s *shop) revenue(_ context.Context, _ *mcp.CallToolRequest, in revenueInput) (*mcp.CallToolResult, revenueOutput, error) {
	filter, err := newFilter(desk.Shipped, "", in.From, in.To)
	if err != nil {
		return nil, revenueOutput{}, err
	}
	orders, cents := s.desk.Revenue(filter)
	return nil, revenueOutput{Orders: orders, RevenueCents: cents}, nil
}

func (s *shop) getOrder(_ context.Context, _ *mcp.CallToolRequest, in orderInput) (*mcp.CallToolResult, orderOutput, error) {
	o, err := s.desk.Order(in.OrderID)
	if err != nil {
		return nil, orderOutput{}, explain(err)
	}
	return nil, s.inFull(o), nil
}

func (s *shop) inFull(o desk.Order) orderOutput {
	out := orderOutput{OrderID: o.ID, Placed: o.Placed, Status: o.Status, Lines: o.Lines, TotalCents: o.TotalCents, Note: o.Note}
	if c, ok := s.desk.Customer(o.CustomerID); ok {
		out.Customer = &c
	}
	return out
}

func (s *shop) cancelOrder(_ context.Context, _ *mcp.CallToolRequest, in orderInput) (*mcp.CallToolResult, cancelOutput, error) {
	o, refund, err := s.desk.Cancel(in.OrderID)
	if err != nil {
		return nil, cancelOutput{}, explain(err)
	}
	return nil, cancelOutput{OrderID: o.ID, Status: o.Status, RefundCents: refund}, nil
}

func (s *shop) reserveStock(_ context.Context, _ *mcp.CallToolRequest, in reserveInput) (*mcp.CallToolResult, reserveOutput, error) {
	p, err := s.desk.Reserve(in.SKU, in.Quantity)
	if err != nil {
		return nil, reserveOutput{}, explain(err)
	}
	return nil, reserveOutput{SKU: p.SKU, Product: p.Name, Reserved: in.Quantity, Left: p.Stock, Low: p.Low()}, nil
}

// exportOrders takes as long as it takes. That callers do not wait so long, and
// call again, is what its policy is for: see policies.
func (s *shop) exportOrders(ctx context.Context, _ *mcp.CallToolRequest, in exportInput) (*mcp.CallToolResult, exportedOutput, error) {
	filter, err := newFilter(in.Status, in.Customer, in.From, in.To)
	if err != nil {
		return nil, exportedOutput{}, err
	}
	file, err := s.desk.WriteExport(ctx, filter)
	if err != nil {
		return nil, exportedOutput{}, explain(err)
	}
	return nil, exportedOutput{Rows: file.Rows, Bytes: file.Bytes, SHA256: file.SHA256}, nil
}

func (s *shop) startExport(_ context.Context, _ *mcp.CallToolRequest, in exportInput) (*mcp.CallToolResult, exportOutput, error) {
	filter, err := newFilter(in.Status, in.Customer, in.From, in.To)
	if err != nil {
		return nil, exportOutput{}, err
	}
	e, err := s.exports.start(filter)
	return nil, e, err
}

func (s *shop) exportStatus(_ context.Context, _ *mcp.CallToolRequest, in exportStatusInput) (*mcp.CallToolResult, exportOutput, error) {
	e, ok := s.exports.get(in.ExportID)
	if !ok {
		return nil, exportOutput{}, errors.NotFound("there is no export %q", in.ExportID).
			Because("none was started under this ID, or it is one of the oldest and was forgotten").
			Next("start it with start_export")
	}
	return nil, e, nil
}

func (s *shop) exportsWritten(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, exportsWrittenOutput, error) {
	return nil, exportsWrittenOutput{Written: s.desk.ExportsWritten()}, nil
}

func (s *shop) note(_ context.Context, _ *mcp.CallToolRequest, in noteInput) (*mcp.CallToolResult, noteInput, error) {
	if err := s.desk.Note(in.OrderID, in.Note); err != nil {
		return nil, noteInput{}, explain(err)
	}
	return nil, in, nil
}

// explain turns what the desk says into what a model can act on: what
// happened, why, and what to do next.
func explain(err error) error {
	var (
		missing *desk.NotFoundError
		gone    *desk.NotCancellableError
		out     *desk.OutOfStockError
		note    *desk.NoteError
		bucket  *desk.BucketError
	)
	switch {
	case errors.As(err, &missing) && missing.What == "order":
		return errors.NotFound("there is no order %q", missing.ID).
			Next("find it with search_orders; IDs look like ORD-42")
	case errors.As(err, &missing) && missing.What == "product":
		return errors.NotFound("there is no product %q", missing.ID).
			Next("read the SKU from the lines of get_order; SKUs look like SKU-7")
	case errors.As(err, &gone):
		return errors.Refused("order %s cannot be cancelled", gone.ID).
			Because("it is %s, and what has left the house cannot be cancelled", gone.Status).
			Next("tell the customer that it can be sent back for a refund").
			DoNotRetry()
	case errors.As(err, &out) && out.Product.Stock == 0:
		return errors.Refused("%d of %s cannot be reserved", out.Asked, out.Product.SKU).
			Because("%s is out of stock", out.Product.Name).
			Next("offer another pack of the same coffee").
			DoNotRetry()
	case errors.As(err, &out):
		return errors.Refused("%d of %s cannot be reserved", out.Asked, out.Product.SKU).
			Because("only %d of %s are left", out.Product.Stock, out.Product.Name).
			Next("ask whether %d will do", out.Product.Stock).
			DoNotRetry()
	case errors.As(err, &note):
		return errors.Invalid("the note was not put on %s", note.ID).
			Because("it is %d bytes long and %d are allowed", note.Bytes, desk.MaxNote).
			Next("shorten it")
	case errors.As(err, &bucket):
		return errors.Unavailable("the export was not written").
			Because("the bucket did not take the file").
			Next("call export_orders again").
			Cause(err)
	}
	return err
}

func newFilter(status desk.Status, customer, from, to string) (desk.Filter, error) {
	for _, day := range []string{from, to} {
		if _, err := time.Parse(time.DateOnly, day); day != "" && err != nil {
			return desk.Filter{}, errors.Invalid("%q is not a day", day).Next("write it as in 2026-03-14")
		}
	}
	if from != "" && to != "" && from > to {
		return desk.Filter{}, errors.Invalid("no day lies between %s and %s", from, to).Next("swap from and to")
	}
	return desk.Filter{Status: status, Customer: customer, From: from, To: to}, nil
}
