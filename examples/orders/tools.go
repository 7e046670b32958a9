package main

import (
	"reflect"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/steadymcp/steady/examples/internal/desk"
	"github.com/steadymcp/steady/pagination"
	"github.com/steadymcp/steady/registry"
)

// How many orders a page has: unless the call says, and at most, whatever it
// asks for.
const (
	usuallyFound = 20
	maxFound     = 50
)

// A shop is the desk as the tools see it.
type shop struct {
	desk    *desk.Desk
	pager   *pagination.Pager[search, summary]
	exports *exports
}

func newShop(d *desk.Desk) *shop {
	s := &shop{desk: d, exports: newExports(d)}
	s.pager = s.newPager()
	return s
}

// tools returns the nine tools, named after what somebody at the desk wants
// done. Their order is the order in which a client lists them.
func (s *shop) tools(c config) []tool {
	b := c.bugs
	return []tool{
		c.searchOrders(s, pagination.Tool[searchInput](&mcp.Tool{
			Name: "search_orders",
			Description: "Find orders by status, customer or day. Use it whenever an order's ID is not known, " +
				"and to count: total is the number of all matches. " +
				"Returns a page of summaries without lines, the oldest first unless newest_first is set; get_order has the lines of one.",
			Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true},
			InputSchema: input[searchInput](nil),
		}, s.pager),
			registry.Aliases("find_orders", "list_orders"),
			registry.Example("the oldest paid order", map[string]any{"status": "paid", "limit": 1})),
		newTool(&mcp.Tool{
			Name: "get_order",
			Description: "Read one order in full. Use it when the ID is known and the lines, the SKUs or the customer matter. " +
				"Returns the order with its lines and its customer; customer is null if the customer asked to be forgotten.",
			Annotations:  &mcp.ToolAnnotations{ReadOnlyHint: true},
			InputSchema:  input[orderInput](nil),
			OutputSchema: schema[orderOutput](),
		}, b.inGetOrder(s.getOrder)),
		newTool(&mcp.Tool{
			Name: "revenue",
			Description: "Add up what was sold: the orders placed in a period that have shipped. Use it instead of reading pages of search_orders. " +
				"Returns the number of orders and their total in euro cents.",
			Annotations:  &mcp.ToolAnnotations{ReadOnlyHint: true},
			InputSchema:  input[revenueInput](nil),
			OutputSchema: schema[revenueOutput](),
		}, s.revenue,
			registry.Aliases("get_revenue", "total_revenue"),
			registry.Example("the second quarter", map[string]any{"from": "2026-04-01", "to": "2026-06-30"})),
		b.cancelOrder(s, &mcp.Tool{
			Name: "cancel_order",
			Description: "Cancel one order that has not shipped and put its goods back into stock. Use it only when the customer wants the order gone; " +
				"it cannot be undone. An order that is already cancelled stays so, which is not an error. " +
				"Returns the order's status and what is to be refunded.",
			Annotations:  &mcp.ToolAnnotations{DestructiveHint: yes, IdempotentHint: true},
			InputSchema:  input[orderInput](nil),
			OutputSchema: schema[cancelOutput](),
		}),
		newTool(&mcp.Tool{
			Name: "reserve_stock",
			Description: "Take units of one product out of stock for a customer. Use it before promising a delivery; all or nothing is reserved. " +
				"Returns what is left and whether that is low.",
			Annotations: &mcp.ToolAnnotations{DestructiveHint: no},
			InputSchema: input[reserveInput](func(properties map[string]*jsonschema.Schema) {
				bound(properties["quantity"], 1, 1000)
			}),
			OutputSchema: schema[reserveOutput](),
		}, b.inReserveStock(s.reserveStock)),
		newTool(&mcp.Tool{
			Name: "export_orders",
			Description: "Write matching orders to a CSV file. Use it to hand over every match, with all lines, as one file. " +
				"Returns the file's rows, bytes and SHA-256. A call for the same selection as one that runs, or has just been done, gets that one's file.",
			Annotations:  &mcp.ToolAnnotations{DestructiveHint: no, IdempotentHint: true},
			InputSchema:  input[exportInput](nil),
			OutputSchema: schema[exportedOutput](),
		}, b.inExportOrders(s.exportOrders)),
		newTool(&mcp.Tool{
			Name: "start_export",
			Description: "Start writing matching orders to a CSV file in the background. Use it instead of export_orders when nobody waits for the file. " +
				"Returns at once with an export_id for export_status. While an export of the same selection runs or is done, " +
				"that export is returned and none is started.",
			Annotations:  &mcp.ToolAnnotations{DestructiveHint: no, IdempotentHint: true},
			InputSchema:  input[exportInput](nil),
			OutputSchema: schema[exportOutput](),
		}, b.inStartExport(s.startExport)),
		newTool(&mcp.Tool{
			Name: "export_status",
			Description: "Read how an export stands. Use it after start_export, every few seconds, until state is no longer running. " +
				"Returns the state and, once it is done, the file's rows, bytes and SHA-256.",
			Annotations:  &mcp.ToolAnnotations{ReadOnlyHint: true},
			InputSchema:  input[exportStatusInput](nil),
			OutputSchema: schema[exportOutput](),
		}, s.exportStatus),
		newTool(&mcp.Tool{
			Name: "exports_written",
			Description: "Count the export files that were written since the server started. Use it to check that a repeated export wrote no second file. " +
				"Returns the number.",
			Annotations:  &mcp.ToolAnnotations{ReadOnlyHint: true},
			InputSchema:  input[struct{}](nil),
			OutputSchema: schema[exportsWrittenOutput](),
		}, s.exportsWritten),
	}
}

