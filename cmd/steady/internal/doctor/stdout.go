package doctor

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/steadymcp/steady/cmd/steady/internal/launch"
	"github.com/steadymcp/steady/cmd/steady/internal/report"
	"github.com/steadymcp/steady/cmd/steady/internal/session"
)

var stdoutProbes = []Probe{
	{ID: "stdout-handshake", Severity: bad, Title: "text on standard output before the handshake is over",
		Sends: "initialize",
		Why:   "Strict clients (the Go SDK's, the Java SDK's) end the session at it; a half line costs every client an answer.",
		Fix:   "Print to standard error; in Go, stdioguard.Guard first in main keeps whatever prints off the protocol."},
	{ID: "stdout-idle", Severity: bad, Title: "text on standard output while nothing is asked",
		Sends: "nothing, for a while",
		Why:   "The next call fails at it, for a reason that nobody sees.",
		Fix:   "Print to standard error (package stdioguard)."},
	{ID: "stdout-call", Severity: bad, Title: "text on standard output during a call",
		Sends: "calls",
		Why:   "The call has failed for strict clients although the tool has run, and the session is over.",
		Fix:   "Print to standard error (package stdioguard)."},
	{ID: "stdout-partial", Severity: bad, Title: "text without a line's end on standard output",
		Sends: "everything",
		Why:   "The next answer is on the same line, and no client finds it: the call is never answered.",
		Fix:   "Print to standard error (package stdioguard)."},
	{ID: "stdout-environment", Severity: bad, Title: "text on standard output, or no start, under another environment",
		Sends: "a launch with the switches for debug output, colours and another locale on",
		Why:   "What is quiet on your machine is not on the users'.",
		Fix:   "Print to standard error whatever the environment says (package stdioguard)."},
	{ID: "stdout-child", Severity: poor, Title: "a program that the server starts has the protocol's standard output",
		Sends: "calls; the server's children are looked at (on Linux)",
		Why:   "Whatever that program prints, today or after its next update, ends the session.",
		Fix:   "Give children another standard output (package stdioguard does it for all of them)."},
	{ID: "stdin-child", Severity: bad, Title: "a program that the server starts has the protocol's standard input",
		Sends: "calls, and pings in a row; the server's children are looked at (on Linux)",
		Why:   "Whatever that program reads, no one else gets: calls are never answered.",
		Fix:   "Give children an empty standard input (package stdioguard does it for all of them)."},
}

// hostileEnvironment makes programs talk that are silent otherwise.
var hostileEnvironment = []string{
	"DEBUG=*", "VERBOSE=1", "LOG_LEVEL=debug", "RUST_LOG=trace", "NODE_ENV=development", "PYTHONUNBUFFERED=1", "FORCE_COLOR=1", "CLICOLOR_FORCE=1",
	"TERM=xterm-256color", "LANG=C", "LC_ALL=C", "TZ=Pacific/Kiritimati",
}

func (e *exam) checkStdout() {
	s := e.session()
	if s == nil {
		return
	}
	e.pass("stdout-handshake", "stdout-partial")
	e.setPhase("idle")
	e.rest(e.opts.Idle)
	e.pass("stdout-idle")
	e.setPhase("call")
	if len(e.may(gently)) > 0 {
		e.pass("stdout-call")
	}
	e.checkInput(s)
	e.checkEnvironment()
}

// rest listens for a while.
func (e *exam) rest(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-e.ctx.Done():
	}
}

// checkInput sees whether all that is sent is received.
func (e *exam) checkInput(s *session.Session) {
	if e.server.Stateless {
		return
	}
	const pings = 10
	var calls []*session.Call
	for range pings {
		calls = append(calls, s.Go("ping", nil))
		e.rest(15 * time.Millisecond)
	}
	lost := 0
	var silent session.Reply
	for _, c := range calls {
		if r := c.Wait(e.opts.Timeout); r.Err != nil {
			lost++
			silent = r
		}
	}
	e.pass("stdin-child")
	if lost > 0 && lost < pings {
		e.found("stdin-child", "lost requests", &silent, "%d of %d pings were not answered and others were: somebody else read them", lost, pings)
	}
	if branches := leaves(s); len(branches) > 1 {
		e.found("stdin-child", strings.Join(branches, ", "), nil, "several processes read the same standard input: %s", strings.Join(branches, ", "))
	}
}

// leaves returns the processes at the ends of the tree of those that have the
// protocol's standard input. One is a server behind its launchers.
func leaves(s *session.Session) (out []string) {
	p, ok := s.Conn().(*launch.Process)
	if !ok {
		return nil
	}
	holders := slices.DeleteFunc(p.Holders(), func(h launch.Holder) bool { return !h.Stdin })
	for _, h := range holders {
		if !slices.ContainsFunc(holders, func(other launch.Holder) bool { return other.Parent == h.PID }) {
			out = append(out, h.Name)
		}
	}
	return out
}

