// Package web serves Model Context Protocol servers over HTTP: both eras of the
// protocol on one address, with an orderly end.
package web

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// stateless is the first protocol revision without sessions.
const stateless = "2026-07-28"

// Eras serves both eras of the protocol on one address. Up to revision
// 2025-11-25 a client has a session; from 2026-07-28 on each request stands
// alone, and the SDK serves the two by handlers of different kinds. The header
// tells them apart: a client of the later era always sends it.
func Eras(server *mcp.Server) http.Handler {
	get := func(*http.Request) *mcp.Server { return server }
	sessions := mcp.NewStreamableHTTPHandler(get, &mcp.StreamableHTTPOptions{
		SessionTimeout: 10 * time.Minute, // an abandoned session must not stay for ever
	})
	requests := mcp.NewStreamableHTTPHandler(get, &mcp.StreamableHTTPOptions{
		Stateless:                    true,
		PropagateRequestCancellation: true, // a client that went away needs no answer
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Mcp-Protocol-Version") >= stateless {
			requests.ServeHTTP(w, r)
			return
		}
		sessions.ServeHTTP(w, r)
	})
}

// Serve serves the handler at /mcp until SIGTERM or SIGINT, then lets the calls
// in flight finish. It says on standard error, after the program's name, where
// it serves: port 0 takes a free one.
func Serve(ctx context.Context, program, addr string, handler http.Handler) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "%s: serving http://%s/mcp\n", program, listener.Addr())
	mux := http.NewServeMux()
	mux.Handle("/mcp", handler)
	h := &http.Server{
		Handler:           mux,
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
