package launch

import (
	"context"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Transport makes of target what the SDK takes for a transport. Lines that are
// no messages are skipped, as most clients do, and given to stray, which may be
// nil.
func Transport(target *Target, stray func(Line)) mcp.Transport { return &transport{target, stray} }

type transport struct {
	target *Target
	stray  func(Line)
}

func (t *transport) Connect(ctx context.Context) (mcp.Connection, error) {
	conn, err := t.target.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &connection{conn: conn, stray: t.stray, closed: make(chan struct{})}, nil
}

type connection struct {
	conn   Conn
	stray  func(Line)
	once   sync.Once
	closed chan struct{}
}

func (c *connection) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-c.closed:
			return nil, io.EOF
		case line, ok := <-c.conn.Lines():
			if !ok {
				return nil, io.EOF
			}
			if line.Err != nil {
				return nil, line.Err
			}
			if !line.Cut && len(line.Text) > 0 {
				if msg, err := jsonrpc.DecodeMessage(line.Text); err == nil {
					return msg, nil
				}
			}
			if c.stray != nil && len(line.Text) > 0 {
				c.stray(line)
			}
		}
	}
}

func (c *connection) Write(ctx context.Context, msg jsonrpc.Message) error {
	data, err := jsonrpc.EncodeMessage(msg)
	if err != nil {
		return err
	}
	return c.conn.Send(ctx, data)
}

func (c *connection) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.conn.Close()
}

func (c *connection) SessionID() string { return "" }
