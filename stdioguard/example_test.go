package stdioguard_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/steadymcp/steady/observe"
	"github.com/steadymcp/steady/stdioguard"
)

func ExampleRun() {
	server := mcp.NewServer(&mcp.Implementation{Name: "orders", Version: "v1.0.0"}, nil)
	if err := stdioguard.Run(context.Background(), server); err != nil {
		log.Fatal(err)
	}
}

// A program that prints while it starts guards its streams first, and serves
// when it is ready.
func ExampleGuard() {
	guard, err := stdioguard.Guard(&stdioguard.Options{StopWindow: 3 * time.Second})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("orders 1.0.0 is starting") // arrives on standard error

	server := mcp.NewServer(&mcp.Implementation{Name: "orders", Version: "v1.0.0"}, nil)
	err = guard.Serve(context.Background(), server)
	if closeErr := guard.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		log.Fatal(err)
	}
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

// Three lines, of which only the first is a message. Each one is answered, and
// the replies are written although the input has ended.
func ExampleNewTransport() {
	in := io.NopCloser(strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}
{"jsonrpc":"2.0","id":2,"method":"ping","params":{
{"id":3,"method":"ping"}
`))
	server := mcp.NewServer(&mcp.Implementation{Name: "orders", Version: "v1.0.0"}, nil)
	transport := stdioguard.NewTransport(in, nopCloser{os.Stdout}, &stdioguard.Options{Observer: observe.Discard})
	if err := transport.Serve(context.Background(), server); err != nil {
		fmt.Println(err)
	}
	// Unordered output:
	// {"jsonrpc":"2.0","id":1,"result":{}}
	// {"jsonrpc":"2.0","id":2,"error":{"code":-32700,"message":"not valid JSON"}}
	// {"jsonrpc":"2.0","id":3,"error":{"code":-32600,"message":"\"jsonrpc\" is not \"2.0\""}}
}
