package registry_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/steadymcp/steady/registry"
)

// described is what a description needs so that nobody has anything to say of it.
const described = `"description":"Does what it says, for the tests. Use it when a test needs it; returns what it was given.","annotations":{"readOnlyHint":true}`

// named is a tool of some name and a text of its own; texted is one of some
// description; shaped is one of some input schema; taking is one that takes a
// parameter.
func named(name string) string {
	return `{"name":"` + name + `","description":"Zig zag for the tests of ` + strings.Repeat(name+" ", 8) + `when one is due; returns it.","annotations":{"readOnlyHint":true},"inputSchema":{"type":"object","properties":{}}}`
}

func texted(description string) string {
	return `{"name":"look_up","description":"` + description + `","annotations":{"readOnlyHint":true},"inputSchema":{"type":"object","properties":{}}}`
}

func shaped(schema string) string {
	return `{"name":"look_up",` + described + `,"inputSchema":` + schema + `}`
}

func taking(name, schema string) string {
	return shaped(`{"type":"object","properties":{"` + name + `":` + schema + `}}`)
}

func hinted(name, description, annotations string) string {
	return `{"name":"` + name + `","description":"` + description + `","annotations":` + annotations + `,"inputSchema":{"type":"object","properties":{}}}`
}

// An edge is a listing in which a rule finds something, or in which it is not to.
type edge struct {
	rule  string
	found bool
	tools []string
}

func finds(rule string, tools ...string) edge { return edge{rule, true, tools} }
func spares(rule string, tools ...string) edge {
	return edge{rule, false, tools}
}

const text = `,"description":"x"}`

