package proxy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/steadymcp/steady/cmd/steady/internal/launch"
)

// Patience with an endpoint.
const (
	dialTimeout  = 10 * time.Second
	orderly      = time.Second     // how long a message may hold up those after it
	cancelGrace  = 5 * time.Second // for an answer to what was cancelled
	deleteWindow = 2 * time.Second // for the goodbye
)

// A Client posts messages to one endpoint. Sessions that share it share its
// connections, and what it has learnt of the tools there.
type Client struct {
	http   *http.Client
	params paramHeaders
}

// NewClient returns a Client. It follows no redirect: the headers that the user
// gave are for their server only.
func NewClient() *Client {
	return &Client{http: &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			Proxy:                  http.ProxyFromEnvironment,
			DialContext:            (&net.Dialer{Timeout: dialTimeout}).DialContext,
			TLSHandshakeTimeout:    dialTimeout,
			ForceAttemptHTTP2:      true,
			MaxIdleConnsPerHost:    64,
			IdleConnTimeout:        time.Minute,
			MaxResponseHeaderBytes: 64 << 10,
			DisableCompression:     true, // which would hold a stream's events back
		},
	}}
}

// CloseIdle closes the connections that are not in use.
func (c *Client) CloseIdle() { c.http.CloseIdleConnections() }

// An endpoint is a session at a Streamable HTTP endpoint. It learns the session's
// id and revision from the answer to initialize, as section "Session Management"
// of the transports of revision 2025-11-25 wants; a message of a later revision
// says by itself what it is.
type endpoint struct {
	p       *proxy
	c       *child
	client  *Client
	secrets func() launch.Secrets
	streams sync.WaitGroup // those that belong to no request

	ctx     context.Context // of all exchanges
	cancel  context.CancelCauseFunc
	goodbye context.Context // of the goodbye
	hangUp  context.CancelFunc

	mu        sync.Mutex
	id        string // of the session, "" if there is none
	revision  string // that was agreed on, "" before
	listening bool
	closed    bool                 // nothing more is to be sent
	lost      bool                 // the server does not know the session any more
	why       string               // it ended
	running   map[*exchange]string // the exchanges, by their requests' ids
	once      sync.Once            // for end
}

// errTerminated ends what is left when there is no more time.
var errTerminated = errors.New("the proxy is being stopped")

// dial makes c a session at the endpoint. Nothing is sent.
func (p *proxy) dial(c *child) {
	target := launch.Target{URL: p.opts.URL, Header: p.opts.Headers}
	e := &endpoint{p: p, c: c, client: p.opts.Client, secrets: sync.OnceValue(target.Secrets), running: map[*exchange]string{}, why: "closed"}
	e.ctx, e.cancel = context.WithCancelCause(context.Background())
	e.goodbye, e.hangUp = context.WithCancel(context.Background())
	c.server = e
}

// send posts a line. It returns when the line is on its way, so that messages
// arrive in their order as far as there is one over HTTP.
func (e *endpoint) send(line []byte) error {
	x := newExchange(e, bytes.Clone(line))
	if x.cancels != "" && e.drop(x.cancels) {
		return nil
	}
	e.mu.Lock()
	if e.closed {
		e.mu.Unlock()
		return errInputClosed
	}
	lost := e.lost
	if !lost {
		e.running[x] = x.key()
	}
	e.mu.Unlock()
	if lost {
		x.sessionLost()
		x.giveUp()
		return nil
	}
	go func() {
		x.run()
		e.mu.Lock()
		delete(e.running, x)
		over := (e.closed || e.lost) && len(e.running) == 0
		e.mu.Unlock()
		if over {
			e.end()
		}
	}()
	patience := orderly
	if x.method == "initialize" { // without whose answer nothing else can be sent
		patience = e.p.opts.Start
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-x.sent:
	case <-timer.C:
	}
	return nil
}

// drop gives up the exchange of a request that was cancelled, and reports
// whether that is all there is to do: for revisions without a session the end of
// the exchange is what says so. For others the answer may still come.
func (e *endpoint) drop(key string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	for x, k := range e.running {
		if k != key {
			continue
		}
		if x.revision != "" {
			x.giveUp()
			return true
		}
		x.dropped.Store(true)
		time.AfterFunc(cancelGrace, x.giveUp)
	}
	return e.revision == "" // there is no session that it could be for
}

