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
	return t.with(s, nil, func(server *server, r *run) error {
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
	forgotten := map[string]any{"order_id": "ORD-13"}
	return t.dies(s, []string{"-bug", "panic"}, "get_order", forgotten, "nil pointer dereference")
}

func nullArguments(t *tour, s *scene) error {
	// A nil map is what a program gets that never made one; it encodes as null.
	return t.dies(s, nil, "search_orders", nil, "assignment to entry in nil map")
}

// dies makes a call that panics in the server, and then another call.
func (t *tour) dies(s *scene, flags []string, tool string, args map[string]any, cause string) error {
	if err := t.without(s, flags, func(server *server, r *run) error {
		if err := server.connect(t.ctx); err != nil {
			return err
		}
		_, err := server.call(t.ctx, tool, args)
		r.expect(err != nil, "The call has no answer:")
		r.quoteError(err)
		status := server.close()
		r.expect(status == 2 && strings.Contains(server.stderr.String(), cause),
			"The process is gone, with status %d, for every caller and every tool.", status)
		return nil
	}); err != nil {
		return err
	}
	return t.with(s, flags, func(server *server, r *run) error {
		if err := server.connect(t.ctx); err != nil {
			return err
		}
		result, err := server.call(t.ctx, tool, args)
		r.expect(err == nil && result.IsError && !strings.Contains(textOf(result), cause), "The call is answered, and nothing internal is said:")
		if err != nil {
			r.quoteError(err)
			return nil
		}
		r.quote(textOf(result))
		next, err := server.call(t.ctx, "get_order", map[string]any{"order_id": "ORD-42"})
		r.expect(err == nil && !next.IsError, "The next call is answered as if nothing had happened.")
		status := server.close()
		id := incidentOf(textOf(result))
		r.expect(status == 0 && id != "" && containsAll(server.stderr.String(), id, cause, "goroutine"),
			"The operator finds the panic and its stack in the log, under the same incident.")
		return nil
	})
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
