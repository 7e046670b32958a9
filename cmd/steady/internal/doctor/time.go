package doctor

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/steadymcp/steady/cmd/steady/internal/session"
)

var timeProbes = []Probe{
	{ID: "slow-call", Severity: poor, Title: "a call takes longer than people wait",
		Sends: "calls with valid arguments",
		Why:   "TypeScript clients give up after 60 s by default, others after 20 s; then the model calls again.",
		Fix:   "Answer with a handle or a task and go on in the background (package tasks)."},
	{ID: "cancel-ignored", Severity: poor, Title: "a cancelled call goes on",
		Sends: "notifications/cancelled in the middle of a slow call",
		Why:   "The work of callers who have gone keeps the server from those who have not.",
		Fix:   "Hand the request's context, or its signal, to everything that waits."},
	{ID: "cancel-breaks", Severity: bad, Title: "a cancellation ends the session",
		Sends: "notifications/cancelled for a call, for an unknown id and without one",
		Why:   "A user who presses stop loses every tool.",
		Fix:   "Ignore what cannot be cancelled."},
	{ID: "retry-duplicates", Severity: bad, Title: "a call that is retried does its work twice",
		Sends: "a slow call that is given up, and the same again; reading tools before and after",
		Why:   "Clients give up and models retry: orders are placed, and mails sent, twice.",
		Fix:   "Recognize the retry by what is asked for (package tasks)."},
	{ID: "repeat-duplicates", Severity: advice, Title: "the same call twice does its work twice",
		Sends: "the same call of a writing tool twice; reading tools before and after",
		Why:   "A model that is not sure repeats itself.",
		Fix:   "Recognize the repetition by what is asked for (package tasks), or say in the description that it adds up."},
	{ID: "idempotent-lie", Severity: bad, Title: "a tool that is annotated idempotent is not",
		Sends: "the same call of an idempotent tool twice; reading tools before and after",
		Why:   "Clients retry such tools by themselves.",
		Fix:   "Take the annotation away, or recognize the repetition."},
	{ID: "readonly-lie", Severity: bad, Title: "a tool that is annotated as reading changes something",
		Sends: "calls of a reading tool; the others before and after",
		Why:   "Clients call such tools without asking the user.",
		Fix:   "Take the annotation away."},
	{ID: "concurrency-broken", Severity: bad, Title: "calls at the same time get lost or mixed up",
		Sends: "calls at the same time, under different ids",
		Why:   "Clients send calls in parallel.",
		Fix:   "Keep no state of a call outside of it, and write each message whole."},
	{ID: "concurrency-unbounded", Severity: advice, Title: "any number of calls runs at once",
		Sends: "calls of a slow tool at the same time",
		Why:   "One caller's loop takes all memory and connections.",
		Fix:   "Bound how many run, and refuse the rest with advice (package limits)."},
}

const (
	slowEnough = 120 * time.Millisecond // of a call that can be cancelled in its middle
	settleIn   = 3 * time.Second        // how long work in the background is waited for
	parallel   = 48
	tries      = 3 // of what depends on time
	// maxParallelWait is how long calls at once may take together.
	maxParallelWait = time.Minute
	slowForParallel = 40 * time.Millisecond // of a call, to see how many run at once
)

func (e *exam) checkTime() {
	for _, t := range e.tools {
		if t.base == nil {
			continue
		}
		e.pass("slow-call") // judge has filed it, if there is one
	}
	e.checkCancelNothing()
	e.checkEffects()
	for _, t := range e.may(freely) {
		if t.base.ok() && t.base.reply.Elapsed >= slowEnough && t.base.reply.Elapsed < e.opts.Timeout/2 {
			e.checkCancel(t)
		}
	}
	e.checkParallel()
	for _, t := range e.may(freely) {
		if t.class != reads {
			e.callToTheEdge(t) // last, because it uses up what there is
		}
	}
}

