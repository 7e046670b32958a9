package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/steadymcp/steady/examples/internal/desk"
)

type config struct {
	orders      int
	seed        uint64
	exportTakes time.Duration
	endpoints   bool // the endpoint-shaped catalog instead of the seven tools
	note        bool // add_note as well
	bugs        bugs
	without     map[string]bool // parts of steady that are left out
}

const instructions = "An order desk. Find orders with search_orders, read one with get_order, and act on it with cancel_order or reserve_stock. " +
	"An export runs in the background: start_export, then export_status until it is done."

// newServer returns the server and what ends its background work.
func newServer(c config) (_ *mcp.Server, closeServer func(), _ error) {
	d := desk.Open(&desk.Options{Orders: c.orders, Seed: c.seed, ExportTakes: c.exportTakes})
	s := &shop{desk: d, exports: newExports(d)}
	server := mcp.NewServer(&mcp.Implementation{Name: "orders", Version: "v1.4.0"}, &mcp.ServerOptions{Instructions: instructions})

	tools := s.tools(c.bugs)
	if c.endpoints {
		tools = endpointTools(d)
	}
	if c.note {
		tools = append(tools, s.addNote())
	}
	if c.bugs[bugUnordered] {
		tools = shuffled(tools)
	}
	if err := c.register(server, tools); err != nil {
		return nil, nil, err
	}
	return server, s.exports.close, nil
}

func (c config) register(server *mcp.Server, tools []tool) error {
	for _, t := range tools {
		t.add(server)
	}
	return nil
}

// A tool can be registered on the SDK's server or on steady's registry.
type tool struct {
	name string
	add  func(*mcp.Server)
}

func newTool[In, Out any](t *mcp.Tool, h mcp.ToolHandlerFor[In, Out]) tool {
	return tool{
		name: t.Name,
		add:  func(s *mcp.Server) { mcp.AddTool(s, t, h) },
	}
}

func newRawTool(t *mcp.Tool, h mcp.ToolHandler) tool {
	return tool{
		name: t.Name,
		add:  func(s *mcp.Server) { s.AddTool(t, h) },
	}
}

// shuffled returns tools in the order in which a map yields them.
func shuffled(tools []tool) (out []tool) {
	byName := map[string]tool{}
	for _, t := range tools {
		byName[t.name] = t
	}
	for _, t := range byName {
		out = append(out, t)
	}
	return out
}

// parts of steady that -without leaves out.
var parts = []string{"stdioguard", "errors", "registry"}

func parseWithout(list string, all bool) (map[string]bool, error) {
	without := map[string]bool{}
	for _, p := range parts {
		without[p] = all
	}
	for name := range strings.SplitSeq(list, ",") {
		name = strings.TrimSpace(name)
		if _, ok := without[name]; !ok && name != "" {
			return nil, fmt.Errorf("no part %q; there are %s", name, strings.Join(parts, ", "))
		}
		without[name] = true
	}
	return without, nil
}
