package doctor

import (
	"encoding/json"
	"errors"
	"time"

	"github.com/steadymcp/steady/cmd/steady/internal/launch"
	"github.com/steadymcp/steady/cmd/steady/internal/session"
)

var protocolProbes = []Probe{
	{ID: "ping", Severity: poor, Title: "a ping is not answered",
		Sends: "ping",
		Why:   "Clients take a server that does not answer for dead, and end it.",
		Fix:   "Answer ping with an empty result, at once, whatever else runs."},
	{ID: "id-echo", Severity: bad, Title: "an answer comes under another id than the request",
		Sends: "requests with text, and with numbers up to 2^53-1, as ids",
		Why:   "The client never finds the answer, and waits until it gives up.",
		Fix:   "Keep the id as it came: as text where it was text, without rounding."},
	{ID: "unknown-method", Severity: poor, Title: "a method that does not exist is not answered with -32601",
		Sends: "a request for doctor/no_such_method",
		Why:   "Clients try newer methods and fall back at -32601; at silence they hang.",
		Fix:   "Answer -32601."},
	{ID: "notification-answered", Severity: poor, Title: "a notification is answered",
		Sends: "a notification that no server knows",
		Why:   "JSON-RPC forbids it, and strict clients end the session at an answer to nothing.",
		Fix:   "Ignore notifications that are not known."},
	{ID: "stray-answer", Severity: bad, Title: "an answer to nothing, or a second answer",
		Sends: "everything",
		Why:   "Strict clients end the session; others give the second answer to somebody else.",
		Fix:   "Answer each request once."},
	{ID: "version-echo", Severity: poor, Title: "a revision that does not exist is agreed to",
		Sends: "initialize with the revision 2099-12-31",
		Why:   "The client then speaks a protocol that the server does not.",
		Fix:   "Answer with the newest revision that the server speaks."},
	{ID: "server-info", Severity: advice, Title: "the server does not say who it is",
		Sends: "initialize",
		Why:   "Bug reports and logs name no version.",
		Fix:   "Give a name and a version."},
}

// maxSafe is the largest integer that every client keeps.
const maxSafe = "9007199254740991"

func (e *exam) checkProtocol() {
	if e.server.Stateless {
		e.skip("version-echo", "the server knows no handshake")
		e.skip("server-info", "the server knows no handshake")
	} else {
		e.pass("server-info")
		if e.server.Name == "" || e.server.Version == "" {
			e.found("server-info", "", nil, "the name is %q, the version %q", e.server.Name, e.server.Version)
		}
		e.checkVersion()
	}
	s := e.session()
	if s == nil {
		return
	}
	if !e.server.Stateless {
		e.pass("ping")
		if r := s.Call("ping", nil, e.opts.Timeout); !r.OK() {
			e.found("ping", "", &r, "a ping is answered with %s", outcome(&r))
		}
	}
	e.pass("id-echo", "unknown-method", "notification-answered")
	for _, id := range []string{`"doctor-1"`, `"7"`, maxSafe, "0"} {
		s := e.session()
		if s == nil {
			return
		}
		r := s.GoID(id, "tools/list", nil).Wait(e.opts.Timeout)
		switch {
		case ended(&r):
			e.died("a request with the id "+id, &r)
		case r.Err != nil:
			e.found("id-echo", "id "+id, &r, "the request is not answered under its id")
		}
	}
	if s = e.session(); s == nil {
		return
	}
	r := s.Call("doctor/no_such_method", nil, e.opts.Timeout)
	var status *launch.StatusError
	switch {
	case ended(&r):
		e.died("an unknown method", &r)
	case errors.As(r.Err, &status) && status.Status/100 == 4:
		e.foundAs("unknown-method", advice, "", &r, "answered with the status %d and no message", status.Status)
	case r.Err != nil:
		e.found("unknown-method", "", &r, "there is no answer")
	case r.Error == nil || r.Error.Code != methodAbsent:
		e.found("unknown-method", "", &r, "answered with %s", outcome(&r))
	}
	if s = e.session(); s == nil {
		return
	}
	before := len(s.Faults())
	_ = s.Notify("notifications/doctor", nil)
	if e.alive(s) {
		if faults := s.Faults(); len(faults) > before {
			e.found("notification-answered", "", &session.Reply{Raw: []byte(faults[before].Text)}, "%s", faults[before].Kind)
		}
	} else {
		e.found("notification-answered", "", nil, "the session ends at an unknown notification")
		e.retire()
	}
}

// outcome says in a few words what came of a request.
func outcome(r *session.Reply) string {
	switch {
	case errors.Is(r.Err, session.ErrTimeout):
		return "nothing"
	case r.Err != nil:
		return r.Err.Error()
	case r.Error != nil:
		return "the error " + clip(r.Error.Error(), 100)
	}
	return "a result: " + clip(string(r.Result), 100)
}

// patience is how long an answer may take that a healthy server gives at once.
func (e *exam) patience() time.Duration { return e.opts.Timeout / 2 }

// alive reports whether a session still answers.
func (e *exam) alive(s *session.Session) bool {
	method := "ping"
	if e.server.Stateless {
		method = "tools/list"
	}
	r := s.Call(method, nil, e.patience())
	return r.Err == nil
}

func (e *exam) checkVersion() {
	s, err := e.connect()
	if err != nil {
		return
	}
	defer s.Close()
	e.pass("version-echo")
	r := s.Call("initialize", session.InitializeParams("2099-12-31"), e.startTimeout())
	var got struct{ ProtocolVersion string }
	if r.OK() && json.Unmarshal(r.Result, &got) == nil && got.ProtocolVersion == "2099-12-31" {
		e.found("version-echo", "", &r, "the server agrees to 2099-12-31")
	}
	if r.Err != nil {
		e.found("version-echo", "", &r, "a revision that the server does not know is not answered: %v", r.Err)
	}
}
