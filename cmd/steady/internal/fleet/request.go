package fleet

import (
	"bytes"
	"context"
	"encoding/json"
	"sync"

	"github.com/steadymcp/steady/cmd/steady/internal/jsonl"
	"github.com/steadymcp/steady/cmd/steady/internal/rpc"
)

// A request is one of the client that has not been answered.
type request struct {
	message                 // with copies of the parts that outlive the line
	opens   bool            // a session begins with it
	held    int             // bytes that are kept of it
	ctx     context.Context // until it is answered or cancelled
	stop    context.CancelFunc

	mu   sync.Mutex
	sent map[*child]int64 // to whom, and with which id
	over bool             // it is answered, or cancelled
}

// clientLine handles a line of the client.
func (f *fleet) clientLine(line []byte) {
	if !json.Valid(line) {
		_ = f.out.write(rpc.Refusal(nil, rpc.Parse, "Parse error: the line is no JSON. No server has got it."))
		return
	}
	m, why := parse(line)
	switch {
	case why != "":
		_ = f.out.write(rpc.Refusal(m.id, rpc.Invalid, "Invalid request: "+why+". No server has got it."))
	case m.isRequest():
		f.request(&m)
	case m.method != "":
		f.noteFromClient(&m)
	default:
		f.answered(&m)
	}
}

// tooLong refuses a message of which there are only the beginning and the end.
func (f *fleet) tooLong(head, tail []byte) {
	f.log.Say("a message of the client of more than %d bytes was not passed on", f.opts.MaxLine)
	if id, isRequest := jsonl.Identify(head, tail); isRequest && id != nil {
		_ = f.out.write(rpc.Refusal(id, rpc.Invalid, "The message is too long. It was not passed on."))
	}
}

// request takes on a request of the client.
func (f *fleet) request(m *message) {
	r := &request{message: message{id: bytes.Clone(m.id), method: m.method}, sent: map[*child]int64{}}
	key := jsonl.IDKey(r.id)
	f.mu.Lock()
	_, twice := f.inflight[key]
	full, closed := len(f.inflight) >= f.opts.MaxInFlight, f.closed
	if !twice && !full && !closed {
		r.ctx, r.stop = context.WithCancel(f.ctx)
		f.inflight[key] = r
		f.requests.Add(1)
	}
	f.mu.Unlock()
	switch {
	case closed:
		return // nobody is there to be asked
	case twice:
		_ = f.out.write(rpc.Refusal(r.id, rpc.Invalid, "A request with this id is waiting for an answer. This one was not passed on."))
		return
	case full:
		_ = f.out.write(rpc.Refusal(r.id, rpc.Unavailable, "Too many requests are waiting for an answer. Nothing was done. Try again later."))
		return
	}
	if f.quick(r, m) {
		f.requests.Done()
		return
	}
	f.mu.Lock()
	r.held = len(m.raw)
	much := f.held > 0 && f.held+r.held > f.opts.MaxQueue
	f.held += r.held
	f.mu.Unlock()
	if much {
		f.refuse(r, rpc.Unavailable, "The requests that wait for an answer are too large in all. Nothing was done. Try again later.", nil)
		f.requests.Done()
		return
	}
	r.message, _ = parse(bytes.Clone(m.raw))
	f.open(r)
	go func() {
		defer f.requests.Done()
		f.route(r)
	}()
}

// end reports whether the request had still to be answered.
func (f *fleet) end(r *request) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over {
		return false
	}
	r.over = true
	r.stop()
	f.mu.Lock()
	delete(f.inflight, jsonl.IDKey(r.id))
	f.held -= r.held
	f.mu.Unlock()
	return true
}

// finishRequest answers a request, unless that has been done.
func (f *fleet) finishRequest(r *request, line []byte) {
	if f.end(r) {
		_ = f.out.write(line)
	}
}

func (f *fleet) refuse(r *request, code int, text string, data any) {
	f.finishRequest(r, rpc.RefusalWith(r.id, code, text, data))
}

// forward sends the request to one child, whose answer is the client's.
func (f *fleet) forward(r *request, m *message, c *child, edits ...jsonl.Edit) {
	f.forwardTo(r, m, c, func(a *message) { f.pass(r, c, a) }, edits...)
}

// forwardTo is forward with another use of the answer.
func (f *fleet) forwardTo(r *request, m *message, c *child, done func(*message), edits ...jsonl.Edit) {
	// The id is known before anybody can cancel the request, or answer it.
	r.mu.Lock()
	id, why := int64(0), ""
	if !r.over {
		id, why = c.send(m, func(a *message) {
			r.mu.Lock()
			delete(r.sent, c)
			r.mu.Unlock()
			done(a)
		}, edits...)
		if why == "" {
			r.sent[c] = id
		}
	}
	r.mu.Unlock()
	if why != "" {
		f.refuse(r, rpc.Unavailable, why, nil)
	}
}

// pass gives a child's answer to the client. One to a request that was cancelled
// is passed on too, as it would be without us.
func (f *fleet) pass(r *request, c *child, a *message) {
	f.noteHandle(c, a)
	f.end(r)
	_ = f.out.write(jsonl.Splice(a.raw, jsonl.Edit{Part: a.id, With: r.id}))
}

// cancelled handles the client's notifications/cancelled.
func (f *fleet) cancelled(m *message) {
	id := jsonl.Member(m.params, "requestId")
	if id == nil {
		return
	}
	f.mu.Lock()
	r := f.inflight[jsonl.IDKey(id)]
	f.mu.Unlock()
	if r == nil || !f.end(r) {
		return
	}
	r.mu.Lock()
	sent := make(map[*child]int64, len(r.sent))
	for c, id := range r.sent {
		sent[c] = id
	}
	r.mu.Unlock()
	f.stopListening(r)
	for c, n := range sent {
		c.cancel(n, jsonl.Splice(m.raw, jsonl.Edit{Part: id, With: number(n)}))
	}
}

// noteFromClient passes on a notification of the client.
func (f *fleet) noteFromClient(m *message) {
	switch m.method {
	case "notifications/cancelled":
		f.cancelled(m)
		return
	case "notifications/progress":
		f.progressed(m)
		return
	}
	line := bytes.Clone(m.raw)
	var to []*child
	f.mu.Lock()
	if m.method == "notifications/initialized" {
		f.session.ready = true
	}
	for _, c := range f.children {
		if c.greeting() != nil {
			to = append(to, c)
		}
	}
	f.mu.Unlock()
	for _, c := range to {
		c.tell(bytes.Clone(line))
	}
}
