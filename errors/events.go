package errors

import (
	stderrors "errors"
	"log/slog"
)

// Bounds of what a log record holds, in bytes.
const (
	maxLogged = maxText // an operator reads at least what a client does
	maxStack  = 32 << 10
	maxName   = 128
)

// Panicked is observed when a handler panicked and was answered all the same.
type Panicked struct {
	Method   string // the MCP method, or "" for a goroutine of [Go] that belongs to no call
	Name     string // the tool or prompt, as the client named it, cut at 128 bytes
	Incident string // the id that the client was given
	Value    any    // what the handler panicked with; nil for runtime.Goexit
	Stack    string // of the goroutine that panicked
}

// EventName returns "errors.panicked".
func (Panicked) EventName() string { return "errors.panicked" }

// EventLevel returns slog.LevelError.
func (Panicked) EventLevel() slog.Level { return slog.LevelError }

// LogValue returns the fields, with credentials masked.
func (e Panicked) LogValue() slog.Value {
	return slog.GroupValue(append(place(e.Method, e.Name, e.Incident),
		slog.String("value", clean(describe(e.Value), maxLogged)),
		slog.String("stack", e.Stack))...)
}

// Hidden is observed when an error was answered with "internal error" and an
// incident id because nobody vouched for its text.
type Hidden struct {
	Method   string
	Name     string
	Incident string
	Err      error // the whole chain
}

// EventName returns "errors.hidden".
func (Hidden) EventName() string { return "errors.hidden" }

// EventLevel returns slog.LevelError.
func (Hidden) EventLevel() slog.Level { return slog.LevelError }

// LogValue returns the fields, with credentials masked.
func (e Hidden) LogValue() slog.Value {
	return slog.GroupValue(append(place(e.Method, e.Name, e.Incident), private(e.Err)...)...)
}

// Failed is observed when a call was answered with a failure that the client
// may read: a [Failure], a *jsonrpc.Error, or an error whose author wrote its
// text.
type Failed struct {
	Method   string
	Name     string
	Kind     Kind   // "" if the error has none
	Incident string // "" if the client was told everything
	Err      error  // the whole chain, private causes included
}

// EventName returns "errors.failed".
func (Failed) EventName() string { return "errors.failed" }

// EventLevel returns slog.LevelWarn where the server is at fault, and
// slog.LevelInfo where its caller is or where that is not known.
func (e Failed) EventLevel() slog.Level {
	if e.Kind != "" && e.Kind.ours() && !isCanceled(e.Err) {
		return slog.LevelWarn
	}
	return slog.LevelInfo
}

// LogValue returns the fields, with credentials masked.
func (e Failed) LogValue() slog.Value {
	attrs := place(e.Method, e.Name, e.Incident)
	if e.Kind != "" {
		attrs = append(attrs, slog.String("kind", string(e.Kind)))
	}
	return slog.GroupValue(append(attrs, private(e.Err)...)...)
}

// NilResult is observed when a raw tool handler or a completion handler
// returned neither a result nor an error, and was answered with an empty
// result.
type NilResult struct {
	Method string
	Name   string
}

// EventName returns "errors.nil_result".
func (NilResult) EventName() string { return "errors.nil_result" }

// EventLevel returns slog.LevelWarn.
func (NilResult) EventLevel() slog.Level { return slog.LevelWarn }

// LogValue returns the fields.
func (e NilResult) LogValue() slog.Value { return slog.GroupValue(place(e.Method, e.Name, "")...) }

func place(method, name, incident string) []slog.Attr {
	attrs := make([]slog.Attr, 0, 5)
	for _, a := range []slog.Attr{
		slog.String("method", method), slog.String("name", name), slog.String("incident", incident),
	} {
		if a.Value.String() != "" {
			attrs = append(attrs, a)
		}
	}
	return attrs
}

// private returns the text of err, and the texts of the private causes in its
// chain, which err's own text leaves out.
func private(err error) []slog.Attr {
	if err == nil {
		return nil
	}
	attrs := []slog.Attr{slog.String("err", clean(err.Error(), maxLogged))}
	err = bounded(err)
	var f *Failure
	if stderrors.As(err, &f) && f.Unwrap() != nil {
		cause := f.Unwrap()
		text := cause.Error()
		for depth := 0; depth < 8 && stderrors.As(cause, &f) && f.Unwrap() != nil; depth++ {
			cause = f.Unwrap()
			text += ": " + cause.Error()
		}
		attrs = append(attrs, slog.String("cause", clean(text, maxLogged)))
	}
	return attrs
}
