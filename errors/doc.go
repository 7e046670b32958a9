// Package errors turns expected failures into results that a model can act
// on, and keeps everything else private.
//
// A handler says what it foresaw with a [Failure]:
//
//	return nil, nil, errors.Refused("order %s cannot be cancelled", in.ID).
//		Because("it has already shipped").
//		Next("offer a return with start_return").
//		DoNotRetry()
//
// [Shape] is the middleware that makes an answer of it, and of everything
// else that can come out of a handler: other errors, panics, nil results,
// results that cannot be encoded. [Handler] and [HandlerFor] do the same for
// one handler func. The package re-exports what the standard library's
// package errors has, so that a file needs one import of that name.
//
// # What the client sees
//
// Tools answer with a result that has isError set, so that the model reads
// it. Every other method answers with a JSON-RPC error; its code is never 0.
//
//	a *Failure, wherever in the chain   its public half: what, why, what next
//	a *jsonrpc.Error, likewise          that error, code and data kept
//	a deadline or a cancellation        a timeout failure
//	only errors.New and fmt.Errorf      the text, because the author wrote it
//	anything else, and every panic      "internal error" and an incident id
//
// [Public] vouches for the text of one error, [Options].Show changes the
// fourth and fifth row, and [Options].Translate turns the errors of a driver
// into failures in one place. Credentials (userinfo and secrets in URLs,
// bearer tokens, passwords in connection strings) are masked in every text
// that is shown or logged.
//
// Two things look like the author's text and are not: a foreign error
// formatted with %v instead of %w (it leaves no type behind), and the few
// errors of other packages that are plain values (io.EOF, sql.ErrNoRows).
// [ShowMarked] hides those too.
//
// # What the operator sees
//
// Whatever is hidden from a client is observed, under the incident id that
// the client was given; see the event types [Panicked], [Hidden], [Failed]
// and [NilResult]. A nil Observer means slog.Default.
//
// # Panics
//
// A panic in a handler, or in the code that encodes its result, becomes an
// answer; its value is never shown, except that a *Failure or a
// *jsonrpc.Error that was panicked with is answered as if it had been
// returned. It is observed as a panic all the same. http.ErrAbortHandler and
// its like have no special meaning here and are reported like any other.
//
// Three things no recover can catch: a panic in a goroutine that a handler
// starts (use [Go]), runtime.Goexit, which ends the request without an answer (it is
// observed; do not call t.FailNow in a handler), and what the Go runtime
// itself declares fatal: concurrent map writes, a stack that overflows, memory
// that runs out, a signal from C.
package errors
