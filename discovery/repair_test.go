package discovery

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
)

func TestRepairNestedValues(t *testing.T) {
	t.Parallel()
	const tree = `{"type":"object","additionalProperties":false,"required":["edits"],"properties":{"edits":{"type":"array","items":{"$ref":"#/$defs/edit"}},"options":{"anyOf":[{"$ref":"#/$defs/options"},{"type":"null"}]}},
		"$defs":{"edit":{"type":"object","additionalProperties":false,"required":["old_text","new_text"],"properties":{"old_text":{"type":"string"},"new_text":{"type":"string"},"count":{"type":["integer","null"]},"next":{"$ref":"#/$defs/edit"}}},
		"options":{"type":"object","additionalProperties":false,"properties":{"mode":{"enum":["dry-run","apply"]},"depth":{"type":"integer"}}}}}`
	runRepairTests(t, []repairTest{
		{name: "keys and numbers in a list", schema: tree, given: `{"edits":[{"oldText":"a","newText":"b","count":"9007199254740993"}]}`, want: `{"edits":[{"old_text":"a","new_text":"b","count":9007199254740993}]}`},
		{name: "a recursive reference", schema: tree, given: `{"edits":[{"old_text":"a","new_text":"b","next":{"oldText":"c","new_text":"d","next":"{\"old_text\":\"e\",\"newText\":\"f\"}"}}]}`,
			want: `{"edits":[{"old_text":"a","new_text":"b","next":{"old_text":"c","new_text":"d","next":{"old_text":"e","new_text":"f"}}}]}`},
		{name: "through anyOf with null", schema: tree, given: `{"edits":[],"options":{"Mode":"DRY_RUN","depth":"3"}}`, want: `{"edits":[],"options":{"mode":"dry-run","depth":3}}`},
		{name: "one object for a list of them", schema: tree, given: `{"edits":{"old_text":"a","new_text":"b"}}`, want: `{"edits":[{"old_text":"a","new_text":"b"}]}`},
		{name: "null in a type list stays", schema: tree, given: `{"edits":[{"old_text":"a","new_text":"b","count":null}]}`},
		{name: "what fails is named by its path", schema: tree, given: `{"edits":[{"old_text":"a","new_text":"b"},{"old_text":"a","replacement":7}]}`, want: refusing, says: "/edits/1/replacement"},
		{name: "null for an object that may be null", schema: tree, given: `{"edits":[],"options":null}`},
	})
}

func TestRepairUnions(t *testing.T) {
	t.Parallel()
	const union = `{"type":"object","additionalProperties":false,"properties":{"a":{"oneOf":[{"type":"integer"},{"type":"boolean"}]},"b":{"type":["string","integer"]},"c":{"oneOf":[{"type":"integer"},{"type":"null"}]},"d":{"type":["null","boolean"]}}}`
	runRepairTests(t, []repairTest{
		{name: "several branches are not guessed among", schema: union, given: `{"a":"true"}`, want: refusing, says: `/a: sent the string "true", wanted an integer or a boolean. Next: correct the arguments and call do_it again, for example with {}.`},
		{name: "text is legal beside a number", schema: union, given: `{"b":"5"}`},
		{name: "one branch beside null", schema: union, given: `{"c":"5"}`, want: `{"c":5}`},
		{name: "one type beside null", schema: union, given: `{"d":"False"}`, want: `{"d":false}`},
	})
}

