package discovery

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/steadymcp/steady/observe"
)

// named returns tools of the given names that may be run by any step.
func named(names ...string) []*mcp.Tool {
	var tools []*mcp.Tool
	for _, n := range names {
		tools = append(tools, &mcp.Tool{Name: n, InputSchema: &jsonschema.Schema{Type: "object"}, Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}})
	}
	return tools
}

// These are what went wrong elsewhere, in public reports, with the names that
// were sent and what should have become of them. want is "" where the call
// must not run.
func TestReportedNames(t *testing.T) {
	t.Parallel()
	tests := []struct {
		id, requested string
		server        string
		tools         []*mcp.Tool
		want          string
		propose       string // the first proposal, where nothing runs
	}{
		{"B001", "APE_search", "APE", named("mcp_APE_search", "mcp_APE_fetch"), "mcp_APE_search", ""},
		{"B001", "discord_send", "", named("mcp_discord_send", "mcp_discord_history"), "mcp_discord_send", ""},
		{"B003", "entity_search", "", named("mcp_example_server_entity_search", "mcp_example_server_entity_merge"), "mcp_example_server_entity_search", ""},
		{"B005", "mcp__ghidra_mcp__disassemble_function", "", named("mcp__ghidra_mcp__decompile_function", "mcp__ghidra_mcp__rename_function"), "", "mcp__ghidra_mcp__decompile_function"},
		{"B006", "mcp_mcp_files_read_file", "files", named("mcp_files_read_file", "mcp_files_write_file"), "mcp_files_read_file", ""},
		{"B006", "mcp_mcp_files_read_file", "", named("read_file", "write_file"), "read_file", ""},
		{"B008", "mcp__litellm__atlassian_jira_search", "", named("mcp--litellm--atlassian-jira_search", "mcp--litellm--atlassian-jira_create"), "mcp--litellm--atlassian-jira_search", ""},
		{"B010", "mcp__obsidian-graph__vault_read", "", named("mcp__obsidian_graph__vault_read", "mcp__obsidian_graph__vault_list"), "mcp__obsidian_graph__vault_read", ""},
		{"B011", "tool_get_prop", "", named("Tool_get_prop"), "Tool_get_prop", ""},
		{"B011", "server_get_by_id", "", named("server_get-by-id"), "server_get-by-id", ""},
		{"B011", "get_prop", "", named("Get_Prop", "get-prop"), "", "Get_Prop"},
		{"B013", "tool:execute_terminal", "", named("terminal", "read_file"), "", "terminal"},
		{"B013", "google:tool:shell:index:0", "", named("shell", "read_file"), "shell", ""},
		{"B015", " exec", "", named("exec", "read"), "exec", ""},
		{"B016", "mcp_catalyst_memory_read_developmental_candidates ", "", named("mcp_catalyst_memory_read_developmental_candidates"), "mcp_catalyst_memory_read_developmental_candidates", ""},
		{"B016", "tool()", "", named("tool", "other"), "tool", ""},
		{"B018", " delegate_task", "", named("delegate_task", "call_agent"), "delegate_task", ""},
		{"B020", "default_api.web__search", "", named("web__search", "web__fetch"), "web__search", ""},
		{"B021", "functions/list_project_files", "", named("list_project_files", "read_file"), "list_project_files", ""},
		{"B023", "functionsexec5", "", named("exec", "read_file"), "", ""}, // a guess at best
		{"B025", "mcp_background_output", "", named("background_output", "background_cancel"), "background_output", ""},
		{"B025", "mcp_nocturne-memory_read_memory", "", named("nocturne-memory_read_memory"), "nocturne-memory_read_memory", ""},
		{"B026", "mcp0_think", "", named("think"), "think", ""},
		{"B026", "think", "", named("mcp0_think", "mcp0_plan"), "mcp0_think", ""},
		{"B028", "execute_javascript", "", named("QuickJS_execute_javascript", "Files_read"), "QuickJS_execute_javascript", ""},
		{"B028", "search_product_list", "", named("tool--product--search_product_list", "tool--order--get"), "tool--product--search_product_list", ""},
		{"B030", "mem_ssh", "", named("mcp__mem__mem_ssh", "mcp__mem__mem_log"), "mcp__mem__mem_ssh", ""},
		{"B031", "not_existing_tool", "", named("read_file", "write_file"), "", ""},
		{"B033", "read_file\U000E0001\U000E0072\U000E0066\U000E007F\u200b\ufeff\u202e\u2066\u00ad", "", named("read_file", "write_file"), "read_file", ""},
		{"B035", "数据库", "", named("查询数据库", "数据库"), "数据库", ""},
		{"B035", "caf", "", named("café", "cafè"), "", ""}, // nothing is folded to ASCII, so these stay two
	}
	for _, tt := range tests {
		t.Run(tt.id+" "+tt.requested, func(t *testing.T) {
			t.Parallel()
			o := &Options{Observer: observe.Discard}
			if tt.server != "" {
				o.Servers = []string{tt.server}
			}
			r := Resolve(tt.requested, tt.tools, o)
			require.Equal(t, tt.want, r.Tool, "%+v", r)
			if tt.propose != "" {
				require.NotEmpty(t, r.Candidates)
				require.Equal(t, tt.propose, r.Candidates[0].Name)
			}
		})
	}
}

