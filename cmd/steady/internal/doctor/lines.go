package doctor

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/steadymcp/steady/cmd/steady/internal/launch"
	"github.com/steadymcp/steady/cmd/steady/internal/session"
)

var lineProbes = []Probe{
	{ID: "line-malformed", Severity: poor, Title: "a line that is no JSON ends the session",
		Sends: "text, half an object, a control character",
		Why:   "One bug of a client, or a wrapper that writes, ends every tool.",
		Fix:   "Answer -32700 and read on (package stdioguard)."},
	{ID: "line-shape", Severity: poor, Title: "JSON that is no message ends the session",
		Sends: "42, {}, null, a method that is a number, another version",
		Why:   "As with malformed lines.",
		Fix:   "Answer -32600 and read on (package stdioguard)."},
	{ID: "line-batch", Severity: poor, Title: "a batch ends the session",
		Sends: "[] and a list of two pings",
		Why:   "Clients of revision 2025-03-26 send batches; later ones forbid them, but nothing dies.",
		Fix:   "Answer -32600, or each of them (package stdioguard)."},
	{ID: "line-bom", Severity: poor, Title: "a byte order mark ends the session",
		Sends: "initialize behind a byte order mark",
		Why:   "Windows shells and some wrappers put one first.",
		Fix:   "Skip it (package stdioguard)."},
	{ID: "line-blank", Severity: poor, Title: "blanks around a message end the session",
		Sends: "an empty line, a message with a trailing blank, one with CR LF",
		Why:   "Wrappers and other systems add them.",
		Fix:   "Trim lines (package stdioguard)."},
	{ID: "line-partial", Severity: bad, Title: "a message that comes in pieces is not understood",
		Sends: "a ping in three writes, cut within a character; two pings in one write",
		Why:   "Pipes deliver what they like: long messages always come in pieces.",
		Fix:   "Read until the line's end."},
	{ID: "line-deep", Severity: poor, Title: "deep nesting ends the session",
		Sends: "a ping with 3000 levels of arrays",
		Why:   "One message ends every tool.",
		Fix:   "Refuse what is deeper than you read (package stdioguard)."},
	{ID: "line-long", Severity: poor, Title: "a long message ends the session",
		Sends: "a ping of 4 MB",
		Why:   "A model that pastes a file ends every tool.",
		Fix:   "Read lines of any length up to a bound, and answer above it (package stdioguard)."},
}

// A lineCase is sent as it is; afterwards the session must answer.
type lineCase struct {
	probe, name, text string
	// answered are the ids, as JSON, that the text must be answered under.
	answered []string
}

func lineCases(stateless bool) []lineCase {
	cases := []lineCase{
		{probe: "line-malformed", name: "text", text: "this is not JSON\n"},
		{probe: "line-malformed", name: "half an object", text: `{"jsonrpc":"2.0","id":` + "\n"},
		{probe: "line-malformed", name: "a control character", text: "{\"jsonrpc\":\"2.0\",\"method\":\"a\x01b\"}\n"},
		{probe: "line-shape", name: "42", text: "42\n"},
		{probe: "line-shape", name: "{}", text: "{}\n"},
		{probe: "line-shape", name: "null", text: "null\n"},
		{probe: "line-shape", name: "a method that is a number", text: `{"jsonrpc":"2.0","id":771,"method":5}` + "\n"},
		{probe: "line-shape", name: "version 1.0", text: `{"jsonrpc":"1.0","id":772,"method":"ping"}` + "\n"},
		{probe: "line-batch", name: "[]", text: "[]\n"},
		{probe: "line-batch", name: "two pings", text: `[{"jsonrpc":"2.0","id":773,"method":"ping"},{"jsonrpc":"2.0","id":774,"method":"ping"}]` + "\n"},
		{probe: "line-blank", name: "an empty line", text: "\n"},
		{probe: "line-blank", name: "a line of blanks", text: "  \t\n"},
		{probe: "line-deep", name: "arrays", text: `{"jsonrpc":"2.0","id":775,"method":"ping","params":{"_meta":{"x":` + strings.Repeat("[", 3000) + strings.Repeat("]", 3000) + `}}}` + "\n"},
	}
	if stateless {
		return cases
	}
	ping := func(id, more string) string {
		return `{"jsonrpc":"2.0","id":` + id + `,"method":"ping","params":{"_meta":{"doctor":"ä"}}}` + more
	}
	return append(cases,
		lineCase{"line-blank", "a trailing blank", ping("776", " \n"), []string{"776"}},
		lineCase{"line-blank", "CR LF", ping("777", "\r\n"), []string{"777"}},
		lineCase{"line-partial", "two in one write", ping("778", "\n") + ping("779", "\n"), []string{"778", "779"}},
		lineCase{"line-long", "4 MB", `{"jsonrpc":"2.0","id":780,"method":"ping","params":{"_meta":{"doctor":"` + strings.Repeat("A", 4<<20) + `"}}}` + "\n", []string{"780"}},
	)
}

