package proxy

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/http/httptrace"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/steadymcp/steady/cmd/steady/internal/rpc"
)

const methodListen = "subscriptions/listen"

// An exchange posts one line and passes on what comes back.
type exchange struct {
	e        *endpoint
	line     []byte
	ctx      context.Context
	giveUp   context.CancelFunc
	sent     chan struct{} // closed when the next line may be sent
	sentOnce sync.Once

	asks     bool     // there are answers to come
	open     [][]byte // ids of requests without an answer
	method   string   // "" if there are many
	params   []byte
	revision string      // that the message says it is of
	cancels  string      // key of the request that it cancels
	dropped  atomic.Bool // nobody waits for the answer any more
}

func newExchange(e *endpoint, line []byte) *exchange {
	x := &exchange{e: e, line: line, sent: make(chan struct{})}
	x.ctx, x.giveUp = context.WithCancel(e.ctx)
	messages, _ := parse(line)
	for i := range messages {
		if messages[i].isRequest() {
			x.asks = true
			x.open = append(x.open, messages[i].id)
		}
	}
	if len(messages) == 1 {
		m := &messages[0]
		x.method, x.params, x.revision = m.method, m.params, revisionOf(m.params)
		if m.method == "notifications/cancelled" {
			x.cancels = idKey(member(m.params, "requestId"))
		}
	}
	return x
}

// key is that of the request, if there is one.
func (x *exchange) key() string {
	if len(x.open) != 1 {
		return ""
	}
	return idKey(x.open[0])
}

// answered reports whether all answers have come.
func (x *exchange) answered() bool { return x.asks && len(x.open) == 0 }

// next lets the next line be sent.
func (x *exchange) next() { x.sentOnce.Do(func() { close(x.sent) }) }

// run does it.
func (x *exchange) run() {
	defer x.giveUp()
	defer x.next()
	resp, session, err := x.post()
	if err != nil {
		x.broken(err)
		return
	}
	defer resp.Body.Close()
	if x.method != "initialize" {
		x.next()
	}
	x.read(resp, session)
}

// post sends the line, again and again while nobody listens at the address, and
// returns the session that it was sent in.
func (x *exchange) post() (resp *http.Response, session string, err error) {
	ctx := x.ctx
	if x.asks && x.method != "initialize" { // what has an answer need not be answered before the next is sent
		ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteRequest: func(httptrace.WroteRequestInfo) { x.next() }})
	}
	deadline := time.Now().Add(x.e.p.opts.Start)
	for delay := firstDelay; ; delay = min(2*delay, maxDelay) {
		req, err := x.e.request(ctx, http.MethodPost, x.line)
		if err != nil {
			return nil, "", err
		}
		x.address(req)
		resp, err := x.e.client.http.Do(req)
		if err == nil || !isDial(err) || time.Now().Add(delay).After(deadline) {
			return resp, req.Header.Get("Mcp-Session-Id"), err
		}
		x.next()
		if !sleep(x.ctx, delay) {
			return nil, "", err
		}
	}
}

// address sets the headers that say what the message is.
func (x *exchange) address(req *http.Request) {
	if x.method == "initialize" {
		req.Header.Del("Mcp-Session-Id")
		req.Header.Del("Mcp-Protocol-Version")
	}
	if x.revision == "" {
		return
	}
	req.Header.Del("Mcp-Session-Id")
	req.Header.Set("Mcp-Protocol-Version", x.revision)
	req.Header.Set("Mcp-Method", headerText(x.method))
	if name := nameOf(x.method, x.params); name != "" {
		req.Header.Set("Mcp-Name", headerText(name))
	}
	if x.method == "tools/call" {
		x.e.client.params.set(req.Header, x.params)
	}
}

// nameOf returns what the header Mcp-Name of a message is, or "".
func nameOf(method string, params []byte) string {
	switch {
	case method == "tools/call" || method == "prompts/get":
		return textOf(member(params, "name"))
	case method == "resources/read":
		return textOf(member(params, "uri"))
	case strings.HasPrefix(method, "tasks/"):
		return textOf(member(params, "taskId"))
	}
	return ""
}

