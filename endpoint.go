package steady

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/steadymcp/steady/errors"
	"github.com/steadymcp/steady/internal/wire"
	"github.com/steadymcp/steady/observe"
	"github.com/steadymcp/steady/tasks"
)

// What a bound is if [HTTPOptions] says nothing.
const (
	// DefaultMaxBody is the SDK's own limit, 4 MiB.
	DefaultMaxBody = mcp.DefaultMaxRequestBodyBytes
	// DefaultBodyTimeout is enough for the largest body on a slow line.
	DefaultBodyTimeout = 30 * time.Second
	// DefaultWriteTimeout is far above the hiccups of a network.
	DefaultWriteTimeout = 30 * time.Second
	// DefaultSessionTimeout is longer than people leave a conversation alone and
	// then go on with it: most clients do not start a new session when theirs is
	// gone.
	DefaultSessionTimeout = time.Hour
	// DefaultMaxSessions bounds what clients can make the server keep.
	DefaultMaxSessions = 10_000
)

// HTTPOptions configures an [Endpoint]. The zero value is ready to use.
type HTTPOptions struct {
	// Middleware, if not nil, wraps the endpoint: it authenticates callers, say,
	// as auth.RequireBearerToken of the SDK does. It stands inside of what
	// AllowOrigins does.
	Middleware func(http.Handler) http.Handler
	// AllowOrigins are the origins of web pages that may call, as in
	// "https://chat.example.com". No other page may, through its visitor's
	// browser. Programs that are no browsers send no Origin, and may. A request
	// that arrives at a loopback address under another host's name is refused in
	// any case: the SDK's protection from DNS rebinding.
	AllowOrigins []string

	// MaxBody bounds the body of a request, in bytes. A larger one is answered
	// with status 413. If zero, DefaultMaxBody.
	MaxBody int64
	// MaxBodies bounds what the bodies of all requests that are being read and
	// served take together, in bytes. The first 16 KiB of each are not counted, so
	// that most calls get in whatever else there is. One for which there is no room
	// is answered with status 503. The SDK makes copies, so the memory that a server
	// needs is several times as much. If zero, 16 times MaxBody.
	MaxBodies int64
	// BodyTimeout is how long a client may take to send a body; status 408 is the
	// answer then. If zero, DefaultBodyTimeout.
	BodyTimeout time.Duration
	// WriteTimeout is how long a client may take to read what is sent to it, each
	// time something is sent. Time in which there is nothing to send does not
	// count. If zero, DefaultWriteTimeout.
	WriteTimeout time.Duration

	// SessionTimeout ends a session, up to revision 2025-11-25, when its client
	// has sent nothing for so long; a stream that is open does not count as
	// something. If zero, DefaultSessionTimeout.
	SessionTimeout time.Duration
	// MaxSessions bounds the sessions that are open. One caller, if a token says who
	// it is, may have a quarter of them, and at least one. A client that wants one
	// more is answered with status 503. If zero, DefaultMaxSessions.
	MaxSessions int
	// EventStore, if not nil, lets clients of those revisions resume a stream that
	// broke.
	EventStore mcp.EventStore

	// Observer receives the events of the endpoint. If nil, slog.Default.
	Observer observe.Observer
}

// An Endpoint serves Model Context Protocol servers over HTTP, to clients of both
// eras of the protocol at one address: up to revision 2025-11-25 a client has a
// session, from 2026-07-28 on each request stands alone.
//
// Each response may take as long as it takes: the endpoint lifts the deadlines
// that http.Server.ReadTimeout and WriteTimeout put on a whole request, which
// would end streams, and bounds the reading of a body and each write by itself.
// http.Server.ReadHeaderTimeout and IdleTimeout are left to whoever has the
// [http.Server]; [Run] sets them.
type Endpoint struct {
	opts         HTTPOptions
	get          func(*http.Request) *mcp.Server
	withSessions http.Handler // up to revision 2025-11-25
	stateless    http.Handler // from wire.StatelessRevision on
	outer        http.Handler // what ServeHTTP begins with
	observer     observe.Observer

	streams    context.Context // while there are any
	endStreams context.CancelFunc

	mu       sync.Mutex
	draining bool // no more calls are taken
	requests int  // that are being served, without streams and without those whose body is still to come
	handlers map[*handler]struct{}
	bodies   int64          // bytes that count against MaxBodies
	places   int            // of sessions that are open, or may be in a moment
	users    map[string]int // places of each user, where there is one
	live     map[*mcp.ServerSession]struct{}
	idle     chan struct{} // closed when no request and no handler is left, while draining
	cause    error         // why handlers are cancelled; nil before they are
}

