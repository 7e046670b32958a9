package main

import (
	"bufio"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/steadymcp/steady/registry"
	"github.com/steadymcp/steady/registry/registrytest"
)

// The test is to be copied with the server, so it uses nothing that is internal
// to this repository: it starts itself, and is the server then.
const serveVariable = "QUICKSTART_SERVE"

func TestMain(m *testing.M) {
	if os.Getenv(serveVariable) != "" {
		main()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func program(args ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), serveVariable+"=1")
	return cmd
}

var revisions = []string{"2025-11-25", "2026-07-28"}

func TestStdio(t *testing.T) {
	t.Parallel()
	for _, revision := range revisions {
		use(t, &mcp.CommandTransport{Command: program()}, revision)
	}
}

func TestHTTP(t *testing.T) {
	t.Parallel()
	endpoint := serve(t)
	for _, revision := range revisions {
		use(t, &mcp.StreamableClientTransport{Endpoint: endpoint}, revision)
	}
}

var serving = regexp.MustCompile(`url=(http://\S+)`)

// serve starts the program on a free port, and returns the endpoint that it
// reports.
func serve(t *testing.T) string {
	t.Helper()
	cmd := program("-http", "localhost:0")
	stderr, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	lines := bufio.NewScanner(stderr)
	t.Cleanup(func() {
		require.NoError(t, cmd.Process.Signal(os.Interrupt))
		for lines.Scan() { // to its end, so that the program never waits
		}
		require.NoError(t, cmd.Wait(), "the program ends in order")
	})
	for lines.Scan() {
		if url := serving.FindStringSubmatch(lines.Text()); url != nil {
			return url[1]
		}
	}
	require.FailNow(t, "the program did not say where it serves")
	return ""
}

func use(t *testing.T, transport mcp.Transport, revision string) {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "v1"}, nil)
	session, err := client.Connect(t.Context(), transport, &mcp.ClientSessionOptions{ProtocolVersion: revision})
	require.NoError(t, err)
	defer func() { require.NoError(t, session.Close()) }()
	call := func(name string, args map[string]any) *mcp.CallToolResult {
		result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: args})
		require.NoError(t, err)
		return result
	}

	result := call("quote_shipping", map[string]any{"country": "FR", "kilos": 10})
	require.Equal(t, map[string]any{"cents": 2400.0}, result.StructuredContent)

	guessed := call("quoteShipping", map[string]any{"country": "FR", "kilos": "10"})
	require.Equal(t, result.StructuredContent, guessed.StructuredContent, "%s", text(guessed))

	refused := call("quote_shipping", map[string]any{"country": "FR", "kilos": 45})
	require.True(t, refused.IsError)
	require.Equal(t, "a parcel of 45 kg cannot be shipped. Reason: 30 kg is the most. Next: split it, and ask for each part. Do not retry.", text(refused))

	unknown := call("quote_shipping", map[string]any{"country": "AQ", "kilos": 1})
	require.True(t, unknown.IsError)
	require.Equal(t, "nothing is shipped to AQ. Next: ask for DE, FR or PL.", text(unknown))
}

func text(result *mcp.CallToolResult) string {
	return result.Content[0].(*mcp.TextContent).Text
}

func TestCatalog(t *testing.T) {
	server, err := newServer()
	require.NoError(t, err)
	registrytest.CheckLint(t, server, registry.Profiles()...)
}

// TestSmall holds the example to what makes it one to start from.
func TestSmall(t *testing.T) {
	source, err := os.ReadFile("main.go")
	require.NoError(t, err)
	require.Less(t, strings.Count(string(source), "\n"), 60)
}
