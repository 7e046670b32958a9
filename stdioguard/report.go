package stdioguard

import (
	"context"
	"sync"
	"time"

	"github.com/steadymcp/steady/observe"
)

// maxReports bounds the events that wait for the observer.
const maxReports = 128

// A reporter passes events to an observer from a goroutine of its own, because
// an observer that logs to standard error may block for as long as nobody
// reads that, and nothing that the client or a printer waits for may. What
// does not fit is left out.
type reporter struct {
	observer observe.Observer

	mu    sync.Mutex
	queue []observe.Event
	idle  chan struct{} // open while a goroutine is passing events on; nil before
}

func (r *reporter) report(e observe.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.queue) >= maxReports {
		return
	}
	r.queue = append(r.queue, e)
	if r.idle == nil {
		r.idle = make(chan struct{})
		go r.run(r.idle)
	}
}

func (r *reporter) run(idle chan struct{}) {
	for {
		r.mu.Lock()
		if len(r.queue) == 0 {
			r.idle = nil
			close(idle)
			r.mu.Unlock()
			return
		}
		e := r.queue[0]
		r.queue = r.queue[1:]
		r.mu.Unlock()
		r.observer.Observe(context.Background(), e)
	}
}

// flush waits until all events have been passed on, but no longer than d.
func (r *reporter) flush(d time.Duration) {
	r.mu.Lock()
	idle := r.idle
	r.mu.Unlock()
	if idle == nil {
		return
	}
	select {
	case <-idle:
	case <-time.After(d):
	}
}
