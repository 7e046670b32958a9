package main

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// What a server says through the proxy is what it says without it, to the byte,
// whoever wrote it.
func TestProxyIsTransparent(t *testing.T) {
	t.Parallel()
	program := build(t, filepath.Join("..", "steady"))
	for _, o := range others {
		t.Run(o.name, func(t *testing.T) {
			t.Parallel()
			var command []string
			if o.script != "" {
				command = []string{"node", filepath.Join(npm, "@modelcontextprotocol", o.script)}
			} else {
				command = []string{buildSDK(t, o.pkg)}
			}
			if o.args != nil {
				command = append(command, o.args(t)...)
			}
			memory := "MEMORY_FILE_PATH=" + filepath.Join(t.TempDir(), "memory.jsonl")
			direct := converse(t, memory, command...)
			require.Contains(t, direct["2"], "inputSchema")
			require.Equal(t, direct, converse(t, memory, append([]string{program, "proxy", "--"}, command...)...))
		})
	}
}

// converse says a few things to a server, and returns the answers by their ids.
func converse(t *testing.T, env string, command ...string) map[string]string {
	t.Helper()
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env = append(os.Environ(), env)
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	lines := bufio.NewReader(out)
	answers := map[string]string{}
	for i, line := range []string{
		`{"jsonrpc":"2.0","id":"1","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`{"jsonrpc":"2.0","id":"2","method":"tools/list"}`,
		`{"jsonrpc":"2.0","id":"3","method":"tools/call","params":{"name":"no such tool","arguments":{}}}`,
		`{"jsonrpc":"2.0","id":"4","method":"no/such"}`,
		`{"jsonrpc":"2.0","id":"5","method":"ping"}`,
	} {
		_, err := io.WriteString(in, line+"\n")
		require.NoError(t, err)
		for i != 1 {
			answer, err := lines.ReadString('\n')
			require.NoError(t, err)
			if _, id, ok := strings.Cut(answer, `"id":"`); ok {
				answers[id[:1]] = answer
				break
			}
		}
	}
	require.NoError(t, in.Close())
	_, _ = io.Copy(io.Discard, lines)
	_ = cmd.Wait()
	return answers
}

// SIGTERM ends an idle proxy, and its server, at once.
func TestProxyIsTerminated(t *testing.T) {
	t.Parallel()
	cmd := exec.Command(build(t, filepath.Join("..", "steady")), "proxy", "--", build(t, filepath.Join("internal", "fixture")))
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	_, err = io.WriteString(in, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`+"\n")
	require.NoError(t, err)
	_, err = bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	kill := time.AfterFunc(30*time.Second, func() { _ = cmd.Process.Kill() })
	defer kill.Stop()
	require.NoError(t, cmd.Wait())
}
