package stdioguard

import (
	"context"
	"sync"
	"time"

	"github.com/steadymcp/steady/observe"
)

// maxReports bounds the events of each kind that wait for the observer, so that
// many of one kind do not displace those of another.
const maxReports = 16

// A reporter passes events to an observer from a goroutine of its own, because
// an observer that logs to standard error may block for as long as nobody
// reads that, and nothing that the client or a printer waits for may. What
// does not fit is counted, and the count is passed on as soon as the observer
// takes events again.
type reporter struct {
	observer observe.Observer

	mu      sync.Mutex
	queue   []observe.Event
	waiting map[string]int // events of the queue, by name
	missed  map[string]int // events that did not fit, by name
	closed  bool
	idle    chan struct{} // open while a goroutine is passing events on; nil before
}

func newReporter(o observe.Observer) *reporter {
	return &reporter{observer: o, waiting: make(map[string]int), missed: make(map[string]int)}
}

func (r *reporter) report(e observe.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return
	}
	name := e.EventName()
	if r.waiting[name] >= maxReports {
		r.missed[name]++
		return
	}
	r.waiting[name]++
	r.queue = append(r.queue, e)
	if r.idle == nil {
		r.idle = make(chan struct{})
		go r.run(r.idle)
	}
}

func (r *reporter) run(idle chan struct{}) {
	defer close(idle)
	for e := r.next(); e != nil; e = r.next() {
		r.pass(e)
	}
}

// pass passes an event on. An observer that panics misses it: here, where
// nobody stands above it, the panic would end the process.
func (r *reporter) pass(e observe.Event) {
	defer func() {
		if recover() == nil {
			return
		}
		if _, again := e.(Missed); !again {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.missed[e.EventName()]++
		}
	}()
	r.observer.Observe(context.Background(), e)
}

// next returns the next event, or nil if there is none. What was missed comes
// before what has waited.
func (r *reporter) next() observe.Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.missed) > 0 {
		e := Missed{Events: r.missed}
		r.missed = make(map[string]int)
		return e
	}
	if len(r.queue) == 0 {
		r.idle = nil
		return nil
	}
	e := r.queue[0]
	r.queue = r.queue[1:]
	r.waiting[e.EventName()]--
	return e
}

// close waits until all events have been passed on, but no longer than d.
// Nothing is passed on after that.
func (r *reporter) close(d time.Duration) {
	r.mu.Lock()
	idle, closed := r.idle, r.closed
	r.mu.Unlock()
	if idle != nil && !closed {
		select {
		case <-idle:
		case <-time.After(d):
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	r.queue = nil
	clear(r.missed)
}
