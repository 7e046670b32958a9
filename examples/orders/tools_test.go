package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/steadymcp/steady/examples/internal/desk"
	"github.com/steadymcp/steady/internal/mcptest"
	"github.com/steadymcp/steady/pagination"
)

// own are the nine tools in the order in which they are listed, and installed
// those that steady adds.
var (
	own       = []string{"search_orders", "get_order", "revenue", "cancel_order", "reserve_stock", "export_orders", "start_export", "export_status", "exports_written"}
	installed = []string{"read_result", "task_answer", "task_cancel", "task_result", "task_status"}
)

// found is what search_orders returns.
type found = pagination.Page[summary]

func open(t *testing.T, c config, revision string) *mcp.ClientSession {
	t.Helper()
	server, closeServer, err := newServer(c)
	require.NoError(t, err)
	t.Cleanup(closeServer)
	return mcptest.Connect(t, server, revision)
}

func callOK[Out any](t *testing.T, session *mcp.ClientSession, name string, args map[string]any) (out Out) {
	t.Helper()
	if args == nil {
		args = map[string]any{}
	}
	result, err := session.CallTool(context.Background(), &mcp.CallToolParams{Name: name, Arguments: args})
	require.NoError(t, err)
	require.False(t, result.IsError, mcptest.Text(result))
	data, err := json.Marshal(result.StructuredContent)
	require.NoError(t, err)
	text, _ := result.Content[0].(*mcp.TextContent)
	require.NotNil(t, text)
	require.JSONEq(t, string(data), text.Text, "text and structured content agree")
	require.NoError(t, json.Unmarshal(data, &out))
	return out
}

func callRefused(t *testing.T, session *mcp.ClientSession, name string, args map[string]any) string {
	t.Helper()
	if args == nil {
		args = map[string]any{}
	}
	result, err := session.CallTool(context.Background(), &mcp.CallToolParams{Name: name, Arguments: args})
	require.NoError(t, err)
	require.True(t, result.IsError)
	require.Nil(t, result.StructuredContent)
	return mcptest.Text(result)
}

