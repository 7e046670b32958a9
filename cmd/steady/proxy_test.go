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
			command := o.command(t)
			memory := "MEMORY_FILE_PATH=" + filepath.Join(t.TempDir(), "memory.jsonl")
			direct := converse(t, o.name, memory, command...)
			require.Contains(t, direct["2"], "inputSchema")
			require.NotContains(t, direct["6"], `"error"`)
			require.Equal(t, direct, converse(t, o.name, memory, append([]string{program, "proxy", "--"}, command...)...))

			// The protections that add nothing to a list change nothing but what is wrong.
			quiet := configFile(t, "repair:\nresults: {keep: false}\nerrors:\nlimits:\nnames: {aliases: {other: one}}\nvisibility: {hide: [none]}\n")
			protected := converse(t, o.name, memory, append([]string{program, "proxy", "-config", quiet, "--"}, command...)...)
			require.Contains(t, protected["3"], "no such tool")
			protected["3"] = direct["3"]
			require.Equal(t, direct, protected)

			// The others leave what they add to as it was.
			every := configFile(t, "protect: recommended\ntasks: {tools: {one: }}\nsearch: {advertise: [none]}\n")
			protected = converse(t, o.name, memory, append([]string{program, "proxy", "-config", every, "--"}, command...)...)
			require.Equal(t, direct["6"], protected["6"])
			added := configFile(t, "protect: recommended\ntasks: {tools: {one: }}\n")
			protected = converse(t, o.name, memory, append([]string{program, "proxy", "-config", added, "--"}, command...)...)
			tools, _, _ := strings.Cut(direct["2"], "}]")
			_, tools, _ = strings.Cut(tools, `"tools":[`)
			require.Contains(t, protected["2"], tools)
		})
	}
}

// goodCalls are calls with which nothing is wrong.
var goodCalls = map[string]string{
	"server-everything":          `{"name":"get-structured-content","arguments":{"location":"Chicago"}}`,
	"server-filesystem":          `{"name":"list_allowed_directories","arguments":{}}`,
	"server-memory":              `{"name":"read_graph","arguments":{}}`,
	"server-sequential-thinking": `{"name":"sequentialthinking","arguments":{"thought":"a","nextThoughtNeeded":false,"thoughtNumber":1,"totalThoughts":1}}`,
	"sdk-everything":             `{"name":"greet","arguments":{"name":"a"}}`,
	"sdk-memory":                 `{"name":"read_graph","arguments":{}}`,
}

// converse says a few things to a server, and returns the answers by their ids.
func converse(t *testing.T, name, env string, command ...string) map[string]string {
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
		`{"jsonrpc":"2.0","id":"6","method":"tools/call","params":` + goodCalls[name] + `}`,
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
