package protect

import (
	"context"
	"errors"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A conn is a session of server. It is what a handshake begins.
type conn struct {
	s    *session
	in   chan jsonrpc.Message
	done chan struct{}
	once sync.Once
}

// connect begins a session of server, unless there is one on which nothing was said.
func (s *session) connect() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.fresh:
		return nil
	case len(s.conns) >= maxConns:
		return errors.New("too many handshakes in one session")
	}
	c := &conn{s: s, in: make(chan jsonrpc.Message, 64), done: make(chan struct{})}
	if _, err := s.server.Connect(context.Background(), c, nil); err != nil {
		return err
	}
	s.conns = append(s.conns, c)
	s.fresh = true
	return nil
}

// Connect implements [mcp.Transport].
func (c *conn) Connect(context.Context) (mcp.Connection, error) { return c, nil }

// deliver hands server a message.
func (c *conn) deliver(msg jsonrpc.Message) {
	select {
	case c.in <- msg:
	case <-c.done:
	}
}

// Read implements [mcp.Connection].
func (c *conn) Read(ctx context.Context) (jsonrpc.Message, error) {
	select {
	case msg := <-c.in:
		return msg, nil
	case <-c.done:
		return nil, io.EOF
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Write implements [mcp.Connection].
func (c *conn) Write(_ context.Context, msg jsonrpc.Message) error { return c.s.fromServer(msg) }

// Close implements [mcp.Connection].
func (c *conn) Close() error {
	c.once.Do(func() { close(c.done) })
	return nil
}

// SessionID implements [mcp.Connection]. What is kept for a caller, such as the
// results that were cut, is kept for one session.
func (c *conn) SessionID() string { return c.s.nonce }
