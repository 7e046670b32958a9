package proxy

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"strings"
	"time"
)

// Bounds of the HTTP server that [Serve] has, as in package steady.
const (
	headerTimeout = 10 * time.Second
	headerBytes   = 64 << 10
	idleTimeout   = 2 * time.Minute
)

// ServeOptions says where [Serve] serves.
type ServeOptions struct {
	// Addr is the TCP address, as in "localhost:8080"; port 0 takes a free one. One
	// without a host is on this machine only.
	Addr string
	// Path is where the endpoint is, HealthPath that of [Front.Health].
	Path, HealthPath string
	// Within is how long the end may take after ctx was cancelled.
	Within time.Duration
}

// Serve serves f over HTTP until ctx is cancelled.
func Serve(ctx context.Context, f *Front, opts ServeOptions) error {
	listener, err := net.Listen("tcp", withHost(opts.Addr))
	if err != nil {
		return fmt.Errorf("cannot serve HTTP on %q (an address is written as localhost:8080): %w", opts.Addr, err)
	}
	mux := http.NewServeMux()
	mux.Handle(opts.Path, f)
	mux.HandleFunc(opts.HealthPath, f.Health)
	web := &http.Server{
		Handler:           mux,
		ReadHeaderTimeout: headerTimeout,
		MaxHeaderBytes:    headerBytes,
		IdleTimeout:       idleTimeout,
		ErrorLog:          log.New(logWriter{f.log}, "", 0),
	}
	served := make(chan error, 1)
	go func() { served <- web.Serve(listener) }()
	f.log.say("listening at http://%s%s", listener.Addr(), opts.Path)
	select {
	case err = <-served:
	case <-ctx.Done():
	}
	f.Shutdown(opts.Within)
	// What is left are connections that are writing their last answer, or are idle.
	last, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	if web.Shutdown(last) != nil {
		_ = web.Close()
	}
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// withHost returns an address with a host: without one it is this machine's own.
func withHost(addr string) string {
	if !strings.Contains(addr, ":") {
		return net.JoinHostPort("localhost", addr)
	}
	if strings.HasPrefix(addr, ":") {
		return "localhost" + addr
	}
	return addr
}

// Check returns what is wrong with the paths of opts, if anything.
func (o *ServeOptions) Check() error {
	for _, path := range []string{o.Path, o.HealthPath} {
		if !strings.HasPrefix(path, "/") || strings.ContainsAny(path, "{} ") {
			return fmt.Errorf("%q is no path; write it as /mcp", path)
		}
	}
	if o.Path == o.HealthPath {
		return fmt.Errorf("the path %q cannot be both the endpoint's and that of its health", o.Path)
	}
	return nil
}

// A logWriter is a logger for those who write.
type logWriter struct{ log *logger }

func (l logWriter) Write(b []byte) (int, error) {
	l.log.say("%s", strings.TrimSpace(string(b)))
	return len(b), nil
}
