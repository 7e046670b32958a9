package tasks

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// metaStream is where a wrapped connection tells the middleware about a
// subscriptions/listen: there is no other way through the SDK's decoding. Its
// value names the connection by a random token, so that a client that sends the
// key itself cannot name another one's.
const metaStream = "steady/stream"

// Transport wraps the transport of a server that does not speak HTTP, so that
// notifications/tasks are pushed to clients that listen. For HTTP see
// [Manager.Handler].
func (m *Manager) Transport(t mcp.Transport) mcp.Transport { return &serverTransport{t, m} }

type serverTransport struct {
	inner mcp.Transport
	m     *Manager
}

func (t *serverTransport) Connect(ctx context.Context) (mcp.Connection, error) {
	inner, err := t.inner.Connect(ctx)
	if err != nil {
		return nil, err
	}
	c := &serverConn{Connection: inner, m: t.m, token: rand.Text()}
	t.m.conns.Store(c.token, c)
	return c, nil
}

// streams are the open wrapped connections, by token.
type streams struct{ sync.Map }

type serverConn struct {
	mcp.Connection
	m     *Manager
	token string
}

// streamMeta is the value of metaStream.
type streamMeta struct {
	Token   string          `json:"token"`
	ID      json.RawMessage `json:"id"`
	TaskIDs []string        `json:"taskIds"`
}

func (c *serverConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	msg, err := c.Connection.Read(ctx)
	if req, ok := msg.(*jsonrpc.Request); ok && req.Method == methodListen {
		if params, ok := c.annotate(req); ok {
			req.Params = params
		}
	}
	return msg, err
}

// annotate returns the parameters of a subscriptions/listen with what the
// middleware needs in their _meta.
func (c *serverConn) annotate(req *jsonrpc.Request) (json.RawMessage, bool) {
	ids := listenedTasks(req.Params)
	if len(ids) == 0 {
		return nil, false
	}
	var params, meta map[string]json.RawMessage
	if json.Unmarshal(req.Params, &params) != nil {
		return nil, false
	}
	if m, ok := params["_meta"]; ok && json.Unmarshal(m, &meta) != nil {
		return nil, false
	}
	if meta == nil {
		meta = map[string]json.RawMessage{}
	}
	id, err := json.Marshal(req.ID.Raw())
	if err != nil {
		return nil, false
	}
	if meta[metaStream], err = json.Marshal(streamMeta{c.token, id, ids}); err != nil {
		return nil, false
	}
	if params["_meta"], err = json.Marshal(meta); err != nil {
		return nil, false
	}
	out, err := json.Marshal(params)
	return out, err == nil
}

func (c *serverConn) Close() error {
	c.m.conns.Delete(c.token)
	return c.Connection.Close()
}

func (c *serverConn) push(ctx context.Context, method string, params json.RawMessage) error {
	return c.Connection.Write(ctx, &jsonrpc.Request{Method: method, Params: params})
}

// takeStream returns the stream of a subscriptions/listen, or nil if its
// transport cannot push or it names no tasks.
func (m *Manager) takeStream(ctx context.Context, req *mcp.SubscriptionsListenRequest) *stream {
	if s, ok := ctx.Value(streamKey{}).(*stream); ok {
		return s
	}
	if req.Params == nil || req.Params.Meta[metaStream] == nil {
		return nil
	}
	raw, err := json.Marshal(req.Params.Meta[metaStream])
	if err != nil {
		return nil
	}
	var sm streamMeta
	if json.Unmarshal(raw, &sm) != nil {
		return nil
	}
	c, ok := m.conns.Load(sm.Token)
	if !ok {
		return nil
	}
	return &stream{taskIDs: sm.TaskIDs, id: sm.ID, push: c.(*serverConn).push}
}
