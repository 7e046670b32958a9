package launch

import (
	"context"
	"errors"
	"fmt"
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
				return nil, c.ended(io.EOF)
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
	if err := c.conn.Send(ctx, data); err != nil {
		return c.ended(err)
	}
	return nil
}

// ended adds to err why the server can have gone.
func (c *connection) ended(err error) error {
	p, ok := c.conn.(*Process)
	if !ok || errors.Is(err, ErrNotReading) {
		return err
	}
	select {
	case <-c.closed: // by us
		return err
	default:
		return fmt.Errorf("the server ended%s: %w", p.LastWords(), err)
	}
}

func (c *connection) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.conn.Close()
}

func (c *connection) SessionID() string { return "" }