func TestTools(t *testing.T) {
	t.Parallel()
	for _, revision := range mcptest.Revisions {
		t.Run(revision, func(t *testing.T) {
			t.Parallel()
			session := open(t, config{seed: 1}, revision)

			page := callOK[found](t, session, "search_orders", nil)
			require.Len(t, page.Items, usuallyFound, "the default limit")
			require.Equal(t, desk.UsualOrders, *page.Total)
			require.True(t, page.HasMore)
			require.Equal(t, "ORD-1", page.Items[0].OrderID)
			page = callOK[found](t, session, "search_orders", map[string]any{"newest_first": true, "limit": maxFound})
			require.Len(t, page.Items, maxFound)
			require.Equal(t, "ORD-5000", page.Items[0].OrderID)
			page = callOK[found](t, session, "search_orders", map[string]any{"cursor": *page.NextCursor})
			require.Equal(t, "ORD-4950", page.Items[0].OrderID, "the search travels in the cursor")
			page = callOK[found](t, session, "search_orders", map[string]any{"customer": "nobody"})
			require.Equal(t, found{Items: []summary{}, Total: new(int)}, page)

			sold := callOK[revenueOutput](t, session, "revenue", map[string]any{"from": "2026-04-01", "to": "2026-06-30"})
			require.NotZero(t, sold.RevenueCents)
			page = callOK[found](t, session, "search_orders", map[string]any{"status": "shipped", "from": "2026-04-01", "to": "2026-06-30"})
			require.Equal(t, *page.Total, sold.Orders)

			order := callOK[orderOutput](t, session, "get_order", map[string]any{"order_id": "ORD-42"})
			require.EqualValues(t, "shipped", order.Status)
			require.NotEmpty(t, order.Customer.Name)
			require.NotEmpty(t, order.Lines)
			require.Nil(t, callOK[orderOutput](t, session, "get_order", map[string]any{"order_id": desk.ForgottenOrder}).Customer)

			reserved := callOK[reserveOutput](t, session, "reserve_stock", map[string]any{"sku": "SKU-7", "quantity": 1})
			require.Equal(t, 1, reserved.Reserved)
			left := reserved.Left
			reserved = callOK[reserveOutput](t, session, "reserve_stock", map[string]any{"sku": "SKU-7", "quantity": left})
			require.Zero(t, reserved.Left)
			require.True(t, reserved.Low)

			for _, c := range []struct {
				tool string
				args map[string]any
				want []string
			}{
				{"cancel_order", map[string]any{"order_id": "ORD-42"}, []string{"order ORD-42 cannot be cancelled", "it is shipped", "Next: ", "Do not retry."}},
				{"cancel_order", map[string]any{"order_id": "ORD-0"}, []string{`there is no order "ORD-0"`, "search_orders"}},
				{"cancel_order", nil, []string{"order_id"}},
				{"get_order", map[string]any{"order_id": "42"}, []string{`there is no order "42"`, "ORD-42"}},
				{"reserve_stock", map[string]any{"sku": "SKU-8", "quantity": 1000}, []string{"1000 of SKU-8 cannot be reserved", "are left", "Do not retry."}},
				{"reserve_stock", map[string]any{"sku": "SKU-7", "quantity": 1}, []string{"out of stock"}},
				{"reserve_stock", map[string]any{"sku": "coffee", "quantity": 1}, []string{`there is no product "coffee"`, "get_order"}},
				{"search_orders", map[string]any{"from": "yesterday"}, []string{`"yesterday" is not a day`, "2026-03-14"}},
				{"search_orders", map[string]any{"from": "2026-02-30"}, []string{"is not a day"}},
				{"search_orders", map[string]any{"from": "2026-03-02", "to": "2026-03-01"}, []string{"swap from and to"}},
				{"search_orders", map[string]any{"status": "paid", "cursor": "ORD-42"}, []string{"cursor"}},
				{"revenue", map[string]any{"from": "yesterday"}, []string{"is not a day"}},
				{"start_export", map[string]any{"to": "soon"}, []string{"is not a day"}},
				{"export_status", map[string]any{"export_id": "EXP-0"}, []string{`there is no export "EXP-0"`, "start_export"}},
			} {
				text := callRefused(t, session, c.tool, c.args)
				for _, want := range c.want {
					require.Contains(t, text, want, "%s %v", c.tool, c.args)
				}
			}

			// Discovery refuses what is out of bounds in words of its own.
			undiscovered := open(t, config{without: map[string]bool{"discovery": true}}, revision)
			for _, c := range []struct {
				tool string
				args map[string]any
				want string
			}{
				{"reserve_stock", map[string]any{"sku": "SKU-8", "quantity": 0}, "/properties/quantity: minimum"},
				{"reserve_stock", map[string]any{"sku": "SKU-8", "quantity": -5}, "/properties/quantity: minimum"},
				{"search_orders", map[string]any{"limit": 500}, "limit 500 is above the maximum of 50"},
				{"search_orders", map[string]any{"limit": 0}, "limit must be from 1 to 50, got 0"},
				{"search_orders", map[string]any{"customer": strings.Repeat("x", 101)}, "/properties/customer: maxLength"},
				{"get_order", map[string]any{"order_id": strings.Repeat("9", 101)}, "/properties/order_id: maxLength"},
				{"search_orders", map[string]any{"status": "lost"}, "/properties/status: enum"},
			} {
				callRefused(t, session, c.tool, c.args)
				require.Contains(t, callRefused(t, undiscovered, c.tool, c.args), c.want, "%s %v", c.tool, c.args)
			}
		})
	}
}

// TestSearchWithoutPagination is the tool as it is written on the SDK alone.
func TestSearchWithoutPagination(t *testing.T) {
	t.Parallel()
	session := open(t, config{without: map[string]bool{"pagination": true}}, mcptest.Stateless)
	first := callOK[firstOrders](t, session, "search_orders", map[string]any{"limit": 7})
	require.Len(t, first.Items, 7)
	require.Equal(t, desk.UsualOrders, first.Total)
	require.True(t, first.HasMore)
	callRefused(t, session, "search_orders", map[string]any{"cursor": "anything"})
}

func TestUnbounded(t *testing.T) {
	t.Parallel()
	for _, revision := range mcptest.Revisions {
		t.Run(revision, func(t *testing.T) {
			t.Parallel()
			session := open(t, config{bugs: bugs{bugUnbounded: true}}, revision)
			shown := callOK[everyOrder](t, session, "search_orders", nil)
			require.NotEmpty(t, shown.Orders)
			require.Less(t, len(shown.Orders), desk.UsualOrders, "the budget cuts it")
			require.NotEmpty(t, shown.Orders[0].Lines)
			shown = callOK[everyOrder](t, session, "search_orders", map[string]any{"from": "2026-06-30"})
			require.NotEmpty(t, shown.Orders)
			callRefused(t, session, "search_orders", map[string]any{"from": "soon"})
		})
	}
}

