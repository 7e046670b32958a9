package main

import (
	"context"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/steadymcp/steady/examples/internal/web"
)

// serveHTTP serves callers that have a token, and no web page.
func serveHTTP(ctx context.Context, server *mcp.Server, addr string) error {
	handler := auth.RequireBearerToken(verify, nil)(web.Eras(server))
	return web.Serve(ctx, "marketdata", addr, http.NewCrossOriginProtection().Handler(handler))
}
