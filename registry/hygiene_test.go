package registry

import (
	"bytes"
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
)

func TestClean(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name     string
		in, want string
		output   bool
		inferred bool
		changes  string // "pointer: what" of each, joined by newlines; not checked if empty
	}{
		{name: "no parameters (B146)", in: `{"type":"object"}`, want: `{"type":"object","properties":{}}`, changes: ": added the properties that clients expect"},
		{name: "output needs no properties", output: true, in: `{"type":"object"}`, want: `{"type":"object"}`},
		{name: "null properties", in: `{"type":"object","properties":null,"required":null}`, want: `{"type":"object","properties":{}}`},
		{name: "null where an object belongs",
			in:   `{"type":"object","properties":{"a":null,"b":{"type":"array","items":null}}}`,
			want: `{"type":"object","properties":{"a":{},"b":{"type":"array"}}}`},
		{name: "true where an object belongs",
			in:   `{"type":"object","properties":{"a":true,"b":{"type":"array","items":true},"c":{"type":"object","additionalProperties":false}}}`,
			want: `{"type":"object","properties":{"a":{},"b":{"type":"array","items":{}},"c":{"type":"object","additionalProperties":false}}}`},
		{name: "optional nullable (B148)",
			in:   `{"type":"object","properties":{"ids":{"type":["null","array"],"items":{"type":"string"}},"n":{"type":["integer","null"],"default":null}}}`,
			want: `{"type":"object","properties":{"ids":{"type":"array","items":{"type":"string"}},"n":{"type":"integer"}}}`},
		{name: "required and nullable stays",
			in:   `{"type":"object","properties":{"n":{"type":["integer","null"]},"ids":{"type":["null","array"]}},"required":["n","ids"]}`,
			want: `{"type":"object","properties":{"n":{"type":["integer","null"]},"ids":{"type":["null","array"]}},"required":["n","ids"]}`},
		{name: "required and nullable because Go has nil slices", inferred: true,
			in:   `{"type":"object","properties":{"n":{"type":["null","integer"]},"ids":{"type":["null","array"],"items":{"type":["null","object"]}}},"required":["n","ids"]}`,
			want: `{"type":"object","properties":{"n":{"type":["null","integer"]},"ids":{"type":"array","items":{"type":"object"}}},"required":["n","ids"]}`},
		{name: "nullable output stays", output: true, inferred: true,
			in:   `{"type":"object","properties":{"next":{"type":["null","string"]}}}`,
			want: `{"type":"object","properties":{"next":{"type":["null","string"]}}}`},
		{name: "several types and null",
			in:   `{"type":"object","properties":{"a":{"type":["string","null","integer"]}}}`,
			want: `{"type":"object","properties":{"a":{"type":["string","integer"]}}}`},
		{name: "nullable enum",
			in:   `{"type":"object","properties":{"a":{"type":["string","null"],"enum":["x",null]}}}`,
			want: `{"type":"object","properties":{"a":{"type":"string","enum":["x"]}}}`},
		{name: "null is all that is allowed",
			in:   `{"type":"object","properties":{"a":{"type":["string","null"],"enum":[null]},"b":{"type":["string","null"],"const":null},"c":{"type":["string","null"],"enum":[null,5]},"d":{"anyOf":[{"type":"string"},{"type":"null"}],"enum":[null]},"e":{"anyOf":[{"type":"string"},{"type":"null"}],"const":null},"f":{"anyOf":[{"type":"integer"},{"type":"null"}],"enum":[null,"x"]},"g":{"anyOf":[{"enum":[null]},{"type":"null"}]}}}`,
			want: `{"type":"object","properties":{"a":{"type":["string","null"],"enum":[null]},"b":{"type":["string","null"],"const":null},"c":{"type":["string","null"],"enum":[null,5]},"d":{"anyOf":[{"type":"string"},{"type":"null"}],"enum":[null]},"e":{"anyOf":[{"type":"string"},{"type":"null"}],"const":null},"f":{"anyOf":[{"type":"integer"},{"type":"null"}],"enum":[null,"x"]},"g":{"anyOf":[{"enum":[null]},{"type":"null"}]}}}`,
		},
		{name: "anyOf with null",
			in:   `{"type":"object","properties":{"a":{"anyOf":[{"type":"string","maxLength":3},{"type":"null"}],"description":"d","default":null}}}`,
			want: `{"type":"object","properties":{"a":{"description":"d","type":"string","maxLength":3}}}`},
		{name: "$defs (B150)",
			in:   `{"type":"object","properties":{"s":{"$ref":"#/$defs/Screen","description":"the one"}},"$defs":{"Screen":{"type":"object","description":"a screen","properties":{"size":{"$ref":"#/$defs/Size"}}},"Size":{"type":"integer"}}}`,
			want: `{"type":"object","properties":{"s":{"description":"the one","type":"object","properties":{"size":{"type":"integer"}}}}}`},
		{name: "ref to a sibling (B151)",
			in:   `{"type":"object","properties":{"headers":{"type":"object","properties":{"k":{"type":"string"}}},"all":{"type":"array","items":{"$ref":"#/properties/headers"}}}}`,
			want: `{"type":"object","properties":{"headers":{"type":"object","properties":{"k":{"type":"string"}}},"all":{"type":"array","items":{"type":"object","properties":{"k":{"type":"string"}}}}}}`},
		{name: "escaped pointer and anchor",
			in:   `{"type":"object","properties":{"a":{"$ref":"#/$defs/x~1y%20z"},"b":{"$ref":"#named"}},"$defs":{"x/y z":{"type":"integer"},"n":{"$anchor":"named","type":"boolean"}}}`,
			want: `{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"boolean"}},"$defs":{"x/y z":{"type":"integer"},"n":{"$anchor":"named","type":"boolean"}}}`},
		{name: "recursion (B150)",
			in:      `{"type":"object","properties":{"tree":{"$ref":"#/$defs/Node"}},"$defs":{"Node":{"type":"object","description":"a node","properties":{"kids":{"type":"array","items":{"$ref":"#/$defs/Node"}}}}}}`,
			want:    `{"type":"object","properties":{"tree":{"type":"object","description":"a node","properties":{"kids":{"type":"array","items":{"type":"object","description":"a node"}}}}}}`,
			changes: "/$defs/Node/properties/kids/items: cut the recursion of a $ref"},
		{name: "recursion to the root",
			in:   `{"type":"object","properties":{"not":{"$ref":"#"}}}`,
			want: `{"type":"object","properties":{"not":{"type":"object"}}}`},
		{name: "recursion without definitions",
			in:   `{"type":"object","properties":{"a":{"type":"object","properties":{"b":{"$ref":"#/properties/a"}}}}}`,
			want: `{"type":"object","properties":{"a":{"type":"object","properties":{"b":{"type":"object"}}}}}`},
		{name: "mutual recursion",
			in:   `{"type":"object","properties":{"a":{"$ref":"#/$defs/A"}},"$defs":{"A":{"properties":{"b":{"$ref":"#/$defs/B"}}},"B":{"properties":{"a":{"$ref":"#/$defs/A"}}}}}`,
			want: `{"type":"object","properties":{"a":{"properties":{"b":{"properties":{"a":{}}}}}}}`},
		{name: "dangling ref stays, with definitions",
			in:      `{"type":"object","properties":{"a":{"$ref":"#/$defs/Nope"}},"$defs":{"A":{"type":"string"}}}`,
			want:    `{"type":"object","properties":{"a":{"$ref":"#/$defs/Nope"}},"$defs":{"A":{"type":"string"}}}`,
			changes: "/properties/a: kept every $ref: one points at nothing"},
		{name: "all references stay, or none",
			in:   `{"type":"object","properties":{"a":{"$ref":"#/$defs/A"},"b":{"$ref":"#/$defs/Nope"}},"$defs":{"A":{"properties":{"n":{"type":["null","string"]}}},"B":null}}`,
			want: `{"type":"object","properties":{"a":{"$ref":"#/$defs/A"},"b":{"$ref":"#/$defs/Nope"}},"$defs":{"A":{"properties":{"n":{"type":"string"}}},"B":{}}}`},
		{name: "references into what loses its null",
			in:   `{"type":"object","properties":{"a":{"anyOf":[{"type":"string"},{"type":"null"}]},"b":{"type":["null","string"]},"c":{"$ref":"#/properties/a/anyOf/0"},"d":{"$ref":"#/properties/b"},"e":{"$ref":"#/$defs/Nope"}},"required":["d"]}`,
			want: `{"type":"object","properties":{"a":{"anyOf":[{"type":"string"},{"type":"null"}]},"b":{"type":["null","string"]},"c":{"$ref":"#/properties/a/anyOf/0"},"d":{"$ref":"#/properties/b"},"e":{"$ref":"#/$defs/Nope"}},"required":["d"]}`},
		{name: "references into what loses its null, inlined",
			in:   `{"type":"object","properties":{"a":{"anyOf":[{"type":"string"},{"type":"null"}]},"b":{"type":["null","string"]},"c":{"$ref":"#/properties/a/anyOf/0"},"d":{"$ref":"#/properties/b"}},"required":["d"]}`,
			want: `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"},"c":{"type":"string"},"d":{"type":["null","string"]}},"required":["d"]}`},
		{name: "optional reference to what is nullable",
			in:   `{"type":"object","properties":{"a":{"$ref":"#/$defs/A"},"b":{"anyOf":[{"$ref":"#/$defs/B"},{"type":"null"}]}},"$defs":{"A":{"type":["null","string"]},"B":{"type":"integer"}}}`,
			want: `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"integer"}}}`},
		{name: "keywords that mean more beside each other",
			in:   `{"type":"object","properties":{"a":{"if":{"type":"string"},"$ref":"#/$defs/A"}},"$defs":{"A":{"then":{"minLength":3}}}}`,
			want: `{"type":"object","properties":{"a":{"if":{"type":"string"},"allOf":[{"then":{"minLength":3}}]}}}`},
		{name: "foreign ref stays",
			in:   `{"type":"object","properties":{"a":{"$ref":"https://example.com/s.json"}}}`,
			want: `{"type":"object","properties":{"a":{"$ref":"https://example.com/s.json"}}}`},
		{name: "both constrain",
			in:   `{"type":"object","properties":{"a":{"$ref":"#/$defs/A","maximum":5}},"$defs":{"A":{"type":"integer","maximum":10}}}`,
			want: `{"type":"object","properties":{"a":{"maximum":5,"allOf":[{"type":"integer","maximum":10}]}}}`},
		{name: "ref to true and false",
			in:   `{"type":"object","properties":{"a":{"$ref":"#/$defs/T"},"b":{"$ref":"#/$defs/F"}},"$defs":{"T":true,"F":false}}`,
			want: `{"type":"object","properties":{"a":{},"b":{"not":{}}}}`},
		{name: "data is no schema",
			in:   `{"type":"object","properties":{"$ref":{"type":"string"},"a":{"const":{"$ref":"#/x","type":["null","a"]},"default":{"items":null},"examples":[null,{"properties":null}]}}}`,
			want: `{"type":"object","properties":{"$ref":{"type":"string"},"a":{"const":{"$ref":"#/x","type":["null","a"]},"default":{"items":null},"examples":[null,{"properties":null}]}}}`},
		{name: "numbers and order stay exact",
			in:   `{"type":"object","properties":{"z":{"maximum":9007199254740993,"minimum":1.0e-7,"default":1.50},"a":{"enum":[18446744073709551615]}}}`,
			want: `{"type":"object","properties":{"z":{"maximum":9007199254740993,"minimum":1.0e-7,"default":1.50},"a":{"enum":[18446744073709551615]}}}`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d, err := parseDocument([]byte(c.in))
			require.NoError(t, err)
			var notes []string
			for _, ch := range clean(d, !c.output, c.inferred) {
				notes = append(notes, ch.pointer+": "+ch.what)
			}
			require.Equal(t, c.want, string(d.bytes()))
			if c.changes != "" {
				require.Equal(t, c.changes, strings.Join(notes, "\n"))
			}
			// What is clean stays as it is.
			again := d.clone()
			for _, ch := range clean(again, !c.output, c.inferred) {
				require.True(t, ch.warn, ch.what)
			}
			require.Equal(t, string(d.bytes()), string(again.bytes()))
		})
	}
}

