package peers

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// typeScripts are both major versions of the TypeScript SDK, and the later one
// asking for the newest revision first.
var typeScripts = []struct{ name, revision string }{
	{"v1", handshake},
	{"v2", handshake},
	{"v2-modern", stateless},
}

func init() {
	for _, sdk := range typeScripts {
		peers = append(peers, peer{
			name: "typescript/" + sdk.name, revision: sdk.revision,
			connect: func(t *testing.T, s *server) (client, error) { return connectTypeScript(t, s, sdk.name, "") },
		})
	}
}

// typeScript is the client of the TypeScript SDK, in a process that does as it
// is told: internal/npm/client.mjs. It does one thing at a time.
type typeScript struct {
	negotiated string
	in         io.Writer
	out        *bufio.Scanner
	id         int
}

// connectTypeScript connects, over HTTP as a browser does it for a page from
// origin unless that is "".
func connectTypeScript(t *testing.T, s *server, sdk, origin string) (client, error) {
	t.Helper()
	config := map[string]any{"sdk": sdk, "url": s.url, "headers": s.headers(), "origin": origin}
	if s.url == "" {
		config = map[string]any{"sdk": sdk, "command": s.path, "args": s.args}
	}
	encoded, err := json.Marshal(config)
	require.NoError(t, err)
	cmd := exec.Command(node(t), filepath.Join(npm, "client.mjs"), string(encoded))
	cmd.Stderr = &s.stderr
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	c := &typeScript{in: in, out: bufio.NewScanner(out)}
	c.out.Buffer(nil, 16<<20)
	connected := false
	t.Cleanup(func() {
		kill := time.AfterFunc(within, func() { _ = cmd.Process.Kill() })
		defer kill.Stop()
		_ = in.Close()
		var last struct{ Noise []string }
		if c.out.Scan() && connected {
			require.NoError(t, json.Unmarshal(c.out.Bytes(), &last))
			for _, complaint := range last.Noise {
				// The Go SDK answers a cancelled request too. Over stdio, stdioguard keeps that back.
				if s.url == "" || !strings.Contains(complaint, "the call was cancelled before it finished") {
					t.Errorf("the client could not make sense of something: %s", complaint)
				}
			}
		}
		if err := cmd.Wait(); connected {
			require.NoError(t, err, "%s", &s.stderr)
			require.NotContains(t, s.stderr.String(), "stdioguard.late", "nothing was printed before the guard")
		}
	})
	err = c.receive(&c.negotiated)
	connected = err == nil
	return c, err
}

func (c *typeScript) revision() string { return c.negotiated }

// do has the client do op, and decodes what comes of it.
func (c *typeScript) do(ctx context.Context, op string, params, out any) error {
	c.id++
	deadline, _ := ctx.Deadline()
	line, err := json.Marshal(map[string]any{"id": c.id, "op": op, "params": params, "timeout": time.Until(deadline).Milliseconds()})
	if err != nil {
		return err
	}
	if _, err := c.in.Write(append(line, '\n')); err != nil {
		return err
	}
	return c.receive(out)
}

func (c *typeScript) receive(out any) error {
	if !c.out.Scan() {
		return errors.Join(errors.New("the client has ended"), c.out.Err())
	}
	var message struct {
		ID     int
		Result json.RawMessage
		Error  string
	}
	if err := json.Unmarshal(c.out.Bytes(), &message); err != nil {
		return err
	}
	if message.Error != "" {
		return errors.New(message.Error)
	}
	return json.Unmarshal(message.Result, out)
}

func (c *typeScript) listTools(ctx context.Context) (names []string, err error) {
	err = c.do(ctx, "listTools", nil, &names)
	return names, err
}

func (c *typeScript) callTool(ctx context.Context, name string, args arguments) (a answer, err error) {
	err = c.do(ctx, "callTool", map[string]any{"name": name, "arguments": args}, &a)
	return a, err
}

func (c *typeScript) listPrompts(ctx context.Context) (names []string, err error) {
	err = c.do(ctx, "listPrompts", nil, &names)
	return names, err
}

func (c *typeScript) getPrompt(ctx context.Context, name string, args map[string]string) (text string, err error) {
	err = c.do(ctx, "getPrompt", map[string]any{"name": name, "arguments": args}, &text)
	return text, err
}

func (c *typeScript) listResources(ctx context.Context) (uris []string, err error) {
	err = c.do(ctx, "listResources", nil, &uris)
	return uris, err
}

func (c *typeScript) readResource(ctx context.Context, uri string) (text string, err error) {
	err = c.do(ctx, "readResource", map[string]any{"uri": uri}, &text)
	return text, err
}

// TestBrowser uses the order desk as a page in a browser does.
func TestBrowser(t *testing.T) {
	t.Parallel()
	const page = "http://localhost:6274"
	for _, sdk := range typeScripts {
		t.Run(sdk.name, func(t *testing.T) {
			t.Parallel()
			s := &session{T: t, example: orders, transport: http, peer: peer{
				revision: sdk.revision,
				connect:  func(t *testing.T, s *server) (client, error) { return connectTypeScript(t, s, sdk.name, page) },
			}}
			s.open("-allow-origin", page)
			useOrders(s)
			_, err := connectTypeScript(t, s.server, sdk.name, "http://evil.example")
			require.ErrorContains(t, err, "preflight for POST was refused")
		})
	}
}
