package proxy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/steadymcp/steady/cmd/steady/internal/rpc"
	failure "github.com/steadymcp/steady/errors"
)

// codeHeaders is of the specification: headers that do not match the body.
const codeHeaders = -32020

// maxSubscriptions bounds the subscriptions that are made again.
const maxSubscriptions = 1024

// hello is what a server has to be told that takes the place of another.
type hello struct {
	initialize    []byte
	initialized   []byte
	level         []byte
	subscriptions map[string][]byte // by URI
}

// note keeps a message of the client if it belongs to a session's state.
func (h *hello) note(m *message, line []byte) {
	switch m.method {
	case "initialize":
		*h = hello{initialize: bytes.Clone(line)}
	case "notifications/initialized":
		h.initialized = bytes.Clone(line)
	case "logging/setLevel":
		h.level = bytes.Clone(line)
	case "resources/subscribe":
		if len(h.subscriptions) < maxSubscriptions {
			if h.subscriptions == nil {
				h.subscriptions = map[string][]byte{}
			}
			h.subscriptions[string(member(m.params, "uri"))] = bytes.Clone(line)
		}
	case "resources/unsubscribe":
		delete(h.subscriptions, string(member(m.params, "uri")))
	}
}

// introduce tells a server what the client had told the one before it. A session
// of a revision without a handshake has no state to restore.
func (p *proxy) introduce(c *child, generation int) error {
	p.mu.Lock()
	h := p.hello
	h.subscriptions = maps.Clone(h.subscriptions)
	p.mu.Unlock()
	if h.initialize == nil {
		return nil
	}
	n := 0
	request := func(line []byte) error {
		n++
		answer, err := p.request(c, line, fmt.Sprintf("steady-restart-%d-%d", generation, n))
		if err == nil && member(answer, "error") != nil {
			err = fmt.Errorf("it answered %.200s", member(answer, "error"))
		}
		return err
	}
	if err := request(h.initialize); err != nil {
		return fmt.Errorf("initialize: %w", err)
	}
	if h.initialized != nil {
		if err := c.send(bytes.Clone(h.initialized)); err != nil {
			return err
		}
	}
	var lost error // is no reason to be without a server
	if h.level != nil {
		lost = request(h.level)
	}
	for _, uri := range slices.Sorted(maps.Keys(h.subscriptions)) {
		lost = errors.Join(lost, request(h.subscriptions[uri]))
	}
	if lost != nil {
		p.log.say("not all of the session could be restored: %v", lost)
	}
	return nil
}

// request sends the line to c with an id of ours, and returns the answer.
func (p *proxy) request(c *child, line []byte, id string) ([]byte, error) {
	answer := make(chan []byte, 1)
	quoted := `"` + id + `"`
	key := idKey([]byte(quoted))
	p.mu.Lock()
	p.own[key] = answer
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		delete(p.own, key)
		p.mu.Unlock()
	}()
	if err := c.send(withID(line, quoted)); err != nil {
		return nil, err
	}
	select {
	case line := <-answer:
		return line, nil
	case <-c.exited:
		return nil, fmt.Errorf("it ended: %s", c.status())
	case <-time.After(p.opts.Start):
		return nil, fmt.Errorf("no answer within %v", p.opts.Start)
	}
}

// takeOver puts a server into service.
func (p *proxy) takeOver(c *child) {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-c.ended:
	default:
		p.current = c
		close(p.up)
	}
}

// retire takes a server out of service: nothing more is sent to it.
func (p *proxy) retire(c *child) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.current == c {
		p.current = nil
		p.up = make(chan struct{})
	}
}

// fail gives up waiting for the server's answer to a request, which is answered
// with answer instead.
func (p *proxy) fail(id, answer []byte) {
	p.mu.Lock()
	key := idKey(id)
	mine, own := p.own[key]
	delete(p.own, key)
	_, waiting := p.pending[key]
	delete(p.pending, key)
	p.mu.Unlock()
	switch {
	case own:
		mine <- answer
	case waiting:
		p.answer(answer)
	}
	p.mu.Lock()
	p.mayBeIdle()
	p.mu.Unlock()
}

// resend sends a line with requests that a server did not take to the one after
// it, or reports false if that has been tried.
func (p *proxy) resend(line []byte) bool {
	messages, _ := parse(line)
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, m := range messages {
		if c, waiting := p.pending[idKey(m.id)]; m.isRequest() && (!waiting || c.resent) {
			return false
		}
	}
	for _, m := range messages {
		delete(p.pending, idKey(m.id))
	}
	go p.submit(messages, line, true)
	return true
}

// bury answers what a server that has ended left unanswered.
func (p *proxy) bury(c *child) {
	p.retire(c)
	p.mu.Lock()
	p.last = c.status()
	left := p.pending
	p.pending = map[string]call{}
	asked := p.asked
	p.asked = map[string][]byte{}
	for key := range asked {
		p.stale[key] = struct{}{}
	}
	// With an initialize that was never answered there is no session to restore.
	for _, l := range left {
		if l.method == "initialize" {
			p.hello = hello{}
		}
	}
	again := !p.ending && p.spoken.Load()
	p.mayBeIdle()
	p.mu.Unlock()
	for _, key := range slices.Sorted(maps.Keys(left)) {
		p.answer(left[key].lost(c.status(), again))
	}
	for _, key := range slices.Sorted(maps.Keys(asked)) {
		p.answer([]byte(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%s,"reason":"the server that asked has ended"}}`, asked[key])))
	}
}

func newCall(m *message, resent bool) call {
	return call{id: bytes.Clone(m.id), method: m.method, modern: revisionOf(m.params) != "", resent: resent}
}

// revisionOf returns the revision that a request says it is of, as those of
// 2026-07-28 and later do.
func revisionOf(params []byte) string {
	return textOf(member(member(params, "_meta"), "io.modelcontextprotocol/protocolVersion"))
}

// textOf returns the text of a JSON string, or "".
func textOf(value []byte) string {
	if len(value) == 0 {
		return ""
	}
	s, _ := text(value)
	return s
}

// lost is the answer to a request whose server has ended with the given status.
func (c call) lost(status string, again bool) []byte {
	what := "The server ended (" + status + ") before it answered"
	if again {
		return c.unanswered(what, "it is being started again")
	}
	return c.unanswered(what, "")
}

// unanswered is the answer to a request that the server has not answered. What
// is done about it may be "".
func (c call) unanswered(what, done string) []byte {
	if c.method == "tools/call" {
		next := "find out whether the work was done before you call again"
		if done != "" {
			next = done + ": " + next
		}
		f := failure.Unavailable("%s", what).Because("whether the call has done its work is not known").Next("%s", next)
		if result, err := json.Marshal(f.Result(nil)); err == nil {
			if c.modern && member(result, "resultType") == nil {
				result = append([]byte(`{"resultType":"complete",`), result[1:]...)
			}
			return []byte(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, c.id, result))
		}
	}
	if done != "" {
		what += "; " + done
	}
	return rpc.Refusal(c.id, rpc.Unavailable, what+".")
}
