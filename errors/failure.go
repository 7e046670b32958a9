package errors

import (
	stderrors "errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// A Failure is an expected failure: something that the author of a handler
// foresaw and that the model should read. Its public half says what happened,
// why, and what to do next; its private half, the cause, never leaves the
// process.
//
// Build one with [Refused], [NotFound], [Invalid] and their like, and chain
// the rest:
//
//	return nil, errors.Refused("order %s cannot be cancelled", id).
//		Because("it has already shipped").
//		Next("offer a return with start_return").
//		DoNotRetry()
//
// A Failure never changes: the chained methods return a copy. A package
// variable may therefore be shared and chained on by any number of calls, and
// [Is] finds it in whatever was derived from it.
//
// The texts are formatted as by [fmt.Errorf], so %w works and makes its
// operand a cause. An operand that is an error is shown only as far as it
// would be if a handler had returned it; its full text is kept in the cause.
// Credentials in the texts are masked, and each text is cut at 4 KiB.
type Failure struct {
	kind  Kind
	what  string
	why   string
	next  string
	retry Retry
	cause error
	root  *Failure // the Failure that this one was derived from; nil for itself
}

// Retry is a Failure's advice on repeating the call.
type Retry struct {
	// Policy is one of the Retry constants.
	Policy RetryPolicy
	// After is how long to wait first, for RetryAfter. Zero means that there
	// is no telling.
	After time.Duration
}

// RetryPolicy says whether to repeat a call.
type RetryPolicy string

// Advice on repeating a call.
const (
	RetryNever   RetryPolicy = "never"   // the same outcome is certain
	RetryAfter   RetryPolicy = "after"   // the same call may succeed later
	RetryChanged RetryPolicy = "changed" // only after changing the input
)

// maxPart bounds each text of a Failure, in bytes.
const maxPart = 4 << 10

// Fail returns a Failure of the given kind. The text says what happened, with
// the value that it happened to. The retry advice is the kind's usual one:
// after changing the input for invalid input and things not found, later for
// what is unavailable, timed out or rate limited, never for the rest.
func Fail(kind Kind, format string, args ...any) *Failure {
	if false {
		_ = fmt.Errorf(format, args...) // so that go vet checks the callers' formats
	}
	f := &Failure{kind: kind, retry: kind.usualRetry()}
	f.what = f.format(format, args)
	return f
}

// Invalid returns a Failure for input that can be corrected.
func Invalid(format string, args ...any) *Failure { return Fail(KindInvalidInput, format, args...) }

// NotFound returns a Failure for a thing that does not exist, or that the
// caller may not know to exist.
func NotFound(format string, args ...any) *Failure { return Fail(KindNotFound, format, args...) }

// Refused returns a Failure for a request that a rule forbids. Its kind is
// [KindConflict].
func Refused(format string, args ...any) *Failure { return Fail(KindConflict, format, args...) }

// Unavailable returns a Failure for a dependency that does not answer.
func Unavailable(format string, args ...any) *Failure { return Fail(KindUnavailable, format, args...) }

// Timeout returns a Failure for work that took too long.
func Timeout(format string, args ...any) *Failure { return Fail(KindTimeout, format, args...) }

// RateLimited returns a Failure for a caller that must slow down.
func RateLimited(format string, args ...any) *Failure { return Fail(KindRateLimited, format, args...) }

// Denied returns a Failure for a caller that may not do this. Its kind is
// [KindPermissionDenied].
func Denied(format string, args ...any) *Failure { return Fail(KindPermissionDenied, format, args...) }

// Because returns a copy that says why.
func (f *Failure) Because(format string, args ...any) *Failure {
	if false {
		_ = fmt.Errorf(format, args...)
	}
	c := f.derive()
	c.why = c.format(format, args)
	return c
}

// Next returns a copy that says what the model should do instead.
func (f *Failure) Next(format string, args ...any) *Failure {
	if false {
		_ = fmt.Errorf(format, args...)
	}
	c := f.derive()
	c.next = c.format(format, args)
	return c
}

// DoNotRetry returns a copy that says that the same call would fail again.
func (f *Failure) DoNotRetry() *Failure {
	c := f.derive()
	c.retry = Retry{Policy: RetryNever}
	return c
}

// RetryAfter returns a copy that says that the same call may succeed after d.
// A d of zero or less means that there is no telling how long.
func (f *Failure) RetryAfter(d time.Duration) *Failure {
	c := f.derive()
	c.retry = Retry{Policy: RetryAfter, After: max(d, 0)}
	return c
}

// Cause returns a copy with a private half: it is observed and matched by [Is]
// and [As], and never shown. A second cause joins the first.
func (f *Failure) Cause(err error) *Failure {
	c := f.derive()
	c.blame(err)
	return c
}

// Kind returns the failure's kind.
func (f *Failure) Kind() Kind { return f.orNil().kind }

// Retry returns the advice on repeating the call.
func (f *Failure) Retry() Retry { return f.orNil().retry }

// Unwrap returns the private cause, or nil.
func (f *Failure) Unwrap() error { return f.orNil().cause }

// Is reports whether target is f's [Kind], or a Failure that f was derived
// from.
func (f *Failure) Is(target error) bool {
	switch t := target.(type) {
	case Kind:
		return f.Kind() == t
	case *Failure:
		return f != nil && t != nil && f.origin() == t.origin()
	}
	return false
}

// Error returns the public half as one text: what, why, what next, and whether
// to retry. It never contains the cause.
func (f *Failure) Error() string {
	f = f.orNil()
	var b strings.Builder
	sentence(&b, f.what)
	if f.why != "" {
		sentence(&b, "Reason: "+f.why)
	}
	if f.next != "" {
		sentence(&b, "Next: "+f.next)
	}
	switch f.retry.Policy {
	case RetryNever:
		sentence(&b, "Do not retry.")
	case RetryAfter:
		if f.retry.After > 0 {
			sentence(&b, "Retry after "+f.retry.After.String()+".")
		}
	}
	return b.String()
}

// nilFailure is what a nil *Failure says for itself: a handler that returns
// one as an error has a bug, and answering must not add a second.
var nilFailure = &Failure{kind: KindInternal, what: "internal error"}

func (f *Failure) orNil() *Failure {
	if f == nil {
		return nilFailure
	}
	return f
}

func (f *Failure) derive() *Failure {
	c := *f.orNil()
	c.root = f.orNil().origin()
	return &c
}

func (f *Failure) origin() *Failure {
	if f.root != nil {
		return f.root
	}
	return f
}

func (f *Failure) blame(err error) {
	err = bounded(err)
	switch {
	case err == nil:
	case f.cause == nil:
		f.cause = err
	default:
		f.cause = stderrors.Join(f.cause, err)
	}
}

// format formats one text of f, and makes causes of the errors among args.
func (f *Failure) format(format string, args []any) string {
	var shown []any
	for i, arg := range args {
		err, ok := arg.(error)
		if !ok {
			continue
		}
		if shown == nil {
			shown = append(shown, args...)
		}
		shown[i] = operand(publicText(err))
		f.blame(err)
	}
	if shown == nil {
		shown = args
	}
	return clean(fmt.Errorf(format, shown...).Error(), maxPart)
}

// operand is an error that stands in for another among the operands of a
// format, where %w accepts nothing but errors.
type operand string

func (o operand) Error() string { return string(o) }

func sentence(b *strings.Builder, s string) {
	s = strings.TrimSpace(s)
	if s == "" {
		return
	}
	if b.Len() > 0 {
		b.WriteByte(' ')
	}
	b.WriteString(s)
	if last, _ := utf8.DecodeLastRuneInString(s); !strings.ContainsRune(".!?…。！？", last) {
		b.WriteByte('.')
	}
}
