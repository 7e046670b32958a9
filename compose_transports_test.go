package steady_test

import (
	"context"
	"io"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/steadymcp/steady"
	"github.com/steadymcp/steady/errors"
	"github.com/steadymcp/steady/internal/mcptest"
	"github.com/steadymcp/steady/observe"
	"github.com/steadymcp/steady/stdioguard"
	"github.com/steadymcp/steady/tasks"
)

// transports are the ways in which a client reaches a server. The pipes are
// stdio without the process; run_test.go has that.
var transports = map[string]func(t *testing.T, server *mcp.Server) mcp.Transport{
	"memory": func(t *testing.T, server *mcp.Server) mcp.Transport {
		clientEnd, serverEnd := mcp.NewInMemoryTransports()
		ss, err := server.Connect(context.Background(), serverEnd, nil)
		require.NoError(t, err)
		t.Cleanup(func() { _ = ss.Wait() })
		return clientEnd
	},
	"pipes": func(t *testing.T, server *mcp.Server) mcp.Transport {
		serverIn, clientOut := io.Pipe()
		clientIn, serverOut := io.Pipe()
		guard := stdioguard.NewTransport(serverIn, serverOut, &stdioguard.Options{NoSignals: true, Observer: observe.Discard})
		served := make(chan error, 1)
		go func() { served <- guard.Serve(context.Background(), server) }()
		t.Cleanup(func() {
			require.NoError(t, <-served)
			require.NoError(t, guard.Close())
		})
		return &mcp.IOTransport{Reader: clientIn, Writer: clientOut}
	},
	"http": func(t *testing.T, server *mcp.Server) mcp.Transport {
		_, url := serve(t, same(server), nil, nil)
		web := &http.Transport{}
		t.Cleanup(web.CloseIdleConnections)
		return &mcp.StreamableClientTransport{Endpoint: url, HTTPClient: &http.Client{Transport: web}}
	},
}

// everywhere runs f for both revisions, over each transport.
func everywhere(t *testing.T, f func(t *testing.T, connect func(*mcp.Server) *mcp.ClientSession)) {
	for name, transport := range transports {
		for _, revision := range mcptest.Revisions {
			t.Run(name+" "+revision, func(t *testing.T) {
				f(t, func(server *mcp.Server) *mcp.ClientSession {
					client := mcp.NewClient(&mcp.Implementation{Name: "client", Version: "v1.0.0"}, nil)
					cs, err := client.Connect(t.Context(), transport(t, server), &mcp.ClientSessionOptions{ProtocolVersion: revision})
					require.NoError(t, err)
					t.Cleanup(func() { _ = cs.Close() })
					return cs
				})
			})
		}
	}
}

// One call that everything happens to: its name is rewritten, it becomes a task,
// which fails, and what it says of that is bounded.
func TestOneCallOfEachOverEveryTransport(t *testing.T) {
	everywhere(t, func(t *testing.T, connect func(*mcp.Server) *mcp.ClientSession) {
		seen := &recorder{}
		server := pairServer(t, &steady.Options{Observer: seen, Tasks: slowTools()})
		cs := connect(server)
		seen.take()

		handle := handleOf(t, call(t, cs, "exportHuge", map[string]any{"query": "x"}))
		res := call(t, cs, "task_result", map[string]any{"task_id": handle})
		require.True(t, res.IsError)
		require.Contains(t, mcptest.Text(res), "there is no room")
		require.LessOrEqual(t, len(encode(t, res)), smallBudget)

		// The task ends in the background: what came of it may come before what is
		// said of the call that asked for it.
		names := seen.takeAfter(t, "tasks.ended")
		require.ElementsMatch(t, []string{
			"discovery.routed",
			"tasks.created", "errors.failed", "pagination.cut", "tasks.ended",
			"discovery.exact",
		}, names)
		require.Equal(t, "discovery.routed", names[0], "the name is resolved before its policy is looked up")
		require.Less(t, indexOf(names, "tasks.created"), indexOf(names, "pagination.cut"), "the budget is inside of the task")
		require.Less(t, indexOf(names, "pagination.cut"), indexOf(names, "tasks.ended"), "what is stored is bounded")
	})
}

// Sixty-four sessions of both eras at once, over HTTP, on one wrapped server.
func TestManySessionsOverHTTP(t *testing.T) {
	server := pairServer(t, &steady.Options{Observer: observe.Discard, Tasks: slowTools()})
	_, url := serve(t, same(server), nil, nil)
	web := &http.Transport{MaxIdleConnsPerHost: 64}
	defer web.CloseIdleConnections()
	var wait sync.WaitGroup
	failed := make(chan error, 64)
	for i := range 64 {
		wait.Go(func() {
			failed <- func() error {
				client := mcp.NewClient(&mcp.Implementation{Name: "client", Version: "v1.0.0"}, nil)
				cs, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: url, HTTPClient: &http.Client{Transport: web}},
					&mcp.ClientSessionOptions{ProtocolVersion: mcptest.Revisions[i%2]})
				if err != nil {
					return err
				}
				defer cs.Close()
				for _, name := range []string{"list_notes", "listNotes", "test__list_notes"} {
					res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: map[string]any{"query": "x"}})
					if err != nil {
						return err
					}
					if res.IsError {
						return errors.New(mcptest.Text(res))
					}
				}
				return nil
			}()
		})
	}
	wait.Wait()
	for range 64 {
		require.NoError(t, <-failed)
	}
}

// When servers and clients are closed, nothing of them runs on.
func TestNothingLeaks(t *testing.T) {
	before := goleak.IgnoreCurrent()
	everywhere(t, func(t *testing.T, connect func(*mcp.Server) *mcp.ClientSession) {
		server := pairServer(t, &steady.Options{Observer: observe.Discard, Tasks: slowTools()})
		cs := connect(server)
		handle := handleOf(t, call(t, cs, "exportNotes", map[string]any{"query": "x"}))
		require.False(t, call(t, cs, "task_result", map[string]any{"task_id": handle}).IsError)
		require.True(t, call(t, cs, "crash", map[string]any{"query": "x"}).IsError)
		require.False(t, call(t, cs, "list_notes", map[string]any{"query": "x"}).IsError)
	})
	goleak.VerifyNone(t, before)
}

// slowTools makes tasks of the tools that export, also for clients that nothing
// tells from others.
func slowTools() *tasks.Options {
	return &tasks.Options{Anonymous: true, Policies: map[string]tasks.Policy{
		"export_notes": {Grace: tasks.Eager, Window: time.Minute},
		"export_huge":  {Grace: tasks.Eager, Window: time.Minute},
	}}
}

func indexOf(names []string, name string) int {
	for i, have := range names {
		if have == name {
			return i
		}
	}
	return -1
}