// addNote is the tool of a later release, for showing what a client's prompt
// cache makes of one more tool.
func (s *shop) addNote() tool {
	return newTool(&mcp.Tool{
		Name: "add_note",
		Description: "Put a note on one order. Use it for what the customer said and no field holds. " +
			"Returns the order's ID and the note.",
		Annotations: &mcp.ToolAnnotations{DestructiveHint: no},
		InputSchema: input[noteInput](func(properties map[string]*jsonschema.Schema) {
			properties["note"].MaxLength = pointer(desk.MaxNote)
		}),
		OutputSchema: schema[noteInput](),
	}, s.note)
}

// searchInput is a search, and which page of it.
type searchInput struct {
	pagination.Input
	search
}

// A search travels in the cursor from page to page.
type search struct {
	Status      desk.Status `json:"status,omitempty" jsonschema:"Only orders with this status. Left out: any."`
	Customer    string      `json:"customer,omitempty" jsonschema:"Only orders of this customer: an ID such as CUS-7 or a part of the name. Left out: any."`
	From        string      `json:"from,omitempty" jsonschema:"Only orders placed on or after this day, as in 2026-03-14."`
	To          string      `json:"to,omitempty" jsonschema:"Only orders placed on or before this day, as in 2026-03-14."`
	NewestFirst bool        `json:"newest_first,omitempty" jsonschema:"Show the newest orders instead of the oldest."`
}

type summary struct {
	OrderID    string      `json:"order_id"`
	Placed     string      `json:"placed"`
	Status     desk.Status `json:"status"`
	CustomerID string      `json:"customer_id,omitempty"`
	TotalCents int         `json:"total_cents" jsonschema:"euro cents"`
}

type orderInput struct {
	OrderID string `json:"order_id" jsonschema:"The order's ID, as in ORD-42."`
}

type orderOutput struct {
	OrderID    string         `json:"order_id"`
	Placed     string         `json:"placed"`
	Status     desk.Status    `json:"status"`
	Customer   *desk.Customer `json:"customer" jsonschema:"null if the customer asked to be forgotten"`
	Lines      []desk.Line    `json:"lines"`
	TotalCents int            `json:"total_cents" jsonschema:"euro cents"`
	Note       string         `json:"note,omitempty"`
}

