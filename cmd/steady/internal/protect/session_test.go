package protect

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/steadymcp/steady/cmd/steady/internal/config"
)

// idOf returns the id that the stage has given a request.
func idOf(line string) string { return string(read([]byte(line)).id) }

// introduced sends the handshake, and takes note of it on both sides.
func (s *script) introduced() *script {
	s.t.Helper()
	s.send(hello)
	s.receive()
	s.next()
	return s
}

// until returns the next line for the server with a method.
func (s *script) until(method string) string {
	s.t.Helper()
	for {
		if line := s.next(); read([]byte(line)).method == method {
			return line
		}
	}
}

// What somebody changes is changed alone.
func TestChangedAlone(t *testing.T) {
	t.Parallel()
	s := play(t, protector(t, "visibility: {hide: [\"delete_*\"]}\nresults:\nrepair:"), scripted)
	s.send(hello)
	require.Equal(t, `{"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{"x":1},"new":{},"resources":{}},"serverInfo":{"name":"their","version":"1","color":"red"},"more":[1, 2]},"id":"h","jsonrpc":"2.0"}`, s.receive())
	s.send(`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`)
	got := s.receive()
	require.Contains(t, got, `{"tools":[{"name":"read_file","later":{"b":1,"a":2},"inputSchema":{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]},"annotations":{"readOnlyHint":true}},{`)
	require.Contains(t, got, `"name":"read_result"`)
	require.Contains(t, got, `"extra":{"k": 1}`)
	require.NotContains(t, got, "delete_file")
	s.send(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"later":1,"name":"ReadFile","arguments":{"path":7}}}`)
	require.Equal(t, `{"later":1,"name":"read_file","arguments":{"path":"7"}}`, string(read([]byte(s.until("tools/call"))).params))
	got = s.receive()
	require.Contains(t, got, `{"content":[{"type":"text","text":"ok <&>","color":"red"},{"type":"text","text":"more"}`)
	require.Contains(t, got, `"structuredContent":{"n":9007199254740993, "a": 1}`)
	require.Contains(t, got, `"_meta":{"z":12345678901234567890,"steady/discovery":{`)
	require.Contains(t, got, `"isError":false,"later":[1]}`)
}

// A cancellation reaches the server under the id that it knows, as the client wrote
// it, and what the server still says is dropped.
func TestCancelledCall(t *testing.T) {
	t.Parallel()
	s := play(t, protector(t, quiet), func(m message) string {
		if m.method == "tools/call" {
			return ""
		}
		return scripted(m)
	}).introduced()
	s.send(`{"jsonrpc":"2.0","id":"c1","method":"tools/call","params":{"name":"read_file","arguments":{"path":"a"},"_meta":{"progressToken":"p"}}}`)
	id := idOf(s.until("tools/call"))
	require.NotEqual(t, `"c1"`, id)
	s.say(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"p","progress":1, "later":1}}`)
	require.Equal(t, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"p","progress":1, "later":1}}`, s.receive())
	s.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"reason":"enough", "requestId":"c1","later":[1]}}`)
	require.Equal(t, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"reason":"enough", "requestId":`+id+`,"later":[1]}}`, s.next())
	s.say(`{"jsonrpc":"2.0","id":` + id + `,"result":{"content":[]}}`)
	s.send(`{"jsonrpc":"2.0","id":9,"method":"ping"}`)
	require.Equal(t, `{"jsonrpc":"2.0","id":9,"result":{}}`, s.receive())
	s.next()
	// What the server knows under the client's id passes as it is.
	s.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":9}}`)
	require.Equal(t, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":9}}`, s.next())
}

func TestDeadlineWithdraws(t *testing.T) {
	t.Parallel()
	s := play(t, protector(t, "limits: {deadline: 50ms}"), func(m message) string {
		if m.method == "tools/call" {
			return ""
		}
		return scripted(m)
	}).introduced()
	s.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read_file","arguments":{"path":"a"}}}`)
	id := idOf(s.until("tools/call"))
	require.Contains(t, s.receive(), `"isError":true`)
	require.Contains(t, s.until("notifications/cancelled"), `"requestId":`+id)
}

