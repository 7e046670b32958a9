package errors

// Kind classifies a [Failure] for machines: a client, a dashboard, a test.
//
// A Kind is an error so that it can be a target of [Is]. Returned by a handler
// it is a Failure of that kind with nothing else to say.
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

// Error returns the kind's name.
func (k Kind) Error() string { return string(k) }

// KindOf returns the kind of the [Failure] or Kind that err would be answered
// with, and "" if it would be with neither.
func KindOf(err error) Kind {
	switch e := explicit(err).(type) {
	case *Failure:
		return e.Kind()
	case *answer:
		return e.kind
	case Kind:
		return e
	}
	return ""
}

// usualRetry is the advice of a Failure that gives none of its own.
func (k Kind) usualRetry() Retry {
	switch k {
	case KindInvalidInput, KindNotFound:
		return Retry{Policy: RetryChanged}
	case KindUnavailable, KindRateLimited, KindTimeout:
		return Retry{Policy: RetryAfter}
	default:
		return Retry{Policy: RetryNever}
	}
}

// ours reports whether the server, and not its caller, is at fault.
func (k Kind) ours() bool {
	switch k {
	case KindInvalidInput, KindNotFound, KindConflict, KindRateLimited, KindPermissionDenied:
		return false
	default:
		return true
	}
}
