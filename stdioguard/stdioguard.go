package stdioguard

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/steadymcp/steady/observe"
)

// NoLimit, as a bound in [Options], means that there is none.
const NoLimit = -1

// NoWait, as a duration in [Options], means not to wait at all.
const NoWait = time.Duration(-1)

// What a bound is if [Options] says nothing.
const (
	// DefaultMaxLine is the SDK's own limit, 16 MiB, which has a name there only
	// from v1.8.0 on.
	DefaultMaxLine = 16 << 20
	// DefaultMaxMessage is under the smallest limit of the common clients. The
	// TypeScript SDK ends the session when 10 MiB are in its buffer, and up to
	// 64 KiB of those may belong to the next message.
	DefaultMaxMessage = 10<<20 - 64<<10
	// DefaultMaxInFlight is far above what a client has open at a time.
	DefaultMaxInFlight = 4096
	// DefaultMaxBacklog is six of the largest messages.
	DefaultMaxBacklog = 64 << 20

	DefaultEOFWindow  = 10 * time.Second
	DefaultStopWindow = 5 * time.Second
	DefaultGrace      = time.Second
	DefaultSettle     = 300 * time.Millisecond
)

// ErrShutdown is in the chain of the cause ([context.Cause]) that handlers see
// when they are cancelled because the session ends.
//
// It wraps [context.Canceled], so a handler that returns the cause of its
// context is taken for one that was cancelled.
var ErrShutdown error = shutdownError{}

type shutdownError struct{}

func (shutdownError) Error() string { return "the session is shutting down" }
func (shutdownError) Unwrap() error { return context.Canceled }

// ErrAbandoned is in the chain of what [Transport.Serve] returns when requests
// were still running, or replies still unread, after everything that it waits
// for. The process should end now.
var ErrAbandoned = errors.New("requests were abandoned")

// ErrClaimed is what [Guard] returns while another guard holds standard input
// and output.
var ErrClaimed = errors.New("stdioguard: standard input and output are already guarded")

// Options configures a guard and its transport. The zero value is ready to use.
type Options struct {
	// MaxLine bounds a message of the client's, in bytes. If zero,
	// DefaultMaxLine; NoLimit is possible and not advised.
	MaxLine int
	// MaxMessage bounds a message to the client, in bytes, its line feed
	// included. If zero, DefaultMaxMessage; or NoLimit.
	MaxMessage int
	// MaxInFlight bounds the requests that are being worked on: each counts
	// from when it is read until its handler has returned, also if the client
	// has cancelled it and the handler does not care. Further ones are
	// answered with a "server is busy" error, code -32000. If zero,
	// DefaultMaxInFlight; or NoLimit.
	MaxInFlight int
	// MaxBacklog bounds the bytes of results that wait until the client has
	// read earlier ones. While it is exceeded, new requests are answered as
	// above; cancellations and the client's own answers still pass. If zero,
	// DefaultMaxBacklog; or NoLimit.
	MaxBacklog int

	// EOFWindow is how long requests in flight may take after the end of
	// input. Nobody has asked the server to hurry: a client that wants it
	// gone sends a signal, 2 to 5 s later in practice, and a signal ends the
	// window at once. If zero, DefaultEOFWindow; or NoWait.
	EOFWindow time.Duration
	// StopWindow is how long requests in flight may take after a first signal
	// or after the context is cancelled. If zero, DefaultStopWindow; or NoWait.
	StopWindow time.Duration
	// Grace is how long requests may take to answer after they have been
	// cancelled. Clients kill a server 2 s after SIGTERM, so keep it well
	// below. If zero, DefaultGrace; or NoWait.
	Grace time.Duration
	// NoSignals leaves SIGTERM and SIGINT alone: the caller handles them, by
	// cancelling Serve's context.
	NoSignals bool

	// NoNullID says not to answer a line whose id cannot be recovered.
	// JSON-RPC 2.0, section 5, asks for an error with a null id, and that is
	// what is sent by default; but a client on the Go SDK ends its session
	// when it receives one.
	NoNullID bool

	// Diversion says how text that was written to standard output reaches
	// standard error. If zero, DivertAuto.
	Diversion Diversion
	// Prefix begins each line of diverted text. If empty, "[stdout] ". Not
	// used by DivertDirect.
	Prefix string
	// Settle is how long Close waits for diverted text to be written, and
	// after that for the observer. If zero, DefaultSettle; or NoWait.
	Settle time.Duration

	// Observer receives the events of this package. It is called from one
	// goroutine at a time, never from one that the client or a printer waits
	// for, with a background context. If nil, slog.Default.
	Observer observe.Observer
}

