package steady

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/steadymcp/steady/errors"
)

// codeUnavailable is in the range that JSON-RPC 2.0, section 5.1, leaves to
// servers. MCP has no code for this.
const codeUnavailable = -32000

// withBody returns r with its whole body in memory, where the SDK would have put
// it anyway, or reports false after it has answered.
func (e *Endpoint) withBody(w http.ResponseWriter, r *http.Request) (*http.Request, bool) {
	control := http.NewResponseController(w)
	// A writer that has no deadlines has none to lift either.
	_ = control.SetWriteDeadline(time.Time{})
	if r.Method != http.MethodPost {
		_ = control.SetReadDeadline(time.Time{})
		return r, true
	}
	_ = control.SetReadDeadline(time.Now().Add(e.opts.BodyTimeout))
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, e.opts.MaxBody))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		e.refuse(w, r, http.StatusRequestEntityTooLarge, callID(body), jsonrpc.CodeInvalidRequest, "too large",
			fmt.Sprintf("the request is larger than the %d bytes that this server takes; send less at a time", large.Limit))
		return nil, false
	case isTimeout(err):
		e.refuse(w, r, http.StatusRequestTimeout, nil, jsonrpc.CodeInvalidRequest, "too slow",
			fmt.Sprintf("the request did not arrive within %v", e.opts.BodyTimeout))
		return nil, false
	case err != nil:
		http.Error(w, "the request body cannot be read", http.StatusBadRequest)
		return nil, false
	}
	_ = control.SetReadDeadline(time.Time{})
	if e.isDraining() {
		if id := callID(body); id != nil {
			w.Header().Set("Connection", "close")
			w.Header().Set("Retry-After", "1")
			e.refuse(w, r, http.StatusServiceUnavailable, id, codeUnavailable, "shutting down", "the server is shutting down; call again in a moment")
			return nil, false
		}
	}
	if !isStateless(r) && r.Header.Get("Mcp-Session-Id") == "" && e.full() {
		w.Header().Set("Retry-After", "60")
		e.refuse(w, r, http.StatusServiceUnavailable, callID(body), codeUnavailable, "too many sessions",
			fmt.Sprintf("the server has %d sessions open and takes no more; try again later", e.opts.MaxSessions))
		return nil, false
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	return r, true
}

// full reports whether there are as many sessions as there may be.
func (e *Endpoint) full() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.live) >= e.opts.MaxSessions
}

func isTimeout(err error) bool {
	var t interface{ Timeout() bool }
	return errors.As(err, &t) && t.Timeout()
}

// callID returns the id of the request that body begins with, or nil if that is
// a notification, an answer, a batch or nothing that can be read. Where body was
// cut, it is found if the cut is behind it.
func callID(body []byte) json.RawMessage {
	d := json.NewDecoder(bytes.NewReader(body))
	if start, err := d.Token(); err != nil || start != json.Delim('{') {
		return nil
	}
	var id json.RawMessage
	for d.More() {
		name, err := d.Token()
		if err != nil {
			break
		}
		var value json.RawMessage
		if d.Decode(&value) != nil {
			break
		}
		switch name {
		case "id":
			id = value
		case "result", "error":
			return nil
		}
	}
	if !isID(id) {
		return nil
	}
	return id
}

// isID reports whether b is what JSON-RPC 2.0 and MCP let an id be, and short
// enough to be repeated.
func isID(b json.RawMessage) bool {
	return len(b) > 0 && len(b) <= 256 && (b[0] == '"' || b[0] == '-' || b[0] >= '0' && b[0] <= '9')
}

// refuse answers r by itself. A body of JSON-RPC lets a client tell its caller
// why, and go on; the SDK's own client ends its session over any other, and over
// one without an id.
func (e *Endpoint) refuse(w http.ResponseWriter, r *http.Request, status int, id json.RawMessage, code int, reason, message string) {
	e.observer.Observe(r.Context(), TurnedAway{Status: status, Reason: reason})
	answer := struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Error   *jsonrpc.Error  `json:"error"`
	}{"2.0", id, &jsonrpc.Error{Code: int64(code), Message: message}}
	if answer.ID == nil {
		answer.ID = json.RawMessage("null")
	}
	b, err := json.Marshal(answer)
	if err != nil { // cannot happen: id was decoded from JSON
		b = nil
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(b)
}

// A patientWriter waits for the client's reading at each write, for a time, and
// for nothing between them.
type patientWriter struct {
	http.ResponseWriter
	timeout time.Duration
}

// Unwrap is for [http.ResponseController].
func (p *patientWriter) Unwrap() http.ResponseWriter { return p.ResponseWriter }

func (p *patientWriter) Write(b []byte) (n int, err error) {
	p.bounded(func(*http.ResponseController) { n, err = p.ResponseWriter.Write(b) })
	return n, err
}

// Flush implements [http.Flusher].
func (p *patientWriter) Flush() { _ = p.FlushError() }

// FlushError is for [http.ResponseController].
func (p *patientWriter) FlushError() (err error) {
	p.bounded(func(c *http.ResponseController) { err = c.Flush() })
	return err
}

func (p *patientWriter) bounded(write func(*http.ResponseController)) {
	c := http.NewResponseController(p.ResponseWriter)
	_ = c.SetWriteDeadline(time.Now().Add(p.timeout))
	write(c)
	_ = c.SetWriteDeadline(time.Time{})
}
