package stdioguard

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/steadymcp/steady/internal/wire"
)

// A conn is the connection of one session. A goroutine of its own reads lines
// and hands the good ones to Read; see drain.go for how it ends.
type conn struct {
	opts     *Options
	reporter *reporter
	lines    lineReader
	out      io.Writer
	streams  io.Closer

	incoming chan jsonrpc.Message
	wake     chan struct{} // something is in injected
	ended    chan struct{} // nothing more will be read: Read returns endErr
	closing  sync.Once
	closeErr error

	writing sync.Mutex // held while a message is encoded and written
	buf     []byte     // where it is encoded

	backlog  atomic.Int64 // bytes of results in Write
	rejected atomic.Int64

	mu sync.Mutex
	// calls are the client's requests that the SDK has not answered, those
	// that the client has cancelled included: a handler that ignores its
	// context still runs. At most MaxInFlight.
	calls map[jsonrpc.ID]*call
	// forgotten counts those of calls whose reply nobody waits for.
	forgotten int
	// replying are requests that are no longer in calls, and whose replies are
	// not yet written.
	replying map[*call]struct{}
	// admitted counts calls, ever.
	admitted uint64
	// asked are the server's requests that the client has not answered.
	asked map[jsonrpc.ID]struct{}
	// injected are messages that the client never sent: see drain.go.
	injected []jsonrpc.Message
	// rejections are written by a goroutine of their own, which runs while
	// there are any, so that reading never waits for the client to read.
	rejections      [][]byte
	rejectionBytes  int
	rejectionWriter bool
	// revision is the protocol revision of a session with a handshake.
	revision     string
	overloadedAt time.Time
	complaints   complaints

	drainState
}

// A call is a request of the client's that has no reply yet.
type call struct {
	request *jsonrpc.Request
	batch   *batch // nil if it came alone
	number  uint64 // of its admission
	// cancelled is when the client cancelled it, zero if it did not. It will
	// get no reply.
	cancelled time.Time
}

// forgotten reports whether nobody waits for the reply. The requests of a batch
// are still needed to complete it.
func (c *call) forgotten() bool { return !c.cancelled.IsZero() && c.batch == nil }

// maxRejections bounds the error responses that wait to be written, in bytes.
// A client that sends more malformed lines than that without reading gets no
// more of them answered.
const maxRejections = 128 << 10

// overloadedEvery is how often Overloaded is sent at most.
const overloadedEvery = 10 * time.Second

// codeServer is for what the server does not want to do now. JSON-RPC 2.0,
// section 5.1, leaves -32000 to -32099 to implementations; MCP 2026-07-28
// reserves -32020 and below.
const codeServer = -32000

func newConn(t *Transport) *conn {
	c := &conn{
		opts:     &t.opts,
		reporter: t.reporter,
		lines:    lineReader{r: t.in, limit: t.opts.MaxLine},
		out:      t.out,
		streams:  streams{t.in, t.out},
		incoming: make(chan jsonrpc.Message),
		wake:     make(chan struct{}, 1),
		ended:    make(chan struct{}),
		calls:    make(map[jsonrpc.ID]*call),
		replying: make(map[*call]struct{}),
		asked:    make(map[jsonrpc.ID]struct{}),

		drainState: drainState{handlers: make(map[*handler]struct{})},
	}
	go c.readLines()
	return c
}

type streams struct {
	in  io.Closer
	out io.Closer
}

func (s streams) Close() error { return errors.Join(s.in.Close(), s.out.Close()) }

// SessionID implements [mcp.Connection]: stdio has no session ids.
func (c *conn) SessionID() string { return "" }

// Close implements [mcp.Connection].
func (c *conn) Close() error {
	c.closing.Do(func() {
		c.mu.Lock()
		c.endLocked(errOver)
		c.mu.Unlock()
		c.closeErr = c.streams.Close()
	})
	return c.closeErr
}

