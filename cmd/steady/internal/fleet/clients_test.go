package fleet

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/steadymcp/steady/cmd/steady/internal/proxytest"
	"github.com/steadymcp/steady/cmd/steady/internal/rpc"
)

// eras are the last revision with a handshake, and the first without.
var eras = []string{"2025-11-25", rpc.Stateless}

// The servers of these tests are the test binary.
func TestMain(m *testing.M) {
	name := os.Getenv("STEADY_FLEET_SERVER")
	if name == "" {
		os.Exit(m.Run())
	}
	_ = fixture(name).Run(context.Background(), &mcp.StdioTransport{})
}

type text struct {
	Text string `json:"text"`
}

// fixture is a server on the SDK. Its tools say which server they are of.
func fixture(name string) *mcp.Server {
	var updates sync.Map
	server := mcp.NewServer(&mcp.Implementation{Name: name, Version: "1"}, &mcp.ServerOptions{
		SubscribeHandler:   func(_ context.Context, r *mcp.SubscribeRequest) error { updates.Store(r.Params.URI, true); return nil },
		UnsubscribeHandler: func(context.Context, *mcp.UnsubscribeRequest) error { return nil },
		CompletionHandler: func(context.Context, *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
			return &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{Values: []string{name}}}, nil
		},
	})
	tool := func(tool string, do func(context.Context, *mcp.CallToolRequest, text) (string, error)) {
		mcp.AddTool(server, &mcp.Tool{Name: tool}, func(ctx context.Context, r *mcp.CallToolRequest, in text) (*mcp.CallToolResult, text, error) {
			out, err := do(ctx, r, in)
			return nil, text{name + ": " + out}, err
		})
	}
	tool("echo", func(_ context.Context, _ *mcp.CallToolRequest, in text) (string, error) { return in.Text, nil })
	tool("die", func(context.Context, *mcp.CallToolRequest, text) (string, error) {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	})
	tool("hang", func(ctx context.Context, _ *mcp.CallToolRequest, _ text) (string, error) {
		<-ctx.Done()
		return "", ctx.Err()
	})
	tool("grow", func(context.Context, *mcp.CallToolRequest, text) (string, error) {
		tool("more", func(context.Context, *mcp.CallToolRequest, text) (string, error) { return "more", nil })
		_ = server.ResourceUpdated(context.Background(), &mcp.ResourceUpdatedNotificationParams{URI: name + "://one"})
		return "", nil
	})
	tool("confirm", func(ctx context.Context, r *mcp.CallToolRequest, _ text) (string, error) {
		answer, err := r.Session.Elicit(ctx, &mcp.ElicitParams{Message: name, RequestedSchema: map[string]any{"type": "object", "properties": map[string]any{}}})
		if err != nil {
			return "", err
		}
		return answer.Action, nil
	})
	tool("progress", func(ctx context.Context, r *mcp.CallToolRequest, _ text) (string, error) {
		return "", r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Progress: 1, Message: name})
	})
	server.AddPrompt(&mcp.Prompt{Name: "hello", Arguments: []*mcp.PromptArgument{{Name: "x"}}}, func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: name}}}}, nil
	})
	read := func(_ context.Context, r *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: r.Params.URI, Text: name}}}, nil
	}
	server.AddResource(&mcp.Resource{Name: "one", URI: name + "://one"}, read)
	server.AddResourceTemplate(&mcp.ResourceTemplate{Name: "some", URITemplate: name + "://{x}/y"}, read)
	return server
}

func fixtures(names ...string) Options {
	opts := Options{Start: 20 * time.Second}
	for _, n := range names {
		opts.Servers = append(opts.Servers, Server{Name: n, Command: []string{os.Args[0]}, Env: []string{"STEADY_FLEET_SERVER=" + n}})
	}
	return opts
}

