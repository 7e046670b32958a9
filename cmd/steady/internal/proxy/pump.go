package proxy

import (
	"bytes"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/steadymcp/steady/cmd/steady/internal/jsonl"
	"github.com/steadymcp/steady/cmd/steady/internal/rpc"
)

// A proxy is one session.
type proxy struct {
	opts   Options
	log    *logger
	client *jsonl.Writer
	spoken atomic.Bool   // some server has answered something
	eof    chan struct{} // closed at the end of the client's input
	gone   chan struct{} // closed when the client does not take what is written
	once   sync.Once     // for gone
	over   chan struct{} // closed with ending
	idle   chan struct{} // has a value when nothing may be in flight any more

	mu       sync.Mutex
	latest   *child              // the last that was started
	current  *child              // the one in service, or nil
	up       chan struct{}       // closed while there is one
	last     string              // how the one before ended
	pending  map[string]call     // requests of the client that current has, by idKey
	asked    map[string][]byte   // ids of requests of current that the client has
	stale    map[string]struct{} // and of servers before it
	hello    hello
	own      map[string]chan<- []byte // requests of ours that a server has
	refusing bool                     // no more requests are taken
	ending   bool                     // the server's input was ended on purpose
}

// A call is a request of the client that the server has not answered.
type call struct {
	id     []byte
	method string
	modern bool // of a revision whose results say what they are
	resent bool // a server before did not take it
}

// fromClient passes on what the client sends.
func (p *proxy) fromClient() {
	defer close(p.eof)
	in := newFrames(p.opts.In, p.opts.MaxLine)
	for first := true; ; first = false {
		line, tail, cut, err := in.next()
		if err != nil {
			return
		}
		if first {
			line = withoutBOM(line)
		}
		switch {
		case cut:
			p.tooLong(line, tail, p.client.Line, p.toCurrent)
		case len(line) > 0:
			p.clientLine(line)
		}
	}
}

func (p *proxy) clientLine(line []byte) {
	messages, ok := parse(line)
	if !ok {
		// The server might not survive it. A null id would end the sessions of
		// some clients, so it is the last resort.
		id, _ := identify(line, line)
		p.answer(rpc.Refusal(id, rpc.Parse, "Parse error: the line is no JSON-RPC message. It was not sent to the server."))
		return
	}
	requests := false
	for i := range messages {
		switch m := &messages[i]; {
		case m.isRequest():
			requests = true
		case m.isResponse():
			if !p.expects(m.id) {
				return // it answers a server that has ended
			}
		default:
			p.noteFromClient(m, line)
		}
	}
	if !requests {
		p.toCurrent(line)
		return
	}
	p.submit(messages, line, false)
}

// submit sends a line with requests to the server in service, or to the next one.
// resent says that a server before it did not take them.
func (p *proxy) submit(messages []message, line []byte, resent bool) {
	deadline := time.Now().Add(p.opts.Start)
	for {
		c, why := p.await(deadline)
		if c != nil {
			why = p.register(c, messages, line, resent)
		}
		if why == "" {
			// If that fails it has ended, and everything that was registered is answered.
			_ = c.send(line)
			return
		}
		if why != again {
			for _, m := range messages {
				if m.isRequest() {
					p.answer(rpc.Refusal(m.id, rpc.Unavailable, why))
				}
			}
			return
		}
	}
}

// again is register's reason to wait for the next server.
const again = "again"

// await returns the server in service, or why there is none.
func (p *proxy) await(deadline time.Time) (*child, string) {
	for {
		p.mu.Lock()
		c, up, last := p.current, p.up, p.last
		p.mu.Unlock()
		if c != nil {
			return c, ""
		}
		select {
		case <-up:
			continue
		case <-p.over:
		case <-time.After(time.Until(deadline)):
		}
		return nil, "The server is not running (" + last + "), and could not be started again so far. Nothing was done. Try again later."
	}
}

// register notes requests that are about to be sent to c, or returns why they
// may not be.
func (p *proxy) register(c *child, messages []message, line []byte, resent bool) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.refusing:
		return "The server is being stopped and takes no more requests. Nothing was done."
	case p.current != c:
		return again
	case len(p.pending)+len(messages) > p.opts.MaxInFlight:
		return "Too many requests are waiting for an answer. Nothing was done. Try again later."
	}
	for _, m := range messages {
		if m.isRequest() {
			p.pending[idKey(m.id)] = newCall(&m, resent)
			p.hello.note(&m, line)
		}
	}
	return ""
}

// noteFromClient takes notice of a notification.
func (p *proxy) noteFromClient(m *message, line []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch m.method {
	case "notifications/cancelled": // which need not be answered
		delete(p.pending, idKey(member(m.params, "requestId")))
		p.mayBeIdle()
	case "notifications/initialized":
		p.hello.note(m, line)
	}
}

