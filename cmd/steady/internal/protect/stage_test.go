package protect

import (
	"bufio"
	"context"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/steadymcp/steady/cmd/steady/internal/config"
)

// both are the revisions with and without a handshake.
var both = []string{"2025-11-25", "2026-07-28"}

// protector returns a Protector for the text of a configuration.
func protector(t testing.TB, text string) *Protector {
	t.Helper()
	cfg, err := config.Parse("steady.yaml", []byte(text), nil)
	require.NoError(t, err)
	p, err := New(cfg, &Options{Logger: slog.New(slog.DiscardHandler), EOFWindow: time.Second})
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		require.NoError(t, p.Close(ctx))
	})
	return p
}

// serving is the stage of a server on the SDK.
func serving(server *mcp.Server) Stage {
	return func(ctx context.Context, in io.Reader, out io.Writer) error {
		return server.Run(ctx, &mcp.IOTransport{Reader: io.NopCloser(in), Writer: nopCloser{out}})
	}
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

// dial connects a client of the SDK to a stage.
func dial(t *testing.T, stage Stage, revision string, opts *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	toStage, in := io.Pipe()
	out, fromStage := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := stage(context.Background(), toStage, fromStage)
		_ = fromStage.Close()
		ended <- err
	}()
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, opts)
	cs, err := client.Connect(context.Background(), &mcp.IOTransport{Reader: out, Writer: in}, &mcp.ClientSessionOptions{ProtocolVersion: revision})
	require.NoError(t, err)
	t.Cleanup(func() {
		_ = cs.Close()
		select {
		case <-ended:
		case <-time.After(10 * time.Second):
			t.Error("the stage did not end")
		}
	})
	return cs
}

func textIn(t *testing.T, res *mcp.CallToolResult) string {
	t.Helper()
	var b strings.Builder
	for _, block := range res.Content {
		if text, ok := block.(*mcp.TextContent); ok {
			b.WriteString(text.Text + "\n")
		}
	}
	return b.String()
}

func callTool(t *testing.T, cs *mcp.ClientSession, name string, arguments any) *mcp.CallToolResult {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	res, err := cs.CallTool(ctx, &mcp.CallToolParams{Name: name, Arguments: arguments})
	require.NoError(t, err)
	return res
}

// A script is a server that answers with what the test wants.
type script struct {
	t     *testing.T
	in    io.WriteCloser
	out   chan string // what the client gets
	seen  chan string // what the server gets
	say   func(line string)
	ended chan error
}

// play runs a stage in front of a server whose lines answer makes. A "" is no
// answer.
func play(t *testing.T, p *Protector, answer func(m message) string) *script {
	t.Helper()
	toStage, in := io.Pipe()
	fromStage, out := io.Pipe()
	s := &script{t: t, in: in, out: make(chan string, 1000), seen: make(chan string, 1000), ended: make(chan error, 1)}
	ready := make(chan struct{})
	next := func(_ context.Context, in io.Reader, out io.Writer) error {
		s.say = func(line string) { _, _ = io.WriteString(out, line+"\n") }
		close(ready)
		lines := bufio.NewReader(in)
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				return nil
			}
			line = strings.TrimSuffix(line, "\n")
			s.seen <- line
			m := read([]byte(line))
			a := answer(m)
			if a == "END" {
				return nil
			}
			if a != "" {
				s.say(strings.ReplaceAll(a, "ID", string(m.id)))
			}
		}
	}
	go func() {
		s.ended <- p.Stage(next)(context.Background(), toStage, out)
		_ = out.Close()
	}()
	go func() {
		defer close(s.out)
		lines := bufio.NewScanner(fromStage)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			s.out <- lines.Text()
		}
	}()
	<-ready
	t.Cleanup(func() { _ = in.Close(); <-s.ended })
	return s
}

func (s *script) send(lines ...string) {
	s.t.Helper()
	for _, line := range lines {
		_, err := io.WriteString(s.in, line+"\n")
		require.NoError(s.t, err)
	}
}

func (s *script) hangUp() { _ = s.in.Close() }

func (s *script) receive() string {
	s.t.Helper()
	select {
	case line := <-s.out:
		return line
	case <-time.After(10 * time.Second):
		s.t.Fatal("nothing comes")
		return ""
	}
}

