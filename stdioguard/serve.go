package stdioguard

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/steadymcp/steady/internal/perserver"
)

// Serve connects server to the transport and returns when the session is over.
//
// The end of input stops the intake. Requests in flight get EOFWindow to be
// answered; then, or at once when a signal arrives meanwhile, they are
// cancelled, and get Grace to answer. Questions of the server's that the
// client can no longer answer fail at once.
//
// The first SIGTERM or SIGINT, and the end of ctx, stop the intake: new
// requests are answered with an error, everything else still passes, and
// requests in flight get StopWindow. A second signal cancels at once. ctx ends
// nothing by itself: it is not the parent of the handlers' contexts, except
// for its values.
//
// Handlers that are cancelled see why as [context.Cause] of their context; the
// cause wraps [ErrShutdown]. The first Serve of a server adds one middleware to it
// for that, on the outside; requests of sessions that are served otherwise pass
// through it untouched.
//
// A session that ends because the client has gone or because it was asked to
// is no error, and Serve returns nil. Where handlers ignore their contexts, or
// the client does not read, it returns an error that wraps [ErrAbandoned] as
// soon as the time above is over, and leaves them running. Main must return
// then: the process, and not Serve, ends them.
func (t *Transport) Serve(ctx context.Context, server *mcp.Server) error {
	return t.ServeThrough(ctx, server, nil)
}

// ServeThrough is Serve with something between server and the transport, such as
// a log of the messages or the push of a tasks manager. wrap is called once, and
// what it returns must pass on what it does not know; nil means nothing.
func (t *Transport) ServeThrough(ctx context.Context, server *mcp.Server, wrap func(mcp.Transport) mcp.Transport) error {
	var outer mcp.Transport = t
	if wrap != nil {
		outer = wrap(t)
	}
	var signals chan os.Signal // nil, and never ready, with NoSignals
	if !t.opts.NoSignals {
		signals = make(chan os.Signal, 2)
		signal.Notify(signals, syscall.SIGTERM, os.Interrupt)
		defer signal.Stop(signals)
	}
	if joined.Claim(server, struct{}{}) {
		server.AddReceivingMiddleware(joinShutdown)
	}
	// The SDK drops replies once the context of a session is cancelled.
	base := context.WithoutCancel(ctx)
	session, err := server.Connect(context.WithValue(base, transportKey{}, t), outer, nil)
	if err != nil {
		return err
	}
	c := t.conn
	c.mu.Lock()
	c.served = true
	c.mu.Unlock()
	finished := make(chan error, 1)
	go func() { finished <- session.Wait() }()

	stopped := ctx.Done()
	for {
		select {
		case s := <-signals:
			c.stop(stopSignal, signalCause(s))
		case <-stopped:
			stopped = nil
			c.stop(stopContext, contextCause(ctx))
		case err := <-finished:
			return outcome(err)
		case <-c.ended:
			return c.leave(finished)
		}
	}
}

// idleWait is how long the SDK may take to notice that it has nothing to do.
const idleWait = 100 * time.Millisecond

// leave waits for the SDK to finish after the last message has been read. It
// does at once, unless handlers are still running: those of requests, which
// have had their time, and those of notifications and of requests that the
// client had cancelled, which have not.
func (c *conn) leave(finished <-chan error) error {
	c.mu.Lock()
	wait := max(c.opts.Grace, idleWait)
	if c.abandoned > 0 && !c.outputOver {
		wait = idleWait
	}
	n, left := c.abandoned, c.left
	c.mu.Unlock()
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case err := <-finished:
		return outcome(err)
	case <-timer.C:
	}
	c.reporter.report(Abandoned{InFlight: n, Requests: left})
	if n == 0 {
		return fmt.Errorf("stdioguard: %w: handlers whose replies nobody waits for are still running", ErrAbandoned)
	}
	return fmt.Errorf("stdioguard: %w: %s without a reply", ErrAbandoned, requests(n))
}

// outcome is what Serve returns for what the SDK says of the session.
func outcome(err error) error {
	if err == nil || isClosed(err) || errors.Is(err, ErrShutdown) {
		return nil
	}
	return fmt.Errorf("stdioguard: %w", err)
}

type transportKey struct{}

// joined are the servers that have the middleware joinShutdown. One may serve many
// sessions.
var joined perserver.Map[struct{}]

// joinShutdown is middleware that lets handlers see the cause of the shutdown.
// The SDK could only cancel them without one.
func joinShutdown(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		t, ok := ctx.Value(transportKey{}).(*Transport)
		if !ok {
			return next(ctx, method, req)
		}
		ctx, leave := t.conn.join(ctx)
		defer leave()
		return next(ctx, method, req)
	}
}

// A handler is one that is running.
type handler struct{ cancel context.CancelCauseFunc }

// join returns a context for a handler, and what to call when it returns.
func (c *conn) join(parent context.Context) (_ context.Context, leave func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cause != nil {
		// parent may have been cancelled already, and has no cause.
		ctx, cancel := context.WithCancelCause(context.WithoutCancel(parent))
		cancel(c.cause)
		return ctx, func() {}
	}
	ctx, cancel := context.WithCancelCause(parent)
	h := &handler{cancel}
	c.handlers[h] = struct{}{}
	return ctx, func() {
		c.mu.Lock()
		delete(c.handlers, h)
		c.mu.Unlock()
		cancel(nil)
	}
}

// cancelHandlersLocked cancels what is running and what will. It comes before
// what makes the SDK cancel the same handlers, because the first cause is the
// one that they see.
func (c *conn) cancelHandlersLocked(cause error) {
	if c.cause != nil {
		return
	}
	c.cause = cause
	for h := range c.handlers {
		h.cancel(cause)
	}
	clear(c.handlers)
}
