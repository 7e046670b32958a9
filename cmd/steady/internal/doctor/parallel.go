package doctor

import (
	"errors"
	"time"

	"github.com/steadymcp/steady/cmd/steady/internal/session"
)

// slowest returns the tool whose ordinary call takes longest, of those that took
// at least d.
func (e *exam) slowest(l leave, d time.Duration) *tool {
	var slow *tool
	for _, t := range e.may(l) {
		if t.base != nil && t.base.ok() && t.base.reply.Elapsed >= d && (slow == nil || t.base.reply.Elapsed > slow.base.reply.Elapsed) {
			slow = t
		}
	}
	return slow
}

// checkParallel makes many calls at once.
func (e *exam) checkParallel() {
	t := e.slowest(freely, slowForParallel)
	var usual time.Duration
	if t != nil {
		usual = e.usual(t)
	}
	slow := usual >= slowForParallel
	if !slow {
		t = e.sample()
	}
	if t == nil || !t.base.ok() || len(t.base.reply.Raw) > largeResult {
		return
	}
	if !slow {
		e.atOnce(t, t.base.reply.Elapsed)
		e.skip("concurrency-unbounded", "no tool is slow enough to see it")
		return
	}
	for range tries {
		took, all := e.atOnce(t, usual)
		if !all {
			return
		}
		e.pass("concurrency-unbounded")
		// Had only half of them run at a time, it would have taken two rounds; less
		// than one means that they were joined. A busy machine hides it, so it is
		// tried more than once.
		if took > usual*3/4 && took < usual*3/2+100*time.Millisecond && took < usual*2 {
			e.found("concurrency-unbounded", t.name, nil, "%d calls of %d ms each ended together after %d ms", parallel, usual.Milliseconds(), took.Milliseconds())
			return
		}
	}
}

// atOnce makes calls of one tool at the same time. It returns how long they took
// together, and whether all succeeded.
func (e *exam) atOnce(t *tool, usual time.Duration) (took time.Duration, all bool) {
	s := e.session()
	if s == nil {
		return 0, false
	}
	calls := make([]*session.Call, parallel)
	began := time.Now()
	for i := range calls {
		t.calls++
		calls[i] = s.Go("tools/call", map[string]any{"name": t.name, "arguments": t.args})
	}
	replies := e.waitForAll(calls, e.opts.Timeout+usual)
	took = time.Since(began)
	lost, succeeded := 0, 0
	var silent session.Reply
	for _, r := range replies {
		switch {
		case ended(&r):
			e.died(t.name+", called in parallel", &r)
			e.found("concurrency-broken", t.name, nil, "%d calls at once end the server", parallel)
			return 0, false
		case r.Err != nil:
			lost++
			silent = r
		case r.OK() && !parseToolResult(r.Result).isError:
			succeeded++
		}
	}
	e.pass("concurrency-broken")
	if lost > 0 {
		e.found("concurrency-broken", t.name, &silent, "%d of %d calls at once are not answered", lost, parallel)
	}
	return took, succeeded == parallel
}

// waitForAll waits for the answers for as long as they keep coming: running one
// after the other is no mistake.
func (e *exam) waitForAll(calls []*session.Call, pause time.Duration) (replies []session.Reply) {
	deadline := session.After(pause)
	for {
		var open []*session.Call
		for _, c := range calls {
			if r := c.Wait(0); errors.Is(r.Err, session.ErrTimeout) {
				open = append(open, c)
			} else {
				replies = append(replies, r)
				deadline = session.After(pause)
			}
		}
		calls = open
		if len(calls) == 0 {
			return replies
		}
		if !deadline.Sleep(e.ctx) {
			for _, c := range calls {
				replies = append(replies, c.Wait(0))
			}
			return replies
		}
	}
}
