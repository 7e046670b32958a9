package stdioguard_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/steadymcp/steady/internal/mcptest"
	"github.com/steadymcp/steady/stdioguard"
)

func cancelled(id string) string {
	return `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + id + `}}`
}

// A client that calls and cancels, again and again, cannot have more handlers
// running than the bound, whether or not the server is served by Serve.
func TestCancelledHandlersCount(t *testing.T) {
	const limit, rounds = 50, 5
	for name, run := range map[string]func(*mcp.Server, *stdioguard.Transport) error{
		"Serve": func(s *mcp.Server, t *stdioguard.Transport) error { return t.Serve(context.Background(), s) },
		"Run":   func(s *mcp.Server, t *stdioguard.Transport) error { return s.Run(context.Background(), t) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var running, most atomic.Int64
				release := make(chan struct{})
				server := newServer()
				server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
					return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
						if method == "tools/list" {
							most.Store(max(most.Load(), running.Add(1)))
							defer running.Add(-1)
							<-release // ignores its context
						}
						return next(ctx, method, req)
					}
				})
				serverIn, in := io.Pipe()
				out, serverOut := io.Pipe()
				transport := stdioguard.NewTransport(serverIn, serverOut, &stdioguard.Options{
					NoSignals: true, MaxInFlight: limit, Observer: new(events)})
				served := make(chan error, 1)
				go func() { served <- run(server, transport) }()
				d := newDriver(t, in, out)
				d.start(mcptest.Handshake)
				var busy atomic.Int64
				var reading sync.WaitGroup
				reading.Go(func() {
					for r := d.read(); r != nil; r = d.read() {
						if r.Error != nil {
							busy.Add(1)
						}
					}
				})
				id := 0
				for range rounds {
					for range limit {
						id++
						d.send(d.request(fmt.Sprint(id), "tools/list", nil))
					}
					synctest.Wait()
					for i := range limit {
						d.send(cancelled(fmt.Sprint(id - i)))
					}
					synctest.Wait()
				}
				require.EqualValues(t, limit, most.Load())
				require.EqualValues(t, (rounds-1)*limit, busy.Load())
				require.Zero(t, transport.Stats().InFlight)
				require.Equal(t, limit, transport.Stats().Cancelled)
				close(release)
				synctest.Wait()
				require.Zero(t, transport.Stats().Cancelled)
				require.NoError(t, in.Close())
				require.NoError(t, <-served)
				reading.Wait()
			})
		})
	}
}

// A result that cannot be encoded is one that the SDK never sends. Cancelling
// the request gives its place back, in time.
func TestUnsendableResults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, transport, served := memory(t, &stdioguard.Options{NoSignals: true, MaxInFlight: 3, Observer: new(events)})
		d.start(mcptest.Handshake)
		d.send(d.tool("1", "raw", script{Raw: []byte(`{]`)}), d.tool("2", "raw", script{Raw: []byte(`{]`)}),
			d.tool("3", "sleep", script{Ms: 3_600_000, Deaf: true}))
		synctest.Wait() // until all have begun
		d.send(cancelled("1"), cancelled("2"), cancelled("3"))
		synctest.Wait()
		require.Equal(t, 3, transport.Stats().Cancelled)
		require.Equal(t, -32000, d.call("echo", script{}).Error.Code)
		time.Sleep(time.Minute + 1)
		d.alive()
		require.Equal(t, 1, transport.Stats().Cancelled, "the handler that runs still counts")
		require.NoError(t, d.in.Close())
		require.ErrorIs(t, <-served, stdioguard.ErrAbandoned)
		time.Sleep(time.Hour)
	})
}

// A request that the client has cancelled gets no reply (MCP, "Cancellation"),
// neither the handler's nor the SDK's, wherever it has got to. In a batch the
// others are answered without it.
func TestCancelledRequestsAreNotAnswered(t *testing.T) {
	eachRevision(t, func(t *testing.T, revision string) {
		d, transport, served := memory(t, &stdioguard.Options{Observer: new(events)})
		d.start(revision)
		const n = 2000
		go func() {
			for i := range n {
				id := fmt.Sprintf(`"c%d"`, i)
				d.send(d.tool(id, "sleep", script{Ms: 60_000}), cancelled(id))
			}
			// Nothing is answered after the end of input.
			for transport.Stats().Cancelled > 0 {
				runtime.Gosched()
			}
			_ = d.in.Close()
		}()
		var replies []string
		for r := d.read(); r != nil; r = d.read() {
			replies = append(replies, r.raw)
		}
		require.NoError(t, <-served)
		require.Empty(t, replies)
	})
	t.Run("in a batch", func(t *testing.T) {
		d, _, _ := memory(t, &stdioguard.Options{Observer: new(events)})
		d.start("2025-03-26")
		d.send("["+d.tool("1", "sleep", script{Ms: 60_000})+","+d.tool("2", "echo", script{Text: "x"})+"]", cancelled("1"))
		r := d.read()
		require.True(t, strings.HasPrefix(r.raw, `[{"jsonrpc":"2.0","id":2,`), r.raw)
		require.NotContains(t, r.raw, `"id":1,`)
		d.send("["+d.tool("3", "sleep", script{Ms: 60_000})+"]", cancelled("3"))
		d.alive()
	})
	t.Run("its id is used again", func(t *testing.T) {
		d, _, _ := memory(t, &stdioguard.Options{Observer: new(events)})
		d.start(mcptest.Handshake)
		d.send(d.tool("1", "sleep", script{Ms: 60_000, Deaf: true}))
		d.alive()
		d.send(cancelled("1"), d.tool("1", "echo", script{Text: "x"}))
		r := d.read()
		require.Equal(t, "1", string(r.ID))
		require.Equal(t, -32600, r.Error.Code)
	})
}

// The events name what was in flight, and never its arguments.
func TestEventsNameRequests(t *testing.T) {
	seen := new(events)
	_, _, err := bubble(t, &stdioguard.Options{Observer: seen}, func(d *driver, _ context.CancelCauseFunc) {
		d.send(d.tool("0", "sleep", script{Ms: 60_000, Deaf: true}))
		synctest.Wait()
		d.send(cancelled("0"))
		for i := range 4 {
			d.send(d.tool(fmt.Sprint(i+1), "sleep", script{Ms: 60_000, Deaf: true, Text: "secret"}))
			synctest.Wait()
		}
		d.send(d.request(`"five\n`+strings.Repeat("x", 200)+`"`, "tools/call", map[string]any{"name": "sleep", "arguments": script{Ms: 60_000, Deaf: true}}))
		synctest.Wait()
		d.send(d.tool("6", "sleep", script{Ms: 60_000}))
		require.NoError(t, d.in.Close())
	})
	require.ErrorIs(t, err, stdioguard.ErrAbandoned)
	abandoned, found := find[stdioguard.Abandoned](seen)
	require.True(t, found)
	require.Equal(t, 5, abandoned.InFlight)
	require.Len(t, abandoned.Requests, 5)
	require.Equal(t, stdioguard.Request{ID: "1", Method: "tools/call", Name: "sleep"}, abandoned.Requests[0])
	require.Len(t, abandoned.Requests[4].ID, 128)
	require.Contains(t, abandoned.LogValue().String(), `"tools/call" "sleep" (id 2)`)
	require.NotContains(t, abandoned.LogValue().String(), "secret")
	stopped, found := find[stdioguard.Cancelled](seen)
	require.True(t, found)
	require.Equal(t, 6, stopped.InFlight)
	require.Equal(t, abandoned.Requests, stopped.Requests)

	// What the client had cancelled and still runs is named as well.
	seen = new(events)
	_, _, err = bubble(t, &stdioguard.Options{Observer: seen}, func(d *driver, _ context.CancelCauseFunc) {
		d.send(d.tool("0", "sleep", script{Ms: 60_000, Deaf: true}))
		synctest.Wait()
		d.send(cancelled("0"))
		require.NoError(t, d.in.Close())
	})
	require.ErrorIs(t, err, stdioguard.ErrAbandoned)
	abandoned, _ = find[stdioguard.Abandoned](seen)
	require.Equal(t, stdioguard.Abandoned{Requests: []stdioguard.Request{{ID: "0", Method: "tools/call", Name: "sleep"}}}, abandoned)
}

// A handler that returns its cause is taken for cancelled by everybody.
func TestCauseIsCancellation(t *testing.T) {
	require.ErrorIs(t, stdioguard.ErrShutdown, context.Canceled)
	lost := errors.New("the lease is lost")
	cause := make(chan error, 1)
	synctest.Test(t, func(t *testing.T) {
		server := newServer()
		server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
			return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
				if method != "tools/list" {
					return next(ctx, method, req)
				}
				<-ctx.Done()
				cause <- context.Cause(ctx)
				return nil, context.Cause(ctx)
			}
		})
		serverIn, in := io.Pipe()
		out, serverOut := io.Pipe()
		ctx, cancel := context.WithCancelCause(context.Background())
		transport := stdioguard.NewTransport(serverIn, serverOut, &stdioguard.Options{NoSignals: true, StopWindow: time.Second, Observer: new(events)})
		served := make(chan error, 1)
		go func() { served <- transport.Serve(ctx, server) }()
		d := newDriver(t, in, out)
		d.start(mcptest.Handshake)
		d.send(d.request("1", "tools/list", nil))
		synctest.Wait()
		cancel(lost)
		r := d.read()
		require.Equal(t, -32000, r.Error.Code)
		require.Contains(t, r.Error.Message, "the lease is lost")
		require.NoError(t, <-served)
		_ = in.Close()
	})
	err := <-cause
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, err, stdioguard.ErrShutdown)
	require.ErrorIs(t, err, lost)
}
