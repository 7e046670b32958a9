package tasks

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/steadymcp/steady/internal/wire"
)

// metaParked is where a result that is a task is kept through the SDK's
// decoding, which knows of no such thing.
const metaParked = "steady/created"

// park rewrites a result that is a task into a tool result that carries it. It
// returns nil for any other result.
func park(result json.RawMessage) json.RawMessage {
	if !bytes.Contains(result, []byte(`"taskId"`)) {
		return nil
	}
	var created struct {
		ResultType string `json:"resultType"`
		TaskID     string `json:"taskId"`
	}
	if json.Unmarshal(result, &created) != nil || created.ResultType != resultTask || created.TaskID == "" {
		return nil
	}
	out, err := json.Marshal(map[string]any{
		"content":    []any{},
		"resultType": resultTask,
		"_meta":      map[string]any{metaParked: result},
	})
	if err != nil {
		return nil
	}
	return out
}

// parked is the task that a call has become, with what the server said of the
// call.
type parked struct {
	Task
	Meta map[string]any `json:"_meta"`
}

// unpark returns the task that park has kept in a result.
func unpark(res mcp.Result) (p parked, ok bool) {
	r, isTool := res.(*mcp.CallToolResult)
	if !isTool || r == nil || r.Meta[metaParked] == nil {
		return p, false
	}
	raw, err := json.Marshal(r.Meta[metaParked])
	if err != nil || json.Unmarshal(raw, &p) != nil || p.ID == "" {
		return p, false
	}
	return p, true
}

// disclose adds to a final result what the server said when it created the task:
// that names were changed, or that the call was joined. The model sees only the
// final result.
func (p *parked) disclose(res *mcp.CallToolResult) {
	if res.Meta == nil {
		res.Meta = mcp.Meta{}
	}
	for k, v := range p.Meta {
		if _, ok := res.Meta[k]; !ok {
			res.Meta[k] = v
		}
	}
	task, _ := p.Meta[wire.MetaTask].(map[string]any)
	if note, _ := task["note"].(string); note != "" {
		res.Content = append(res.Content, &mcp.TextContent{Text: note})
	}
}

// parkMessage applies park to a message from the server.
func parkMessage(msg jsonrpc.Message) bool {
	res, ok := msg.(*jsonrpc.Response)
	if !ok {
		return false
	}
	parked := park(res.Result)
	if parked == nil {
		return false
	}
	res.Result = parked
	return true
}

// parkEncoded is parkMessage for an encoded message. Everything else comes back
// as it was, byte by byte.
func parkEncoded(data []byte) []byte {
	if !bytes.Contains(data, []byte(`"taskId"`)) {
		return data
	}
	msg, err := jsonrpc.DecodeMessage(bytes.TrimSpace(data))
	if err != nil || !parkMessage(msg) {
		return data
	}
	out, err := jsonrpc.EncodeMessage(msg)
	if err != nil {
		return data
	}
	return out
}

// Transport wraps a client transport that does not speak HTTP.
func (x *Client) Transport(t mcp.Transport) mcp.Transport { return &clientTransport{t} }

type clientTransport struct{ inner mcp.Transport }

func (t *clientTransport) Connect(ctx context.Context) (mcp.Connection, error) {
	c, err := t.inner.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &clientConn{c}, nil
}

type clientConn struct{ mcp.Connection }

func (c *clientConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	msg, err := c.Connection.Read(ctx)
	parkMessage(msg)
	return msg, err
}

// RoundTripper wraps the HTTP transport of an [mcp.StreamableClientTransport]:
//
//	&mcp.StreamableClientTransport{Endpoint: url, HTTPClient: &http.Client{Transport: x.RoundTripper(nil)}}
//
// A nil base means [http.DefaultTransport].
func (x *Client) RoundTripper(base http.RoundTripper) http.RoundTripper {
	if base == nil {
		base = http.DefaultTransport
	}
	return &roundTripper{base}
}

type roundTripper struct{ base http.RoundTripper }

func (t *roundTripper) RoundTrip(r *http.Request) (*http.Response, error) {
	if strings.HasPrefix(r.Header.Get(headerMethod), "tasks/") && r.GetBody != nil {
		var err error
		if r, err = withName(r); err != nil {
			return nil, err
		}
	}
	resp, err := t.base.RoundTrip(r)
	if err != nil || r.Method != http.MethodPost {
		return resp, err
	}
	switch kind := resp.Header.Get("Content-Type"); {
	case strings.HasPrefix(kind, "text/event-stream"):
		resp.Body = &eventReader{body: resp.Body, lines: bufio.NewReader(resp.Body)}
		resp.ContentLength = -1
	case strings.HasPrefix(kind, "application/json"):
		data, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil {
			return nil, err
		}
		data = parkEncoded(data)
		resp.Body = io.NopCloser(bytes.NewReader(data))
		resp.ContentLength = int64(len(data))
	}
	return resp, nil
}

// withName returns r with the header that the extension wants on requests for
// a task: the SDK sets it only for methods that it knows.
func withName(r *http.Request) (*http.Request, error) {
	body, err := r.GetBody()
	if err != nil {
		return nil, err
	}
	defer body.Close()
	var msg struct {
		Params struct {
			TaskID string `json:"taskId"`
		} `json:"params"`
	}
	if json.NewDecoder(body).Decode(&msg) != nil || msg.Params.TaskID == "" {
		return r, nil
	}
	r = r.Clone(r.Context())
	r.Header.Set(headerName, msg.Params.TaskID)
	return r, nil
}

// eventReader applies park to the data lines of an event stream.
type eventReader struct {
	body  io.ReadCloser
	lines *bufio.Reader
	rest  []byte // of the line that is being read out
	err   error
}

func (e *eventReader) Read(p []byte) (int, error) {
	for len(e.rest) == 0 {
		if e.err != nil {
			return 0, e.err
		}
		var line []byte
		line, e.err = e.lines.ReadBytes('\n')
		if data, ok := bytes.CutPrefix(line, []byte("data:")); ok {
			if out := parkEncoded(data); len(out) > 0 && &out[0] != &data[0] {
				line = append(append([]byte("data: "), out...), '\n')
			}
		}
		e.rest = line
	}
	n := copy(p, e.rest)
	e.rest = e.rest[n:]
	return n, nil
}

func (e *eventReader) Close() error { return e.body.Close() }
