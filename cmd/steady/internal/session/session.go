// Package session is a client that hides nothing: it reads the server's lines
// as they are, answers are matched by id, and whatever a client would stumble
// over is kept for the report instead.
package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/steadymcp/steady/cmd/steady/internal/launch"
)

// The revisions that we speak: with a handshake, and without.
const (
	Revision  = "2025-11-25"
	Stateless = "2026-07-28"
)

// Why a request has no answer.
var (
	ErrTimeout = errors.New("no answer")
	ErrEnded   = errors.New("the connection ended")
)

// Bounds on what is kept of a session.
const (
	maxStrays = 64
	maxFaults = 64
	keptLine  = 2000 // bytes of a stray line that are kept
)

// A Session is a connection to a server. Its methods may be called from many
// goroutines.
type Session struct {
	conn launch.Conn
	gone chan struct{} // closed when no more can come

	mu      sync.Mutex
	last    int64
	pending map[string]*Call
	done    map[string]bool // ids that were answered
	phase   string
	strays  []Stray
	faults  []Fault
	heard   map[string]int // notifications by method

	server Server
}

// Server is what the server said about itself.
type Server struct {
	Name, Version, Instructions string
	// Revision is what was agreed on. If it is [Stateless] or later, each
	// request says so itself.
	Revision     string
	Stateless    bool
	Capabilities map[string]json.RawMessage
}

// A Stray is output that is no message.
type Stray struct {
	Phase string // what was going on; see SetPhase
	Text  string
	// Glued says that a message came on the same line, after the text.
	Glued bool
	// Partial says that the output ended within the line.
	Partial bool
}

// A Fault is a message that a client would not have expected.
type Fault struct {
	Kind FaultKind
	Text string
}

// FaultKind says what is wrong with a message.
type FaultKind string

// The faults.
const (
	AnsweredTwice FaultKind = "answered twice"
	UnknownID     FaultKind = "an answer to nothing that was asked"
	NoID          FaultKind = "an answer without an id"
	NoContent     FaultKind = "an answer with neither result nor error"
	TooLong       FaultKind = "a line that is too long"
)

// Error is the error of a JSON-RPC answer.
type Error struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data"`
}

func (e *Error) Error() string { return fmt.Sprintf("%d %s", e.Code, e.Message) }

// A Reply is what came of a request.
type Reply struct {
	Request []byte // what was sent
	Raw     []byte // the answer as it came
	Result  json.RawMessage
	Error   *Error
	// Err is set if there is no answer: ErrTimeout, ErrEnded, or why it could
	// not be sent.
	Err     error
	Elapsed time.Duration
}

// OK reports whether the request was answered with a result.
func (r *Reply) OK() bool { return r.Err == nil && r.Error == nil }

// A Call is a request that was sent.
type Call struct {
	s       *Session
	id      string // as JSON
	request []byte
	sent    time.Time
	answer  chan Reply // holds one
}

// Open begins to read from conn.
func Open(conn launch.Conn) *Session {
	s := &Session{
		conn: conn, gone: make(chan struct{}), pending: map[string]*Call{}, done: map[string]bool{},
		heard: map[string]int{}, phase: "handshake",
	}
	go s.readAll()
	return s
}

// SetPhase names what is going on, for the strays that come from now on.
func (s *Session) SetPhase(phase string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.phase = phase
}

// Strays returns what came that is no message.
func (s *Session) Strays() []Stray {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Stray(nil), s.strays...)
}

// Faults returns the messages that a client would not have expected.
func (s *Session) Faults() []Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Fault(nil), s.faults...)
}

// Server returns what the server said about itself.
func (s *Session) Server() Server { return s.server }

// Conn returns the connection.
func (s *Session) Conn() launch.Conn { return s.conn }

// Gone is closed when no more can come from the server.
func (s *Session) Gone() <-chan struct{} { return s.gone }

// Close ends the session.
func (s *Session) Close() { _ = s.conn.Close() }

// Raw sends bytes as one message, without looking at them.
func (s *Session) Raw(text string) error { return s.conn.Send(context.Background(), []byte(text)) }

// Notify sends a notification.
func (s *Session) Notify(method string, params any) error {
	data, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "method": method, "params": s.withMeta(params)})
	if err != nil {
		return err
	}
	return s.conn.Send(context.Background(), data)
}

// Go sends a request.
func (s *Session) Go(method string, params any) *Call {
	s.mu.Lock()
	s.last++
	id := strconv.FormatInt(s.last, 10)
	s.mu.Unlock()
	return s.GoID(id, method, params)
}

// GoID sends a request under an id, which is given as JSON.
func (s *Session) GoID(id, method string, params any) *Call {
	c := s.Expect(id)
	data, err := json.Marshal(s.withMeta(params))
	if err != nil {
		c.fail(err)
		return c
	}
	c.request = fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`, id, method, data)
	if err := s.conn.Send(context.Background(), c.request); err != nil {
		if errors.Is(err, launch.ErrNotReading) {
			c.fail(err)
		} else {
			c.fail(fmt.Errorf("%w: %v", ErrEnded, err))
		}
	}
	return c
}

// Expect waits for the answer to a request that is sent by other means.
func (s *Session) Expect(id string) *Call {
	c := &Call{s: s, id: id, sent: time.Now(), answer: make(chan Reply, 1)}
	s.mu.Lock()
	s.pending[id] = c
	s.mu.Unlock()
	return c
}

func (c *Call) fail(err error) { c.s.resolve(c.id, Reply{Err: err}) }

// ID returns the request's id, as JSON.
func (c *Call) ID() string { return c.id }

// Wait waits for the answer until timeout after the request was sent; zero looks
// without waiting. It may be called again after ErrTimeout, and an answer that
// comes when nobody waits any more is no fault.
func (c *Call) Wait(timeout time.Duration) Reply {
	timer := time.NewTimer(max(timeout-time.Since(c.sent), 0))
	defer timer.Stop()
	select {
	case r := <-c.answer:
		return r
	case <-c.s.gone:
		select {
		case r := <-c.answer:
			return r
		default:
		}
		return Reply{Request: c.request, Err: ErrEnded, Elapsed: time.Since(c.sent)}
	case <-timer.C:
		select {
		case r := <-c.answer:
			return r
		default:
		}
		return Reply{Request: c.request, Err: ErrTimeout, Elapsed: time.Since(c.sent)}
	}
}

// Call sends a request and waits for its answer.
func (s *Session) Call(method string, params any, timeout time.Duration) Reply {
	return s.Go(method, params).Wait(timeout)
}

// withMeta returns params with what requests of a session without handshake
// carry.
func (s *Session) withMeta(params any) any {
	if params == nil {
		params = map[string]any{}
	}
	m, ok := params.(map[string]any)
	if !ok || !s.server.Stateless {
		return params
	}
	out := map[string]any{}
	for k, v := range m {
		out[k] = v
	}
	meta := map[string]any{}
	if given, ok := m["_meta"].(map[string]any); ok {
		for k, v := range given {
			meta[k] = v
		}
	}
	meta["io.modelcontextprotocol/protocolVersion"] = s.server.Revision
	meta["io.modelcontextprotocol/clientInfo"] = clientInfo
	if _, ok := meta["io.modelcontextprotocol/clientCapabilities"]; !ok {
		meta["io.modelcontextprotocol/clientCapabilities"] = map[string]any{}
	}
	out["_meta"] = meta
	return out
}

// Params returns parameters as they are sent, for messages that are written by
// hand.
func (s *Session) Params(params any) string {
	data, err := json.Marshal(s.withMeta(params))
	if err != nil {
		return "{}"
	}
	return string(data)
}
