package proxy

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/steadymcp/steady"
	"github.com/steadymcp/steady/cmd/steady/internal/rpc"
)

// A Stage passes the messages of one client, a line each, on to what is behind it,
// and the answers back, until the client's input ends or ctx does. Each write to
// out is whole lines, or what comes after it makes them whole.
type Stage = func(ctx context.Context, in io.Reader, out io.Writer) error

// FrontOptions configures a [Front].
type FrontOptions struct {
	// Stage is what clients are served by: one for each session, up to revision
	// 2025-11-25, and for requests of later revisions, which have none, one for all
	// that carry the same header Authorization, or none.
	Stage Stage
	// Alone says that each of the latter has a stage of its own, which costs
	// little where no process is started.
	Alone bool
	// Log receives what the front has to say.
	Log io.Writer
	// AllowOrigins are the origins of web pages that may call.
	AllowOrigins []string

	// MaxBody bounds the body of a request, in bytes. If zero, DefaultMaxBody.
	MaxBody int64
	// MaxBodies bounds what the bodies of all requests that are being read and
	// served take together, in bytes, without the first 16 KiB of each. If zero, 16
	// times MaxBody.
	MaxBodies int64
	// BodyTimeout is how long a client may take to send a body. If zero,
	// DefaultBodyTimeout.
	BodyTimeout time.Duration
	// WriteTimeout is how long a client may take to read what is sent to it, each
	// time something is sent. If zero, DefaultWriteTimeout.
	WriteTimeout time.Duration
	// SessionTimeout ends a session whose client has sent nothing for so long. If
	// zero, DefaultSessionTimeout.
	SessionTimeout time.Duration
	// MaxSessions bounds the sessions that are open, and the stages of those that
	// carry Authorization. If zero, DefaultMaxSessions.
	MaxSessions int
}

// What holds if FrontOptions says nothing. All but the number of sessions, each
// of which may be a process, is as in package steady.
const (
	DefaultMaxBody        = steady.DefaultMaxBody
	DefaultBodyTimeout    = steady.DefaultBodyTimeout
	DefaultWriteTimeout   = steady.DefaultWriteTimeout
	DefaultSessionTimeout = steady.DefaultSessionTimeout
	DefaultMaxSessions    = 100
)

// Check returns what is wrong with the origins, if anything.
func (o *FrontOptions) Check() error {
	_, err := steady.GuardOrigins(o.AllowOrigins, nil, forbid)
	return err
}

// A Front serves clients over HTTP, of both eras of the protocol at one address.
type Front struct {
	opts   FrontOptions
	log    *logger
	outer  http.Handler
	ctx    context.Context // of the stages
	stop   context.CancelFunc
	stage  sync.WaitGroup // counts the stages
	params paramHeaders
	bodies atomic.Int64 // bytes that count against MaxBodies

	mu       sync.Mutex
	draining bool // no more requests are taken
	sessions map[string]*httpSession
	count    int // of all sessions so far
	live     int // those whose stages have not ended
	shared   map[principal]*shared
	closing  chan struct{} // closed when streams end that only a client would end
	once     sync.Once     // for closing
}

// NewFront returns a Front. It fails if an origin is none.
func NewFront(opts FrontOptions) (*Front, error) {
	opts.MaxBody = cmp.Or(opts.MaxBody, DefaultMaxBody)
	opts.MaxBodies = cmp.Or(opts.MaxBodies, 16*opts.MaxBody)
	opts.BodyTimeout = cmp.Or(opts.BodyTimeout, DefaultBodyTimeout)
	opts.WriteTimeout = cmp.Or(opts.WriteTimeout, DefaultWriteTimeout)
	opts.SessionTimeout = cmp.Or(opts.SessionTimeout, DefaultSessionTimeout)
	opts.MaxSessions = cmp.Or(opts.MaxSessions, DefaultMaxSessions)
	f := &Front{opts: opts, log: newLog(opts.Log), sessions: map[string]*httpSession{}, shared: map[principal]*shared{}, closing: make(chan struct{})}
	f.ctx, f.stop = context.WithCancel(context.Background())
	var err error
	f.outer, err = steady.GuardOrigins(opts.AllowOrigins, http.HandlerFunc(f.serve), forbid)
	return f, err
}

// ServeHTTP implements [http.Handler]. The path does not matter.
func (f *Front) ServeHTTP(w http.ResponseWriter, r *http.Request) { f.outer.ServeHTTP(w, r) }