// A Diversion is a way from standard output to standard error.
type Diversion int

const (
	// DivertAuto is DivertDirect where standard error is a file, a terminal
	// or the null device, and DivertPump where it is a pipe or a socket.
	DivertAuto Diversion = iota
	// DivertPump sends diverted text through a pipe of the guard's own, from
	// where it is copied to standard error, line by line with a prefix, as
	// fast as that is read. What does not fit into 256 KiB is dropped and
	// counted. Whoever prints never waits for standard error, and nobody can
	// truncate it by the name of /dev/stdout. Text that is still on its way
	// when the process ends without Close is lost.
	DivertPump
	// DivertDirect makes descriptor 1 a duplicate of standard error. Nothing
	// is lost, last words before a crash included; there is no prefix, no
	// count and no event; and whoever prints waits for standard error.
	//
	// Where that is a regular file, /dev/stdout is that file: a program or a
	// child that opens it by this name to truncate it, as os.WriteFile and the
	// shell's > do, empties it. Writes to descriptors 1 and 2 go to its end
	// (O_APPEND) until Close, and so survive.
	DivertDirect
)

// withDefaults returns a copy of o in which every zero has its meaning.
func (o *Options) withDefaults() Options {
	var c Options
	if o != nil {
		c = *o
	}
	setDefault(&c.MaxLine, DefaultMaxLine)
	setDefault(&c.MaxMessage, DefaultMaxMessage)
	setDefault(&c.MaxInFlight, DefaultMaxInFlight)
	setDefault(&c.MaxBacklog, DefaultMaxBacklog)
	setDefault(&c.EOFWindow, DefaultEOFWindow)
	setDefault(&c.StopWindow, DefaultStopWindow)
	setDefault(&c.Grace, DefaultGrace)
	setDefault(&c.Settle, DefaultSettle)
	setDefault(&c.Prefix, "[stdout] ")
	c.Observer = observe.Or(c.Observer)
	return c
}

func setDefault[T comparable](p *T, value T) {
	var zero T
	if *p == zero {
		*p = value
	}
}

// exceeds reports whether n is over the bound limit.
func exceeds(n, limit int) bool { return limit >= 0 && n > limit }

// claims is the one guard that the process can have. Its files must stay
// reachable: a collected *os.File closes its descriptor.
var claims struct {
	sync.Mutex
	held *Transport
}

// Guard takes standard input and output for the protocol and returns the
// transport that has them. Call it first in main: what was printed before is
// in the client's hands, and is reported as far as it can be known ([Late]).
//
// From then on descriptor 1, [os.Stdout] and every copy of it that was made
// before, go to standard error (see [Diversion]), and descriptor 0 and
// [os.Stdin] read from the null device. This holds for Go, for C, and for
// child processes started from now on. A write to a closed pipe is an error
// and no longer the end of the process, standard error included, and stays so
// after Close: SIGPIPE is caught.
//
// Where standard error is the same pipe as standard output, it is part of the
// protocol as well: then descriptor 2 is diverted too, and the text of both is
// counted and dropped.
//
// A nil opts means the zero Options. It is an error, [ErrClaimed], to call
// Guard while another guard holds; Close ends that.
func Guard(opts *Options) (*Transport, error) {
	claims.Lock()
	defer claims.Unlock()
	if claims.held != nil {
		return nil, ErrClaimed
	}
	t := newTransport(opts)
	c, err := claimStdio(&t.opts, t.reporter.report)
	if err != nil {
		return nil, fmt.Errorf("stdioguard: %w", err)
	}
	t.claim, t.in, t.out = c, c.in, c.out
	claims.held = t
	return t, nil
}

// NewTransport returns a transport over any pair of streams, a socket or a
// pipe, with everything that this package does for the protocol and nothing
// that it does to the process's standard streams. The session's end closes
// both.
//
// A nil opts means the zero Options; its Diversion and Prefix are not used.
func NewTransport(in io.ReadCloser, out io.WriteCloser, opts *Options) *Transport {
	t := newTransport(opts)
	t.in, t.out = in, out
	return t
}

// Run guards standard input and output, serves one session, and gives them
// back: Guard(nil), Serve and Close.
//
// When it returns, main should return as well: see [Transport.Serve].
func Run(ctx context.Context, server *mcp.Server) error {
	return RunWith(ctx, server, nil)
}

// RunWith is Run with options.
func RunWith(ctx context.Context, server *mcp.Server, opts *Options) error {
	t, err := Guard(opts)
	if err != nil {
		return err
	}
	return errors.Join(t.Serve(ctx, server), t.Close())
}
