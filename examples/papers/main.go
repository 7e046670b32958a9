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
	var c config
	flag.BoolVar(&c.bare, "bare", false, "leave steady out: the SDK alone, on stdio, for comparison")
	flag.BoolVar(&c.exact, "without-discovery", false, "leave out discovery only, for comparison")
	flag.BoolVar(&c.guessDeletes, "guess-deletes", false, "let a guessed name run delete_note, for comparison")
	var opts steady.RunOptions
	opts.BindFlags(flag.CommandLine)
	flag.Parse()
	if err := run(context.Background(), c, &opts); err != nil {
		fmt.Fprintln(os.Stderr, "papers:", err)
		os.Exit(1)
	}
}

// A config is what is left out or let through, for comparison.
type config struct{ bare, exact, guessDeletes bool }

func run(ctx context.Context, c config, opts *steady.RunOptions) error {
	server, err := newServer(c)
	if err != nil {
		return err
	}
	if c.bare {
		return server.Run(ctx, &mcp.StdioTransport{})
	}
	return steady.Run(ctx, server, opts)
}

func newServer(c config) (*mcp.Server, error) {
	library, err := openLibrary()
	if err != nil {
		return nil, err
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "papers", Version: "v1.0.0"}, &mcp.ServerOptions{
		Instructions: "A personal knowledge base of papers. Find papers with search_papers, read one with get_paper, keep thoughts with add_note.",
	})
	if c.bare {
		library.register(server, nil)
		return server, nil
	}

	tools := registry.New(server, nil)
	library.register(server, tools)
	if err := tools.Err(); err != nil {
		return nil, err
	}
	names := &discovery.Options{
		Aliases:  tools, // the registry knows the other names
		Synonyms: [][]string{{"paper", "article", "publication", "manuscript"}},
	}
	if c.guessDeletes {
		names.RouteTools = []string{"delete_note"}
	}
	middleware := []mcp.Middleware{ // the outermost first
		errors.Shape(nil),
		discovery.New(names).Middleware(),
	}
	if c.exact {
		middleware = middleware[:1]
	}
	server.AddReceivingMiddleware(middleware...)
	return server, nil
}
