// Marketdata is a server of the Model Context Protocol in front of an HTTP API
// with fifty-eight endpoints: eleven tools on stdio or HTTP, made by package
// catalog. The API is in the same program, on a port of its own.
//
// For comparison, -bare leaves steady out and has a tool for each endpoint, or
// with -path one tool that takes a path.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/steadymcp/steady"
	"github.com/steadymcp/steady/errors"
	"github.com/steadymcp/steady/stdioguard"
)

func main() {
	if err := run(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "marketdata:", err)
		os.Exit(1)
	}
}

type config struct {
	// of the server
	feedback  string
	refresh   time.Duration
	freePaths bool
	bare      bool
	path      bool
	http      string

	// of the API
	port    int
	catalog string
	quota   int
	window  time.Duration
	latency time.Duration
	seed    uint64
}

func parse(args []string) (c config, err error) {
	flags := flag.NewFlagSet("marketdata", flag.ExitOnError)
	flags.StringVar(&c.http, "http", "", "serve HTTP on this address, as in localhost:8080, instead of stdio")
	flags.StringVar(&c.feedback, "feedback", "", "file for submit_feedback, one JSON object a line; without it reports are logged")
	flags.DurationVar(&c.refresh, "refresh", 15*time.Minute, "how often the API is asked for its catalog")
	flags.BoolVar(&c.freePaths, "free-paths", false, "let call_api take paths that the catalog does not have")
	flags.BoolVar(&c.bare, "bare", false, "leave steady out: the SDK alone, with a tool for each endpoint")
	flags.BoolVar(&c.path, "path", false, "with -bare: one tool that takes a path, instead")
	flags.IntVar(&c.port, "port", 0, "the API's port on 127.0.0.1; 0 takes a free one")
	flags.StringVar(&c.catalog, "catalog", "", "file that the API publishes as its catalog, instead of the embedded one")
	flags.IntVar(&c.quota, "quota", 60, "calls that the API grants each key in a window")
	flags.DurationVar(&c.window, "window", time.Minute, "length of that window")
	flags.DurationVar(&c.latency, "latency", 0, "how long the API takes to answer")
	flags.Uint64Var(&c.seed, "seed", 1, "seed that the data is generated from")
	_ = flags.Parse(args) // ends the process where it cannot
	switch {
	case flags.NArg() > 0:
		return c, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	case c.path && !c.bare:
		return c, errors.New("-path goes with -bare")
	case c.bare && c.http != "":
		return c, errors.New("-bare is for stdio")
	case c.quota < 1 || c.window <= 0 || c.latency < 0 || c.refresh <= 0:
		return c, errors.New("a quota, a window, a latency or an interval is out of range")
	}
	return c, nil
}

func run(ctx context.Context, args []string) error {
	c, err := parse(args)
	if err != nil {
		return err
	}
	opts := &steady.RunOptions{
		Addr: c.http,
		// Callers over HTTP have a token.
		HTTP: &steady.HTTPOptions{Middleware: auth.RequireBearerToken(verify, nil)},
	}
	if c.http == "" && !c.bare {
		// Before anything is printed: what has reached standard output cannot be
		// taken back.
		if opts.Guard, err = stdioguard.Guard(nil); err != nil {
			return err
		}
		defer opts.Guard.Close()
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	api, err := newAPI(c, accounts).serve(ctx, c.port)
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "marketdata: the API is at %s\n", api)
	if c.bare {
		server, err := newBareServer(c, api, keyOfThisProcess())
		if err != nil {
			return err
		}
		return server.Run(ctx, &mcp.StdioTransport{})
	}
	server, closeServer, err := newServer(ctx, c, api)
	if err != nil {
		return err
	}
	defer closeServer()
	return steady.Run(ctx, server, opts)
}