func TestRepairNumbers(t *testing.T) {
	t.Parallel()
	const numbers = `{"type":"object","additionalProperties":false,"properties":{"i":{"type":"integer"},"n":{"type":"number"},"s":{"type":"string"},"e":{"enum":[1,2]}}}`
	runRepairTests(t, []repairTest{
		{name: "beyond 2^53", schema: numbers, given: `{"i":"9007199254740993","n":"0.1000000000000000055511151231257827"}`, want: `{"i":9007199254740993,"n":0.1000000000000000055511151231257827}`},
		{name: "digits that came stay", schema: numbers, given: `{"i":9223372036854775807,"n":"-1.5e3"}`, want: `{"i":9223372036854775807,"n":-1.5e3}`},
		{name: "raw digits for text", schema: numbers, given: `{"s":12345678901234567890}`, want: `{"s":"12345678901234567890"}`},
		{name: "a fraction for text", schema: numbers, given: `{"s":1.50}`, want: refusing, says: "/s"},
		{name: "a fraction in text for an integer", schema: numbers, given: `{"i":"1.5"}`, want: refusing, says: "/i"},
		{name: "leading zero", schema: numbers, given: `{"i":"007"}`, want: refusing, says: "/i"},
		{name: "plus", schema: numbers, given: `{"i":"+7"}`, want: refusing, says: "/i"},
		{name: "comma", schema: numbers, given: `{"n":"15,00"}`, want: refusing, says: "/n"},
		{name: "minus zero", schema: numbers, given: `{"n":"-0"}`, want: refusing, says: "/n"},
		{name: "a member that is a number", schema: numbers, given: `{"e":"2"}`, want: `{"e":2}`},
	})
}

func TestRepairEmptyValues(t *testing.T) {
	t.Parallel()
	const empties = `{"type":"object","additionalProperties":false,"required":["r"],"properties":{"r":{"type":"string"},"s":{"type":"string"},"d":{"type":"string","format":"date"},"e":{"enum":["x"]},"i":{"type":"integer"},"o":{"type":"object"}}}`
	runRepairTests(t, []repairTest{
		{name: "null where it is optional", schema: empties, given: `{"r":"a","s":null,"i":null,"o":null}`, want: `{"r":"a"}`},
		{name: "null where it is required", schema: empties, given: `{"r":null}`, want: refusing, says: "/r: sent null"},
		{name: "empty text where it means nothing", schema: empties, given: `{"r":"a","e":"","i":"","o":""}`, want: `{"r":"a"}`},
		{name: "empty text where it is a value", schema: empties, given: `{"r":"","s":""}`},
	})
}

