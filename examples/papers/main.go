// Papers is a personal knowledge base as a server of the Model Context
// Protocol: 240 notes on papers, six tools, on stdio or HTTP. It shows what
// package discovery does for a server whose tools models call by names of their
// own.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/steadymcp/steady"
	"github.com/steadymcp/steady/discovery"
	"github.com/steadymcp/steady/errors"
	"github.com/steadymcp/steady/registry"
)

func main() {
	bare := flag.Bool("bare", false, "leave steady out: the SDK alone, for comparison")
	exact := flag.Bool("without-discovery", false, "leave out discovery only, for comparison")
	var opts steady.RunOptions
	opts.BindFlags(flag.CommandLine)
	flag.Parse()
	if err := run(context.Background(), *bare, *exact, &opts); err != nil {
		fmt.Fprintln(os.Stderr, "papers:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, bare, exact bool, opts *steady.RunOptions) error {
	server, err := newServer(bare, exact)
	if err != nil {
		return err
	}
	if bare {
		return server.Run(ctx, &mcp.StdioTransport{})
	}
	return steady.Run(ctx, server, opts)
}

func newServer(bare, exact bool) (*mcp.Server, error) {
	library, err := openLibrary()
	if err != nil {
		return nil, err
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "papers", Version: "v1.0.0"}, &mcp.ServerOptions{
		Instructions: "A personal knowledge base of papers. Find papers with search_papers, read one with get_paper, keep thoughts with add_note.",
	})
	if bare {
		library.register(server, nil)
		return server, nil
	}

	tools := registry.New(server, nil)
	library.register(server, tools)
	if err := tools.Err(); err != nil {
		return nil, err
	}
	middleware := []mcp.Middleware{ // the outermost first
		errors.Shape(nil),
		discovery.New(&discovery.Options{
			Aliases:  tools, // the registry knows the other names
			Synonyms: [][]string{{"paper", "article", "publication", "manuscript"}},
		}).Middleware(),
	}
	if exact {
		middleware = middleware[:1]
	}
	server.AddReceivingMiddleware(middleware...)
	return server, nil
}
