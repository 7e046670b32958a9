//lint:file-ignore SA1019 old handlers use what is deprecated

package tasks_test

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// legacy is a tool that was written for the revision with a handshake: it asks
// and reports in the middle of its work, through its session.
func legacy(ctx context.Context, req *mcp.CallToolRequest, _ any) (*mcp.CallToolResult, any, error) {
	if err := req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: "t", Progress: 1, Total: 4, Message: "asking"}); err != nil {
		return nil, nil, err
	}
	if err := req.Session.Log(ctx, &mcp.LoggingMessageParams{Level: "info", Data: "asking"}); err != nil {
		return nil, nil, err
	}
	res, err := req.Session.Elicit(ctx, &mcp.ElicitParams{Message: "Name?", RequestedSchema: nameSchema})
	if err != nil {
		return nil, nil, err
	}
	if _, err := req.Session.ListRoots(ctx, nil); err == nil {
		return nil, nil, context.Canceled
	}
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "Hello " + res.Content["name"].(string)}}}, nil, nil
}