var lintEdges = []edge{
	spares("name-near-duplicate", named("convert_csv_to_json"), named("convert_json_to_csv")),
	spares("name-near-duplicate", named("group_add_user"), named("user_add_group")),
	spares("name-near-duplicate", named("get_plan"), named("get_plane")),
	finds("name-near-duplicate", named("order_get"), named("order_fetch")),
	finds("name-near-duplicate", named("get_cache"), named("get_caches")),
	finds("name-near-duplicate", named("get_status"), named("get_statuses")),
	finds("name-near-duplicate", named("order_lines_get"), named("get_order_line")),
	spares("name-folded-duplicate", named("read_file"), named("read_files")),
	spares("name-opaque", named("iso_27001_check")),
	spares("name-opaque", named("convert_mp4_to_mp3")),
	spares("name-opaque", named("log4j2_scan")),
	finds("name-opaque", named("report_12345")),
	finds("name-opaque", named("x7Kd9fQ2mL")),
	finds("name-opaque", named("run_123e4567-e89b-12d3-a456-426614174000")),

	finds("text-invisible", texted(`a\u2028b`)),
	finds("text-invisible", texted(`a\u0085b`)),
	finds("text-invisible", texted(`a\u3164b`)),
	finds("text-invisible", texted(`a\u061cb`)),
	finds("text-invisible", texted(`a\u034fb`)),
	finds("text-invisible", texted(`a\ufe01\ufe02b`)),
	finds("text-invisible", texted(`ж\u200d\u200cb`)),
	finds("text-invisible", texted(`a\udb40\udc41b`)),
	finds("text-invisible", texted(`\ud83c\udff4\udb40\udc41\udb40\udc41\udb40\udc41\udb40\udc41\udb40\udc41\udb40\udc41\udb40\udc41\udb40\udc41`)),
	finds("text-invisible", taking(`a\u200b`, `{"type":"string"`+text)),
	spares("text-invisible", texted(`\ud83c\udff4\udb40\udc67\udb40\udc62\udb40\udc65\udb40\udc6e\udb40\udc67\udb40\udc7f is a flag`)),
	spares("text-invisible", texted(`\u2764\ufe0f and \ud83d\udc69\u200d\ud83d\udc67 and \u0915\u094d\u200d\u0937`)),
	spares("text-invisible", texted(`two\nlines,\ta tab, a\u00a0blank`)),

	finds("tool-invalid", `{"name":"look_up",`+described+`,"inputSchema":{"type":"object","properties":{}},"outputSchema":null}`),
	finds("tool-invalid", `{"name":"look_up","title":null,`+described+`,"inputSchema":{"type":"object","properties":{}}}`),
	finds("tool-invalid", `{"name":"look_up","description":7,"inputSchema":{"type":"object","properties":{}}}`),
	finds("tool-invalid", hinted("look_up", "x", `null`)),
	finds("tool-invalid", hinted("look_up", "x", `{"readOnlyHint":"true"}`)),
	finds("tool-invalid", hinted("look_up", "x", `{"destructiveHint":null}`)),
	spares("tool-invalid", hinted("look_up", "x", `{"title":"x","readOnlyHint":true,"else":null}`)),
	finds("hint-missing", hinted("look_up", "x", `{"destructiveHint":null}`)),
	spares("hint-missing", hinted("look_up", "x", `{"destructiveHint":true}`)),

	finds("schema-invalid", shaped(`{"type":"object","properties":[]}`)),
	finds("schema-invalid", taking("a", `{"type":"string","required":true`+text)),
	finds("schema-invalid", taking("a", `{"type":"int"`+text)),
	finds("schema-invalid", taking("a", `{"type":["string","str"]`+text)),
	finds("schema-invalid", taking("a", `{"type":"integer","minimum":0,"exclusiveMinimum":true`+text)),
	finds("schema-invalid", taking("a", `{"anyOf":[]`+text)),
	finds("schema-invalid", taking("a", `"string"`)),
	finds("schema-invalid", taking("a", `{"type":"string","maxLength":-1`+text)),
	finds("schema-invalid", shaped(`{"type":"object","properties":{"a":{"$ref":"#/$defs/A"}},"$defs":{"A":{"type":"text"}}}`)),
	spares("schema-invalid", taking("a", `{"type":"string","enum":["string"],"default":{"type":"int"},"x-type":7,"minLength":0,"maximum":1e3`+text)),
	spares("schema-null", taking("a", `{"type":"string","x-order":null,"default":null`+text)),
	spares("schema-null", taking("a", `{"const":null`+text)),
	finds("schema-null", taking("a", `{"type":"string","enum":null`+text)),

	spares("name-folded-duplicate", named("a_bc"), named("abd")),
	spares("schema-root-combinator", shaped(`{"type":"object","properties":{"a":{"anyOf":[{"type":"string"}]`+text+`}}`)),
	finds("schema-root-value", shaped(`{"type":"object","properties":{},"not":{"required":["a"]}}`)),
	finds("schema-root-value", shaped(`{"type":"object","properties":{},"enum":[{}]}`)),
	spares("schema-root-value", taking("a", `{"type":"string","enum":["x"]`+text)),
	spares("schema-no-properties", shaped(`{"type":"object","properties":{}}`)),
	finds("schema-root-type", shaped(`{"type":["object","null"],"properties":{}}`)),
	spares("schema-nullable", shaped(`{"type":["object","null"],"properties":{}}`)),

	finds("schema-boolean", taking("a", `false`)),
	spares("schema-boolean", shaped(`{"type":"object","properties":{},"additionalProperties":false}`)),
	finds("schema-untyped", taking("a", `{"type":"array","items":{"description":"x"}`+text)),
	finds("schema-untyped", taking("a", `{"type":"array","items":{}`+text)),
	spares("schema-untyped", taking("a", `{"const":"x"`+text)),
	spares("schema-array-items", taking("a", `{"type":"array","items":{}`+text)),
	finds("schema-array-items", taking("a", `{"type":["array","string"]`+text)),
	finds("schema-array-items", shaped(`{"type":"object","properties":{"a":{"$ref":"#/$defs/A"}},"$defs":{"A":{"type":"object","properties":{"q":{"type":"array"}}}}}`)),
	spares("schema-array-items", taking("a", `{"type":"array","prefixItems":[{"type":"string"}]`+text)),
	finds("schema-tuple", taking("a", `{"type":"array","prefixItems":[{"type":"string"}]`+text)),
	spares("schema-tuple", taking("a", `{"type":"array","items":{"type":"string"}`+text)),

	finds("schema-implicit-type", taking("a", `{"properties":{}`+text)),
	finds("schema-implicit-type", taking("a", `{"enum":["x"]`+text)),
	finds("schema-implicit-type", taking("a", `{"items":{"type":"string"}`+text)),
	finds("schema-implicit-type", taking("a", `{"anyOf":[{"properties":{}},{"type":"string"}]`+text)),
	spares("schema-implicit-type", taking("a", `{"type":"object","properties":{},"anyOf":[{"properties":{}}],"if":{"properties":{}},"then":{"properties":{}}`+text)),
	spares("schema-implicit-type", taking("a", `{"$ref":"#/$defs/A","properties":{}`+text)),
	finds("schema-required-undeclared", shaped(`{"type":"object","properties":{},"required":["a"]}`)),
	finds("schema-required-undeclared", taking("a", `{"type":"array","items":{"type":"object","required":["b"]}`+text)),
	spares("schema-required-undeclared", shaped(`{"type":"object","properties":{"a":{"type":"string"`+text+`},"required":["a"],"anyOf":[{"required":["b"]}]}`)),
	spares("schema-required-undeclared", taking("a", `{"type":"object","properties":{},"allOf":[{"properties":{"b":{}}}],"required":["b"]`+text)),

	finds("schema-nullable", taking("a", `{"anyOf":[{"type":"string"},{"type":"integer"},{"type":"null"}]`+text)),
	finds("schema-nullable", taking("a", `{"oneOf":[{"type":["string","null"]},{"type":"integer"}]`+text)),
	finds("schema-nullable-container", taking("a", `{"type":["object","null"],"properties":{}`+text)),
	spares("schema-nullable-container", taking("a", `{"type":["string","null"]`+text)),
	spares("schema-nullable-container", taking("a", `{"type":"array","items":{"type":"string"}`+text)),
	spares("schema-nullable", taking("a", `{"type":"null"`+text)),
	spares("schema-type-union", taking("a", `{"type":["integer","number"]`+text)),
	spares("schema-type-union", taking("a", `{"anyOf":[{"type":"string","maxLength":3},{"type":"string","pattern":"x"}]`+text)),
	finds("schema-type-union", shaped(`{"type":"object","properties":{"a":{"anyOf":[{"$ref":"#/$defs/A"},{"type":"string"}]`+text+`},"$defs":{"A":{"type":"object","properties":{}}}}`)),
	spares("schema-enum-type", taking("a", `{"type":["string","null"],"enum":["x",null]`+text)),
	finds("schema-enum-type", taking("a", `{"type":"boolean","enum":[true]`+text)),
	spares("schema-enum-size", taking("a", `{"type":"string","enum":[`+many(100, `"v%d"`)+`]`+text)),

	finds("schema-ref", taking("a", `{"$dynamicRef":"#x"`+text)),
	finds("schema-ref", shaped(`{"type":"object","properties":{"a":{"$ref":"#x"`+text+`},"$defs":{"X":{"$anchor":"x","type":"string"}}}`)),
	spares("schema-ref", taking("a", `{"type":"object","properties":{"$ref":{"type":"string"}}`+text)),
	spares("schema-ref", taking("a", `{"type":"object","default":{"$ref":"#/x"}`+text)),
	finds("schema-ref-recursive", shaped(`{"type":"object","properties":{"a":{"$ref":"#"}}}`)),
	finds("schema-ref-recursive", shaped(`{"type":"object","properties":{"a":{"$ref":"#/$defs/A"}},"$defs":{"A":{"properties":{"b":{"$ref":"#/$defs/B"}}},"B":{"properties":{"a":{"$ref":"#/$defs/A"}}}}}`)),
	spares("schema-ref-recursive", shaped(`{"type":"object","properties":{"a":{"$ref":"#/$defs/A"},"b":{"$ref":"#/$defs/A"}},"$defs":{"A":{"type":"string"}}}`)),
	finds("schema-ref-unresolved", shaped(`{"type":"object","properties":{"a":{"$ref":"#/$defs/A"}},"$defs":{"A":{"properties":{"b":{"$ref":"#/$defs/Gone"}}}}}`)),
	finds("schema-ref-recursive", `{"name":"look_up",`+described+`,"inputSchema":{"type":"object","properties":{}},"outputSchema":{"type":"object","properties":{"a":{"$ref":"#"}}}}`),
	spares("output-root-type", `{"name":"look_up",`+described+`,"inputSchema":{"type":"object","properties":{}},"outputSchema":{"type":"object"}}`),

	finds("hint-contradiction", hinted("delete_order", "x", `{"readOnlyHint":true}`)),
	spares("hint-contradiction", hinted("remove_background", "x", `{"readOnlyHint":true}`)),
	spares("hint-contradiction", hinted("list_deleted_orders", "x", `{"readOnlyHint":true}`)),
	spares("destructive-unexplained", hinted("get_cancel_reasons", "Returns the reasons that customers may give, to be used when they ask for one.", `{}`)),
	finds("destructive-unexplained", hinted("order_cancel", "Cancels an order when its owner asks, and returns it in its new state.", `{}`)),
	spares("destructive-unexplained", hinted("order_cancel", "Cancels an order when its owner asks. It cannot be undone.", `{}`)),
	spares("destructive-unexplained", hinted("order_cancel", "Storniert eine Bestellung, wenn ihr Besteller darum bittet, und liefert sie zurück.", `{}`)),

	finds("list-unbounded", named("find_orders")),
	finds("list-unbounded", named("get_all_orders")),
	finds("list-unbounded", named("orders_list")),
	finds("list-unbounded", named("web_search")),
	finds("list-unbounded", named("listOrders")),
	spares("list-unbounded", named("list_allowed_directories")),
	spares("list-unbounded", named("find_path")),
	spares("list-unbounded", named("update_price_list")),
	spares("list-unbounded", named("save_search")),
	spares("list-unbounded", named("get_list_price")),
	spares("list-unbounded", strings.Replace(taking("after", `{"type":"string"`+text), "look_up", "list_orders", 1)),
	spares("list-unbounded", strings.Replace(taking("paging_options", `{"type":"object","properties":{"limit":{"type":"integer","maximum":5}}`+text), "look_up", "list_orders", 1)),
	spares("list-unbounded", strings.Replace(shaped(`{"type":"object","properties":{"request":{"$ref":"#/$defs/R"`+text+`},"$defs":{"R":{"type":"object","properties":{"limit":{"type":"integer","maximum":5}}}}}`), "look_up", "list_orders", 1)),
	finds("limit-unbounded", taking("limit", `{"anyOf":[{"type":"integer"},{"type":"null"}]`+text)),
	finds("limit-unbounded", taking("first", `{"type":"integer"`+text)),
	spares("limit-unbounded", taking("limit", `{"anyOf":[{"type":"integer","maximum":9},{"type":"null"}]`+text)),
	spares("limit-unbounded", taking("limit", `{"type":"integer","enum":[10,20]`+text)),
	spares("limit-unbounded", taking("limit", `{"type":"string"`+text)),

	spares("description-no-when", texted("Sucht einen Auftrag anhand seiner Nummer heraus und liefert seine Zeilen sowie den ganzen Verlauf bis heute.")),
	spares("description-no-result", texted("Busca un pedido por su clave, con sus líneas, el historial completo y los datos del comprador.")),
	spares("description-short", texted("根据订单号查询订单，返回订单的所有行以及历史记录。")),
	finds("description-short", texted("查询订单")),
	finds("description-no-when", texted("Reads the order of that number from the archive in the cellar and returns it to the model in full.")),
	finds("description-near-duplicate", hinted("aaa_b", "Get item", `{}`), hinted("ccc_d", "Get  ITEM", `{}`)),
	spares("description-near-duplicate", hinted("lock_door", "Use this tool when a user asks for a door to be locked for the night by the porter of the house", `{}`),
		hinted("unlock_door", "Use this tool when a user asks for a door to be unlocked for the night by the porter of the house", `{}`)),
	spares("description-missing", texted("x")),

	finds("parameter-description", taking("a", `{"type":"string","description":" "}`)),
	spares("parameter-description", shaped(`{"type":"object","properties":{"a":{"$ref":"#/$defs/A"}},"$defs":{"A":{"type":"string"`+text+`}}`)),
	finds("parameter-description", shaped(`{"type":"object","properties":{"a":{"$ref":"#/$defs/A"}},"$defs":{"A":{"type":"string"}}}`)),
	finds("parameter-unique-key", taking("idempotency_key", `{"type":"string","description":"A new one per request."}`)),
	finds("parameter-unique-key", taking("request_id", `{"type":"string","description":"Must be unique for each call"}`)),
	finds("parameter-unique-key", taking("request_id", `{"type":"string","description":"Generate a new UUID."}`)),
	finds("parameter-unique-key", taking("idempotency_key", `{"type":"string","description":"Must not be reused."}`)),
	spares("parameter-unique-key", taking("idempotency_key", `{"type":"string","description":"Unique key of the export; the same for every attempt."}`)),
	spares("parameter-unique-key", taking("idempotency_key", `{"type":"string","description":"Unique for each request; reuse it when you try again."}`)),
	spares("parameter-unique-key", taking("cursor", `{"type":"string","description":"New for each call."}`)),

	finds("parameter-credential", taking("github_token", `{"type":"string"`+text)),
	finds("parameter-credential", taking("db_password", `{"type":"string"`+text)),
	finds("parameter-credential", taking("openaiApiKey", `{"type":"string"`+text)),
	finds("parameter-credential", taking("X-API-Key", `{"type":"string"`+text)),
	finds("parameter-credential", taking("aws_secret_access_key", `{"type":"string"`+text)),
	finds("parameter-credential", taking("token", `{"type":"string","description":"Your token."}`)),
	finds("parameter-credential", taking("auth", `{"type":"object","properties":{"password":{"type":"string"}}`+text)),
	finds("parameter-credential", shaped(`{"type":"object","properties":{"login":{"$ref":"#/$defs/L"`+text+`},"$defs":{"L":{"type":"object","properties":{"password":{"type":"string"}}}}}`)),
	spares("parameter-credential", taking("max_tokens", `{"type":"integer"`+text)),
	spares("parameter-credential", taking("next_token", `{"type":"string"`+text)),
	spares("parameter-credential", taking("pageToken", `{"type":"string"`+text)),
	spares("parameter-credential", taking("client_token", `{"type":"string"`+text)),
	spares("parameter-credential", taking("password_length", `{"type":"integer"`+text)),
	spares("parameter-credential", taking("has_password", `{"type":"boolean"`+text)),
	spares("parameter-credential", taking("secret", `{"type":"string","description":"The name of the secret to rotate."}`)),
	spares("parameter-credential", taking("token", `{"type":"string","description":"The token's symbol, like ETH."}`)),
	spares("parameter-credential", taking("public_key", `{"type":"string"`+text)),
	spares("parameter-credential", taking("credential", `{"type":"string","enum":["oauth","key"]`+text)),
	finds("parameter-identity", taking("run_as", `{"type":"string"`+text)),
	spares("parameter-identity", taking("assigned_user", `{"type":"string"`+text)),
}

