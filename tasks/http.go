package tasks

import (
	"bytes"
	"context"
	"encoding/json"
	stderrors "errors"
	"fmt"
	"io"
	"net/http"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/steadymcp/steady/internal/wire"
)

// maxBody bounds the body of a request that this package has to read before
// the SDK does, in bytes: the SDK's own default.
const maxBody = 4 << 20

type streamKey struct{}

// Handler wraps the handler of a streamable HTTP endpoint, inside of whatever
// authenticates its callers. It pushes notifications/tasks to clients that
// listen, and answers a request for a task whose header Mcp-Name does not match
// with HTTP status 400, which middleware cannot.
//
// Requests that are not about tasks pass untouched.
func (m *Manager) Handler(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		method := r.Header.Get(headerMethod)
		verb := method == methodGet || method == methodUpdate || method == methodCancel
		if r.Method != http.MethodPost || r.Header.Get(headerVersion) < wire.StatelessRevision || !verb && method != methodListen {
			h.ServeHTTP(w, r)
			return
		}
		req, ok := readRequest(w, r)
		if !ok {
			return
		}
		if req == nil || req.Method != method { // not for us to judge
			h.ServeHTTP(w, r)
			return
		}
		if verb {
			var p struct {
				TaskID string `json:"taskId"`
			}
			if json.Unmarshal(req.Params, &p) == nil && r.Header.Get(headerName) != p.TaskID {
				writeMismatch(w, req)
				return
			}
			h.ServeHTTP(w, r)
			return
		}
		if ids := listenedTasks(req.Params); len(ids) > 0 {
			events := &eventWriter{ResponseWriter: w}
			defer events.close()
			s := &stream{taskIDs: ids, id: req.ID.Raw(), push: events.push}
			h.ServeHTTP(events, r.WithContext(context.WithValue(r.Context(), streamKey{}, s)))
			return
		}
		h.ServeHTTP(w, r)
	})
}

// readRequest reads the message of r and leaves r as it was. It returns nil for
// what is not a request, and false if it has answered.
func readRequest(w http.ResponseWriter, r *http.Request) (*jsonrpc.Request, bool) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		status := http.StatusBadRequest
		if _, large := errorAs[*http.MaxBytesError](err); large {
			status = http.StatusRequestEntityTooLarge
		}
		http.Error(w, "the request body cannot be read", status)
		return nil, false
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	msg, err := jsonrpc.DecodeMessage(body)
	if err != nil {
		return nil, true
	}
	req, _ := msg.(*jsonrpc.Request)
	return req, true
}

func writeMismatch(w http.ResponseWriter, req *jsonrpc.Request) {
	b, err := jsonrpc.EncodeMessage(&jsonrpc.Response{ID: req.ID,
		Error: &jsonrpc.Error{Code: mcp.CodeHeaderMismatch, Message: nameMismatch}})
	if err != nil {
		http.Error(w, nameMismatch, http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusBadRequest)
	_, _ = w.Write(b)
}

// listenedTasks returns the tasks that the parameters of subscriptions/listen
// name.
func listenedTasks(params json.RawMessage) []string {
	var p struct {
		Notifications struct {
			TaskIDs []string `json:"taskIds"`
		} `json:"notifications"`
	}
	if json.Unmarshal(params, &p) != nil {
		return nil
	}
	return p.Notifications.TaskIDs
}

// eventWriter lets the SDK and this package write to one event stream. The SDK
// writes each event with a single Write.
type eventWriter struct {
	http.ResponseWriter
	mu     sync.Mutex
	closed bool
}

func (e *eventWriter) Write(b []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.ResponseWriter.Write(b)
}

// Flush must be here: an http.ResponseController would otherwise go around the
// lock.
func (e *eventWriter) Flush() {
	e.mu.Lock()
	defer e.mu.Unlock()
	_ = http.NewResponseController(e.ResponseWriter).Flush()
}

func (e *eventWriter) Unwrap() http.ResponseWriter { return e.ResponseWriter }

// close says that the response is over; the writer must not be used any more.
func (e *eventWriter) close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.closed = true
}

func (e *eventWriter) push(_ context.Context, method string, params json.RawMessage) error {
	b, err := jsonrpc.EncodeMessage(&jsonrpc.Request{Method: method, Params: params})
	if err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return stderrors.New("tasks: the event stream is over")
	}
	if _, err := fmt.Fprintf(e.ResponseWriter, "event: message\ndata: %s\n\n", b); err != nil {
		return err
	}
	return http.NewResponseController(e.ResponseWriter).Flush()
}
