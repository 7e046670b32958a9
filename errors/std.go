package errors

import stderrors "errors"

// ErrUnsupported is [errors.ErrUnsupported] of the standard library.
var ErrUnsupported = stderrors.ErrUnsupported

// New returns an error with the given text, as errors.New of the standard
// library does. Its text is shown to clients; see the package comment.
func New(text string) error { return stderrors.New(text) }

// Is reports whether any error in err's chain matches target, as errors.Is of
// the standard library does. A target may be a [Kind]:
//
//	errors.Is(err, errors.KindNotFound)
func Is(err, target error) bool { return stderrors.Is(err, target) }

// As finds the first error in err's chain that matches target, as errors.As
// of the standard library does.
func As(err error, target any) bool { return stderrors.As(err, target) }

// AsType finds the first error in err's chain that is an E, like [As] without
// a variable to point at.
func AsType[E error](err error) (E, bool) {
	var e E
	ok := stderrors.As(err, &e)
	return e, ok
}

// Join returns an error that wraps errs, as errors.Join of the standard
// library does.
func Join(errs ...error) error { return stderrors.Join(errs...) }

// Unwrap returns what err wraps, as errors.Unwrap of the standard library
// does.
func Unwrap(err error) error { return stderrors.Unwrap(err) }
