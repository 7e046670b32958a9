package session

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/steadymcp/steady/cmd/steady/internal/launch"
)

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
