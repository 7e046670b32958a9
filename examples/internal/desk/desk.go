// Package desk is the order desk of a small coffee dealer: orders, customers,
// stock and exports, with the rules that such a desk has. The examples put a
// Model Context Protocol server in front of it; the desk itself knows nothing
// of that protocol.
//
// Everything is generated from a seed, dates included, so that two processes
// with the same options hold the same desk.
package desk

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// How many orders a desk holds: the usual one, and one that has grown.
const (
	UsualOrders = 5_000
	ManyOrders  = 120_000
)

// Options configures a [Desk]. The zero value is ready to use.
type Options struct {
	// Orders is how many orders there are. If zero, [UsualOrders].
	Orders int
	// Seed determines everything that is generated. Zero is a seed like any other.
	Seed uint64
	// ExportTakes is how long writing an export takes. If zero, it takes no
	// longer than the writing itself.
	ExportTakes time.Duration
	// BucketFails is how many exports, from the first on, the bucket does not
	// take.
	BucketFails int
}

// Status is where an order stands.
type Status string

// The statuses of an order.
const (
	Pending   Status = "pending" // placed and not paid
	Paid      Status = "paid"    // paid and not shipped
	Shipped   Status = "shipped"
	Cancelled Status = "cancelled"
	Refunded  Status = "refunded" // came back after it had shipped
)

// Statuses lists all of them, in the order of an order's life.
var Statuses = []Status{Pending, Paid, Shipped, Cancelled, Refunded}

// An Order is one order with its lines. Money is in euro cents.
type Order struct {
	ID         string
	CustomerID string // empty if the customer asked to be forgotten
	Status     Status
	Placed     string // the day, as in 2026-03-14
	Lines      []Line
	TotalCents int
	Note       string
}

// A Line is one product of an order.
type Line struct {
	SKU      string `json:"sku"`
	Product  string `json:"product"`
	Quantity int    `json:"quantity"`
	// UnitCents is the price of one when the order was placed.
	UnitCents int `json:"unit_cents"`
}

// A Customer is somebody who orders.
type Customer struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	City string `json:"city"`
}

// A Product is something in stock.
type Product struct {
	SKU       string
	Name      string
	UnitCents int
	Stock     int // what is left to reserve
	LowAt     int // a stock at or below this is low
}

// A Desk holds the orders. It is safe for concurrent use.
type Desk struct {
	// These do not change once the desk is open.
	exportTakes time.Duration
	customers   []Customer
	customer    map[string]int // index in customers, by ID
	product     map[string]int // index in products, by SKU

	mu          sync.RWMutex
	orders      []Order // ORD-n is at n-1; the oldest is first
	products    []Product
	bucketFails int
	written     int
}

// Open generates a desk. A nil opts means the zero Options.
func Open(opts *Options) *Desk {
	var o Options
	if opts != nil {
		o = *opts
	}
	if o.Orders <= 0 {
		o.Orders = UsualOrders
	}
	return generate(o)
}

// A NotFoundError says that there is no such thing at the desk.
type NotFoundError struct {
	What string // "order", "product"
	ID   string
}

func (e *NotFoundError) Error() string { return fmt.Sprintf("no %s %q", e.What, e.ID) }

// A NotCancellableError says that an order has gone too far to be cancelled.
type NotCancellableError struct {
	ID     string
	Status Status
}

func (e *NotCancellableError) Error() string {
	return fmt.Sprintf("order %s cannot be cancelled: it is %s", e.ID, e.Status)
}

// An OutOfStockError says that less is left than was asked for.
type OutOfStockError struct {
	Product Product
	Asked   int
}

func (e *OutOfStockError) Error() string {
	return fmt.Sprintf("%d of %s asked for, %d left", e.Asked, e.Product.SKU, e.Product.Stock)
}

// A BucketError says that a file could not be stored.
type BucketError struct {
	Bucket string
}

func (e *BucketError) Error() string {
	return fmt.Sprintf("bucket %q does not take the file", e.Bucket)
}

// sleep waits for d or until ctx ends.
func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
