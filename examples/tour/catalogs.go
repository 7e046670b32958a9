package main

import (
	"bytes"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
)

const launches = 20

// authorsOrder is the order in which the desk's tools are written down;
// installed are those that steady adds.
var (
	authorsOrder = []string{"search_orders", "get_order", "revenue", "cancel_order", "reserve_stock", "export_orders", "start_export", "export_status", "exports_written"}
	installed    = []string{"read_result", "task_answer", "task_cancel", "task_result", "task_status"}
)

func catalogs() *mistake {
	return &mistake{
		Number: 3,
		Title:  "A catalog that nobody looked at",
		About: "The list of tools is part of every prompt. Its size is paid for on every turn, and a prompt cache reuses it " +
			"only up to the first byte that has changed.",
		Scenes: []*scene{
			{Name: "order", Code: "twenty launches; the tools are registered from a map, or as they are written down", play: order},
			{Name: "growth", Code: "the next release has one more tool, add_note", play: growth},
			{Name: "size", Code: "a tool for each endpoint, or for each task (what steady adds is not counted)", play: size},
		},
	}
}

func order(t *tour, s *scene) error {
	if err := t.without(s, []string{"-bug", "unordered"}, func(server *server, r *run) error {
		l, err := t.twenty(server, "-bare", "-bug", "unordered")
		if err != nil {
			return err
		}
		r.expect(len(l.lists) == 1 && slices.IsSorted(l.names), "One list in %d launches, because the Go SDK sorts by name.", launches)
		r.expect(l.names[0] == "cancel_order", "The first tool that a model reads is %s.", l.names[0])
		return nil
	}); err != nil {
		return err
	}
	if err := t.with(s, nil, func(server *server, r *run) error {
		l, err := t.twenty(server, t.flags()...)
		if err != nil {
			return err
		}
		added := max(0, len(l.names)-len(authorsOrder))
		r.expect(len(l.lists) == 1 && slices.Equal(l.names[added:], authorsOrder), "Registered as they are written down: one list in %d launches. After the %d tools that steady adds stand %s, %s and so on.", launches, added, authorsOrder[0], authorsOrder[1])
		print, _, _ := strings.Cut(strings.Join(slices.Sorted(maps.Keys(l.fingerprints)), " "), " ")
		r.expect(len(l.fingerprints) == 1 && len(print) == 64, "One fingerprint, which replicas and releases can be compared by: %.12s...", print)
		return nil
	}); err != nil {
		return err
	}
	return t.with(s, []string{"-bug", "unordered"}, func(server *server, r *run) error {
		l, err := t.twenty(server, append(t.flags(), "-bug", "unordered")...)
		if err != nil {
			return err
		}
		r.expect(len(l.lists) > 1 && len(l.fingerprints) == len(l.lists),
			"Registered from a map: %d lists, and as many fingerprints, so that it shows. (SortByName is for that.)", len(l.lists))
		return nil
	})
}

// launched is what twenty launches of a server had in common, or had not.
type launched struct {
	lists        map[string]bool // as they came over the wire
	names        []string        // in the last list
	fingerprints map[string]bool
}

// twenty launches the server so often, of which first is one.
func (t *tour) twenty(first *server, args ...string) (*launched, error) {
	l := &launched{lists: map[string]bool{}, fingerprints: map[string]bool{}}
	for i := range launches {
		server := first
		if i > 0 {
			var err error
			if server, err = launch(t.ctx, t.orders, args...); err != nil {
				return nil, err
			}
			defer server.close()
		}
		list, names, err := t.tools(server)
		if err != nil {
			return nil, err
		}
		server.close()
		l.lists[string(list)], l.names = true, names
		if m := fingerprint.FindStringSubmatch(server.stderr.String()); m != nil {
			l.fingerprints[m[1]] = true
		}
	}
	return l, nil
}

var fingerprint = regexp.MustCompile(`fingerprint ([0-9a-f]{64})`)

func growth(t *tour, s *scene) error {
	if err := t.without(s, nil, func(server *server, r *run) error {
		same, all, err := t.unchanged(server, "-bare", "-note")
		if err != nil {
			return err
		}
		r.expect(same < all/10, "Sorted by name it comes first: %s of %s bytes stay where they were.", grouped(same), grouped(all))
		return nil
	}); err != nil {
		return err
	}
	return t.with(s, nil, func(server *server, r *run) error {
		same, all, err := t.unchanged(server, append(t.flags(), "-note")...)
		if err != nil {
			return err
		}
		r.expect(same == all, "In the author's order it comes last, also behind what steady adds: %s of %s bytes stay where they were.", grouped(same), grouped(all))
		return nil
	})
}

// unchanged returns how many bytes of the old list of tools the new one begins
// with, and how many there are.
func (t *tour) unchanged(old *server, args ...string) (same, all int, err error) {
	before, _, err := t.tools(old)
	if err != nil {
		return 0, 0, err
	}
	next, err := launch(t.ctx, t.orders, args...)
	if err != nil {
		return 0, 0, err
	}
	defer next.close()
	after, _, err := t.tools(next)
	if err != nil {
		return 0, 0, err
	}
	before = bytes.TrimSuffix(before, []byte("]"))
	for same < min(len(before), len(after)) && before[same] == after[same] {
		same++
	}
	return same, len(before), nil
}

// useIt begins the part of a description that says when to use a tool.
var useIt = []byte("Use it ")

func size(t *tour, s *scene) error {
	var endpoints []byte
	if err := t.run(s, "endpoint", t.orders, append(t.flags(), "-catalog", "endpoints"), func(server *server, r *run) error {
		list, names, err := t.tools(server)
		if err != nil {
			return err
		}
		var n int
		endpoints, n = own(list, names)
		r.expect(n == 35, "%d tools, five for each of seven resources: %s bytes.", n, grouped(len(endpoints)))
		return nil
	}); err != nil {
		return err
	}
	args := t.flags()
	if t.takesAway(taskTools) {
		args = append(args, "-catalog", "endpoints")
	}
	return t.run(s, "task", t.orders, args, func(server *server, r *run) error {
		list, names, err := t.tools(server)
		if err != nil {
			return err
		}
		tasks, n := own(list, names)
		ratio := float64(len(endpoints)) / float64(len(tasks))
		r.expect(n == len(authorsOrder) && ratio > 3 && bytes.Contains(tasks, useIt) && !bytes.Contains(endpoints, useIt),
			"%d tools: %s bytes. The other list is %.1f times as long, and does not say when to use what.", n, grouped(len(tasks)), ratio)
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

// own returns the definitions of the desk's own tools, and how many there are.
func own(list json.RawMessage, names []string) (definitions []byte, n int) {
	var tools []json.RawMessage
	_ = json.Unmarshal(list, &tools) // the client has read it already
	for i, tool := range tools {
		if !slices.Contains(installed, names[i]) {
			definitions = append(definitions, tool...)
			n++
		}
	}
	return definitions, n
}

// tools connects, and returns the list of tools as it came over the wire and
// the names in it.
func (t *tour) tools(server *server) (list json.RawMessage, names []string, err error) {
	if err := server.connect(t.ctx); err != nil {
		return nil, nil, err
	}
	if names, err = server.listTools(t.ctx); err != nil {
		return nil, nil, err
	}
	var result struct{ Tools json.RawMessage }
	err = json.Unmarshal(server.wire.reply("tools/list"), &result)
	return result.Tools, names, err
}