// Handler returns an endpoint for the servers that get returns for a request:
// always the same one, or one for each. get is called once for each request. A
// nil opts means the zero HTTPOptions.
//
// Clients that listen to tasks are pushed the news of a server's tasks if it was
// wrapped ([Wrap]).
//
// It fails if an origin is none, a bound is negative, or MaxBodies is less than
// MaxBody.
func Handler(get func(*http.Request) *mcp.Server, opts *HTTPOptions) (*Endpoint, error) {
	e := &Endpoint{
		get:      get,
		handlers: map[*handler]struct{}{},
		live:     map[*mcp.ServerSession]struct{}{},
		users:    map[string]int{},
		idle:     make(chan struct{}),
	}
	e.streams, e.endStreams = context.WithCancel(context.Background())
	if opts != nil {
		e.opts = *opts
	}
	if o := &e.opts; o.MaxBody < 0 || o.MaxBodies < 0 || o.BodyTimeout < 0 || o.WriteTimeout < 0 || o.SessionTimeout < 0 || o.MaxSessions < 0 {
		return nil, errors.New("steady: a bound of HTTPOptions is negative; it has to be positive, or zero for its default")
	}
	setDefault(&e.opts.MaxBody, DefaultMaxBody)
	setDefault(&e.opts.MaxBodies, max(e.opts.MaxBody, 16*min(e.opts.MaxBody, math.MaxInt64/16)))
	if e.opts.MaxBodies < e.opts.MaxBody {
		return nil, fmt.Errorf("steady: MaxBodies (%d) has no room for one body of MaxBody (%d)", e.opts.MaxBodies, e.opts.MaxBody)
	}
	setDefault(&e.opts.BodyTimeout, DefaultBodyTimeout)
	setDefault(&e.opts.WriteTimeout, DefaultWriteTimeout)
	setDefault(&e.opts.SessionTimeout, DefaultSessionTimeout)
	setDefault(&e.opts.MaxSessions, DefaultMaxSessions)
	e.observer = observe.Or(e.opts.Observer)

	e.withSessions = mcp.NewStreamableHTTPHandler(serverOf, &mcp.StreamableHTTPOptions{
		SessionTimeout:      e.opts.SessionTimeout,
		EventStore:          e.opts.EventStore,
		MaxRequestBodyBytes: e.opts.MaxBody,
	})
	e.stateless = mcp.NewStreamableHTTPHandler(serverOf, &mcp.StreamableHTTPOptions{
		Stateless:                    true,
		MaxRequestBodyBytes:          e.opts.MaxBody,
		PropagateRequestCancellation: true, // a client that went away needs no answer
	})
	var h http.Handler = http.HandlerFunc(e.serve)
	if e.opts.Middleware != nil {
		h = e.opts.Middleware(h)
	}
	var err error
	if e.outer, err = GuardOrigins(e.opts.AllowOrigins, h, e.forbid); err != nil {
		return nil, err
	}
	return e, nil
}

// ServeHTTP implements [http.Handler]. The path does not matter.
func (e *Endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	// A writer that has no deadlines has none to lift either. That of the body also
	// bounds how long a connection waits for what is left of one that was refused.
	control := http.NewResponseController(w)
	_ = control.SetWriteDeadline(time.Time{})
	_ = control.SetReadDeadline(time.Now().Add(e.opts.BodyTimeout))
	e.outer.ServeHTTP(w, r)
}

// Health answers whether the endpoint takes calls: status 200, or 503 while it
// shuts down. It is an [http.HandlerFunc] for a path of its own, without
// whatever authenticates callers.
func (e *Endpoint) Health(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	if e.isDraining() {
		http.Error(w, "shutting down", http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = w.Write([]byte("ok\n"))
}

func (e *Endpoint) isDraining() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.draining
}

// serve serves a caller who may call.
func (e *Endpoint) serve(w http.ResponseWriter, r *http.Request) {
	q := &request{endpoint: e}
	defer q.release()
	w = &patientWriter{ResponseWriter: w, timeout: e.opts.WriteTimeout}
	r, ok := e.withBody(w, r, q)
	if !ok {
		return
	}
	if isStream(r) {
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		defer context.AfterFunc(e.streams, cancel)()
		r = r.WithContext(ctx)
	}
	r = r.WithContext(context.WithValue(r.Context(), requestKey{}, q))
	if isStateless(r) {
		e.withPush(r).ServeHTTP(w, r)
		return
	}
	e.withSessions.ServeHTTP(w, r)
}

// isStateless tells the eras apart. A client of the later one always sends the
// header; a request that has the other of its headers and not this one is a
// mistake for which only the later era has an answer.
func isStateless(r *http.Request) bool {
	version := r.Header.Get("Mcp-Protocol-Version")
	return version >= wire.StatelessRevision || version == "" && r.Header.Get("Mcp-Method") != ""
}

// isStream says whether only the client ends r.
func isStream(r *http.Request) bool {
	return r.Method == http.MethodGet || isStateless(r) && r.Header.Get("Mcp-Method") == "subscriptions/listen"
}

// withPush returns what serves r by itself, with what its server's tasks need.
func (e *Endpoint) withPush(r *http.Request) http.Handler {
	if m := managerOf(serverOf(r)); m != nil {
		return m.Handler(e.stateless)
	}
	return e.stateless
}

// managerOf returns the manager of the stack on server, or nil.
func managerOf(server *mcp.Server) *tasks.Manager {
	if server == nil {
		return nil
	}
	if s := stackOf(server); s != nil {
		return s.Tasks
	}
	return nil
}
