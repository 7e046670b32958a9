package peers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func init() {
	for _, p := range []peer{
		{name: "inspector/legacy", revision: handshake, only: stdio},
		{name: "inspector/modern", revision: stateless, only: http},
	} {
		if os.Getenv("STEADY_LONG") != "" { // each call starts a Node, and over stdio a server
			p.only = ""
		}
		_, era, _ := strings.Cut(p.name, "/")
		p.checksNames, p.forgets = true, true
		p.connect = func(t *testing.T, s *server) (client, error) { return connectInspector(t, s, era) }
		peers = append(peers, p)
	}
}

// inspector is the command line of the MCP Inspector, which is run anew for
// each request.
type inspector struct {
	node, config, home, era string
	log                     *log
}

func connectInspector(t *testing.T, s *server, era string) (client, error) {
	t.Helper()
	entry := map[string]any{"type": "streamable-http", "url": s.url, "headers": s.headers()}
	if s.url == "" {
		entry = map[string]any{"command": s.path, "args": s.args}
	}
	config, err := json.Marshal(map[string]any{"mcpServers": map[string]any{"server": entry}})
	require.NoError(t, err)
	dir := t.TempDir()
	file := filepath.Join(dir, "config.json")
	require.NoError(t, os.WriteFile(file, config, 0o600))
	c := &inspector{node: node(t), config: file, home: dir, era: era, log: &s.stderr}
	_, err = c.listTools(t.Context())
	return c, err
}

// revision is not told.
func (c *inspector) revision() string { return "" }

// Exit statuses of the inspector.
const toolIsError = 5

// run runs one method, and decodes its result into out.
func (c *inspector) run(ctx context.Context, out any, method string, args ...string) error {
	launcher := filepath.Join(npm, "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js")
	cmd := exec.CommandContext(ctx, c.node, append([]string{launcher, "--cli",
		"--config", c.config, "--server", "server", "--protocol-era", c.era, "--stored-auth-only",
		"--format", "json", "--method", method}, args...)...)
	cmd.Env = append(os.Environ(), "HOME="+c.home, "MCP_INSPECTOR_SECRET_STORE=memory")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	stdout, err := cmd.Output()
	_, _ = c.log.Write([]byte(stderr.String()))
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == toolIsError && len(stdout) > 0 {
		err = nil
	}
	if err != nil {
		return fmt.Errorf("inspector: %s: %w\n%s", method, err, &stderr)
	}
	var output struct{ Result json.RawMessage }
	if err := json.Unmarshal(stdout, &output); err != nil {
		return fmt.Errorf("inspector: %s: %w\n%s", method, err, stdout)
	}
	return json.Unmarshal(output.Result, out)
}

// listTools has the inspector check all schemas as well.
func (c *inspector) listTools(ctx context.Context) (names []string, err error) {
	var result struct{ Tools []struct{ Name string } }
	err = c.run(ctx, &result, "tools/list", "--strict")
	for _, tool := range result.Tools {
		names = append(names, tool.Name)
	}
	return names, err
}

func (c *inspector) callTool(ctx context.Context, name string, args arguments) (a answer, err error) {
	if args == nil {
		args = arguments{}
	}
	encoded, err := json.Marshal(args)
	if err != nil {
		return a, err
	}
	var result struct {
		IsError           bool
		StructuredContent json.RawMessage
		Content           []struct{ Type, Text, URI string }
	}
	if err := c.run(ctx, &result, "tools/call", "--tool-name", name, "--tool-args-json", string(encoded)); err != nil {
		return a, err
	}
	a = answer{IsError: result.IsError, Structured: result.StructuredContent}
	if a.Structured == nil {
		a.Structured = json.RawMessage("null")
	}
	for _, c := range result.Content {
		switch c.Type {
		case "text":
			a.Text = append(a.Text, c.Text)
		case "resource_link":
			a.Links = append(a.Links, c.URI)
		}
	}
	return a, nil
}

func (c *inspector) listPrompts(ctx context.Context) (names []string, err error) {
	var result struct{ Prompts []struct{ Name string } }
	err = c.run(ctx, &result, "prompts/list")
	for _, prompt := range result.Prompts {
		names = append(names, prompt.Name)
	}
	return names, err
}

func (c *inspector) getPrompt(ctx context.Context, name string, args map[string]string) (text string, err error) {
	options := []string{"--prompt-name", name}
	if len(args) > 0 {
		options = append(options, "--prompt-args")
		for k, v := range args {
			options = append(options, k+"="+v)
		}
	}
	var result struct {
		Messages []struct{ Content struct{ Text string } }
	}
	err = c.run(ctx, &result, "prompts/get", options...)
	for _, message := range result.Messages {
		text += message.Content.Text
	}
	return text, err
}

func (c *inspector) listResources(ctx context.Context) (uris []string, err error) {
	var result struct{ Resources []struct{ URI string } }
	err = c.run(ctx, &result, "resources/list")
	for _, resource := range result.Resources {
		uris = append(uris, resource.URI)
	}
	return uris, err
}

func (c *inspector) readResource(ctx context.Context, uri string) (text string, err error) {
	var result struct{ Contents []struct{ Text string } }
	err = c.run(ctx, &result, "resources/read", "--uri", uri)
	for _, contents := range result.Contents {
		text += contents.Text
	}
	return text, err
}