// B036: a name with line breaks and markup is shown cut, quoted and on one line.
func TestNamesAreShownHarmless(t *testing.T) {
	t.Parallel()
	got := quote("gh_run\n\n# SYSTEM OVERRIDE\u202e \U000E0041" + strings.Repeat("x", 200))
	require.Equal(t, `"gh_run# SYSTEM OVERRIDE `+strings.Repeat("x", 56)+`..."`, got)
	require.Equal(t, `"a\"b\\c"`, quote(`a"b\c`))
}

const (
	asSent   = "" // the arguments stay as they are
	refusing = "error"
)

// repairTest is a call's arguments and what should become of them.
type repairTest struct {
	id, name string
	schema   string
	given    string
	want     string // arguments, asSent, or refusing
	says     string // part of the refusal
	kind     string // "" reads, "W" writes, "D" may destroy
	aliases  map[string]string
}

type fixedAliases map[string]string

func (a fixedAliases) ResolveAlias(string) (string, string, bool)       { return "", "", false }
func (a fixedAliases) ArgumentAliases(string) (other map[string]string) { return a }

func runRepairTests(t *testing.T, tests []repairTest) {
	t.Helper()
	for _, tt := range tests {
		t.Run(strings.TrimSpace(tt.id+" "+tt.name), func(t *testing.T) {
			t.Parallel()
			tool := &mcp.Tool{Name: "do_it", InputSchema: json.RawMessage(tt.schema), Annotations: &mcp.ToolAnnotations{ReadOnlyHint: tt.kind == "", DestructiveHint: new(bool)}}
			*tool.Annotations.DestructiveHint = tt.kind == "D"
			o := &Options{Observer: observe.Discard}
			if tt.aliases != nil {
				o.Aliases = fixedAliases(tt.aliases)
			}
			got, changes, err := Repair(tool, json.RawMessage(tt.given), o)
			switch tt.want {
			case refusing:
				require.Error(t, err, "got %s", got)
				require.Contains(t, err.Error(), tt.says)
				require.Equal(t, tt.given, string(got))
				_, example, found := strings.Cut(err.Error(), "for example with ")
				if found {
					require.True(t, json.Valid([]byte(strings.TrimSuffix(example, "."))), example)
				}
			case asSent:
				require.NoError(t, err)
				require.Equal(t, tt.given, string(got))
				require.Empty(t, changes)
			default:
				require.NoError(t, err)
				require.Equal(t, tt.want, string(got))
				require.Equal(t, tt.given == "", len(changes) == 0, "what is missing is no mistake")
				again, more, err := Repair(tool, got, o)
				require.NoError(t, err)
				require.Equal(t, string(got), string(again))
				require.Empty(t, more)
			}
		})
	}
}