func TestRepairConfirmations(t *testing.T) {
	t.Parallel()
	const flags = `{"type":"object","additionalProperties":false,"required":["id"],"properties":{"id":{"type":"integer"},"confirm":{"type":"boolean"},"dry_run":{"type":"boolean"},"name":{"type":"string"}}}`
	const open = `{"type":"object","required":["id"],"properties":{"id":{"type":"integer"},"dry_run":{"type":"boolean"},"skip_confirmation":{"type":"boolean"},"permanent":{"type":"boolean"}}}`
	const needed = `{"type":"object","additionalProperties":false,"required":["id","confirm"],"properties":{"id":{"type":"integer"},"confirm":{"type":"boolean"}}}`
	runRepairTests(t, []repairTest{
		{name: "true in text", kind: "D", schema: flags, given: `{"id":1,"confirm":"true"}`, want: refusing, says: "/confirm"},
		{name: "by another name", kind: "D", schema: flags, given: `{"id":1,"confirmed":true}`, want: refusing, says: "/confirmed"},
		{name: "by another spelling", kind: "D", schema: flags, given: `{"id":1,"Confirm":true}`, want: refusing, says: "/Confirm"},
		{name: "what acts when it is false", kind: "D", schema: flags, given: `{"id":1,"dry_run":"false"}`, want: refusing, says: "/dry_run"},
		{name: "towards doing nothing", kind: "D", schema: flags, given: `{"id":1,"dryRun":true,"CONFIRM":false}`, want: `{"id":1,"dry_run":true,"confirm":false}`},
		{name: "in text, towards doing nothing", kind: "D", schema: flags, given: `{"id":1,"dry_run":"True","confirm":"false"}`, want: `{"id":1,"dry_run":true,"confirm":false}`},
		{name: "no boolean in text", kind: "D", schema: flags, given: `{"id":1,"dry_run":"yes"}`, want: refusing, says: `for example with {"id":1,"dry_run":true}`},
		{name: "another spelling and in text", kind: "D", schema: flags, given: `{"id":1,"dryRun":"true"}`, want: refusing, says: `{"id":1,"dry_run":true}`},
		{name: "null", kind: "D", schema: flags, given: `{"id":1,"dry_run":null}`, want: refusing, says: `{"id":1,"dry_run":true}`},
		{name: "empty", kind: "D", schema: flags, given: `{"id":1,"dry_run":""}`, want: refusing, says: `{"id":1,"dry_run":true}`},
		{name: "a number", kind: "D", schema: flags, given: `{"id":1,"confirm":1}`, want: refusing, says: `{"id":1,"confirm":false}`},
		{name: "a list", kind: "D", schema: flags, given: `{"id":1,"confirm":[true]}`, want: refusing, says: `{"id":1,"confirm":false}`},
		{name: "misspelt", kind: "D", schema: flags, given: `{"id":1,"dry_rnu":true}`, want: refusing, says: `{"id":1,"dry_run":true}`},
		{name: "by another word", kind: "D", schema: flags, given: `{"id":1,"simulate":true}`, want: refusing, says: `{"id":1,"dry_run":true}`},
		{name: "unknown to the tool", kind: "D", schema: needed, given: `{"id":1,"confirm":true,"dry_run":true}`, want: refusing, says: `{"id":0,"confirm":false}`},
		{name: "ignored by a repair of something else", kind: "D", schema: open, given: `{"ID":1,"simulate":true}`, want: refusing, says: `/simulate`},
		{name: "overlooked by an open schema", kind: "D", schema: open, given: `{"id":1,"dryRun":true}`, want: refusing, says: `{"id":1,"dry_run":true}`},
		{name: "what an open schema admits besides", kind: "D", schema: open, given: `{"id":1,"note":true,"yes":true}`},
		{name: "skip_confirmation", kind: "D", schema: open, given: `{"id":1,"skip_confirmation":"true"}`, want: refusing, says: `"skip_confirmation":false`},
		{name: "permanent", kind: "D", schema: open, given: `{"id":1,"permanent":null}`, want: refusing, says: `"permanent":false`},
		{name: "a required dry run", kind: "D", schema: `{"type":"object","required":["id","dry_run"],"properties":{"id":{"type":"integer"},"dry_run":{"type":"boolean"}}}`, given: `{"id":1}`, want: refusing, says: `"dry_run":true`},
		{name: "never invented", kind: "D", schema: needed, given: `{"id":1,"value":true}`, want: refusing, says: "/confirm is required"},
		{name: "the rest is mended", kind: "D", schema: flags, given: `{"ID":"1","confirm":true}`, want: `{"id":1,"confirm":true}`},
		{name: "a tool that destroys nothing", kind: "W", schema: flags, given: `{"id":1,"confirm":"true"}`, want: `{"id":1,"confirm":true}`},
	})
}

