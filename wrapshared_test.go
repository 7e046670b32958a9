package steady_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/steadymcp/steady"
	"github.com/steadymcp/steady/internal/mcptest"
	"github.com/steadymcp/steady/internal/wire"
	"github.com/steadymcp/steady/limits"
	"github.com/steadymcp/steady/observe"
	"github.com/steadymcp/steady/pagination"
	"github.com/steadymcp/steady/tasks"
)

// Servers that are made for each request share one bound, and what one of them has
// kept the next one finds.
func TestWrapSharesPartsBetweenServers(t *testing.T) {
	t.Parallel()
	for _, revision := range mcptest.Revisions {
		t.Run(revision, func(t *testing.T) {
			t.Parallel()
			running, release := make(chan struct{}), make(chan struct{})
			opts := &steady.Options{
				Observer:     observe.Discard,
				Limiter:      limits.New(&limits.Options{Running: 1, Queue: limits.None, Observer: observe.Discard}),
				ResultBudget: pagination.NewBudget(&pagination.BudgetOptions{Bytes: 4096, Spill: &pagination.SpillOptions{Principal: func(mcp.Request) string { return "ada" }}, Observer: observe.Discard}),
			}
			var built atomic.Int64
			_, url := serve(t, func(*http.Request) *mcp.Server {
				built.Add(1)
				server := noteServer(func(context.Context) string {
					close(running)
					<-release
					return "the note"
				})
				mcp.AddTool(server, &mcp.Tool{Name: "list_notes"}, func(context.Context, *mcp.CallToolRequest, any) (*mcp.CallToolResult, any, error) {
					return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: strings.Repeat("note ", 4000) + "the end"}}}, nil, nil
				})
				_, err := steady.Wrap(server, opts)
				if err != nil {
					t.Error(err)
				}
				return server
			}, nil, nil)
			one, other := connectTo(t, url, revision), connectTo(t, url, revision)
			answer := make(chan string, 1)
			go func() { answer <- readFor(one, "") }()
			<-running
			require.Contains(t, mcptest.Text(call(t, other, "list_notes", nil)), "1 calls are running")
			close(release)
			require.Equal(t, "the note", <-answer)
			require.Eventually(t, func() bool { return !call(t, other, "list_notes", nil).IsError }, 10*time.Second, time.Millisecond)

			kept := call(t, one, "list_notes", nil).Meta[wire.MetaBudget].(map[string]any)["handle"]
			rest := call(t, other, "read_result", map[string]any{"handle": kept, "offset": 20_000})
			require.False(t, rest.IsError, "%s", mcptest.Text(rest))
			require.Contains(t, fmt.Sprint(rest.StructuredContent), "the end")
			require.Greater(t, built.Load(), int64(1), "servers, for each session at least one")
		})
	}
}

// A stack leaves to their owner the parts that it did not make.
func TestStackCloseLeavesSharedPartsAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limiter := limits.New(&limits.Options{Deadline: time.Second, Observer: observe.Discard})
		release := make(chan struct{})
		server := noteServer(func(context.Context) string { <-release; return "" })
		stack, err := steady.Wrap(server, &steady.Options{Observer: observe.Discard, Limiter: limiter})
		require.NoError(t, err)
		require.Same(t, limiter, stack.Limits)
		require.True(t, call(t, mcptest.Connect(t, server, ""), "read_note", nil).IsError)
		require.NoError(t, stack.Close(t.Context()))
		late, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.ErrorContains(t, limiter.Close(late), "1 handlers still run")
		close(release)
		require.NoError(t, limiter.Close(t.Context()))
	})
}

func TestWrapRefusesOptionsOfPartsThatAreReady(t *testing.T) {
	for want, opts := range map[string]*steady.Options{
		"both Tasks and TaskManager":   {Tasks: &tasks.Options{}, TaskManager: tasks.New(nil)},
		"both Limits and Limiter":      {Limits: &limits.Options{}, Limiter: limits.New(nil)},
		"both Budget and ResultBudget": {Budget: &pagination.BudgetOptions{}, ResultBudget: pagination.NewBudget(nil)},
	} {
		server := mcptest.Server()
		_, err := steady.Wrap(server, opts)
		require.ErrorContains(t, err, want)
		_, err = steady.Wrap(server, nil)
		require.NoError(t, err, "nothing was installed")
	}
}
