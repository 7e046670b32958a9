package main

import "strings"

func strayOutput() *mistake {
	return &mistake{
		Number: 1,
		Title:  "A line on standard output",
		About: "On stdio, standard output belongs to the protocol. Any other line on it is a message that no client can read: " +
			"some end the session, some skip the line, and half a line costs all of them the next answer.",
		Scenes: []*scene{
			{
				Name: "banner",
				Code: `main prints a banner before it serves: fmt.Println("Order desk 1.4.0 ...")`,
				play: func(t *tour, s *scene) error {
					const banner = "Order desk 1.4.0 starting"
					if err := t.without(s, []string{"-bug", "banner"}, func(server *server, r *run) error {
						err := server.connect(t.ctx)
						r.expect(err != nil, "The client cannot connect:")
						r.quoteError(err)
						return nil
					}); err != nil {
						return err
					}
					return t.with(s, []string{"-bug", "banner"}, func(server *server, r *run) error {
						err := server.connect(t.ctx)
						r.expect(err == nil, "The client connects.")
						r.quoteError(err)
						var names []string
						if err == nil {
							names, err = server.listTools(t.ctx)
						}
						r.expect(err == nil && len(names) > 0, "It lists %d tools.", len(names))
						r.expectOnStderr(server, banner)
						return nil
					})
				},
			},
			{
				Name: "print",
				Code: `reserve_stock prints when the stock is low: fmt.Printf("WARN low stock: ...")`,
				play: func(t *tour, s *scene) error {
					return t.strayInCall(s, "print", "reserve_stock", allThatIsLeft, "low stock: SKU-1, 0 left",
						"Yet the stock is reserved; the line between the messages says so itself:")
				},
			},
			{
				Name: "child",
				Code: `start_export runs a program whose output goes where the server's goes`,
				play: func(t *tour, s *scene) error {
					return t.strayInCall(s, "child", "start_export", func(*tour, *server) (map[string]any, error) {
						return map[string]any{"status": "paid"}, nil
					}, "export-hook: bucket is mounted",
						"Whether the export runs, nobody can ask any more. Between the messages stood:")
				},
			},
		},
	}
}

// allThatIsLeft returns the arguments of reserve_stock that leave nothing.
func allThatIsLeft(t *tour, server *server) (map[string]any, error) {
	result, err := server.call(t.ctx, "reserve_stock", map[string]any{"sku": "SKU-1", "quantity": 1})
	if err != nil {
		return nil, err
	}
	content, _ := result.StructuredContent.(map[string]any)
	return map[string]any{"sku": "SKU-1", "quantity": content["left"]}, nil
}

// strayInCall calls a tool whose handler lets something slip onto standard
// output, and then another tool. strayed is what to say about the line.
func (t *tour) strayInCall(s *scene, bug, tool string, arguments func(*tour, *server) (map[string]any, error), stray, strayed string) error {
	if err := t.without(s, []string{"-bug", bug}, func(server *server, r *run) error {
		if err := server.connect(t.ctx); err != nil {
			return err
		}
		args, err := arguments(t, server)
		if err != nil {
			return err
		}
		_, err = server.call(t.ctx, tool, args)
		r.expect(err != nil, "For the client the call has failed:")
		r.quoteError(err)
		_, err = server.call(t.ctx, "exports_written", map[string]any{})
		r.expect(err != nil, "So does every later call, of any tool.")
		server.close()
		strays := server.wire.strays()
		r.expect(len(strays) == 1 && strings.Contains(strays[0], stray), "%s", strayed)
		r.quote(strings.Join(strays, "\n"))
		return nil
	}); err != nil {
		return err
	}
	return t.with(s, []string{"-bug", bug}, func(server *server, r *run) error {
		if err := server.connect(t.ctx); err != nil {
			return err
		}
		args, err := arguments(t, server)
		if err != nil {
			return err
		}
		result, err := server.call(t.ctx, tool, args)
		r.expect(err == nil && !result.IsError, "%s is answered.", tool)
		_, err = server.call(t.ctx, "exports_written", map[string]any{})
		r.expect(err == nil, "So is the next call.")
		r.expectOnStderr(server, stray)
		return nil
	})
}

// expectOnStderr ends the server and claims that text went to stderr and that
// standard output held nothing but messages.
func (r *run) expectOnStderr(server *server, text string) {
	server.close()
	r.expect(len(server.wire.strays()) == 0 && strings.Contains(server.stderr.String(), text),
		"Standard output held nothing but messages; the line is on stderr:")
	// The line itself, and not the warning about it.
	best := ""
	for l := range strings.Lines(server.stderr.String()) {
		if l = strings.TrimSpace(l); strings.Contains(l, text) && (best == "" || len(l) < len(best)) {
			best = l
		}
	}
	if best != "" {
		r.quote(best)
	}
}
