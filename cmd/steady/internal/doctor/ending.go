package doctor

import (
	"fmt"
	"strings"
	"time"

	"github.com/steadymcp/steady/cmd/steady/internal/launch"
	"github.com/steadymcp/steady/cmd/steady/internal/session"
)

var endingProbes = []Probe{
	{ID: "eof-replies", Severity: poor, Title: "answers are lost when the input ends",
		Sends: "requests, and the end of input right after them",
		Why:   "Scripts and clients that hang up lose answers for work that was done.",
		Fix:   "Finish and deliver what is in flight before you end (package stdioguard)."},
	{ID: "eof-exit", Severity: poor, Title: "the server does not end when its input does",
		Sends: "the end of input",
		Why:   "Each restart of the client leaves one more process behind, until memory is out.",
		Fix:   "End when standard input does."},
	{ID: "exit-status", Severity: advice, Title: "an orderly end is reported as a failure",
		Sends: "the end of input",
		Why:   "Clients and supervisors show an error, and start the server again.",
		Fix:   "End with status 0."},
	{ID: "exit-orphans", Severity: poor, Title: "processes are left behind",
		Sends: "the end of input",
		Why:   "They keep ports, files and memory that the next launch needs.",
		Fix:   "End what you started before you end."},
	{ID: "sigterm-exit", Severity: poor, Title: "SIGTERM does not end the server",
		Sends: "SIGTERM",
		Why:   "Clients and supervisors send SIGKILL next, and nothing is cleaned up.",
		Fix:   "End at SIGTERM, within two seconds (package stdioguard)."},
	{ID: "sigterm-replies", Severity: advice, Title: "answers are lost at SIGTERM",
		Sends: "requests, and SIGTERM right after them",
		Why:   "A deployment costs the calls that are in flight.",
		Fix:   "Finish and deliver what is in flight before you end (package stdioguard)."},
}

const (
	inFlight = 11
	leaveIn  = 5 * time.Second // how long an end may take
)

func (e *exam) checkEnding() {
	if s, err := e.open(); err == nil {
		e.checkEOF(s)
	}
	for _, replies := range []bool{false, true} {
		if s, err := e.open(); err == nil {
			e.checkTerm(s, replies)
			s.Close()
		}
	}
}

// burst sends requests in one write, and returns what waits for the answers.
func (e *exam) burst(s *session.Session, p *launch.Process) []*session.Call {
	var text strings.Builder
	var calls []*session.Call
	for i := range inFlight {
		id := fmt.Sprint(900 + i)
		calls = append(calls, s.Expect(id))
		fmt.Fprintf(&text, `{"jsonrpc":"2.0","id":%s,"method":"tools/list","params":%s}`+"\n", id, s.Params(nil))
	}
	_ = p.Write([]byte(text.String()))
	return calls
}

func answered(calls []*session.Call, within time.Duration) (n int) {
	for _, c := range calls {
		if r := c.Wait(within); r.Err == nil {
			n++
		}
	}
	return n
}

func (e *exam) checkEOF(s *session.Session) {
	defer s.Close()
	p := s.Conn().(*launch.Process)
	calls := e.burst(s, p)
	_ = p.CloseInput()
	e.pass("eof-replies", "eof-exit")
	if n := answered(calls, leaveIn); n < inFlight {
		e.found("eof-replies", "", nil, "%d of %d requests were answered", n, inFlight)
	}
	select {
	case <-p.Ended():
	case <-time.After(leaveIn):
		e.found("eof-exit", "", nil, "%d s after the end of input it still runs", leaveIn/time.Second)
		return
	}
	e.pass("exit-status", "exit-orphans")
	if status := p.Status(); status != "exit status 0" {
		e.found("exit-status", "", nil, "%s%s", status, p.LastWords())
	}
	e.rest(200 * time.Millisecond) // what ends with its parent has ended
	if p.Left() {
		e.found("exit-orphans", "", nil, "processes that it has started still run")
	}
}

func (e *exam) checkTerm(s *session.Session, replies bool) {
	p := s.Conn().(*launch.Process)
	var calls []*session.Call
	if replies {
		calls = e.burst(s, p)
	}
	_ = p.Terminate()
	if replies {
		e.pass("sigterm-replies")
		if n := answered(calls, leaveIn); n < inFlight {
			e.found("sigterm-replies", "", nil, "%d of %d requests were answered", n, inFlight)
		}
		return
	}
	e.pass("sigterm-exit")
	select {
	case <-p.Ended():
	case <-time.After(leaveIn):
		e.found("sigterm-exit", "", nil, "%d s after SIGTERM it still runs", leaveIn/time.Second)
	}
}
