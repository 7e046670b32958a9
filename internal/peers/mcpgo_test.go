package peers

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	mcpgo "github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/stretchr/testify/require"
)

func init() {
	for _, revision := range []string{handshake, stateless} {
		peers = append(peers, peer{
			name: "mcp-go/" + revision, revision: revision, silent: revision == handshake,
			connect: func(t *testing.T, s *server) (client, error) { return connectMCPGo(t, s, revision) },
		})
	}
}

// mcpGo is the client of github.com/mark3labs/mcp-go.
type mcpGo struct{ *mcpgo.Client }

func connectMCPGo(t *testing.T, s *server, revision string) (client, error) {
	t.Helper()
	var tr transport.Interface
	if s.url != "" {
		var err error
		tr, err = transport.NewStreamableHTTP(s.url, transport.WithHTTPHeaders(s.headers()))
		require.NoError(t, err)
	} else {
		tr = transport.NewStdioWithOptions(s.path, nil, s.args, transport.WithCommandStderrWriter(&s.stderr))
	}
	c := mcpgo.NewClient(tr, mcpgo.WithProtocolVersion(revision))
	// The server is killed at the end of this context, which is to come later
	// than the end of its input.
	require.NoError(t, c.Start(context.WithoutCancel(t.Context())))
	t.Cleanup(func() {
		if err := c.Close(); s.url == "" { // the server must end when its input does
			require.NoError(t, err)
		}
	})
	_, err := c.Initialize(t.Context(), mcp.InitializeRequest{Params: mcp.InitializeParams{
		ClientInfo: mcp.Implementation{Name: "mcp-go", Version: "1.2.1"},
	}})
	return mcpGo{c}, err
}

func (c mcpGo) revision() string { return c.ProtocolVersion() }

func (c mcpGo) listTools(ctx context.Context) (names []string, err error) {
	result, err := c.ListTools(ctx, mcp.ListToolsRequest{})
	if err != nil {
		return nil, err
	}
	for _, tool := range result.Tools {
		names = append(names, tool.Name)
	}
	return names, nil
}

func (c mcpGo) callTool(ctx context.Context, name string, args arguments) (answer, error) {
	result, err := c.CallTool(ctx, mcp.CallToolRequest{Params: mcp.CallToolParams{Name: name, Arguments: args}})
	if err != nil {
		return answer{}, err
	}
	if c.ProtocolVersion() == stateless && result.ResultType != mcp.ResultTypeComplete {
		return answer{}, fmt.Errorf("a result of type %q", result.ResultType)
	}
	a := answer{IsError: result.IsError, Structured: json.RawMessage("null")}
	if result.RawStructuredContent != nil {
		a.Structured = result.RawStructuredContent
	}
	for _, c := range result.Content {
		switch c := c.(type) {
		case mcp.TextContent:
			a.Text = append(a.Text, c.Text)
		case mcp.ResourceLink:
			a.Links = append(a.Links, c.URI)
		default:
			return answer{}, fmt.Errorf("content of type %T", c)
		}
	}
	return a, nil
}

func (c mcpGo) listPrompts(ctx context.Context) (names []string, err error) {
	result, err := c.ListPrompts(ctx, mcp.ListPromptsRequest{})
	if err != nil {
		return nil, err
	}
	for _, prompt := range result.Prompts {
		names = append(names, prompt.Name)
	}
	return names, nil
}

func (c mcpGo) getPrompt(ctx context.Context, name string, args map[string]string) (string, error) {
	result, err := c.GetPrompt(ctx, mcp.GetPromptRequest{Params: mcp.GetPromptParams{Name: name, Arguments: args}})
	if err != nil {
		return "", err
	}
	if len(result.Messages) != 1 {
		return "", fmt.Errorf("%d messages", len(result.Messages))
	}
	text, ok := result.Messages[0].Content.(mcp.TextContent)
	if !ok {
		return "", fmt.Errorf("content of type %T", result.Messages[0].Content)
	}
	return text.Text, nil
}

func (c mcpGo) listResources(ctx context.Context) (uris []string, err error) {
	result, err := c.ListResources(ctx, mcp.ListResourcesRequest{})
	if err != nil {
		return nil, err
	}
	for _, resource := range result.Resources {
		uris = append(uris, resource.URI)
	}
	return uris, nil
}

func (c mcpGo) readResource(ctx context.Context, uri string) (string, error) {
	result, err := c.ReadResource(ctx, mcp.ReadResourceRequest{Params: mcp.ReadResourceParams{URI: uri}})
	if err != nil {
		return "", err
	}
	var texts []string
	for _, c := range result.Contents {
		text, ok := c.(mcp.TextResourceContents)
		if !ok {
			return "", fmt.Errorf("contents of type %T", c)
		}
		texts = append(texts, text.Text)
	}
	return strings.Join(texts, "\n"), nil
}
