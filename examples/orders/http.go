package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/steadymcp/steady/errors"
)

// stateless is the first protocol revision without sessions.
const stateless = "2026-07-28"

// newHandler serves both eras of the protocol on one address. Up to revision
// 2025-11-25 a client has a session; from 2026-07-28 on each request stands
// alone, and the SDK serves the two by handlers of different kinds. The header
// tells them apart: a client of the later era always sends it.
//
// allowOrigin is the one web page's origin that may call from a browser; the
// empty string is none. Programs other than browsers send no Origin.
func newHandler(server *mcp.Server, allowOrigin string) (http.Handler, error) {
	get := func(*http.Request) *mcp.Server { return server }
	sessions := mcp.NewStreamableHTTPHandler(get, &mcp.StreamableHTTPOptions{
		SessionTimeout: 10 * time.Minute, // an abandoned session must not stay for ever
	})
	requests := mcp.NewStreamableHTTPHandler(get, &mcp.StreamableHTTPOptions{
		Stateless:                    true,
		PropagateRequestCancellation: true, // a client that went away needs no answer
	})
	eras := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Mcp-Protocol-Version") >= stateless {
			requests.ServeHTTP(w, r)
			return
		}
		sessions.ServeHTTP(w, r)
	})

	// A page on another site must not reach this server through its visitor's browser.
	protection := http.NewCrossOriginProtection()
	if allowOrigin != "" {
		if err := protection.AddTrustedOrigin(allowOrigin); err != nil {
			return nil, err
		}
	}
	mux := http.NewServeMux()
	mux.Handle("/mcp", crossOrigin(allowOrigin, protection.Handler(eras)))
	return mux, nil
}

// crossOrigin answers the questions that a browser asks on behalf of a page
// from origin, and leaves every other request to next.
func crossOrigin(origin string, next http.Handler) http.Handler {
	if origin == "" {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Add("Vary", "Origin")
		if r.Header.Get("Origin") == origin {
			h := w.Header()
			h.Set("Access-Control-Allow-Origin", origin)
			h.Set("Access-Control-Expose-Headers", "Mcp-Session-Id")
			if r.Method == http.MethodOptions {
				h.Set("Access-Control-Allow-Methods", "GET, POST, DELETE")
				// The later era repeats arguments in headers whose names are not known here.
				h.Set("Access-Control-Allow-Headers", r.Header.Get("Access-Control-Request-Headers"))
				h.Set("Access-Control-Max-Age", "600")
				w.WriteHeader(http.StatusNoContent)
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

// serveHTTP serves until SIGTERM or SIGINT, then lets the calls in flight finish.
func (c config) serveHTTP(ctx context.Context, addr, allowOrigin string) error {
	server, closeServer, err := newServer(c)
	if err != nil {
		return err
	}
	defer closeServer()
	handler, err := newHandler(server, allowOrigin)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	// Port 0 takes a free one, so the address must be said.
	fmt.Fprintf(os.Stderr, "orders: serving http://%s/mcp\n", listener.Addr())
	h := &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: 10 * time.Second,
		ErrorLog:          slog.NewLogLogger(slog.Default().Handler(), slog.LevelWarn),
	}
	served := make(chan error, 1)
	go func() { served <- h.Serve(listener) }()
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	wait, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	err = h.Shutdown(wait)
	if errors.Is(err, context.DeadlineExceeded) {
		// What is still open is a stream that only its client ends.
		err = h.Close()
	}
	return err
}
