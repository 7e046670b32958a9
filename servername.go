package steady

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/steadymcp/steady/internal/wire"
)

// nameOf returns the name that server announces itself under, or "". The SDK
// tells it only to a client that shakes hands, so this shakes hands as one that
// is gone at once. Middleware that server has already sees it pass.
func nameOf(server *mcp.Server) string {
	ctx := context.Background()
	_, end := mcp.NewInMemoryTransports()
	session, err := server.Connect(ctx, end, nil)
	if err != nil {
		return ""
	}
	defer session.Close()
	var handle mcp.MethodHandler
	server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		handle = next
		return next
	})
	res, err := handle(ctx, wire.MethodInitialize, &mcp.ServerRequest[*mcp.InitializeParams]{
		Session: session, Params: &mcp.InitializeParams{ProtocolVersion: "2025-11-25"}, Extra: &mcp.RequestExtra{},
	})
	init, ok := res.(*mcp.InitializeResult)
	if err != nil || !ok || init == nil || init.ServerInfo == nil {
		return ""
	}
	return init.ServerInfo.Name
}
