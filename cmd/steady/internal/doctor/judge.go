package doctor

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/steadymcp/steady/cmd/steady/internal/launch"
	"github.com/steadymcp/steady/cmd/steady/internal/session"
)

var callProbes = []Probe{
	{ID: "no-answer", Severity: bad, Title: "a call is never answered",
		Sends: "every call, with a bound on the wait: three times what is slow",
		Why:   "A client waits for as long as its own timeout, some for ever; then the model calls again.",
		Fix:   "Bound every call below the clients' timeouts (package limits), or answer with a task (package tasks)."},
	{ID: "failure-internal", Severity: bad, Title: "a failure of a tool is an error of the protocol",
		Sends: "calls with valid arguments, and values that exist nowhere",
		Why:   "Clients show -32603, -32000 and code 0 to nobody, or give the session up; the model never learns what was wrong.",
		Fix:   "Answer with a result that has isError and says what happened (package errors)."},
	{ID: "result-shape", Severity: bad, Title: "a result without content, or with content that is none",
		Sends: "calls with valid arguments",
		Why:   "Strict clients refuse the whole answer.",
		Fix:   "Send a list of content blocks, an empty one if there is nothing."},
	{ID: "output-schema", Severity: bad, Title: "a result that does not fit its own output schema",
		Sends: "calls with valid arguments",
		Why:   "The TypeScript SDK's clients throw, so the call has failed although the work was done.",
		Fix:   "Return what the schema says, or declare what is returned; empty lists are [], not null."},
	{ID: "error-silent", Severity: bad, Title: "an error that says nothing",
		Sends: "calls that fail",
		Why:   "A model that does not learn what was wrong repeats the call.",
		Fix:   "Say what happened, why, and what to do next (package errors)."},
	{ID: "leak-stack", Severity: bad, Title: "a stack trace in an answer",
		Sends: "calls that fail",
		Why:   "It tells attackers how the server is built, and costs the model thousands of tokens.",
		Fix:   "Hide what nobody vouched for behind an incident id, and log it (package errors)."},
	{ID: "leak-sql", Severity: bad, Title: "SQL or a database's message in an answer",
		Sends: "calls that fail",
		Why:   "It shows tables and columns, and that input reaches the database.",
		Fix:   "Translate a driver's errors into failures of your own (errors.Options.Translate)."},
	{ID: "leak-credential", Severity: bad, Title: "a credential in an answer",
		Sends: "calls that fail",
		Why:   "It is now in the model's context, in logs and in transcripts.",
		Fix:   "Hide foreign errors, and mask credentials in the texts that are shown (package errors)."},
	{ID: "leak-path", Severity: poor, Title: "a path of the server's machine in an error",
		Sends: "calls that fail",
		Why:   "It shows users' names and how the server is installed.",
		Fix:   "Name the thing as the caller named it; log the path."},
	{ID: "leak-host", Severity: poor, Title: "an internal host or address in an error",
		Sends: "calls that fail",
		Why:   "It maps the network for whoever asks.",
		Fix:   "Say that the dependency does not answer and when to try again; log the address."},
	{ID: "leak-internals", Severity: poor, Title: "an exception's own words in an answer",
		Sends: "calls that fail",
		Why:   `"undefined is not a function" is a bug seen from inside; a model cannot act on it.`,
		Fix:   "Check the input before it is used, and answer in the caller's words."},
	{ID: "crash", Severity: bad, Title: "a call ends the server",
		Sends: "every call, hostile arguments among them",
		Why:   "The session is over for every caller and every tool.",
		Fix:   "Recover from panics and exceptions at the edge (package errors), and check input before it is used."},
	{ID: "result-size", Severity: poor, Title: "a result larger than a model should read",
		Sends: "calls with valid arguments and no limit",
		Why:   "Clients cut results at about 25,000 tokens, drop the connection at 10 MiB, and every byte is paid for on each turn that follows.",
		Fix:   "Return pages with a bound and a cursor, and a budget for the rest (package pagination)."},
	{ID: "params-code", Severity: advice, Title: "arguments that are no object are an internal error",
		Sends: "a list, a text and null for the arguments",
		Why:   "-32603 says that the server is broken, and clients try again; -32602 says that the call is.",
		Fix:   "Answer -32602."},
	{ID: "leak-environment", Severity: bad, Title: "the server's environment in an answer",
		Sends: "every call, to a server with a made-up secret in its environment",
		Why:   "That is where keys and passwords are; they are now in the model's context, in logs and in transcripts.",
		Fix:   "Return the settings that are meant, by name."},
	{ID: "result-encoding", Severity: poor, Title: "invalid UTF-8 in an answer",
		Sends: "every call",
		Why:   "Strict decoders end the session at it.",
		Fix:   "Replace what is not UTF-8 before it is sent (package stdioguard)."},
}

