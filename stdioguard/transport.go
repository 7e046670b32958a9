package stdioguard

import (
	"context"
	"errors"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A Transport is an [mcp.Transport] for one session, in newline-delimited JSON
// (MCP, "Transports, stdio").
//
// What it reads: one byte order mark at the very beginning, CRLF, blank lines
// and blanks around a message are accepted. A line that is not UTF-8 or not
// JSON is answered with -32700; one that is no message, nests deeper than
// 1,000 levels or is longer than MaxLine with -32600. The answer goes under
// the line's own id, exactly as it was written, wherever that can be found;
// with a null id only as a last resort (see NoNullID). Never answered are
// responses, and never under the id of a request that is still in flight. A
// batch is answered with one array up to revision 2025-03-26, and refused
// after it, as the revisions say. A message must be on one line: the
// specification wants that, although the SDK's own transport does not insist.
//
// What it writes: each message in one write, on one line, in valid UTF-8,
// under MaxMessage bytes. A result that is larger is replaced, before anything
// is written, by what its method calls an error: a result with isError for
// tools/call, -32603 for the rest. A request or notification of the server's
// that is larger is refused to its sender, and the session goes on.
//
// A Transport may be used from many goroutines at once. It serves one session:
// Connect and Serve may be called once, together.
type Transport struct {
	opts     Options
	reporter *reporter
	in       io.ReadCloser
	out      io.WriteCloser
	claim    *claim // nil if the streams were given

	mu     sync.Mutex
	conn   *conn // nil before Connect
	closed bool
}

func newTransport(opts *Options) *Transport {
	t := &Transport{opts: opts.withDefaults()}
	t.reporter = newReporter(t.opts.Observer)
	return t
}

// Connect implements [mcp.Transport]. Most servers call [Transport.Serve]
// instead: with Connect and [mcp.Server.Run] the end of input still drains, but
// signals and the context do not.
func (t *Transport) Connect(context.Context) (mcp.Connection, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.closed:
		return nil, errors.New("stdioguard: the transport is closed")
	case t.conn != nil:
		return nil, errors.New("stdioguard: a transport serves one session")
	}
	t.conn = newConn(t)
	return t.conn, nil
}

// Close ends the session if one is running, without waiting for it: Serve
// waits. A guard's standard input and output are given back, and diverted text
// that is on its way gets Settle to be written; what remains then is counted
// as dropped. Events get Settle to be observed; none is reported after Close
// has returned. Close is idempotent.
func (t *Transport) Close() error {
	t.mu.Lock()
	if t.closed {
		t.mu.Unlock()
		return nil
	}
	t.closed = true
	c := t.conn
	t.mu.Unlock()

	var err error
	if c != nil {
		err = c.Close()
	}
	if t.claim != nil {
		// The last events may be logged to standard error. Where that is the
		// client's stream, it must not be given back before.
		if t.claim.shared {
			t.claim.settle(t.opts.Settle)
			t.reporter.close(t.opts.Settle)
		}
		claims.Lock()
		err = errors.Join(err, t.claim.restore())
		claims.held = nil
		claims.Unlock()
		if !t.claim.shared {
			t.claim.settle(t.opts.Settle)
		}
	} else if c == nil {
		err = errors.Join(t.in.Close(), t.out.Close())
	}
	t.reporter.close(t.opts.Settle)
	return err
}

// Stats counts what a transport has seen.
type Stats struct {
	// DivertedLines and DivertedBytes were written to standard output by
	// something other than the protocol; zero with DivertDirect, which does
	// not see them. DroppedLines and DroppedBytes are those of them that did
	// not reach standard error.
	DivertedLines, DivertedBytes int64
	DroppedLines, DroppedBytes   int64
	// Rejected counts the messages of the client's that were not passed on.
	Rejected int64
	// InFlight counts the requests whose replies are waited for, Cancelled
	// those that the client has cancelled and whose handlers still run.
	InFlight, Cancelled int
	// Backlog counts the bytes of results that wait until the client has read
	// earlier ones.
	Backlog int64
}

// Stats returns the counts up to now.
func (t *Transport) Stats() Stats {
	var s Stats
	if t.claim != nil {
		t.claim.count(&s)
	}
	t.mu.Lock()
	c := t.conn
	t.mu.Unlock()
	if c != nil {
		c.count(&s)
	}
	return s
}
