package observe

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// Bounds of [Patient].
const (
	// patience is how long a call waits for its event while the observer
	// behind works; nobody waits for one that is known to be stuck.
	patience = 100 * time.Millisecond
	// backlog is how many events are kept for an observer that is stuck.
	backlog = 256
)

// Patient returns an observer that passes events on to o and does not wait for
// an o that is stuck: a logger whose output nobody reads must not hold up the
// calls that it reports on.
//
// As long as o keeps up, each event has been observed when Observe returns. An
// event that takes longer than 100 ms goes on in the background; from then on
// up to 256 events are kept in order, and what comes beyond that is dropped and
// counted. When o moves again, it gets what was kept and then a [Dropped].
//
// An event that o panics about counts as dropped. Events that are still kept when the process ends are lost.
func Patient(o Observer) Observer { return &patient{behind: o} }

// Dropped is observed when events were dropped because the observer was stuck.
type Dropped struct{ Events int }

// EventName returns "observe.dropped".
func (Dropped) EventName() string { return "observe.dropped" }

// EventLevel returns slog.LevelWarn.
func (Dropped) EventLevel() slog.Level { return slog.LevelWarn }

// LogValue implements slog.LogValuer.
func (d Dropped) LogValue() slog.Value { return slog.GroupValue(slog.Int("events", d.Events)) }

type patient struct {
	behind Observer

	mu      sync.Mutex
	waiting []kept
	dropped int
	running bool // a goroutine passes on what is waiting
	stuck   bool // it has been too long with one event
}

// kept is an event on its way.
type kept struct {
	ctx   context.Context
	event Event
	done  chan struct{} // closed when it has been observed
}

func (p *patient) Observe(ctx context.Context, e Event) {
	if i, ok := p.behind.(interface {
		ignores(context.Context, Event) bool
	}); ok && i.ignores(ctx, e) {
		return
	}
	k := kept{ctx, e, make(chan struct{})}
	p.mu.Lock()
	if len(p.waiting) >= backlog {
		p.dropped++
		p.mu.Unlock()
		return
	}
	p.waiting = append(p.waiting, k)
	if !p.running {
		p.running = true
		go p.run()
	}
	stuck := p.stuck
	p.mu.Unlock()
	if stuck {
		return
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-k.done:
	case <-timer.C:
		p.mu.Lock()
		p.stuck = p.running
		p.mu.Unlock()
	}
}

// run passes on what is waiting and ends when nothing is.
func (p *patient) run() {
	for {
		p.mu.Lock()
		if len(p.waiting) == 0 {
			dropped := p.dropped
			p.dropped = 0
			if dropped == 0 {
				p.running, p.stuck = false, false
				p.mu.Unlock()
				return
			}
			p.mu.Unlock()
			p.pass(context.Background(), Dropped{dropped})
			continue
		}
		k := p.waiting[0]
		p.waiting = p.waiting[1:]
		p.mu.Unlock()
		if !p.pass(k.ctx, k.event) {
			p.mu.Lock()
			p.dropped++
			p.mu.Unlock()
		}
		close(k.done)
	}
}

// pass reports whether the observer took the event. Its panic would end the
// process here, where nobody stands above it.
func (p *patient) pass(ctx context.Context, e Event) (taken bool) {
	defer func() { _ = recover() }()
	p.behind.Observe(ctx, e)
	return true
}