// connect connects a client of the SDK to a fleet.
func connect(t testing.TB, opts Options, revision string, more *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	in, toFleet := io.Pipe()
	fromFleet, out := io.Pipe()
	log := &proxytest.Buffer{}
	opts.In, opts.Out, opts.Log = in, out, log
	ended := make(chan error, 1)
	go func() {
		ended <- Run(context.Background(), opts)
		_ = out.Close()
	}()
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, more)
	session, err := client.Connect(t.Context(), &mcp.IOTransport{Reader: fromFleet, Writer: toFleet}, &mcp.ClientSessionOptions{ProtocolVersion: revision})
	require.NoError(t, err, "%s", log)
	require.Equal(t, revision, session.InitializeResult().ProtocolVersion)
	t.Cleanup(func() {
		_ = session.Close()
		_ = toFleet.Close()
		select {
		case err := <-ended:
			require.NoError(t, err)
		case <-time.After(30 * time.Second):
			t.Errorf("the fleet does not end:\n%s", log)
		}
		if t.Failed() {
			t.Logf("%s", log)
		}
	})
	return session
}

func call(t testing.TB, s *mcp.ClientSession, name, in string) (string, error) {
	t.Helper()
	r, err := s.CallTool(context.Background(), &mcp.CallToolParams{Name: name, Arguments: text{in}})
	if err != nil {
		return "", err
	}
	if r.IsError {
		return "", fmt.Errorf("isError: %s", r.Content[0].(*mcp.TextContent).Text)
	}
	return r.StructuredContent.(map[string]any)["text"].(string), nil
}

func TestClientOfTheSDK(t *testing.T) {
	t.Parallel()
	for _, revision := range eras {
		t.Run(revision, func(t *testing.T) {
			t.Parallel()
			changed, updated, progress := make(chan string, 10), make(chan string, 10), make(chan string, 10)
			s := connect(t, fixtures("a", "b"), revision, &mcp.ClientOptions{
				ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { changed <- "tools" },
				ResourceUpdatedHandler: func(_ context.Context, r *mcp.ResourceUpdatedNotificationRequest) { updated <- r.Params.URI },
				ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
					progress <- fmt.Sprint(r.Params.ProgressToken, r.Params.Message)
				},
				ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
					return &mcp.ElicitResult{Action: map[string]string{"a": "accept", "b": "decline"}[r.Params.Message]}, nil
				},
			})
			require.Equal(t, "steady-proxy", s.InitializeResult().ServerInfo.Name)
			tools, err := s.ListTools(t.Context(), nil)
			require.NoError(t, err)
			require.Len(t, tools.Tools, 12)
			for _, n := range []string{"a", "b"} {
				got, err := call(t, s, n+"_echo", "hi")
				require.NoError(t, err)
				require.Equal(t, n+": hi", got)
				p, err := s.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: n + "_hello"})
				require.NoError(t, err)
				require.Equal(t, n, p.Messages[0].Content.(*mcp.TextContent).Text)
				for _, uri := range []string{n + "://one", n + "://z/y"} {
					r, err := s.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri})
					require.NoError(t, err)
					require.Equal(t, n, r.Contents[0].Text)
				}
				c, err := s.Complete(t.Context(), &mcp.CompleteParams{Ref: &mcp.CompleteReference{Type: "ref/prompt", Name: n + "_hello"}, Argument: mcp.CompleteParamsArgument{Name: "x"}})
				require.NoError(t, err)
				require.Equal(t, []string{n}, c.Completion.Values)
				params := &mcp.CallToolParams{Name: n + "_progress", Arguments: text{}}
				params.SetProgressToken("same")
				_, err = s.CallTool(t.Context(), params)
				require.NoError(t, err)
				require.Equal(t, "same"+n, <-progress)
			}
			if revision < rpc.Stateless {
				for n, want := range map[string]string{"a": "a: accept", "b": "b: decline"} {
					got, err := call(t, s, n+"_confirm", "")
					require.NoError(t, err)
					require.Equal(t, want, got)
				}
			}
			_, err = call(t, s, "c_echo", "hi")
			require.ErrorContains(t, err, `unknown tool "c_echo"`)
			require.NoError(t, s.Subscribe(t.Context(), &mcp.SubscribeParams{URI: "b://one"}))

			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			_, err = s.CallTool(ctx, &mcp.CallToolParams{Name: "a_hang", Arguments: text{}})
			require.ErrorIs(t, err, context.DeadlineExceeded)

			_, err = call(t, s, "b_grow", "")
			require.NoError(t, err)
			require.Equal(t, "tools", <-changed)
			require.Equal(t, "b://one", <-updated)
			got, err := call(t, s, "b_more", "")
			require.NoError(t, err)
			require.Equal(t, "b: more", got)
		})
	}
}