func TestLintEdges(t *testing.T) {
	t.Parallel()
	for _, c := range lintEdges {
		t.Run(fmt.Sprint(c.rule, " ", c.found, " ", c.tools[0]), func(t *testing.T) {
			t.Parallel()
			l := &registry.Listing{Server: "desk"}
			for _, tool := range c.tools {
				require.True(t, json.Valid([]byte(tool)), tool)
				l.Tools = append(l.Tools, json.RawMessage(tool))
			}
			r := lint(t, l, nil)
			require.Equal(t, c.found, slices.ContainsFunc(r.Findings, func(f registry.Finding) bool { return f.Rule == c.rule }), "%s", r)
		})
	}
}

// Every rule is tried in both directions: on a listing in which it finds
// something, and on one that comes near and has nothing for it.
func TestEveryRuleIsTriedBothWays(t *testing.T) {
	t.Parallel()
	spared := map[string]bool{}
	for _, e := range lintEdges {
		spared[e.rule] = spared[e.rule] || !e.found
	}
	// In TestLintRules, TestLintCatalog and below the rules have neighbours that
	// they spare, or the good tool is one.
	elsewhere := []string{"name-pattern", "name-prefix-budget", "name-collision-ends", "name-duplicate", "schema-missing", "schema-root-type",
		"schema-ref-unresolved", "schema-format", "schema-property-key", "description-long", "instructions-long", "tools-too-many",
		"budget-tool", "budget-total", "catalog-crud", "exception-unused", "exception-unreasoned"}
	for _, rule := range registry.Rules() {
		require.NotEqual(t, spared[rule.ID], slices.Contains(elsewhere, rule.ID), rule.ID)
	}
}