func (e *endpoint) closeInput() {
	e.mu.Lock()
	e.closed = true
	for x := range e.running {
		if x.method == methodListen { // which only its client ends
			x.giveUp()
		}
	}
	idle := len(e.running) == 0
	e.mu.Unlock()
	if idle {
		e.end()
	}
}

func (e *endpoint) terminate() {
	e.cancel(errTerminated)
	e.closeInput()
}

func (e *endpoint) kill() {
	e.hangUp()
	e.terminate()
}

func (e *endpoint) status() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.why
}

// end says goodbye. No exchange is running any more.
func (e *endpoint) end() {
	e.once.Do(func() {
		e.cancel(errTerminated) // the stream that belongs to no request
		go func() {
			e.mu.Lock()
			id, lost := e.id, e.lost
			e.mu.Unlock()
			if id != "" && !lost {
				e.delete(id)
			}
			e.hangUp()
			e.streams.Wait()
			close(e.c.exited)
			close(e.c.ended)
		}()
	})
}

// delete ends a session.
func (e *endpoint) delete(id string) {
	ctx, cancel := context.WithTimeout(e.goodbye, deleteWindow)
	defer cancel()
	req, err := e.request(ctx, http.MethodDelete, nil)
	if err != nil {
		return
	}
	req.Header.Set("Mcp-Session-Id", id)
	if resp, err := e.client.http.Do(req); err == nil { // it need not be taken
		_ = resp.Body.Close()
	}
}

// request returns a request with what all of them have. The session's headers
// are those of now.
func (e *endpoint) request(ctx context.Context, method string, body []byte) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, method, e.p.opts.URL, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	for name, values := range e.p.opts.Headers {
		req.Header[http.CanonicalHeaderKey(name)] = values
	}
	req.Header.Set("Accept", "application/json, text/event-stream")
	if method == http.MethodPost {
		req.Header.Set("Content-Type", "application/json")
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.id != "" {
		req.Header.Set("Mcp-Session-Id", e.id)
	}
	if e.revision != "" {
		req.Header.Set("Mcp-Protocol-Version", e.revision)
	}
	return req, nil
}

// begin notes the session that the answer to initialize begins.
func (e *endpoint) begin(id, revision string) {
	e.mu.Lock()
	old := e.id
	e.id, e.revision = id, revision
	e.mu.Unlock()
	if old != "" && old != id {
		go e.delete(old)
	}
}

// lose notes that the server does not know the session any more.
func (e *endpoint) lose(status int) {
	e.mu.Lock()
	first := !e.lost
	if first {
		e.lost, e.why = true, fmt.Sprintf("the session is not known any more: HTTP status %d", status)
	}
	idle := len(e.running) == 0
	e.mu.Unlock()
	if !first {
		return
	}
	e.p.retire(e.c)
	if idle {
		e.end()
	}
	// What else is in flight has a moment to learn the same.
	time.AfterFunc(grace, func() { e.cancel(errors.New("the session is not known any more")) })
}

// sleep waits, and returns false if ctx is over.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// mask takes what is secret out of a text.
func (e *endpoint) mask(text string) string { return e.secrets().Mask(text) }

// isSessionID reports whether id is what the specification lets one be: visible
// ASCII. It is sent back with every message, so it may not be long.
func isSessionID(id string) bool {
	for _, c := range []byte(id) {
		if c < 0x21 || c > 0x7e {
			return false
		}
	}
	return len(id) <= 1024
}

// afterHint says when to try again, if the server did.
func afterHint(h http.Header) string {
	after := h.Get("Retry-After")
	if n, err := strconv.Atoi(after); err == nil && n >= 0 {
		return fmt.Sprintf(" Try again in %d seconds.", n)
	}
	if at, err := http.ParseTime(after); err == nil {
		return " Try again after " + at.UTC().Format(time.RFC3339) + "."
	}
	return " Try again later."
}
