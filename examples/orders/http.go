package main

import (
	"context"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/steadymcp/steady/examples/internal/web"
)

// newHandler lets no web page call through its visitor's browser, except one
// from allowOrigin; the empty string is none. Programs other than browsers send
// no Origin.
func newHandler(server *mcp.Server, allowOrigin string) (http.Handler, error) {
	protection := http.NewCrossOriginProtection()
	if allowOrigin != "" {
		if err := protection.AddTrustedOrigin(allowOrigin); err != nil {
			return nil, err
		}
	}
	return crossOrigin(allowOrigin, protection.Handler(web.Eras(server))), nil
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
	return web.Serve(ctx, "orders", addr, handler)
}
