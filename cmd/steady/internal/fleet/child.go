package fleet

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/steadymcp/steady/cmd/steady/internal/jsonl"
	"github.com/steadymcp/steady/cmd/steady/internal/proxy"
	"github.com/steadymcp/steady/cmd/steady/internal/rpc"
)

// What a child is doing.
type state int

const (
	starting state = iota // has not been introduced to the session
	ready
	down  // is not running
	away  // cannot be reached, though what runs it is there
	unfit // speaks no revision that the session has
)

// A child is one server, and the proxy that keeps it running.
type child struct {
	Server
	f *fleet

	mu      sync.Mutex
	changed chan struct{} // closed, and replaced, when state changes
	state   state
	why     string // of a state that is not ready
	box     *outbox
	restart func() // ends this run
	pending map[int64]sent
	hello   *hello // what it has said about itself
	spoke   bool   // it has been a part of the session
	metIn   int    // the session that it was introduced to last
	metBy   *outbox
	cached  map[*kind]*cache
}

// A sent is a request that the child has not answered.
type sent struct {
	// done gets the answer, which is valid until it returns. It must not block.
	done func(answer *message)
	// cancelled says that nobody counts on an answer.
	cancelled bool
}

func newChild(f *fleet, s Server) *child {
	return &child{Server: s, f: f, changed: make(chan struct{}), pending: map[int64]sent{}, cached: map[*kind]*cache{}}
}

// run keeps the child running until the session ends.
func (c *child) run(ctx context.Context) error {
	delay := firstDelay
	for {
		begun := time.Now()
		asked, err := c.once(ctx)
		if ctx.Err() != nil || c.f.isEnding() {
			return err
		}
		if asked {
			delay = firstDelay
			continue
		}
		if err == nil {
			err = errors.New("it ended")
		}
		c.f.log.Say("server %s is left out: %v", c.Name, err)
		if time.Since(begun) > maxDelay {
			delay = firstDelay
		}
		select {
		case <-ctx.Done():
			return err
		case <-c.f.over:
			return err
		case <-time.After(delay):
			delay = min(2*delay, maxDelay)
		}
	}
}

// How soon a child that could not be started is tried again.
const (
	firstDelay = time.Second
	maxDelay   = 30 * time.Second
)

// once runs the child once, and reports whether it was ended by us.
func (c *child) once(ctx context.Context) (asked bool, err error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	hurry, end, finished := make(chan struct{}), make(chan struct{}), make(chan struct{})
	defer close(finished)
	go func() {
		select {
		case <-c.f.opts.Hurry:
		case <-c.f.gone:
		case <-end:
			stop()
		case <-finished:
			return
		}
		close(hurry)
	}()
	box := newOutbox(c.f.opts.MaxQueue)
	c.mu.Lock()
	c.box, c.hello, c.cached = box, nil, map[*kind]*cache{}
	c.restart = sync.OnceFunc(func() { close(end) })
	// At once, lest a session that begins now introduces a child that is down.
	c.becomeLocked(starting, "it is being started")
	c.mu.Unlock()
	if c.f.isEnding() {
		box.finish()
	}
	var work sync.WaitGroup
	work.Go(func() { c.introduce(ctx, box) })
	log := &prefixed{name: c.Name, w: c.f.opts.Log}
	err = c.f.opts.start(ctx, c.Server, proxy.Options{
		In: box, Out: inbox{c}, Log: log, Hurry: hurry,
		MaxLine: c.f.opts.MaxLine, MaxInFlight: c.f.opts.MaxInFlight + reserved,
		Start: c.f.opts.Start, EOFWindow: c.f.opts.EOFWindow, StopWindow: c.f.opts.StopWindow,
	})
	select {
	case <-end:
		asked = true
	default:
	}
	_ = box.Close()
	log.end()
	stop()
	why := "it ended"
	if err != nil {
		why = err.Error()
	}
	if !asked {
		c.become(down, why)
	}
	c.fail(why)
	work.Wait()
	return asked, err
}

// reserved is how many requests of ours a child may have besides the client's.
const reserved = 256

// become changes the state, and wakes who waits for that.
func (c *child) become(s state, why string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.becomeLocked(s, why)
}

func (c *child) becomeLocked(s state, why string) {
	if c.state == unfit && s == starting {
		return // until the session begins anew
	}
	c.state, c.why = s, why
	close(c.changed)
	c.changed = make(chan struct{})
}

// settled waits until the child is not starting, and returns its state and why.
func (c *child) settled(ctx context.Context) (state, string) {
	for {
		c.mu.Lock()
		s, why, changed := c.state, c.why, c.changed
		c.mu.Unlock()
		if s != starting {
			return s, why
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return s, "it has not answered in time"
		}
	}
}

func (c *child) is(s state) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state == s
}

