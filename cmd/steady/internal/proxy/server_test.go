package proxy

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The tests' server is the test binary.
func TestMain(m *testing.M) {
	switch os.Getenv("STEADY_PROXY_SERVER") {
	case "":
	case "sdk", "sdk-http":
		server := mcp.NewServer(&mcp.Implementation{Name: "echo", Version: "1"}, nil)
		type text struct {
			Text string `json:"text"`
		}
		mcp.AddTool(server, &mcp.Tool{Name: "echo"}, func(_ context.Context, _ *mcp.CallToolRequest, in text) (*mcp.CallToolResult, text, error) {
			return nil, in, nil
		})
		if os.Getenv("STEADY_PROXY_SERVER") == "sdk" {
			_ = server.Run(context.Background(), &mcp.StdioTransport{})
			return
		}
		l, err := net.Listen("tcp", "localhost:0")
		if err != nil {
			panic(err)
		}
		fmt.Fprintf(os.Stderr, "listening at http://%s\n", l.Addr())
		get := func(*http.Request) *mcp.Server { return server }
		sessions := mcp.NewStreamableHTTPHandler(get, nil)
		none := mcp.NewStreamableHTTPHandler(get, &mcp.StreamableHTTPOptions{Stateless: true})
		_ = http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if isModern(r) {
				none.ServeHTTP(w, r)
			} else {
				sessions.ServeHTTP(w, r)
			}
		}))
		return
	default:
		serve()
		return
	}
	os.Exit(m.Run())
}

// serve does what the method of each request says, and echoes every other line
// in its answer.
func serve() {
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	say := func(format string, args ...any) { fmt.Printf(format+"\n", args...) }
	var seen []string
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		line = strings.TrimSuffix(line, "\n")
		seen = append(seen, line)
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct {
				Name string
				Meta struct{ ProgressToken json.RawMessage } `json:"_meta"`
			}
		}
		_ = json.Unmarshal([]byte(line), &m)
		method := m.Method
		if m.Params.Name != "" {
			method = m.Params.Name
		}
		switch method {
		case "": // an answer of the client
			say(`{"jsonrpc":"2.0","method":"notifications/answered","params":%s}`, line)
		case "notifications/ping", "notifications/initialized", "notifications/cancelled":
		case "hang":
		case "hang-on":
			signal.Ignore(syscall.SIGTERM)
			select {}
		case "die":
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		case "leave":
			os.Exit(7)
		case "orphan": // something else has our input and output when we are gone
			cmd := exec.Command("sleep", "60")
			cmd.Stdin, cmd.Stdout = os.Stdin, os.Stdout
			_ = cmd.Start()
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		case "print":
			say("a line that is no message")
			say(`42`)
			say(`{"level":"info"}`)
			say("")
			fmt.Print("no end of line: {\"")
			say(`{"jsonrpc":"2.0","id":%s,"result":{}}`, m.ID)
		case "ask":
			say(`{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{}}`)
			say(`{"jsonrpc":"2.0","id":%s,"result":{}}`, m.ID)
		case "slow":
			say(`{"jsonrpc":"2.0","method":"notifications/slow"}`)
			time.Sleep(300 * time.Millisecond)
			say(`{"jsonrpc":"2.0","id":%s,"result":{"slow":true}}`, m.ID)
		case "progress":
			for i := range 3 {
				say(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":%d,"progressToken":%s}}`, i, m.Params.Meta.ProgressToken)
			}
			say(`{"jsonrpc":"2.0","id":%s,"result":{"done":true}}`, m.ID)
		case "note": // says something that belongs to no request
			say(`{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"noted"}}`)
			say(`{"jsonrpc":"2.0","id":%s,"result":{}}`, m.ID)
		case "subscriptions/listen":
			say(`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":%s}}}`, m.ID)
			say(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":%s}}}`, m.ID)
		case "large":
			say(`{"result":%q,"jsonrpc":"2.0","id":%s}`, strings.Repeat("x", 100<<10), m.ID)
		case "seen":
			text, _ := json.Marshal(seen)
			say(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, text)
		case "stream": // everything that comes goes back, as fast as it can
			say(`{"jsonrpc":"2.0","id":%s,"result":{}}`, m.ID)
			_, _ = io.Copy(os.Stdout, in)
			return
		default:
			say(`{ "jsonrpc":"2.0", "id":%s, "unknown": 1e2, "result":{"line":%q} }`, m.ID, line)
		}
	}
}
