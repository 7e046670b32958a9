package errors

import (
	"context"
	stderrors "errors"
	"fmt"
	"reflect"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// Public vouches for err: its text, and that of everything it wraps, may be
// shown to clients. It returns nil if err is nil.
func Public(err error) error {
	if err == nil {
		return nil
	}
	return &public{bounded(err)}
}

type public struct{ error }

func (p *public) Unwrap() error { return p.error }

// plainTypes are the types of errors that carry nothing but the text that the
// caller of New, Join or fmt.Errorf wrote. They are unexported, so that real
// values have to stand for them. The context package's errors are there because
// their texts are known.
var plainTypes = func() map[reflect.Type]bool {
	leaf := stderrors.New("leaf")
	types := map[reflect.Type]bool{}
	for _, err := range []error{
		leaf,
		fmt.Errorf("%d", 1),
		fmt.Errorf("%w", leaf),
		fmt.Errorf("%w %w", leaf, leaf),
		stderrors.Join(leaf, leaf),
		context.Canceled,
		context.DeadlineExceeded,
	} {
		types[reflect.TypeOf(err)] = true
	}
	return types
}()

// vouched reports whether every error in err's chain is one whose text its
// author meant to be read.
func vouched(err error) bool {
	ok := true
	walk(err, func(err error) step {
		switch e := err.(type) {
		case *public, *jsonrpc.Error, Kind:
			return skip
		case *Failure:
			if e != nil {
				return skip
			}
		}
		if _, ok := err.(*interrupted); ok || plainTypes[reflect.TypeOf(err)] {
			return descend
		}
		ok = false
		return stop
	})
	return ok
}

// explicit returns the first *Failure, *jsonrpc.Error, Kind or *answer in err's
// chain, in the order of Is and As, or nil. What a Failure keeps private is
// never reached, because the Failure comes first.
func explicit(err error) error {
	var found error
	walk(err, func(err error) step {
		switch e := err.(type) {
		case *Failure:
			if e != nil {
				found = e
			}
		case *jsonrpc.Error:
			if e != nil {
				found = e
			}
		case Kind, *answer:
			found = err
		}
		if found != nil {
			return stop
		}
		return descend
	})
	return found
}

type step int

const (
	descend step = iota
	skip         // do not look at what this error wraps
	stop
)

// maxChain bounds how many errors of one chain are looked at. Unwrap methods are
// anybody's: one that returns its own error makes a chain that does not end.
const maxChain = 10_000

// walk visits err's chain depth first. A chain of more than maxChain errors
// ends the walk with a visit to an error of a type that nobody vouches for.
func walk(err error, visit func(error) step) {
	left := maxChain
	var down func(error) bool
	down = func(err error) bool {
		if err == nil {
			return true
		}
		if left--; left < 0 {
			visit(tooMany)
			return false
		}
		switch visit(err) {
		case stop:
			return false
		case skip:
			return true
		}
		switch e := err.(type) {
		case interface{ Unwrap() error }:
			return down(e.Unwrap())
		case interface{ Unwrap() []error }:
			for _, err := range e.Unwrap() {
				if !down(err) {
					return false
				}
			}
		}
		return true
	}
	down(err)
}

// bounded returns err, or what stands for it if its chain has more than
// maxChain errors. Is and As do not return from a chain that does not end, so
// every error that is not ours goes through here before it meets them, or
// Translate, or an observer.
func bounded(err error) error {
	ends := true
	walk(err, func(err error) step {
		ends = ends && err != error(tooMany)
		return descend
	})
	if ends {
		return err
	}
	return &endless{err, explicit(err)}
}

// endless is an error without its chain, of which only what is answered with
// is kept.
type endless struct {
	err      error
	explicit error // may be nil
}

// tooMany is what a walk visits in place of the errors beyond maxChain.
var tooMany = &endless{err: stderrors.New("the chain of errors does not end")}

func (e *endless) Error() string { return e.err.Error() }
func (e *endless) Unwrap() error { return e.explicit }
