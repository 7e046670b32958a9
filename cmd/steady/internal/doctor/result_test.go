package doctor

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/steadymcp/steady/cmd/steady/internal/session"
)

// What is kept of a huge answer is bounded, and its size is still known.
func TestHugeAnswersAreShed(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1000, 8 << 20} {
		e := newTestExam(t)
		result := json.RawMessage(`{"content":[{"type":"text","text":"` + strings.Repeat("x", n) + `"}]}`)
		tool := &tool{name: "x", input: parseSchema(nil)}
		v := e.judge(tool, session.Reply{Request: []byte(`{}`), Raw: result, Result: result}, true)
		v.shed()
		require.True(t, v.ok())
		require.Equal(t, len(result), v.size)
		require.LessOrEqual(t, len(v.reply.Raw)+len(v.reply.Result)+len(v.text)+len(v.result.text)+len(v.result.structured), 2<<20)
		e.checkSize(tool, v, "")
		if n > hugeResult {
			require.Equal(t, " 8.4 MB ", " "+strings.Fields(e.findings[0].Message)[0]+" MB ")
			require.Equal(t, bad, e.findings[0].Severity)
		} else {
			require.Empty(t, e.findings)
			require.Equal(t, string(result), string(v.reply.Result))
		}
	}
	(*verdict)(nil).shed()
}

// Of two tools with one name the stricter counts, and a made-up name is none
// that another tool has.
func TestTwoToolsWithOneName(t *testing.T) {
	t.Parallel()
	reading, silent := `{"name":"x","annotations":{"readOnlyHint":true}}`, `{"name":"x"}`
	for _, tools := range []string{reading + "," + silent, silent + "," + reading, reading + "," + reading} {
		e := newTestExam(t)
		var listed []json.RawMessage
		require.NoError(t, json.Unmarshal([]byte("["+tools+"]"), &listed))
		e.learnTools(listed)
		require.Len(t, e.tools, 1)
		require.Equal(t, strings.Contains(tools, silent), e.tools[0].leave == nothing, tools)
	}
	e := newTestExam(t)
	e.learnTools([]json.RawMessage{json.RawMessage(`{"name":"get_note"}`), json.RawMessage(`{"name":"GetNotx"}`)})
	get := e.tools[0]
	require.True(t, e.isOther(get, "get_note"))
	require.True(t, e.isOther(get, "get_notx"), "GetNotx may be what answers to it")
	require.False(t, e.isOther(get, "getNote"))
}
