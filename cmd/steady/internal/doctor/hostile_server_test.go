package doctor

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/steadymcp/steady/cmd/steady/internal/launch"
	"github.com/steadymcp/steady/cmd/steady/internal/session"
)

func newTestExam(t testing.TB) *exam {
	return newExam(t.Context(), Options{Target: &launch.Target{Command: []string{"server"}}, Timeout: time.Second})
}

// Schemas are a server's, and may lead back to themselves.
func TestSchemaWithoutEnd(t *testing.T) {
	t.Parallel()
	s := parseSchema(json.RawMessage(`{"type":"object","required":["a"],"properties":{"a":{"$ref":"#"},"b":{"$ref":"#"},"c":{"$ref":"#"}},"anyOf":[{"$ref":"#"},{"$ref":"#"}]}`))
	require.Equal(t, "object", s.kind())
	e := newTestExam(t)
	require.Less(t, len(quote(e.validArguments(&tool{input: s}))), 1000)
}

func TestArgumentsFromASchema(t *testing.T) {
	t.Parallel()
	e := newTestExam(t)
	e.harvest.take("list", &toolResult{structured: json.RawMessage(`{"orders":[{"id":"ORD-7"}],"skus":[{"sku":"SKU-1"}]}`)})
	for _, test := range []struct{ property, want string }{
		{`{"type":"string","default":"d"}`, `"d"`},
		{`{"type":"string","examples":["e"]}`, `"e"`},
		{`{"type":"string","enum":["one","two"]}`, `"one"`},
		{`{"const":7}`, `7`},
		{`{"type":"integer","minimum":5}`, `5`},
		{`{"type":"integer","exclusiveMinimum":5}`, `6`},
		{`{"type":"number","maximum":0.5}`, `0.5`},
		{`{"type":["null","integer"]}`, `1`},
		{`{"anyOf":[{"type":"null"},{"type":"boolean"}]}`, `false`},
		{`{"type":"string","format":"date"}`, `"2026-01-15"`},
		{`{"type":"string","description":"The ID, as in CUS-42."}`, `"CUS-42"`},
		{`{"type":"string","minLength":8}`, `"testxxxx"`},
		{`{"type":"string","maxLength":2}`, `"te"`},
		{`{"type":"array","items":{"type":"string"}}`, `["test"]`},
		{`{"type":"object","required":["n"],"properties":{"n":{"type":"integer"}}}`, `{"n":1}`},
		{`{"$ref":"#/$defs/n"}`, `3`},
		{`true`, `"test"`},
	} {
		s := parseSchema(json.RawMessage(`{"type":"object","required":["x"],"$defs":{"n":{"type":"integer","minimum":3}},"properties":{"x":` + test.property + `}}`))
		data, err := json.Marshal(e.validArguments(&tool{input: s})["x"])
		require.NoError(t, err)
		require.Equal(t, test.want, string(data), test.property)
	}
	for name, want := range map[string]string{"order_id": "ORD-7", "orderId": "ORD-7", "sku": "SKU-1"} {
		require.Equal(t, want, e.value(&tool{}, name, parseSchema(json.RawMessage(`{"type":"string"}`)), 0))
	}
}

func TestGate(t *testing.T) {
	t.Parallel()
	yes, no := true, false
	for _, test := range []struct {
		name  string
		hints *annotations
		class class
		// what the zero Gate, -write and -destructive allow
		usual, write, all leave
	}{
		{"get_x", &annotations{ReadOnly: &yes}, reads, freely, freely, freely},
		{"delete_x", &annotations{ReadOnly: &yes}, unknown, nothing, nothing, freely},
		{"get_deleted", &annotations{ReadOnly: &yes}, reads, freely, freely, freely},
		{"get_reset_date", &annotations{ReadOnly: &yes}, reads, freely, freely, freely},
		{"orders.delete", &annotations{ReadOnly: &yes}, unknown, nothing, nothing, freely},
		{"bulkDelete", &annotations{ReadOnly: &yes}, unknown, nothing, nothing, freely},
		{"wipe_x", &annotations{Destructive: &no, Idempotent: &yes}, unknown, nothing, nothing, freely},
		{"x_wipe", &annotations{Destructive: &no}, unknown, nothing, nothing, freely},
		{"delete_x", &annotations{Destructive: &yes}, destroys, nothing, nothing, freely},
		{"put_x", &annotations{Destructive: &no, Idempotent: &yes}, repeatable, gently, freely, freely},
		{"put_x", &annotations{Idempotent: &yes}, destroys, nothing, nothing, freely},
		{"add_x", &annotations{Destructive: &no}, writes, nothing, freely, freely},
		{"add_x", &annotations{ReadOnly: &no}, destroys, nothing, nothing, freely},
		{"x", &annotations{ReadOnly: &yes, Destructive: &yes}, destroys, nothing, nothing, freely},
		{"get_x", nil, unknown, nothing, nothing, freely},
		{"get_x", &annotations{}, unknown, nothing, nothing, freely},
	} {
		c := classify(test.name, test.hints)
		require.Equal(t, test.class, c, test)
		for gate, want := range map[*Gate]leave{{}: test.usual, {Write: true}: test.write, {Destructive: true}: test.all, {Vouched: []string{test.name}}: freely, {Vouched: []string{test.name}, Never: []string{test.name}}: nothing} {
			got, reason := gate.decide(test.name, c)
			require.Equal(t, want, got, "%v %v", test, gate)
			require.Equal(t, got == nothing, reason != "", test)
		}
	}
}

