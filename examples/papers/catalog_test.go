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
		server, err := newServer(config{})
		require.NoError(t, err)
		return server
	}
	registrytest.Snapshot(t, build())
	registrytest.CheckStable(t, build)
	registrytest.CheckLint(t, build(), registry.Profiles()...)
}
