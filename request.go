package steady

import (
	"net/http"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/steadymcp/steady/internal/perserver"
)

type requestKey struct{}

// A request is what an endpoint knows of the one that it serves. In the contexts
// of a session it is the one that the session began with.
type request struct {
	endpoint *Endpoint
	once     sync.Once
	server   *mcp.Server

	// Guarded by the endpoint's mu:
	entered bool  // is among the endpoint's requests
	body    int64 // bytes that count against MaxBodies
	opening bool  // has a place among MaxSessions that no session has taken yet
}

// enter reports whether the endpoint takes calls. From now on the endpoint waits
// for the request when it shuts down, except for a stream: only its client ends
// that, and no answer depends on it.
func (q *request) enter(stream bool) bool {
	e := q.endpoint
	e.mu.Lock()
	defer e.mu.Unlock()
	if !stream {
		e.requests++
		q.entered = true
	}
	return !e.draining
}

// holdBody reports whether there is room for n bytes of the body, and takes it.
func (q *request) holdBody(n int64) bool {
	if n <= q.body {
		return true
	}
	e := q.endpoint
	e.mu.Lock()
	defer e.mu.Unlock()
	more := n - q.body
	if e.bodies+more > e.opts.MaxBodies {
		return false
	}
	e.bodies += more
	q.body = n
	return true
}

// openSession reports whether there is room for one more session, and takes it
// until the session keeps it or the request has been served.
func (q *request) openSession() bool {
	e := q.endpoint
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.live)+e.opening >= e.opts.MaxSessions {
		return false
	}
	e.opening++
	q.opening = true
	return true
}

// keep remembers a session until it ends.
func (q *request) keep(session mcp.Session) {
	ss, ok := session.(*mcp.ServerSession)
	if !ok || ss == nil {
		return
	}
	e := q.endpoint
	e.mu.Lock()
	defer e.mu.Unlock()
	if _, known := e.live[ss]; known {
		return
	}
	e.live[ss] = struct{}{}
	q.closeOpeningLocked()
	go func() {
		_ = ss.Wait()
		e.mu.Lock()
		defer e.mu.Unlock()
		delete(e.live, ss)
	}()
}

// release gives back what the request still has.
func (q *request) release() {
	e := q.endpoint
	e.mu.Lock()
	defer e.mu.Unlock()
	e.bodies -= q.body
	q.body = 0
	q.closeOpeningLocked()
	if q.entered {
		q.entered = false
		e.requests--
		e.settleLocked()
	}
}

func (q *request) closeOpeningLocked() {
	if q.opening {
		q.endpoint.opening--
		q.opening = false
	}
}

// serverOf returns the server for r. The SDK asks for it more than once.
func serverOf(r *http.Request) *mcp.Server {
	q := r.Context().Value(requestKey{}).(*request)
	q.once.Do(func() {
		if q.server = q.endpoint.get(r); q.server != nil && joined.Claim(q.server, struct{}{}) {
			q.server.AddReceivingMiddleware(join)
		}
	})
	return q.server
}

// joined are the servers that have the middleware join.
var joined perserver.Map[struct{}]