func (e *exam) checkLines() {
	var s *session.Session
	defer func() {
		if s != nil {
			s.Close()
		}
	}()
	fresh := func() bool {
		if s == nil {
			s, _ = e.open()
		}
		return s != nil
	}
	for _, c := range lineCases(e.server.Stateless) {
		if !fresh() {
			return
		}
		e.pass(c.probe)
		p := s.Conn().(*launch.Process)
		var calls []*session.Call
		for _, id := range c.answered {
			calls = append(calls, s.Expect(id))
		}
		sent := &session.Reply{Request: []byte(c.text)}
		if err := p.Write([]byte(c.text)); err != nil {
			e.found(c.probe, c.name, sent, "the server does not take it: %v", err)
			s.Close()
			s = nil
			continue
		}
		for _, call := range calls {
			if r := call.Wait(e.opts.Timeout); errors.Is(r.Err, session.ErrTimeout) {
				e.found(c.probe, c.name, sent, "it is not answered")
			}
		}
		if !e.survived(c.probe, c.name, sent, s, p) {
			s.Close()
			s = nil
		}
	}
	if fresh() && !e.server.Stateless {
		e.checkPieces(s)
	}
	e.checkBOM()
}

// survived reports whether a session still answers, and files it if not.
func (e *exam) survived(probe, name string, sent *session.Reply, s *session.Session, p *launch.Process) bool {
	if e.alive(s) {
		return true
	}
	what := "the server does not answer any more"
	select {
	case <-s.Gone():
		what = "the server ended" + p.LastWords()
	default:
	}
	e.found(probe, name, sent, "%s", what)
	return false
}

// checkPieces sends one message in several writes.
func (e *exam) checkPieces(s *session.Session) {
	e.pass("line-partial")
	text := `{"jsonrpc":"2.0","id":790,"method":"ping","params":{"_meta":{"doctor":"ä"}}}` + "\n"
	cut := strings.Index(text, "ä") + 1 // within the character
	p := s.Conn().(*launch.Process)
	call := s.Expect("790")
	for _, piece := range []string{text[:20], text[20:cut], text[cut:]} {
		_ = p.Write([]byte(piece))
		e.rest(40 * time.Millisecond)
	}
	sent := &session.Reply{Request: []byte(text)}
	if r := call.Wait(e.opts.Timeout); r.Err != nil || r.Error != nil {
		e.found("line-partial", "in three writes", sent, "it is answered with %s", outcome(&r))
		return
	}
	e.survived("line-partial", "in three writes", sent, s, p)
}

// checkBOM begins a session with a byte order mark.
func (e *exam) checkBOM() {
	s, err := e.connect()
	if err != nil {
		return
	}
	defer s.Close()
	e.pass("line-bom")
	p := s.Conn().(*launch.Process)
	text := fmt.Sprintf("\ufeff"+`{"jsonrpc":"2.0","id":790,"method":"initialize","params":{"protocolVersion":%q,"capabilities":{},"clientInfo":{"name":"doctor","version":"1"}}}`+"\n", session.Revision)
	call := s.Expect("790")
	_ = p.Write([]byte(text))
	sent := &session.Reply{Request: []byte(text)}
	if r := call.Wait(min(e.patience(), 2*time.Second)); r.OK() {
		return
	}
	// It need not be understood; the next line must be.
	if err := s.Handshake(e.startTimeout()); err != nil {
		e.found("line-bom", "", sent, "afterwards there is no handshake: %v", err)
	}
}
