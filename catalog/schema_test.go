package catalog

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// doubling returns a schema whose 26 definitions each apply the next twice, to
// the same value or to the items.
func doubling(to string) string {
	var b strings.Builder
	b.WriteString(`{"type":"object","properties":{"a":{"$ref":"#/$defs/d0"}},"$defs":{`)
	for i := range 26 {
		next := fmt.Sprintf(`{"$ref":"#/$defs/d%d"}`, i+1)
		fmt.Fprintf(&b, `"d%d":{%s},`, i, strings.ReplaceAll(to, "NEXT", next))
	}
	return b.String() + `"d26":{}}}`
}

func TestSchemasThatDoNotEnd(t *testing.T) {
	t.Parallel()
	var chain strings.Builder
	for i := range 200 {
		fmt.Fprintf(&chain, `"c%d":{"$ref":"#/$defs/c%d"},`, i, i+1)
	}
	for name, c := range map[string]struct{ schema, want string }{
		"itself":               {`{"type":"object","allOf":[{"$ref":"#"}]}`, "refers to itself"},
		"itself at once":       {`{"type":"object","$ref":"#"}`, "refers to itself"},
		"each other":           {`{"type":"object","$ref":"#/$defs/a","$defs":{"a":{"anyOf":[{"$ref":"#/$defs/b"}]},"b":{"if":{"$ref":"#/$defs/a"}}}}`, "refers to itself"},
		"unused":               {`{"type":"object","$defs":{"a":{"$ref":"#/$defs/a"}}}`, "refers to itself"},
		"by anchor":            {`{"type":"object","$anchor":"x","not":{"$ref":"#x"}}`, "refers to itself"},
		"by an escape":         {`{"type":"object","$defs":{"a/b":{"allOf":[{"$ref":"#/%24defs/a~1b"}]}}}`, "refers to itself"},
		"by identifier":        {`{"$id":"https://x.example/s","type":"object","allOf":[{"$ref":"https://x.example/s#"}]}`, "refers to itself"},
		"by a relative one":    {`{"$id":"https://x.example/s","type":"object","allOf":[{"$ref":"s"}]}`, "does not lead"},
		"by an inner one":      {`{"type":"object","$defs":{"a":{"$id":"https://x.example/a","$ref":"#"}},"$ref":"#/$defs/a"}`, "does not lead"},
		"dynamically":          {`{"type":"object","$dynamicAnchor":"x","allOf":[{"$dynamicRef":"#x"}]}`, "not supported"},
		"dependent":            {`{"type":"object","dependentSchemas":{"a":{"$ref":"#"}}}`, "refers to itself"},
		"elsewhere":            {`{"type":"object","allOf":[{"$ref":"http://127.0.0.1/x"}]}`, "does not lead"},
		"doubling":             {doubling(`"allOf":[NEXT,NEXT]`), "apply to one value"},
		"a long chain":         {`{"type":"object","$defs":{` + chain.String() + `"c200":{}},"$ref":"#/$defs/c0"}`, "through each other"},
		"deep":                 {`{"type":"object","not":` + strings.Repeat(`{"not":`, 4000) + `{}` + strings.Repeat("}", 4000) + `}`, "levels"},
		"many":                 {`{"type":"object","allOf":[` + strings.Repeat("{},", 5000) + `{}]}`, "schemas inside"},
		"many patterns":        {`{"type":"object","allOf":[` + strings.Repeat(`{"pattern":"a{1000}"},`, 300) + `{}]}`, "patterns inside"},
		"a pattern of its own": {`{"type":"object","patternProperties":{"(":{}}}`, "cannot be read"},
	} {
		start := time.Now()
		_, err := compile(&Entry{ID: "x", Parameters: []byte(c.schema)})
		require.ErrorContains(t, err, c.want, name)
		require.Less(t, time.Since(start), time.Second, name)
	}
}