type revenueInput struct {
	From string `json:"from,omitempty" jsonschema:"Only orders placed on or after this day, as in 2026-03-14."`
	To   string `json:"to,omitempty" jsonschema:"Only orders placed on or before this day, as in 2026-03-14."`
}

type revenueOutput struct {
	Orders       int `json:"orders" jsonschema:"how many orders were added up"`
	RevenueCents int `json:"revenue_cents" jsonschema:"euro cents"`
}

type cancelOutput struct {
	OrderID     string      `json:"order_id"`
	Status      desk.Status `json:"status"`
	RefundCents int         `json:"refund_cents" jsonschema:"euro cents that this call made due; 0 if nothing was paid"`
}

type reserveInput struct {
	SKU      string `json:"sku" jsonschema:"The product's SKU, as in SKU-7; get_order shows the SKUs of an order's lines."`
	Quantity int    `json:"quantity" jsonschema:"How many units to reserve."`
}

type reserveOutput struct {
	SKU      string `json:"sku"`
	Product  string `json:"product"`
	Reserved int    `json:"reserved"`
	Left     int    `json:"left"`
	Low      bool   `json:"low" jsonschema:"whether the product should be ordered again"`
}

type exportInput struct {
	Status   desk.Status `json:"status,omitempty" jsonschema:"Only orders with this status. Left out: any."`
	Customer string      `json:"customer,omitempty" jsonschema:"Only orders of this customer: an ID such as CUS-7 or a part of the name. Left out: any."`
	From     string      `json:"from,omitempty" jsonschema:"Only orders placed on or after this day, as in 2026-03-14."`
	To       string      `json:"to,omitempty" jsonschema:"Only orders placed on or before this day, as in 2026-03-14."`
}

type exportedOutput struct {
	Rows   int    `json:"rows"`
	Bytes  int    `json:"bytes"`
	SHA256 string `json:"sha256"`
}

type exportStatusInput struct {
	ExportID string `json:"export_id" jsonschema:"What start_export returned, as in EXP-1."`
}

type exportOutput struct {
	ExportID string `json:"export_id"`
	State    string `json:"state" jsonschema:"running, done or failed"`
	Rows     int    `json:"rows,omitempty"`
	Bytes    int    `json:"bytes,omitempty"`
	SHA256   string `json:"sha256,omitempty"`
	Problem  string `json:"problem,omitempty" jsonschema:"why it failed"`
}

type exportsWrittenOutput struct {
	Written int `json:"written"`
}

type noteInput struct {
	OrderID string `json:"order_id" jsonschema:"The order's ID, as in ORD-42."`
	Note    string `json:"note" jsonschema:"What to remember."`
}

var yes, no = pointer(true), pointer(false)

func pointer[T any](v T) *T { return &v }

// maxText is how long an argument may be, in characters, unless it says
// otherwise: the desk remembers some, and repeats others in its answers.
const maxText = 100

// input returns the schema of T with every text bounded, after edit, which may
// be nil, has changed the properties.
func input[T any](edit func(properties map[string]*jsonschema.Schema)) *jsonschema.Schema {
	s := schema[T]()
	for _, p := range s.Properties {
		if p.Type == "string" && p.Enum == nil {
			p.MaxLength = pointer(maxText)
		}
	}
	if edit != nil {
		edit(s.Properties)
	}
	return s
}

// schema returns the schema of T, in which statuses are spelled out as an enum.
func schema[T any]() *jsonschema.Schema {
	status := &jsonschema.Schema{Type: "string"}
	for _, s := range desk.Statuses {
		status.Enum = append(status.Enum, string(s))
	}
	s, err := jsonschema.For[T](&jsonschema.ForOptions{
		TypeSchemas: map[reflect.Type]*jsonschema.Schema{reflect.TypeFor[desk.Status](): status},
	})
	if err != nil {
		panic("orders: " + err.Error()) // the types above decide, not input
	}
	return s
}

func bound(s *jsonschema.Schema, least, most float64) { s.Minimum, s.Maximum = &least, &most }