func TestReportedArguments(t *testing.T) {
	t.Parallel()
	const object = `{"type":"object","additionalProperties":false,`
	runRepairTests(t, []repairTest{
		{id: "B038", schema: object + `"properties":{"siteId":{"type":"string"},"actions":{"type":"array","items":{"type":"object"}}}}`,
			given: `{"siteId":"697f","actions":"[{\"get_all_elements\":{\"query\":\"all\"}}]"}`, want: `{"siteId":"697f","actions":[{"get_all_elements":{"query":"all"}}]}`},
		{id: "B040", name: "untyped stays", schema: object + `"properties":{"assignees":{}}}`, given: `{"assignees":"[\"u1\",\"u2\"]"}`},
		{id: "B041", name: "text is legal, too", schema: object + `"properties":{"target":{"anyOf":[{"type":"array","items":{"type":"string"}},{"type":"string"},{"type":"null"}]}}}`, given: `{"target":"[\"Top\",\"Child\"]"}`},
		{id: "B043", name: "text that is JSON", schema: object + `"properties":{"content":{"type":"string"}}}`, given: `{"content":"{\"a\":1}"}`},
		{id: "B043", name: "all as JSON text", schema: object + `"properties":{"content":{"type":"string"}}}`, given: `"{\"content\":\"x\"}"`, want: `{"content":"x"}`},
		{id: "B045", schema: object + `"required":["type"],"properties":{"type":{"type":"string"}}}`, given: `{"kwargs":{"type":"a"}}`, want: `{"type":"a"}`},
		{id: "B045", name: "a property of that name", schema: object + `"properties":{"kwargs":{"type":"object"},"type":{"type":"string"}}}`, given: `{"kwargs":{"type":"a"}}`},
		{id: "B046", schema: object + `"required":["server","tool"],"properties":{"server":{"type":"string"},"tool":{"type":"string"},"arguments":{"type":"object"}}}`,
			given: `{"server":"s","tool":"t","params":{"a":1}}`, want: `{"server":"s","tool":"t","arguments":{"a":1}}`},
		{id: "B046", name: "two payloads", schema: object + `"required":["tool"],"properties":{"tool":{"type":"string"},"arguments":{"type":"object"}}}`,
			given: `{"tool":"t","params":{"a":1},"arguments":{"a":2}}`, want: refusing, says: "/params"},
		{id: "B048", schema: object + `"properties":{"pullRequestId":{"type":"integer"}}}`, given: `{"pullRequestId":"12345"}`, want: `{"pullRequestId":12345}`},
		{id: "B048", name: "blank inside", schema: object + `"properties":{"n":{"type":"integer"}}}`, given: `{"n":"12 345"}`, want: refusing, says: "/n"},
		{id: "B048", name: "hexadecimal", schema: object + `"properties":{"n":{"type":"integer"}}}`, given: `{"n":"0x1F"}`, want: refusing, says: "/n"},
		{id: "B048", name: "beyond all bounds", schema: object + `"properties":{"n":{"type":"number"}}}`, given: `{"n":"1e400"}`, want: refusing, says: "/n"},
		{id: "B048", name: "empty and required", schema: object + `"required":["n"],"properties":{"n":{"type":"integer"}}}`, given: `{"n":""}`, want: refusing, says: "/n"},
		{id: "B048", name: "blank", schema: object + `"properties":{"n":{"type":"integer"}}}`, given: `{"n":" "}`, want: refusing, says: "/n"},
		{id: "B050", schema: object + `"properties":{"limit":{"type":"integer"}}}`, given: `{"limit":"5"}`, want: `{"limit":5}`},
		{id: "B050", name: "a word", schema: object + `"properties":{"limit":{"type":"integer"}}}`, given: `{"limit":"five"}`, want: refusing, says: `/limit: sent the string "five", wanted an integer`},
		{id: "B051", schema: object + `"properties":{"top_k":{"type":"integer"}}}`, given: `{"topk":5}`, want: `{"top_k":5}`},
		{id: "B053", name: "a number for text", schema: object + `"properties":{"sheet_name":{"type":"string"}}}`, given: `{"sheet_name":1}`, want: `{"sheet_name":"1"}`},
		{id: "B053", name: "text that looks like a number", schema: object + `"properties":{"sheet_name":{"type":"string"}}}`, given: `{"sheet_name":"1"}`},
		{id: "B055", schema: object + `"properties":{"completed":{"type":"boolean"}}}`, given: `{"completed":"true"}`, want: `{"completed":true}`},
		{id: "B055", name: "yes", schema: object + `"properties":{"completed":{"type":"boolean"}}}`, given: `{"completed":"yes"}`, want: refusing, says: "/completed"},
		{id: "B055", name: "one", schema: object + `"properties":{"completed":{"type":"boolean"}}}`, given: `{"completed":1}`, want: refusing, says: "/completed"},
		{id: "B056", schema: object + `"properties":{"drag":{"type":"boolean"}}}`, given: `{"drag":"tru"}`, want: refusing, says: "/drag"},
		{id: "B058", schema: object + `"properties":{"compact":{"type":"boolean"}}}`, given: `{"compact":"TRUE"}`, want: `{"compact":true}`},
		{id: "B060", schema: object + `"required":["query"],"properties":{"query":{"type":"string"},"after":{"type":"string"},"limit":{"type":"integer"}}}`,
			given: `{"query":"authenticate","after":null,"limit":null}`, want: `{"query":"authenticate"}`},
		{id: "B061", schema: object + `"properties":{"a":{"type":"integer"}}}`, given: `{"a":"null"}`, want: `{}`},
		{id: "B061", name: "text keeps it", schema: object + `"properties":{"a":{"type":"string"}}}`, given: `{"a":"null"}`},
		{id: "B061", name: "in a list", schema: object + `"properties":{"a":{"type":"array","items":{"type":"integer"}}}}`, given: `{"a":["null"]}`, want: refusing, says: "/a/0"},
		{id: "B063", schema: object + `"properties":{"since":{"type":"string","pattern":"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"}}}`, given: `{"since":""}`, want: `{}`},
		{id: "B065", name: "empty text is a value", schema: object + `"properties":{"device_id":{"type":"integer"},"notes":{"type":"string"}}}`, given: `{"device_id":718830,"notes":""}`},
		{id: "B066", schema: object + `"properties":{"continuation":{"type":"string","minLength":1}}}`, given: `{"continuation":""}`, want: `{}`},
		{id: "B066", name: "a placeholder", schema: object + `"properties":{"continuation":{"type":"string","pattern":"^[a-f0-9]{8}$"}}}`, given: `{"continuation":"OMIT"}`, want: refusing},
		{id: "B068", schema: object + `"properties":{}}`, given: `null`, want: `{}`},
		{id: "B070", schema: object + `"properties":{}}`, given: ``, want: `{}`},
		{id: "B071", schema: object + `"required":["guid"],"properties":{"guid":{"type":"string"}}}`, given: `{"guid":"g","toolCallId":"call_0B"}`, want: `{"guid":"g"}`},
		{id: "B071", schema: object + `"required":["keywords"],"properties":{"keywords":{"type":"string"}}}`, given: `{"keywords":"x","_sessionID":"uuid"}`, want: `{"keywords":"x"}`},
		// An unknown key that is no bookkeeping is named, not dropped: dropping a
		// filter may widen what a call does.
		{id: "B073", name: "closed", schema: object + `"required":["path"],"properties":{"path":{"type":"string"}}}`, given: `{"path":"/data/x","color":"..."}`, want: refusing, says: "/color"},
		{id: "B073", name: "open", schema: `{"type":"object","required":["path"],"properties":{"path":{"type":"string"}}}`, given: `{"path":"/data/x","explanation":"..."}`},
		{id: "B075", schema: object + `"properties":{"lifecycle":{"enum":["lead","customer"]}}}`, given: `{"lifecycle":"Customer"}`, want: `{"lifecycle":"customer"}`},
		{id: "B075", name: "the legal values are named", schema: object + `"properties":{"lifecycle":{"enum":["lead","customer"]}}}`, given: `{"lifecycle":"client"}`, want: refusing, says: `wanted one of "lead", "customer"`},
		{id: "B076", schema: object + `"properties":{"page":{"type":"integer"},"page_size":{"type":"integer"}}}`, given: `{"page_number":2,"per_page":5}`, want: `{"page":2,"page_size":5}`},
		{id: "B076", name: "an offset is no page", schema: object + `"properties":{"page":{"type":"integer"}}}`, given: `{"offset":20}`, want: refusing, says: "/offset"},
		{id: "B076", name: "declared", schema: object + `"properties":{"find_text":{"type":"string"},"section":{"type":"string"}}}`, given: `{"old_text":"x","section_heading":"y"}`, want: `{"find_text":"x","section":"y"}`,
			aliases: map[string]string{"old_text": "find_text", "section_heading": "section"}},
		{id: "B078", schema: object + `"required":["query"],"properties":{"query":{"type":"string"}}}`, given: `{"question":"x"}`, want: `{"query":"x"}`},
		{id: "B078", schema: object + `"required":["query"],"properties":{"query":{"type":"string"}}}`, given: `{"search_term":"x"}`, want: `{"query":"x"}`},
		{id: "B078", name: "a token is no key", schema: object + `"required":["api_key"],"properties":{"api_key":{"type":"string"}}}`, given: `{"token":"x"}`, want: refusing, says: "/token"},
		{id: "B078", name: "nor is a key", schema: object + `"required":["api_key"],"properties":{"api_key":{"type":"string"}}}`, given: `{"key":"x"}`, want: refusing, says: "/key"},
		{id: "B080", schema: object + `"properties":{"a":{"anyOf":[{"type":"string"},{"type":"array","items":{"type":"string"}}]}}}`, given: `{"a":"abc"}`},
		{id: "B081", name: "commas may be data", schema: object + `"properties":{"source_ids":{"type":"array","items":{"type":"string"}}}}`, given: `{"source_ids":"a,b"}`, want: `{"source_ids":["a,b"]}`},
		{id: "B083", schema: object + `"properties":{"id":{"type":"integer"}}}`, given: `{"id":"9007199254740993"}`, want: `{"id":9007199254740993}`},
		{id: "B083", schema: object + `"properties":{"id":{"type":"integer"},"n":{"type":"integer"}}}`, given: `{"id":9223372036854775807,"n":"1"}`, want: `{"id":9223372036854775807,"n":1}`},
		{id: "B085", schema: object + `"properties":{"amount":{"type":"integer"}}}`, given: `{"amount":100.5}`, want: refusing, says: "/amount"},
		{id: "B085", name: "whole after all", schema: object + `"properties":{"amount":{"type":"integer"}}}`, given: `{"amount":100.0}`},
		{id: "B088", name: "cut off", schema: object + `"properties":{"path":{"type":"string"},"content":{"type":"string"}}}`, given: `{"path":"a","content":"half of fi`, want: refusing, says: "not valid JSON"},
	})
}
