package steady

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCallID(t *testing.T) {
	for body, want := range map[string]string{
		`{"jsonrpc":"2.0","id":7,"method":"ping"}`:       `7`,
		`{"method":"ping","id":"a","jsonrpc":"2.0"}`:     `"a"`,
		`{"id":7,"method":"tools/call","params":{"x":"y`: `7`,
		`{"method":"tools/call","params":{"x":"yyyyyyyy`: ``,
		`{"method":"notifications/initialized"}`:         ``,
		`{"id":7,"result":{}}`:                           ``,
		`{"error":{},"id":7}`:                            ``,
		`{"id":null,"method":"ping"}`:                    ``,
		`{"id":{"id":7},"method":"ping"}`:                ``,
		`{"id":"` + strings.Repeat("x", 1000) + `"}`:     ``,
		`[{"id":7,"method":"ping"}]`:                     ``,
		`"id"`:                                           ``,
		``:                                               ``,
		`{`:                                              ``,
	} {
		require.Equal(t, want, string(callID([]byte(body))), body)
	}
}

func TestIsCall(t *testing.T) {
	for body, want := range map[string]bool{
		`{"jsonrpc":"2.0","id":7,"method":"ping"}`:                             true,
		`{"method":"ping","id":"` + strings.Repeat("x", 1000) + `"}`:           true,
		`{"method":"notifications/initialized"}`:                               false,
		`{"id":7,"result":{}}`:                                                 false,
		`{"id":null,"method":"ping"}`:                                          false,
		` [{"id":7,"result":{}},{"method":"notifications/x"}]`:                 false,
		` [{"method":"notifications/x"},{"id":7,"method":"ping","params":{}}]`: true,
		`[{"id":7,"method":"ping"}`:                                            false, // the SDK refuses it
		`[[{"id":7,"method":"ping"}]]`:                                         false,
		`[]`:                                                                   false,
		``:                                                                     false,
	} {
		_, call := isCall([]byte(body))
		require.Equal(t, want, call, body)
	}
}

func FuzzCallID(f *testing.F) {
	f.Add([]byte(`{"jsonrpc":"2.0","id":7,"method":"ping"}`))
	f.Add([]byte(`{"id":"\ud800","method":"tools/call","params":[[[{`))
	f.Fuzz(func(t *testing.T, body []byte) {
		if id, call := isCall(body); id != nil && (!call || !json.Valid(id)) {
			t.Fatalf("%q is no id", id)
		}
	})
}
