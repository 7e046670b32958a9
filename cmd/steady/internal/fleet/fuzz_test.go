package fleet

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Whatever the client sends, and whatever a server says, the client gets lines of
// JSON, each a message, and an answer to what it asks afterwards; and it all ends.
func FuzzRouter(f *testing.F) {
	for _, lines := range [][2]string{
		{`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a_x","_meta":{"progressToken":1}}}`, `{"jsonrpc":"2.0","id":4,"result":{}}`},
		{`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"x"}}`, `{"jsonrpc":"2.0","id":1,"method":"roots/list","params":{"_meta":{"progressToken":{}}}}`},
		{`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`, `{"jsonrpc":"2.0","method":"notifications/message","params":{"logger":1}}`},
		{`{"jsonrpc":"2.0","id":"x","method":"subscriptions/listen","params":{"notifications":{"resourceSubscriptions":["a:b"]},` + modernMeta + `}}`, `{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":5},"notifications":{"a":true}}}`},
		{`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"t://x"}}`, `[{"jsonrpc":"2.0","id":5,"result":{"task":{"taskId":"1"}}}]`},
		{`{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{` + modernMeta + `}}`, `{"jsonrpc":"2.0","id":5,"result":{"tools":[{"name":"\u0000"},1,{"name":""}],"nextCursor":"a"}}`},
		{`{"jsonrpc":"2.0","id":1.0,"method":"completion/complete","params":{"ref":{"type":"ref/prompt","name":"a_p"}}}`, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`},
	} {
		f.Add([]byte(lines[0]), []byte(lines[1]), true)
		f.Add([]byte(lines[0]), []byte(lines[1]), false)
	}
	f.Fuzz(func(t *testing.T, client, server []byte, handshake bool) {
		lists := map[*kind][]string{tools: {"x", "y"}, prompts: {"p"}, resources: {"r:1"}, templates: {"t://{x}"}}
		server = bytes.ReplaceAll(server, []byte("\n"), []byte(" "))
		opts := scripted(map[string]script{"a": lister(lists, func(say func(string, ...any), m *message) error {
			// The proxy of a server lets nothing but messages pass.
			if m.method != "initialize" && json.Valid(server) {
				say("%s", server)
			}
			return nil
		}), "b": modern(lists, nil)}, "a", "b")
		opts.Start = 100 * time.Millisecond
		var out bytes.Buffer
		var in strings.Builder
		if handshake {
			in.WriteString(`{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":"2025-11-25"}}` + "\n")
		}
		in.Write(client)
		in.WriteString("\n" + `{"jsonrpc":"2.0","id":"last","method":"ping"}` + "\n")
		opts.In, opts.Out, opts.Log = strings.NewReader(in.String()), &out, io.Discard
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		require.NoError(t, Run(ctx, opts))
		require.NoError(t, ctx.Err())
		answered := map[string]int{}
		for _, line := range bytes.Split(bytes.TrimSuffix(out.Bytes(), []byte("\n")), []byte("\n")) {
			require.True(t, json.Valid(line), "%q", line)
			m, why := parse(line)
			require.Empty(t, why, "%q", line)
			if m.method == "" {
				answered[string(m.id)]++
			}
		}
		require.Equal(t, 1, answered[`"last"`])
	})
}