func TestRepairKeys(t *testing.T) {
	t.Parallel()
	closed := func(props string, required ...string) string {
		r, _ := json.Marshal(append([]string{}, required...))
		return `{"type":"object","additionalProperties":false,"required":` + string(r) + `,"properties":{` + props + `}}`
	}
	str := func(names ...string) string {
		var parts []string
		for _, n := range names {
			parts = append(parts, `"`+n+`":{"type":"string"}`)
		}
		return strings.Join(parts, ",")
	}
	runRepairTests(t, []repairTest{
		{name: "affixes", schema: closed(str("path")), given: `{"param_path":"a"}`, want: `{"path":"a"}`},
		{name: "quotes and colons", schema: closed(str("path")), given: `{"\"path\":":"a"}`, want: `{"path":"a"}`},
		{name: "plural", schema: closed(str("query")), given: `{"queries":"a"}`, want: `{"query":"a"}`},
		{name: "a typing error", schema: closed(str("description")), given: `{"descritpion":"a"}`, want: `{"description":"a"}`},
		{name: "id for the one id", schema: closed(str("paper_id", "note"), "paper_id"), given: `{"id":"a"}`, want: `{"paper_id":"a"}`},
		{name: "id for one of two", schema: closed(str("paper_id", "author_id")), given: `{"id":"a"}`, want: refusing, says: "/id"},
		{name: "paperId", schema: closed(str("paper_id")), given: `{"paperId":"a"}`, want: `{"paper_id":"a"}`},
		{name: "file", schema: closed(str("path")), given: `{"filename":"a"}`, want: `{"path":"a"}`},
		{name: "two spellings, one value", schema: closed(str("path")), given: `{"path":"a","Path":"a"}`, want: `{"path":"a"}`},
		{name: "two spellings, two values", schema: closed(str("path")), given: `{"path":"a","Path":"b"}`, want: refusing, says: "a second value"},
		{name: "opposites", schema: closed(str("start_date", "end_date")), given: `{"date":"a"}`, want: refusing, says: "/date"},
		{name: "a customer is no subscription", schema: closed(str("subscription"), "subscription"), given: `{"customer":"a"}`, want: refusing, says: "/customer"},
		{name: "credentials by a typing error", schema: closed(str("password"), "password"), given: `{"pasword":"a"}`, want: refusing, says: "/pasword"},
		{name: "a page token is no credential", schema: closed(str("page_token")), given: `{"cursor":"a"}`, want: `{"page_token":"a"}`},
		{name: "a declared alias", schema: closed(str("query")), given: `{"needle":"a"}`, want: `{"query":"a"}`, aliases: map[string]string{"Needle": "query"}},
		{name: "an unknown filter is not dropped", kind: "D", schema: closed(str("path"), "path"), given: `{"path":"a","only_if_empty":true}`, want: refusing, says: "/only_if_empty"},
		{name: "a key twice", schema: closed(str("path")), given: `{"path":"a","path":"b"}`, want: refusing, says: "appears twice"},
		{name: "an open object may have more", schema: `{"type":"object","required":["query"],"properties":{"query":{"type":"string"},"limit":{"type":"integer"}}}`, given: `{"question":"a","max":"5"}`, want: `{"query":"a","max":"5"}`},
		{name: "two wrappers", schema: closed(str("path"), "path"), given: `{"arguments":{"params":{"path":"a"}}}`, want: `{"path":"a"}`},
		{name: "a wrapper of JSON text", schema: closed(str("path"), "path"), given: `{"input":"{\"path\":\"a\"}"}`, want: `{"path":"a"}`},
		{name: "undeclared keys beside what is missing", kind: "D", schema: `{"type":"object","required":["repo_path","files"],"properties":{"repo_path":{"type":"string"},"files":{"type":"array","items":{"type":"string"}}}}`, given: `{"path":"/r","paths":["a"]}`,
			want: refusing, says: `/path: sent an undeclared parameter, wanted one of repo_path, files; /paths: sent an undeclared parameter, wanted one of repo_path, files`},
		{name: "no wrapper", schema: closed(str("path"), "path"), given: `{"data":{"colour":"red"}}`, want: refusing, says: "/data"},
	})
}

// A key is given only to what it must mean: an attribute is no identifier, a
// folder no file, a number of seconds no number of milliseconds.
func TestRepairNeverChangesWhatIsMeant(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ tool, sent, prop string }{
		{"delete_file", "file_type", "file_id"}, {"delete_file", "file_path", "file_id"}, {"delete_file", "file", "file_id"}, {"delete_file", "folder_id", "file_id"},
		{"delete_user", "user_address", "user_id"}, {"delete_user", "username", "user_id"}, {"delete_user", "user_list", "user_id"}, {"delete_user_address", "user_id", "address_id"},
		{"delete_customer", "customer_name", "customer_id"}, {"delete_customer", "name", "customer_id"}, {"cancel_order", "order_number", "order_id"},
		{"close_issue", "number", "issue_id"}, {"close_issue", "issue_number", "issue_id"}, {"delete_role", "role_name", "role_id"}, {"delete_branch", "commit", "branch"},
		{"delete_file", "folder", "file"}, {"delete_file", "directory", "file_path"}, {"delete_folder", "file", "path"}, {"run_job", "timeout", "timeout_ms"}, {"run_job", "timeout_seconds", "timeout_ms"},
		{"run_job", "duration", "time"}, {"set_state", "disabled", "enabled"}, {"set_filter", "not_include", "include"}, {"add_child", "child_id", "parent_id"}, {"book_room", "guest_id", "room_id"},
	} {
		for _, readOnly := range []bool{true, false} {
			schema := `{"type":"object","additionalProperties":false,"required":["` + tt.prop + `"],"properties":{"` + tt.prop + `":{"type":"string"}}}`
			tool := &mcp.Tool{Name: tt.tool, InputSchema: json.RawMessage(schema), Annotations: &mcp.ToolAnnotations{ReadOnlyHint: readOnly}}
			_, _, err := Repair(tool, json.RawMessage(`{"`+tt.sent+`":"v"}`), quiet)
			if readOnly && (tt.sent == "file" || tt.sent == "folder") {
				continue // what is only read may be reached by a likely name
			}
			require.Error(t, err, "%+v", tt)
			if tt.sent != "file" {
				require.NotContains(t, err.Error(), `:"v"`, "%+v", tt)
			}
		}
	}
	runRepairTests(t, []repairTest{
		{name: "id for the one id of a tool that destroys", kind: "D", schema: `{"type":"object","additionalProperties":false,"required":["file_id"],"properties":{"file_id":{"type":"string"}}}`, given: `{"id":"a"}`, want: `{"file_id":"a"}`},
	})
}

