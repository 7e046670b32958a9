package registry_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/steadymcp/steady/registry"
)

func listingOf(tools ...string) *registry.Listing {
	l := &registry.Listing{}
	for _, t := range tools {
		l.Tools = append(l.Tools, json.RawMessage(t))
	}
	return l
}

func TestDiff(t *testing.T) {
	t.Parallel()
	tool := func(members string) *registry.Listing { return listingOf(`{"name":"f",` + members + `}`) }
	in := func(properties, rest string) *registry.Listing {
		return tool(`"inputSchema":{"type":"object","properties":{` + properties + `}` + rest + `}`)
	}
	out := func(properties, rest string) *registry.Listing {
		return tool(`"inputSchema":{"type":"object"},"outputSchema":{"type":"object","properties":{` + properties + `}` + rest + `}`)
	}
	named := func(names ...string) *registry.Listing {
		var tools []string
		for _, n := range names {
			tools = append(tools, `{"name":"`+n+`","inputSchema":{"type":"object"}}`)
		}
		return listingOf(tools...)
	}
	cases := []struct {
		what     string
		old, now *registry.Listing
		want     []string
	}{
		{"nothing", in(`"a":{"type":"string"}`, ``), in(`"a":{"type":"string"}`, ``), nil},
		{"order of members means nothing", tool(`"inputSchema":{"type":"object","x":1}`), tool(`"inputSchema":{"x":1,"type":"object"}`), nil},
		{"a definition that is not inlined", in(`"a":{"$ref":"#/$defs/A"},"z":{"$ref":"#/$defs/Gone"}`, `,"$defs":{"A":{"type":"string"}}`),
			in(`"a":{"$ref":"#/$defs/A"},"z":{"$ref":"#/$defs/Gone"}`, `,"$defs":{"A":{"type":"integer"}}`), []string{"breaking: f /inputSchema/$defs/A/type: the type was string and is integer"}},
		{"removed", named("a", "b"), named("b"), []string{"breaking: a: the tool was removed"}},
		{"added at the end", named("a", "b"), named("a", "b", "c"), []string{"additive: c: the tool was added"}},
		{"added in between", named("a", "b"), named("a", "c", "b"), []string{`breaking: the order changed: tool 2 is now "c", which was "b"`, "additive: c: the tool was added"}},
		{"swapped", named("a", "b"), named("b", "a"), []string{`breaking: the order changed: tool 1 is now "b", which was "a"`}},
		{"description", tool(`"description":"x"`), tool(`"description":"y"`), []string{"cosmetic: f /description: the description changed"}},
		{"read-only", tool(`"annotations":{"readOnlyHint":true}`), tool(`"annotations":{"destructiveHint":false}`), []string{"breaking: f /annotations: the tool is not read-only any more: clients that let it run will ask"}},
		{"destructive", tool(`"annotations":{"destructiveHint":false}`), tool(`"annotations":{}`), []string{"breaking: f /annotations: the tool counts as destructive now: clients that let it run will ask"}},
		{"safer", tool(`"annotations":{"destructiveHint":true}`), tool(`"annotations":{"readOnlyHint":true}`), []string{"cosmetic: f /annotations: the hints changed"}},

		{"property removed", in(`"a":{"type":"string"}`, ``), in(``, ``), []string{"breaking: f /inputSchema/properties/a: the property was removed"}},
		{"property added", in(``, ``), in(`"a":{"type":"string"}`, ``), []string{"additive: f /inputSchema/properties/a: a property was added"}},
		{"required property added", in(``, ``), in(`"a":{"type":"string"}`, `,"required":["a"]`), []string{"breaking: f /inputSchema/properties/a: a required property was added"}},
		{"required now", in(`"a":{"type":"string"}`, ``), in(`"a":{"type":"string"}`, `,"required":["a"]`), []string{"breaking: f /inputSchema/properties/a: the property is required now"}},
		{"optional now", in(`"a":{"type":"string"}`, `,"required":["a"]`), in(`"a":{"type":"string"}`, ``), []string{"additive: f /inputSchema/properties/a: the property is optional now"}},
		{"required, undeclared", in(``, ``), in(``, `,"required":["a"]`), []string{"breaking: f /inputSchema/required: a is required now"}},
		{"type narrowed", in(`"a":{"type":["string","null"]}`, ``), in(`"a":{"type":"string"}`, ``), []string{"breaking: f /inputSchema/properties/a/type: the type was null or string and is only string"}},
		{"type widened", in(`"a":{"type":"integer"}`, ``), in(`"a":{"type":"number"}`, ``), []string{"additive: f /inputSchema/properties/a/type: the type was only integer and is number"}},
		{"type changed", in(`"a":{"type":"integer"}`, ``), in(`"a":{"type":"string"}`, ``), []string{"breaking: f /inputSchema/properties/a/type: the type was integer and is string"}},
		{"type introduced", in(`"a":{}`, ``), in(`"a":{"type":"string"}`, ``), []string{"breaking: f /inputSchema/properties/a/type: the type was any and is only string"}},
		{"enum", in(`"a":{"enum":["x","y"]}`, ``), in(`"a":{"enum":["y","z"]}`, ``), []string{
			`breaking: f /inputSchema/properties/a/enum: the values "x" are gone`, `additive: f /inputSchema/properties/a/enum: the values "z" are new`}},
		{"enum introduced", in(`"a":{"type":"string"}`, ``), in(`"a":{"type":"string","enum":["x"]}`, ``), []string{"breaking: f /inputSchema/properties/a/enum: the values are restricted now"}},
		{"lower maximum", in(`"a":{"maximum":100}`, ``), in(`"a":{"maximum":50}`, ``), []string{"breaking: f /inputSchema/properties/a/maximum: maximum was 100 and is 50"}},
		{"higher maximum, beyond 2^53", in(`"a":{"maximum":9007199254740992}`, ``), in(`"a":{"maximum":9007199254740993}`, ``), []string{"additive: f /inputSchema/properties/a/maximum: maximum was 9007199254740992 and is 9007199254740993"}},
		{"another spelling of a number", in(`"a":{"maximum":100}`, ``), in(`"a":{"maximum":1e2}`, ``), nil},
		{"minimum introduced", in(`"a":{}`, ``), in(`"a":{"minimum":1}`, ``), []string{"breaking: f /inputSchema/properties/a/minimum: minimum was missing and is 1"}},
		{"strict now", in(``, ``), in(``, `,"additionalProperties":false`), []string{"breaking: f /inputSchema/additionalProperties: additionalProperties is restricted now"}},
		{"items", in(`"a":{"type":"array","items":{"type":"string"}}`, ``), in(`"a":{"type":"array","items":{"type":"integer"}}`, ``), []string{"breaking: f /inputSchema/properties/a/items/type: the type was string and is integer"}},
		{"pattern", in(`"a":{"pattern":"x"}`, ``), in(`"a":{"pattern":"y"}`, ``), []string{"breaking: f /inputSchema/properties/a/pattern: pattern changed"}},
		{"default", in(`"a":{"default":1}`, ``), in(`"a":{"default":2}`, ``), []string{"breaking: f /inputSchema/properties/a/default: the default was 1 and is 2"}},
		{"parameter's description", in(`"a":{"description":"x"}`, ``), in(`"a":{"description":"y"}`, ``), []string{"cosmetic: f /inputSchema/properties/a/description: the description changed"}},
		{"a reference is what it leads to", in(`"a":{"$ref":"#/$defs/A"}`, `,"$defs":{"A":{"type":"string"}}`), in(`"a":{"type":"string"}`, ``), nil},

		{"output gone", out(``, ``), tool(`"inputSchema":{"type":"object"}`), []string{"breaking: f /outputSchema: there is no output schema any more"}},
		{"output new", tool(`"inputSchema":{"type":"object"}`), out(``, ``), []string{"additive: f /outputSchema: there is an output schema now"}},
		{"output property removed", out(`"a":{}`, ``), out(``, ``), []string{"breaking: f /outputSchema/properties/a: the property was removed"}},
		{"output may be missing now", out(`"a":{}`, `,"required":["a"]`), out(`"a":{}`, ``), []string{"breaking: f /outputSchema/properties/a: the property is optional now"}},
		{"output may be null now", out(`"a":{"type":"string"}`, ``), out(`"a":{"type":["string","null"]}`, ``), []string{"breaking: f /outputSchema/properties/a/type: the type was only string and is null or string"}},
		{"output is never null now", out(`"a":{"type":["string","null"]}`, ``), out(`"a":{"type":"string"}`, ``), []string{"additive: f /outputSchema/properties/a/type: the type was null or string and is only string"}},
	}
	for _, c := range cases {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			changes, err := registry.Diff(c.old, c.now)
			require.NoError(t, err)
			var got []string
			for _, ch := range changes {
				got = append(got, fmt.Sprint(ch))
			}
			require.Equal(t, c.want, got)
		})
	}
	_, err := registry.Diff(nil, named())
	require.Error(t, err)
	_, err = registry.Diff(listingOf(`{`), named())
	require.Error(t, err)
	a, b := named("a"), named("a")
	b.Instructions = "x"
	changes, err := registry.Diff(a, b)
	require.NoError(t, err)
	require.Equal(t, registry.Cosmetic, changes[0].Kind)
}

