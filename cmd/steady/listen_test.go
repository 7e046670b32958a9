package main

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// listening starts a program that says on standard error that it listens, and
// returns what follows that.
func listening(t *testing.T, env string, command ...string) (url string, cmd *exec.Cmd) {
	t.Helper()
	cmd = exec.Command(command[0], command[1:]...)
	cmd.Env = append(os.Environ(), env)
	stderr, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		kill := time.AfterFunc(30*time.Second, func() { _ = cmd.Process.Kill() })
		defer kill.Stop()
		_ = cmd.Wait()
	})
	found := make(chan string, 1)
	go func() {
		says := regexp.MustCompile(`listening (?:at|on port) (\S+)`)
		for lines := bufio.NewScanner(stderr); lines.Scan(); {
			if m := says.FindStringSubmatch(lines.Text()); m != nil {
				select {
				case found <- m[1]:
				default:
				}
			}
		}
		close(found)
	}()
	select {
	case url = <-found:
	case <-time.After(time.Minute):
	}
	require.NotEmpty(t, url, "%v does not listen", command)
	return url, cmd
}

// What a server says through two proxies, with HTTP between them, is what it
// says without, to the byte, whoever wrote it.
func TestProxyIsTransparentOverHTTP(t *testing.T) {
	t.Parallel()
	program := build(t, filepath.Join("..", "steady"))
	for _, o := range others {
		t.Run(o.name, func(t *testing.T) {
			t.Parallel()
			command := o.command(t)
			memory := "MEMORY_FILE_PATH=" + filepath.Join(t.TempDir(), "memory.jsonl")
			direct := converse(t, o.name, memory, command...)
			url, _ := listening(t, memory, append([]string{program, "proxy", "-listen", ":0", "--"}, command...)...)
			require.Equal(t, direct, converse(t, o.name, memory, program, "proxy", "-http", url))
		})
	}
}

// A server's own HTTP, with which ours had nothing to do.
func TestProxyBeforeHTTPOfOthers(t *testing.T) {
	t.Parallel()
	program := build(t, filepath.Join("..", "steady"))
	l, err := net.Listen("tcp", ":0")
	require.NoError(t, err)
	_, port, err := net.SplitHostPort(l.Addr().String())
	require.NoError(t, err)
	require.NoError(t, l.Close())
	everything := others[0].command(t)
	listening(t, "PORT="+port, append(everything, "streamableHttp")...)
	direct := converse(t, others[0].name, "", everything...)
	url := "http://localhost:" + port + "/mcp"
	require.Equal(t, direct, converse(t, others[0].name, "", program, "proxy", "-http", url))
	url, _ = listening(t, "", program, "proxy", "-listen", "localhost:0", "-http", url)
	require.Equal(t, direct, converse(t, others[0].name, "", program, "proxy", "-http", url))
}

// SIGTERM ends an idle proxy and its servers at once, whatever streams are open.
func TestListeningProxyIsTerminated(t *testing.T) {
	t.Parallel()
	url, cmd := listening(t, "", build(t, filepath.Join("..", "steady")), "proxy", "-listen", "127.0.0.1:0", "--", build(t, filepath.Join("internal", "fixture")))
	ask := func(method, path, session, body string) *http.Response {
		req, err := http.NewRequestWithContext(t.Context(), method, strings.TrimSuffix(url, "/mcp")+path, strings.NewReader(body))
		require.NoError(t, err)
		req.Header.Set("Accept", "application/json, text/event-stream")
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Mcp-Session-Id", session)
		if session == "" {
			req.Header.Del("Mcp-Session-Id")
		}
		resp, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		return resp
	}
	require.Equal(t, http.StatusOK, ask(http.MethodGet, "/healthz", "", "").StatusCode)
	resp := ask(http.MethodPost, "/mcp", "", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`)
	require.Equal(t, http.StatusOK, resp.StatusCode)
	_, err := io.Copy(io.Discard, resp.Body)
	require.NoError(t, err)
	stream := ask(http.MethodGet, "/mcp", resp.Header.Get("Mcp-Session-Id"), "")
	require.Equal(t, http.StatusOK, stream.StatusCode)
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	kill := time.AfterFunc(30*time.Second, func() { _ = cmd.Process.Kill() })
	defer kill.Stop()
	require.NoError(t, cmd.Wait())
	_, _ = io.Copy(io.Discard, stream.Body)
}