// send sends a request, or returns why it cannot be sent. The id is replaced by
// one of ours, which is returned.
func (c *child) send(m *message, done func(*message), edits ...jsonl.Edit) (id int64, why string) {
	id = c.f.next.Add(1)
	c.mu.Lock()
	box := c.box
	if c.state == down || box == nil {
		why = fmt.Sprintf("The server %s is not running (%s). Nothing was done. Try again later.", c.Name, c.why)
		c.mu.Unlock()
		return 0, why
	}
	c.pending[id] = sent{done: done}
	c.mu.Unlock()
	if !box.push(jsonl.Splice(m.raw, append(edits, jsonl.Edit{Part: m.id, With: number(id)})...)) {
		c.mu.Lock()
		_, mine := c.pending[id]
		delete(c.pending, id)
		c.mu.Unlock()
		if mine {
			return 0, fmt.Sprintf("The server %s does not take what is sent to it. Nothing was done. Try again later.", c.Name)
		}
	}
	return id, ""
}

// tell sends a line that nobody answers. It is lost if the child does not read.
func (c *child) tell(line []byte) {
	c.mu.Lock()
	box := c.box
	c.mu.Unlock()
	if box != nil && !box.push(line) {
		c.f.log.Say("server %s does not read: a message to it was dropped", c.Name)
	}
}

// maxCancelled bounds the requests that may still be answered after they were
// cancelled.
const maxCancelled = 1024

// cancel tells the child that nobody waits for the answer any more. An answer
// that comes nevertheless is passed on, as it would be without us.
func (c *child) cancel(id int64, notice []byte) {
	c.mu.Lock()
	s, ok := c.pending[id]
	if ok {
		s.cancelled = true
		c.pending[id] = s
		n := 0
		for _, s := range c.pending {
			if s.cancelled {
				n++
			}
		}
		if n > maxCancelled {
			delete(c.pending, id)
		}
	}
	c.mu.Unlock()
	if ok {
		c.tell(notice)
	}
}

// said handles a line of the child. The error is the client's, who has gone: then
// the proxy ends the child.
func (c *child) said(line []byte) (err error) {
	switch {
	case len(line) == 0:
	case line[0] == '[':
		jsonl.Elements(line, func(value []byte) { err = c.line(value) })
	default:
		err = c.line(line)
	}
	return err
}

// line handles one message of the child.
func (c *child) line(line []byte) error {
	m, why := parse(line)
	switch {
	case why != "":
		c.f.log.Say("server %s: a message was dropped: %s", c.Name, why)
	case m.isRequest():
		return c.f.ask(c, &m)
	case m.method != "":
		return c.f.notify(c, &m)
	default:
		c.settle(&m)
	}
	return c.f.out.failure()
}

// settle hands an answer to who waits for it.
func (c *child) settle(m *message) {
	id, ok := toNumber(m.id)
	if !ok {
		return
	}
	c.mu.Lock()
	s, ok := c.pending[id]
	delete(c.pending, id)
	c.mu.Unlock()
	if ok {
		s.done(m)
	}
}

// fail answers what the child has left unanswered.
func (c *child) fail(why string) {
	c.mu.Lock()
	left := c.pending
	c.pending = map[int64]sent{}
	c.mu.Unlock()
	for id, s := range left {
		if m, bad := parse(rpc.Refusal(number(id), rpc.Unavailable, fmt.Sprintf("The server %s is not running (%s).", c.Name, why))); bad == "" {
			s.done(&m)
		}
	}
	c.f.forget(c)
}

// What a child answers, or its proxy does.
var (
	errNotThere = errors.New("it is not there")
	errNoMethod = errors.New("it does not know the method")
)

// call is send for a request of ours. It waits for the answer, which is the
// caller's, until ctx is done.
func (c *child) call(ctx context.Context, method string, params []byte) (*message, error) {
	request := append([]byte(`{"jsonrpc":"2.0","id":0,"method":`), rpc.Quote(method)...)
	if params != nil {
		request = append(append(request, `,"params":`...), params...)
	}
	m, bad := parse(append(request, '}'))
	if bad != "" {
		return nil, errors.New(bad)
	}
	answer := make(chan message, 1)
	id, why := c.send(&m, func(a *message) {
		own, _ := parse(append([]byte(nil), a.raw...))
		answer <- own
	})
	if why != "" {
		return nil, errors.New(why)
	}
	select {
	case a := <-answer:
		switch code := a.code(); {
		case code == rpc.Unavailable:
			return &a, fmt.Errorf("%w: it answered %s with %.300s", errNotThere, method, a.failed)
		case code == rpc.NoMethod:
			return &a, fmt.Errorf("%w: it answered %s with %.300s", errNoMethod, method, a.failed)
		case a.failed != nil:
			return &a, fmt.Errorf("it answered %s with %.300s", method, a.failed)
		}
		return &a, nil
	case <-ctx.Done():
		c.mu.Lock()
		delete(c.pending, id)
		c.mu.Unlock()
		if method != "initialize" { // which must not be cancelled
			c.tell(notification("notifications/cancelled", fmt.Appendf(nil, `{"requestId":%d}`, id)))
		}
		return nil, fmt.Errorf("it has not answered %s in time", method)
	}
}
