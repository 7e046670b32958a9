package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/steadymcp/steady/errors"
	"github.com/steadymcp/steady/examples/internal/desk"
)

// The same desk with a tool for each endpoint, as generators make it from an
// API: five for each of seven resources. It is here for comparison. It works on a
// copy of the desk's data, and it has no rules: whoever calls update_order may
// set any status.

type resource struct {
	name, plural string // as in order, orders
	fields       []field
	rows         func(*desk.Desk) []row
}

type field struct {
	name, kind, about string
	values            []string // of an enum; nil for any
}

// A row is one object of a resource as JSON has it, so that numbers are
// float64. Its key is under "id".
type row = map[string]any

var statusValues = func() (values []string) {
	for _, s := range desk.Statuses {
		values = append(values, string(s))
	}
	return values
}()

var resources = []resource{
	{"order", "orders", []field{
		{"customer_id", "string", "ID of the customer", nil},
		{"status", "string", "Status of the order", statusValues},
		{"placed", "string", "Day on which the order was placed (YYYY-MM-DD)", nil},
		{"total_cents", "integer", "Total in euro cents", nil},
	}, func(d *desk.Desk) []row {
		return orderRows(d, func(o desk.Order) []row {
			return []row{{"id": o.ID, "customer_id": o.CustomerID, "status": string(o.Status), "placed": o.Placed, "total_cents": float64(o.TotalCents)}}
		})
	}},
	{"order_line", "order_lines", []field{
		{"order_id", "string", "ID of the order", nil},
		{"sku", "string", "SKU of the product", nil},
		{"quantity", "integer", "Quantity", nil},
		{"unit_cents", "integer", "Unit price in euro cents", nil},
	}, func(d *desk.Desk) []row {
		return orderRows(d, func(o desk.Order) (rows []row) {
			for i, l := range o.Lines {
				rows = append(rows, row{"id": fmt.Sprintf("%s/%d", o.ID, i+1), "order_id": o.ID, "sku": l.SKU, "quantity": float64(l.Quantity), "unit_cents": float64(l.UnitCents)})
			}
			return rows
		})
	}},
	{"customer", "customers", []field{
		{"name", "string", "Full name", nil},
		{"city", "string", "City", nil},
	}, func(d *desk.Desk) (rows []row) {
		for _, c := range d.Customers() {
			rows = append(rows, row{"id": c.ID, "name": c.Name, "city": c.City})
		}
		return rows
	}},
	{"product", "products", []field{
		{"name", "string", "Name of the product", nil},
		{"unit_cents", "integer", "Unit price in euro cents", nil},
	}, func(d *desk.Desk) (rows []row) {
		for _, p := range d.Products() {
			rows = append(rows, row{"id": p.SKU, "name": p.Name, "unit_cents": float64(p.UnitCents)})
		}
		return rows
	}},
	{"stock_level", "stock_levels", []field{
		{"sku", "string", "SKU of the product", nil},
		{"stock", "integer", "Units in stock", nil},
		{"low_at", "integer", "Units at which the stock is low", nil},
	}, func(d *desk.Desk) (rows []row) {
		for _, p := range d.Products() {
			rows = append(rows, row{"id": "STK-" + p.SKU, "sku": p.SKU, "stock": float64(p.Stock), "low_at": float64(p.LowAt)})
		}
		return rows
	}},
	{"shipment", "shipments", []field{
		{"order_id", "string", "ID of the order", nil},
		{"status", "string", "Status of the shipment", []string{"sent", "returned"}},
	}, func(d *desk.Desk) []row {
		return orderRows(d, func(o desk.Order) []row {
			switch o.Status {
			case desk.Shipped:
				return []row{{"id": "SHP-" + o.ID, "order_id": o.ID, "status": "sent"}}
			case desk.Refunded:
				return []row{{"id": "SHP-" + o.ID, "order_id": o.ID, "status": "returned"}}
			}
			return nil
		})
	}},
	{"export", "exports", []field{
		{"status", "string", "Status of the orders to export", statusValues},
		{"from", "string", "First day (YYYY-MM-DD)", nil},
		{"to", "string", "Last day (YYYY-MM-DD)", nil},
	}, func(*desk.Desk) []row { return nil }},
}

func orderRows(d *desk.Desk, rows func(desk.Order) []row) (all []row) {
	_, n := d.Search(desk.Filter{}, false, 0)
	orders, _ := d.Search(desk.Filter{}, false, n)
	for _, o := range orders {
		all = append(all, rows(o)...)
	}
	return all
}

// endpointTools returns the 35 tools.
func endpointTools(d *desk.Desk) (tools []tool) {
	for _, r := range resources {
		t := &table{resource: r, rows: r.rows(d)}
		for _, r := range t.rows {
			t.keys = append(t.keys, r["id"].(string))
		}
		tools = append(tools, t.list(), t.get(), t.create(), t.update(), t.delete())
	}
	return tools
}

// A table holds the rows of one resource.
type table struct {
	resource
	mu      sync.Mutex
	rows    []row
	keys    []string // of rows
	created int
}

const maxPerPage, maxCreated = 100, 1000