// What cannot be enforced passes.
func TestRepairLeavesAlone(t *testing.T) {
	t.Parallel()
	for _, schema := range []any{
		json.RawMessage(`{"type":"object","properties":{"a":{"$ref":"https://example.com/a.json"}}}`), // another document
		json.RawMessage(`{"type":7}`),
		make(chan int),
		(*jsonschema.Schema)(nil),
	} {
		got, changes, err := Repair(&mcp.Tool{Name: "x", InputSchema: schema}, json.RawMessage(`{"a":"5"}`), quiet)
		require.NoError(t, err)
		require.Empty(t, changes)
		require.Equal(t, `{"a":"5"}`, string(got))
	}
	_, _, err := Repair(nil, nil, nil)
	require.NoError(t, err)
	deep := json.RawMessage(strings.Repeat(`{"a":`, 70) + `1` + strings.Repeat(`}`, 70))
	many := json.RawMessage(`{"a":[0` + strings.Repeat(",0", maxNodes) + `]}`)
	for _, args := range []json.RawMessage{deep, many} {
		got, changes, err := Repair(&mcp.Tool{Name: "x", InputSchema: json.RawMessage(`{"type":"object"}`)}, args, quiet)
		require.NoError(t, err)
		require.Empty(t, changes)
		require.Equal(t, string(args), string(got))
		_, _, err = Repair(&mcp.Tool{Name: "x", InputSchema: json.RawMessage(`{"type":"object","required":["b"]}`)}, args, quiet)
		require.ErrorContains(t, err, "too ")
		require.NotContains(t, err.Error(), "not valid JSON")
	}
	large := json.RawMessage(`{"a":"` + strings.Repeat("x", maxArguments) + `"}`)
	got, _, err := Repair(&mcp.Tool{Name: "x", InputSchema: json.RawMessage(`{"type":"object","additionalProperties":false}`)}, large, quiet)
	require.NoError(t, err)
	require.Len(t, got, len(large))
}

// However much is wrong, the work stays in proportion to what was sent, and the
// answer short.
func TestRepairManyMistakes(t *testing.T) {
	t.Parallel()
	keys := func(n int) string {
		var b strings.Builder
		b.WriteString(`{"limit":"5"`)
		for i := range n {
			fmt.Fprintf(&b, `,"k%07d":1`, i)
		}
		return b.String() + "}"
	}
	const closed = `{"type":"object","additionalProperties":false,"required":["query"],"properties":{"query":{"type":"string"},"limit":{"type":"integer"},"tags":{"type":"array","items":{"type":"string"}}}}`
	open := strings.Replace(closed, `"additionalProperties":false,`, "", 1)
	for _, tt := range []struct{ name, schema, given, says string }{
		{"unknown keys", closed, keys(20_000), "20000 unknown parameters"},
		{"unknown keys of an open object", open, keys(20_000), "/query is required"},
		{"numbers for texts", closed, `{"query":"a","tags":[1` + strings.Repeat(",1", 40_000) + `]}`, "64 or more mistakes"},
		{"objects for texts", closed, `{"query":"a","tags":[{}` + strings.Repeat(",{}", 40_000) + `]}`, "and 59 more"},
	} {
		tool := &mcp.Tool{Name: "search_papers", InputSchema: json.RawMessage(tt.schema)}
		got, changes, err := Repair(tool, json.RawMessage(tt.given), quiet)
		require.ErrorContains(t, err, tt.says, tt.name)
		require.Less(t, len(err.Error()), 4000, tt.name)
		require.Empty(t, changes)
		require.Equal(t, tt.given, string(got))
	}
	valid := strings.Replace(keys(20_000), `"limit":"5"`, `"limit":5,"query":"a"`, 1)
	got, _, err := Repair(&mcp.Tool{Name: "search_papers", InputSchema: json.RawMessage(open)}, json.RawMessage(valid), quiet)
	require.NoError(t, err)
	require.Equal(t, valid, string(got))
}

