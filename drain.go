package steady

import (
	"context"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/steadymcp/steady/internal/wire"
	"github.com/steadymcp/steady/stdioguard"
)

// grace is how long handlers may take to answer after they have been cancelled,
// as over stdio.
const grace = stdioguard.DefaultGrace

// Shutdown takes no more calls, and returns when those in flight have been
// answered. They get until ctx is done; then they are cancelled, and get one
// second more to answer. Meanwhile a new call is answered with status 503, and
// notifications and answers to the server's questions still pass. Streams that
// only a client would end are ended last.
//
// Handlers see why they are cancelled as [context.Cause] of their context; the
// cause wraps [stdioguard.ErrShutdown], as over stdio. Where some ignore it,
// Shutdown returns an error that wraps [stdioguard.ErrAbandoned].
//
// Call it before [http.Server.Shutdown], which would wait for the streams and
// shut out the answers. [Run] does.
func (e *Endpoint) Shutdown(ctx context.Context) error {
	e.mu.Lock()
	e.draining = true
	e.settleLocked()
	calls := e.callsLocked()
	e.mu.Unlock()
	e.observer.Observe(ctx, Draining{Calls: calls})

	var err error
	select {
	case <-e.idle:
	case <-ctx.Done():
		err = e.abandon(context.WithoutCancel(ctx), fmt.Errorf("steady: %w: %w", stdioguard.ErrShutdown, context.Cause(ctx)))
	}
	e.endStreams()
	e.endSessions()
	return err
}

// abandon cancels the handlers and waits a little for their answers.
func (e *Endpoint) abandon(ctx context.Context, cause error) error {
	e.mu.Lock()
	calls := e.callsLocked()
	e.cause = cause
	for h := range e.handlers {
		h.cancel(cause)
	}
	e.mu.Unlock()
	e.observer.Observe(ctx, Cancelled{Calls: calls})
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-e.idle:
		return nil
	case <-timer.C:
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return fmt.Errorf("steady: %w: %d", stdioguard.ErrAbandoned, e.callsLocked())
}

// endSessions closes the sessions that clients left open. A session waits for
// its handlers, so those that ignore their contexts are not waited for.
func (e *Endpoint) endSessions() {
	e.mu.Lock()
	sessions := make([]*mcp.ServerSession, 0, len(e.live))
	for ss := range e.live {
		sessions = append(sessions, ss)
	}
	e.mu.Unlock()
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		for _, ss := range sessions {
			_ = ss.Close()
		}
	}()
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-closed:
	case <-timer.C:
	}
}

// callsLocked is how many calls are in flight, as far as one can tell: most
// handlers have a request that waits, and some requests wait for a handler yet to
// start.
func (e *Endpoint) callsLocked() int { return max(e.requests, len(e.handlers)) }

// settleLocked notices the end of the last call.
func (e *Endpoint) settleLocked() {
	if !e.draining || e.requests > 0 || len(e.handlers) > 0 {
		return
	}
	select {
	case <-e.idle:
	default:
		close(e.idle)
	}
}

// A handler is one that is running.
type handler struct{ cancel context.CancelCauseFunc }

// join is middleware that lets an endpoint wait for handlers and cancel them. The
// SDK could only cancel those of the later era, by their requests.
func join(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		q, ok := ctx.Value(requestKey{}).(*request)
		if !ok {
			return next(ctx, method, req)
		}
		if _, listen := req.(*mcp.SubscriptionsListenRequest); listen {
			return next(ctx, method, req) // ends with its stream
		}
		if method == wire.MethodInitialize {
			q.keep(req.GetSession())
		}
		ctx, leave := q.endpoint.join(ctx)
		defer leave()
		return next(ctx, method, req)
	}
}

func (e *Endpoint) join(parent context.Context) (_ context.Context, leave func()) {
	ctx, cancel := context.WithCancelCause(parent)
	h := &handler{cancel}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.cause != nil {
		cancel(e.cause)
	}
	e.handlers[h] = struct{}{}
	return ctx, func() {
		cancel(nil)
		e.mu.Lock()
		defer e.mu.Unlock()
		delete(e.handlers, h)
		e.settleLocked()
	}
}

// closeStack ends what the stack on server started, if there is one, and waits
// for it until window has ended and a little longer.
func closeStack(window context.Context, server *mcp.Server) error {
	s := stackOf(server)
	if s == nil {
		return nil
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(window))
	defer cancel()
	defer context.AfterFunc(window, func() { time.AfterFunc(grace, cancel) })()
	if err := s.Close(ctx); err != nil {
		return fmt.Errorf("steady: %w: %w", stdioguard.ErrAbandoned, err)
	}
	return nil
}

// ended is a window that is over.
func ended() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}
