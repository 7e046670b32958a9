package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/steadymcp/steady/catalog"
)

// The same API with the SDK alone, as it is often done. It is here for
// comparison: no part of it is to be copied.

// newBareServer has a tool for each endpoint, or one that takes a path.
func newBareServer(c config, api, key string) (*mcp.Server, error) {
	server := mcp.NewServer(&mcp.Implementation{Name: "marketdata", Version: "v1.0.0"}, nil)
	base, err := url.Parse(api)
	if err != nil {
		return nil, err
	}
	get := func(ctx context.Context, address *url.URL) (*mcp.CallToolResult, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, address.String(), nil)
		if err != nil {
			return nil, err
		}
		req.Header.Set("Authorization", "Bearer "+key)
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			return nil, err
		}
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(body)}}, IsError: res.StatusCode >= 400}, err
	}
	if c.path {
		addPathTool(server, base, get)
		return server, nil
	}
	var list struct{ Entries []catalog.Entry }
	if err := json.Unmarshal(catalogFile, &list); err != nil {
		return nil, err
	}
	for _, e := range list.Entries {
		server.AddTool(&mcp.Tool{
			Name:        strings.ReplaceAll(e.ID, "-", "_"),
			Title:       e.Title,
			Description: e.Summary + ". " + e.Description,
			InputSchema: e.Parameters,
			Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true},
		}, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			var args map[string]any
			if err := json.Unmarshal(req.Params.Arguments, &args); err != nil {
				return nil, err
			}
			path, query := e.Path, url.Values{}
			for name, value := range args {
				text := fmt.Sprint(value)
				if list, ok := value.([]any); ok {
					for _, item := range list {
						query.Add(name, fmt.Sprint(item))
					}
				} else if placeholder := "{" + name + "}"; strings.Contains(path, placeholder) {
					path = strings.ReplaceAll(path, placeholder, url.PathEscape(text))
				} else {
					query.Set(name, text)
				}
			}
			address, err := base.Parse(path + "?" + query.Encode())
			if err != nil {
				return nil, err
			}
			return get(ctx, address)
		})
	}
	return server, nil
}

// addPathTool adds a tool that is short to write: the HTTP library joins the
// base and whatever the model says is a path.
func addPathTool(server *mcp.Server, base *url.URL, get func(context.Context, *url.URL) (*mcp.CallToolResult, error)) {
	type input struct {
		Path string `json:"path" jsonschema:"path of the API, as /v1/reference/symbols?query=nimbus"`
	}
	mcp.AddTool(server, &mcp.Tool{Name: "call_api", Description: "Calls the API."},
		func(ctx context.Context, _ *mcp.CallToolRequest, in input) (*mcp.CallToolResult, any, error) {
			address, err := base.Parse(in.Path)
			if err != nil {
				return nil, nil, err
			}
			res, err := get(ctx, address)
			return res, nil, err
		})
}
