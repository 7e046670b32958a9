package errors

import (
	"encoding/json"
	stderrors "errors"
	"reflect"
	"strings"
	"testing"
)

// FuzzArguments takes the arguments of a call that a typed tool refused, and
// what the SDK said about them. Both hold what a peer sent.
func FuzzArguments(f *testing.F) {
	f.Add([]byte(`{"n":1e30}`), "n", `"1e30"`)
	f.Add([]byte(`{"n":{"m":[1]}}`), "n.m", `"[1]"`)
	f.Add([]byte(`[1]`), "", "number 1 overflows")
	f.Add([]byte(`{"n":"\ud800"}`), "n", `"x"`)
	f.Add([]byte(``), "validating", `map[string]interface {}`)
	f.Add([]byte(``), "", "map[string]in\x05\x05terface {}")
	f.Fuzz(func(t *testing.T, arguments []byte, field, text string) {
		for _, err := range []error{
			&json.UnmarshalTypeError{Value: text, Field: field, Type: reflect.TypeFor[int8]()},
			stderrors.New(argumentsPrefix + text),
			stderrors.New(notAnObject + text),
		} {
			got := argumentFailure(arguments, err)
			if got == nil {
				continue
			}
			if s := got.Error(); len(s) > maxPart+1000 || strings.Contains(s, "interface {}") && !strings.Contains(string(arguments)+field, "interface {}") {
				t.Errorf("%q became %q", text, s)
			}
		}
	})
}