func TestToolDescriptions(t *testing.T) {
	t.Parallel()
	session := open(t, config{note: true}, mcptest.Stateless)
	list, err := session.ListTools(t.Context(), nil)
	require.NoError(t, err)
	var names []string
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
		if slices.Contains(installed, tool.Name) {
			continue // not written here
		}
		require.Contains(t, tool.Description, "Use it ", tool.Name)
		require.Contains(t, tool.Description, "Returns ", tool.Name)
		properties, _ := tool.InputSchema.(map[string]any)["properties"].(map[string]any)
		for name, p := range properties {
			require.NotEmpty(t, p.(map[string]any)["description"], "%s.%s", tool.Name, name)
		}
	}
	require.Equal(t, slices.Concat(installed, own, []string{"add_note"}), names, "in the order of the source")
}

func TestNote(t *testing.T) {
	t.Parallel()
	session := open(t, config{note: true}, mcptest.Stateless)
	note := noteInput{OrderID: "ORD-1", Note: "ring twice"}
	require.Equal(t, note, callOK[noteInput](t, session, "add_note", map[string]any{"order_id": "ORD-1", "note": "ring twice"}))
	require.Equal(t, "ring twice", callOK[orderOutput](t, session, "get_order", map[string]any{"order_id": "ORD-1"}).Note)
	require.Contains(t, callRefused(t, session, "add_note", map[string]any{"order_id": "ORD-1", "note": strings.Repeat("é", 251)}), "502 bytes")
	callRefused(t, session, "add_note", map[string]any{"order_id": "ORD-1", "note": strings.Repeat("x", 501)})
}

func TestExports(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := desk.Open(&desk.Options{ExportTakes: time.Minute})
		e := newExports(d)
		defer e.close()
		paid := desk.Filter{Status: desk.Paid}
		first, err := e.start(paid)
		require.NoError(t, err)
		require.Equal(t, exportOutput{ExportID: "EXP-1", State: "running"}, first)
		again, err := e.start(paid)
		require.NoError(t, err)
		require.Equal(t, first, again, "a retry joins what runs")
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		done, err := e.start(paid)
		require.NoError(t, err)
		require.Equal(t, "EXP-1", done.ExportID, "and what is done")
		require.Equal(t, "done", done.State)
		require.NotZero(t, done.Rows)
		require.Equal(t, 1, d.ExportsWritten())

		for i := range maxRunning {
			_, err := e.start(desk.Filter{Customer: fmt.Sprint(i)})
			require.NoError(t, err)
		}
		_, err = e.start(desk.Filter{Customer: "one too many"})
		require.ErrorContains(t, err, "8 exports are running")
		time.Sleep(2 * time.Minute)
		synctest.Wait()

		for i := range maxKept {
			_, err := e.start(desk.Filter{Customer: fmt.Sprint("many ", i)})
			require.NoError(t, err)
			time.Sleep(2 * time.Minute)
		}
		synctest.Wait()
		require.Len(t, e.byID, maxKept)
		require.Len(t, e.bySpec, maxKept)
		_, ok := e.get("EXP-1")
		require.False(t, ok, "the oldest is forgotten")
	})
}

func TestExportThatFailsIsReleased(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := newExports(desk.Open(&desk.Options{ExportTakes: time.Minute}))
		first, err := e.start(desk.Filter{})
		require.NoError(t, err)
		e.close() // gives up what runs
		failed, ok := e.get(first.ExportID)
		require.True(t, ok)
		require.Equal(t, "failed", failed.State)
		require.NotEmpty(t, failed.Problem)
		require.Empty(t, e.bySpec)
	})
}

// A handle is what export_orders returns to a caller that should not wait.
type handle struct {
	Task struct {
		TaskID string `json:"taskId"`
		Status string `json:"status"`
	} `json:"task"`
}

func callHandle(t *testing.T, session *mcp.ClientSession, args map[string]any) (string, string) {
	t.Helper()
	result, err := session.CallTool(context.Background(), &mcp.CallToolParams{Name: "export_orders", Arguments: args})
	require.NoError(t, err)
	require.False(t, result.IsError, mcptest.Text(result))
	data, err := json.Marshal(result.StructuredContent)
	require.NoError(t, err)
	var h handle
	require.NoError(t, json.Unmarshal(data, &h))
	require.NotEmpty(t, h.Task.TaskID, string(data))
	return h.Task.TaskID, mcptest.Text(result)
}

