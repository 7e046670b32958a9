package steady_test

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var taskID = regexp.MustCompile(`"taskId":"([^"]+)"`)

// Run pushes the news of tasks to a client that listens, on stdio and on HTTP,
// without being told that there are tasks.
func TestRunPushesTasks(t *testing.T) {
	t.Parallel()
	const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},` +
		`"io.modelcontextprotocol/clientCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}`
	start := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"export_notes","arguments":{},` + meta + `}}`
	listen := `{"jsonrpc":"2.0","id":2,"method":"subscriptions/listen","params":{"notifications":{"taskIds":["%s"]},` + meta + `}}`
	for name, connect := range map[string]func(*testing.T) func(method, name, message string) *bufio.Scanner{
		"stdio": stdioPipe, "http": httpPipe,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			send := connect(t)
			var task string
			for answer := send("tools/call", "export_notes", start); task == "" && answer.Scan(); {
				if m := taskID.FindStringSubmatch(answer.Text()); m != nil {
					task = m[1]
				}
			}
			require.NotEmpty(t, task)
			for news := send("subscriptions/listen", "", fmt.Sprintf(listen, task)); news.Scan(); {
				line := news.Text()
				if strings.Contains(line, `"notifications/tasks"`) && strings.Contains(line, task) && strings.Contains(line, `"completed"`) {
					return
				}
			}
			t.Fatal("nothing was pushed")
		})
	}
}

// stdioPipe starts the server and returns what sends it a message, and returns
// what comes back.
func stdioPipe(t *testing.T) func(_, _, message string) *bufio.Scanner {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), runVariable+"=1s")
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	giveUp := time.AfterFunc(30*time.Second, func() { _ = cmd.Process.Kill() })
	t.Cleanup(func() {
		giveUp.Stop()
		_ = in.Close()
		_ = cmd.Wait()
	})
	lines := bufio.NewScanner(out)
	return func(_, _, message string) *bufio.Scanner {
		_, err := io.WriteString(in, message+"\n")
		require.NoError(t, err)
		return lines
	}
}

func httpPipe(t *testing.T) func(method, name, message string) *bufio.Scanner {
	p := start(t, "1s")
	return func(method, name, message string) *bufio.Scanner {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.url, strings.NewReader(message))
		require.NoError(t, err)
		for k, v := range map[string]string{
			"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
			"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": method, "Mcp-Name": name,
		} {
			r.Header.Set(k, v)
		}
		response, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		t.Cleanup(func() { _ = response.Body.Close() })
		giveUp := time.AfterFunc(30*time.Second, func() { _ = response.Body.Close() })
		t.Cleanup(func() { giveUp.Stop() })
		return bufio.NewScanner(response.Body)
	}
}