// A schema may be fine and still make much of little.
func TestArgumentsThatTakeTooMuch(t *testing.T) {
	t.Parallel()
	deep := func(n int) string { return `{"a":` + strings.Repeat("[", n) + strings.Repeat("]", n) + `}` }
	for name, c := range map[string]struct{ schema, args string }{
		"doubling by items": {doubling(`"items":{"allOf":[NEXT,NEXT]}`), deep(30)},
		"a tree of itself":  {`{"type":"object","properties":{"a":{"$ref":"#/$defs/t"}},"$defs":{"t":{"items":{"anyOf":[{"$ref":"#/$defs/t"},{"$ref":"#/$defs/t"},{"$ref":"#/$defs/t"}]}}}}`, deep(40)},
		"equal hashes":      {`{"type":"object","properties":{"a":{"uniqueItems":true}}}`, `{"a":[` + strings.Repeat(`["x",""],`, 20_000) + `["xx",""]]}`},
		"a slow pattern":    {`{"type":"object","properties":{"a":{"pattern":"(x{0,30}){30}y"}}}`, `{"a":"` + strings.Repeat("x", 200_000) + `"}`},
		"many in an enum":   {`{"type":"object","properties":{"a":{"items":{"enum":[` + strings.Repeat(`"x",`, 20_000) + `"y"]}}}}`, `{"a":[` + strings.Repeat(`"y",`, 20_000) + `"y"]}`},
	} {
		start := time.Now()
		op, err := compile(&Entry{ID: "x", Parameters: []byte(c.schema), Example: []byte(c.args)})
		require.NoError(t, err, name)
		require.Nil(t, op.example, name)
		_, f := op.arguments([]byte(c.args))
		require.ErrorContains(t, f, "too many to be checked", name)
		require.Less(t, time.Since(start), 3*time.Second, name)
	}
	for name, c := range map[string]struct{ schema, args string }{
		"a tree":    {`{"type":"object","properties":{"a":{"$ref":"#/$defs/t"}},"$defs":{"t":{"type":"array","items":{"$ref":"#/$defs/t"}}}}`, deep(60)},
		"itself":    {`{"type":"object","properties":{"a":{"$ref":"#"},"b":{"type":"integer"}},"additionalProperties":{"$ref":"#"}}`, strings.Repeat(`{"a":`, 60) + "{}" + strings.Repeat("}", 60)},
		"many rows": {`{"type":"object","properties":{"a":{"type":"array","items":{"type":"object","properties":{"n":{"type":"integer"},"s":{"enum":["x","y"]}},"required":["n"]}}}}`, `{"a":[` + strings.Repeat(`{"n":1,"s":"x"},`, 15_000) + `{"n":1}]}`},
		"unique":    {`{"type":"object","properties":{"a":{"uniqueItems":true}}}`, `{"a":[` + numbers(20_000) + `]}`},
	} {
		op, err := compile(&Entry{ID: "x", Parameters: []byte(c.schema)})
		require.NoError(t, err, name)
		_, f := op.arguments([]byte(c.args))
		require.Nil(t, f, name)
	}
}

func numbers(n int) string {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	b, _ := json.Marshal(list)
	return strings.Trim(string(b), "[]")
}

// One entry that does not end is left out, and the others are used.
func TestCatalogLeavesOutWhatDoesNotEnd(t *testing.T) {
	t.Parallel()
	source, err := JSON([]byte(`[{"id":"bad","parameters":{"type":"object","allOf":[{"$ref":"#"}]},"example":{"a":1}},{"id":"good","summary":"fine"}]`))
	require.NoError(t, err)
	c, err := New(source, &Options{Observer: quiet})
	require.NoError(t, err)
	require.NoError(t, c.Refresh(t.Context()))
	e, err := c.edition(context.Background(), anyCall)
	require.NoError(t, err)
	require.Len(t, e.operations, 1)
	require.Len(t, e.problems, 1)
	require.Equal(t, "bad", e.problems[0].ID)
}

// A schema may allow more than its own properties.
func TestArgumentsBeyondOwnProperties(t *testing.T) {
	t.Parallel()
	var got string
	api := newSpy(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = r.RequestURI + " " + string(body)
		ok(w, r)
	})
	up := mustUpstream(t, api.URL, nil)
	for _, c := range []struct{ path, schema, args, want string }{
		{"/x/{id}", `{"type":"object","allOf":[{"properties":{"id":{"type":"string"}}},{"$ref":"#/$defs/page"}],"$defs":{"page":{"properties":{"limit":{"type":"integer"}}}}}`, `{"id":"a","limit":3}`, "/x/a?limit=3 "},
		{"/x", `{"type":"object","properties":{"a":{}},"additionalProperties":{"type":"string"}}`, `{"a":1,"b":"2"}`, "/x?a=1&b=2 "},
		{"/x", `{"type":"object","patternProperties":{"^f_":{"type":"integer"}},"additionalProperties":false}`, `{"f_x":1}`, "/x?f_x=1 "},
		{"/x", `{"type":"object","patternProperties":{"^f_":{"type":"integer"}},"additionalProperties":false}`, `{"g":1}`, ""},
		{"/x", `{"type":"object","oneOf":[{"properties":{"a":{}},"required":["a"]},{"properties":{"b":{}},"required":["b"]}]}`, `{"b":1}`, "/x?b=1 "},
		{"/x", `{"type":"object","not":{"properties":{"a":{}},"required":["a"]}}`, `{"a":1}`, ""},
		{"/x", `{"type":"object","properties":{"a":{}},"additionalProperties":false}`, `{"b":1}`, ""},
		{"/x", `{"type":"object","properties":{"a":{}}}`, `{"b":1}`, ""}, // saying nothing is not enough
	} {
		got = ""
		_, err := callEntry(t, up, read("x", c.path, c.schema), c.args)
		require.Equal(t, c.want, got, c.schema)
		require.Equal(t, c.want == "", err != nil, c.schema)
	}
}

func FuzzSchema(f *testing.F) {
	for _, s := range []string{`{"type":"object","allOf":[{"$ref":"#"}]}`, doubling(`"allOf":[NEXT,NEXT]`), `{"type":"object","properties":{"a":{"$ref":"#/$defs/t"}},"$defs":{"t":{"items":{"$ref":"#/$defs/t"}}}}`, `{"$id":"https://x.example/s","type":"object","$anchor":"a","not":{"$ref":"#a"}}`} {
		f.Add(s, `{"a":[[1],{}]}`)
	}
	f.Fuzz(func(t *testing.T, schema, args string) {
		op, err := compile(&Entry{ID: "x", Method: "GET", Path: "/x", Parameters: []byte(schema)})
		if err != nil {
			return
		}
		_, _ = op.arguments([]byte(args)) // ends, and does not panic
	})
}