// checkCalls calls each tool with valid arguments, so that the other probes know
// what an ordinary answer is.
func (e *exam) checkCalls() {
	e.setPhase("call")
	tools := e.may(gently)
	if len(tools) == 0 {
		return
	}
	// First those that need nothing: their results hold the ids that others want.
	slices.SortStableFunc(tools, func(a, b *tool) int { return len(a.input.required) - len(b.input.required) })
	for range 2 {
		for _, t := range tools {
			if t.base != nil && (t.base.ok() || len(t.input.required) == 0) || t.leave == gently && t.base != nil {
				continue
			}
			args := e.validArguments(t)
			if t.base != nil && quote(args) == quote(t.args) {
				continue // the others returned nothing that it could be tried with
			}
			t.args = args
			if v := e.call(t, args); v != nil {
				v.shed()
				t.base = v
			}
		}
	}
	for _, t := range tools {
		if v := t.base; v != nil && v.ok() {
			e.checkSize(t, v, "with its default arguments")
		}
	}
	e.callWithWhatOthersReturned()
	e.pass("no-answer", "failure-internal", "result-shape", "output-schema", "error-silent", "leak-stack", "leak-sql", "leak-credential",
		"leak-path", "leak-host", "leak-internals", "crash", "result-size", "result-encoding")
	if e.opts.canary != "" {
		e.pass("leak-environment")
	} else {
		e.skip("leak-environment", "the server was not started by us")
	}
}

// maxValidated is how large a result may be, in bytes, to be compared with its
// schema: both are the server's, and may be made to take long.
const maxValidated = 2 << 20

// maxStep is how far a number is raised at a time.
const maxStep = 4096

// Sizes of results, in bytes of JSON.
const (
	largeResult = 100_000 // where clients begin to cut
	hugeResult  = 1 << 20
	keptText    = 64 << 10 // of a huge one's text
)

func (e *exam) checkSize(t *tool, v *verdict, how string) {
	n := v.size
	switch {
	case n >= hugeResult:
		e.foundAs("result-size", bad, t.name, v.reply, "%.1f MB %s", float64(n)/1e6, how)
	case n >= largeResult:
		e.found("result-size", t.name, v.reply, "%d kB %s", n/1000, how)
	}
}

// callWithWhatOthersReturned reads each thing that other tools have named: what
// is wrong with one record is not seen by reading another.
func (e *exam) callWithWhatOthersReturned() {
	for _, t := range e.may(freely) {
		if t.class != reads || len(t.input.required) != 1 {
			continue
		}
		name := t.input.required[0]
		p := t.input.properties[name]
		if p == nil || p.kind() != "string" || len(p.enum) > 0 {
			continue
		}
		for i, value := range e.harvest.texts(name) {
			if i == 40 || t.silent {
				break
			}
			e.call(t, map[string]any{name: value})
		}
		e.call(t, map[string]any{name: e.missingValue(p)})
	}
}

// callToTheEdge raises a number until a writing tool refuses, and takes what is
// left: mistakes wait where something runs out.
func (e *exam) callToTheEdge(t *tool) {
	for _, name := range t.input.required {
		p := t.input.properties[name]
		if p == nil || p.kind() != "integer" || len(p.enum) > 0 {
			continue
		}
		step, refused := 1, false
		for range 40 {
			v := e.call(t, with(t.args, name, step))
			if v == nil {
				return
			}
			if refused = refused || !v.ok(); refused {
				step /= 2
			} else {
				step *= 2
			}
			if step == 0 || step > maxStep {
				return
			}
		}
		return
	}
}