// A refusal names no Go type, repeats no secret, and gives a call to copy.
func TestRefusals(t *testing.T) {
	t.Parallel()
	schema := json.RawMessage(`{"type":"object","additionalProperties":false,"required":["query","sort","api_key"],"properties":{"query":{"type":"string"},"sort":{"enum":["newest","oldest"]},"limit":{"type":"integer"},"api_key":{"type":"string"},"ids":{"type":"array","items":{"type":"integer"}}}}`)
	_, _, err := Repair(&mcp.Tool{Name: "search_papers", InputSchema: schema}, json.RawMessage(`{"query":"rag","sort":"newst!","limt":"ten","api_key":["s3cret"],"ids":[1,"x"]}`), quiet)
	require.Error(t, err)
	msg := err.Error()
	for _, want := range []string{
		`"search_papers"`, `/sort: sent the string "newst!", wanted one of "newest", "oldest", nearest is "newest"`, `/limit: sent the string "ten", wanted an integer`, `/api_key: sent an array, wanted a string`,
		`/ids/1: sent the string "x", wanted an integer`, `for example with {"query":"rag","sort":"newest","api_key":"`,
	} {
		require.Contains(t, msg, want)
	}
	require.NotContains(t, msg, "s3cret")
	require.NotContains(t, msg, "Go struct")
}

func TestCredentialLike(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"token": true, "api_key": true, "apiKey": true, "access_token": true, "client_secret": true, "password": true, "auth": true, "private_key": true,
		"page_token": false, "nextToken": false, "max_tokens": false, "key": false, "issue_key": false, "author": false, "token_count": true,
	} {
		require.Equal(t, want, credentialLike(split(name)), name)
	}
}

func TestSingular(t *testing.T) {
	t.Parallel()
	for plural, want := range map[string]string{
		"papers": "paper", "queries": "query", "indices": "index", "branches": "branch", "statuses": "status", "status": "status", "boxes": "box", "people": "person", "analysis": "analysis",
		"classes": "class", "releases": "release", "sizes": "size", "movies": "movie", "dns": "dns", "prs": "pr", "news": "news", "caches": "cache", "ids": "id", "address": "address", "gas": "gas",
	} {
		got, _ := singular(plural)
		require.Equal(t, want, got, plural)
	}
}

func TestSplit(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"search_papers": "search papers", "searchPapers": "search papers", "getHTTPStatus": "get http status", "API-get-user": "api get user", "listIDs": "list ids", "getURLsOfPage": "get urls of page",
		"mouse_click_xy": "mouse click xy", "s3ListBuckets": "s3 list buckets", "a.b/c:d e": "a b c d e", "": "", "__": "", "Über_Prüfung": "über prüfung", "v2Search": "v2 search", "ABC": "abc",
	} {
		require.Equal(t, want, strings.Join(split(name), " "), name)
	}
}

// A server that leaves a schema out has not said that nothing fits.
func TestRepairWithoutASchema(t *testing.T) {
	t.Parallel()
	for _, schema := range []any{nil, json.RawMessage("null"), (*jsonschema.Schema)(nil), (map[string]any)(nil)} {
		out, changes, err := Repair(&mcp.Tool{Name: "x", InputSchema: schema}, json.RawMessage(`{"a": 1}`), nil)
		require.NoError(t, err)
		require.Empty(t, changes)
		require.Equal(t, `{"a": 1}`, string(out))
	}
}
