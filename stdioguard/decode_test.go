package stdioguard

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/stretchr/testify/require"
)

var messageSeeds = []string{
	`{"jsonrpc":"2.0","id":1,"method":"ping"}`,
	`{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"x","arguments":{"id":3}}}`,
	`{"jsonrpc":"2.0","method":"notifications/initialized","params":null}`,
	`{"jsonrpc":"2.0","id":1,"result":{"a":1}}`,
	`{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"m","data":[1]}}`,
	`{"jsonrpc":"2.0","id":1,"error":"no"}`, `{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":""}}`,
	`{"jsonrpc":"2.0","\u0069d":4,"m\u0065thod":"p\u0069ng"}`,
	`{"jsonrpc":"2.0","id":1,"method":""}`, `{"jsonrpc":"2.0","id":1,"Method":"ping"}`,
	`{"jsonrpc":"1.0","id":1,"method":"a"}`, `{"id":1,"method":"a"}`, `{"jsonrpc":2.0,"id":1,"method":"a"}`,
	`{"jsonrpc":"2.0","id":1.5,"method":"a"}`, `{"jsonrpc":"2.0","id":1.0,"method":"a"}`, `{"jsonrpc":"2.0","id":1e2,"method":"a"}`,
	`{"jsonrpc":"2.0","id":9007199254740993,"method":"a"}`, `{"jsonrpc":"2.0","id":1e-999,"method":"a"}`, `{"jsonrpc":"2.0","id":0e-999,"method":"a"}`,
	`{"jsonrpc":"2.0","id":true,"method":"a"}`, `{"jsonrpc":"2.0","id":[1],"method":"a"}`, `{"jsonrpc":"2.0","id":null,"method":"a"}`,
	`{"jsonrpc":"2.0","id":1,"method":5}`, `{"jsonrpc":"2.0","id":1}`, `{}`,
	`{"jsonrpc":"2.0","id":1,"id":2,"method":"a"}`, `{"jsonrpc":"2.0","id":1,"method":"a","method":"b"}`,
}

