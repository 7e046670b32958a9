package limits

import (
	"container/list"
	"context"
	"fmt"
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
	tools   map[string]int // those of perTool only
	line    list.List      // of *waiter
	waiting map[string]int // callers, and "tool:"+name for those of perTool
}

type waiter struct {
	caller, tool string
	admitted     chan struct{} // closed when the waiter has its place
}

func newGate(o *Options) *gate {
	g := &gate{
		running: o.Running, perCaller: o.PerCaller, queue: o.Queue,
		perTool: map[string]int{}, callers: map[string]int{}, tools: map[string]int{}, waiting: map[string]int{},
	}
	for name, limit := range o.Tools {
		if limit.Running > 0 {
			g.perTool[name] = limit.Running
		}
	}
	return g
}

// The bounds of calls that run, as [Refused] names them.
const (
	boundTool   = "tool"
	boundCaller = "caller"
	boundServer = "server"
)

// full returns the bound that keeps a call from running now and how many it
// allows, or "" if none does. The caller of full holds g.mu.
func (g *gate) full(caller, tool string) (bound string, most int) {
	if most, ok := g.perTool[tool]; ok && g.tools[tool] >= most {
		return boundTool, most
	}
	if g.perCaller > 0 && g.callers[caller] >= g.perCaller {
		return boundCaller, g.perCaller
	}
	if g.running > 0 && g.total >= g.running {
		return boundServer, g.running
	}
	return "", 0
}

// admit takes a place if there is one. The caller holds g.mu.
func (g *gate) admit(caller, tool string) bool {
	if bound, _ := g.full(caller, tool); bound != "" {
		return false
	}
	g.total++
	g.callers[caller]++
	if _, ok := g.perTool[tool]; ok {
		g.tools[tool]++
	}
	return true
}

// queued puts a call in line, unless the line is full or holds as many of this
// caller's or this tool's as one of them may have there: a quarter, so that
// nobody can keep the others out. The caller of queued holds g.mu.
func (g *gate) queued(caller, tool string) *list.Element {
	share := max(g.queue/4, 1)
	if g.line.Len() >= g.queue || g.waiting[caller] >= share || g.waiting["tool:"+tool] >= share {
		return nil
	}
	g.wait(caller, tool, 1)
	return g.line.PushBack(&waiter{caller, tool, make(chan struct{})})
}

func (g *gate) wait(caller, tool string, n int) {
	keys := []string{caller}
	if _, ok := g.perTool[tool]; ok {
		keys = append(keys, "tool:"+tool)
	}
	for _, k := range keys {
		if g.waiting[k] += n; g.waiting[k] == 0 {
			delete(g.waiting, k)
		}
	}
}

// unqueue takes a waiter out of the line. The caller holds g.mu.
func (g *gate) unqueue(place *list.Element) {
	w := g.line.Remove(place).(*waiter)
	g.wait(w.caller, w.tool, -1)
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
			g.unqueue(e)
			close(w.admitted)
		}
		e = next
	}
}

// enter waits for a place and returns how to give it back, or the failure that
// says why there is none. deadline is the cause with which ctx ends when the
// call's own deadline passes.
func (l *Limiter) enter(ctx context.Context, caller, tool string, deadline error) (leave func(), err error) {
	g := l.gate
	leave = func() { g.leave(caller, tool) }

	g.mu.Lock()
	if g.admit(caller, tool) {
		g.mu.Unlock()
		return leave, nil
	}
	bound, most := g.full(caller, tool)
	place := g.queued(caller, tool)
	g.mu.Unlock()
	if place == nil {
		l.refused(ctx, caller, tool, bound, "queue full")
		return nil, busy(tool).Because("%s, and no more may wait", atOnce(bound, most))
	}
	admitted := place.Value.(*waiter).admitted

	var patience <-chan time.Time
	if l.opts.Wait > 0 {
		timer := time.NewTimer(l.opts.Wait)
		defer timer.Stop()
		patience = timer.C
	}
	select {
	case <-admitted:
	case <-patience:
	case <-ctx.Done():
	}

	g.mu.Lock()
	select {
	case <-admitted:
		g.mu.Unlock()
		// A call that was admitted while its patience ran out is glad of the
		// place; one whose time is over, or whose client has gone, is not begun.
		if ctx.Err() == nil {
			return leave, nil
		}
		leave()
	default:
		g.unqueue(place)
		g.mu.Unlock()
	}
	if ctx.Err() != nil && context.Cause(ctx) != deadline {
		return nil, ctx.Err()
	}
	l.refused(ctx, caller, tool, bound, "no place in time")
	return nil, busy(tool).Because("%s, and none ended in time", atOnce(bound, most))
}

// atOnce says to a caller which bound on running calls was reached.
func atOnce(bound string, most int) string {
	switch bound {
	case boundTool:
		return fmt.Sprintf("%d calls of this tool are running, which is all it may have at once", most)
	case boundCaller:
		return fmt.Sprintf("%d calls of this caller are running, which is all it may have at once", most)
	}
	return fmt.Sprintf("%d calls are running, which is all the server takes on at once", most)
}

// busy is the answer to a call that never began, so that repeating it is safe.
func busy(tool string) *errors.Failure {
	return errors.RateLimited("%s was not started", quote(tool)).
		Next("call it again a little later; nothing was done").
		RetryAfter(time.Second)
}
