package pagination

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestSkipValue(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]int{
		`1`: 1, `-1.5e3,`: 6, `true]`: 4, `"a"x`: 3, `"a\"b" `: 6, `"\\"`: 4, `"\\\""`: 6,
		`{}`: 2, `{"a":[1,{"b":"}"}]}, `: 19, `[]]`: 2,
		``: -1, `"a`: -1, `"a\"`: -1, `{`: -1, `[1`: -1, `["`: -1, `,`: -1, `]`: -1, `}`: -1, `:`: -1,
	} {
		require.Equal(t, want, skipValue(in, 0), in)
	}
}

func TestWalk(t *testing.T) {
	t.Parallel()
	got := func(s string) (out []string) {
		w := walk(s)
		for w.next() {
			out = append(out, w.key+w.value)
		}
		if w.failed {
			out = append(out, "failed")
		}
		return out
	}
	for in, want := range map[string][]string{
		`[]`: nil, `{}`: nil, `[ ]`: nil,
		` [1]`[1:]:                     {"1"},
		`[ 1 , "a,b" ,[2,3], {"x":1}]`: {"1", `"a,b"`, "[2,3]", `{"x":1}`},
		`{ "a" : 1 , "b\"" :[ ] }`:     {`"a"1`, `"b\""[ ]`},
		`[1 2]`:                        {"1", "failed"},
		`[1`:                           {"1", "failed"},
		`{"a"}`:                        {"failed"},
		`{1:2}`:                        {"failed"},
		`{"a":}`:                       {"failed"},
		`{"a`:                          {"failed"},
		`[,]`:                          {"failed"},
	} {
		require.Equal(t, want, got(in), in)
	}
}

func TestSameJSON(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		a, b string
		same bool
	}{
		{`{"a":1,"b":[1,2]}`, ` { "b":[1, 2], "a":1.0 }`, true},
		{`"<"`, `"\u003c"`, true},
		{`[1,2]`, `[2,1]`, false},
		{`[]`, `{}`, false},
		{`{}`, ``, false},
		{`{"a":"b"}`, `{"b":"a"}`, false},
		{`"1"`, `1`, false},
		{`null`, `0`, false},
		{`true`, `false`, false},
		{`9007199254740993`, `9007199254740992`, true}, // as documented
		{`{"a":1} x`, `{"a":1}`, false},
		{strings.Repeat("[", 100) + strings.Repeat("]", 100), strings.Repeat("[", 100) + " " + strings.Repeat("]", 100), false},
	} {
		require.Equal(t, tt.same, sameJSON(tt.a, tt.b), "%s %s", tt.a, tt.b)
	}
}

func TestHasLongInteger(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]bool{
		`{"id":9007199254740993}`:   true,
		`{"id":"9007199254740993"}`: false,
		`[123456789012345,1]`:       false,
		`{"a`:                       false,
	} {
		require.Equal(t, want, hasLongInteger(in), in)
	}
}

// jsonValue draws a JSON value, with all the characters that escape.
func jsonValue(depth int) *rapid.Generator[any] {
	text := rapid.OneOf(
		rapid.SampledFrom([]string{"", "a", "<b>&", "é", "日本語のテキスト", "😀😀", "\"quoted\"", "back\\slash", "\x00\x1f\n\r\t\b\f", "\u2028\u2029", strings.Repeat("lorem ipsum ", 40), strings.Repeat("😀é", 60)}),
		rapid.String(),
	)
	scalar := rapid.OneOf(
		rapid.Map(text, func(s string) any { return s }),
		rapid.Map(rapid.Int64(), func(n int64) any { return json.Number(fmt.Sprint(n)) }),
		rapid.Map(rapid.Float64Range(-1e9, 1e9), func(f float64) any { return f }),
		rapid.Map(rapid.Bool(), func(b bool) any { return b }),
		rapid.Just(any(nil)),
	)
	if depth == 0 {
		return scalar
	}
	inner := jsonValue(depth - 1)
	return rapid.OneOf(
		scalar,
		rapid.Map(rapid.SliceOfN(inner, 0, 12), func(s []any) any { return s }),
		rapid.Map(rapid.MapOfN(text, inner, 0, 6), func(m map[string]any) any { return m }),
	)
}

func marshal(t require.TestingT, v any) string {
	data, err := json.Marshal(v)
	require.NoError(t, err)
	return string(data)
}

func TestSameJSONProperty(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		a, b := jsonValue(3).Draw(rt, "a"), jsonValue(3).Draw(rt, "b")
		sa, sb := marshal(rt, a), marshal(rt, b)
		indented, err := json.MarshalIndent(a, " ", "\t")
		require.NoError(rt, err)
		require.True(rt, sameJSON(sa, string(indented)))
		var da, db any
		require.NoError(rt, json.Unmarshal([]byte(sa), &da))
		require.NoError(rt, json.Unmarshal([]byte(sb), &db))
		require.Equal(rt, reflect.DeepEqual(da, db), sameJSON(sa, sb))
	})
}