func (s *script) next() string {
	s.t.Helper()
	select {
	case line := <-s.seen:
		return line
	case <-time.After(10 * time.Second):
		s.t.Fatal("nothing reaches the server")
		return ""
	}
}

const (
	hello       = `{"jsonrpc":"2.0","id":"h","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`
	helloAnswer = `{"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{"x":1},"new":{}},"serverInfo":{"name":"their","version":"1","color":"red"},"more":[1, 2]},"id":ID,"jsonrpc":"2.0"}`
	toolsAnswer = `{"jsonrpc":"2.0","id":ID,"result":{"tools":[{"name":"read_file","later":{"b":1,"a":2},"inputSchema":{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]},"annotations":{"readOnlyHint":true}}, {"name":"delete_file","inputSchema":{"type":"object"},"zz":9007199254740993}],"extra":{"k": 1}}}`
	callAnswer  = `{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"ok <&>","color":"red"},{"type":"text","text":"more"}],"structuredContent":{"n":9007199254740993, "a": 1},"_meta":{"z":12345678901234567890},"isError":false,"later":[1]}}`
)

// scripted answers like a server with two tools.
func scripted(m message) string {
	switch m.method {
	case "initialize":
		return helloAnswer
	case "tools/list":
		return toolsAnswer
	case "tools/call":
		return callAnswer
	case "ping", "no/such":
		return `{"jsonrpc":"2.0","id":ID,"result":{}}`
	}
	if m.id != nil && m.method != "" {
		return `{"jsonrpc":"2.0","id":ID,"error":{"code":-32601,"message":"no such method"}}`
	}
	return ""
}

// quiet is every protection that adds nothing to a list.
const quiet = "repair:\nresults: {keep: false}\nerrors:\nlimits: {deadline: 20s, rate: 1000/s}\nnames: {former: {open_file: {tool: read_file}}}\nvisibility: {hide: [nothing]}\n"

// With protections that add nothing to lists, what needs none is the server's own
// bytes: unknown fields, order, blanks, digits.
func TestUntouched(t *testing.T) {
	t.Parallel()
	p := protector(t, quiet)
	s := play(t, p, scripted)
	answered := func(line, id string) string { return strings.ReplaceAll(line, "ID", id) }
	s.send(hello)
	require.Equal(t, answered(helloAnswer, `"h"`), s.receive())
	s.next()
	s.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	require.Equal(t, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, s.next())
	s.send(`{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{}}`)
	require.Equal(t, answered(toolsAnswer, "2"), s.receive())
	require.Contains(t, s.next(), `"tools/list","params":{}}`)
	s.send(`{"jsonrpc":"2.0", "later":1, "id":3.0,"method":"tools/call","params":{"name":"read_file","arguments":{"path":"a","n":1.0},"task":{"ttl":1}, "_meta":{"x":[1, 2]}}}`)
	require.Equal(t, answered(callAnswer, "3.0"), s.receive())
	require.Contains(t, s.next(), "tools/list")
	got := s.next()
	require.Equal(t, `{"jsonrpc":"2.0", "later":1, "id":3.0,"method":"tools/call","params":{"name":"read_file","arguments":{"path":"a","n":1.0},"task":{"ttl":1}, "_meta":{"x":[1, 2]}}}`,
		strings.Replace(got, string(read([]byte(got)).id), "3.0", 1))
	s.send(`{"jsonrpc":"2.0","id":4,"method":"no/such","params": [1]}`)
	require.Equal(t, `{"jsonrpc":"2.0","id":4,"method":"no/such","params": [1]}`, s.next())
	require.Equal(t, `{"jsonrpc":"2.0","id":4,"result":{}}`, s.receive())
	s.say(`{"jsonrpc":"2.0","id":1,"method":"sampling/createMessage", "params":{}}`)
	require.Equal(t, `{"jsonrpc":"2.0","id":1,"method":"sampling/createMessage", "params":{}}`, s.receive())
	s.send(`{"jsonrpc":"2.0","id":1,"result":{"a": 1}}`)
	require.Equal(t, `{"jsonrpc":"2.0","id":1,"result":{"a": 1}}`, s.next())
}