// Nobody gets around what is hidden.
func TestHiddenIsOutOfReach(t *testing.T) {
	t.Parallel()
	s := play(t, protector(t, "visibility: {hide: [\"delete_*\"]}\ntasks: {tools: {delete_file: }}"), scripted).introduced()
	for _, line := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"delete_file","arguments":{}}}`,
		`[{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"delete_file","arguments":{}}}]`,
		`{"jsonrpc":"2.0","id":1,"m\u0065thod":"tools\/call","params":{"name":"delete\u005ffile"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call","params":{"name":"read_file","name":"delete_file"}}`,
		`{"jsonrpc":"2.0","id":null,"method":"tools/call","params":{"name":"delete_file"}}`,
	} {
		s.send(line)
		require.Contains(t, s.receive(), `"error"`, line)
	}
	s.send(`{"jsonrpc":"2.0","method":"tools/call","params":{"name":"delete_file"}}`, `{"jsonrpc":"2.0","id":2,"method":"ping"}`)
	s.receive()
	for len(s.seen) > 0 {
		require.NotContains(t, s.next(), "delete_file")
	}
}

// A server that has tasks itself goes on having them.
func TestTasksOfTheServer(t *testing.T) {
	t.Parallel()
	s := play(t, protector(t, "protect: recommended\ntasks: {tools: {other: }}"), func(m message) string {
		switch m.method {
		case "tools/call":
			return `{"jsonrpc":"2.0","id":ID,"result":{"task":{"taskId":"their-task","status":"working"},"_meta":{"x":1}}}`
		case "tasks/get":
			return `{"jsonrpc":"2.0","id":ID,"result":{"taskId":"their-task","status":"completed"}}`
		}
		return scripted(m)
	}).introduced()
	s.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read_file","arguments":{"path":"a"},"task":{"ttl":1}}}`)
	require.Equal(t, `{"jsonrpc":"2.0","id":1,"result":{"task":{"taskId":"their-task","status":"working"},"_meta":{"x":1}}}`, s.receive())
	s.send(`{"jsonrpc":"2.0","id":2,"method":"tasks/get","params":{"taskId":"their-task"}}`)
	require.Equal(t, `{"jsonrpc":"2.0","id":2,"result":{"taskId":"their-task","status":"completed"}}`, s.receive())
}

// The news of a call that has become a task go to the task.
func TestProgressOfATask(t *testing.T) {
	t.Parallel()
	var id atomic.Value
	s := play(t, protector(t, "tasks: {tools: {read_file: {grace: 20ms}}}"), func(m message) string {
		if m.method == "tools/call" {
			id.Store(string(m.id))
			return ""
		}
		return scripted(m)
	}).introduced()
	s.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read_file","arguments":{"path":"a"},"_meta":{"progressToken":7}}}`)
	handle := s.receive()
	require.Contains(t, handle, `"status":"working"`)
	_, after, _ := strings.Cut(handle, `"taskId":"`)
	task, _, _ := strings.Cut(after, `"`)
	s.say(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":7,"progress":3,"total":4,"message":"nearly there"}}`)
	require.Eventually(t, func() bool {
		s.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"task_status","arguments":{"task_id":"%s","wait_seconds":0}}}`, task))
		return strings.Contains(s.receive(), "nearly there")
	}, 30*time.Second, time.Millisecond)
	s.say(`{"jsonrpc":"2.0","id":` + id.Load().(string) + `,"result":{"content":[{"type":"text","text":"done"}]}}`)
	s.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"task_result","arguments":{"task_id":"%s"}}}`, task))
	require.Contains(t, s.receive(), `"text":"done"`)
}