// expects reports whether the client's response is for the server in service.
func (p *proxy) expects(id []byte) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	key := idKey(id)
	_, old := p.stale[key]
	delete(p.stale, key)
	delete(p.asked, key)
	return !old
}

// toCurrent sends a line to the server in service, if there is one.
func (p *proxy) toCurrent(line []byte) error {
	p.mu.Lock()
	c := p.current
	p.mu.Unlock()
	if c == nil {
		return nil
	}
	return c.send(line)
}

// fromChild passes on what a process says.
func (p *proxy) fromChild(c *child, r io.Reader) {
	out := newFrames(r, p.opts.MaxLine)
	for first := true; ; first = false {
		line, tail, cut, err := out.next()
		if err != nil {
			return
		}
		if first {
			line = withoutBOM(line)
		}
		switch {
		case cut:
			p.tooLong(line, tail, c.send, func(answer []byte) error {
				p.answer(answer)
				return nil
			})
		case len(line) > 0:
			p.childLine(c, line)
		}
	}
}

func (p *proxy) childLine(c *child, line []byte) {
	messages, ok := parse(line)
	if !ok {
		stray, rest := salvage(line)
		p.log.stray(stray)
		if rest == nil {
			return
		}
		line = rest
		messages, _ = parse(line)
	}
	for i := range messages {
		m := &messages[i]
		switch {
		case m.isResponse():
			if p.settle(c, m, line) {
				return // it was ours
			}
		case m.isRequest():
			if why := p.ask(m.id); why != "" {
				_ = c.send(rpc.Refusal(m.id, rpc.Unavailable, why))
				return
			}
		case m.method == "notifications/cancelled":
			p.mu.Lock()
			delete(p.asked, idKey(member(m.params, "requestId")))
			p.mu.Unlock()
		}
	}
	p.answer(line)
	p.mu.Lock()
	p.mayBeIdle()
	p.mu.Unlock()
}

// settle notes a response of the server, and reports whether it was to a request
// of ours.
func (p *proxy) settle(c *child, m *message, line []byte) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	key := idKey(m.id)
	if mine, ok := p.own[key]; ok {
		delete(p.own, key)
		mine <- bytes.Clone(line)
		return true
	}
	if _, ok := p.pending[key]; ok {
		delete(p.pending, key)
		c.answered.Store(true)
		p.spoken.Store(true)
	}
	return false
}

// ask notes a request of the server, or returns why it may not be sent.
func (p *proxy) ask(id []byte) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	key := idKey(id)
	if _, ok := p.stale[key]; ok {
		return "The client may still answer a request with this id, of the server that ran before. Ask again with another id."
	}
	if len(p.asked) >= p.opts.MaxInFlight || len(p.stale) >= p.opts.MaxInFlight {
		return "Too many requests to the client are waiting for an answer."
	}
	p.asked[key] = bytes.Clone(id)
	return ""
}

// answer writes a line to the client.
func (p *proxy) answer(line []byte) {
	if err := p.client.Line(line); err != nil {
		p.once.Do(func() { close(p.gone) })
	}
}

// tooLong refuses a message that was longer than we pass on: a request is
// answered, and a response is replaced by an error.
func (p *proxy) tooLong(head, tail []byte, back, on func([]byte) error) {
	id, request := identify(head, tail)
	p.log.say("a message of more than %d bytes was not passed on", p.opts.MaxLine)
	switch {
	case id == nil: // a null id would end the sessions of some clients
	case request:
		_ = back(rpc.Refusal(id, rpc.Invalid, "The message is too long. It was not passed on."))
	default:
		p.mu.Lock()
		delete(p.pending, idKey(id))
		delete(p.asked, idKey(id))
		p.mu.Unlock()
		_ = on(rpc.Refusal(id, rpc.Internal, "The answer is too long to be passed on. Ask for less."))
	}
}

// refuse takes no more requests, and returns how many are in flight.
func (p *proxy) refuse() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refusing = true
	return p.inFlight()
}

// inFlight counts the requests that an answer is to be expected to: a
// subscription ends with the session. p.mu is held.
func (p *proxy) inFlight() int {
	n := 0
	for _, c := range p.pending {
		if c.method != "subscriptions/listen" {
			n++
		}
	}
	return n
}

func (p *proxy) isEnding() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ending
}

// mayBeIdle wakes who waits for the end of all requests. p.mu is held.
func (p *proxy) mayBeIdle() {
	if p.refusing && p.inFlight() == 0 {
		select {
		case p.idle <- struct{}{}:
		default:
		}
	}
}

func withoutBOM(line []byte) []byte {
	if len(line) >= 3 && string(line[:3]) == "\ufeff" {
		return line[3:]
	}
	return line
}

func waitFor(done <-chan struct{}, d time.Duration) {
	select {
	case <-done:
	case <-time.After(d):
	}
}
