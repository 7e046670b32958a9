package limits

import (
	"container/list"
	"context"
	"sync"
	"time"

	"github.com/steadymcp/steady/errors"
)

// A gate admits calls while fewer than a bounded number run: in all, of one
// caller, and of one tool. The others wait in line, first come first served
// among those that may run at all, so that one busy tool or caller does not
// hold up the rest.
//
// The maps hold only what runs or waits, so that their size is bounded by the
// bounds themselves.
type gate struct {
	running, perCaller, queue int
	perTool                   map[string]int

	mu      sync.Mutex
	total   int
	callers map[string]int
	tools   map[string]int
	line    list.List // of *waiter
}

type waiter struct {
	caller, tool string
	admitted     chan struct{} // closed when the waiter has its place
}

func newGate(o *Options) *gate {
	g := &gate{
		running: o.Running, perCaller: o.PerCaller, queue: o.Queue,
		perTool: map[string]int{}, callers: map[string]int{}, tools: map[string]int{},
	}
	for name, limit := range o.Tools {
		if limit.Running > 0 {
			g.perTool[name] = limit.Running
		}
	}
	return g
}

// admit takes a place if there is one. The caller holds g.mu.
func (g *gate) admit(caller, tool string) bool {
	if g.running > 0 && g.total >= g.running ||
		g.perCaller > 0 && g.callers[caller] >= g.perCaller {
		return false
	}
	if most, ok := g.perTool[tool]; ok && g.tools[tool] >= most {
		return false
	}
	g.total++
	g.callers[caller]++
	if _, ok := g.perTool[tool]; ok {
		g.tools[tool]++
	}
	return true
}

// leave gives a place back and admits those in line whom that lets in.
func (g *gate) leave(caller, tool string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.total--
	if g.callers[caller]--; g.callers[caller] == 0 {
		delete(g.callers, caller)
	}
	if _, ok := g.perTool[tool]; ok {
		g.tools[tool]--
	}
	for e := g.line.Front(); e != nil; {
		next := e.Next()
		if w := e.Value.(*waiter); g.admit(w.caller, w.tool) {
			g.line.Remove(e)
			close(w.admitted)
		}
		e = next
	}
}

// enter waits for a place and returns how to give it back, or the failure that
// says why there is none.
func (l *Limiter) enter(ctx context.Context, caller, tool string) (leave func(), err error) {
	g := l.gate
	leave = func() { g.leave(caller, tool) }

	g.mu.Lock()
	if g.admit(caller, tool) {
		g.mu.Unlock()
		return leave, nil
	}
	if g.line.Len() >= g.queue {
		g.mu.Unlock()
		l.opts.Observer.Observe(ctx, Refused{Tool: tool, Reason: "queue full"})
		return nil, busy(tool).Because("the server runs as many calls as it can and the queue is full")
	}
	w := &waiter{caller, tool, make(chan struct{})}
	place := g.line.PushBack(w)
	g.mu.Unlock()

	var patience <-chan time.Time
	if l.opts.Wait > 0 {
		timer := time.NewTimer(l.opts.Wait)
		defer timer.Stop()
		patience = timer.C
	}
	select {
	case <-w.admitted:
		return leave, nil
	case <-patience:
	case <-ctx.Done():
	}

	g.mu.Lock()
	select {
	case <-w.admitted:
		// Admitted while giving up. A call whose client has gone gives the
		// place back; one that merely ran out of patience is glad of it.
		g.mu.Unlock()
		if ctx.Err() == nil {
			return leave, nil
		}
		leave()
	default:
		g.line.Remove(place)
		g.mu.Unlock()
	}
	if ctx.Err() != nil && context.Cause(ctx) != errDeadline {
		return nil, ctx.Err()
	}
	l.opts.Observer.Observe(ctx, Refused{Tool: tool, Reason: "no place in time"})
	return nil, busy(tool).Because("the server runs as many calls as it can and none ended in time")
}

// busy is the answer to a call that never began, so that repeating it is safe.
func busy(tool string) *errors.Failure {
	return errors.RateLimited("%s was not started", quote(tool)).
		Next("call it again a little later; nothing was done").
		RetryAfter(time.Second)
}
