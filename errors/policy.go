package errors

import (
	"context"
	"crypto/rand"
	"encoding/json"
	stderrors "errors"
	"fmt"
	"log/slog"
	"os"
	"runtime/debug"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/steadymcp/steady/observe"
)

// Visibility says which errors show their text to clients. A [Failure], a
// *jsonrpc.Error and an error marked by [Public] always do.
type Visibility int

const (
	// ShowAuthored shows the errors whose chain holds nothing but values of
	// New, Join and fmt.Errorf: their text was written by whoever wrote the
	// handler. Everything else is hidden.
	ShowAuthored Visibility = iota
	// ShowMarked hides every error that nobody marked.
	ShowMarked
	// ShowEverything shows the text of every error, for a server whose clients
	// are its operators. Panics stay hidden, credentials stay masked.
	ShowEverything
)

// Options configures [Shape]. The zero value is ready to use.
type Options struct {
	// Show says which errors show their text. The zero value is ShowAuthored.
	Show Visibility

	// Translate, if non-nil, is asked about every error that holds no Failure
	// and no *jsonrpc.Error, and returns what to answer with in its place, or
	// nil. It is the place to make failures of the errors of a driver, once for
	// all handlers:
	//
	//	func(err error) error {
	//		if errors.Is(err, sql.ErrNoRows) {
	//			return errors.NotFound("no such record")
	//		}
	//		return nil
	//	}
	//
	// The original error becomes the private cause. Translate may be called
	// from many goroutines at once.
	Translate func(error) error

	// Observer receives [Panicked], [Hidden], [Failed] and [NilResult]. If nil,
	// they go to slog.Default. A panic of the observer is contained.
	Observer observe.Observer
}

// policy is what Options have become: how to answer with an error.
type policy struct {
	show      Visibility
	translate func(error) error
	observer  observe.Observer
}

var defaultPolicy = newPolicy(nil)

func newPolicy(opts *Options) *policy {
	if opts == nil {
		opts = &Options{}
	}
	return &policy{opts.Show, opts.Translate, observe.Or(opts.Observer)}
}

// inCall is the context of a call: it knows the outermost policy on the call's
// way and what is called, for [Go] and [Answer]. Inner policies yield to the
// outermost, so that whoever installed that one decides.
type inCall struct {
	context.Context
	policy *policy
	at     call
}

type inCallKey struct{}

func (c *inCall) Value(key any) any {
	if key == (inCallKey{}) {
		return c
	}
	return c.Context.Value(key)
}

// enter returns the context for a call of method, and the policy and call that
// its outcome goes by. own is the policy if there is none further out. The call
// is not to be changed.
func enter(ctx context.Context, own *policy, method string, req mcp.Request) (context.Context, *policy, *call) {
	outer, inner := ctx.Value(inCallKey{}).(*inCall)
	if !inner {
		c := &inCall{ctx, own, call{method: method, req: req}}
		return c, own, &c.at
	}
	at := &call{method: method, req: req, inner: true}
	if outer.at.method != method || outer.at.req != req { // one call that makes another
		ctx = &inCall{ctx, outer.policy, *at}
	}
	return ctx, outer.policy, at
}

// entered returns the policy and the call that ctx came through, if any.
func entered(ctx context.Context) (p *policy, at call, ok bool) {
	if c, ok := ctx.Value(inCallKey{}).(*inCall); ok {
		return c.policy, c.at, true
	}
	return defaultPolicy, call{}, false
}

// An answer is an error that has been through a policy. It holds what the
// client gets and, for the operator, what that was made from.
type answer struct {
	text     string         // what a tool's text block or the error message says
	kind     Kind           // "" if it has none
	facts    map[string]any // the same for machines
	protocol *jsonrpc.Error // if non-nil, what every method answers with, tools too
	err      error          // the whole chain
	by       *policy        // nil if no policy would answer otherwise
}

func (a *answer) Error() string { return a.text }
func (a *answer) Unwrap() error { return a.err }

// Is reports whether target is the answer's [Kind].
func (a *answer) Is(target error) bool { return a.kind != "" && target == error(a.kind) }

// incident returns the id that the client is given, or "".
func (a *answer) incident() string {
	id, _ := a.facts["incident"].(string)
	return id
}

