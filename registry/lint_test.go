package registry_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/steadymcp/steady/registry"
)

// good is a tool that no profile has anything to say about. Test rows change
// one thing.
func good(name string) map[string]any {
	return map[string]any{
		"name":        name,
		"description": "Does what " + name + " says, for the tests. Use it when a test needs it; returns what it was given.",
		"inputSchema": map[string]any{"type": "object", "properties": map[string]any{
			"query": map[string]any{"type": "string", "description": "what to look for"},
		}},
		"annotations": map[string]any{"readOnlyHint": true},
	}
}

func catalogOf(tools ...map[string]any) *registry.Listing {
	l := &registry.Listing{Server: "desk"}
	for _, t := range tools {
		data, err := json.Marshal(t)
		if err != nil {
			panic(err)
		}
		l.Tools = append(l.Tools, data)
	}
	return l
}

// with returns the good tool with some members replaced.
func with(name string, members string) map[string]any {
	t := good(name)
	var m map[string]any
	if err := json.Unmarshal([]byte(members), &m); err != nil {
		panic(err)
	}
	for k, v := range m {
		if v == nil {
			delete(t, k)
			continue
		}
		t[k] = v
	}
	return t
}

// param returns the good tool with one parameter of the given schema.
func param(name, schema string) map[string]any {
	return with("look_up", `{"inputSchema":{"type":"object","properties":{"`+name+`":`+schema+`}}}`)
}

func lint(t testing.TB, l *registry.Listing, p *registry.Profile) *registry.Report {
	t.Helper()
	r, err := registry.Lint(context.Background(), l, p)
	require.NoError(t, err)
	return r
}