// doubling has n definitions that refer to the one before twice: inlined, it
// doubles n times.
func doubling(n, padding int) string {
	defs := []string{`"d0":{"type":"string","description":"` + strings.Repeat("x", padding) + `"}`}
	for i := 1; i < n; i++ {
		defs = append(defs, fmt.Sprintf(`"d%d":{"type":"object","properties":{"a":{"$ref":"#/$defs/d%d"},"b":{"$ref":"#/$defs/d%d"}}}`, i, i-1, i-1))
	}
	return fmt.Sprintf(`{"type":"object","properties":{"x":{"$ref":"#/$defs/d%d"}},"$defs":{%s}}`, n-1, strings.Join(defs, ","))
}

// Inlining must not make a small schema large. What would grow too much is
// advertised as it was written, with one event.
func TestInliningIsBounded(t *testing.T) {
	t.Parallel()
	for _, n := range []int{3, 5, 7, 9, 13, 31, 40, 1000} {
		for _, padding := range []int{0, 400, 3000} {
			written := doubling(n, padding)
			d, err := parseDocument([]byte(written))
			require.NoError(t, err)
			changes := clean(d, true, false)
			got := string(d.bytes())
			require.LessOrEqual(t, len(got), len(written)+max(len(written), 4096), "%d definitions", n)
			if d.has("$defs") {
				require.Equal(t, written, got, "as it was written")
				require.Len(t, changes, 1)
				require.True(t, changes[0].warn)
			} else {
				require.NotContains(t, got, "$ref")
			}
			require.Equal(t, n <= 5 && padding < 400 || n == 3 && padding == 400, !d.has("$defs"), "%d definitions, %d bytes inlined", n, len(got))
		}
	}
	// A definition that is used once costs nothing, however large it is.
	d, err := parseDocument([]byte(`{"type":"object","properties":{"x":{"$ref":"#/$defs/A"}},"$defs":{"A":{"type":"string","description":"` + strings.Repeat("x", 20000) + `"}}}`))
	require.NoError(t, err)
	require.Empty(t, clean(d, true, false))
	require.False(t, d.has("$defs"))
}

