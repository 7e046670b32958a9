package stdioguard_test

import (
	"context"
	"errors"
	"io"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/steadymcp/steady/internal/mcptest"
	"github.com/steadymcp/steady/stdioguard"
)

// bubble runs f in a synctest bubble with a session, and returns how long the
// session took from when f returned.
func bubble(t *testing.T, opts *stdioguard.Options, f func(d *driver, cancel context.CancelCauseFunc)) (took time.Duration, rest []*reply, err error) {
	synctest.Test(t, func(t *testing.T) {
		serverIn, in := io.Pipe()
		out, serverOut := io.Pipe()
		if opts == nil {
			opts = new(stdioguard.Options)
		}
		opts.NoSignals = true
		if opts.Observer == nil {
			opts.Observer = new(events)
		}
		transport := stdioguard.NewTransport(serverIn, serverOut, opts)
		ctx, cancel := context.WithCancelCause(context.Background())
		served := make(chan error, 1)
		go func() { served <- transport.Serve(ctx, newServer()) }()
		d := newDriver(t, in, out)
		d.start(mcptest.Handshake)
		f(d, cancel)
		begin := time.Now()
		var replies sync.WaitGroup
		replies.Go(func() {
			for {
				raw, err := d.out.ReadBytes('\n')
				if err != nil {
					return
				}
				rest = append(rest, parseReply(t, raw))
			}
		})
		err = <-served
		took = time.Since(begin)
		_ = transport.Close()
		_ = in.Close()
		_ = out.Close()
		replies.Wait()
		cancel(nil)
		time.Sleep(time.Hour) // handlers that ignore their contexts
	})
	return took, rest, err
}

func replyTo(t *testing.T, replies []*reply, id string) *reply {
	t.Helper()
	for _, r := range replies {
		if string(r.ID) == id && r.Method == "" {
			return r
		}
	}
	require.Fail(t, "no reply", "to %s among %d", id, len(replies))
	return nil
}

func TestEndOfInput(t *testing.T) {
	t.Run("replies are written", func(t *testing.T) {
		took, rest, err := bubble(t, nil, func(d *driver, _ context.CancelCauseFunc) {
			d.send(d.tool("1", "sleep", script{Ms: 3000}), d.tool("2", "echo", script{Text: "x"}))
			require.NoError(t, d.in.Close())
		})
		require.NoError(t, err)
		require.Equal(t, 3*time.Second, took)
		require.Equal(t, "slept", replyTo(t, rest, "1").text())
		require.Equal(t, "x", replyTo(t, rest, "2").text())
	})
	t.Run("idle", func(t *testing.T) {
		took, _, err := bubble(t, nil, func(d *driver, _ context.CancelCauseFunc) { require.NoError(t, d.in.Close()) })
		require.NoError(t, err)
		require.Zero(t, took)
	})
	t.Run("the window is bounded, then there is a cause", func(t *testing.T) {
		took, rest, err := bubble(t, nil, func(d *driver, _ context.CancelCauseFunc) {
			d.send(d.tool("1", "sleep", script{Ms: 60_000}))
			require.NoError(t, d.in.Close())
		})
		require.NoError(t, err)
		require.Equal(t, stdioguard.DefaultEOFWindow, took)
		require.Equal(t, "cancelled: the session is shutting down: the client has closed its end, and 10s later this request was not answered", replyTo(t, rest, "1").text())
	})
	t.Run("a deaf handler is left behind", func(t *testing.T) {
		seen := new(events)
		took, _, err := bubble(t, &stdioguard.Options{Observer: seen}, func(d *driver, _ context.CancelCauseFunc) {
			d.send(d.tool("1", "sleep", script{Ms: 60_000, Deaf: true}))
			require.NoError(t, d.in.Close())
		})
		require.ErrorIs(t, err, stdioguard.ErrAbandoned)
		require.ErrorContains(t, err, "1 request without a reply")
		require.Equal(t, stdioguard.DefaultEOFWindow+stdioguard.DefaultGrace+100*time.Millisecond, took)
		e, found := find[stdioguard.Abandoned](seen)
		require.True(t, found)
		require.Equal(t, 1, e.InFlight)
	})
	t.Run("no window", func(t *testing.T) {
		took, rest, err := bubble(t, &stdioguard.Options{EOFWindow: stdioguard.NoWait}, func(d *driver, _ context.CancelCauseFunc) {
			d.send(d.tool("1", "sleep", script{Ms: 60_000}))
			require.NoError(t, d.in.Close())
		})
		require.NoError(t, err)
		require.Zero(t, took)
		// The handler may not even have begun.
		require.Contains(t, replyTo(t, rest, "1").raw, "the session is shutting down")
	})
	t.Run("a cancelled request is not waited for", func(t *testing.T) {
		took, _, err := bubble(t, nil, func(d *driver, _ context.CancelCauseFunc) {
			d.send(d.tool("1", "sleep", script{Ms: 60_000, Deaf: true}))
			synctest.Wait() // until it has begun
			d.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
			require.NoError(t, d.in.Close())
		})
		require.ErrorIs(t, err, stdioguard.ErrAbandoned) // it still runs
		require.Equal(t, stdioguard.DefaultGrace, took)
	})
	t.Run("a question fails at once", func(t *testing.T) {
		took, rest, err := bubble(t, nil, func(d *driver, _ context.CancelCauseFunc) {
			d.send(d.tool("1", "ask", script{}))
			require.Equal(t, "elicitation/create", d.read().Method)
			require.NoError(t, d.in.Close())
		})
		require.NoError(t, err)
		require.Zero(t, took)
		require.Contains(t, replyTo(t, rest, "1").text(), "the client has closed its end")
	})
	t.Run("a question that comes later fails as well", func(t *testing.T) {
		_, rest, err := bubble(t, nil, func(d *driver, _ context.CancelCauseFunc) {
			d.send(d.tool("9", "sleep", script{Ms: 1000}), d.tool("1", "ask", script{}))
			require.NoError(t, d.in.Close())
		})
		require.NoError(t, err)
		require.Contains(t, replyTo(t, rest, "1").text(), "closed its end")
	})
}

