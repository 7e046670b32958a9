package stdioguard

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/steadymcp/steady/internal/wire"
)

// How a session ends. To the SDK the connection must look alive for as long as
// replies are to pass: once Read has returned an error every handler is
// cancelled and every reply refused. So Read goes on waiting, and what has to
// happen to the handlers is said in messages that the client never sent: a
// cancellation for a request in flight, an error for a question that nobody
// will answer.
//
//	serving --(end of input, signal, context)--> draining
//	draining --(window over, another signal)--> cancelling
//	draining, cancelling --(all answered)--> over
//	cancelling --(grace over)--> over
type phase int

const (
	serving phase = iota
	draining
	cancelling
	over
)

// drainState is guarded by conn.mu.
type drainState struct {
	phase     phase
	inputOver bool
	stopped   [stopKinds]bool // which kinds of stop there have been
	timer     *time.Timer     // of the window, then of the grace
	// cause is what handlers see, once they are cancelled.
	cause      error
	handlers   map[*handler]struct{} // that Serve's middleware has seen
	endErr     error                 // what Read returns; set before ended is closed
	outputOver bool
	served     bool // by Serve, whose middleware fills handlers
	abandoned  int  // requests that had no reply when it was over
	left       []Request
}

// A stopKind is a reason to stop.
type stopKind int

const (
	stopEOF stopKind = iota
	stopContext
	stopSignal
	stopKinds // how many there are
)

// stop begins to drain, or hurries a drain that has begun.
func (c *conn) stop(kind stopKind, cause error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	again := c.stopped[kind]
	c.stopped[kind] = true
	switch {
	case c.phase == serving:
		c.drainLocked(kind, cause)
	case c.phase != draining || kind == stopEOF:
	case kind == stopSignal && (again || !c.stopped[stopContext]),
		kind == stopContext && !c.stopped[stopSignal]:
		// A first signal behind a cancelled context is, as a rule, the signal
		// that cancelled it, and the other way round.
		c.cancelLocked(cause)
	}
}

// drainLocked stops the intake.
func (c *conn) drainLocked(kind stopKind, cause error) {
	c.phase = draining
	c.reporter.report(Draining{Cause: cause, InFlight: c.awaitedLocked()})
	window := c.opts.StopWindow
	if kind == stopEOF {
		window = c.opts.EOFWindow
	}
	for id, call := range c.calls {
		if call.request.Method == methodListen {
			c.injectCancelLocked(id, cause) // it would go on for ever
		}
	}
	c.drainedLocked()
	if c.phase == draining {
		late := fmt.Errorf("%w, and %v later this request was not answered", cause, max(window, 0))
		c.timer = time.AfterFunc(max(window, 0), func() {
			c.mu.Lock()
			defer c.mu.Unlock()
			if c.phase == draining {
				c.cancelLocked(late)
			}
		})
	}
}

// methodListen is a request that is answered when it is cancelled.
const methodListen = "subscriptions/listen"

// cancelLocked cancels what is in flight.
func (c *conn) cancelLocked(cause error) {
	c.phase = cancelling
	c.timer.Stop()
	c.reporter.report(Cancelled{Cause: cause, InFlight: c.awaitedLocked(), Requests: c.namesLocked()})
	c.cancelHandlersLocked(cause)
	for id, call := range c.calls {
		if !call.forgotten() {
			c.injectCancelLocked(id, cause)
		}
	}
	c.timer = time.AfterFunc(max(c.opts.Grace, 0), func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.endLocked(cause)
	})
}

// drainedLocked ends a drain when nothing is left to wait for.
func (c *conn) drainedLocked() {
	if (c.phase == draining || c.phase == cancelling) &&
		c.awaitedLocked() == 0 && len(c.rejections) == 0 && !c.rejectionWriter {
		c.endLocked(errOver)
	}
}

// endLocked cancels what is left, for the given cause, and lets Read return.
// The SDK takes an error that wraps io.EOF for a clean end; only that of a
// stream that has failed does not.
func (c *conn) endLocked(cause error) {
	if c.phase == over {
		return
	}
	c.phase = over
	c.abandoned, c.left = c.awaitedLocked(), c.namesLocked()
	if c.timer != nil {
		c.timer.Stop()
	}
	c.sendComplaintLocked()
	c.cancelHandlersLocked(cause)
	if c.endErr == nil {
		c.endErr = fmt.Errorf("%w: %w", io.EOF, cause)
	}
	close(c.ended)
}

// Causes that handlers see.
var (
	errInputOver = fmt.Errorf("%w: the client has closed its end", ErrShutdown)
	errOver      = fmt.Errorf("%w: it is over", ErrShutdown)
)

// inputEnded is called when nothing more can be read.
func (c *conn) inputEnded(err error) {
	c.mu.Lock()
	c.inputOver = true
	for id := range c.asked {
		c.failLocked(id, "the client has closed its end")
	}
	if !errors.Is(err, io.EOF) && !isClosed(err) && c.phase == serving {
		c.endErr = fmt.Errorf("reading from the client: %w", err)
	}
	c.mu.Unlock()
	c.stop(stopEOF, errInputOver)
}

// outputEnded is called when a write has failed: no reply will arrive.
func (c *conn) outputEnded(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.phase == over {
		return
	}
	if !isClosed(err) {
		c.endErr = fmt.Errorf("writing to the client: %w", err)
	}
	c.outputOver = true
	c.endLocked(errInputOver)
}

// isClosed reports whether err says that the other end is gone, or that we
// have closed our own.
func isClosed(err error) bool {
	return errors.Is(err, io.ErrClosedPipe) || errors.Is(err, os.ErrClosed) ||
		slices.ContainsFunc(goneErrors, func(gone error) bool { return errors.Is(err, gone) })
}

// failLocked answers a question of the server's in the client's place.
func (c *conn) failLocked(asked jsonrpc.ID, reason string) {
	delete(c.asked, asked)
	c.injectLocked(&jsonrpc.Response{ID: asked, Error: &jsonrpc.Error{Code: codeServer, Message: reason}})
}

// injectCancelLocked cancels a request in the client's place.
func (c *conn) injectCancelLocked(id jsonrpc.ID, cause error) {
	params := append(appendID([]byte(`{"requestId":`), id), `,"reason":`...)
	params = append(wire.AppendString(params, cause.Error()), '}')
	c.injectLocked(&jsonrpc.Request{Method: wire.NotificationCancelled, Params: params})
}

func (c *conn) injectLocked(m jsonrpc.Message) {
	c.injected = append(c.injected, m)
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

func (c *conn) nextInjected() jsonrpc.Message {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.injected) == 0 {
		return nil
	}
	m := c.injected[0]
	c.injected = c.injected[1:]
	return m
}

// signalCause is the cause that handlers see after a signal.
func signalCause(s os.Signal) error { return fmt.Errorf("%w: received %s", ErrShutdown, s) }

// contextCause is the cause that handlers see after ctx has been cancelled.
func contextCause(ctx context.Context) error {
	return fmt.Errorf("%w: %w", ErrShutdown, context.Cause(ctx))
}

func requests(n int) string {
	if n == 1 {
		return "1 request"
	}
	return strconv.Itoa(n) + " requests"
}