func TestDecodeRejects(t *testing.T) {
	long := `"` + strings.Repeat("x", maxID) + `"`
	for _, tt := range []struct {
		name, line string
		code       int64
		id         string // "" for null
		response   bool
	}{
		{"garbage", `hello`, -32700, "", false},
		{"truncated", `{"jsonrpc":"2.0","id":4,"method":"ping"`, -32700, "4", false},
		{"a broken value behind the id", `{"jsonrpc":"2.0","id":4,"method":"ping","params":{]}`, -32700, "4", false},
		{"two messages on a line", `{"jsonrpc":"2.0","id":5,"method":"ping"}{"jsonrpc":"2.0","id":6,"method":"ping"}`, -32700, "5", false},
		{"not UTF-8", "{\"jsonrpc\":\"2.0\",\"id\":\"k\",\"method\":\"\xff\"}", -32700, `"k"`, false},
		{"a raw control character", "{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"a\x01\"}", -32700, "5", false},
		{"too deep, id first", `{"jsonrpc":"2.0","id":5,"method":"a","params":` + nested(200_000) + `}`, -32600, "5", false},
		{"too deep, id last", `{"method":"a","params":` + nested(1000) + `,"jsonrpc":"2.0","id":"z"}`, -32600, `"z"`, false},
		{"a number", `42`, -32600, "", false},
		{"null", `null`, -32600, "", false},
		{"a string", `"ping"`, -32600, "", false},
		{"an empty object", `{}`, -32600, "", false},
		{"no version", `{"id":3,"method":"ping"}`, -32600, "3", false},
		{"another version", `{"jsonrpc":"1.0","id":3,"method":"ping"}`, -32600, "3", false},
		{"a version that is a number", `{"jsonrpc":2.0,"id":3,"method":"ping"}`, -32600, "3", false},
		{"no method", `{"jsonrpc":"2.0","id":3}`, -32600, "3", false},
		{"method in another case", `{"jsonrpc":"2.0","id":3,"Method":"ping"}`, -32600, "3", false},
		{"method that is a number", `{"jsonrpc":"2.0","id":3,"method":5}`, -32600, "3", false},
		{"method that is null", `{"jsonrpc":"2.0","id":3,"method":null}`, -32600, "3", false},
		{"id null", `{"jsonrpc":"2.0","id":null,"method":"ping"}`, -32600, "", false},
		{"id array", `{"jsonrpc":"2.0","id":[1],"method":"ping"}`, -32600, "", false},
		{"id true", `{"jsonrpc":"2.0","id":true,"method":"ping"}`, -32600, "", false},
		{"id fraction", `{"jsonrpc":"2.0","id":1.5,"method":"ping"}`, -32600, "1.5", false},
		{"id fraction that rounds to zero", `{"jsonrpc":"2.0","id":1e-999,"method":"ping"}`, -32600, "1e-999", false},
		{"id beyond 2^53", `{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}`, -32600, "9007199254740993", false},
		{"id beyond float64", `{"jsonrpc":"2.0","id":1e999,"method":"ping"}`, -32600, "1e999", false},
		{"id that is too long", `{"jsonrpc":"2.0","id":` + long + `,"method":"ping"}`, -32600, "", false},
		{"id twice", `{"jsonrpc":"2.0","id":1,"method":"ping","id":2}`, -32600, "", false},
		{"method twice", `{"jsonrpc":"2.0","id":1,"method":"ping","method":"ping"}`, -32600, "1", false},
		{"a response with a null id", `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"x"}}`, -32600, "", true},
		{"a broken response", `{"jsonrpc":"2.0","id":3,"result":{]}`, -32700, "3", true},
		{"a response of another version", `{"id":3,"result":{}}`, -32600, "3", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m, r := decodeMessage([]byte(tt.line))
			require.Nil(t, m)
			require.NotNil(t, r)
			require.Equal(t, tt.code, r.code, r.reason)
			require.Equal(t, tt.id, string(r.id), r.reason)
			require.Equal(t, tt.response, r.response)
			if !r.response {
				reply := appendRejection(nil, r.id, r.code, r.reason)
				require.NoError(t, scanLine(reply), "%s", reply)
			}
		})
	}
}

func TestDecodeAccepts(t *testing.T) {
	for _, tt := range []struct {
		line, method string
		id           any
		params       string
	}{
		{`{"jsonrpc":"2.0","id":1,"method":"ping"}`, "ping", int64(1), ""},
		{" {\"jsonrpc\":\"2.0\",\"id\":-3,\"method\":\"ping\"}\t\r", "ping", int64(-3), ""}, // B106: CRLF
		{`{"jsonrpc":"2.0","id":"","method":"ping"}`, "ping", "", ""},
		{`{"jsonrpc":"2.0","id":9007199254740991,"method":"ping"}`, "ping", int64(9007199254740991), ""},
		{`{"jsonrpc":"2.0","id":1.0,"method":"ping"}`, "ping", int64(1), ""},
		{`{"jsonrpc":"2.0","id":1e2,"method":"ping"}`, "ping", int64(100), ""},
		{`{"jsonrpc":"2.0","id":"9007199254740993","method":"ping"}`, "ping", "9007199254740993", ""},
		{`{"jsonrpc":"2.0","id":"\u00e9\ud83d","method":"a"}`, "a", "é\ufffd", ""},
		{`{"jsonrpc":"2.0","method":"notifications/x","params":null}`, "notifications/x", nil, "null"},
		{`{"jsonrpc":"2.0","method":"m","params":{"a":12345678901234567890}}`, "m", nil, `{"a":12345678901234567890}`},
		{`{"jsonrpc":"2\u002e0","\u0069d":4,"m\u0065thod":"p\u0069ng","extra":[{}]}`, "ping", int64(4), ""},
		{`{"jsonrpc":"2.0","id":7,"method":""}`, "", int64(7), ""},
	} {
		m, r := decodeMessage([]byte(tt.line))
		require.Nil(t, r, tt.line)
		request := m.(*jsonrpc.Request)
		require.Equal(t, tt.method, request.Method)
		require.Equal(t, tt.id, request.ID.Raw())
		require.Equal(t, tt.params, string(request.Params))
	}

	m, r := decodeMessage([]byte(`{"jsonrpc":"2.0","id":1,"error":"boom"}`))
	require.Nil(t, r)
	require.Error(t, m.(*jsonrpc.Response).Error, "somebody waits for it")
}

