package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/steadymcp/steady"
	"github.com/steadymcp/steady/discovery"
	"github.com/steadymcp/steady/errors"
	"github.com/steadymcp/steady/examples/internal/desk"
	"github.com/steadymcp/steady/pagination"
	"github.com/steadymcp/steady/registry"
	"github.com/steadymcp/steady/tasks"
)

type config struct {
	orders      int
	seed        uint64
	exportTakes time.Duration
	grace       time.Duration // how long export_orders may keep its caller waiting; zero is the default
	endpoints   bool          // the endpoint-shaped catalog instead of the tools named after tasks
	note        bool          // add_note as well
	tasks       string        // where tasks are kept; "" for in memory
	bugs        bugs
	without     map[string]bool // parts of steady that are left out
}

const instructions = "An order desk. Find orders with search_orders, read one with get_order, add them up with revenue, and act on one with cancel_order or reserve_stock. " +
	"Hand over all of them with export_orders."

// newServer returns the server and what ends its background work.
func newServer(c config) (_ *mcp.Server, closeServer func(), _ error) {
	d := desk.Open(&desk.Options{Orders: c.orders, Seed: c.seed, ExportTakes: c.exportTakes, BucketFails: c.bugs.bucketFails()})
	s := newShop(d)
	tools, about := s.tools(c), instructions
	if c.endpoints {
		tools, about = endpointTools(d), "" // the instructions speak of the other tools
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "orders", Version: "v1.4.0"}, &mcp.ServerOptions{Instructions: about})
	if c.note {
		tools = append(tools, s.addNote())
	}
	if c.bugs[bugUnordered] {
		tools = shuffled(tools)
	}
	aliases, err := c.register(server, tools)
	if err != nil {
		return nil, nil, err
	}
	slow := &tasks.Options{Policies: c.policies()}
	closeStore, err := c.keepTasks(slow)
	if err != nil {
		return nil, nil, err
	}
	stack, err := steady.Wrap(server, &steady.Options{
		Discovery: &discovery.Options{Aliases: aliases}, // the registry knows the other names
		Tasks:     slow,
		Budget:    &pagination.BudgetOptions{Spill: &pagination.SpillOptions{}}, // read_result, for what was cut
		Without:   c.leftOut(),
	})
	if err != nil {
		return nil, nil, errors.Join(err, closeStore(context.Background()))
	}
	return server, func() {
		s.exports.close()
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		err := stack.Close(ctx)
		end, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if err := errors.Join(err, closeStore(end)); err != nil { // the store after what uses it
			fmt.Fprintln(os.Stderr, "orders:", err)
		}
	}, nil
}

// policies says which tools are slow. Two exports are the same if they are of
// the same selection, whatever key or wording they come with.
func (c config) policies() map[string]tasks.Policy {
	return map[string]tasks.Policy{
		"export_orders": {
			Grace: c.grace,
			TTL:   15 * time.Minute, // then a call for the same selection writes a new file
			// An export that a crash has cut short is written anew: it replaces what
			// there is of the file, and needs nothing of the request but its arguments.
			RunAgain: true,
			Identity: tasks.By(func(in exportInput) string {
				return strings.Join([]string{string(in.Status), strings.ToLower(in.Customer), in.From, in.To}, "/")
			}),
		},
	}
}

// register registers the tools and returns what knows their other names: nil
// without a registry.
func (c config) register(server *mcp.Server, tools []tool) (discovery.Aliases, error) {
	if c.without["registry"] {
		for _, t := range tools {
			t.add(server)
		}
		return nil, nil
	}
	r := registry.New(server, nil)
	for _, t := range tools {
		_ = t.register(r) // Err has them all
	}
	if err := r.Err(); err != nil {
		return nil, err
	}
	// The same at every launch and on every replica; a log that has it shows
	// which release changed what the models read.
	fmt.Fprintf(os.Stderr, "orders: %d tools, fingerprint %s\n", len(tools), r.Fingerprint())
	return r, nil
}

// A tool can be registered with steady's registry or on the SDK's server.
type tool struct {
	name     string
	register func(*registry.Registry) error
	add      func(*mcp.Server)
}

func newTool[In, Out any](t *mcp.Tool, h mcp.ToolHandlerFor[In, Out], opts ...registry.ToolOption) tool {
	return tool{
		name:     t.Name,
		register: func(r *registry.Registry) error { return registry.Add(r, t, h, opts...) },
		add:      func(s *mcp.Server) { mcp.AddTool(s, t, h) },
	}
}

func newRawTool(t *mcp.Tool, h mcp.ToolHandler) tool {
	return tool{
		name:     t.Name,
		register: func(r *registry.Registry) error { return registry.AddRaw(r, t, h) },
		add:      func(s *mcp.Server) { s.AddTool(t, h) },
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

// parts of steady that -without leaves out, from the outside in, and what they
// are to [steady.Wrap].
var (
	parts   = []string{"stdioguard", "errors", "discovery", "limits", "tasks", "pagination", "registry"}
	wrapped = map[string]steady.Part{
		"errors":     steady.Errors,
		"discovery":  steady.Discovery,
		"limits":     steady.Limits,
		"tasks":      steady.Tasks,
		"pagination": steady.Budget,
	}
)

func (c config) leftOut() (out []steady.Part) {
	for name, part := range wrapped {
		if c.without[name] {
			out = append(out, part)
		}
	}
	return out
}

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
