package steady

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/steadymcp/steady/errors"
	"github.com/steadymcp/steady/observe"
	"github.com/steadymcp/steady/stdioguard"
)

// AddrVariable is the environment variable that [RunOptions.BindFlags] reads.
const AddrVariable = "STEADY_HTTP"

// What [Run] does if [RunOptions] says nothing.
const (
	DefaultPath       = "/mcp"
	DefaultHealthPath = "/healthz"
	// DefaultStopWindow is the same as over stdio.
	DefaultStopWindow = stdioguard.DefaultStopWindow
)

// Bounds of the HTTP server that [Run] has.
const (
	headerTimeout = 10 * time.Second
	headerBytes   = 64 << 10
	idleTimeout   = 2 * time.Minute
)

// RunOptions configures [Run]. The zero value serves stdio.
type RunOptions struct {
	// Addr is the TCP address to serve HTTP on, as in "localhost:8080"; port 0
	// takes a free one. If empty, stdio is served.
	Addr string
	// HTTP configures the endpoint. If nil, it has its defaults.
	HTTP *HTTPOptions
	// Path is where the endpoint is. If empty, DefaultPath.
	Path string
	// HealthPath is where [Endpoint.Health] is. If empty, DefaultHealthPath.
	HealthPath string

	// Stdio configures the guard of standard input and output. If nil, it has its
	// defaults.
	Stdio *stdioguard.Options
	// Guard is the guard that main took itself, because something prints before
	// Run. Run closes it, also where it fails. Stdio must then be nil; over HTTP it
	// is closed at once.
	Guard *stdioguard.Transport

	// StopWindow is how long calls in flight may take after a signal or the end of
	// the context. If zero, DefaultStopWindow. Over stdio Stdio.StopWindow, and the
	// options of Guard, come first.
	StopWindow time.Duration
	// NoSignals leaves SIGTERM and SIGINT alone: the caller handles them, by
	// ending the context.
	NoSignals bool
	// Observer receives the events of what has no observer in its own options. If
	// nil, slog.Default.
	Observer observe.Observer

	headerTimeout time.Duration // so that tests need not wait for the usual one
}

// BindFlags adds the flag -http to flags, which sets Addr. Its default is what
// Addr is, or else the environment variable STEADY_HTTP ([AddrVariable]).
func (o *RunOptions) BindFlags(flags *flag.FlagSet) {
	if o.Addr == "" {
		o.Addr = os.Getenv(AddrVariable)
	}
	flags.StringVar(&o.Addr, "http", o.Addr, "serve HTTP on this address, as in localhost:8080, instead of stdio")
}

// Run serves server until it is told to stop, or until its client is gone: on
// stdio, with package stdioguard between the protocol and whatever prints, or on
// HTTP if opts has an address. A nil opts means stdio.
//
// SIGTERM, SIGINT and the end of ctx take no more calls and let those in flight
// finish, for StopWindow; then they are cancelled and have a second to answer. A
// second signal does that at once. A signal that also ends ctx, because main made it
// with [signal.NotifyContext], counts once.
//
// What [Wrap] started for server is closed after that, with a second to finish, or
// over HTTP what is left of the window; also where Run fails. So a server runs once.
//
// On HTTP both eras of the protocol are served, at Path ([Endpoint]); the
// address is reported as a [Serving] event. Nothing is written to standard
// output.
//
// When Run returns, let main return: that is what ends handlers that ignore
// their contexts. It returns nil after an orderly end, and an error that wraps
// [stdioguard.ErrAbandoned] if calls were left running.
func Run(ctx context.Context, server *mcp.Server, opts *RunOptions) error {
	var o RunOptions
	if opts != nil {
		o = *opts
	}
	setDefault(&o.StopWindow, DefaultStopWindow)
	setDefault(&o.Path, DefaultPath)
	setDefault(&o.HealthPath, DefaultHealthPath)
	setDefault(&o.headerTimeout, headerTimeout)
	if o.Guard != nil && o.Stdio != nil {
		return errors.Join(
			errors.New("steady: RunOptions has both Stdio and Guard; a guard has its options already"),
			o.Guard.Close(),
			closeStack(ended(), server),
		)
	}
	if o.Addr == "" {
		return o.runStdio(ctx, server)
	}
	return o.runHTTP(ctx, server)
}

func (o *RunOptions) runStdio(ctx context.Context, server *mcp.Server) error {
	guard := o.Guard
	if guard == nil {
		s := valueOf(o.Stdio)
		setDefault(&s.StopWindow, o.StopWindow)
		s.NoSignals = s.NoSignals || o.NoSignals
		s.Observer = first(s.Observer, o.Observer)
		var err error
		if guard, err = stdioguard.Guard(&s); err != nil {
			return errors.Join(err, closeStack(ended(), server))
		}
	}
	var wrap func(mcp.Transport) mcp.Transport
	if m := managerOf(server); m != nil {
		wrap = m.Transport
	}
	return errors.Join(guard.ServeThrough(ctx, server, wrap), closeStack(ended(), server), guard.Close())
}