func TestContext(t *testing.T) {
	cause := errors.New("the lease is lost")
	t.Run("replies are written, late requests refused", func(t *testing.T) {
		took, rest, err := bubble(t, nil, func(d *driver, cancel context.CancelCauseFunc) {
			d.send(d.tool("1", "sleep", script{Ms: 3000}))
			synctest.Wait()
			cancel(cause)
			synctest.Wait()
			d.send(d.tool("2", "echo", script{}))
			r := d.read()
			require.Equal(t, "2", string(r.ID))
			require.Equal(t, -32000, r.Error.Code)
			require.Equal(t, "the server is shutting down", r.Error.Message)
		})
		require.NoError(t, err)
		require.Equal(t, 3*time.Second, took)
		require.Equal(t, "slept", replyTo(t, rest, "1").text())
	})
	t.Run("a question can still be answered", func(t *testing.T) {
		_, rest, err := bubble(t, nil, func(d *driver, cancel context.CancelCauseFunc) {
			d.send(d.tool("1", "ask", script{}))
			r := d.read()
			synctest.Wait()
			cancel(cause)
			synctest.Wait()
			d.send(`{"jsonrpc":"2.0","id":` + string(r.ID) + `,"result":{"action":"decline"}}`)
		})
		require.NoError(t, err)
		require.Equal(t, "asked: <nil>", replyTo(t, rest, "1").text())
	})
	t.Run("the window is bounded, then there is a cause", func(t *testing.T) {
		took, rest, err := bubble(t, nil, func(d *driver, cancel context.CancelCauseFunc) {
			d.send(d.tool("1", "sleep", script{Ms: 60_000}))
			synctest.Wait()
			cancel(cause)
		})
		require.NoError(t, err)
		require.Equal(t, stdioguard.DefaultStopWindow, took)
		require.Contains(t, replyTo(t, rest, "1").text(), "the lease is lost")
	})
	t.Run("during the window of the end of input it cancels at once", func(t *testing.T) {
		took, rest, err := bubble(t, nil, func(d *driver, cancel context.CancelCauseFunc) {
			d.send(d.tool("1", "sleep", script{Ms: 60_000}))
			require.NoError(t, d.in.Close())
			time.Sleep(2 * time.Second)
			synctest.Wait()
			cancel(cause)
		})
		require.NoError(t, err)
		require.Zero(t, took)
		require.Contains(t, replyTo(t, rest, "1").text(), "the lease is lost")
	})
	t.Run("the end of input behind it changes nothing", func(t *testing.T) {
		took, rest, err := bubble(t, nil, func(d *driver, cancel context.CancelCauseFunc) {
			d.send(d.tool("1", "sleep", script{Ms: 3000}))
			synctest.Wait()
			cancel(cause)
			synctest.Wait()
			require.NoError(t, d.in.Close())
		})
		require.NoError(t, err)
		require.Equal(t, 3*time.Second, took)
		require.Equal(t, "slept", replyTo(t, rest, "1").text())
	})
	t.Run("a deaf handler is left behind", func(t *testing.T) {
		took, _, err := bubble(t, nil, func(d *driver, cancel context.CancelCauseFunc) {
			d.send(d.tool("1", "sleep", script{Ms: 60_000, Deaf: true}))
			synctest.Wait()
			cancel(cause)
		})
		require.ErrorIs(t, err, stdioguard.ErrAbandoned)
		require.Equal(t, stdioguard.DefaultStopWindow+stdioguard.DefaultGrace+100*time.Millisecond, took)
	})
}

