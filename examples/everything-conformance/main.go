// Everything-conformance is a server with one of everything, made to be asked
// by the official conformance suite: as the bare SDK serves it, or with all of
// steady installed, so that a difference between the two shows.
package main

import (
	"context"
	"flag"
	"log"
	"net"
	"net/http"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func main() {
	addr := flag.String("http", "127.0.0.1:0", "address to listen at")
	stdio := flag.Bool("stdio", false, "serve stdio instead, as the bare SDK does")
	bare := flag.Bool("bare", false, "install nothing of steady")
	flag.Parse()

	server := newServer()
	if *stdio {
		go touchWatched(context.Background(), server)
		if err := server.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
			log.Fatal(err)
		}
		return
	}
	handler := bothEras(server)
	if !*bare {
		var err error
		if handler, err = harden(server); err != nil {
			log.Fatal(err)
		}
	}
	go touchWatched(context.Background(), server)

	listener, err := net.Listen("tcp", *addr)
	if err != nil {
		log.Fatal(err)
	}
	log.Printf("listening at http://%s/mcp", listener.Addr())
	mux := http.NewServeMux()
	mux.Handle("/mcp", handler)
	log.Fatal(http.Serve(listener, mux))
}

// bothEras does by hand, for the bare SDK, what steady.Handler does. It
// serves one server to clients of both kinds of revision at one endpoint: those that shake hands get a session, the others none.
func bothEras(server *mcp.Server) http.Handler {
	get := func(*http.Request) *mcp.Server { return server }
	sessions := mcp.NewStreamableHTTPHandler(get, &mcp.StreamableHTTPOptions{EventStore: mcp.NewMemoryEventStore(nil)})
	stateless := mcp.NewStreamableHTTPHandler(get, &mcp.StreamableHTTPOptions{Stateless: true, PropagateRequestCancellation: true})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// A request without the header that has no session either is either an
		// initialize, or a mistake that the newer revision has an answer for.
		switch version := r.Header.Get("Mcp-Protocol-Version"); {
		case version >= "2026-07-28":
			stateless.ServeHTTP(w, r)
		case version == "" && r.Header.Get("Mcp-Method") != "":
			stateless.ServeHTTP(w, r)
		default:
			sessions.ServeHTTP(w, r)
		}
	})
}

func newServer() *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "everything", Version: "v0.0.1"}, &mcp.ServerOptions{
		CompletionHandler: func(context.Context, *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
			return &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{Values: []string{"paris", "park"}, Total: 2}}, nil
		},
		SubscribeHandler:   func(context.Context, *mcp.SubscribeRequest) error { return nil },
		UnsubscribeHandler: func(context.Context, *mcp.UnsubscribeRequest) error { return nil },
	})
	addContentTools(server)
	addSessionTools(server)
	addRoundTripTools(server)
	addChangingTools(server)
	addResources(server)
	addPrompts(server)
	return server
}

// touchWatched announces a change of the watched resource every few seconds.
func touchWatched(ctx context.Context, server *mcp.Server) {
	for {
		time.Sleep(3 * time.Second)
		if err := server.ResourceUpdated(ctx, &mcp.ResourceUpdatedNotificationParams{URI: watched}); err != nil {
			log.Print(err)
		}
	}
}
