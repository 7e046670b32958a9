package stdioguard

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

func nested(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }

// jsonSeeds are texts on both sides of every rule of the grammar.
var jsonSeeds = []string{
	`{}`, `[]`, ` [ ] `, `""`, `0`, `-0`, `1`, `-1.5e+10`, `1E5`, `true`, `false`, `null`,
	`{"a":1,"b":[true,false,null,{"c":"d"}],"e":{}}`, "\t{\r\n\"a\" : 1 }\n",
	`"\"\\\/\b\f\n\r\t\u00e9\uD83D\uDE00\ud800"`, `"é漢😀"`, `"12345678\"12345678"`,
	`[[],{},[[{}]]]`, `{"":""}`, `[1,2,3,"four five six seven"]`,
	``, ` `, `{`, `}`, `[`, `]`, `{]`, `[}`, `[{]}`, `{"a"}`, `{"a":}`, `{"a":1,}`, `{,}`, `[1,]`, `[,1]`, `[1 2]`,
	`{"a":1 "b":2}`, `{1:2}`, `{"a" 1}`, `"`, `"\`, `"\x"`, `"\u12g4"`, `"\u123`, "\"a\nb\"", "\"\x00\"", "\"\xff\"", "\"\xed\xa0\x80\"",
	`01`, `-`, `+1`, `.5`, `1.`, `1e`, `1e+`, `0x10`, `tru`, `nulll`, `True`, `NaN`, `{}{}`, `{} x`, `1 2`, `"a" "b"`, `'a'`, `//`, "\ufeff{}",
	`{"a":1}]`, `[1]}`, "\x0b1", `{"a":[1,{"b":2}`, nested(999), nested(1000), nested(1001),
	`"` + strings.Repeat("a", 100) + "\x1f" + `"`, `"` + strings.Repeat("a", 101) + `\n"`, `"` + strings.Repeat("é", 50) + `"`,
}

// valid is what scanLine should say, in the words of the standard library.
func valid(b []byte) bool {
	return json.Valid(b) && utf8.Valid(b) && depth(b) <= maxDepth
}

// depth counts the nesting of valid JSON.
func depth(b []byte) (deepest int) {
	d, quoted, escaped := 0, false, false
	for _, c := range b {
		switch {
		case escaped:
			escaped = false
		case quoted:
			escaped, quoted = c == '\\', c != '"'
		case c == '"':
			quoted = true
		case c == '{' || c == '[':
			d++
			deepest = max(deepest, d)
		case c == '}' || c == ']':
			d--
		}
	}
	return deepest
}

func checkScan(t *testing.T, b []byte) {
	err := scanLine(b)
	require.Equal(t, valid(b), err == nil, "%q: %v", b, err)

	// The members of an object, put together again, are that object.
	var names []string
	rebuilt := []byte{'{'}
	objectErr := scanMembers(b, func(name, value []byte) {
		names = append(names, string(name))
		if len(rebuilt) > 1 {
			rebuilt = append(rebuilt, ',')
		}
		rebuilt = append(append(append(append(rebuilt, '"'), name...), '"', ':'), value...)
	})
	first := bytes.TrimLeft(b, " \t\r\n")
	isObject := err == nil && first[0] == '{'
	require.Equal(t, isObject, objectErr == nil, "%q: %v", b, objectErr)
	if isObject {
		requireSameJSON(t, b, append(rebuilt, '}'))
	}

	rebuilt = []byte{'['}
	arrayErr := scanElements(b, func(value []byte) {
		if len(rebuilt) > 1 {
			rebuilt = append(rebuilt, ',')
		}
		rebuilt = append(rebuilt, value...)
	})
	isArray := err == nil && first[0] == '['
	require.Equal(t, isArray, arrayErr == nil, "%q: %v", b, arrayErr)
	if isArray {
		requireSameJSON(t, b, append(rebuilt, ']'))
	}
}

func requireSameJSON(t *testing.T, want, got []byte) {
	t.Helper()
	var w, g bytes.Buffer
	require.NoError(t, json.Compact(&w, want))
	require.NoError(t, json.Compact(&g, got))
	require.Equal(t, w.String(), g.String())
}

func TestScanAgreesWithStandardLibrary(t *testing.T) {
	for _, s := range jsonSeeds {
		checkScan(t, []byte(s))
		// Every truncation and every single damaged byte.
		for i := 0; i < len(s) && i < 64; i++ {
			checkScan(t, []byte(s[:i]))
			checkScan(t, []byte(s[:i]+"\xff"+s[i+1:]))
			checkScan(t, []byte(s[:i]+","+s[i+1:]))
		}
	}
}