func TestServersAreForgotten(t *testing.T) {
	t.Parallel()
	r := New(nil, nil)
	for range 10 {
		r.Install(mcp.NewServer(&mcp.Implementation{Name: "s"}, nil))
	}
	count := func() int {
		r.mu.Lock()
		defer r.mu.Unlock()
		return len(r.servers)
	}
	for range 100 {
		if count() == 0 {
			return
		}
		runtime.GC()
		runtime.Gosched()
	}
	require.Zero(t, count())
}

// FuzzClean feeds arbitrary schemas, as those of a server that is proxied. What
// comes out is JSON, is clean already, and accepts what went in accepted.
func FuzzClean(f *testing.F) {
	for _, s := range []string{
		`{"type":"object","properties":{"a":{"$ref":"#/$defs/A"}},"$defs":{"A":{"type":["null","string"]}}}`,
		`{"type":"object","properties":{"a":{"anyOf":[{"type":"string"},{"type":"null"}]}},"required":["a"]}`,
		`{"properties":{"a":{"type":["string","null"],"enum":[null]}}}`,
		`{"properties":{"a":{"type":["string","null"],"enum":["x",null],"default":null}}}`,
		`{"properties":{"a":{"type":["string","null"],"const":null}}}`,
		`{"properties":{"a":{"type":["integer","null"],"enum":["x",null]}}}`,
		`{"properties":{"a":{"anyOf":[{"type":"string"},{"type":"null"}],"enum":[null]}}}`,
		`{"properties":{"a":{"if":{"minLength":1},"$ref":"#/$defs/A"}},"$defs":{"A":{"then":{"minLength":3}}}}`,
		`{"properties":{"a":{"contains":{},"$ref":"#/$defs/A"}},"$defs":{"A":{"minContains":3}}}`,
		`{"$ref":"#"}`, `true`, `[]`, `{"items":[null,true,{"$ref":"#/items/2"}]}`, `{"properties":{"~/":{"$ref":"#/properties/~0~1"}}}`,
	} {
		f.Add([]byte(s), []byte(`{"a":"x"}`))
	}
	f.Fuzz(func(t *testing.T, data, instance []byte) {
		d, err := parseDocument(data)
		if err != nil {
			return
		}
		impossible := hasImpossible(d)
		lost := slices.ContainsFunc(clean(d, true, false), func(c change) bool { return c.warn })
		out := d.bytes()
		require.True(t, json.Valid(out), string(out))
		again := d.clone()
		clean(again, true, false)
		require.Equal(t, string(out), string(again.bytes()))

		// What could be sent, if only null, can be sent.
		// (Merging schemas shows what was impossible before.)
		if !impossible && !bytes.Contains(data, []byte("$ref")) && !bytes.Contains(data, []byte("Of")) {
			require.False(t, hasImpossible(d), "%s\nbecame\n%s", data, out)
		}

		// A value that has no null and was accepted is accepted by what is advertised.
		// (The validator does not survive a reference that leads back to itself.)
		var value any
		if json.Unmarshal(instance, &value) != nil || strings.Contains(string(instance), "null") || lost || bytes.Contains(out, []byte("$")) {
			return
		}
		before, after := compile(data), compile(out)
		if before != nil && after != nil && before.Validate(value) == nil {
			require.NoError(t, after.Validate(value), "%s\nbecame\n%s\nfor %s", data, out, instance)
		}
	})
}

// hasImpossible reports whether an enum or a const has no value of the types
// that stand beside it.
func hasImpossible(s *document) (found bool) {
	types := s.get("type")
	allowed := func(v *document) bool {
		if types.isArray() {
			return slices.ContainsFunc(types.members, func(t *document) bool { return v.isOf(t.string()) })
		}
		return !types.isString() || v.isOf(types.string())
	}
	if e := s.get("enum"); e.isArray() && !slices.ContainsFunc(e.members, allowed) {
		return true
	}
	if v := s.get("const"); v != nil && !allowed(v) {
		return true
	}
	children(s, func(parent *document, i int, _, _ string) { found = found || hasImpossible(parent.members[i]) })
	return found
}

func compile(schema []byte) *jsonschema.Resolved {
	var s jsonschema.Schema
	if json.Unmarshal(schema, &s) != nil {
		return nil
	}
	r, err := s.Resolve(nil)
	if err != nil {
		return nil
	}
	return r
}
