package main

import (
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/steadymcp/steady"
	"github.com/steadymcp/steady/registry"
	"github.com/steadymcp/steady/tasks"
)

// harden installs everything of steady on server, and returns what serves it.
func harden(server *mcp.Server) (http.Handler, error) {
	// Every call becomes a task if it takes long. The suite repeats calls and
	// wants each of them run, hence no window; and it has no tokens.
	policies := map[string]tasks.Policy{}
	for _, name := range toolNames {
		policies[name] = tasks.Policy{Window: tasks.NoWindow}
	}
	registry.New(server, nil)
	if _, err := steady.Wrap(server, &steady.Options{
		Tasks: &tasks.Options{Policies: policies, Anonymous: true},
	}); err != nil {
		return nil, err
	}
	return steady.Handler(func(*http.Request) *mcp.Server { return server },
		&steady.HTTPOptions{EventStore: mcp.NewMemoryEventStore(nil)})
}