// missingValue returns a value that names nothing.
func (e *exam) missingValue(p *schema) string {
	v := "doctor-no-such-thing"
	if p.maxLength > 0 && len(v) > p.maxLength {
		v = v[:p.maxLength]
	}
	return v
}

// judge looks at the answer to a call for what is wrong whatever was sent. The
// verdict is nil if there is no answer. object says whether the arguments were an
// object, or left out: everything else is wrong in itself.
func (e *exam) judge(t *tool, r session.Reply, object bool) *verdict {
	if r.Err != nil {
		switch {
		case ended(&r):
			t.crashes++
			e.died(t.name, &r)
		case errors.Is(r.Err, session.ErrTimeout):
			t.silent = true
			e.found("no-answer", t.name, &r, "no answer within %.0f s", r.Elapsed.Seconds())
			e.leaveStuck()
		case e.unreachable(&r):
			t.crashes++
			e.found("crash", t.name, &r, "the server cannot be reached any more: %v", r.Err)
		default:
			e.found("no-answer", t.name, &r, "%v", r.Err)
		}
		return nil
	}
	if r.Elapsed > e.opts.Timeout {
		t.silent = true // it has been tried long enough
		e.found("slow-call", t.name, &r, "answered after %.1f s", r.Elapsed.Seconds())
	}
	v := &verdict{reply: &r, size: len(r.Raw)}
	if canary := e.opts.canary; canary != "" && bytes.Contains(r.Raw, []byte(canary)) {
		e.found("leak-environment", t.name, &session.Reply{Request: r.Request, Raw: []byte("… STEADY_DOCTOR_SECRET …")}, "the answer holds a secret of the environment")
	}
	if !utf8.Valid(r.Raw) {
		e.found("result-encoding", t.name, &r, "the answer holds invalid UTF-8")
	}
	if r.Error != nil {
		v.text = r.Error.Message + " " + string(r.Error.Data)
		switch {
		case !internalCode(r.Error.Code):
		case !object:
			e.found("params-code", t.name, &r, "arguments that are no object are answered with %d", r.Error.Code)
		default:
			e.found("failure-internal", t.name, &r, "answered with the protocol's error %d: %s", r.Error.Code, clip(r.Error.Message, 120))
		}
		e.checkLeaks(t.name, v)
		return v
	}
	v.result = parseToolResult(r.Result)
	v.text = v.result.text
	if v.result.shape != "" {
		e.found("result-shape", t.name, &r, "%s", v.result.shape)
	}
	if v.result.isError {
		if strings.TrimSpace(v.text) == "" && v.result.structured == nil {
			e.found("error-silent", t.name, &r, "isError, and no text")
		}
		e.checkLeaks(t.name, v)
		return v
	}
	e.checkOutput(t, v)
	e.harvest.take(t.name, v.result)
	return v
}

// unreachable reports whether a request failed because the server has gone, as it
// shows over HTTP. If so, the exam is over: nobody here can start it again.
func (e *exam) unreachable(r *session.Reply) bool {
	var status *launch.StatusError
	if errors.As(r.Err, &status) {
		return false
	}
	e.retire()
	s, err := e.open()
	if err != nil {
		e.lost = err
		return true
	}
	e.adopt(s)
	return false
}

// internalCode reports whether a code says nothing to a client.
func internalCode(code int) bool {
	return code == -32603 || code == -32000 || code >= 0
}

// checkOutput compares a result with the tool's own schema.
func (e *exam) checkOutput(t *tool, v *verdict) {
	if len(t.output) == 0 || v.result.shape != "" || len(v.result.structured) > maxValidated {
		return
	}
	if v.result.structured == nil {
		if v.result.blocks > 0 || v.result.text != "" {
			e.found("output-schema", t.name, v.reply, "there is an output schema and no structuredContent")
		}
		return
	}
	var s *jsonschema.Schema
	if json.Unmarshal(t.output, &s) != nil || s == nil {
		return // the linter says so
	}
	resolved, err := s.Resolve(nil)
	if err != nil {
		return
	}
	var value any
	if json.Unmarshal(v.result.structured, &value) != nil {
		return
	}
	if err := resolved.Validate(value); err != nil {
		e.found("output-schema", t.name, v.reply, "structuredContent does not fit: %s", clip(err.Error(), 200))
	}
}
