package main

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
)

const launches = 20

// authorsOrder is the order in which the seven tools are written down.
var authorsOrder = []string{"search_orders", "get_order", "cancel_order", "reserve_stock", "start_export", "export_status", "exports_written"}

func catalogs() *mistake {
	return &mistake{
		Number: 3,
		Title:  "A catalog that nobody looked at",
		About: "The list of tools is part of every prompt. Its size is paid for on every turn, and a prompt cache reuses it " +
			"only up to the first byte that has changed.",
		Scenes: []*scene{
			{Name: "order", Code: "the tools are registered from a map; the server is launched twenty times", play: order},
			{Name: "growth", Code: "the next release has one more tool, add_note", play: growth},
			{Name: "size", Code: "a tool for each endpoint, or a tool for each task", play: size},
		},
	}
}

func order(t *tour, s *scene) error {
	if err := t.without(s, []string{"-bug", "unordered"}, func(server *server, r *run) error {
		lists, names, _, err := t.twenty(server, "-bare", "-bug", "unordered")
		if err != nil {
			return err
		}
		r.expect(len(lists) == 1 && slices.IsSorted(names), "One list in %d launches, because the Go SDK sorts by name.", launches)
		r.expect(names[0] == "cancel_order", "The first tool that a model reads is %s.", names[0])
		return nil
	}); err != nil {
		return err
	}
	return t.with(s, nil, func(server *server, r *run) error {
		lists, names, prints, err := t.twenty(server, t.flags()...)
		if err != nil {
			return err
		}
		r.expect(len(lists) == 1 && slices.Equal(names, authorsOrder), "One list in %d launches, in the author's order: %s first.", launches, names[0])
		print := ""
		for p := range prints {
			print = p
		}
		r.expect(len(prints) == 1 && len(print) == 64, "One fingerprint, which replicas and releases can be compared by: %.12s...", print)
		return nil
	})
}

// twenty launches the server nineteen times more and returns the different
// lists of tools, the names in the last one, and the different fingerprints.
func (t *tour) twenty(first *server, args ...string) (lists map[string]bool, names []string, prints map[string]bool, err error) {
	lists, prints = map[string]bool{}, map[string]bool{}
	for i := range launches {
		server := first
		if i > 0 {
			if server, err = launch(t.ctx, t.program, args...); err != nil {
				return nil, nil, nil, err
			}
			defer server.close()
		}
		if err = server.connect(t.ctx); err != nil {
			return nil, nil, nil, err
		}
		if names, err = server.listTools(t.ctx); err != nil {
			return nil, nil, nil, err
		}
		server.close()
		lists[string(server.wire.reply("tools/list"))] = true
		if m := fingerprint.FindStringSubmatch(server.stderr.String()); m != nil {
			prints[m[1]] = true
		}
	}
	return lists, names, prints, nil
}

var fingerprint = regexp.MustCompile(`fingerprint ([0-9a-f]{64})`)

func growth(t *tour, s *scene) error {
	if err := t.without(s, nil, func(server *server, r *run) error {
		same, all, err := t.unchanged(server, "-bare", "-note")
		if err != nil {
			return err
		}
		r.expect(same < all/10, "Sorted by name it comes first: %d of %d bytes stay where they were.", same, all)
		return nil
	}); err != nil {
		return err
	}
	return t.with(s, nil, func(server *server, r *run) error {
		same, all, err := t.unchanged(server, append(t.flags(), "-note")...)
		if err != nil {
			return err
		}
		r.expect(same == all, "In the author's order it comes last: %d of %d bytes stay where they were.", same, all)
		return nil
	})
}

// unchanged returns how many bytes of the old list of tools the new one begins
// with, and how many there are.
func (t *tour) unchanged(old *server, args ...string) (same, all int, err error) {
	before, err := t.tools(old)
	if err != nil {
		return 0, 0, err
	}
	next, err := launch(t.ctx, t.program, args...)
	if err != nil {
		return 0, 0, err
	}
	defer next.close()
	after, err := t.tools(next)
	if err != nil {
		return 0, 0, err
	}
	before = bytes.TrimSuffix(before, []byte("]"))
	for same < min(len(before), len(after)) && before[same] == after[same] {
		same++
	}
	return same, len(before), nil
}

func size(t *tour, s *scene) error {
	type measure struct{ tools, bytes int }
	weigh := func(server *server) (measure, error) {
		list, err := t.tools(server)
		if err != nil {
			return measure{}, err
		}
		var tools []json.RawMessage
		err = json.Unmarshal(list, &tools)
		return measure{len(tools), len(list)}, err
	}
	var endpoints measure
	if err := t.run(s, "endpoint", append(t.flags(), "-catalog", "endpoints"), func(server *server, r *run) (err error) {
		if endpoints, err = weigh(server); err != nil {
			return err
		}
		r.expect(endpoints.tools == 35, "%d tools, five for each of seven resources: %d bytes.", endpoints.tools, endpoints.bytes)
		return nil
	}); err != nil {
		return err
	}
	return t.run(s, "task", t.flags(), func(server *server, r *run) error {
		tasks, err := weigh(server)
		if err != nil {
			return err
		}
		ratio := float64(endpoints.bytes) / float64(tasks.bytes)
		r.expect(tasks.tools == 7 && ratio > 4, "%d tools: %d bytes, %.1f times less, with descriptions that say when to use what.", tasks.tools, tasks.bytes, ratio)
		found, err := server.call(t.ctx, "search_orders", map[string]any{"status": "paid", "limit": 1})
		if err != nil {
			return err
		}
		_, id, _ := strings.Cut(textOf(found), `"order_id":"`)
		id, _, _ = strings.Cut(id, `"`)
		cancelled, err := server.call(t.ctx, "cancel_order", map[string]any{"order_id": id})
		if err != nil {
			return err
		}
		r.expect(!cancelled.IsError && strings.Contains(textOf(cancelled), `"status":"cancelled"`),
			`"Cancel the oldest paid order" is two calls: search_orders, and cancel_order %s.`, id)
		return nil
	})
}

// tools returns the tools of the list as they came over the wire.
func (t *tour) tools(server *server) (json.RawMessage, error) {
	if err := server.connect(t.ctx); err != nil {
		return nil, err
	}
	if _, err := server.listTools(t.ctx); err != nil {
		return nil, err
	}
	var list struct{ Tools json.RawMessage }
	err := json.Unmarshal(server.wire.reply("tools/list"), &list)
	return list.Tools, err
}
