package steady_test

import (
	"context"
	"flag"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/steadymcp/steady"
)

// The whole of a main: stdio, or HTTP with the flag -http or the environment
// variable STEADY_HTTP.
func ExampleRun() {
	server := mcp.NewServer(&mcp.Implementation{Name: "papers", Version: "v1.0.0"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "get_paper", Description: "Read one paper."}, getPaper)
	if _, err := steady.Wrap(server, nil); err != nil {
		log.Fatal(err)
	}
	var opts steady.RunOptions
	opts.BindFlags(flag.CommandLine)
	flag.Parse()
	if err := steady.Run(context.Background(), server, &opts); err != nil {
		log.Fatal(err)
	}
}

// An endpoint in an http.Server of your own.
func ExampleEndpoint() {
	server := mcp.NewServer(&mcp.Implementation{Name: "papers", Version: "v1.0.0"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "get_paper", Description: "Read one paper."}, getPaper)
	endpoint, err := steady.Handler(func(*http.Request) *mcp.Server { return server }, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	mux := http.NewServeMux()
	mux.Handle("/mcp", endpoint)
	mux.HandleFunc("/healthz", endpoint.Health)
	web := httptest.NewServer(mux) // or an http.Server of yours
	defer web.Close()

	fmt.Println(callOver(&mcp.StreamableClientTransport{Endpoint: web.URL + "/mcp"}, "get_paper", map[string]any{"paper_id": "p7"}))
	if err := endpoint.Shutdown(context.Background()); err != nil { // before that of the http.Server
		fmt.Println(err)
	}
	// Output:
	// the text of p7
}