func ruleIDs(r *registry.Report) (ids []string) {
	for _, f := range r.Findings {
		ids = append(ids, string(f.Severity)+" "+f.Rule)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

func many(n int, format string) string {
	var s []string
	for i := range n {
		s = append(s, fmt.Sprintf(format, i))
	}
	return strings.Join(s, ",")
}

func TestLintRules(t *testing.T) {
	t.Parallel()
	cases := []struct {
		what    string
		profile func() *registry.Profile // Generic if nil
		server  string
		tools   []map[string]any
		want    []string // every finding, as "severity rule"
		pointer string   // of the first one, if not empty
	}{
		{what: "nothing", tools: []map[string]any{good("look_up"), good("ask_around")}},
		{what: "same name (B160, B161)", tools: []map[string]any{good("execute_sql"), with("execute_sql", `{"description":"Another server's tool of that name. Use it when you have to; returns rows."}`)}, want: []string{"error name-duplicate"}},
		{what: "same when folded (B161)", tools: []map[string]any{good("read-file"), with("read_file", `{"description":"Something else altogether, when asked. Returns text."}`)}, want: []string{"error name-folded-duplicate"}},
		{what: "synonym", tools: []map[string]any{good("get_order"), good("fetch_order")}, want: []string{"warning name-near-duplicate"}},
		{what: "plural", tools: []map[string]any{good("get_order"), good("get_orders")}, want: []string{"warning name-near-duplicate"}},
		{what: "order of words", tools: []map[string]any{good("orders_export"), with("export_orders", `{"description":"Writes a file in the evening, when asked. Returns its size."}`)}, want: []string{"warning name-near-duplicate"}},
		{what: "verbs that differ", tools: []map[string]any{good("lock_door"), good("unlock_door")}},
		{what: "route as a name (B143)", tools: []map[string]any{good("GET:/patterns/names")}, want: []string{"error name-pattern"}, pointer: "/name"},
		{what: "route as a name (B143), elsewhere", profile: registry.Claude, tools: []map[string]any{good("GET:/patterns/names")}, want: []string{"error name-pattern"}},
		{what: "dots are fine for the specification", tools: []map[string]any{good("orders.look_up")}},
		{what: "dots are not for clients", profile: registry.OpenAI, tools: []map[string]any{good("orders.look_up")}, want: []string{"error name-pattern"}},
		{what: "a digit first", profile: registry.Gemini, tools: []map[string]any{good("2fa_check")}, want: []string{"error name-pattern"}},
		{what: "a dot that is replaced", profile: registry.VSCode, tools: []map[string]any{good("orders.lookUp")}, want: []string{"warning name-pattern"}},
		{what: "server and tool over 60 (B140)", profile: registry.Cursor, server: "posthog", tools: []map[string]any{good("warehouse-saved-queries-revert-materialization-create")}, want: []string{"error name-prefix-budget"}},
		{what: "server and tool over 60 (B140), one less", profile: registry.Cursor, server: "posthog", tools: []map[string]any{good("warehouse-saved-queries-revert-materialization-creat")}},
		{what: "prefix (B141)", profile: registry.Claude, server: "awslabs_billing-cost-management-mcp-server", tools: []map[string]any{good("get_cost_forecast")}, want: []string{"error name-prefix-budget"}},
		{what: "ends collide (B138)", profile: registry.Gemini, server: "atlassian-rovo-mcp-server-cloud", tools: []map[string]any{
			good("createConfluencePageWithAttachmentsAndPermissions"), with("deleteConfluencePageWithAttachmentsAndPermissions", `{"annotations":{"destructiveHint":false}}`),
		}, want: []string{"error name-collision-ends"}},
		{what: "opaque", tools: []map[string]any{good("run_9f8b2c1d4e")}, want: []string{"warning name-opaque"}},
		{what: "not opaque", tools: []map[string]any{good("decode_base64_feedface"), good("convert_utf8")}},
		{what: "invisible", tools: []map[string]any{with("look_up", `{"description":"Looks things\u200b up when asked, and returns them as they are for you."}`)}, want: []string{"error text-invisible"}, pointer: "/description"},
		{what: "invisible, deep", tools: []map[string]any{param("a", `{"type":"string","description":"a\ud83d\ude00 b\udb40\udc41"}`)}, want: []string{"error text-invisible"}, pointer: "/inputSchema/properties/a/description"},
		{what: "emoji and umlauts are visible", tools: []map[string]any{param("a", `{"type":"string","description":"für \ud83d\udc69\u200d\ud83d\udc67 and \u0645\u06cc\u200c\u062e"}`)}},

		{what: "no schema", tools: []map[string]any{with("look_up", `{"inputSchema":null}`)}, want: []string{"error schema-missing"}},
		{what: "root without type (B145)", tools: []map[string]any{with("look_up", `{"inputSchema":{"anyOf":[{"type":"object"},{"type":"object","properties":{}}],"properties":{}}}`)}, want: []string{"error schema-root-type", "warning schema-root-combinator"}},
		{what: "root combinator", profile: registry.Claude, tools: []map[string]any{with("look_up", `{"inputSchema":{"type":"object","properties":{},"oneOf":[{"required":["a"]},{"required":["b"]}]}}`)}, want: []string{"error schema-root-combinator"}, pointer: "/inputSchema/oneOf"},
		{what: "no properties (B146)", tools: []map[string]any{with("look_up", `{"inputSchema":{"type":"object"}}`)}, want: []string{"warning schema-no-properties"}},
		{what: "no properties (B146), elsewhere", profile: registry.OpenAI, tools: []map[string]any{with("look_up", `{"inputSchema":{"type":"object"}}`)}, want: []string{"error schema-no-properties"}},
		{what: "null properties", tools: []map[string]any{with("look_up", `{"inputSchema":{"type":"object","properties":null}}`)}, want: []string{"error schema-null"}},
		{what: "null property", tools: []map[string]any{with("look_up", `{"inputSchema":{"type":"object","properties":{"a":null}}}`)}, want: []string{"error schema-null", "info parameter-description"}},
		{what: "true", tools: []map[string]any{param("a", `true`)}, want: []string{"info parameter-description", "warning schema-boolean"}},
		{what: "untyped", tools: []map[string]any{param("a", `{"description":"a"}`)}, want: []string{"warning schema-untyped"}, pointer: "/inputSchema/properties/a"},
		{what: "array without items", tools: []map[string]any{param("a", `{"description":"a","type":"array"}`)}, want: []string{"warning schema-array-items"}},
		{what: "array without items, elsewhere", profile: registry.OpenAI, tools: []map[string]any{param("a", `{"description":"a","type":"array"}`)}, want: []string{"error schema-array-items"}},
		{what: "nullable (B148)", tools: []map[string]any{param("ids", `{"description":"a","type":["null","array"],"items":{"type":"string"}}`)}, want: []string{"warning schema-nullable-container"}},
		{what: "nullable (B148), where it breaks", profile: registry.Claude, tools: []map[string]any{param("ids", `{"description":"a","type":["null","array"],"items":{"type":"string"}}`)}, want: []string{"error schema-nullable-container"}},
		{what: "nullable text", profile: registry.Claude, tools: []map[string]any{param("id", `{"description":"a","type":["null","string"]}`)}, want: []string{"warning schema-nullable"}},
		{what: "nullable anyOf", tools: []map[string]any{param("ids", `{"description":"a","anyOf":[{"type":"string"},{"type":"null"}]}`)}, want: []string{"warning schema-nullable"}},
		{what: "union", tools: []map[string]any{param("ids", `{"description":"a","type":["array","string"],"items":{"type":"string"}}`)}, want: []string{"warning schema-type-union"}},
		{what: "union by anyOf", tools: []map[string]any{param("ids", `{"description":"a","anyOf":[{"type":"array","items":{"type":"string"}},{"type":"string"}]}`)}, want: []string{"warning schema-type-union"}},
		{what: "numeric enum (B153)", tools: []map[string]any{param("q", `{"description":"a","type":"number","enum":[0.5,0.9,0.95]}`)}, want: []string{"warning schema-enum-type"}},
		{what: "numeric enum (B153), where it breaks", profile: registry.Gemini, tools: []map[string]any{param("q", `{"description":"a","type":"number","enum":[0.5,0.9,0.95]}`)}, want: []string{"error schema-enum-type"}},
		{what: "tuple (B153)", profile: registry.Gemini, tools: []map[string]any{param("q", `{"description":"a","type":"array","items":[{"type":"string"},{"type":"number"}]}`)}, want: []string{"error schema-tuple"}},
		{what: "101 values", tools: []map[string]any{param("q", `{"description":"a","type":"string","enum":[`+many(101, `"v%d"`)+`]}`)}, want: []string{"info schema-enum-size"}},
		{what: "257 values", tools: []map[string]any{param("q", `{"description":"a","type":"string","enum":[`+many(257, `"v%d"`)+`]}`)}, want: []string{"warning schema-enum-size"}},
		{what: "reference (B150)", tools: []map[string]any{with("look_up", `{"inputSchema":{"type":"object","properties":{"a":{"$ref":"#/$defs/ScreenInstance","description":"a"}},"$defs":{"ScreenInstance":{"type":"object","properties":{}}}}}`)}, want: []string{"warning schema-ref"}},
		{what: "reference (B150), where it breaks", profile: registry.Gemini, tools: []map[string]any{with("look_up", `{"inputSchema":{"type":"object","properties":{"a":{"$ref":"#/$defs/ScreenInstance","description":"a"}},"$defs":{"ScreenInstance":{"type":"object","properties":{}}}}}`)}, want: []string{"error schema-ref"}},
		{what: "reference to a sibling (B151)", tools: []map[string]any{with("look_up", `{"inputSchema":{"type":"object","properties":{"headers":{"type":"object","properties":{},"description":"h"},"all":{"type":"array","description":"a","items":{"$ref":"#/properties/headers"}}}}}`)}, want: []string{"warning schema-ref"}, pointer: "/inputSchema/properties/all/items"},
		{what: "recursion", tools: []map[string]any{with("look_up", `{"inputSchema":{"type":"object","properties":{"a":{"$ref":"#/$defs/N","description":"a"}},"$defs":{"N":{"type":"object","properties":{"kids":{"type":"array","items":{"$ref":"#/$defs/N"}}}}}}}`)}, want: []string{"warning schema-ref", "warning schema-ref-recursive"}},
		{what: "dangling", tools: []map[string]any{param("a", `{"$ref":"#/$defs/Gone"}`)}, want: []string{"error schema-ref-unresolved"}},
		{what: "foreign", tools: []map[string]any{param("a", `{"$ref":"https://example.com/x.json"}`)}, want: []string{"error schema-ref-unresolved"}},
		{what: "format", profile: registry.Gemini, tools: []map[string]any{param("a", `{"type":"string","format":"uri","description":"a"}`)}, want: []string{"error schema-format"}},
		{what: "format that is known", profile: registry.Gemini, tools: []map[string]any{param("a", `{"type":"string","format":"date-time","description":"a"}`)}},
		{what: "parameter's name", profile: registry.Claude, tools: []map[string]any{param("filter[id]", `{"type":"string","description":"a"}`)}, want: []string{"error schema-property-key"}},
		{what: "output is an array (B155)", tools: []map[string]any{with("look_up", `{"outputSchema":{"type":"array","items":{"type":"string"}}}`)}, want: []string{"error output-root-type"}},
		{what: "output without type (B155)", tools: []map[string]any{with("look_up", `{"outputSchema":{"properties":{}}}`)}, want: []string{"error output-root-type"}},
		{what: "output may hold null", tools: []map[string]any{with("look_up", `{"outputSchema":{"type":"object","properties":{"next":{"type":["string","null"]}},"required":["next"]}}`)}},

		{what: "no hints", tools: []map[string]any{with("look_up", `{"annotations":null}`)}, want: []string{"warning hint-missing"}},
		{what: "hints that decide nothing", tools: []map[string]any{with("look_up", `{"annotations":{"readOnlyHint":false}}`)}, want: []string{"warning hint-missing"}},
		{what: "hints that contradict", tools: []map[string]any{with("look_up", `{"annotations":{"readOnlyHint":true,"destructiveHint":true}}`)}, want: []string{"error hint-contradiction"}},
		{what: "destructive without a word", tools: []map[string]any{with("close_account", `{"annotations":{"destructiveHint":true}}`)}, want: []string{"warning destructive-unexplained"}},
		{what: "destructive by name", tools: []map[string]any{with("delete_account", `{"annotations":null}`)}, want: []string{"warning destructive-unexplained", "warning hint-missing"}},
		{what: "destructive, explained", tools: []map[string]any{with("close_account", `{"annotations":{"destructiveHint":true},"description":"Closes an account when its owner asks. It cannot be undone; returns the day."}`)}},
		{what: "destructive, confirmed", tools: []map[string]any{with("close_account", `{"annotations":{"destructiveHint":true},"inputSchema":{"type":"object","properties":{"confirm":{"type":"boolean","description":"c"}}}}`)}},

		{what: "list without bounds", tools: []map[string]any{good("list_orders")}, want: []string{"warning list-unbounded"}},
		{what: "list without bounds, behind the server's name", tools: []map[string]any{good("desk_search_orders")}, want: []string{"warning list-unbounded"}},
		{what: "list with a cursor", tools: []map[string]any{with("list_orders", `{"inputSchema":{"type":"object","properties":{"cursor":{"type":"string","description":"c"}}}}`)}},
		{what: "limit without maximum", tools: []map[string]any{with("list_orders", `{"inputSchema":{"type":"object","properties":{"limit":{"type":"integer","description":"c"}}}}`)}, want: []string{"warning limit-unbounded"}},
		{what: "limit with maximum", tools: []map[string]any{with("list_orders", `{"inputSchema":{"type":"object","properties":{"limit":{"type":"integer","description":"c","maximum":50}}}}`)}},

		{what: "no description", tools: []map[string]any{with("look_up", `{"description":null}`)}, want: []string{"error description-missing"}},
		{what: "its name as description", tools: []map[string]any{with("look_up", `{"description":"Look up."}`)}, want: []string{"warning description-short"}},
		{what: "brief", tools: []map[string]any{with("look_up", `{"description":"Looks something up in the great archive of orders."}`)}, want: []string{"warning description-short"}},
		{what: "not when, not what", tools: []map[string]any{with("look_up", `{"description":"This tool is connected to the great archive of orders in the cellar of the old house by the river."}`)}, want: []string{"info description-no-result", "info description-no-when"}},
		{what: "long", profile: registry.OpenAI, tools: []map[string]any{with("look_up", `{"description":"Use it, it returns `+strings.Repeat("x", 1024)+`"}`)}, want: []string{"warning description-long"}},
		{what: "alike", tools: []map[string]any{
			with("look_up", `{"description":"Use this tool when a user asks for the state of one order; it returns the order with its lines and its history. Brown."}`),
			with("ask_around", `{"description":"Use this tool when a user asks for the state of one order; it returns the order with its lines and its history. Green."}`),
		}, want: []string{"warning description-near-duplicate"}},
		{what: "parameters without description", tools: []map[string]any{param("a", `{"type":"string"}`)}, want: []string{"info parameter-description"}},
		{what: "a key for every try", tools: []map[string]any{param("idempotency_key", `{"type":"string","description":"A unique string for every request."}`)}, want: []string{"warning parameter-unique-key"}},
		{what: "a key for the thing", tools: []map[string]any{param("idempotency_key", `{"type":"string","description":"The same for every attempt at the same export."}`)}},
		{what: "credential", tools: []map[string]any{param("api_key", `{"type":"string","description":"k"}`)}, want: []string{"error parameter-credential"}},
		{what: "page token is none", tools: []map[string]any{param("page_token", `{"type":"string","description":"k"}`)}},
		{what: "identity", tools: []map[string]any{param("on_behalf_of", `{"type":"string","description":"k"}`)}, want: []string{"warning parameter-identity"}},
		{what: "a user to look up is none", tools: []map[string]any{param("user_id", `{"type":"string","description":"k"}`)}},
		{what: "one large tool (B158)", tools: []map[string]any{param("a", `{"type":"string","description":"`+strings.Repeat("x ", 5000)+`"}`)}, want: []string{"warning budget-tool"}},
	}
	seen := map[string]bool{}
	for _, c := range cases {
		for _, w := range c.want {
			seen[strings.Fields(w)[1]] = true
		}
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			p := registry.Generic()
			if c.profile != nil {
				p = c.profile()
			}
			p.Server = c.server
			r := lint(t, catalogOf(c.tools...), p)
			require.Equal(t, c.want, ruleIDs(r), "%s", r)
			if c.pointer != "" {
				require.Equal(t, c.pointer, r.Findings[0].Pointer)
			}
			for _, f := range r.Findings {
				require.NotEmpty(t, f.Why)
				require.NotEmpty(t, f.Fix)
				require.NotContains(t, f.Message, "%!", "a format that does not fit")
			}
		})
	}
	for _, e := range lintEdges {
		seen[e.rule] = seen[e.rule] || e.found
	}
	elsewhere := []string{"tools-too-many", "budget-total", "catalog-crud", "instructions-long", "exception-unused", "exception-unreasoned"}
	for _, rule := range registry.Rules() {
		require.True(t, seen[rule.ID] || slices.Contains(elsewhere, rule.ID), "no row finds %s", rule.ID)
	}
}

