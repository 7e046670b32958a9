package steady

import (
	"fmt"
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
	entered bool   // is among the endpoint's requests
	body    int64  // bytes that count against MaxBodies
	place   *place // among MaxSessions, which no session has taken yet; or nil
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

// A place is one of MaxSessions.
type place struct{ user string }

// openSession takes a place for one more session, until the session keeps it or the
// request has been served. If there is none it returns why.
func (q *request) openSession(user string) (refusal string) {
	e := q.endpoint
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.places >= e.opts.MaxSessions {
		return fmt.Sprintf("the server has %d sessions open and takes no more; try again later", e.places)
	}
	if share := max(e.opts.MaxSessions/4, 1); user != "" && e.users[user] >= share {
		return fmt.Sprintf("%d sessions of this caller are open, which is all it may have; close one, or try again later", share)
	}
	e.places++
	if user != "" {
		e.users[user]++
	}
	q.place = &place{user}
	return ""
}

// vacateLocked gives a place back.
func (e *Endpoint) vacateLocked(p *place) {
	if p == nil {
		return
	}
	e.places--
	if p.user == "" {
		return
	}
	if e.users[p.user]--; e.users[p.user] == 0 {
		delete(e.users, p.user)
	}
}

// keep remembers a session, which has the place of its request, until it ends.
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
	p := q.place
	q.place = nil
	go func() {
		_ = ss.Wait()
		e.mu.Lock()
		defer e.mu.Unlock()
		delete(e.live, ss)
		e.vacateLocked(p)
	}()
}

// release gives back what the request still has.
func (q *request) release() {
	e := q.endpoint
	e.mu.Lock()
	defer e.mu.Unlock()
	e.bodies -= q.body
	q.body = 0
	e.vacateLocked(q.place)
	q.place = nil
	if q.entered {
		q.entered = false
		e.requests--
		e.settleLocked()
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
