package errors

import (
	"encoding/json"
	stderrors "errors"
	"reflect"
	"strings"
	"time"
	"unicode/utf8"
)

// What the SDK puts before its texts.
const (
	argumentsPrefix = `validating "arguments": `
	notAnObject     = argumentsPrefix + `unmarshaling arguments: `
	outputPrefix    = "validating tool output: "
	encodingPrefix  = "marshaling output: "
)

// argumentFailure returns what becomes of an error that the SDK made of a
// call's arguments before it reached a typed handler, and nil if err is no such
// error. The SDK's text is kept where it speaks of JSON and replaced where it
// speaks of Go.
func argumentFailure(arguments json.RawMessage, err error) *Failure {
	var mistyped *json.UnmarshalTypeError
	if stderrors.As(err, &mistyped) {
		return mistypedArgument(arguments, mistyped)
	}
	if !vouched(err) {
		return nil
	}
	// As it will be shown: taking control characters out may join the pieces of
	// a word.
	text := printable(err.Error())
	switch {
	case !strings.HasPrefix(text, argumentsPrefix):
		return nil
	case strings.Contains(text, "maximum nesting depth"):
		return Invalid("the arguments are nested too deeply")
	case strings.HasPrefix(text, notAnObject):
		return Invalid("the arguments must be one JSON object").Next("pass the tool's parameters as properties of an object")
	case namesGoType(text):
		return Invalid("the arguments do not fit the tool's input schema")
	}
	return Invalid("%s", text)
}

func namesGoType(text string) bool {
	return strings.Contains(text, "Go value") || strings.Contains(text, "Go struct") || strings.Contains(text, "interface {}")
}

// mistypedArgument returns what becomes of an error of the decoder between the
// input schema and the handler's In: a number that overflows, text that is no
// time. A handler's own decoding fails with errors of the same type, so only
// what is certain to be about the arguments is answered: the SDK's decoder
// quotes the value, the standard library's does not, and the argument must be
// there.
func mistypedArgument(arguments json.RawMessage, err *json.UnmarshalTypeError) *Failure {
	if !strings.HasPrefix(err.Value, `"`) && !strings.HasSuffix(err.Value, " overflows") {
		return nil
	}
	name, _, _ := strings.Cut(err.Field, ".")
	var object map[string]json.RawMessage
	if json.Unmarshal(arguments, &object) != nil {
		return nil
	}
	value, ok := object[name]
	if !ok {
		return nil
	}
	f := Invalid("argument %q cannot be %s", excerpt(name, 64), excerpt(string(value), 64))
	switch {
	case err.Type == reflect.TypeFor[time.Time]():
		f = f.Next("pass a time like 2026-01-31T15:04:05Z (RFC 3339)")
	case err.Type == nil:
	case err.Type.Kind() >= reflect.Int && err.Type.Kind() <= reflect.Uint64:
		f = f.Next("pass a whole number of a size that a %d-bit integer holds", err.Type.Bits())
	}
	return f
}

// excerpt cuts s to at most n bytes.
func excerpt(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}

// isOutputError reports whether the SDK made err of a typed handler's output.
// Its text speaks of the server's own data and types, and is a bug of the
// server and nothing that a caller can act on.
func isOutputError(err error) bool {
	text := err.Error()
	return strings.HasPrefix(text, outputPrefix) || strings.HasPrefix(text, encodingPrefix)
}
