package steady

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/steadymcp/steady/errors"
	"github.com/steadymcp/steady/internal/wire"
)

// codeUnavailable is in the range that JSON-RPC 2.0, section 5.1, leaves to
// servers. MCP has no code for this.
const codeUnavailable = -32000

// freeBody is how much of each body MaxBodies leaves out of account, in bytes: a
// connection takes as much without any. So calls of the usual size get in while
// large ones are turned away.
const freeBody = 16 << 10

// withBody returns r with its whole body in memory, where the SDK would have put
// it anyway, or reports false after it has answered. What q holds for it is given
// back with q.
func (e *Endpoint) withBody(w http.ResponseWriter, r *http.Request, q *request) (*http.Request, bool) {
	in := &bodyReader{from: http.MaxBytesReader(w, r.Body, e.opts.MaxBody), q: q}
	body, err := io.ReadAll(in)
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		e.refuse(w, r, http.StatusRequestEntityTooLarge, callID(body), jsonrpc.CodeInvalidRequest, "too large",
			fmt.Sprintf("the request is larger than the %d bytes that this server takes; send less at a time", large.Limit))
		return nil, false
	case errors.Is(err, errBodies):
		w.Header().Set("Connection", "close") // what is left of the body is not read
		e.putOff(w, r, callID(body), time.Second, "too much at once",
			"the server has as many large requests in hand as it takes; call again in a moment")
		return nil, false
	case isTimeout(err):
		e.refuse(w, r, http.StatusRequestTimeout, nil, jsonrpc.CodeInvalidRequest, "too slow",
			fmt.Sprintf("the request did not arrive within %v", e.opts.BodyTimeout))
		return nil, false
	case err != nil:
		http.Error(w, "the request body cannot be read", http.StatusBadRequest)
		return nil, false
	}
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
	if !q.enter(isStream(r)) {
		if id, call := isCall(body); call {
			w.Header().Set("Connection", "close")
			e.putOff(w, r, id, time.Second, "shutting down", "the server is shutting down; call again in a moment")
			return nil, false
		}
	}
	if r.Method == http.MethodPost && !isStateless(r) && r.Header.Get("Mcp-Session-Id") == "" {
		if refusal := q.openSession(wire.User(auth.TokenInfoFromContext(r.Context()))); refusal != "" {
			e.putOff(w, r, callID(body), time.Minute, "too many sessions", refusal)
			return nil, false
		}
	}
	r.Body = io.NopCloser(&forgetful{body})
	return r, true
}

// errBodies ends the reading of a body for which there is no room.
var errBodies = errors.New("steady: the bodies of all requests take too much memory")

// A bodyReader reads a body as far as there is room for it.
type bodyReader struct {
	from io.Reader
	q    *request
	read int64
}

func (b *bodyReader) Read(p []byte) (int, error) {
	n, err := b.from.Read(p)
	b.read += int64(n)
	if !b.q.holdBody(b.read - freeBody) {
		return n, errBodies
	}
	return n, err
}

// A forgetful reader lets go of what has been read from it: the SDK has a copy.
type forgetful struct{ rest []byte }

func (f *forgetful) Read(p []byte) (int, error) {
	if len(f.rest) == 0 {
		f.rest = nil
		return 0, io.EOF
	}
	n := copy(p, f.rest)
	f.rest = f.rest[n:]
	return n, nil
}

func isTimeout(err error) bool {
	var t interface{ Timeout() bool }
	return errors.As(err, &t) && t.Timeout()
}

// isCall reports whether body has a request: a call of its own, or in a batch. Of
// one alone it returns the id too, if that can be repeated.
func isCall(body []byte) (id json.RawMessage, call bool) {
	if id, call = readID(body); call {
		return id, true
	}
	var batch []json.RawMessage
	if json.Unmarshal(body, &batch) != nil {
		return nil, false
	}
	for _, message := range batch {
		if _, call := readID(message); call {
			return nil, true
		}
	}
	return nil, false
}

// callID returns the id of the request that body begins with, or nil if that is
// a notification, an answer, a batch or nothing that can be read.
func callID(body []byte) json.RawMessage {
	id, _ := readID(body)
	return id
}

// readID reports whether body is a request, and returns its id if it is one that
// can be repeated. Where body was cut, it is found if the cut is behind it.
func readID(body []byte) (id json.RawMessage, call bool) {
	d := json.NewDecoder(bytes.NewReader(body))
	if start, err := d.Token(); err != nil || start != json.Delim('{') {
		return nil, false
	}
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
			return nil, false
		}
	}
	if id == nil || string(id) == "null" {
		return nil, false
	}
	if !isID(id) {
		return nil, true
	}
	return id, true
}

// isID reports whether b is what JSON-RPC 2.0 and MCP let an id be, and short
// enough to be repeated.
func isID(b json.RawMessage) bool {
	return len(b) > 0 && len(b) <= 256 && (b[0] == '"' || b[0] == '-' || b[0] >= '0' && b[0] <= '9')
}

// refuse answers r by itself. A body of JSON-RPC lets a client tell its caller
// why, and go on. One of the SDK's own ends its session over any other. Without an
// id there is none in the answer either, as MCP has it (Streamable HTTP, section
// "Sending Messages to the Server").
func (e *Endpoint) refuse(w http.ResponseWriter, r *http.Request, status int, id json.RawMessage, code int, reason, message string) {
	e.observer.Observe(r.Context(), TurnedAway{Status: status, Reason: reason})
	answer := struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id,omitempty"`
		Error   *jsonrpc.Error  `json:"error"`
	}{"2.0", id, &jsonrpc.Error{Code: int64(code), Message: message}}
	b, err := json.Marshal(answer)
	if err != nil { // cannot happen: id was decoded from JSON
		b = nil
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(b)
}

// putOff refuses r for now.
func (e *Endpoint) putOff(w http.ResponseWriter, r *http.Request, id json.RawMessage, wait time.Duration, reason, message string) {
	w.Header().Set("Retry-After", strconv.Itoa(int(wait.Seconds())))
	e.refuse(w, r, http.StatusServiceUnavailable, id, codeUnavailable, reason, message)
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
