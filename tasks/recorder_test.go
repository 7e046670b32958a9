package tasks_test

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// recorder is a client transport that copies the parameters of what belongs to
// a subscription, which the SDK's client has no place for.
type recorder struct {
	mcp.Transport
	messages chan<- map[string]any
}

func (r *recorder) Connect(ctx context.Context) (mcp.Connection, error) {
	c, err := r.Transport.Connect(ctx)
	return &recorderConn{c, r.messages}, err
}

type recorderConn struct {
	mcp.Connection
	messages chan<- map[string]any
}

func (c *recorderConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		msg, err := c.Connection.Read(ctx)
		req, ok := msg.(*jsonrpc.Request)
		if !ok || !strings.HasPrefix(req.Method, "notifications/") {
			return msg, err
		}
		var params map[string]any
		_ = json.Unmarshal(req.Params, &params)
		c.messages <- params
		if req.Method != "notifications/tasks" {
			return msg, err
		}
	}
}

type listenParams struct {
	mcp.ParamsBase
	Notifications struct {
		TaskIDs []string `json:"taskIds"`
	} `json:"notifications"`
}

func listenTo(ids ...string) *listenParams {
	p := &listenParams{}
	p.Notifications.TaskIDs = ids
	return p
}