func TestDecodeKeepsNothing(t *testing.T) {
	b := []byte(`{"jsonrpc":"2.0","id":1,"method":"m","params":[1]}`)
	m, _ := decodeMessage(b)
	for i := range b {
		b[i] = 'x'
	}
	require.Equal(t, `[1]`, string(m.(*jsonrpc.Request).Params))
	require.Equal(t, "m", m.(*jsonrpc.Request).Method)
}

// FuzzDecode checks that what is accepted is what the SDK decodes, and comes
// back from the encoder as it was.
func FuzzDecode(f *testing.F) {
	for _, s := range append(messageSeeds, jsonSeeds...) {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		m, r := decodeMessage(b)
		require.NotEqual(t, m == nil, r == nil)
		if r != nil {
			require.NoError(t, scanLine(appendRejection(nil, r.id, r.code, r.reason)))
			return
		}
		theirs, err := jsonrpc.DecodeMessage(b)
		var ours []byte
		switch m := m.(type) {
		case *jsonrpc.Request:
			require.NoError(t, err)
			require.Equal(t, theirs, m)
			ours = appendRequest(nil, m)
		case *jsonrpc.Response:
			// We are more lenient with error objects of the wrong shape.
			if err != nil {
				require.Error(t, m.Error)
				return
			}
			require.Equal(t, theirs.(*jsonrpc.Response).ID, m.ID)
			ours = appendResponse(nil, m)
		}
		require.NoError(t, scanLine(ours), "%s", ours)
		again, r := decodeMessage(ours)
		require.Nil(t, r, "%s", ours)
		if request, ok := m.(*jsonrpc.Request); ok {
			require.Equal(t, request.ID, again.(*jsonrpc.Request).ID)
			require.Equal(t, request.Method, again.(*jsonrpc.Request).Method)
		}
	})
}

func TestEncodeAgreesWithSDK(t *testing.T) {
	id := func(v any) jsonrpc.ID {
		id, err := jsonrpc.MakeID(v)
		require.NoError(t, err)
		return id
	}
	for _, m := range []jsonrpc.Message{
		&jsonrpc.Request{ID: id(1.0), Method: "a", Params: json.RawMessage(`{"x":[1,"é"]}`)},
		&jsonrpc.Request{Method: "notifications/\"quoted\"\n"},
		&jsonrpc.Response{ID: id("k\u2028\x01"), Result: json.RawMessage(`{"a":"<&>"}`)},
		&jsonrpc.Response{ID: id(-5.0), Error: &jsonrpc.Error{Code: -32602, Message: "no\tgood", Data: json.RawMessage(`[1]`)}},
		&jsonrpc.Response{ID: id(2.0), Error: fmt.Errorf("outer: %w", &jsonrpc.Error{Code: 7, Message: "inner"})},
	} {
		var ours []byte
		switch m := m.(type) {
		case *jsonrpc.Request:
			ours = appendRequest(nil, m)
		case *jsonrpc.Response:
			ours = appendResponse(nil, m)
		}
		theirs, err := jsonrpc.EncodeMessage(m)
		require.NoError(t, err)
		require.JSONEq(t, string(theirs), string(ours))
		require.NoError(t, scanLine(ours))
	}
}

