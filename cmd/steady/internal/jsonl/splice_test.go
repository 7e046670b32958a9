package jsonl

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSplice(t *testing.T) {
	t.Parallel()
	document := []byte(`{"a":1, "b" : {"c":"x"},"d":[]}`)
	b := Member(document, "b")
	got := Splice(document, Edit{Part: Member(document, "d"), With: []byte(`0`)}, Edit{Part: Member(document, "a"), With: nil}, Edit{Part: Member(b, "c"), With: []byte(`"longer"`)})
	require.Equal(t, `{"a":, "b" : {"c":"longer"},"d":0}`, string(got))
	require.Equal(t, `{"a":1, "b" : {"c":"x"},"d":[]}`, string(document))
	require.Equal(t, `{"e":2,"a":1, "b" : {"c":"x"},"d":[]}`, string(WithMember(document, "e", []byte("2"))))
	require.Equal(t, `{"e":2}`, string(WithMember([]byte(" { } "), "e", []byte("2"))))
	require.Equal(t, `{"b":{"c":"x"}}`, string(Without(document, "a", "d")))
	require.Equal(t, `{}`, string(Without([]byte(`[1]`), "a")))
}

// What is changed in valid JSON is valid JSON, and says what encoding/json would
// have made of it.
func FuzzEdit(f *testing.F) {
	for _, text := range []string{`{}`, ` {"a":1,"b":{"a":"\""}} `, `{"\u0061":[{}],"":null}`, `[1]`, `"{"`, `{"a":1,"a":2}`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, document []byte) {
		var want map[string]json.RawMessage
		if json.Unmarshal(document, &want) != nil || want == nil || !bytes.Equal(bytes.ToValidUTF8(document, nil), document) {
			Without(document, "a")
			return
		}
		same := func(edited []byte) {
			t.Helper()
			var got map[string]json.RawMessage
			require.NoError(t, json.Unmarshal(edited, &got), "%s", edited)
			require.Equal(t, want, got)
		}
		if a := Member(document, "a"); a != nil {
			want["a"] = json.RawMessage(`"new"`)
			var all []Edit
			Members(document, func(key, value []byte) {
				if string(key) == "a" {
					all = append(all, Edit{value, want["a"]})
				}
			})
			same(Splice(document, all...))
		}
		delete(want, "a")
		same(Without(document, "a"))
		want["a"] = json.RawMessage(`0`)
		same(WithMember(Without(document, "a"), "a", []byte("0")))
	})
}