// What a client keeps of long names decides, and nothing else does, where names
// are cut and not refused.
func TestCutNames(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("very_long_", 6)
	for _, c := range []struct {
		server, a, b string
		found        bool
	}{
		{"desk", long + "a", long + "b", true},
		{"desk", "a" + long, "b" + long, false},
		{"a_server_whose_name_is_long", "short_one", "other_short", false},
		{"a_server_whose_name_is_long", strings.Repeat("x", 46) + "a", strings.Repeat("x", 46) + "b", true}, // 4 + 13 + 1 + 46
		{"a_server_whose_name_is_long", strings.Repeat("x", 45) + "a", strings.Repeat("x", 45) + "b", false},
	} {
		p := registry.VSCode()
		p.Server = c.server
		r := lint(t, catalogOf(good(c.a), good(c.b)), p)
		require.Equal(t, c.found, slices.ContainsFunc(r.Findings, func(f registry.Finding) bool { return f.Rule == "name-collision-ends" }), "%v %s", c, r)
		require.NotContains(t, r.String(), "name-prefix-budget")
	}
}

// Limits on texts are in characters, as clients count.
func TestCharactersAreCounted(t *testing.T) {
	t.Parallel()
	for n, want := range map[int][]string{1024: nil, 1025: {"warning description-long"}} {
		d := "Use it, it returns "
		r := lint(t, catalogOf(with("look_up", `{"description":"`+d+strings.Repeat("ä", n-len(d))+`"}`)), registry.OpenAI())
		require.Equal(t, want, ruleIDs(r))
	}
}