// checkCancelNothing cancels what is not there.
func (e *exam) checkCancelNothing() {
	s := e.session()
	if s == nil {
		return
	}
	e.pass("cancel-breaks")
	for _, params := range []map[string]any{{"requestId": 987654321, "reason": "doctor"}, {"requestId": "no-such-id"}, {}} {
		_ = s.Notify("notifications/cancelled", params)
	}
	if !e.alive(s) {
		e.found("cancel-breaks", "", nil, "after a cancellation of what is not there the server does not answer")
		e.retire()
	}
}

// usual returns how long a tool takes at least, so that a moment in which the
// machine was busy does not count.
func (e *exam) usual(t *tool) time.Duration {
	least := t.base.reply.Elapsed
	for range 2 {
		if v := e.call(t, t.args); v.ok() {
			least = min(least, v.reply.Elapsed)
		}
	}
	return least
}

// checkCancel cancels a call in its middle and sees whether it goes on: an answer
// that comes after the full time, and with success, was worked for. It looks more
// than once, because a cancellation may be late on a busy machine.
func (e *exam) checkCancel(t *tool) {
	usual := e.usual(t)
	if usual < slowEnough {
		return
	}
	var r session.Reply
	for range tries {
		s := e.session()
		if s == nil {
			return
		}
		t.calls++
		c := s.Go("tools/call", map[string]any{"name": t.name, "arguments": t.args})
		timer := time.NewTimer(usual / 4)
		<-timer.C
		e.cancel(s, c)
		r = c.Wait(usual*3/2 + time.Second)
		e.pass("cancel-ignored")
		if ended(&r) {
			e.found("cancel-breaks", t.name, &r, "a call that is cancelled ends the server")
			e.retire()
			return
		}
		if !r.OK() || parseToolResult(r.Result).isError || r.Elapsed < usual*3/4 {
			return
		}
	}
	e.found("cancel-ignored", t.name, &r, "cancelled after %d ms, it was worked on for %d ms as always", (usual / 4).Milliseconds(), r.Elapsed.Milliseconds())
}

func (e *exam) cancel(s *session.Session, c *session.Call) {
	_ = s.Notify("notifications/cancelled", map[string]any{"requestId": json.RawMessage(c.ID()), "reason": "the doctor gave up"})
}

// A state is what the reading tools say.
type state map[string]string

// state calls the reading tools with their ordinary arguments. Those in except,
// and those whose answer is another one each time, are left out.
func (e *exam) state(except *tool) state {
	now := state{}
	for _, t := range e.may(freely) {
		if t == except || t.class != reads || !t.base.ok() || t.base.reply.Elapsed > slowEnough || len(t.base.reply.Raw) > hugeResult {
			continue
		}
		if v := e.call(t, t.args); v.ok() {
			now[t.name] = v.text + string(v.result.structured)
		}
	}
	return now
}

// steadyState returns what those tools say that say the same twice.
func (e *exam) steadyState(except *tool) state {
	a, b := e.state(except), e.state(except)
	maps.DeleteFunc(a, func(name, text string) bool { return b[name] != text })
	return a
}

// changed returns the first tool whose answer differs, and how far a number in
// it has risen.
func (s state) changed(now state) (name string, by float64) {
	for _, name := range slices.Sorted(maps.Keys(s)) {
		if other, ok := now[name]; ok && other != s[name] {
			return name, rise(s[name], other)
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
		if before := e.steadyState(t); len(before) > 0 {
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
		maps.DeleteFunc(now, func(name, _ string) bool { return before[name] == "" })
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
	if len(before) == 0 {
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
		if len(before) == 0 || s == nil {
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
	// Running one after the other is no mistake.
	within := min(2*parallel*usual+e.opts.Timeout, maxParallelWait)
	lost, succeeded := 0, 0
	var silent session.Reply
	for _, c := range calls {
		r := c.Wait(within)
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
	return time.Since(began), succeeded == parallel
}