func TestLintCatalog(t *testing.T) {
	t.Parallel()
	var tools []map[string]any
	for i := range 81 {
		tools = append(tools, good("alpha"+string(rune('a'+i/26))+string(rune('a'+i%26))+"_beta"))
	}
	require.Equal(t, []string{"error tools-too-many"}, ruleIDs(lint(t, catalogOf(tools...), registry.Cursor())))

	// B158: 22 tools of 73,396 characters in all.
	tools = tools[:22]
	for i := range tools {
		tools[i]["description"] = tools[i]["description"].(string) + fmt.Sprint(i) + strings.Repeat("x", 3100)
	}
	require.Contains(t, ruleIDs(lint(t, catalogOf(tools...), registry.Claude())), "warning budget-total")

	l := catalogOf(good("look_up"))
	l.Instructions = strings.Repeat("x", 2049)
	require.Equal(t, []string{"warning instructions-long"}, ruleIDs(lint(t, l, registry.Claude())))

	var endpoints []map[string]any
	for _, resource := range []string{"order", "customer", "product", "export"} {
		for _, verb := range []string{"create", "get", "update", "delete"} {
			endpoints = append(endpoints, good(verb+"_"+resource))
		}
	}
	r := lint(t, catalogOf(endpoints...), nil)
	i := slices.IndexFunc(r.Findings, func(f registry.Finding) bool { return f.Rule == "catalog-crud" })
	require.GreaterOrEqual(t, i, 0)
	require.Contains(t, r.Findings[i].Message, "16 of 16 tools")
	require.NotContains(t, ruleIDs(lint(t, catalogOf(endpoints[:8]...), nil)), "warning catalog-crud")
}