func (t *table) list() tool {
	properties := t.properties("Only " + t.plural + " with this value. ")
	properties["page"] = &jsonschema.Schema{Type: "integer", Description: "Page number, starting at 1", Minimum: pointer(1.0)}
	properties["per_page"] = &jsonschema.Schema{Type: "integer", Description: "Page size", Minimum: pointer(1.0), Maximum: pointer(float64(maxPerPage))}
	return t.tool("list_"+t.plural, "List "+t.plural+" (GET /v1/"+t.plural+"). Returns one page of "+t.plural+" with the total count.", properties, nil,
		object(map[string]*jsonschema.Schema{
			"items": {Type: "array", Items: t.object()},
			"page":  {Type: "integer"},
			"total": {Type: "integer"},
		}, "items", "page", "total"),
		func(in row) (row, error) {
			page, perPage := number(in["page"], 1), number(in["per_page"], 20)
			items, total := []row{}, 0
			for _, r := range t.rows {
				if !t.match(r, in) {
					continue
				}
				if total/perPage == page-1 {
					items = append(items, r)
				}
				total++
			}
			return row{"items": items, "page": page, "total": total}, nil
		})
}

func (t *table) get() tool {
	return t.tool("get_"+t.name, "Get one "+t.name+" by its ID (GET /v1/"+t.plural+"/{id}). Returns the "+t.name+".", t.id(), []string{"id"}, t.object(),
		func(in row) (row, error) {
			i, err := t.find(in)
			if err != nil {
				return nil, err
			}
			return t.rows[i], nil
		})
}

func (t *table) create() tool {
	var required []string
	for _, f := range t.fields {
		required = append(required, f.name)
	}
	return t.tool("create_"+t.name, "Create a new "+t.name+" (POST /v1/"+t.plural+"). Returns the created "+t.name+".", t.properties(""), required, t.object(),
		func(in row) (row, error) {
			if t.created == maxCreated {
				return nil, errors.Refused("the %s was not created", t.name).Because("%d were created already", maxCreated).DoNotRetry()
			}
			t.created++
			created := maps.Clone(in)
			created["id"] = fmt.Sprintf("NEW-%d", t.created)
			t.rows = append(t.rows, created)
			t.keys = append(t.keys, created["id"].(string))
			return created, nil
		})
}

func (t *table) update() tool {
	properties := t.properties("")
	maps.Copy(properties, t.id())
	return t.tool("update_"+t.name, "Update fields of one "+t.name+" (PATCH /v1/"+t.plural+"/{id}). Returns the updated "+t.name+".", properties, []string{"id"}, t.object(),
		func(in row) (row, error) {
			i, err := t.find(in)
			if err != nil {
				return nil, err
			}
			updated := maps.Clone(t.rows[i])
			maps.Copy(updated, in)
			t.rows[i] = updated
			return updated, nil
		})
}

func (t *table) delete() tool {
	return t.tool("delete_"+t.name, "Delete one "+t.name+" by its ID (DELETE /v1/"+t.plural+"/{id}). Returns the deleted "+t.name+".", t.id(), []string{"id"}, t.object(),
		func(in row) (row, error) {
			i, err := t.find(in)
			if err != nil {
				return nil, err
			}
			deleted := t.rows[i]
			t.rows = slices.Delete(t.rows, i, i+1)
			t.keys = slices.Delete(t.keys, i, i+1)
			return deleted, nil
		})
}

func (t *table) tool(name, about string, properties map[string]*jsonschema.Schema, required []string, out *jsonschema.Schema, do func(row) (row, error)) tool {
	return newTool(&mcp.Tool{
		Name:         name,
		Description:  about,
		InputSchema:  object(properties, required...),
		OutputSchema: out,
		Annotations: &mcp.ToolAnnotations{
			ReadOnlyHint:    strings.HasPrefix(name, "list_") || strings.HasPrefix(name, "get_"),
			DestructiveHint: pointer(strings.HasPrefix(name, "update_") || strings.HasPrefix(name, "delete_")),
		},
	}, func(_ context.Context, _ *mcp.CallToolRequest, in row) (*mcp.CallToolResult, row, error) {
		t.mu.Lock()
		defer t.mu.Unlock()
		out, err := do(in)
		return nil, out, err
	})
}

func (t *table) find(in row) (int, error) {
	i := slices.Index(t.keys, in["id"].(string))
	if i < 0 {
		return 0, errors.NotFound("there is no %s %q", t.name, in["id"]).Next("list them with list_%s", t.plural)
	}
	return i, nil
}

func (t *table) match(r, in row) bool {
	for _, f := range t.fields {
		if want, ok := in[f.name]; ok && r[f.name] != want {
			return false
		}
	}
	return true
}

func (t *table) properties(prefix string) map[string]*jsonschema.Schema {
	properties := map[string]*jsonschema.Schema{}
	for _, f := range t.fields {
		s := &jsonschema.Schema{Type: f.kind, Description: prefix + f.about}
		for _, v := range f.values {
			s.Enum = append(s.Enum, v)
		}
		properties[f.name] = s
	}
	return properties
}

func (t *table) id() map[string]*jsonschema.Schema {
	return map[string]*jsonschema.Schema{"id": {Type: "string", Description: "ID of the " + t.name}}
}

func (t *table) object() *jsonschema.Schema {
	properties := t.properties("")
	maps.Copy(properties, t.id())
	return object(properties, "id")
}

func object(properties map[string]*jsonschema.Schema, required ...string) *jsonschema.Schema {
	return &jsonschema.Schema{
		Type:                 "object",
		Properties:           properties,
		Required:             required,
		PropertyOrder:        slices.Sorted(maps.Keys(properties)),
		AdditionalProperties: &jsonschema.Schema{Not: &jsonschema.Schema{}},
	}
}

// number returns an argument that the schema says is a whole number.
func number(v any, missing int) int {
	if n, ok := v.(float64); ok {
		return int(n)
	}
	return missing
}
