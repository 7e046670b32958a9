package proxy

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/steadymcp/steady/cmd/steady/internal/rpc"
)

// accepts reports which forms of an answer a client takes.
func accepts(r *http.Request) (json, stream bool) {
	for _, value := range r.Header.Values("Accept") {
		for part := range strings.SplitSeq(value, ",") {
			kind, _, _ := strings.Cut(part, ";")
			switch strings.ToLower(strings.TrimSpace(kind)) {
			case "*/*":
				json, stream = true, true
			case "application/json", "application/*":
				json = true
			case "text/event-stream", "text/*":
				stream = true
			}
		}
	}
	return json, stream
}

// freeBody is how much of each body MaxBodies leaves out of account, in bytes: a
// connection takes as much without any.
const freeBody = 16 << 10

// errBodies ends the reading of a body for which there is no room.
var errBodies = errors.New("the bodies of all requests take too much memory")

// A bodyReader reads a body as far as there is room for it.
type bodyReader struct {
	from  io.Reader
	front *Front
	read  int64
	held  int64 // bytes that count against MaxBodies
}

func (b *bodyReader) Read(p []byte) (int, error) {
	n, err := b.from.Read(p)
	b.read += int64(n)
	if more := b.read - freeBody - b.held; more > 0 {
		b.held += more
		if b.front.bodies.Add(more) > b.front.opts.MaxBodies {
			return n, errBodies
		}
	}
	return n, err
}

func (b *bodyReader) release() { b.front.bodies.Add(-b.held) }

// body returns the body of a request, or reports false after it has answered.
func (f *Front) body(w http.ResponseWriter, r *http.Request) (body []byte, release func(), ok bool) {
	if kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); kind != "application/json" {
		http.Error(w, "Content-Type must be 'application/json'", http.StatusUnsupportedMediaType)
		return nil, nil, false
	}
	if json, stream := accepts(r); !json || !stream {
		http.Error(w, "Accept must contain both 'application/json' and 'text/event-stream'", http.StatusBadRequest)
		return nil, nil, false
	}
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(f.opts.BodyTimeout))
	in := &bodyReader{from: http.MaxBytesReader(w, r.Body, f.opts.MaxBody), front: f}
	defer func() {
		if !ok {
			in.release()
		}
	}()
	body, err := io.ReadAll(in)
	_ = control.SetReadDeadline(time.Time{})
	var large *http.MaxBytesError
	var slow net.Error
	switch {
	case errors.As(err, &large):
		refuse(w, http.StatusRequestEntityTooLarge, idOf(body), rpc.Invalid,
			fmt.Sprintf("the request is larger than the %d bytes that this server takes; send less at a time", large.Limit))
		return nil, nil, false
	case errors.Is(err, errBodies):
		w.Header().Set("Connection", "close") // what is left of the body is not read
		w.Header().Set("Retry-After", "1")
		refuse(w, http.StatusServiceUnavailable, idOf(body), rpc.Unavailable,
			"the server has as many large requests in hand as it takes; call again in a moment")
		return nil, nil, false
	case errors.As(err, &slow) && slow.Timeout():
		refuse(w, http.StatusRequestTimeout, nil, rpc.Invalid, fmt.Sprintf("the request did not arrive within %v", f.opts.BodyTimeout))
		return nil, nil, false
	case err != nil:
		http.Error(w, "the request body cannot be read", http.StatusBadRequest)
		return nil, nil, false
	}
	return body, in.release, true
}

// idOf returns the id of the request that a body begins with, or nil.
func idOf(body []byte) []byte {
	if id, request := identify(body, nil); request {
		return id
	}
	return nil
}

// refuse answers with an error. Without an id there is none in the answer either,
// as MCP has it (Streamable HTTP, section "Sending Messages to the Server").
func refuse(w http.ResponseWriter, status int, id []byte, code int, text string) {
	line := rpc.Refusal(id, code, text)
	if id == nil {
		line = bytes.Replace(line, []byte(`"id":null,`), nil, 1)
	}
	answer(w, status, line)
}

// forbid refuses a request before its body is read.
func forbid(w http.ResponseWriter, _ *http.Request, _, text string) {
	refuse(w, http.StatusForbidden, nil, rpc.Invalid, text)
}

// answer writes a message with a status. A body of JSON-RPC lets a client tell
// its caller why, and go on; some clients end their session over any other.
func answer(w http.ResponseWriter, status int, message []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(message)
}
