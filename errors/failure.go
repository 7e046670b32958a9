package errors

import (
	"fmt"
	"strings"
	"time"
)

// Kind classifies a [Failure] for machines: a client, a dashboard, a test.
type Kind string

// The kinds of failure.
const (
	KindInvalidInput     Kind = "invalid_input"
	KindNotFound         Kind = "not_found"
	KindConflict         Kind = "conflict" // refused by a rule of the business
	KindUnavailable      Kind = "unavailable"
	KindTimeout          Kind = "timeout"
	KindRateLimited      Kind = "rate_limited"
	KindPermissionDenied Kind = "permission_denied"
	KindInternal         Kind = "internal"
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
// The chained methods change the Failure and return it; a Failure that is
// shared, a package variable for example, must not be chained on.
type Failure struct {
	kind  Kind
	what  string
	why   string
	next  string
	retry Retry
	cause error
}

// Retry is a Failure's advice on repeating the call.
type Retry struct {
	// Policy is one of the Retry constants.
	Policy RetryPolicy
	// After is how long to wait first, for RetryAfter. Zero otherwise.
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

// Fail returns a Failure of the given kind. What happened, with the value
// that it happened to, is formatted as by [fmt.Sprintf]. The retry advice is
// the kind's usual one.
func Fail(kind Kind, format string, args ...any) *Failure {
	return &Failure{kind: kind, what: sprintf(format, args), retry: usualRetry(kind)}
}

func usualRetry(kind Kind) Retry {
	switch kind {
	case KindInvalidInput, KindNotFound:
		return Retry{Policy: RetryChanged}
	case KindUnavailable, KindRateLimited, KindTimeout:
		return Retry{Policy: RetryAfter}
	default:
		return Retry{Policy: RetryNever}
	}
}

// Invalid returns a Failure for input that can be corrected.
func Invalid(format string, args ...any) *Failure { return Fail(KindInvalidInput, format, args...) }

// NotFound returns a Failure for a thing that does not exist, or that the
// caller may not know to exist.
func NotFound(format string, args ...any) *Failure { return Fail(KindNotFound, format, args...) }

// Refused returns a Failure for a request that a rule forbids.
func Refused(format string, args ...any) *Failure { return Fail(KindConflict, format, args...) }

// Unavailable returns a Failure for a dependency that does not answer.
func Unavailable(format string, args ...any) *Failure { return Fail(KindUnavailable, format, args...) }

// Timeout returns a Failure for work that took too long.
func Timeout(format string, args ...any) *Failure { return Fail(KindTimeout, format, args...) }

// RateLimited returns a Failure for a caller that must slow down.
func RateLimited(format string, args ...any) *Failure { return Fail(KindRateLimited, format, args...) }

// Denied returns a Failure for a caller that may not do this.
func Denied(format string, args ...any) *Failure { return Fail(KindPermissionDenied, format, args...) }

// Because says why.
func (f *Failure) Because(format string, args ...any) *Failure {
	f.why = sprintf(format, args)
	return f
}

// Next says what the model should do instead.
func (f *Failure) Next(format string, args ...any) *Failure {
	f.next = sprintf(format, args)
	return f
}

// DoNotRetry says that the same call would fail again.
func (f *Failure) DoNotRetry() *Failure {
	f.retry = Retry{Policy: RetryNever}
	return f
}

// RetryAfter says that the same call may succeed after d. A d of zero or less
// means that there is no telling how long.
func (f *Failure) RetryAfter(d time.Duration) *Failure {
	f.retry = Retry{Policy: RetryAfter, After: max(d, 0)}
	return f
}

// Cause attaches the private half: it is observed and matched by [Is] and
// [As], and never shown.
func (f *Failure) Cause(err error) *Failure {
	f.cause = err
	return f
}

// Kind returns the failure's kind.
func (f *Failure) Kind() Kind { return f.kind }

// Retry returns the advice on repeating the call.
func (f *Failure) Retry() Retry { return f.retry }

// Unwrap returns the private cause.
func (f *Failure) Unwrap() error { return f.cause }

// Error returns the public half as one text: what, why, what next, and whether
// to retry. It never contains the cause.
func (f *Failure) Error() string {
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

func sentence(b *strings.Builder, s string) {
	s = strings.TrimSpace(s)
	if s == "" {
		return
	}
	if b.Len() > 0 {
		b.WriteByte(' ')
	}
	b.WriteString(s)
	if !strings.ContainsAny(s[len(s)-1:], ".!?") {
		b.WriteByte('.')
	}
}

func sprintf(format string, args []any) string {
	if len(args) == 0 {
		return format
	}
	return fmt.Sprintf(format, args...)
}
