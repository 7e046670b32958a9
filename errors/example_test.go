package errors_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"regexp"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/steadymcp/steady/errors"
	"github.com/steadymcp/steady/observe"
)

type cancelInput struct {
	ID string `json:"id"`
}

func cancel(_ context.Context, _ *mcp.CallToolRequest, in cancelInput) (*mcp.CallToolResult, any, error) {
	return nil, nil, errors.Refused("order %s cannot be cancelled", in.ID).
		Because("it has already shipped").
		Next("offer a return with start_return").
		DoNotRetry()
}

// show calls a tool and prints what a client receives.
func show(server *mcp.Server, tool string, args any) {
	ctx := context.Background()
	clientEnd, serverEnd := mcp.NewInMemoryTransports()
	if _, err := server.Connect(ctx, serverEnd, nil); err != nil {
		panic(err)
	}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "client"}, nil).Connect(ctx, clientEnd, nil)
	if err != nil {
		panic(err)
	}
	defer session.Close()
	r, err := session.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		fmt.Println("protocol error:", err)
		return
	}
	hide := regexp.MustCompile(`[A-Z2-7]{12}`)
	for _, c := range r.Content {
		fmt.Println(hide.ReplaceAllString(c.(*mcp.TextContent).Text, "7QKX2MZD4WNA"))
	}
	if facts, ok := r.Meta["steady/error"]; ok {
		data, _ := json.Marshal(facts)
		fmt.Println(hide.ReplaceAllString(string(data), "7QKX2MZD4WNA"))
	}
}

func ExampleShape() {
	type input struct {
		ID string `json:"id"`
	}
	cancel := func(_ context.Context, _ *mcp.CallToolRequest, in input) (*mcp.CallToolResult, any, error) {
		return nil, nil, errors.Refused("order %s cannot be cancelled", in.ID).
			Because("it has already shipped").
			Next("offer a return with start_return").
			DoNotRetry()
	}

	server := mcp.NewServer(&mcp.Implementation{Name: "orders", Version: "v1.0.0"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "cancel_order"}, cancel)
	server.AddReceivingMiddleware(errors.Shape(nil))

	show(server, "cancel_order", input{ID: "ORD-42"})
	// Output:
	// order ORD-42 cannot be cancelled. Reason: it has already shipped. Next: offer a return with start_return. Do not retry.
	// {"kind":"conflict","retry":"never"}
}

func ExampleShape_hidden() {
	server := mcp.NewServer(&mcp.Implementation{Name: "orders", Version: "v1.0.0"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "find_order"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		err := &driverError{`relation "orders" does not exist (host=db.internal user=app)`}
		return nil, nil, fmt.Errorf("finding the order: %w", err)
	})
	server.AddReceivingMiddleware(errors.Shape(&errors.Options{
		Observer: observe.Func(func(_ context.Context, e observe.Event) {
			fmt.Println("operator:", e.EventName(), e.(errors.Hidden).Err)
		}),
	}))

	show(server, "find_order", nil)
	// Output:
	// operator: errors.hidden finding the order: relation "orders" does not exist (host=db.internal user=app)
	// internal error (incident 7QKX2MZD4WNA)
	// {"incident":"7QKX2MZD4WNA","kind":"internal"}
}

func ExampleHandlerFor() {
	server := mcp.NewServer(&mcp.Implementation{Name: "orders", Version: "v1.0.0"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "cancel_order"}, errors.HandlerFor(cancel))

	show(server, "cancel_order", cancelInput{ID: "ORD-42"})
	// Output:
	// order ORD-42 cannot be cancelled. Reason: it has already shipped. Next: offer a return with start_return. Do not retry.
	// {"kind":"conflict","retry":"never"}
}

func ExampleOptions_translate() {
	opts := &errors.Options{
		Observer: observe.Discard,
		Translate: func(err error) error {
			switch {
			case errors.Is(err, sql.ErrNoRows):
				return errors.NotFound("no such record").Next("search with search_orders")
			case errors.Is(err, sql.ErrConnDone):
				return errors.Unavailable("the order database does not answer")
			}
			return nil
		},
	}

	server := mcp.NewServer(&mcp.Implementation{Name: "orders", Version: "v1.0.0"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "get_order"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return nil, nil, sql.ErrNoRows
	})
	server.AddReceivingMiddleware(errors.Shape(opts))

	show(server, "get_order", nil)
	// Output:
	// no such record. Next: search with search_orders.
	// {"incident":"7QKX2MZD4WNA","kind":"not_found","retry":"changed"}
}

func ExampleIs() {
	// A Failure never changes, so a package variable can be chained on.
	errShipped := errors.Refused("the order has shipped")

	err := fmt.Errorf("cancelling ORD-42: %w", errShipped.Next("offer a return"))
	fmt.Println(errors.Is(err, errShipped), errors.Is(err, errors.KindConflict), errors.KindOf(err))
	// Output: true true conflict
}

func ExamplePublic() {
	server := mcp.NewServer(&mcp.Implementation{Name: "orders", Version: "v1.0.0"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "run_query"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		// The model wrote the query, so it should read the driver's complaint.
		return nil, nil, errors.Public(&driverError{`syntax error at or near "FORM"`})
	})
	server.AddReceivingMiddleware(errors.Shape(&errors.Options{Observer: observe.Discard}))

	show(server, "run_query", nil)
	// Output: syntax error at or near "FORM"
}

func ExampleGo() {
	server := mcp.NewServer(&mcp.Implementation{Name: "orders", Version: "v1.0.0"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "price"}, func(ctx context.Context, _ *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		stock := errors.Go(ctx, func(context.Context) error { return nil })
		taxes := errors.Go(ctx, func(context.Context) error { panic("no table for this year") })
		return nil, nil, errors.Join(<-stock, <-taxes)
	})
	server.AddReceivingMiddleware(errors.Shape(&errors.Options{Observer: observe.Discard}))

	show(server, "price", nil)
	// Output:
	// internal error (incident 7QKX2MZD4WNA)
	// {"incident":"7QKX2MZD4WNA","kind":"internal"}
}

func ExampleMask() {
	fmt.Println(errors.Mask("dial postgres://app:hunter2@db.internal:5432/orders: refused"))
	// Output:
	// dial postgres://***@db.internal:5432/orders: refused
}