// One of the servers is reached over HTTP.
func TestServerOverHTTP(t *testing.T) {
	t.Parallel()
	for _, revision := range eras {
		t.Run(revision, func(t *testing.T) {
			t.Parallel()
			remote := fixture("remote")
			there := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return remote }, &mcp.StreamableHTTPOptions{Stateless: revision >= rpc.Stateless}))
			t.Cleanup(there.Close)
			opts := fixtures("a")
			opts.Start = 3 * time.Second
			opts.Servers = append(opts.Servers, Server{Name: "far", URL: there.URL})
			s := connect(t, opts, revision, nil)
			tools, err := s.ListTools(t.Context(), nil)
			require.NoError(t, err)
			require.Len(t, tools.Tools, 12)
			for name, want := range map[string]string{"a_echo": "a: hi", "far_echo": "remote: hi"} {
				got, err := call(t, s, name, "hi")
				require.NoError(t, err)
				require.Equal(t, want, got)
			}
			// A server that goes away takes nothing with it.
			there.CloseClientConnections()
			there.Close()
			_, err = call(t, s, "far_echo", "hi")
			require.Error(t, err)
			got, err := call(t, s, "a_echo", "hi")
			require.NoError(t, err)
			require.Equal(t, "a: hi", got)
		})
	}
}

// A server that dies in the middle of a call takes nothing with it but the call.
func TestServerDies(t *testing.T) {
	t.Parallel()
	for _, revision := range eras {
		t.Run(revision, func(t *testing.T) {
			t.Parallel()
			changed := make(chan string, 10)
			s := connect(t, fixtures("a", "b"), revision, &mcp.ClientOptions{
				ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { changed <- "tools" },
			})
			_, err := s.ListTools(t.Context(), nil)
			require.NoError(t, err)
			hung := make(chan error, 1)
			hanging, cancel := context.WithCancel(t.Context())
			go func() {
				_, err := s.CallTool(hanging, &mcp.CallToolParams{Name: "b_hang", Arguments: text{}})
				hung <- err
			}()
			_, err = call(t, s, "a_die", "")
			require.ErrorContains(t, err, "isError: The server ended (signal: killed) before it answered")
			for range 100 {
				got, err := call(t, s, "b_echo", "hi")
				require.NoError(t, err)
				require.Equal(t, "b: hi", got)
			}
			got, err := call(t, s, "a_echo", "hi")
			require.NoError(t, err)
			require.Equal(t, "a: hi", got)
			if revision >= rpc.Stateless { // its stream is opened again, and what may have been missed is told
				require.Equal(t, "tools", <-changed)
				_, err = call(t, s, "a_grow", "")
				require.NoError(t, err)
				require.Equal(t, "tools", <-changed)
			}
			select {
			case err := <-hung:
				require.NoError(t, err, "a call of another server has ended")
			default:
			}
			cancel()
			require.ErrorIs(t, <-hung, context.Canceled)
		})
	}
}

// Many calls at once reach each its server, and every answer its caller; and
// when all is over, nothing is left.
func TestManyCalls(t *testing.T) {
	before := runtime.NumGoroutine()
	for _, revision := range eras {
		t.Run(revision, func(t *testing.T) {
			names := []string{"a", "b", "c", "d"}
			s := connect(t, fixtures(names...), revision, nil)
			var wait sync.WaitGroup
			calls := 1000
			if revision < rpc.Stateless && os.Getenv("STEADY_LONG") == "" {
				calls = 200
			}
			for i := range calls {
				wait.Go(func() {
					n := names[i%len(names)]
					got, err := call(t, s, n+"_echo", fmt.Sprint(i))
					if err != nil || got != fmt.Sprintf("%s: %d", n, i) {
						t.Errorf("%s_echo(%d) = %q, %v", n, i, got, err)
					}
				})
			}
			wait.Wait()
		})
	}
	for deadline := time.Now().Add(30 * time.Second); runtime.NumGoroutine() > before; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			b := make([]byte, 1<<16)
			require.Fail(t, "something still runs", "%s", b[:runtime.Stack(b, true)])
		}
	}
}
