package proxy

import (
	"bytes"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/steadymcp/steady/cmd/steady/internal/rpc"
)

// Bounds on what waits for a slow client.
const (
	maxQueue  = 4 << 20          // bytes that wait for it
	keepAlive = 15 * time.Second // between signs of life
)

// A reply is the HTTP response to a request, while there may be more to say: one
// JSON message where that is all, or else a stream of events. Lines are put by a
// stage, and written by the handler of the request, so that a client that is slow
// to read holds up as little as can be.
type reply struct {
	// patience is how long put waits for a client that does not read, in all if
	// total, or else each time.
	patience time.Duration
	total    bool

	mu    sync.Mutex
	queue []queued
	size  int  // of the lines in queue
	last  bool // there is no more to come
	gone  bool // nobody takes what is put
	wake  chan struct{}
	room  chan struct{}
}

type queued struct {
	id   string // of the event, or ""
	line []byte
}

func newReply(patience time.Duration, total bool) *reply {
	return &reply{patience: patience, total: total, wake: make(chan struct{}, 1), room: make(chan struct{}, 1)}
}

// nudge wakes whoever waits for c, now or later.
func nudge(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// put adds a line, which it keeps. It reports false if nobody will get it.
func (r *reply) put(id string, line []byte, last bool) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.size > 0 && r.size+len(line) > maxQueue && !r.gone && !r.last {
		if r.patience <= 0 {
			r.gone = true
			nudge(r.wake)
			break
		}
		r.mu.Unlock()
		began := time.Now()
		timer := time.NewTimer(r.patience)
		full := false
		select {
		case <-r.room:
		case <-timer.C:
			full = true
		}
		timer.Stop()
		r.mu.Lock()
		if r.total || full {
			r.patience -= time.Since(began)
		}
	}
	if r.gone || r.last {
		return false
	}
	r.queue = append(r.queue, queued{id, line})
	r.size += len(line)
	r.last = last
	nudge(r.wake)
	return true
}

// finish says that there is no more to come.
func (r *reply) finish() {
	r.mu.Lock()
	r.last = true
	r.mu.Unlock()
	nudge(r.wake)
}

// leave says that nobody takes what is put any more.
func (r *reply) leave() {
	r.mu.Lock()
	r.gone = true
	r.mu.Unlock()
	nudge(r.room)
}

// take returns what there is to write.
func (r *reply) take() (lines []queued, last, gone bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	lines, r.queue, r.size = r.queue, nil, 0
	nudge(r.room)
	return lines, r.last, r.gone
}

// write writes what is put until there is no more to come, or the client has
// gone, which it reports. A stream says so from the beginning that it is one.
// modern says that errors have the status that the later era gives them.
func (r *reply) write(w http.ResponseWriter, req *http.Request, timeout time.Duration, stream, modern bool, closing <-chan struct{}) (complete bool) {
	defer r.leave()
	out := &eventWriter{w: w, control: http.NewResponseController(w), timeout: timeout}
	if stream {
		if !out.comment("ok") {
			return false
		}
	}
	alive := time.NewTimer(keepAlive)
	defer alive.Stop()
	for {
		select {
		case <-r.wake:
		case <-alive.C:
			if !out.comment("still here") {
				return false
			}
			alive.Reset(keepAlive)
			continue
		case <-closing:
			return true
		case <-req.Context().Done():
			return false
		}
		lines, last, gone := r.take()
		if gone {
			return false
		}
		if last && len(lines) == 1 && !out.begun {
			status := http.StatusOK
			if modern {
				status = statusOf(lines[0].line)
			}
			return out.message(status, lines[0].line)
		}
		if len(lines) > 0 && !out.events(lines) {
			return false
		}
		if last {
			out.begin() // if there was nothing to say
			return true
		}
		alive.Reset(keepAlive)
	}
}

// statusOf is the HTTP status of an answer in the era without sessions, as the
// transports of revision 2026-07-28 have it.
func statusOf(line []byte) int {
	failure := member(line, "error")
	if failure == nil {
		return http.StatusOK
	}
	code, _ := strconv.Atoi(string(member(failure, "code")))
	switch code {
	case -32601:
		return http.StatusNotFound
	case rpc.Parse, rpc.Invalid, -32602, -32020, -32021, -32022:
		return http.StatusBadRequest
	}
	return http.StatusOK
}

// An eventWriter writes server-sent events, and waits for the client's reading at
// each write, for a time.
type eventWriter struct {
	w       http.ResponseWriter
	control *http.ResponseController
	timeout time.Duration
	begun   bool
	buf     bytes.Buffer
}

func (e *eventWriter) patient()   { _ = e.control.SetWriteDeadline(time.Now().Add(e.timeout)) }
func (e *eventWriter) impatient() { _ = e.control.SetWriteDeadline(time.Time{}) }

// message writes an answer that is one message.
func (e *eventWriter) message(status int, line []byte) bool {
	e.patient()
	defer e.impatient()
	e.w.Header().Set("Content-Length", strconv.Itoa(len(line)))
	answer(e.w, status, line)
	return e.control.Flush() == nil
}

// begin writes the head of the response, unless it was written.
func (e *eventWriter) begin() {
	if e.begun {
		return
	}
	e.begun = true
	h := e.w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-cache, no-transform")
	h.Set("X-Accel-Buffering", "no")
	e.w.WriteHeader(http.StatusOK)
}

func (e *eventWriter) comment(text string) bool {
	e.begin()
	e.buf.WriteString(": " + text + "\n\n")
	return e.flush()
}

func (e *eventWriter) events(lines []queued) bool {
	e.begin()
	for _, l := range lines {
		if l.id != "" {
			fmt.Fprintf(&e.buf, "id: %s\n", l.id)
		}
		e.buf.WriteString("event: message\ndata: ")
		e.buf.Write(l.line)
		e.buf.WriteString("\n\n")
		if e.buf.Len() > keepOpen && !e.flush() {
			return false
		}
	}
	return e.buf.Len() == 0 || e.flush()
}

func (e *eventWriter) flush() bool {
	e.patient()
	defer e.impatient()
	_, err := e.w.Write(e.buf.Bytes())
	if e.buf.Reset(); e.buf.Cap() > 1<<20 {
		e.buf = bytes.Buffer{}
	}
	return err == nil && e.control.Flush() == nil
}
