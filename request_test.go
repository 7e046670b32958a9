package steady_test

import (
	"context"
	"io"
	"math"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/steadymcp/steady"
	"github.com/steadymcp/steady/internal/mcptest"
)

func TestEndpointBoundsSessions(t *testing.T) {
	t.Parallel()
	_, url := serve(t, same(noteServer(theNote)), &steady.HTTPOptions{MaxSessions: 2}, nil)
	first, second := connectTo(t, url, mcptest.Revisions[0]), connectTo(t, url, mcptest.Revisions[0])
	response, body := post(t, url, strings.NewReader(initialize))
	require.Equal(t, http.StatusServiceUnavailable, response.StatusCode)
	require.Contains(t, body, "2 sessions")
	require.Equal(t, "the note", mcptest.Text(call(t, second, "read_note", nil)), "those that are open go on")
	require.Equal(t, "the note", mcptest.Text(call(t, connectTo(t, url, mcptest.Stateless), "read_note", nil)), "and who needs none comes in")
	require.NoError(t, first.Close())
	require.Eventually(t, func() bool {
		response, _ := post(t, url, strings.NewReader(initialize))
		return response.StatusCode == http.StatusOK
	}, 10*time.Second, 5*time.Millisecond)
}

// The bound on sessions holds also for handshakes that come all at once, and a
// handshake that fails does not use up a place.
func TestEndpointBoundsSessionsThatOpenAtOnce(t *testing.T) {
	t.Parallel()
	const most, clients = 3, 32
	var all sync.WaitGroup // until each has been let in or refused
	all.Add(clients)
	var held atomic.Bool
	held.Store(true)
	server := noteServer(theNote)
	_, url := serve(t, func(*http.Request) *mcp.Server {
		if held.Load() {
			all.Done()
			all.Wait()
		}
		return server
	}, &steady.HTTPOptions{MaxSessions: most}, nil)
	for range 2 * most {
		held.Store(false)
		response, _ := post(t, url, strings.NewReader(strings.Replace(initialize, "initialize", "tools/list", 1)))
		require.Equal(t, http.StatusOK, response.StatusCode, "an error, and no session")
	}
	held.Store(true)
	var opened atomic.Int64
	var done sync.WaitGroup
	for range clients {
		done.Go(func() {
			if response, _ := post(t, url, strings.NewReader(initialize)); response.StatusCode == http.StatusOK {
				opened.Add(1)
			} else {
				all.Done()
			}
		})
	}
	done.Wait()
	require.EqualValues(t, most, opened.Load())
}

// One caller cannot have all the sessions.
func TestEndpointBoundsSessionsOfOneCaller(t *testing.T) {
	t.Parallel()
	verify := func(_ context.Context, token string, _ *http.Request) (*auth.TokenInfo, error) {
		return &auth.TokenInfo{UserID: token, Expiration: time.Now().Add(time.Hour)}, nil
	}
	_, url := serve(t, same(noteServer(theNote)), &steady.HTTPOptions{MaxSessions: 8, Middleware: auth.RequireBearerToken(verify, nil)}, nil)
	open := func(user string) *http.Response {
		response, body := post(t, url, strings.NewReader(initialize), "Authorization", "Bearer "+user)
		if response.StatusCode != http.StatusOK {
			require.Contains(t, body, "2 sessions of this caller are open")
		}
		return response
	}
	session := open("eve").Header.Get("Mcp-Session-Id")
	require.Equal(t, http.StatusOK, open("eve").StatusCode)
	require.Equal(t, http.StatusServiceUnavailable, open("eve").StatusCode)
	require.Equal(t, http.StatusOK, open("ada").StatusCode)
	end, err := http.NewRequestWithContext(t.Context(), http.MethodDelete, url, nil)
	require.NoError(t, err)
	end.Header.Set("Authorization", "Bearer eve")
	end.Header.Set("Mcp-Session-Id", session)
	response, err := http.DefaultClient.Do(end)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Eventually(t, func() bool { return open("eve").StatusCode == http.StatusOK }, 10*time.Second, time.Millisecond)
}

// chunks are a body that goes on when the test says so.
type chunks struct{ next chan []byte }

func (c *chunks) Read(p []byte) (int, error) {
	b, ok := <-c.next
	if !ok {
		return 0, io.EOF
	}
	return copy(p, b), nil
}

// A watched body tells when it is asked for more after enough bytes.
type watched struct {
	io.ReadCloser
	enough, read int
	reached      func()
}

func (b *watched) Read(p []byte) (int, error) {
	if b.read >= b.enough {
		b.reached()
	}
	n, err := b.ReadCloser.Read(p)
	b.read += n
	return n, err
}

// Large bodies are turned away while there are as many as there may be. Small ones
// get in.
func TestEndpointBoundsBodies(t *testing.T) {
	t.Parallel()
	const most = 64 << 10
	seen := &recorder{}
	held := make(chan struct{})
	var once sync.Once
	watch := func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.ContentLength < 0 {
				r.Body = &watched{ReadCloser: r.Body, enough: 32 << 10, reached: func() { once.Do(func() { close(held) }) }}
			}
			next.ServeHTTP(w, r)
		})
	}
	_, url := serve(t, same(noteServer(theNote)), &steady.HTTPOptions{MaxBody: most, MaxBodies: most, Observer: seen, Middleware: watch}, nil)
	call := func(size int) io.Reader {
		text := `{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{"_meta":{"a":"`
		return strings.NewReader(text + strings.Repeat("x", size-len(text)-4) + `"}}}`)
	}
	large := func() int {
		response, body := post(t, url, call(most-10))
		if response.StatusCode == http.StatusServiceUnavailable {
			require.Equal(t, "1", response.Header.Get("Retry-After"))
			require.Contains(t, body, `{"jsonrpc":"2.0","id":7,"error":{"code":-32000,`)
			require.Equal(t, []string{"steady.turned_away"}, seen.take())
		}
		return response.StatusCode
	}

	// It comes first: what a request holds is given back a moment after its answer.
	slow := &chunks{make(chan []byte)}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = post(t, url, slow)
	}()
	for range 40 {
		slow.next <- make([]byte, 1<<10)
	}
	<-held
	require.Equal(t, http.StatusServiceUnavailable, large())
	response, _ := post(t, url, call(16<<10))
	require.Equal(t, http.StatusOK, response.StatusCode, "a small one")

	close(slow.next)
	<-ended
	require.Eventually(t, func() bool { return large() == http.StatusOK }, 10*time.Second, time.Millisecond, "there is room again")

	_, err := steady.Handler(same(mcptest.Server()), &steady.HTTPOptions{MaxBody: 2, MaxBodies: 1})
	require.ErrorContains(t, err, "no room for one body")
}

func TestEndpointWithBoundsThatAreNone(t *testing.T) {
	t.Parallel()
	_, url := serve(t, same(noteServer(theNote)), &steady.HTTPOptions{
		MaxBody: math.MaxInt64, BodyTimeout: math.MaxInt64, WriteTimeout: math.MaxInt64,
		SessionTimeout: math.MaxInt64, MaxSessions: math.MaxInt,
	}, nil)
	for _, revision := range mcptest.Revisions {
		require.Equal(t, "the note", mcptest.Text(call(t, connectTo(t, url, revision), "read_note", nil)))
	}
}
