package discovery

import (
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
)

func TestEnglishIsSorted(t *testing.T) {
	t.Parallel()
	words := strings.Split(strings.TrimSuffix(english, "\n"), "\n")
	require.True(t, slices.IsSorted(words))
	for _, w := range []string{words[0], words[1], words[len(words)/2], words[len(words)-1], "incident"} {
		require.True(t, ordinaryEnglish(w), w)
	}
	for _, w := range []string{"", "a", "zzzz", "incidnet", "inciden", "incidents"} {
		require.False(t, ordinaryEnglish(w), w)
	}
}

// One word of the language is no misspelling of another, whatever the tool does.
func TestWordsAreNoTypingErrors(t *testing.T) {
	t.Parallel()
	no := false
	for _, pair := range strings.Fields(`payees/payers mentors/mentees lessors/lessees trainees/trainers hypoglycemia/hyperglycemia hypotension/hypertension
		encoder/decoder intranet/internet patents/patients internet/interest offcall/oncall accident/incident employers/employees tenants/tenets
		overpayments/underpayments presale/postsale statues/statutes hypothermia/hyperthermia upstreams/downstreams prefix/postfix`) {
		a, b, _ := strings.Cut(pair, "/")
		for _, p := range [][2]string{{a, b}, {b, a}} {
			for _, verb := range []string{"get_", "list_", "create_", ""} {
				tools := []*mcp.Tool{{Name: verb + p[0], Annotations: &mcp.ToolAnnotations{ReadOnlyHint: verb != "create_", DestructiveHint: &no}}, {Name: "search_notes"}}
				require.Empty(t, Resolve(verb+p[1], tools, &Options{RouteWrites: true}).Tool, "%s%s", verb, p)
			}
		}
	}
	for _, pair := range strings.Fields("hire/fire inflate/deflate emit/edit read/unread seal/unseal install/reinstall") {
		a, b, _ := strings.Cut(pair, "/")
		for _, p := range [][2]string{{a, b}, {b, a}} {
			for _, name := range []string{"%_employee", "%_balloons", "mark_%", "mark_message_%"} {
				for _, readOnly := range []bool{true, false} {
					tools := []*mcp.Tool{{Name: strings.ReplaceAll(name, "%", p[0]), Annotations: &mcp.ToolAnnotations{ReadOnlyHint: readOnly, DestructiveHint: &no}}, {Name: "search_notes"}}
					require.Empty(t, Resolve(strings.ReplaceAll(name, "%", p[1]), tools, &Options{RouteWrites: true}).Tool, "%s %s", name, p)
				}
			}
		}
	}
}
