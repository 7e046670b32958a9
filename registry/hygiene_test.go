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
			changes: "/$defs/Node/properties/kids/items: cut the recursion of $ref #/$defs/Node"},
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
			changes: "/properties/a: kept $ref #/$defs/Nope, which points at nothing"},
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

// References that double at every step must not fill the memory.
func TestInliningIsBounded(t *testing.T) {
	t.Parallel()
	defs := []string{`"d0":{"type":"string"}`}
	for i := 1; i < 40; i++ {
		defs = append(defs, fmt.Sprintf(`"d%d":{"properties":{"a":{"$ref":"#/$defs/d%d"},"b":{"$ref":"#/$defs/d%d"}}}`, i, i-1, i-1))
	}
	d, err := parseDocument([]byte(`{"type":"object","properties":{"x":{"$ref":"#/$defs/d39"}},"$defs":{` + strings.Join(defs, ",") + `}}`))
	require.NoError(t, err)
	lost := 0
	for _, ch := range clean(d, true, false) {
		if ch.warn {
			lost++
		}
	}
	require.NotZero(t, lost)
	require.True(t, d.has("$defs"), "references were kept, so what they point at must be")
	require.Less(t, len(d.bytes()), 1<<20)
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
		`{"$ref":"#"}`, `true`, `[]`, `{"items":[null,true,{"$ref":"#/items/2"}]}`, `{"properties":{"~/":{"$ref":"#/properties/~0~1"}}}`,
	} {
		f.Add([]byte(s), []byte(`{"a":"x"}`))
	}
	f.Fuzz(func(t *testing.T, data, instance []byte) {
		d, err := parseDocument(data)
		if err != nil {
			return
		}
		lost := slices.ContainsFunc(clean(d, true, false), func(c change) bool { return c.warn })
		out := d.bytes()
		require.True(t, json.Valid(out), string(out))
		again := d.clone()
		clean(again, true, false)
		require.Equal(t, string(out), string(again.bytes()))

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