// What is no leak: what the caller had sent, prose, and names of files.
func TestLeaks(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ text, probes string }{
		{"there is no order \"SELECT a FROM b\"", ""},
		{"the path /home/doctor/x was not found", ""},
		{"select an order from the list first", ""},
		{"update the status and set it to done", ""},
		{"the file notes.txt does not exist", ""},
		{"an error at line 3", ""},
		{"cannot be cancelled, because it has shipped", ""},
		{"see https://example.com/docs/errors", ""},
		{"the value 10.5 is above 9.0", ""},
		{"open /var/lib/notes/a.db: permission denied", "leak-path"},
		{`C:\Users\bob\notes.db is locked`, "leak-path"},
		{"dial tcp: lookup db.internal", "leak-host"},
		{"SQLSTATE 42P01", "leak-sql"},
		{"password=hunter2 is wrong", "leak-credential"},
		{"java.lang.IllegalStateException\n\tat com.x.Y.z(Y.java:12)", "leak-stack leak-internals"},
	} {
		e := newTestExam(t)
		e.checkLeaks("x", &verdict{text: test.text, reply: &session.Reply{
			Request: []byte(`{"params":{"arguments":{"a":"SELECT a FROM b","b":["/home/doctor/x"]}}}`),
		}})
		var found []string
		for _, f := range e.findings {
			found = append(found, f.Probe)
		}
		require.ElementsMatch(t, strings.Fields(test.probes), found, test.text)
	}
}

func FuzzSchema(f *testing.F) {
	f.Add([]byte(`{"type":"object","required":["a","b"],"properties":{"a":{"$ref":"#/properties/b"},"b":{"anyOf":[{"$ref":"#"},{"type":["null","array"],"items":true}]}}}`))
	f.Add([]byte(`{"required":["x"],"properties":{"x":{"exclusiveMinimum":9e999,"enum":[],"examples":[null],"pattern":"("}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		s := parseSchema(data)
		e := newTestExam(t)
		if _, err := json.Marshal(e.validArguments(&tool{input: s})); err != nil {
			t.Fatal(err)
		}
		for _, p := range s.properties {
			hostileValues(p)
		}
		limitOf(&tool{input: s})
	})
}

func FuzzToolResult(f *testing.F) {
	f.Add([]byte(`{"content":[{"type":"text","text":"{\"items\":[{\"id\":1}],\"next_cursor\":\"x\"}"}],"structuredContent":null}`))
	f.Add([]byte(`{"content":[{"type":"text","text":"goroutine 1 [running]:\n\t/home/x/y.go:1 +0x1 SELECT a FROM b"}],"isError":true}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		e := newTestExam(t)
		for _, output := range []string{"", `{"type":"object","required":["items"]}`} {
			tool := &tool{name: "x", input: parseSchema(nil), output: json.RawMessage(output)}
			v := e.judge(tool, session.Reply{Request: []byte(`{}`), Raw: data, Result: data}, true)
			items(v)
			content(v)
			next(v)
		}
		for _, f := range e.findings {
			if len(f.Message) > 4096 || len(f.Received) > 4096 {
				t.Fatal("the evidence is not cut")
			}
		}
	})
}