// What changes a meaning is told from what is written otherwise.
func TestDiffMeaning(t *testing.T) {
	t.Parallel()
	tool := func(m string) *registry.Listing { return listingOf(`{"name":"f",` + m + `}`) }
	in := func(p, rest string) *registry.Listing {
		return tool(`"inputSchema":{"type":"object","properties":{` + p + `}` + rest + `}`)
	}
	out := func(s string) *registry.Listing { return tool(`"inputSchema":{"type":"object"},"outputSchema":` + s) }
	for _, c := range []struct {
		what     string
		old, now *registry.Listing
		want     string // the kinds of the changes
	}{
		{"nested property removed", in(`"a":{"type":"object","properties":{"x":{"type":"string"}}}`, ``), in(`"a":{"type":"object","properties":{}}`, ``), "breaking"},
		{"nested required", in(`"a":{"type":"object","properties":{"x":{"type":"string"}}}`, ``), in(`"a":{"type":"object","properties":{"x":{"type":"string"}},"required":["x"]}`, ``), "breaking"},
		{"items object property added", in(`"a":{"type":"array","items":{"type":"object","properties":{}}}`, ``), in(`"a":{"type":"array","items":{"type":"object","properties":{"y":{"type":"string"}}}}`, ``), "additive"},
		{"$ref def enum narrowed", in(`"a":{"$ref":"#/$defs/A"}`, `,"$defs":{"A":{"enum":["x","y"]}}`), in(`"a":{"$ref":"#/$defs/A"}`, `,"$defs":{"A":{"enum":["x"]}}`), "breaking"},
		{"unused def changed", in(`"a":{"type":"string"}`, `,"$defs":{"A":{"type":"string"}}`), in(`"a":{"type":"string"}`, `,"$defs":{"A":{"type":"integer"}}`), ""},
		{"recursive def changed", in(`"a":{"$ref":"#/$defs/A"}`, `,"$defs":{"A":{"type":"object","properties":{"k":{"$ref":"#/$defs/A"},"v":{"type":"string"}}}}`), in(`"a":{"$ref":"#/$defs/A"}`, `,"$defs":{"A":{"type":"object","properties":{"k":{"$ref":"#/$defs/A"},"v":{"type":"integer"}}}}`), "breaking"},
		{"type list order", in(`"a":{"type":["string","null"]}`, ``), in(`"a":{"type":["null","string"]}`, ``), ""},
		{"type list of one", in(`"a":{"type":["string"]}`, ``), in(`"a":{"type":"string"}`, ``), ""},
		{"anyOf null vs type list", in(`"a":{"anyOf":[{"type":"string"},{"type":"null"}]}`, ``), in(`"a":{"type":["string","null"]}`, ``), ""},
		{"anyOf branch added", in(`"a":{"anyOf":[{"type":"string"},{"type":"integer"}]}`, ``), in(`"a":{"anyOf":[{"type":"string"},{"type":"integer"},{"type":"boolean"}]}`, ``), "additive"},
		{"anyOf branch removed", in(`"a":{"anyOf":[{"type":"string"},{"type":"integer"}]}`, ``), in(`"a":{"anyOf":[{"type":"string"}]}`, ``), "breaking"},
		{"anyOf order", in(`"a":{"anyOf":[{"type":"string"},{"type":"integer"}]}`, ``), in(`"a":{"anyOf":[{"type":"integer"},{"type":"string"}]}`, ``), ""},
		{"anyOf branch description", in(`"a":{"anyOf":[{"type":"string","description":"x"},{"type":"integer"}]}`, ``), in(`"a":{"anyOf":[{"type":"string","description":"y"},{"type":"integer"}]}`, ``), "cosmetic"},
		{"additionalProperties false->absent", in(``, `,"additionalProperties":false`), in(``, ``), "additive"},
		{"additionalProperties true->absent", in(``, `,"additionalProperties":true`), in(``, ``), ""},
		{"additionalProperties false->schema", in(``, `,"additionalProperties":false`), in(``, `,"additionalProperties":{"type":"string"}`), "additive"},
		{"additionalProperties schema->false", in(``, `,"additionalProperties":{"type":"string"}`), in(``, `,"additionalProperties":false`), "breaking"},
		{"property added under strict false->", in(``, `,"additionalProperties":false`), in(`"a":{"type":"string"}`, `,"additionalProperties":false`), "additive"},
		{"const -> enum containing it", in(`"a":{"const":"x"}`, ``), in(`"a":{"enum":["x","y"]}`, ``), "additive"},
		{"enum order", in(`"a":{"enum":["x","y"]}`, ``), in(`"a":{"enum":["y","x"]}`, ``), ""},
		{"enum of one -> const", in(`"a":{"enum":["x"]}`, ``), in(`"a":{"const":"x"}`, ``), ""},
		{"required order", in(`"a":{},"b":{}`, `,"required":["a","b"]`), in(`"a":{},"b":{}`, `,"required":["b","a"]`), ""},
		{"required empty", in(`"a":{}`, `,"required":[]`), in(`"a":{}`, ``), ""},
		{"exclusiveMinimum vs minimum integer", in(`"a":{"type":"integer","minimum":1}`, ``), in(`"a":{"type":"integer","exclusiveMinimum":0}`, ``), ""},
		{"multipleOf", in(`"a":{"multipleOf":4}`, ``), in(`"a":{"multipleOf":2}`, ``), "additive"},
		{"minItems 0 -> absent", in(`"a":{"minItems":0}`, ``), in(`"a":{}`, ``), ""},
		{"uniqueItems false -> absent", in(`"a":{"uniqueItems":false}`, ``), in(`"a":{}`, ``), ""},
		{"format added", in(`"a":{"type":"string"}`, ``), in(`"a":{"type":"string","format":"date"}`, ``), "breaking"},
		{"default removed", in(`"a":{"default":1}`, ``), in(`"a":{}`, ``), "breaking"},
		{"default added", in(`"a":{}`, ``), in(`"a":{"default":1}`, ``), "cosmetic"},
		{"default 1 vs 1.0", in(`"a":{"default":1}`, ``), in(`"a":{"default":1.0}`, ``), ""},
		{"items false", in(`"a":{"type":"array","items":{"type":"string"}}`, ``), in(`"a":{"type":"array","items":{"type":"string"},"prefixItems":[{"type":"integer"}]}`, ``), "breaking"},
		{"output required added", out(`{"type":"object","properties":{"a":{}}}`), out(`{"type":"object","properties":{"a":{}},"required":["a"]}`), "additive"},
		{"output enum widened", out(`{"type":"object","properties":{"a":{"enum":["x"]}}}`), out(`{"type":"object","properties":{"a":{"enum":["x","y"]}}}`), "breaking"},
		{"output enum narrowed", out(`{"type":"object","properties":{"a":{"enum":["x","y"]}}}`), out(`{"type":"object","properties":{"a":{"enum":["x"]}}}`), "additive"},
		{"output property added, was strict", out(`{"type":"object","properties":{},"additionalProperties":false}`), out(`{"type":"object","properties":{"a":{}},"additionalProperties":false}`), "additive"},
		{"output property added", out(`{"type":"object","properties":{}}`), out(`{"type":"object","properties":{"a":{}}}`), "additive"},
		{"output maximum raised", out(`{"type":"object","properties":{"a":{"maximum":5}}}`), out(`{"type":"object","properties":{"a":{"maximum":9}}}`), "breaking"},
		{"output nested property removed", out(`{"type":"object","properties":{"a":{"type":"object","properties":{"x":{}}}}}`), out(`{"type":"object","properties":{"a":{"type":"object","properties":{}}}}`), "breaking"},
		{"idempotent lost", tool(`"annotations":{"destructiveHint":false,"idempotentHint":true}`), tool(`"annotations":{"destructiveHint":false}`), "cosmetic"},
		{"openWorld", tool(`"annotations":{"readOnlyHint":true,"openWorldHint":false}`), tool(`"annotations":{"readOnlyHint":true}`), "cosmetic"},
		{"annotations title", tool(`"annotations":{"title":"x"}`), tool(`"annotations":{"title":"y"}`), "cosmetic"},
		{"hints explicit default", tool(`"annotations":{"readOnlyHint":false,"destructiveHint":true}`), tool(`"x":1`), "cosmetic"},
		{"execution taskSupport required", tool(`"execution":{"taskSupport":"optional"}`), tool(`"execution":{"taskSupport":"required"}`), "breaking"},
		{"inputSchema missing before", tool(`"x":1`), in(`"a":{"type":"string"}`, `,"required":["a"]`), "breaking"},
		{"property renamed", in(`"a":{"type":"string"}`, ``), in(`"b":{"type":"string"}`, ``), "breaking additive"},
		{"property becomes boolean schema true", in(`"a":{"type":"string"}`, ``), in(`"a":true`, ``), "additive"},
		{"true to typed", in(`"a":true`, ``), in(`"a":{"type":"string"}`, ``), "breaking"},
		{"empty to true", in(`"a":{}`, ``), in(`"a":true`, ``), ""},
		{"prefix inserted first", listingOf(`{"name":"a"}`), listingOf(`{"name":"z"}`, `{"name":"a"}`), "breaking additive"},
		{"removed and same order", listingOf(`{"name":"a"}`, `{"name":"b"}`, `{"name":"c"}`), listingOf(`{"name":"a"}`, `{"name":"c"}`), "breaking"},
		{"duplicates", listingOf(`{"name":"a"}`, `{"name":"a","title":"x"}`), listingOf(`{"name":"a"}`), ""},
		{"one more condition", in(`"a":{"allOf":[{"minLength":1}]}`, ``), in(`"a":{"allOf":[{"minLength":1},{"maxLength":9}]}`, ``), "breaking"},
		{"one condition less", in(`"a":{"allOf":[{"minLength":1},{"maxLength":9}]}`, ``), in(`"a":{"allOf":[{"minLength":1}]}`, ``), "additive"},
		{"two branches changed", in(`"a":{"anyOf":[{"type":"string"},{"type":"integer"}]}`, ``), in(`"a":{"anyOf":[{"type":"boolean"},{"type":"array"}]}`, ``), "breaking"},
		{"multiple of less", in(`"a":{"multipleOf":2}`, ``), in(`"a":{"multipleOf":4}`, ``), "breaking"},
		{"a task as well", tool(`"x":1`), tool(`"execution":{"taskSupport":"optional"}`), "additive"},
		{"no task any more", tool(`"execution":{"taskSupport":"optional"}`), tool(`"execution":{"taskSupport":"forbidden"}`), "breaking"},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			changes, err := registry.Diff(c.old, c.now)
			require.NoError(t, err)
			var kinds []string
			for _, ch := range changes {
				kinds = append(kinds, string(ch.Kind))
			}
			require.Equal(t, c.want, strings.Join(kinds, " "), "%v", changes)
		})
	}
}