// Read implements [mcp.Connection]. It does not return an error at the end of
// input, because the SDK would then cancel every handler and refuse every
// reply: it waits until all requests are answered, or will not be.
func (c *conn) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		if m := c.nextInjected(); m != nil {
			return m, nil
		}
		select {
		case m := <-c.incoming:
			return m, nil
		case <-c.wake:
		case <-c.ended:
			return nil, c.endErr
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// readLines reads until the end of input.
func (c *conn) readLines() {
	for {
		ln, err := c.lines.next()
		if err != nil {
			c.inputEnded(err)
			return
		}
		if !c.handleLine(ln) {
			return
		}
	}
}

// handleLine reports whether to go on.
func (c *conn) handleLine(ln line) bool {
	if ln.tooLong {
		c.reject(ln.sniffed.rejection(jsonrpc.CodeInvalidRequest,
			fmt.Sprintf("longer than %d bytes", c.opts.MaxLine)), ln.size)
		return true
	}
	start := skipBlanks(ln.text, 0)
	switch {
	case start == len(ln.text):
		return true // MCP has no meaning for a blank line
	case ln.text[start] == '[':
		return c.handleBatch(ln)
	}
	m, r := decodeMessage(ln.text)
	if r == nil {
		r = c.admit(m, nil)
	}
	if r != nil {
		c.reject(r, ln.size)
		return true
	}
	return c.deliver(m)
}

// deliver hands a message to Read, and reports whether anybody will read more.
func (c *conn) deliver(m jsonrpc.Message) bool {
	select {
	case c.incoming <- m:
		return true
	case <-c.ended:
		return false
	}
}

// admit takes note of a message before it is passed on, or says why it is not.
func (c *conn) admit(m jsonrpc.Message, b *batch) *rejection {
	c.mu.Lock()
	defer c.mu.Unlock()
	r, isRequest := m.(*jsonrpc.Request)
	if !isRequest {
		delete(c.asked, m.(*jsonrpc.Response).ID)
		return nil
	}
	if !r.IsCall() {
		if r.Method == wire.NotificationCancelled {
			c.clientCancelledLocked(cancelledID(r))
		}
		return nil
	}
	invalid := func(code int64, reason string) *rejection {
		return &rejection{code: code, reason: reason, id: appendID(nil, r.ID)}
	}
	if c.phase != serving {
		return invalid(codeServer, "the server is shutting down")
	}
	if used := c.calls[r.ID]; used != nil {
		if used.forgotten() {
			return invalid(jsonrpc.CodeInvalidRequest, `"id" is that of a cancelled request whose handler still runs`)
		}
		// Not under its id: the client would take that for the answer to the
		// request that is in flight.
		return &rejection{code: jsonrpc.CodeInvalidRequest, reason: `"id" is that of a request in flight`}
	}
	backlog := c.backlog.Load()
	if exceeds(len(c.calls)+1, c.opts.MaxInFlight) {
		c.reclaimLocked()
	}
	if exceeds(len(c.calls)+1, c.opts.MaxInFlight) || exceeds(int(backlog), c.opts.MaxBacklog) {
		if now := time.Now(); now.Sub(c.overloadedAt) >= overloadedEvery {
			c.overloadedAt = now
			c.reporter.report(Overloaded{InFlight: len(c.calls), Backlog: backlog})
		}
		return invalid(codeServer, "the server is busy: try again when earlier requests are answered and their answers are read")
	}
	c.admitted++
	c.calls[r.ID] = &call{request: r, batch: b, number: c.admitted}
	return nil
}

// clientCancelledLocked takes note that the client does not expect an answer
// (MCP, "Cancellation"). It must not cancel its handshake, whose answer it
// gets all the same.
func (c *conn) clientCancelledLocked(id jsonrpc.ID) {
	call := c.calls[id]
	if call == nil || !call.cancelled.IsZero() || call.request.Method == wire.MethodInitialize {
		return
	}
	call.cancelled = time.Now()
	if call.forgotten() {
		c.forgotten++
		c.drainedLocked()
	}
}

// removeLocked removes a call that has been answered.
func (c *conn) removeLocked(id jsonrpc.ID) *call {
	call := c.calls[id]
	if call != nil && call.forgotten() {
		c.forgotten--
	}
	delete(c.calls, id)
	return call
}

// awaitedLocked counts the requests whose replies are waited for.
func (c *conn) awaitedLocked() int { return len(c.calls) - c.forgotten + len(c.replying) }

// reclaimAfter is how long a cancelled request may stay with the SDK without a
// handler that runs.
const reclaimAfter = time.Minute

// reclaimLocked removes cancelled requests that the SDK will never answer,
// because their results could not be encoded. They are not known by name, but
// by number: more requests are held than handlers run.
func (c *conn) reclaimLocked() {
	if !c.served {
		return
	}
	for id, call := range c.calls {
		if c.forgotten <= len(c.handlers) {
			return
		}
		if call.forgotten() && time.Since(call.cancelled) > reclaimAfter {
			c.removeLocked(id)
		}
	}
}

// cancelledID returns the id that a cancelled notification is about.
func cancelledID(r *jsonrpc.Request) jsonrpc.ID {
	var p struct {
		RequestID json.RawMessage `json:"requestId"`
	}
	if json.Unmarshal(r.Params, &p) != nil || len(p.RequestID) == 0 {
		return jsonrpc.ID{}
	}
	id, _ := decodeID(p.RequestID)
	return id
}

// reject answers a message that is not passed on.
func (c *conn) reject(r *rejection, size int64) {
	answered := false
	if r.response {
		c.failAsked(r)
	} else if reply := c.rejectionReply(r); reply != nil {
		answered = c.queueRejection(reply)
	}
	c.reportRejection(r, size, answered)
}

func (c *conn) reportRejection(r *rejection, size int64, answered bool) {
	c.rejected.Add(1)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.complainLocked(Rejected{Code: r.code, Reason: r.reason, Bytes: size, Answered: answered})
}

// rejectionReply returns the error response for r, or nil if there is to be none.
func (c *conn) rejectionReply(r *rejection) []byte {
	id := r.id
	if id != nil {
		// An id that was recovered from a broken line may be wrong. It must
		// not answer somebody else's request.
		if parsed, problem := decodeID(id); problem == "" {
			c.mu.Lock()
			if used := c.calls[parsed]; used != nil && !used.forgotten() {
				id = nil
			}
			c.mu.Unlock()
		}
	}
	if id == nil && c.opts.NoNullID {
		return nil
	}
	return appendRejection(nil, id, r.code, r.reason)
}

// failAsked tells the handler that waits for a response that it cannot be read.
func (c *conn) failAsked(r *rejection) {
	if r.id == nil {
		return
	}
	id, problem := decodeID(r.id)
	if problem != "" {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.asked[id]; ok {
		c.failLocked(id, "the client's answer could not be read: "+r.reason)
	}
}

// queueRejection reports whether there was room.
func (c *conn) queueRejection(reply []byte) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.rejections) > 0 && c.rejectionBytes+len(reply) > maxRejections {
		return false
	}
	c.rejections = append(c.rejections, reply)
	c.rejectionBytes += len(reply)
	if !c.rejectionWriter {
		c.rejectionWriter = true
		go c.writeRejections()
	}
	return true
}

func (c *conn) writeRejections() {
	for {
		c.mu.Lock()
		if len(c.rejections) == 0 {
			c.rejectionWriter = false
			c.drainedLocked()
			c.mu.Unlock()
			return
		}
		reply := c.rejections[0]
		c.rejections = c.rejections[1:]
		c.rejectionBytes -= len(reply)
		c.mu.Unlock()
		// A failed write has ended the session; the rest fails as fast.
		_ = c.write(func(dst []byte) ([]byte, error) { return append(dst, reply...), nil })
	}
}

func (c *conn) count(s *Stats) {
	c.mu.Lock()
	s.InFlight = c.awaitedLocked()
	s.Cancelled = c.forgotten
	c.mu.Unlock()
	s.Backlog = c.backlog.Load()
	s.Rejected = c.rejected.Load()
}
