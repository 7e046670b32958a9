package peers

import (
	"context"
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// What the order desk returns, as far as it is looked at.
type (
	ordersPage struct {
		Items []struct {
			OrderID string `json:"order_id"`
		}
		Total      int
		NextCursor *string `json:"next_cursor"`
	}
	order struct {
		OrderID string `json:"order_id"`
		Status  string
		Lines   []struct{ SKU string }
	}
	export struct {
		ExportID string `json:"export_id"`
		State    string
		SHA256   string
	}
	task struct {
		Task *struct {
			TaskID string
			Status string
		}
	}
)

// TestOrders calls every tool of the order desk.
func TestOrders(t *testing.T) {
	t.Parallel()
	eachPeer(t, orders, func(_ *testing.T, s *session) {
		s.open()
		useOrders(s)
	})
}

func useOrders(s *session) {
	s.mustCallAll("read_result", "task_status", "task_result", "task_cancel", "task_answer")
	var page ordersPage
	s.ok("search_orders", arguments{"status": "paid", "limit": 1}, &page)
	require.Len(s, page.Items, 1)
	id := page.Items[0].OrderID
	for pages := 1; page.NextCursor != nil && s.keeps(); pages++ {
		args := arguments{"cursor": *page.NextCursor}
		page = ordersPage{}
		s.ok("search_orders", args, &page)
		require.NotEmpty(s, page.Items)
		if pages == 3 {
			break
		}
	}
	s.same("revenue", arguments{"from": "2026-04-01", "to": "2026-06-30"}, nil)
	var found order
	s.same("get_order", arguments{"order_id": id}, &found)
	require.Equal(s, order{id, "paid", found.Lines}, found)
	s.same("reserve_stock", arguments{"sku": found.Lines[0].SKU, "quantity": 1}, nil)

	var written struct{ Written int }
	if !s.keeps() {
		var started export
		s.same("start_export", arguments{"status": "cancelled"}, &started)
		require.Equal(s, "running", started.State)
		s.refused("export_status", arguments{"export_id": "EXP-99"}, `there is no export "EXP-99"`)
		s.same("exports_written", nil, &written)
		require.Zero(s, written.Written)
	} else {
		var started, done, again export
		s.same("start_export", arguments{"status": "cancelled"}, &started)
		eventually(s.T, func() bool {
			s.same("export_status", arguments{"export_id": started.ExportID}, &done)
			return done.State == "done"
		}, "the export is done")
		require.NotEmpty(s, done.SHA256)
		s.same("start_export", arguments{"status": "cancelled"}, &again)
		require.Equal(s, done, again, "a retry finds the export that is done")
	}
	var file struct{ SHA256 string }
	s.same("export_orders", arguments{"status": "refunded"}, &file)
	require.NotEmpty(s, file.SHA256)

	// A wrong name: repaired where that is sure, and answered with a suggestion where it is not.
	if s.checksNames {
		_, err := s.client.callTool(s.context(), "getOrder", arguments{"order_id": id})
		require.Error(s, err)
	} else {
		s.ok("getOrder", arguments{"order_id": id}, &found)
		require.Equal(s, id, found.OrderID)
		s.refused("remove_order", arguments{"order_id": id}, `"remove_order"`, "cancel_order")
	}
	// A wrong argument: likewise.
	s.ok("get_order", arguments{"orderId": id}, &found)
	require.Equal(s, id, found.OrderID)
	s.refused("get_order", arguments{"customer": id}, "order_id")
	s.refused("search_orders", arguments{"limit": 500}, "limit", "50")
	s.refused("search_orders", arguments{"status": "lost"}, "status", "paid")
	// A refusal.
	s.refused("cancel_order", arguments{"order_id": "ORD-42"}, "order ORD-42 cannot be cancelled", "it is shipped", "Next: ", "Do not retry.")
	s.refused("reserve_stock", arguments{"sku": found.Lines[0].SKU, "quantity": 1000}, "cannot be reserved")

	s.same("cancel_order", arguments{"order_id": id}, &found)
	require.Equal(s, "cancelled", found.Status)
	if s.keeps() {
		s.same("get_order", arguments{"order_id": id}, &found)
		require.Equal(s, "cancelled", found.Status)
		s.same("exports_written", nil, &written)
		require.Equal(s, 2, written.Written)
	}
}

// TestPanic calls a tool that panics, one that leaks and, after it, one that
// works.
func TestPanic(t *testing.T) {
	t.Parallel()
	eachPeer(t, orders, func(t *testing.T, s *session) {
		s.open("-bug", "panic,leak")
		for _, id := range []string{"ORD-13", "ORD-7"} {
			a := s.call("get_order", arguments{"order_id": id})
			require.True(t, a.IsError)
			require.Contains(t, a.text(), "internal error (incident ")
			require.NotRegexp(t, "nil pointer|postgres|SELECT|db-3", a.text())
		}
		s.ok("get_order", arguments{"order_id": "ORD-42"}, nil)
	})
}

// TestOversized calls a tool whose result is too large, and reads the rest.
func TestOversized(t *testing.T) {
	t.Parallel()
	next := regexp.MustCompile(`call read_result with (\{.*?\})`)
	eachPeer(t, orders, func(t *testing.T, s *session) {
		if !s.keeps() {
			t.Skip("what was cut is kept by the process that cut it")
		}
		s.open("-bug", "unbounded")
		a := s.ok("search_orders", arguments{"status": "refunded"}, nil)
		require.Contains(t, a.text(), "This result was cut")
		require.Contains(t, string(a.Structured), `"order_id"`)
		for _, link := range a.Links {
			text, err := s.client.readResource(s.context(), link)
			require.NoError(t, err)
			require.Contains(t, text, `"order_id"`)
		}
		for reads := 0; ; reads++ {
			require.Less(t, len(a.Structured), 100_000)
			m := next.FindStringSubmatch(a.text())
			if m == nil {
				require.GreaterOrEqual(t, reads, 2, "there was much to read")
				break
			}
			var args arguments
			require.NoError(t, json.Unmarshal([]byte(m[1]), &args))
			a = s.ok("read_result", args, nil)
		}
	})
}

// TestTask makes a call that outlasts the server's patience, and asks for it
// with the tools that every client can call.
func TestTask(t *testing.T) {
	t.Parallel()
	eachPeer(t, orders, func(t *testing.T, s *session) {
		if s.peer.revision == stateless && s.transport == http || s.forgets {
			t.Skip("a caller without a token or a session is nobody whom a task could belong to")
		}
		s.open("-grace", "1ms", "-export-takes", "300ms")
		var first, again task
		a := s.ok("export_orders", arguments{"status": "refunded"}, &first)
		require.Contains(t, a.text(), "task_result")
		s.ok("export_orders", arguments{"status": "refunded"}, &again)
		require.Equal(t, first.Task.TaskID, again.Task.TaskID, "a repeated call joins")
		handle := arguments{"task_id": first.Task.TaskID}
		s.ok("task_status", handle, &again)
		var file struct{ SHA256 string }
		s.ok("task_result", handle, &file)
		require.NotEmpty(t, file.SHA256)
		s.refused("task_answer", arguments{"task_id": first.Task.TaskID, "answers": arguments{}})
		s.ok("task_cancel", handle, nil) // too late, which is no error
		var written struct{ Written int }
		s.same("exports_written", nil, &written)
		require.Equal(t, 1, written.Written)
		s.refused("task_status", arguments{"task_id": "nobody's"}, "task")
	})
}

// TestCancellation makes a call that its caller gives up.
func TestCancellation(t *testing.T) {
	t.Parallel()
	eachPeer(t, orders, func(t *testing.T, s *session) {
		if s.forgets {
			t.Skip("a process that makes one call has nothing to give it up with, except its own end")
		}
		s.open("-without", "tasks", "-export-takes", "1s")
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		_, err := s.client.callTool(ctx, "export_orders", arguments{"status": "refunded"})
		require.Error(t, err)
		var got struct{ Written int }
		written := func() int {
			s.same("exports_written", nil, &got)
			return got.Written
		}
		if s.silent && s.transport == http {
			eventually(t, func() bool { return written() == 1 }, "nobody has told the handler")
			return
		}
		eventually(t, func() bool {
			return strings.Contains(s.server.stderr.String(), "name=export_orders kind=timeout")
		}, "the handler learns that nobody waits: %s", &s.server.stderr)
		require.Zero(t, written())
		s.ok("export_orders", arguments{"status": "refunded"}, nil)
		require.Equal(t, 1, written())
	})
}