// Health answers whether requests are taken: status 200, or 503 while the front
// shuts down.
func (f *Front) Health(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	if f.isDraining() {
		http.Error(w, "shutting down", http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = io.WriteString(w, "ok\n")
}

func (f *Front) isDraining() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.draining
}

// serve serves a caller who may call.
func (f *Front) serve(w http.ResponseWriter, r *http.Request) {
	modern := isModern(r)
	switch {
	case r.Method == http.MethodPost:
		f.post(w, r, modern)
	case modern || r.Method != http.MethodGet && r.Method != http.MethodDelete:
		allow := "GET, POST, DELETE"
		if modern {
			allow = "POST"
		}
		w.Header().Set("Allow", allow)
		http.Error(w, "Method Not Allowed", http.StatusMethodNotAllowed)
	case r.Method == http.MethodGet:
		f.get(w, r)
	default:
		if s := f.sessionOf(w, r); s != nil {
			s.end("its client has ended it")
			w.WriteHeader(http.StatusNoContent)
		}
	}
}

// isModern tells the eras apart. A client of the later one always sends the
// header; a request that has the other of its headers and not this one is a
// mistake for which only the later era has an answer.
func isModern(r *http.Request) bool {
	version := r.Header.Get("Mcp-Protocol-Version")
	return version >= rpc.Stateless || version == "" && r.Header.Get("Mcp-Method") != ""
}

// post serves a message.
func (f *Front) post(w http.ResponseWriter, r *http.Request, modern bool) {
	body, release, ok := f.body(w, r)
	if !ok {
		return
	}
	defer release()
	line := oneLine(body)
	messages, ok := parse(line)
	if !ok {
		id, _ := identify(line, line)
		refuse(w, http.StatusBadRequest, id, rpc.Parse, "Parse error: the body is no JSON-RPC message. It was not sent to the server.")
		return
	}
	var ids [][]byte
	for i := range messages {
		if m := &messages[i]; m.isRequest() {
			ids = append(ids, m.id)
			modern = modern || len(messages) == 1 && revisionOf(m.params) >= rpc.Stateless
		}
	}
	var id []byte // that a refusal is for
	if len(ids) > 0 {
		id = ids[0]
	}
	if len(ids) > 0 && f.isDraining() {
		w.Header().Set("Connection", "close")
		w.Header().Set("Retry-After", "1")
		refuse(w, http.StatusServiceUnavailable, id, rpc.Unavailable, "the server is shutting down; call again in a moment")
		return
	}
	if modern {
		f.postModern(w, r, line, messages)
		return
	}
	if version := r.Header.Get("Mcp-Protocol-Version"); version != "" && !isOldRevision(version) {
		refuse(w, http.StatusBadRequest, id, rpc.Invalid, fmt.Sprintf("the protocol version %.40q in the header Mcp-Protocol-Version is not known", version))
		return
	}
	var s *httpSession
	switch {
	case r.Header.Get("Mcp-Session-Id") != "":
		if s = f.sessionOf(w, r); s == nil {
			return
		}
	case len(messages) == 1 && messages[0].method == "initialize" && len(ids) == 1:
		if s = f.newSession(); s == nil {
			w.Header().Set("Retry-After", "60")
			refuse(w, http.StatusServiceUnavailable, id, rpc.Unavailable, f.full().Error())
			return
		}
		w.Header().Set("Mcp-Session-Id", s.id)
	default:
		refuse(w, http.StatusBadRequest, id, rpc.Invalid, "the request has no header Mcp-Session-Id, and is no initialize, which begins a session")
		return
	}
	s.post(w, r, line, messages, ids)
}

// isOldRevision reports whether version is of the revisions that have sessions.
func isOldRevision(version string) bool {
	switch version {
	case "2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25":
		return true
	}
	return false
}

// get serves the stream that belongs to no request.
func (f *Front) get(w http.ResponseWriter, r *http.Request) {
	if _, stream := accepts(r); !stream {
		http.Error(w, "Accept must contain 'text/event-stream' for GET requests", http.StatusBadRequest)
		return
	}
	if s := f.sessionOf(w, r); s != nil {
		s.get(w, r)
	}
}

// sessionOf returns the session of a request, or nil after it has answered.
func (f *Front) sessionOf(w http.ResponseWriter, r *http.Request) *httpSession {
	id := r.Header.Get("Mcp-Session-Id")
	if id == "" {
		http.Error(w, "Bad Request: "+r.Method+" requires an Mcp-Session-Id header", http.StatusBadRequest)
		return nil
	}
	f.mu.Lock()
	s := f.sessions[id]
	f.mu.Unlock()
	if s == nil {
		http.Error(w, "session not found", http.StatusNotFound)
	}
	return s
}

// Shutdown takes no more requests, and returns when those in flight have been
// answered, or their stages have given up waiting for that. It returns after
// within at the latest.
func (f *Front) Shutdown(within time.Duration) {
	f.mu.Lock()
	f.draining = true
	f.mu.Unlock()
	f.stop()
	ended := make(chan struct{})
	go func() {
		f.stage.Wait()
		close(ended)
	}()
	waitFor(ended, within)
	f.once.Do(func() { close(f.closing) })
	f.log.close()
}

// run runs a stage with the input in, and calls ended when it has ended.
func (f *Front) run(in *io.PipeReader, line func([]byte), ended func(error)) {
	f.stage.Go(func() {
		err := f.opts.Stage(f.ctx, in, &lineWriter{line: line})
		_ = in.CloseWithError(errStageEnded)
		ended(err)
	})
}

// A lineWriter calls line for each line that is written to it, which is valid
// during the call.
type lineWriter struct {
	line func([]byte)
	rest []byte
}

func (l *lineWriter) Write(b []byte) (int, error) {
	n := len(b)
	for {
		i := bytes.IndexByte(b, '\n')
		if i < 0 {
			l.rest = append(l.rest, b...)
			return n, nil
		}
		line := b[:i]
		if len(l.rest) > 0 {
			line = append(l.rest, line...)
			l.rest = nil
		}
		if len(line) > 0 {
			l.line(line)
		}
		b = b[i+1:]
	}
}
