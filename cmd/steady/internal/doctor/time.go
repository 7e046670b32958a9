package doctor

import (
	"encoding/json"
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
	slowEnough      = 120 * time.Millisecond // of a call that can be cancelled in its middle
	settleIn        = 3 * time.Second        // how long work in the background is waited for
	parallel        = 48
	tries           = 3                     // of what depends on time
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
	if !e.opts.Gate.Write && !e.opts.Gate.Destructive {
		return
	}
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