// answer decides what err, which is not nil, becomes, and observes it. It does
// neither for an error that has been through p before.
func (p *policy) answer(ctx context.Context, at call, err error) *answer {
	err = bounded(err)
	if at.arguments != nil {
		if f := argumentFailure(at.arguments, err); f != nil {
			return p.failure(ctx, at, f, err)
		}
	}
	shown := err // what decides about the answer
	marked := explicit(err)
	if marked == nil && p.translate != nil {
		if t := bounded(p.translate(err)); t != nil {
			shown, marked = t, explicit(t)
			err = &translated{t, err}
		}
	}
	switch m := marked.(type) {
	case *answer:
		if m.by != nil && m.by != p {
			return p.answer(ctx, at, m.err)
		}
		if err != error(m) { // what stands around it has not been observed
			p.observe(ctx, Hidden{Method: at.method, Name: at.name(), Incident: m.incident(), Err: err})
		}
		return m
	case *Failure:
		return p.failure(ctx, at, m, err)
	case Kind:
		return p.failure(ctx, at, Fail(m, "%s", strings.ReplaceAll(string(m), "_", " ")), err)
	case *jsonrpc.Error:
		return p.protocolError(ctx, at, m, err)
	}
	if done := interruption(ctx, shown); done != shown {
		if shown == err {
			err = done
		}
		shown = done
	}
	if f := timeoutFailure(ctx, shown, p.show); f != nil {
		return p.failure(ctx, at, f, err)
	}
	if text, ok := p.text(shown); ok {
		p.observe(ctx, Failed{Method: at.method, Name: at.name(), Err: err})
		return &answer{text: clean(text, maxText), err: err, by: p}
	}
	return p.hidden(ctx, at, err)
}

// maxText bounds what a tool says about an error, in bytes: output of a
// compiler or a test run fits.
const maxText = 64 << 10

func (p *policy) failure(ctx context.Context, at call, f *Failure, err error) *answer {
	a := &answer{text: f.Error(), kind: f.Kind(), facts: f.facts(), err: err, by: p}
	incident := ""
	if f.Unwrap() != nil || err != error(f) && !vouched(err) { // something is hidden
		incident = newIncident()
		a.facts["incident"] = incident
	}
	p.observe(ctx, Failed{Method: at.method, Name: at.name(), Kind: f.Kind(), Incident: incident, Err: err})
	return a
}

func (p *policy) hidden(ctx context.Context, at call, err error) *answer {
	err = bounded(err)
	a := internal(newIncident(), err)
	p.observe(ctx, Hidden{Method: at.method, Name: at.name(), Incident: a.incident(), Err: err})
	return a
}

// internal is the answer that reveals nothing.
func internal(incident string, err error) *answer {
	return &answer{
		text:  "internal error (incident " + incident + ")",
		kind:  KindInternal,
		facts: map[string]any{"kind": string(KindInternal), "incident": incident},
		err:   err,
	}
}

// protocolError answers with e. Its text is that of the chain around it if all
// of that is the author's, as in fmt.Errorf("%w: missing name", invalid).
func (p *policy) protocolError(ctx context.Context, at call, e *jsonrpc.Error, err error) *answer {
	text := e.Message
	if err != error(e) && p.show != ShowMarked && vouched(err) {
		text = err.Error()
	}
	p.observe(ctx, Failed{Method: at.method, Name: at.name(), Err: err})
	return &answer{text: text, protocol: sendable(e, text), err: err, by: p}
}

// maxMessage bounds the message of a JSON-RPC error, which JSON-RPC wants to
// be one concise sentence, in bytes.
const maxMessage = 4 << 10

// sendable returns e with text as its message, fit for the wire: e itself if
// nothing has to change. Code 0 is what the SDK makes of an error without a
// code. Data that is not JSON would end the session, because the reply could
// not be encoded; it is kept as a JSON string.
func sendable(e *jsonrpc.Error, text string) *jsonrpc.Error {
	c := *e
	c.Message = clean(text, maxMessage)
	if c.Code == 0 {
		c.Code = jsonrpc.CodeInternalError
	}
	newData := false
	if len(c.Data) > 0 && !json.Valid(c.Data) {
		newData = true
		c.Data, _ = json.Marshal(clean(string(c.Data), maxMessage))
	} else if len(c.Data) > 0 && c.Code != mcp.CodeURLElicitationRequired {
		// The data of that code are addresses that the user is to open.
		c.Data, newData = scrubJSON(c.Data)
	}
	if c.Code == e.Code && c.Message == e.Message && !newData {
		return e
	}
	return &c
}

// caught makes an answer of a panic. It is called from the deferred function
// that recovered it.
func (p *policy) caught(ctx context.Context, at call, value any) *answer {
	incident := newIncident()
	stack := string(debug.Stack())
	if len(stack) > maxStack {
		stack = stack[:maxStack] + "\n… (cut)"
	}
	p.observe(ctx, Panicked{Method: at.method, Name: at.name(), Incident: incident, Value: value, Stack: stack})
	switch m := explicitPanic(value).(type) {
	case *Failure:
		a := &answer{text: m.Error(), kind: m.Kind(), facts: m.facts(), err: m}
		a.facts["incident"] = incident
		return a
	case *jsonrpc.Error:
		return &answer{text: m.Message, protocol: sendable(m, m.Message), err: m}
	}
	return internal(incident, stderrors.New("panic: "+describe(value)))
}