func TestEncodeMakesGoodWhatTheSDKLeavesBad(t *testing.T) {
	for _, tt := range []struct {
		name string
		r    *jsonrpc.Response
		want string
	}{
		{"no id", &jsonrpc.Response{Error: &jsonrpc.Error{Code: -32600, Message: "in use"}},
			`{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"in use"}}`},
		{"code 0", &jsonrpc.Response{Error: fmt.Errorf("plain")},
			`{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"plain"}}`},
		{"null result", &jsonrpc.Response{Result: json.RawMessage("null")},
			`{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"the handler returned no result"}}`},
		{"bad data", &jsonrpc.Response{Error: &jsonrpc.Error{Code: 1, Data: json.RawMessage("{")}},
			`{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":""}}`},
		{"bad text", &jsonrpc.Response{Error: &jsonrpc.Error{Code: 1, Message: "a\xffb"}},
			`{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"a` + "\ufffd" + `b"}}`},
	} {
		require.Equal(t, tt.want, string(appendResponse(nil, tt.r)), tt.name)
	}
}

// B113: bytes that are not UTF-8 and lone surrogates, in text and elsewhere.
func TestClean(t *testing.T) {
	for in, want := range map[string]string{
		`{"a":1}`:                    `{"a":1}`,
		`{"a":"\ud83d\ude00"}`:       `{"a":"\ud83d\ude00"}`,
		`{"a":"\uD83D\uDE00"}`:       `{"a":"\uD83D\uDE00"}`,
		`{"a":"\ud83d"}`:             `{"a":"\ufffd"}`,
		`{"a":"\ude00\ud83d"}`:       `{"a":"\ufffd\ufffd"}`,
		`{"a":"\ud83dx\ude00"}`:      `{"a":"\ufffdx\ufffd"}`,
		`{"a":"\ud83d\ud83d\ude00"}`: `{"a":"\ufffd\ud83d\ude00"}`,
		`{"a":"\\ud83d"}`:            `{"a":"\\ud83d"}`,
		`{"a":"\\\ud83d"}`:           `{"a":"\\\ufffd"}`,
		`{"\udbff":"\uDFFF\ud7ff"}`:  `{"\ufffd":"\ufffd\ud7ff"}`,
		"{\"a\":\n 1,\r\n\"b\":2}":   `{"a":  1,  "b":2}`,
		"{\"a\":\"\x92\"}":           "{\"a\":\"\ufffd\"}",
		"{\"a\":\"\xed\xa0\x80\"}":   "{\"a\":\"\ufffd\"}",
		"{\"a\":\"\xc7\xd1\xb1\"}":   "{\"a\":\"\ufffd\"}", // CP949: U+D1B1 is a letter, the rest is not
	} {
		source := []byte(in)
		got := string(appendClean([]byte("prefix "), source))
		if strings.Contains(in, "\xc7") {
			require.NoError(t, scanLine([]byte(strings.TrimPrefix(got, "prefix "))))
			continue
		}
		require.Equal(t, "prefix "+want, got, in)
		require.Equal(t, in, string(source), "the source is somebody else's")
	}
}

func FuzzClean(f *testing.F) {
	for _, s := range append(jsonSeeds, `"\ud83d\ude00 \ud83d \ude00"`, "\"\x92\"", "[1,\n2]") {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		got := appendClean(nil, b)
		require.NotContains(t, string(got), "\n")
		require.Equal(t, got, appendClean(nil, got), "twice is once")
		if !json.Valid(b) {
			return
		}
		if depth(b) <= maxDepth {
			require.NoError(t, scanLine(got))
		}
		var want, have any
		require.NoError(t, json.Unmarshal(b, &want))
		require.NoError(t, json.Unmarshal(got, &have))
		if !strings.Contains(string(got), "\ufffd") {
			require.Equal(t, want, have) // encoding/json replaces half pairs as well
		}
	})
}