func TestExportOrders(t *testing.T) {
	t.Parallel()
	for _, revision := range mcptest.Revisions {
		t.Run(revision, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				session := open(t, config{exportTakes: time.Minute, bugs: bugs{bugBucket: true}}, revision)
				ada := map[string]any{"customer": "Ada"}
				start := time.Now()
				id, text := callHandle(t, session, ada)
				require.Equal(t, 5*time.Second, time.Since(start), "no caller waits longer")
				require.Contains(t, text, "task_result")
				again, text := callHandle(t, session, map[string]any{"customer": "ADA"})
				require.Equal(t, id, again, "the same selection in other words")
				require.Contains(t, text, "Not started again")

				time.Sleep(time.Minute)
				require.Contains(t, callRefused(t, session, "task_result", map[string]any{"task_id": id}), "the bucket did not take the file")
				require.Zero(t, callOK[exportsWrittenOutput](t, session, "exports_written", nil).Written)

				next, _ := callHandle(t, session, ada)
				require.NotEqual(t, id, next, "a failure lets go of the selection")
				time.Sleep(time.Minute)
				file := callOK[exportedOutput](t, session, "task_result", map[string]any{"task_id": next})
				require.NotZero(t, file.Rows)
				joined, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "export_orders", Arguments: ada})
				require.NoError(t, err)
				require.Contains(t, mcptest.Text(joined), file.SHA256, "what is done is not done again")
				require.Equal(t, 1, callOK[exportsWrittenOutput](t, session, "exports_written", nil).Written)
			})
		})
	}
}

// TestExportOrdersWithoutTasks is a slow tool on the SDK alone.
func TestExportOrdersWithoutTasks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		without := map[string]bool{"tasks": true, "limits": true}
		session := open(t, config{exportTakes: time.Minute, without: without, bugs: bugs{bugHeedless: true}}, mcptest.Stateless)
		for range 2 {
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			_, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "export_orders", Arguments: map[string]any{}})
			require.ErrorIs(t, err, context.DeadlineExceeded)
			cancel()
		}
		time.Sleep(time.Minute)
		require.Equal(t, 2, callOK[exportsWrittenOutput](t, session, "exports_written", nil).Written)
	})
}

func TestEndpoints(t *testing.T) {
	t.Parallel()
	session := open(t, config{endpoints: true}, mcptest.Stateless)
	list, err := session.ListTools(t.Context(), nil)
	require.NoError(t, err)
	require.Len(t, list.Tools, 35+len(installed))

	type page struct {
		Items []map[string]any
		Page  int
		Total int
	}
	for _, r := range resources {
		p := callOK[page](t, session, "list_"+r.plural, nil)
		if r.name == "export" {
			require.Zero(t, p.Total)
			continue
		}
		require.Len(t, p.Items, 20, r.name)
		require.GreaterOrEqual(t, p.Total, 60, r.name)
		id := map[string]any{"id": p.Items[7]["id"]}
		require.Equal(t, p.Items[7], callOK[map[string]any](t, session, "get_"+r.name, id), r.name)
		filter := map[string]any{r.fields[0].name: p.Items[7][r.fields[0].name], "per_page": 100}
		require.Contains(t, callOK[page](t, session, "list_"+r.plural, filter).Items, p.Items[7], r.name)
		callOK[map[string]any](t, session, "delete_"+r.name, id)
		require.Contains(t, callRefused(t, session, "get_"+r.name, id), "there is no "+r.name)
		require.Equal(t, p.Total-1, callOK[page](t, session, "list_"+r.plural, nil).Total, r.name)
	}
	first := callOK[page](t, session, "list_orders", map[string]any{"per_page": 7})
	second := callOK[page](t, session, "list_orders", map[string]any{"per_page": 7, "page": 2})
	require.Equal(t, first.Total, second.Total)
	require.NotEqual(t, first.Items, second.Items)
	require.Empty(t, callOK[page](t, session, "list_orders", map[string]any{"page": 1_000_000_000}).Items)
	callRefused(t, session, "list_orders", map[string]any{"per_page": 101})
	byTotal := callOK[page](t, session, "list_orders", map[string]any{"total_cents": first.Items[0]["total_cents"]})
	require.Contains(t, byTotal.Items, first.Items[0], "numbers are compared as numbers")

	made := callOK[map[string]any](t, session, "create_customer", map[string]any{"name": "Zoë Zand", "city": "Ghent"})
	require.Equal(t, "NEW-1", made["id"])
	made = callOK[map[string]any](t, session, "update_customer", map[string]any{"id": "NEW-1", "city": "Bruges"})
	require.Equal(t, map[string]any{"id": "NEW-1", "name": "Zoë Zand", "city": "Bruges"}, made)
	callRefused(t, session, "create_customer", map[string]any{"name": "no city"})
	callRefused(t, session, "update_customer", map[string]any{"id": "NEW-1", "planet": "Mars"})
}
