package doctor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/steadymcp/steady/cmd/steady/internal/launch"
	"github.com/steadymcp/steady/cmd/steady/internal/report"
	"github.com/steadymcp/steady/cmd/steady/internal/session"
	"github.com/steadymcp/steady/registry"
)

// An exam is one run of the doctor. It is not safe for concurrent use.
type exam struct {
	ctx     context.Context
	opts    Options
	secrets launch.Secrets

	main     *session.Session
	watch    *watch
	phase    string
	lost     error // why the server could not be started again
	over     bool  // all probes have run; what was heard meanwhile is filed
	launches int
	// startTook is how long the slowest handshake has taken, from the launch on.
	startTook time.Duration
	last      *tool // that was called last
	strays    []session.Stray
	faults    []session.Fault
	blind     bool     // the server's children cannot be seen
	stolen    []string // who else has the protocol's pipes, as found by watch

	server  session.Server
	listing *registry.Listing
	first   *pages            // the first list of tools
	lists   map[string]*pages // of prompts and resources
	tools   []*tool
	harvest *harvest
	costs   []report.Cost

	status   map[string]report.Outcome
	findings []report.Finding
	byKey    map[string]int // index into findings
}

// A tool is one of the server's.
type tool struct {
	name    string
	input   *schema
	output  json.RawMessage
	class   class
	leave   leave
	reason  string // why it is not called
	example map[string]any

	calls int
	// What the call with valid arguments gave.
	args    map[string]any
	base    *verdict
	silent  bool // it has once not answered in time; it is not called again
	crashes int
}

// slowFactor is how many times a timeout is waited for an answer, to tell what is
// slow from what never ends.
const slowFactor = 3

// maxCrashes is how often a tool may end the server before it is left alone.
const maxCrashes = 3

func newExam(ctx context.Context, opts Options) *exam {
	return &exam{
		ctx: ctx, opts: opts, secrets: opts.Target.Secrets(), harvest: newHarvest(), phase: "handshake", lists: map[string]*pages{},
		status: map[string]report.Outcome{}, byKey: map[string]int{},
	}
}

func (e *exam) close() { e.retire() }

// progress says what is being done.
func (e *exam) progress(format string, args ...any) {
	if e.opts.Progress != nil {
		fmt.Fprintln(e.opts.Progress, report.Printable(e.secrets.Mask(fmt.Sprintf("doctor: "+format, args...))))
	}
}

// open starts a server and a session, and shakes hands.
func (e *exam) open(env ...string) (*session.Session, error) {
	s, err := e.connect(env...)
	if err != nil {
		return nil, err
	}
	began := time.Now()
	if err := s.Handshake(max(e.opts.Timeout, 30*time.Second)); err != nil {
		if p, ok := s.Conn().(*launch.Process); ok {
			err = fmt.Errorf("%w%s", err, p.LastWords())
		}
		s.Close()
		return nil, err
	}
	e.startTook = max(e.startTook, time.Since(began))
	return s, nil
}

// startTimeout is how long the first answer of a new launch may take: a server
// that starts slowly is not one that does not answer.
func (e *exam) startTimeout() time.Duration { return e.opts.Timeout + slowFactor*e.startTook }

// connect starts a server without a word.
func (e *exam) connect(env ...string) (*session.Session, error) {
	if err := e.ctx.Err(); err != nil {
		return nil, err
	}
	if e.opts.canary != "" {
		env = append([]string{"STEADY_DOCTOR_SECRET=" + e.opts.canary}, env...)
	}
	conn, err := e.opts.Target.Connect(e.ctx, env...)
	if err != nil {
		return nil, err
	}
	e.launches++
	return session.Open(conn), nil
}

// begin starts the main session.
func (e *exam) begin() error {
	s, err := e.open()
	if err != nil {
		return err
	}
	e.server = s.Server()
	e.adopt(s)
	return nil
}

func (e *exam) adopt(s *session.Session) {
	e.main = s
	s.SetPhase(e.phase)
	e.watch = startWatch(s)
	e.blind = e.watch.blind
}

