package registrytest_test

import (
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/steadymcp/steady/registry"
	"github.com/steadymcp/steady/registry/registrytest"
)

func newServer() *mcp.Server {
	return mcp.NewServer(&mcp.Implementation{Name: "papers"}, nil)
}

// A test file of a server.
func Example() {
	_ = func(t *testing.T) {
		registrytest.Snapshot(t, newServer())
		registrytest.CheckStable(t, newServer)

		claude := registry.Claude()
		claude.Exceptions = []registry.Exception{
			{Rule: "list-unbounded", Tool: "list_journals", Reason: "there are seven"},
		}
		registrytest.CheckLint(t, newServer(), claude, registry.OpenAI(), registry.Gemini())
	}
	// Output:
}
