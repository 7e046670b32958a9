package protect

import (
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/steadymcp/steady/cmd/steady/internal/jsonl"
	"github.com/steadymcp/steady/cmd/steady/internal/rpc"
)

func TestPatch(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ raw, before, after, want string }{
		"nothing":          {`{"a": 1,"b":2}`, `{"a":1}`, `{"a":1}`, `{"a": 1,"b":2}`},
		"member":           {`{"a": 1,"b":[1, 2]}`, `{"a":1}`, `{"a":2}`, `{"a":2,"b":[1, 2]}`},
		"added":            {`{"a":1}`, `{"a":1}`, `{"a":1,"c":{"x":1}}`, `{"a":1,"c":{"x":1}}`},
		"removed":          {`{"a":1,"b":2,"c":3}`, `{"a":1,"b":2}`, `{"a":1}`, `{"a":1,"c":3}`},
		"deep":             {`{"a":{"b":{"c":1,"x":1}, "y":1}}`, `{"a":{"b":{"c":1}}}`, `{"a":{"b":{"c":2}}}`, `{"a":{"b":{"c":2,"x":1},"y":1}}`},
		"array grows":      {`{"l":[{"a":1,"x":1}]}`, `{"l":[{"a":1}]}`, `{"l":[{"a":1},{"a":2}]}`, `{"l":[{"a":1,"x":1},{"a":2}]}`},
		"array shrinks":    {`{"l":[{"a":1,"x":1},{"a":2,"x":2}]}`, `{"l":[{"a":1},{"a":2}]}`, `{"l":[{"a":2}]}`, `{"l":[{"a":2,"x":2}]}`},
		"named element":    {`[{"name":"a","x":1},{"name":"b","x":2}]`, `[{"name":"a"},{"name":"b"}]`, `[{"name":"b","d":1}]`, `[{"name":"b","x":2,"d":1}]`},
		"twice":            {`{"a":1,"a":2}`, `{"a":2}`, `{"a":3}`, `{"a":3}`},
		"another kind":     {`{"a":[1]}`, `{"a":[1]}`, `{"a":{"b":1}}`, `{"a":{"b":1}}`},
		"key with escapes": {`{"a\"\u00e9":1,"b":1}`, `{"b":1}`, `{"b":2}`, `{"a\"é":1,"b":2}`},
		"empty":            {`{}`, `{}`, `{"a":[]}`, `{"a":[]}`},
	} {
		require.Equal(t, c.want, string(patch([]byte(c.raw), []byte(c.before), []byte(c.after), nil)), name)
	}
}

// Whatever a server answers: what nobody has changed stays as it is, what was
// changed is there, and the whole is JSON.
func FuzzPatch(f *testing.F) {
	for _, line := range []string{toolsAnswer, callAnswer, helloAnswer} {
		f.Add(string(jsonl.Member([]byte(line), "result")), "x")
	}
	f.Add(`{"content":[{"type":"text","text":"a","b":{}}],"_meta":{"a":1},"isError":true}`, "note")
	f.Add(`{"content":[{"type":"text","text":"a"},{"type":"text","text":"a"}],"a":1,"a":2}`, "")
	f.Fuzz(func(t *testing.T, raw, text string) {
		if !json.Valid([]byte(raw)) {
			return
		}
		res, err := decodeCall([]byte(raw))
		if err != nil {
			return
		}
		r := res.(*mcp.CallToolResult)
		before, err := rpc.Encode(r)
		require.NoError(t, err)
		require.Equal(t, raw, string(patch([]byte(raw), before, before, nil)))
		changed := *r
		changed.Content = append(append([]mcp.Content{}, r.Content...), &mcp.TextContent{Text: text})
		changed.Meta = mcp.Meta{"steady/x": text}
		after, err := rpc.Encode(&changed)
		require.NoError(t, err)
		out := patch([]byte(raw), before, after, nil)
		require.True(t, json.Valid(out), "%s", out)
		again, err := decodeCall(out)
		require.NoError(t, err)
		encoded, err := rpc.Encode(again)
		require.NoError(t, err)
		require.JSONEq(t, string(after), string(encoded))
	})
}

// Whatever a client and a server say, the stage neither panics nor stops.
func FuzzStage(f *testing.F) {
	f.Add(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read_file","arguments":{"path":"a"}}}`, callAnswer)
	f.Add(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, toolsAnswer)
	f.Add(hello, helloAnswer)
	f.Add(`[{"jsonrpc":"2.0","id":1,"method":"tools/list"},{}]`, `{"jsonrpc":"2.0","id":ID,"error":{"code":-32603,"message":"x\n    at y (/z.js:1:1)"}}`)
	p := protector(f, "protect: recommended\nvisibility: {hide: [x]}\ntasks: {tools: {read_file: {grace: 1ms}}}\nnames: {aliases: {a: read_file}}")
	f.Fuzz(func(t *testing.T, line, answer string) {
		if strings.ContainsAny(line+answer, "\n\r") {
			return
		}
		next := func(_ context.Context, in io.Reader, out io.Writer) error {
			data := make([]byte, 64<<10)
			for {
				n, err := in.Read(data)
				if err != nil {
					return nil
				}
				m := read(data[:n])
				_, _ = io.WriteString(out, strings.ReplaceAll(answer, "ID", string(m.id))+"\n")
			}
		}
		in := strings.NewReader(hello + "\n" + line + "\n")
		ended := make(chan error, 1)
		quick := *p
		quick.opts.EOFWindow = 10 * time.Millisecond
		go func() { ended <- quick.Stage(next)(context.Background(), in, io.Discard) }()
		select {
		case <-ended:
		case <-time.After(20 * time.Second):
			t.Fatal("the stage does not end")
		}
	})
}
