package main

import (
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/steadymcp/steady/registry"
	"github.com/steadymcp/steady/registry/registrytest"
)

// What clients are shown is what was reviewed, the same at every launch, and
// of a form that all of them take.
func TestCatalog(t *testing.T) {
	build := func() *mcp.Server {
		server, closeServer, err := newServer(config{orders: 10, seed: 1})
		require.NoError(t, err)
		t.Cleanup(closeServer)
		return server
	}
	registrytest.Snapshot(t, build())
	registrytest.CheckStable(t, build)

	profiles := registry.Profiles()
	for _, p := range profiles {
		p.Exceptions = []registry.Exception{
			{Rule: "limit-unbounded", Tool: "read_result", Reason: "a piece is as large as the budget lets it be, whatever the limit"},
			{Rule: "description-no-result", Tool: "task_cancel", Reason: "it returns what task_status returns"},
		}
	}
	registrytest.CheckLint(t, build(), profiles...)
}