// What is inside of a referenced schema is not reported again.
func TestNestedReferencesAreOneFinding(t *testing.T) {
	t.Parallel()
	r := lint(t, catalogOf(with("look_up", `{"inputSchema":{"type":"object","properties":{"a":{"$ref":"#/$defs/A","description":"a"}},
		"$defs":{"A":{"type":"object","properties":{"b":{"$ref":"#/$defs/B"}}},"B":{"type":"string"}}}}`)), nil)
	require.Len(t, r.Findings, 1)
}

func TestCountTokens(t *testing.T) {
	t.Parallel()
	p := registry.Generic()
	p.CountTokens = func(context.Context, []byte) (int, error) { return 6000, nil }
	r := lint(t, catalogOf(good("look_up"), good("ask_around")), p)
	require.True(t, r.Exact)
	require.Equal(t, 12000, r.Tokens)
	require.Equal(t, []string{"warning budget-total"}, ruleIDs(r))
	p.CountTokens = func(context.Context, []byte) (int, error) { return 0, errors.New("no network") }
	_, err := registry.Lint(context.Background(), catalogOf(good("look_up")), p)
	require.ErrorContains(t, err, "no network")
}

func TestLintOfWhatIsNoListing(t *testing.T) {
	t.Parallel()
	for _, l := range []*registry.Listing{nil, {Tools: []json.RawMessage{[]byte(`[]`)}}, {Tools: []json.RawMessage{[]byte(`{`)}}} {
		_, err := registry.Lint(context.Background(), l, nil)
		require.Error(t, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := registry.Lint(ctx, catalogOf(good("a_b")), nil)
	require.ErrorIs(t, err, context.Canceled)
}

// sharedCatalog reads the benchmark's short form of a real server's tools.
func sharedCatalog(t testing.TB, path string) *registry.Listing {
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	var c struct {
		Server string
		Tools  []struct {
			Name, Title, Description string
			ReadOnly, Destructive    bool
			Params                   []struct {
				Name, Type string
				Required   bool
				Enum       []any
			}
		}
	}
	require.NoError(t, json.Unmarshal(data, &c))
	l := &registry.Listing{Server: c.Server}
	for _, tool := range c.Tools {
		props, required := map[string]any{}, []string{}
		for _, p := range tool.Params {
			s := map[string]any{"type": p.Type, "description": "the benchmark has none"}
			if p.Type == "array" {
				s["items"] = map[string]any{"type": "string"}
			}
			if p.Enum != nil {
				s["enum"] = p.Enum
			}
			props[p.Name] = s
			if p.Required {
				required = append(required, p.Name)
			}
		}
		data, err := json.Marshal(map[string]any{
			"name": tool.Name, "description": tool.Description,
			"annotations": map[string]any{"readOnlyHint": tool.ReadOnly, "destructiveHint": tool.Destructive},
			"inputSchema": map[string]any{"type": "object", "properties": props, "required": required},
		})
		require.NoError(t, err)
		l.Tools = append(l.Tools, data)
	}
	return l
}

// TestRealCatalogs prints what is found in real servers, for reading, and
// checks that it is found quickly. STEADY_CATALOGS is a folder of them.
func TestRealCatalogs(t *testing.T) {
	dir := os.Getenv("STEADY_CATALOGS")
	if dir == "" {
		t.Skip("STEADY_CATALOGS is not set")
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, f := range files {
		l := sharedCatalog(t, f)
		for _, p := range registry.Profiles() {
			start := time.Now()
			r := lint(t, l, p)
			took := time.Since(start)
			require.Less(t, took, 50*time.Millisecond)
			for _, f := range r.Findings {
				t.Logf("%s\t%s\t%s\t%s\t%s\t%s", l.Server, p.Name, f.Severity, f.Rule, f.Tool, f.Message)
			}
			t.Logf("%s for %s: %d tools in %v", l.Server, p.Name, len(l.Tools), took)
		}
	}
}

// Claim: a listing of 1,000 tools is linted in under 300 ms.
func BenchmarkLint1000(b *testing.B) {
	var tools []map[string]any
	for i := range 1000 {
		tools = append(tools, good(fmt.Sprintf("tool_%x_of_%x", i%30, i/30)))
		tools[i]["description"] = tools[i]["description"].(string) + many(10, fmt.Sprintf(" word%d%%d", i))
	}
	l := catalogOf(tools...)
	for b.Loop() {
		if _, err := registry.Lint(context.Background(), l, registry.Claude()); err != nil {
			b.Fatal(err)
		}
	}
}

// FuzzLint reads listings as they come from servers that nobody vouches for.
func FuzzLint(f *testing.F) {
	f.Add([]byte(`{"tools":[{"name":"a","inputSchema":{"type":"object","properties":{"b":{"$ref":"#/properties/b"}}}}]}`))
	f.Add([]byte(`[{"name":"a"},{"name":"A","description":"x","inputSchema":{"items":[null,{"$ref":"#"}],"anyOf":{}}}]`))
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"` + strings.Repeat("x", 300) + `","inputSchema":true,"outputSchema":[]}]}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		l, err := registry.ReadListing(bytes.NewReader(data))
		if err != nil {
			return
		}
		for _, p := range registry.Profiles() {
			r, err := registry.Lint(context.Background(), l, p)
			if err != nil {
				return
			}
			_ = r.String()
			var b bytes.Buffer
			require.NoError(t, r.WriteSARIF(&b, ""))
			require.True(t, json.Valid(b.Bytes()))
		}
		changes, err := registry.Diff(l, l)
		require.NoError(t, err)
		require.Empty(t, changes, "nothing has changed")
		last := &registry.Listing{Tools: slices.Clone(l.Tools)}
		slices.Reverse(last.Tools)
		_, err = registry.Diff(l, last)
		require.NoError(t, err)
	})
}