// session returns the main session, and a new one if that has ended. It returns
// nil if the server cannot be started again, or if the time is up.
func (e *exam) session() *session.Session {
	if e.main != nil {
		select {
		case <-e.main.Gone():
			e.diedBetweenCalls()
		default:
			return e.main
		}
	}
	if e.lost != nil {
		return nil
	}
	s, err := e.open()
	if err != nil {
		e.lost = err
		return nil
	}
	e.adopt(s)
	return s
}

// retire ends the main session and keeps what it heard.
func (e *exam) retire() {
	if e.main == nil {
		return
	}
	e.stolen = append(e.stolen, e.watch.stop()...)
	e.strays = append(e.strays, e.main.Strays()...)
	e.faults = append(e.faults, e.main.Faults()...)
	e.main.Close()
	e.main = nil
}

func (e *exam) setPhase(phase string) {
	e.phase = phase
	if e.main != nil {
		e.main.SetPhase(phase)
	}
}

// pass says that a probe was tried; it stays passed unless something is found.
func (e *exam) pass(ids ...string) {
	for _, id := range ids {
		if e.status[id].Status != report.Found {
			e.set(id, report.Passed, "")
		}
	}
}

// skip says why a probe was not tried.
func (e *exam) skip(id, reason string) {
	if _, ok := e.status[id]; !ok {
		e.set(id, report.Skipped, reason)
	}
}

func (e *exam) set(id string, status report.Status, reason string) {
	p, ok := probeByID[id]
	if !ok {
		panic("doctor: there is no probe " + id)
	}
	e.status[id] = report.Outcome{Probe: id, Title: p.Title, Status: status, Reason: reason}
}

// found files a finding. r is the evidence and may be nil.
func (e *exam) found(id, subject string, r *session.Reply, format string, args ...any) {
	e.foundAs(id, probeByID[id].Severity, subject, r, format, args...)
}

// foundAs is found for a finding that is not as grave as its probe.
func (e *exam) foundAs(id string, severity registry.Severity, subject string, r *session.Reply, format string, args ...any) {
	if e.ctx.Err() != nil && !e.over {
		return // it is our end that it shows, not the server's
	}
	e.set(id, report.Found, "")
	p := probeByID[id]
	f := report.Finding{Probe: id, Severity: severity, Subject: subject, Message: fmt.Sprintf(format, args...), Why: p.Why, Fix: p.Fix}
	if r != nil {
		f.Sent, f.Received = clip(string(r.Request), 400), received(r)
	}
	e.file(f)
}

func received(r *session.Reply) string {
	switch {
	case r.Err != nil && len(r.Raw) == 0:
		return fmt.Sprintf("%v after %.1f s", r.Err, r.Elapsed.Seconds())
	default:
		return clip(string(r.Raw), 600)
	}
}

// file adds a finding, or counts it if there is one for the same subject. The
// gravest one is shown.
func (e *exam) file(f report.Finding) {
	if i, ok := e.byKey[f.Key()]; ok {
		f.Times = max(e.findings[i].Times, 1) + 1
		if !report.Graver(f.Severity, e.findings[i].Severity) {
			e.findings[i].Times = f.Times
			return
		}
		e.findings[i] = f
		return
	}
	e.byKey[f.Key()] = len(e.findings)
	e.findings = append(e.findings, f)
}

// announce says what will be called before anything is.
func (e *exam) announce() {
	e.fetchTools()
	var called, not []string
	for _, t := range e.tools {
		switch t.leave {
		case freely:
			called = append(called, t.name)
		case gently:
			called = append(called, t.name+" (valid calls only)")
		default:
			not = append(not, t.name+" ("+t.reason+")")
		}
	}
	if len(called) > 0 {
		e.progress("will call: %s", strings.Join(called, ", "))
	}
	if len(not) > 0 {
		e.progress("will not call: %s", strings.Join(not, ", "))
	}
}

