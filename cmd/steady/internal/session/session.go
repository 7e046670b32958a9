// Package session is a client that hides nothing: it reads the server's lines
// as they are, answers are matched by id, and whatever a client would stumble
// over is kept for the report instead.
package session

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
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

// message is what is read of any message.
type message struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  string          `json:"method"`
	Result  json.RawMessage `json:"result"`
	Error   *Error          `json:"error"`
}

// parseMessage returns line as a message, and false if it is none.
func parseMessage(line []byte) (m message, ok bool) {
	if len(line) == 0 || line[0] != '{' || json.Unmarshal(line, &m) != nil {
		return m, false
	}
	return m, m.JSONRPC == "2.0"
}

// glued finds a message behind other text on one line. It tries only a few
// places, so that a hostile line costs no more than its length.
func glued(line []byte) (prefix, rest []byte, found bool) {
	at := 0
	for range 8 {
		i := bytes.Index(line[at:], []byte(`{"`))
		if i < 0 {
			return nil, nil, false
		}
		at += i
		if at > 0 {
			if _, ok := parseMessage(line[at:]); ok {
				return line[:at], line[at:], true
			}
		}
		at += 2
	}
	return nil, nil, false
}

func (s *Session) readAll() {
	defer close(s.gone)
	for line := range s.conn.Lines() {
		s.take(line)
	}
}

// take takes one line from the server.
func (s *Session) take(line launch.Line) {
	if line.Err != nil {
		s.resolve(string(line.For), Reply{Err: line.Err})
		return
	}
	text := bytes.TrimSpace(line.Text)
	if len(text) == 0 {
		return
	}
	if line.Cut {
		s.fault(TooLong, text)
		return
	}
	if text[0] == '[' && s.takeBatch(text) {
		return
	}
	m, ok := parseMessage(text)
	if !ok {
		prefix, rest, found := glued(text)
		if !found {
			s.stray(Stray{Text: clip(text), Partial: line.Partial})
			return
		}
		s.stray(Stray{Text: clip(prefix), Glued: true})
		text = rest
		m, _ = parseMessage(text)
	}
	s.takeMessage(m, text)
}

func (s *Session) takeBatch(text []byte) bool {
	var batch []json.RawMessage
	if json.Unmarshal(text, &batch) != nil || len(batch) == 0 {
		return false
	}
	for _, raw := range batch {
		if _, ok := parseMessage(raw); !ok {
			return false
		}
	}
	for _, raw := range batch {
		m, _ := parseMessage(raw)
		s.takeMessage(m, raw)
	}
	return true
}

func (s *Session) takeMessage(m message, raw []byte) {
	switch {
	case m.Method != "" && len(m.ID) > 0:
		s.refuse(m)
	case m.Method != "":
		s.mu.Lock()
		if len(s.heard) < 64 {
			s.heard[m.Method]++
		}
		s.mu.Unlock()
	case len(m.ID) == 0 || string(m.ID) == "null":
		// An answer to what could not be read; it belongs to no call.
		s.fault(NoID, raw)
	case m.Result == nil && m.Error == nil:
		s.fault(NoContent, raw)
		s.resolve(string(m.ID), Reply{Raw: raw, Error: &Error{Message: "neither result nor error"}})
	default:
		s.resolve(string(m.ID), Reply{Raw: raw, Result: m.Result, Error: m.Error})
	}
}

// refuse answers what the server asks of its client: a ping, or something that
// was not offered.
func (s *Session) refuse(m message) {
	answer := `{"jsonrpc":"2.0","id":` + string(m.ID) + `,"error":{"code":-32601,"message":"not supported by this client"}}`
	if m.Method == "ping" {
		answer = `{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":{}}`
	}
	// Sending may block on a server that does not read; reading must not.
	go func() { _ = s.conn.Send(context.Background(), []byte(answer)) }()
}

func (s *Session) resolve(id string, r Reply) {
	s.mu.Lock()
	call := s.pending[id]
	delete(s.pending, id)
	answered := s.done[id]
	if call != nil && len(s.done) < 100_000 {
		s.done[id] = true
	}
	s.mu.Unlock()
	switch {
	case call != nil:
		r.Request, r.Elapsed = call.request, time.Since(call.sent)
		call.answer <- r
	case r.Err != nil:
	case answered:
		s.fault(AnsweredTwice, r.Raw)
	default:
		s.fault(UnknownID, r.Raw)
	}
}

func (s *Session) stray(x Stray) {
	s.mu.Lock()
	defer s.mu.Unlock()
	x.Phase = s.phase
	if slices.Contains(s.strays, x) {
		return // one of each is enough
	}
	if len(s.strays) < maxStrays {
		s.strays = append(s.strays, x)
	}
}

func (s *Session) fault(kind FaultKind, raw []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.faults) < maxFaults {
		s.faults = append(s.faults, Fault{kind, clip(raw)})
	}
}

func clip(text []byte) string {
	if len(text) > keptLine {
		return string(text[:keptLine]) + "…"
	}
	return string(text)
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

// Wait waits for the answer until timeout after the request was sent. An answer
// that comes later is no fault.
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

var clientInfo = map[string]any{"name": "steady-doctor", "version": "1"}

// InitializeParams returns the parameters of initialize for a revision.
func InitializeParams(revision string) map[string]any {
	return map[string]any{"protocolVersion": revision, "capabilities": map[string]any{}, "clientInfo": clientInfo}
}

// Handshake begins the session: with initialize, and where the server does not
// know that, without a handshake.
func (s *Session) Handshake(timeout time.Duration) error {
	r := s.Call("initialize", InitializeParams(Revision), timeout)
	if r.Err != nil {
		return fmt.Errorf("initialize: %w", r.Err)
	}
	if r.Error != nil {
		if s.Discover(timeout) != nil {
			return fmt.Errorf("initialize: %w", r.Error)
		}
		return nil
	}
	if err := s.learn(r.Result); err != nil {
		return fmt.Errorf("the answer to initialize cannot be read: %w", err)
	}
	return s.Notify("notifications/initialized", nil)
}

// Discover begins a session without a handshake: from now on each request says
// the revision itself.
func (s *Session) Discover(timeout time.Duration) error {
	s.server.Stateless, s.server.Revision = true, Stateless
	r := s.Call("server/discover", nil, timeout)
	err := r.Err
	if err == nil && r.Error != nil {
		err = r.Error
	}
	if err == nil {
		err = s.learn(r.Result)
	}
	if err != nil {
		s.server = Server{}
		return fmt.Errorf("server/discover: %w", err)
	}
	return nil
}

// learn reads what the server says about itself.
func (s *Session) learn(result json.RawMessage) error {
	var got struct {
		ProtocolVersion string
		Capabilities    map[string]json.RawMessage
		ServerInfo      struct{ Name, Version string }
		Instructions    string
		Meta            map[string]json.RawMessage `json:"_meta"`
	}
	if err := json.Unmarshal(result, &got); err != nil {
		return err
	}
	if s.server.Stateless {
		_ = json.Unmarshal(got.Meta["io.modelcontextprotocol/serverInfo"], &got.ServerInfo)
	} else {
		s.server.Revision = got.ProtocolVersion
	}
	s.server.Name, s.server.Version = got.ServerInfo.Name, got.ServerInfo.Version
	s.server.Instructions, s.server.Capabilities = got.Instructions, got.Capabilities
	return nil
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