func (o *RunOptions) runHTTP(ctx context.Context, server *mcp.Server) error {
	endpoint, web, err := o.prepare(ctx, server)
	if err != nil {
		return errors.Join(err, closeStack(ended(), server))
	}
	listener, err := net.Listen("tcp", o.Addr)
	if err != nil {
		return errors.Join(
			fmt.Errorf("steady: cannot serve HTTP on %q (an address is written as localhost:8080): %w", o.Addr, err),
			closeStack(ended(), server),
		)
	}
	return o.serveHTTP(ctx, server, endpoint, web, listener)
}

// prepare returns the endpoint for server, and what serves it and its health. It
// gives back standard input and output, if main took them.
func (o *RunOptions) prepare(ctx context.Context, server *mcp.Server) (*Endpoint, *http.Server, error) {
	if o.Guard != nil {
		if err := o.Guard.Close(); err != nil {
			return nil, nil, err
		}
	}
	for _, path := range []string{o.Path, o.HealthPath} {
		if !strings.HasPrefix(path, "/") || strings.ContainsAny(path, "{} ") {
			return nil, nil, fmt.Errorf("steady: %q is no path; write it as /mcp", path)
		}
	}
	if o.Path == o.HealthPath {
		return nil, nil, fmt.Errorf("steady: the path %q cannot be both the endpoint's and that of its health", o.Path)
	}
	h := valueOf(o.HTTP)
	h.Observer = first(h.Observer, o.Observer)
	endpoint, err := Handler(func(*http.Request) *mcp.Server { return server }, &h)
	if err != nil {
		return nil, nil, err
	}
	mux := http.NewServeMux()
	mux.Handle(o.Path, endpoint)
	mux.HandleFunc(o.HealthPath, endpoint.Health)
	return endpoint, &http.Server{
		Handler:           mux,
		ReadHeaderTimeout: o.headerTimeout,
		// For whatever is not the endpoint, which has its own.
		ReadTimeout:    o.headerTimeout + endpoint.opts.BodyTimeout,
		MaxHeaderBytes: headerBytes,
		IdleTimeout:    idleTimeout,
		ErrorLog:       slog.NewLogLogger(slog.Default().Handler(), slog.LevelWarn),
		// Values, and no end: calls in flight outlive ctx.
		BaseContext: func(net.Listener) context.Context { return context.WithoutCancel(ctx) },
	}, nil
}

// serveHTTP serves until it is told to stop, or cannot go on, and stops in order.
func (o *RunOptions) serveHTTP(ctx context.Context, server *mcp.Server, endpoint *Endpoint, web *http.Server, listener net.Listener) error {
	var signals chan os.Signal // nil, and never ready, with NoSignals
	if !o.NoSignals {
		signals = make(chan os.Signal, 2)
		signal.Notify(signals, syscall.SIGTERM, os.Interrupt)
		defer signal.Stop(signals)
	}
	served := make(chan error, 1)
	go func() { served <- web.Serve(listener) }()
	endpoint.observer.Observe(ctx, Serving{URL: "http://" + listener.Addr().String() + o.Path})

	var failure, cause error
	seen := 0 // signals
	select {
	case err := <-served:
		failure = fmt.Errorf("steady: %w", err)
		cause = failure
	case s := <-signals:
		cause = errors.New(s.String())
		seen++
	case <-ctx.Done():
		cause = context.Cause(ctx)
	}
	window, hurry := context.WithCancelCause(context.Background())
	defer hurry(nil)
	defer time.AfterFunc(o.StopWindow, func() { hurry(cause) }).Stop()
	go func() {
		// Behind the end of ctx the first signal is, as a rule, the one that ended
		// it. So it is the second signal that hurries, whatever else there was.
		for ; seen < 2; seen++ {
			select {
			case <-signals:
			case <-window.Done():
				return
			}
		}
		hurry(cause)
	}()
	return errors.Join(
		failure,
		endpoint.Shutdown(window),
		closeServer(web),
		closeStack(window, server),
	)
}

// closeServer closes what the endpoint has left of web: connections that are
// writing their last answer, or are idle.
func closeServer(web *http.Server) error {
	ctx, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	if err := web.Shutdown(ctx); err != nil {
		return web.Close()
	}
	return nil
}

// setDefault gives a zero its meaning.
func setDefault[T comparable](p *T, value T) {
	var zero T
	if *p == zero {
		*p = value
	}
}