// What the server says about its tools is asked for once, again when it has
// changed, and not for ever where nothing comes.
func TestListings(t *testing.T) {
	t.Parallel()
	var lists atomic.Int64
	s := play(t, protector(t, "repair:"), func(m message) string {
		switch m.method {
		case "tools/list":
			if lists.Add(1) == 1 {
				return strings.ReplaceAll(toolsAnswer, "read_file", "old_file")
			}
			if cursor := string(m.params); strings.Contains(cursor, "two") {
				return `{"jsonrpc":"2.0","id":ID,"result":{"tools":[{"name":"last","inputSchema":{"type":"object"}}]}}`
			}
			return strings.Replace(toolsAnswer, `"extra"`, `"nextCursor":"two","extra"`, 1)
		}
		return scripted(m)
	}).introduced()
	ask := func(id int, name string) string {
		s.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":{"path":"a"}}}`, id, name))
		return s.receive()
	}
	require.Contains(t, ask(1, "OldFile"), "ok")
	require.Contains(t, ask(2, "OldFile"), "ok")
	require.EqualValues(t, 1, lists.Load())
	s.say(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
	require.Contains(t, s.receive(), "list_changed")
	require.Contains(t, ask(3, "ReadFile"), "ok")
	require.Contains(t, ask(4, "Last"), "ok")
	require.EqualValues(t, 3, lists.Load(), "two pages")
}

// A tool that cannot be read is left out, and costs the others nothing.
func TestToolsThatCannotBeRead(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"repair:", "results:", "visibility: {hide: [delete_file]}", "search: {advertise: [read_file]}\nvisibility: {hide: [delete_file]}"} {
		s := play(t, protector(t, text), func(m message) string {
			if m.method == "tools/list" {
				return strings.Replace(toolsAnswer, `"tools":[`, `"tools":[null,5,{"name":7},{"name":"x","inputSchema":{},"annotations":[]},`, 1)
			}
			return scripted(m)
		}).introduced()
		s.send(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
		list := s.receive()
		require.Contains(t, list, `{"name":"read_file","later":{"b":1,"a":2},`, text)
		require.NotContains(t, list, "[null", text)
		require.NotContains(t, list, "cacheScope", text) // which is nobody's
		require.NotContains(t, list, `"name":7`, text)
		require.Equal(t, strings.Contains(text, "visibility"), !strings.Contains(list, "delete_file"), text)
		s.send(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"read_file","arguments":{"path":"a"}}}`)
		require.Contains(t, s.receive(), "ok <&>", text)
	}
}

// Tools of ours have names, and different ones.
func TestOwnNames(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"results:\ntasks: {tools: {x: {}}, names: {status: read_result}}": `two of the tools that protections add are named "read_result"`,
		"results: {keep: {tool: a b}}":                                    `"a b" is not the name of a tool`,
	} {
		cfg, err := config.Parse("steady.yaml", []byte(text), nil)
		require.NoError(t, err)
		_, err = New(cfg, nil)
		require.ErrorContains(t, err, want)
	}
}

// Where the server has a tool of the name of one of ours, it is the server's.
func TestSameName(t *testing.T) {
	t.Parallel()
	s := play(t, protector(t, "results:"), func(m message) string {
		if m.method == "tools/list" {
			return strings.ReplaceAll(toolsAnswer, "read_file", "read_result")
		}
		return scripted(m)
	}).introduced()
	s.send(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	require.Equal(t, 1, strings.Count(s.receive(), `"name":"read_result"`))
	s.send(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"read_result","arguments":{"path":"a"}}}`)
	require.Contains(t, s.receive(), "ok <&>")
}

// An answer in an array of messages, which revision 2025-03-26 allows, is one.
func TestArrayOfTheServer(t *testing.T) {
	t.Parallel()
	s := play(t, protector(t, "repair:"), func(m message) string {
		if m.method == "tools/call" {
			return `[{"jsonrpc":"2.0","method":"notifications/odd"}, ` + callAnswer + `]`
		}
		return scripted(m)
	}).introduced()
	s.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read_file","arguments":{"path":"a"}}}`)
	require.Equal(t, `{"jsonrpc":"2.0","method":"notifications/odd"}`, s.receive())
	require.Contains(t, s.receive(), `"id":1,"result":{"content":[{"type":"text","text":"ok <&>"`)
}

// Requests of the client without an answer when the server ends are answered.
func TestServerEnds(t *testing.T) {
	t.Parallel()
	s := play(t, protector(t, quiet), func(m message) string {
		if m.method == "tools/call" {
			return "END"
		}
		return scripted(m)
	}).introduced()
	s.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read_file","arguments":{"path":"a"}}}`)
	require.Contains(t, s.receive(), `"id":1`)
	require.NoError(t, <-s.ended)
	s.ended <- nil
}

// What the client had asked before its input ended is answered.
func TestEndOfInput(t *testing.T) {
	t.Parallel()
	ended := make(chan struct{})
	s := play(t, protector(t, "limits: {running: 1}"), func(m message) string {
		if m.method == "tools/call" {
			<-ended
		}
		return scripted(m)
	}).introduced()
	for i := range 5 {
		s.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"read_file","arguments":{"path":"a"}}}`, i))
	}
	s.hangUp()
	close(ended)
	for range 5 {
		require.Contains(t, s.receive(), "ok <&>")
	}
}

// What no parser should see does no harm.
func TestHostileLines(t *testing.T) {
	t.Parallel()
	s := play(t, protector(t, "protect: recommended\nvisibility: {hide: [x]}"), scripted).introduced()
	deep := strings.Repeat("[", 5000) + strings.Repeat("]", 5000)
	for _, line := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read_file","arguments":` + deep + `}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":7}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call"}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":null}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":[]}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":5}}`,
		`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{}}`,
	} {
		s.send(line)
		require.Contains(t, s.receive(), `"id":1,"error"`, line[:min(len(line), 100)])
	}
	s.say(`{"jsonrpc":"2.0","id":"` + "steady-" + `","result":{}}`)
	require.Contains(t, s.receive(), "steady-")
	s.send(`{"jsonrpc":"2.0","id":2,"method":"ping"}`)
	require.Equal(t, `{"jsonrpc":"2.0","id":2,"result":{}}`, s.receive())
}
