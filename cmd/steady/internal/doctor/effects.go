package doctor

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/steadymcp/steady/cmd/steady/internal/session"
)

// A state is what the reading tools say. One that was started again may have
// forgotten what the one before knew, so states of two launches say nothing of what
// a call has changed.
type state struct {
	of   *session.Session
	says map[string]string // by tool
}

// state calls the reading tools with their ordinary arguments. Those in except,
// and those whose answer is another one each time, are left out.
func (e *exam) state(except *tool) state {
	now := state{e.session(), map[string]string{}}
	for _, t := range e.may(freely) {
		if t == except || t.class != reads || !t.base.ok() || t.base.reply.Elapsed > slowEnough || len(t.base.reply.Raw) > hugeResult {
			continue
		}
		if v := e.call(t, t.args); v.ok() {
			now.says[t.name] = v.text + string(v.result.structured)
		}
	}
	if e.session() != now.of {
		return state{}
	}
	return now
}

// steadyState returns what those tools say that say the same twice.
func (e *exam) steadyState(except *tool) state {
	a, b := e.state(except), e.state(except)
	if a.of != b.of {
		return state{}
	}
	maps.DeleteFunc(a.says, func(name, text string) bool { return b.says[name] != text })
	return a
}

// changed returns the first tool whose answer differs, and how far a number in
// it has risen.
func (s state) changed(now state) (name string, by float64) {
	if s.of != now.of {
		return "", 0
	}
	for _, name := range slices.Sorted(maps.Keys(s.says)) {
		if other, ok := now.says[name]; ok && other != s.says[name] {
			return name, rise(s.says[name], other)
		}
	}
	return "", 0
}

// rise returns how far the numbers of two texts that are otherwise equal have
// risen at most.
func rise(before, after string) float64 {
	a, b := strings.FieldsFunc(before, noNumber), strings.FieldsFunc(after, noNumber)
	if len(a) != len(b) {
		return 0
	}
	most := 0.0
	for i := range a {
		var x, y float64
		if _, err := fmt.Sscan(a[i], &x); err != nil {
			continue
		}
		if _, err := fmt.Sscan(b[i], &y); err != nil {
			continue
		}
		most = max(most, y-x)
	}
	return most
}

func noNumber(r rune) bool { return (r < '0' || r > '9') && r != '.' }

// checkEffects looks at what calls change, by what the reading tools say.
func (e *exam) checkEffects() {
	e.settle()
	for _, t := range e.may(freely) {
		if t.class != reads || !t.base.ok() {
			continue
		}
		if before := e.steadyState(t); len(before.says) > 0 {
			name := e.changes(t, before, t)
			e.pass("readonly-lie")
			if name != "" {
				e.found("readonly-lie", t.name, nil, "after a call %s answers otherwise", name)
			}
		}
	}
	for _, t := range e.may(gently) {
		if t.class == reads || !t.base.ok() {
			continue
		}
		if t.leave == freely && t.class != repeatable && !e.opts.Gate.Write && !e.opts.Gate.Destructive {
			continue // vouched for, not as harmless to repeat
		}
		e.checkRepeat(t)
		e.checkRetry(t)
	}
}

// changes returns the reading tool that answers otherwise after a call of t. It
// looks twice: what changes once may be work that was still going on.
func (e *exam) changes(t *tool, before state, except *tool) string {
	var name string
	for range 2 {
		if v := e.call(t, t.args); !v.ok() {
			return ""
		}
		now := e.state(except)
		if name, _ = before.changed(now); name == "" {
			return ""
		}
		maps.DeleteFunc(now.says, func(name, _ string) bool { return before.says[name] == "" })
		before = now
	}
	return name
}

// checkRepeat makes the same call again and again.
func (e *exam) checkRepeat(t *tool) {
	if !e.call(t, t.args).ok() { // the first may change something
		return
	}
	before := e.steadyState(nil)
	if len(before.says) == 0 {
		return
	}
	probe, what := "repeat-duplicates", "changes what %s says once more"
	if t.class == repeatable {
		probe, what = "idempotent-lie", "changes what %s says"
	}
	name := e.changes(t, before, nil)
	e.pass(probe)
	if name != "" {
		e.found(probe, t.name, &session.Reply{Request: t.base.reply.Request}, "the same call again "+what, name)
	}
}

// settle waits until the reading tools say the same for a while: what earlier
// calls have started in the background is done then.
func (e *exam) settle() {
	deadline := session.After(settleIn)
	before := e.state(nil)
	for quiet := 0; quiet < 6; {
		if !deadline.Sleep(e.ctx) {
			return
		}
		now := e.state(nil)
		if _, by := before.changed(now); by > 0 {
			quiet = 0
		} else {
			quiet++
		}
		before = now
	}
}

// checkRetry gives a slow call up, and makes it again, as clients do. It asks
// for something new where it can, so that the call does not find its work done.
func (e *exam) checkRetry(t *tool) {
	if t.base.reply.Elapsed < slowEnough/2 {
		return
	}
	var r session.Reply
	var name string
	var by float64
	// Twice, because other work may have ended in between.
	for i := range 2 {
		e.settle()
		before := e.steadyState(nil)
		s := e.session()
		if len(before.says) == 0 || s == nil {
			return
		}
		if r = e.giveUpAndRetry(s, t, e.fresh(t, i)); !r.OK() {
			return
		}
		e.pass("retry-duplicates")
		if name, by = before.changed(e.state(nil)); by < 2 {
			return
		}
	}
	e.found("retry-duplicates", t.name, &r, "given up and called again, it raised a number of %s by %g", name, by)
}

// giveUpAndRetry returns the answer to the second call.
func (e *exam) giveUpAndRetry(s *session.Session, t *tool, args map[string]any) session.Reply {
	usual := t.base.reply.Elapsed
	t.calls += 2
	first := s.Go("tools/call", map[string]any{"name": t.name, "arguments": args})
	timer := time.NewTimer(usual / 2)
	defer timer.Stop()
	<-timer.C
	e.cancel(s, first)
	r := s.Go("tools/call", map[string]any{"name": t.name, "arguments": args}).Wait(e.opts.Timeout)
	_ = first.Wait(2*usual + time.Second)
	return r
}

// fresh returns valid arguments that were not used yet, others for each n.
func (e *exam) fresh(t *tool, n int) map[string]any {
	for _, name := range t.input.names {
		if p := t.input.properties[name]; len(p.enum) > 1 {
			if _, ok := t.args[name]; !ok {
				return with(t.args, name, p.enum[len(p.enum)-1-n%len(p.enum)])
			}
		}
	}
	return t.args
}