// explicitPanic is explicit for what a handler panicked with. It runs outside
// of every recover but its own, and an Unwrap method may panic too.
func explicitPanic(value any) (found error) {
	defer func() {
		if recover() != nil {
			found = nil
		}
	}()
	err, _ := value.(error)
	return explicit(err)
}

// describe returns the text of a panic's value. fmt contains the panics of the
// value's own methods.
func describe(value any) string {
	if value == nil {
		return "runtime.Goexit"
	}
	return fmt.Sprint(value)
}

// observe passes e on, and survives an observer that panics.
func (p *policy) observe(ctx context.Context, e observe.Event) {
	defer func() {
		if r := recover(); r != nil {
			slog.Default().Error("errors.observer_panicked", "event", e.EventName(), "value", clean(describe(r), maxLogged))
		}
	}()
	p.observer.Observe(ctx, e)
}

// newIncident returns an id of 60 random bits: short enough to be read out,
// and nothing to guess or to count from.
func newIncident() string { return rand.Text()[:12] }

// text returns the text of err that p lets a client see.
func (p *policy) text(err error) (string, bool) {
	if p.show == ShowEverything || p.show == ShowAuthored && vouched(err) {
		return err.Error(), true
	}
	var marked *public
	if stderrors.As(bounded(err), &marked) {
		return marked.Error(), true
	}
	return "", false
}

// publicText is the text of err that the default policy shows.
func publicText(err error) string {
	err = bounded(err)
	if m := explicit(err); m != nil {
		return strings.TrimSuffix(m.Error(), ".")
	}
	if text, ok := defaultPolicy.text(err); ok {
		return text
	}
	return "internal error"
}

// translated keeps the error that Options.Translate was given beside what it
// returned.
type translated struct{ public, private error }

func (t *translated) Error() string   { return t.private.Error() }
func (t *translated) Unwrap() []error { return []error{t.public, t.private} }

// interruption returns err if it says that ctx is done, whatever its words: with
// context.Cause(ctx) that may be any error. What Is finds in it then includes
// ctx.Err().
func interruption(ctx context.Context, err error) error {
	cause := context.Cause(ctx)
	if cause == nil || !stderrors.Is(err, cause) || stderrors.Is(err, ctx.Err()) {
		return err
	}
	return &interrupted{err, ctx.Err()}
}

// interrupted is an error of the cause that a context was cancelled with.
type interrupted struct{ err, done error }

func (i *interrupted) Error() string   { return i.err.Error() }
func (i *interrupted) Unwrap() []error { return []error{i.err, i.done} }

// timeoutFailure returns what a deadline or a cancellation becomes, and nil for
// any other error. A Failure that the context was cancelled with says better
// than we could why.
func timeoutFailure(ctx context.Context, err error, show Visibility) *Failure {
	canceled := isCanceled(err)
	if !canceled && !stderrors.Is(err, context.DeadlineExceeded) && !stderrors.Is(err, os.ErrDeadlineExceeded) {
		return nil
	}
	if cause := context.Cause(ctx); cause != nil {
		if f, ok := explicit(cause).(*Failure); ok {
			return f
		}
	}
	f := Timeout("the call did not finish in time")
	if canceled {
		f = Timeout("the call was cancelled before it finished")
	}
	if (show == ShowEverything || show == ShowAuthored && vouched(err)) && err != context.Canceled && err != context.DeadlineExceeded {
		f = Timeout("%s", clean(err.Error(), maxPart))
	}
	return f.Next("check whether it took effect before calling again")
}

func isCanceled(err error) bool { return stderrors.Is(bounded(err), context.Canceled) }

// A call is what an answer depends on beside the error.
type call struct {
	method    string
	req       mcp.Request     // may be nil
	inner     bool            // the same policy will see the answer again, further out
	arguments json.RawMessage // of a typed tool's call that failed; else nil
}

// tool returns the request as one for a tool, or nil.
func (at call) tool() *mcp.CallToolRequest {
	r, _ := at.req.(*mcp.CallToolRequest)
	return r
}

// name returns the name of the tool or prompt, as the peer sent it and cut to
// maxName bytes. Any part of a request may be missing: some are made by hand.
func (at call) name() string {
	var name string
	switch r := at.req.(type) {
	case *mcp.CallToolRequest:
		if r != nil && r.Params != nil {
			name = r.Params.Name
		}
	case *mcp.GetPromptRequest:
		if r != nil && r.Params != nil {
			name = r.Params.Name
		}
	}
	return strings.ToValidUTF8(excerpt(name, maxName), "\uFFFD")
}
