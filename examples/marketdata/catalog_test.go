package main

import (
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/steadymcp/steady/registry"
	"github.com/steadymcp/steady/registry/registrytest"
)

// What clients are shown is what was reviewed, the same at every launch, and
// of a form that all of them take.
func TestTools(t *testing.T) {
	t.Parallel()
	c := config{quota: 60, window: time.Minute, refresh: time.Minute, seed: 1}
	api, err := newAPI(c, accounts).serve(t.Context(), 0)
	require.NoError(t, err)
	build := func() *mcp.Server {
		server, closeServer, err := newServer(t.Context(), c, api)
		require.NoError(t, err)
		t.Cleanup(closeServer)
		return server
	}
	registrytest.Snapshot(t, build())
	registrytest.CheckStable(t, build)
	registrytest.CheckLint(t, build(), registry.Profiles()...)
}
