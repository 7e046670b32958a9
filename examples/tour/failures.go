package main

import (
	"regexp"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/steadymcp/steady/errors"
)

func failures() *mistake {
	return &mistake{
		Number: 2,
		Title:  "An error where a result belongs",
		About: "A model can act on a result that says what happened, why, and what to do next. " +
			"It seldom sees an error of the protocol, and strangers see too much of an error that is passed on.",
		Scenes: []*scene{
			{Name: "refusal", Code: `cancel_order is a raw handler: return nil, fmt.Errorf("cancel order: ...")`, play: refusal},
			{Name: "panic", Code: `get_order reads the name of a customer who is not there: a nil pointer`, play: panics},
			{Name: "null", Code: `nothing is wrong with the server; a client sends "arguments": null`, play: nullArguments},
			{Name: "leak", Code: `get_order passes a driver's error on: fmt.Errorf("query %q ...: %w", sql, err)`, play: leak},
		},
	}
}

func refusal(t *tour, s *scene) error {
	shipped := map[string]any{"order_id": "ORD-42"}
	if err := t.without(s, []string{"-bug", "refusal"}, func(server *server, r *run) error {
		if err := server.connect(t.ctx); err != nil {
			return err
		}
		_, err := server.call(t.ctx, "cancel_order", shipped)
		var protocol *jsonrpc.Error
		r.expect(errors.As(err, &protocol) && protocol.Code == 0, "A protocol error with code 0, as if the server had broken down:")
		r.quoteError(err)
		return nil
	}); err != nil {
		return err
	}
	if err := t.with(s, []string{"-bug", "refusal"}, func(server *server, r *run) error {
		if err := server.connect(t.ctx); err != nil {
			return err
		}
		result, err := server.call(t.ctx, "cancel_order", shipped)
		r.expect(err == nil && result.IsError && strings.Contains(textOf(result), "ORD-42"), "The same handler, and a result that the model reads:")
		r.quote(textOf(result))
		return nil
	}); err != nil {
		return err
	}
	var worse []string
	if t.takesAway(refused) {
		worse = []string{"-bug", "refusal"}
	}
	return t.with(s, worse, func(server *server, r *run) error {
		if err := server.connect(t.ctx); err != nil {
			return err
		}
		result, err := server.call(t.ctx, "cancel_order", shipped)
		text := textOf(result)
		r.expect(err == nil && result.IsError && containsAll(text, "ORD-42 cannot be cancelled", "Reason:", "Next:", "Do not retry."),
			"And with errors.Refused: what happened, why, what next, and whether to try again.")
		r.quote(text)
		return nil
	})
}

func panics(t *tour, s *scene) error {
	crash := crash{"get_order", map[string]any{"order_id": "ORD-13"}, "nil pointer dereference"}
	if err := t.without(s, []string{"-bug", "panic"}, func(server *server, r *run) error { return t.dies(server, r, crash) }); err != nil {
		return err
	}
	return t.with(s, []string{"-bug", "panic"}, func(server *server, r *run) error { return t.survives(server, r, crash) })
}

func nullArguments(t *tour, s *scene) error {
	// A nil map is what a program gets that never made one; it encodes as null.
	crash := crash{"search_orders", nil, "assignment to entry in nil map"}
	if err := t.without(s, nil, func(server *server, r *run) error { return t.dies(server, r, crash) }); err != nil {
		return err
	}
	if err := t.run(s, "with", t.orders, t.flags("discovery"), func(server *server, r *run) error { return t.survives(server, r, crash) }); err != nil {
		return err
	}
	return t.with(s, nil, func(server *server, r *run) error {
		if err := server.connect(t.ctx); err != nil {
			return err
		}
		result, err := server.call(t.ctx, crash.tool, crash.args)
		r.expect(err == nil && !result.IsError && strings.Contains(textOf(result), "ORD-1"), "With discovery it does not come to that: null are no arguments, and the call is answered.")
		r.quoteError(err)
		return nil
	})
}

// A crash is a call that makes a handler, or the SDK before it, panic.
type crash struct {
	tool  string
	args  map[string]any
	cause string // what the Go runtime says
}

// dies makes the call where nothing catches the panic.
func (t *tour) dies(server *server, r *run, c crash) error {
	if err := server.connect(t.ctx); err != nil {
		return err
	}
	_, err := server.call(t.ctx, c.tool, c.args)
	r.expect(err != nil, "The call has no answer:")
	r.quoteError(err)
	status := server.close()
	r.expect(status == 2 && strings.Contains(server.stderr.String(), c.cause),
		"The process is gone, with status %d, for every caller and every tool.", status)
	return nil
}

// survives makes the call, and then another one.
func (t *tour) survives(server *server, r *run, c crash) error {
	if err := server.connect(t.ctx); err != nil {
		return err
	}
	result, err := server.call(t.ctx, c.tool, c.args)
	r.expect(err == nil && result.IsError && !strings.Contains(textOf(result), c.cause), "The call is answered, and nothing internal is said:")
	r.quoteAnswer(result, err)
	next, err := server.call(t.ctx, "get_order", map[string]any{"order_id": "ORD-42"})
	r.expect(err == nil && !next.IsError, "The next call is answered as if nothing had happened.")
	status := server.close()
	id := incidentOf(textOf(result))
	r.expect(status == 0 && id != "" && containsAll(server.stderr.String(), id, c.cause, "goroutine"),
		"The operator finds the panic and its stack in the log, under the same incident.")
	return nil
}

var incident = regexp.MustCompile(`incident ([0-9A-Za-z-]+)`)

func leak(t *tour, s *scene) error {
	archived := map[string]any{"order_id": "ORD-7"}
	secrets := []string{"SELECT", "orders_archive", "db-3.internal", "Tr0ub4dor"}
	if err := t.without(s, []string{"-bug", "leak"}, func(server *server, r *run) error {
		if err := server.connect(t.ctx); err != nil {
			return err
		}
		result, err := server.call(t.ctx, "get_order", archived)
		r.expect(err == nil && result.IsError && containsAll(textOf(result), secrets...), "The SQL, the host, the user and the password:")
		r.quote(textOf(result))
		return nil
	}); err != nil {
		return err
	}
	return t.with(s, []string{"-bug", "leak"}, func(server *server, r *run) error {
		if err := server.connect(t.ctx); err != nil {
			return err
		}
		result, err := server.call(t.ctx, "get_order", archived)
		text := textOf(result)
		told := false
		for _, secret := range secrets {
			told = told || strings.Contains(text, secret)
		}
		r.expect(err == nil && result.IsError && !told, "None of them:")
		r.quote(text)
		server.close()
		id := incidentOf(text)
		r.expect(id != "" && containsAll(server.stderr.String(), id, "orders_archive") && !strings.Contains(server.stderr.String(), "Tr0ub4dor"),
			"The operator finds the query in the log, under the same incident; the password is not even there.")
		return nil
	})
}

func textOf(r *mcp.CallToolResult) string {
	if r == nil {
		return ""
	}
	var texts []string
	for _, c := range r.Content {
		if t, ok := c.(*mcp.TextContent); ok {
			texts = append(texts, t.Text)
		}
	}
	return strings.Join(texts, "\n")
}

func containsAll(text string, parts ...string) bool {
	for _, p := range parts {
		if !strings.Contains(text, p) {
			return false
		}
	}
	return true
}

// incidentOf returns the id that the operator finds again, or "".
func incidentOf(text string) string {
	if m := incident.FindStringSubmatch(text); m != nil {
		return m[1]
	}
	return ""
}