func FuzzScan(f *testing.F) {
	for _, s := range jsonSeeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) { checkScan(t, b) })
}

func TestScanSaysWhatIsWrong(t *testing.T) {
	require.ErrorIs(t, scanLine([]byte("[\"\xff\"]")), errUTF8)
	require.ErrorIs(t, scanLine([]byte(nested(1001))), errDepth)
	require.ErrorIs(t, scanLine([]byte(`{"a":}`)), errSyntax)
	err := scanMembers([]byte(`{"a":`+nested(1000)+`}`), func(_, _ []byte) {})
	require.ErrorIs(t, err, errDepth, "the object itself is a level")
	require.False(t, errors.Is(err, errSyntax))
}

// sniff feeds b in pieces of n bytes.
func sniff(b []byte, n int) *idSniffer {
	var s idSniffer
	for len(b) > 0 {
		k := min(n, len(b))
		s.feed(b[:k])
		b = b[k:]
	}
	return &s
}

func TestSniff(t *testing.T) {
	for _, tt := range []struct {
		line, id         string
		method, response bool
	}{
		{line: `{"jsonrpc":"2.0","id":7,"method":"ping","params":{"x":`, id: "7", method: true},
		{line: `{"method":"tools/call","params":{"id":3},"jsonrpc":"2.0","id":"a,b}"}`, id: `"a,b}"`, method: true},
		{line: `{ "id" : 12 , "method"`, id: "12"},
		{line: `{"id":12`, id: ""}, // it may go on
		{line: `{"id":12}`, id: "12"},
		{line: `{"id":1.5,"x":}`, id: "1.5"},
		{line: `{"id":9007199254740993,"x":}`, id: "9007199254740993"},
		{line: `{"id":null,"x":}`, id: ""},
		{line: `{"id":{"id":4},"x":}`, id: ""},
		{line: `{"id":[4],"x":}`, id: ""},
		{line: `{"id":"` + strings.Repeat("x", 5000) + `","method":""`, id: "", method: true},
		{line: `{"a":"\"id\":5","id":6}}`, id: "6"},
		{line: `{"id":5}{"id":6}`, id: "5"},
		{line: `{"result":` + nested(2000) + `,"id":8}`, id: "8", response: true},
		{line: `{"error":{"id":1},"id":9,`, id: "9", response: true},
		{line: `[{"id":1}]`, id: ""},
		{line: `garbage {"id":1}`, id: ""},
		{line: ``, id: ""},
		{line: "{\"id\":3,\"a\":\"\xff\"}", id: "3"},
		{line: `{"id":tru,"a":1}`, id: ""},
		{line: `{"id":"\ud800","a":}`, id: `"\ud800"`},
	} {
		for _, n := range []int{1, 3, 1 << 20} {
			s := sniff([]byte(tt.line), n)
			require.Equal(t, tt.id, string(s.found()), "%s in pieces of %d", tt.line, n)
			require.Equal(t, tt.method, s.method, tt.line)
			require.Equal(t, tt.response, s.response, tt.line)
			require.LessOrEqual(t, cap(s.id), 2*maxID)
		}
	}
}

// FuzzSniff checks that on a good message the sniffer finds what a decoder
// finds, that the pieces do not matter, and that it keeps little.
func FuzzSniff(f *testing.F) {
	for _, s := range append(jsonSeeds, messageSeeds...) {
		f.Add([]byte(s), 3)
	}
	f.Fuzz(func(t *testing.T, b []byte, n int) {
		whole, pieces := sniff(b, len(b)+1), sniff(b, 1+int(uint(n)%64))
		require.Equal(t, whole.found(), pieces.found())
		require.Equal(t, whole.method, pieces.method)
		require.LessOrEqual(t, len(whole.id), maxID)
		if id := whole.found(); id != nil {
			require.True(t, json.Valid(id) || !utf8.Valid(id), "%q", id)
		}
		var e envelope
		if scanMembers(b, e.member) != nil || e.repeated != "" || bytes.Contains(b, []byte(`\u00`)) {
			return // names may be written with escapes, which the sniffer does not read
		}
		require.Equal(t, e.method != nil, whole.method)
		require.Equal(t, e.result != nil || e.err != nil, whole.response)
		want := ""
		if len(e.id) <= maxID && isRawID(e.id) {
			want = string(e.id)
		}
		require.Equal(t, want, string(whole.found()))
	})
}