// headerText returns a text as it may stand in a header, encoded as SEP-2243 has
// it where it may not.
func headerText(s string) string {
	plain := !strings.HasPrefix(s, " ") && !strings.HasSuffix(s, " ") && !(strings.HasPrefix(s, "=?base64?") && strings.HasSuffix(s, "?="))
	for _, c := range []byte(s) {
		plain = plain && 0x20 <= c && c <= 0x7e
	}
	if plain {
		return s
	}
	return "=?base64?" + base64.StdEncoding.EncodeToString([]byte(s)) + "?="
}

// isDial reports whether there was no connection that anything was sent over.
func isDial(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}

// read passes on what a response says.
func (x *exchange) read(resp *http.Response, session string) {
	status := resp.StatusCode
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if x.method == "initialize" && status == http.StatusOK {
		if session = resp.Header.Get("Mcp-Session-Id"); !isSessionID(session) {
			x.refuse("The server's session id is longer than 1024 bytes, or is no visible ASCII.")
			return
		}
	}
	if x.method == "notifications/initialized" && status < 300 {
		x.e.listen()
	}
	switch {
	case status == http.StatusAccepted || status == http.StatusNoContent:
		x.incomplete(fmt.Sprintf("it was accepted with HTTP status %d, and not answered", status))
	case status == http.StatusOK && kind == "text/event-stream":
		x.stream(resp.Body, session)
	case status >= 300 && status < 400:
		x.refuse(x.e.mask(fmt.Sprintf("The server redirects (HTTP status %d) to %q, which is not followed. Give that URL with -http if it is right.", status, resp.Header.Get("Location"))))
	default:
		x.body(resp, kind, session)
	}
}

// body passes on what is no stream.
func (x *exchange) body(resp *http.Response, kind, session string) {
	limit := x.e.p.opts.MaxLine
	data, err := io.ReadAll(io.LimitReader(resp.Body, int64(limit)+1))
	if len(data) > limit {
		x.e.p.log.say("a message of more than %d bytes was not passed on", limit)
		x.fail(rpc.Internal, "The answer is too long to be passed on. Ask for less.")
		return
	}
	if err != nil {
		x.broken(err)
		return
	}
	line := oneLine(data)
	if messages, ok := parse(line); ok {
		if resp.StatusCode >= 400 && len(messages) == 1 && messages[0].isResponse() && (x.key() == "" || idKey(messages[0].id) != x.key()) {
			// Some servers do not say what they refuse.
			if line = nil; session == "" || resp.StatusCode != http.StatusNotFound {
				line = x.adopt(data, messages[0].id)
			}
		}
		if line != nil {
			x.deliver(line, session)
			x.incomplete("it answered something else")
			return
		}
	}
	x.refused(resp, kind, session, data)
}

// adopt returns an answer that has the id null, or none, with the id of the
// request, or nil if that cannot be.
func (x *exchange) adopt(answer, had []byte) []byte {
	if len(x.open) != 1 || had != nil && string(had) != "null" {
		return nil
	}
	line, id := oneLine(answer), x.open[0]
	if had != nil {
		return withID(line, string(id))
	}
	at := bytes.IndexByte(line, '{') + 1
	return slices.Concat(line[:at], []byte(`"id":`), id, []byte(","), line[at:])
}