// Subscriptions are answered when they are cancelled, and last for ever.
func TestSubscriptionsEndWithTheInput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, _, served := memory(t, &stdioguard.Options{NoSignals: true})
		d.start(mcptest.Stateless)
		d.send(d.request("1", "subscriptions/listen", map[string]any{"notifications": map[string]any{"toolsListChanged": true}}))
		require.Equal(t, "notifications/subscriptions/acknowledged", d.read().Method)
		begin := time.Now()
		require.NoError(t, d.in.Close())
		d.wait("1")
		require.NoError(t, <-served)
		require.Zero(t, time.Since(begin))
	})
}

// A client that is gone is the end of the session and no failure.
func TestClosedOutput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		serverIn, in := io.Pipe()
		out, serverOut := io.Pipe()
		transport := stdioguard.NewTransport(serverIn, serverOut, &stdioguard.Options{NoSignals: true, Observer: new(events)})
		served := make(chan error, 1)
		go func() { served <- transport.Serve(context.Background(), newServer()) }()
		d := newDriver(t, in, out)
		d.start(mcptest.Handshake)
		d.send(d.tool("1", "sleep", script{Ms: 60_000}))
		require.NoError(t, out.Close())
		d.send(d.tool("2", "echo", script{}))
		begin := time.Now()
		require.NoError(t, <-served)
		require.Zero(t, time.Since(begin), "the handler that still ran was cancelled")
	})
}

// A server that serves many sessions has no more to go through for each.
func TestServeOfOneServerManyTimes(t *testing.T) {
	server := mcp.NewServer(&mcp.Implementation{Name: "test", Version: "v0.0.1"}, nil)
	depths := map[int]bool{}
	mcp.AddTool(server, &mcp.Tool{Name: "depth"}, func(context.Context, *mcp.CallToolRequest, any) (*mcp.CallToolResult, any, error) {
		depths[runtime.Callers(0, make([]uintptr, 1000))] = true
		return nil, nil, nil
	})
	for range 5 {
		serverIn, in := io.Pipe()
		out, serverOut := io.Pipe()
		transport := stdioguard.NewTransport(serverIn, serverOut, &stdioguard.Options{NoSignals: true, Observer: new(events)})
		served := make(chan error, 1)
		go func() { served <- transport.Serve(context.Background(), server) }()
		d := newDriver(t, in, out)
		d.start(mcptest.Handshake)
		d.call("depth", script{})
		require.NoError(t, in.Close())
		require.NoError(t, <-served)
	}
	require.Len(t, depths, 1)
}