// may returns the tools that may be treated at least so.
func (e *exam) may(l leave) (out []*tool) {
	for _, t := range e.tools {
		if t.leave >= l && !t.silent && t.crashes < maxCrashes {
			out = append(out, t)
		}
	}
	return out
}

// call calls a tool and judges the answer by everything that holds for any. It
// returns nil if it could not be sent.
func (e *exam) call(t *tool, args any) *verdict {
	if t.silent || t.crashes >= maxCrashes || e.ctx.Err() != nil {
		return nil
	}
	s := e.session()
	if s == nil {
		return nil
	}
	params := map[string]any{"name": t.name}
	if args != nil {
		params["arguments"] = args
	}
	object := true
	if raw, ok := args.(json.RawMessage); ok {
		object = strings.HasPrefix(string(raw), "{")
	}
	t.calls++
	e.last = t
	return e.judge(t, s.Call("tools/call", params, slowFactor*e.opts.Timeout), object)
}

// died files that the server of the main session has ended.
func (e *exam) died(subject string, r *session.Reply) {
	p, ok := e.main.Conn().(*launch.Process)
	if ok && p.Flooded() {
		e.retire()
		e.foundAs("result-size", bad, subject, r, "the server wrote without end, and was given up")
		return
	}
	words := ""
	if ok {
		words = p.LastWords()
	}
	e.retire()
	e.found("crash", subject, r, "the server ended%s", words)
}

// diedBetweenCalls files that the server has ended while nobody was waiting for
// an answer.
func (e *exam) diedBetweenCalls() {
	subject := "between calls"
	if e.last != nil {
		subject = e.last.name
		e.last.crashes++
	}
	e.died(subject, nil)
}

// leaveStuck ends the main session if nothing at all is answered any more, so
// that what one call has done is not found again by every probe that follows.
func (e *exam) leaveStuck() {
	if e.main == nil {
		return
	}
	if r := e.main.Call("tools/list", nil, e.opts.Timeout); errors.Is(r.Err, session.ErrTimeout) {
		e.retire()
	}
}

func ended(r *session.Reply) bool { return errors.Is(r.Err, session.ErrEnded) }

// report puts together what was found.
func (e *exam) report(started time.Time) *report.Report {
	e.retire()
	r := &report.Report{
		Steady: e.opts.Version, Target: e.opts.Target.String(), Server: e.server.Name, Version: e.server.Version, Revision: e.server.Revision,
		Started: started, Seconds: time.Since(started).Seconds(), Launches: e.launches, Catalog: e.costs,
		Tools: []report.Tool{}, Findings: []report.Finding{},
	}
	if e.listing != nil {
		r.Fingerprint = e.listing.Fingerprint()
	}
	for _, t := range e.tools {
		r.Tools = append(r.Tools, report.Tool{Name: t.name, Class: string(t.class), Calls: t.calls, Reason: t.reason})
	}
	for _, p := range Probes() {
		if o, ok := e.status[p.ID]; ok {
			o.Reason = e.secrets.Mask(o.Reason)
			r.Outcomes = append(r.Outcomes, o)
		}
	}
	exceptions := e.exceptions()
	for _, f := range e.findings {
		for _, text := range []*string{&f.Subject, &f.Message, &f.Sent, &f.Received} {
			*text = e.secrets.Mask(*text)
		}
		i := slices.IndexFunc(exceptions, func(x registry.Exception) bool {
			return (x.Rule == f.Probe || "lint/"+x.Rule == f.Probe) && (x.Tool == "" || x.Tool == f.Subject)
		})
		if i >= 0 {
			f.Reason = exceptions[i].Reason
			r.Excepted = append(r.Excepted, f)
			continue
		}
		r.Findings = append(r.Findings, f)
	}
	r.Sort()
	return r
}

func (e *exam) exceptions() []registry.Exception {
	if len(e.opts.Profiles) == 0 {
		return nil
	}
	return e.opts.Profiles[0].Exceptions
}