// refused explains a response that is no message.
func (x *exchange) refused(resp *http.Response, kind, session string, body []byte) {
	status := resp.StatusCode
	if status == http.StatusNotFound && session != "" {
		x.e.lose(status)
		x.sessionLost()
		return
	}
	e := x.e
	said := fmt.Sprintf("HTTP status %d %s", status, http.StatusText(status))
	e.p.log.say("%s was answered with %s: %q", x.what(), said, e.mask(string(body[:min(len(body), 300)])))
	switch {
	case status == http.StatusOK && len(bytes.TrimSpace(body)) == 0 && !x.asks:
	case status < 300:
		x.incomplete(e.mask(fmt.Sprintf("it was answered with content of the type %.100q, which holds no message", kind)))
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		x.refuse(fmt.Sprintf("The server refused the request (%s). Nothing was done. The credentials that steady proxy is given with -header are missing, wrong or expired.", said))
	case status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable:
		x.refuse(fmt.Sprintf("The server is too busy (%s). Nothing was done.%s", said, afterHint(resp.Header)))
	case status == http.StatusNotFound || status == http.StatusMethodNotAllowed:
		x.refuse(fmt.Sprintf("There is no MCP endpoint at the URL that steady proxy was given (%s).", said))
	case status < 500:
		x.refuse(fmt.Sprintf("The server refused the request (%s).", said))
	default:
		x.incomplete("it failed with " + said)
	}
}

// sessionLost has the line sent again in the next session: the server has said
// that it did not take it.
func (x *exchange) sessionLost() {
	if x.asks && !x.e.p.resend(x.line) {
		x.refuse("The server does not know the session (HTTP status 404), and has lost it again after it was begun anew. Nothing was done.")
	}
}

// what says what the message is, for the log.
func (x *exchange) what() string {
	if x.method == "" {
		return "an answer"
	}
	return x.method
}

// broken gives up after an error of the connection.
func (x *exchange) broken(err error) {
	if x.ctx.Err() != nil { // by us: whoever waits is answered when the server has ended
		return
	}
	reason := x.e.mask(rootCause(err))
	if isDial(err) {
		x.e.p.log.say("the server cannot be reached: %s", reason)
		x.refuse("The server cannot be reached (" + reason + "). Nothing was done. Try again later.")
		return
	}
	x.e.p.log.say("%s: %s", x.what(), reason)
	x.incomplete("the connection broke: " + reason)
}

// rootCause is an error without the URL that net/http puts before it.
func rootCause(err error) string {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err.Error()
		}
		err = inner
	}
}

// refuse answers for the server what it has not done.
func (x *exchange) refuse(text string) { x.fail(rpc.Unavailable, text) }

func (x *exchange) fail(code int, text string) {
	for _, id := range x.open {
		x.e.p.fail(id, rpc.Refusal(id, code, text))
	}
	x.open = nil
}

// incomplete answers for the server what it has not answered.
func (x *exchange) incomplete(why string) {
	for _, id := range x.open {
		c := call{id: id, method: x.method, modern: x.revision != ""}
		x.e.p.fail(id, c.unanswered("There is no answer from the server: "+why, ""))
	}
	x.open = nil
}

// deliver passes on a line of the server.
func (x *exchange) deliver(line []byte, session string) {
	messages, ok := parse(line)
	if !ok {
		x.e.p.log.stray(line)
		return
	}
	for i := range messages {
		if m := &messages[i]; m.isResponse() && x.settle(m.id) {
			if x.dropped.Load() {
				return // some clients complain of an answer that they do not want
			}
			switch x.method {
			case "initialize":
				if revision := textOf(member(member(line, "result"), "protocolVersion")); revision != "" {
					x.e.begin(session, revision)
				}
			case "tools/list":
				x.e.client.params.learn(member(line, "result"))
			}
		}
	}
	x.e.p.childLine(x.e.c, line)
}

// settle notes an answer, and reports whether it is one to this exchange.
func (x *exchange) settle(id []byte) bool {
	for i, open := range x.open {
		if idKey(open) == idKey(id) {
			x.open = slices.Delete(x.open, i, i+1)
			return true
		}
	}
	return false
}

// oneLine returns JSON without the line ends that it may have between its tokens,
// which mean nothing there.
func oneLine(data []byte) []byte {
	data = bytes.TrimSpace(withoutBOM(data))
	for i, b := range data {
		if b == '\n' || b == '\r' {
			data[i] = ' '
		}
	}
	return data
}
