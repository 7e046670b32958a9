package launch

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"sync"
	"time"
)

// An httpConn posts messages to a Streamable HTTP endpoint. It learns the
// session and the revision from the answer to initialize, as section "Session
// Management" of the specification's transports wants.
type httpConn struct {
	target *Target
	lines  chan Line
	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup
	once   sync.Once

	mu       sync.Mutex
	session  string
	revision string
}

func dial(t *Target) *httpConn {
	ctx, cancel := context.WithCancel(context.Background())
	return &httpConn{target: t, lines: make(chan Line, 64), ctx: ctx, cancel: cancel}
}

// client follows no redirect: headers that the user gave are for their server only.
var client = &http.Client{
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// Exchange makes one request outside of any session, with more headers, and
// returns the status and the beginning of the answer.
func (t *Target) Exchange(ctx context.Context, method, body string, more http.Header) (status int, text string, err error) {
	req, err := t.request(ctx, method, []byte(body))
	if err != nil {
		return 0, "", err
	}
	for name, values := range more {
		req.Header[name] = values
	}
	resp, err := client.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	data, _ := io.ReadAll(io.LimitReader(resp.Body, 2000))
	return resp.StatusCode, string(data), nil
}

// A StatusError is an answer without a message.
type StatusError struct {
	Status int
	Body   string // its beginning
}

func (e *StatusError) Error() string {
	text := fmt.Sprintf("HTTP status %d %s", e.Status, http.StatusText(e.Status))
	if body := strings.TrimSpace(e.Body); body != "" {
		text += ": " + body
	}
	return text
}

func (c *httpConn) Lines() <-chan Line { return c.lines }

// envelope is what is read of a message to route it.
type envelope struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Name string          `json:"name"`
		URI  string          `json:"uri"`
		Meta json.RawMessage `json:"_meta"`
	} `json:"params"`
	Result struct {
		ProtocolVersion string `json:"protocolVersion"`
	} `json:"result"`
}

// Send posts message. The answer arrives among the lines.
func (c *httpConn) Send(_ context.Context, message []byte) error {
	if c.ctx.Err() != nil {
		return io.ErrClosedPipe
	}
	var env envelope
	_ = json.Unmarshal(message, &env) // what is no message is posted all the same
	c.wg.Add(1)
	go func() {
		defer c.wg.Done()
		if err := c.post(message, &env); err != nil {
			c.deliver(Line{Err: err, For: env.ID})
		}
	}()
	return nil
}

func (c *httpConn) deliver(l Line) {
	select {
	case c.lines <- l:
	case <-c.ctx.Done():
	}
}

// request returns a request to the target with what every one of them has.
func (t *Target) request(ctx context.Context, method string, body []byte) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, method, t.URL, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json, text/event-stream")
	req.Header.Set("Content-Type", "application/json")
	for name, values := range t.Header {
		req.Header[http.CanonicalHeaderKey(name)] = values
	}
	return req, nil
}

func (c *httpConn) post(message []byte, env *envelope) error {
	req, err := c.target.request(c.ctx, http.MethodPost, message)
	if err != nil {
		return err
	}
	c.mu.Lock()
	session, revision := c.session, c.revision
	c.mu.Unlock()
	if session != "" {
		req.Header.Set("Mcp-Session-Id", session)
	}
	if revision != "" {
		req.Header.Set("Mcp-Protocol-Version", revision)
	}
	if v := statelessRevision(env); v != "" {
		req.Header.Set("Mcp-Protocol-Version", v)
		req.Header.Set("Mcp-Method", env.Method)
		if name := env.Params.Name + env.Params.URI; name != "" {
			req.Header.Set("Mcp-Name", name)
		}
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body := io.LimitReader(resp.Body, maxOutput)
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if resp.StatusCode == http.StatusAccepted || resp.StatusCode == http.StatusNoContent {
		if len(env.ID) > 0 && env.Method != "" {
			return &StatusError{Status: resp.StatusCode}
		}
		return nil
	}
	if env.Method == "initialize" && resp.StatusCode == http.StatusOK {
		c.mu.Lock()
		c.session = resp.Header.Get("Mcp-Session-Id")
		c.mu.Unlock()
	}
	answered := false
	deliver := func(data []byte, cut bool) {
		var got envelope
		if json.Unmarshal(data, &got) == nil && bytes.Equal(got.ID, env.ID) {
			answered = answered || got.Method == ""
			if env.Method == "initialize" && got.Result.ProtocolVersion != "" {
				c.mu.Lock()
				c.revision = got.Result.ProtocolVersion
				c.mu.Unlock()
			}
		}
		c.deliver(Line{Text: data, Cut: cut})
	}
	if kind == "text/event-stream" {
		err := readEvents(body, maxLine, deliver)
		if err == nil && !answered && len(env.ID) > 0 {
			err = fmt.Errorf("the stream ended without an answer")
		}
		return err
	}
	data, err := io.ReadAll(io.LimitReader(body, maxLine+1))
	if err != nil {
		return err
	}
	data = bytes.TrimSpace(data)
	var probe struct {
		JSONRPC string `json:"jsonrpc"`
	}
	if json.Unmarshal(data, &probe) != nil || probe.JSONRPC == "" {
		return &StatusError{resp.StatusCode, string(data[:min(len(data), 2000)])}
	}
	deliver(data[:min(len(data), maxLine)], len(data) > maxLine)
	if !answered && len(env.ID) > 0 {
		return &StatusError{resp.StatusCode, string(data[:min(len(data), 2000)])}
	}
	return nil
}

// statelessRevision returns the revision that a request carries in _meta, as
// those of 2026-07-28 and later do.
func statelessRevision(env *envelope) string {
	var meta struct {
		Version string `json:"io.modelcontextprotocol/protocolVersion"`
	}
	_ = json.Unmarshal(env.Params.Meta, &meta)
	return meta.Version
}

// readEvents calls deliver for the data of each server-sent event.
func readEvents(r io.Reader, limit int, deliver func(data []byte, cut bool)) error {
	scan := lineScanner{r: bufio.NewReaderSize(r, 64<<10), limit: limit}
	var data []byte
	cut := false
	flush := func() {
		if len(data) > 0 {
			deliver(bytes.TrimSuffix(data, []byte("\n")), cut)
		}
		data, cut = nil, false
	}
	for {
		line, ok := scan.next()
		if !ok {
			flush()
			return nil
		}
		if len(line.Text) == 0 {
			flush()
			continue
		}
		field, value, _ := bytes.Cut(line.Text, []byte(":"))
		if string(field) != "data" {
			continue
		}
		value = bytes.TrimPrefix(value, []byte(" "))
		if len(data)+len(value) > limit {
			cut = true
			continue
		}
		data = append(append(data, value...), '\n')
		cut = cut || line.Cut
	}
}

// Close ends the session and gives up what has no answer yet.
func (c *httpConn) Close() error {
	c.once.Do(func() {
		c.mu.Lock()
		session := c.session
		c.mu.Unlock()
		if session != "" {
			ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
			defer cancel()
			if req, err := c.target.request(ctx, http.MethodDelete, nil); err == nil {
				req.Header.Set("Mcp-Session-Id", session)
				if resp, err := client.Do(req); err == nil {
					_ = resp.Body.Close()
				}
			}
		}
		c.cancel()
		go func() {
			c.wg.Wait()
			close(c.lines)
		}()
	})
	return nil
}