func (e *exam) checkEnvironment() {
	e.pass("stdout-environment")
	s, err := e.open(hostileEnvironment...)
	if err != nil {
		e.found("stdout-environment", "launch", nil, "with %s: %v", strings.Join(hostileEnvironment, " "), err)
		return
	}
	e.list(s, "tools/list", "tools")
	e.rest(e.opts.Idle / 2)
	s.Close()
	usual := map[string]bool{}
	if e.main != nil {
		for _, x := range e.main.Strays() {
			usual[withoutNumbers(x.Text)] = true
		}
	}
	for _, x := range e.strays {
		usual[withoutNumbers(x.Text)] = true
	}
	for _, x := range s.Strays() {
		if !usual[withoutNumbers(x.Text)] {
			e.found("stdout-environment", "", &session.Reply{Request: []byte(strings.Join(hostileEnvironment, " ")), Raw: []byte(x.Text)}, "%s", quote(x.Text))
			return
		}
	}
}

// fileStrays files what came on standard output beside messages in the main
// sessions, and the messages that were none to expect.
func (e *exam) fileStrays() {
	e.retire()
	e.fileFaults()
	if e.opts.Target.IsHTTP() || len(e.opts.Only) > 0 && !slices.Contains(e.opts.Only, "stdout") {
		return
	}
	for _, x := range e.strays {
		id := "stdout-" + x.Phase
		reply := &session.Reply{Raw: []byte(x.Text)}
		subject := clip(withoutNumbers(x.Text), 40)
		if x.Glued || x.Partial {
			e.found("stdout-partial", subject, reply, "printed without a line's end %s", phases[x.Phase])
		}
		e.found(id, subject, reply, "printed %s", phases[x.Phase])
	}
	slices.Sort(e.stolen)
	for _, who := range slices.Compact(e.stolen) {
		id, name, _ := strings.Cut(who, " ")
		e.found(id, name, nil, "%s, which the server started during a call, has it", name)
	}
	switch {
	case e.status["stdout-child"].Status == report.Found:
	case e.blind:
		e.set("stdout-child", report.Skipped, "the processes of this system cannot be looked at")
	case len(e.may(gently)) > 0 && e.status["stdout-handshake"].Status != report.Skipped:
		e.pass("stdout-child")
	}
}

var digits = regexp.MustCompile(`\d+`)

// withoutNumbers makes a line the same one at every run.
func withoutNumbers(text string) string { return digits.ReplaceAllString(text, "#") }

var phases = map[string]string{"handshake": "in the handshake", "idle": "while idle", "call": "during calls"}

func (e *exam) fileFaults() {
	if _, ok := e.status["unknown-method"]; ok && e.status["unknown-method"].Status != report.Skipped {
		e.pass("stray-answer")
	}
	for _, f := range e.faults {
		switch f.Kind {
		case session.AnsweredTwice, session.UnknownID, session.NoContent:
			e.found("stray-answer", string(f.Kind), &session.Reply{Raw: []byte(f.Text)}, "%s", f.Kind)
		case session.TooLong:
			e.foundAs("result-size", bad, "a line", &session.Reply{Raw: []byte(f.Text)}, "a message of more than 32 MB")
		}
	}
}

// A watch looks at the server's children while calls run.
type watch struct {
	blind  bool // this system does not show them
	done   chan struct{}
	result chan []string
}

const (
	watchEvery = 20 * time.Millisecond
	maxThieves = 20
)

func startWatch(s *session.Session) *watch {
	w := &watch{done: make(chan struct{}), result: make(chan []string, 1)}
	p, ok := s.Conn().(*launch.Process)
	if !ok {
		w.result <- nil
		return w
	}
	before := map[int]bool{}
	for _, h := range p.Holders() {
		before[h.PID] = true
	}
	if len(before) == 0 { // not even the server
		w.blind = true
		w.result <- nil
		return w
	}
	go func() {
		var found []string
		ticker := time.NewTicker(watchEvery)
		defer ticker.Stop()
		for {
			select {
			case <-w.done:
				w.result <- found
				return
			case <-ticker.C:
			}
			for _, h := range p.Holders() {
				if before[h.PID] || !h.Own || len(found) >= maxThieves {
					continue
				}
				for probe, has := range map[string]bool{"stdin-child": h.Stdin, "stdout-child": h.Stdout} {
					if who := probe + " " + h.Name; has && !slices.Contains(found, who) {
						found = append(found, who)
					}
				}
			}
		}
	}()
	return w
}

// stop returns who had a pipe: the probe and the program's name.
func (w *watch) stop() []string {
	close(w.done)
	return <-w.result
}