// Listings of servers that nobody vouches for cost what they weigh.
func TestHostileListings(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var definitions []string
	for i := range 14 {
		var properties []string
		for j := range 6 {
			properties = append(properties, fmt.Sprintf(`"p%d":{"$ref":"#/$defs/D%d"}`, j, i+1))
		}
		definitions = append(definitions, fmt.Sprintf(`"D%d":{"properties":{%s}}`, i, strings.Join(properties, ",")))
	}
	fanOut := shaped(`{"type":"object","properties":{"x":{"$ref":"#/$defs/D0"}},"$defs":{` + strings.Join(definitions, ",") + `,"D14":{"type":"string"}}}`)
	var alike []string
	for i := range 1000 {
		alike = append(alike, hinted(fmt.Sprint("tool_", i), "The same text for each of the many tools that there are here", `{}`))
	}
	for what, l := range map[string]*registry.Listing{
		"references that fan out": listingOf(fanOut),
		"one description":         listingOf(alike...),
		"many references":         listingOf(shaped(`{"type":"object","properties":{` + many(3000, `"p%d":{"$ref":"#/$defs/D%[1]d"}`) + `},"$defs":{` + many(3000, `"D%d":{}`) + `}}`)),
	} {
		r, err := registry.Lint(ctx, l, registry.Claude())
		require.NoError(t, err, what)
		require.Less(t, len(r.Findings), 5*3000, what)
	}
	cancel()
	_, err := registry.Lint(ctx, listingOf(alike...), nil)
	require.ErrorIs(t, err, context.Canceled)
}

// Whatever a server calls its tools, a report is made of its own lines.
func TestReportsAreNotForged(t *testing.T) {
	t.Parallel()
	evil := "a\x1b[2J\n  error    name-pattern: forged\u202e"
	data, err := json.Marshal(evil)
	require.NoError(t, err)
	l := listingOf(`{"name":` + string(data) + `,"inputSchema":{"type":"object","properties":{` + string(data) + `:{"type":["null","array"]}}}}`)
	l.Server = evil
	text := lint(t, l, registry.Claude()).String()
	for _, line := range strings.Split(text, "\n") {
		require.False(t, strings.HasPrefix(line, "  error    name-pattern: forged"), text)
	}
	require.NotContains(t, text, "\x1b")
	require.NotContains(t, text, "\u202e")
}

func TestExceptionForARuleThatDoesNotExist(t *testing.T) {
	t.Parallel()
	p := registry.Generic()
	p.Exceptions = []registry.Exception{{Rule: "schema-nulable", Reason: "a slip"}}
	r := lint(t, catalogOf(good("look_up")), p)
	require.Len(t, r.Findings, 1)
	require.Contains(t, r.Findings[0].Message, `there is no rule "schema-nulable"`)
}
