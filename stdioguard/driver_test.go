package stdioguard_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/steadymcp/steady/internal/mcptest"
	"github.com/steadymcp/steady/stdioguard"
)

// A driver is a client that writes and reads lines, and insists that each line
// it reads is one JSON-RPC message.
type driver struct {
	t        testing.TB
	revision string
	in       io.WriteCloser
	out      *bufio.Reader
	nextID   int
}

func newDriver(t testing.TB, in io.WriteCloser, out io.Reader) *driver {
	return &driver{t: t, in: in, out: bufio.NewReaderSize(out, 1<<20), nextID: 1000}
}

// A reply is a message from the server.
type reply struct {
	raw    string
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Result *struct {
		ResultType string `json:"resultType"`
		IsError    bool   `json:"isError"`
		Content    []struct {
			Text string `json:"text"`
		} `json:"content"`
		StructuredContent any            `json:"structuredContent"`
		Meta              map[string]any `json:"_meta"`
		ProtocolVersion   string         `json:"protocolVersion"`
	} `json:"result"`
	Error *struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
	Params json.RawMessage `json:"params"`
}

func (r *reply) text() string {
	var texts []string
	if r.Result != nil {
		for _, c := range r.Result.Content {
			texts = append(texts, c.Text)
		}
	}
	return strings.Join(texts, "\n")
}

func (d *driver) send(lines ...string) {
	d.t.Helper()
	for _, l := range lines {
		_, err := io.WriteString(d.in, l+"\n")
		require.NoError(d.t, err)
	}
}

// read returns the next message, nil at the end.
func (d *driver) read() *reply {
	d.t.Helper()
	raw, err := d.out.ReadBytes('\n')
	if err == io.EOF && len(raw) == 0 {
		return nil
	}
	require.NoError(d.t, err, "%q", raw)
	return parseReply(d.t, raw)
}

func parseReply(t testing.TB, raw []byte) *reply {
	t.Helper()
	r := &reply{raw: string(bytes.TrimRight(raw, "\n"))}
	if raw[0] == '[' {
		require.True(t, json.Valid(raw), "%.300q", raw)
		return r
	}
	require.NoError(t, json.Unmarshal(raw, r), "the client received %.300q", raw)
	require.Contains(t, r.raw, `{"jsonrpc":"2.0"`)
	return r
}

// wait reads until the reply to id, which is given as JSON.
func (d *driver) wait(id string) *reply {
	d.t.Helper()
	for {
		r := d.read()
		require.NotNil(d.t, r, "the stream ended before the reply to %s", id)
		if string(r.ID) == id && r.Method == "" {
			return r
		}
	}
}

// start begins a session of the given revision.
func (d *driver) start(revision string) {
	d.t.Helper()
	d.revision = revision
	if revision == mcptest.Stateless {
		return // every request says so itself
	}
	d.send(initialize(revision))
	r := d.wait("0")
	require.NotNil(d.t, r.Result, r.raw)
	require.Equal(d.t, revision, r.Result.ProtocolVersion)
	d.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
}

func initialize(revision string) string {
	return `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"` + revision +
		`","capabilities":{"elicitation":{}},"clientInfo":{"name":"driver","version":"1"}}}`
}

// request returns a request with the given id, in JSON.
func (d *driver) request(id, method string, params map[string]any) string {
	d.t.Helper()
	if params == nil {
		params = map[string]any{}
	}
	if d.revision == mcptest.Stateless {
		params["_meta"] = map[string]any{
			"io.modelcontextprotocol/protocolVersion":    d.revision,
			"io.modelcontextprotocol/clientInfo":         map[string]any{"name": "driver", "version": "1"},
			"io.modelcontextprotocol/clientCapabilities": map[string]any{},
		}
	}
	raw, err := json.Marshal(params)
	require.NoError(d.t, err)
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`, id, method, raw)
}

// tool returns a call of the test server's tool.
func (d *driver) tool(id, name string, s script) string {
	d.t.Helper()
	return d.request(id, "tools/call", map[string]any{"name": name, "arguments": s})
}

// call calls a tool and waits for its reply.
func (d *driver) call(name string, s script) *reply {
	d.t.Helper()
	d.nextID++
	id := fmt.Sprint(d.nextID)
	d.send(d.tool(id, name, s))
	return d.wait(id)
}

// alive checks that the session is.
func (d *driver) alive() {
	d.t.Helper()
	require.Equal(d.t, "still here", d.call("echo", script{Text: "still here"}).text())
}

// memory connects a driver to a server in this process.
func memory(t testing.TB, opts *stdioguard.Options) (*driver, *stdioguard.Transport, <-chan error) {
	t.Helper()
	serverIn, in := io.Pipe()
	out, serverOut := io.Pipe()
	transport := stdioguard.NewTransport(serverIn, serverOut, opts)
	served := make(chan error, 1)
	go func() { served <- transport.Serve(context.Background(), newServer()) }()
	t.Cleanup(func() {
		_ = in.Close()
		_ = out.Close()
	})
	return newDriver(t, in, out), transport, served
}
