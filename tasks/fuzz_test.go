package tasks

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
)

// FuzzIdentify: arguments are any bytes that a peer sends. The same bytes are
// the same call, and a key never changes which.
func FuzzIdentify(f *testing.F) {
	for _, s := range []string{``, `null`, `{}`, `[]`, `{"a":1,"b":2}`, `{"b":2,"a":1}`, `{"idempotency_key":"k","a":1}`,
		`{"idempotency_key":7}`, `{"a":9007199254740993}`, `{"a":1e400}`, `{"a":"\ud800"}`, `{"a":`, `{} {}`} {
		f.Add([]byte(s))
	}
	policy := Policy{}.withDefaults()
	f.Fuzz(func(t *testing.T, arguments []byte) {
		params := &mcp.CallToolParamsRaw{Name: "t", Arguments: arguments}
		a, errA := identify(&policy, params)
		b, errB := identify(&policy, params)
		require.Equal(t, errA, errB)
		require.Equal(t, a, b)
		if errA != nil {
			return
		}
		require.LessOrEqual(t, len(a.key), maxKey)
		require.NotEmpty(t, a.identity)
		var object map[string]json.RawMessage
		if json.Unmarshal(arguments, &object) == nil && object != nil {
			object[keyArgument] = json.RawMessage(`"another key"`)
			keyed, err := json.Marshal(object)
			require.NoError(t, err)
			c, err := identify(&policy, &mcp.CallToolParamsRaw{Name: "t", Arguments: keyed})
			require.NoError(t, err)
			require.Equal(t, "another key", c.key)
		}
	})
}

// FuzzAnswer: an answer is any JSON value.
func FuzzAnswer(f *testing.F) {
	question := `{"method":"elicitation/create","params":{"requestedSchema":{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}}}`
	for _, s := range []string{`{"action":"accept","content":{"n":1}}`, `{"action":"accept"}`, `{"action":"decline"}`, `{"action":7}`, `null`, `[]`, `{"content":null}`} {
		f.Add([]byte(question), []byte(s))
	}
	f.Add([]byte(`{"method":"roots/list"}`), []byte(`{"roots":[{"uri":"file:///"}]}`))
	f.Add([]byte(`{"method":"sampling/createMessage"}`), []byte(`{"role":"assistant","content":{"type":"text","text":"x"}}`))
	f.Fuzz(func(t *testing.T, question, answer []byte) {
		if checkAnswer(question, answer) != nil {
			return
		}
		var q struct {
			Method string `json:"method"`
		}
		require.NoError(t, json.Unmarshal(question, &q))
		if q.Method == methodElicit { // what was accepted is what the handler decodes
			var res mcp.ElicitResult
			require.NoError(t, json.Unmarshal(answer, &res))
			require.Contains(t, []string{"accept", "decline", "cancel"}, res.Action)
		}
	})
}

func TestHandle(t *testing.T) {
	for _, epoch := range []string{"abc", "", "A - b", "a-b", "an epoch that is far too long to be carried"} {
		kept, ok := parseHandle(newHandle(handleEpoch(epoch)))
		require.True(t, ok, epoch)
		require.Equal(t, handleEpoch(epoch), kept)
		require.NotEqual(t, newHandle("e"), newHandle("e"))
	}
}

// FuzzHandle: what parses was issued, and nothing that was changed parses.
func FuzzHandle(f *testing.F) {
	f.Add(newHandle(handleEpoch("abc")), 3)
	f.Add(newHandle(handleEpoch("not - plain")), 3)
	f.Add("", 0)
	f.Add("abc-def", 1)
	f.Fuzz(func(t *testing.T, h string, at int) {
		epoch, ok := parseHandle(h)
		if !ok {
			return
		}
		require.NotContains(t, epoch, "-")
		require.LessOrEqual(t, len(h), maxHandle)
		b := []byte(h)
		i := ((at % len(b)) + len(b)) % len(b)
		b[i] ^= 1
		_, ok = parseHandle(string(b))
		require.False(t, ok, "%q passes for %q", b, h)
	})
}

// FuzzAnnotate: the parameters of subscriptions/listen are any JSON value, and
// the key that names a connection is never the client's.
func FuzzAnnotate(f *testing.F) {
	for _, s := range []string{`{"notifications":{"taskIds":["a"]}}`, `{"notifications":{"taskIds":["a"]},"_meta":{"steady/stream":{"token":"t"}}}`,
		`{"notifications":{"taskIds":[]}}`, `{"notifications":[],"_meta":7}`, `null`, ``} {
		f.Add([]byte(s))
	}
	c := &serverConn{token: "ours"}
	id, err := jsonrpc.MakeID("id")
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, params []byte) {
		out, ok := c.annotate(&jsonrpc.Request{ID: id, Method: methodListen, Params: params})
		if !ok {
			return
		}
		var p struct {
			Meta map[string]json.RawMessage `json:"_meta"`
		}
		require.NoError(t, json.Unmarshal(out, &p))
		var sm streamMeta
		require.NoError(t, json.Unmarshal(p.Meta[metaStream], &sm))
		require.Equal(t, "ours", sm.Token)
		require.NotEmpty(t, sm.TaskIDs)
	})
}

// A client cannot name another client's connection for what is pushed: the
// names are not to be guessed, and its own are replaced.
func TestStreamTokens(t *testing.T) {
	m := New(nil)
	m.conns.Store("secret", &serverConn{token: "secret", m: m})
	for token, found := range map[string]bool{"secret": true, "guess": false, "": false} {
		req := &mcp.SubscriptionsListenRequest{Params: &mcp.SubscriptionsListenParams{
			Meta: mcp.Meta{metaStream: map[string]any{"token": token, "taskIds": []any{"a"}}}}}
		require.Equal(t, found, m.takeStream(t.Context(), req) != nil, "%q", token)
	}
	require.Nil(t, m.takeStream(t.Context(), &mcp.SubscriptionsListenRequest{}))
}

// FuzzPark: what is no task comes through byte by byte, and a task survives.
func FuzzPark(f *testing.F) {
	for _, s := range []string{`{"jsonrpc":"2.0","id":1,"result":{"resultType":"task","taskId":"t","status":"working"}}`,
		`{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"\"taskId\""}]}}`, ` {"taskId":1}`, `"taskId"`, ``} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		out := parkEncoded(data)
		if string(out) == string(data) {
			return
		}
		msg, err := jsonrpc.DecodeMessage(out)
		require.NoError(t, err)
		var res mcp.CallToolResult
		if json.Unmarshal(msg.(*jsonrpc.Response).Result, &res) == nil {
			if task, ok := unpark(&res); ok {
				require.NotEmpty(t, task.ID)
			}
		}
	})
}

// FuzzWiden: an output schema is the server's own, but any that it may have.
func FuzzWiden(f *testing.F) {
	for _, s := range []string{`{"type":"object"}`, `{"$defs":{"a":{}},"$ref":"#/$defs/a"}`, `{"$ref":"#"}`, `true`, `null`, `[]`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, schema []byte) {
		if !json.Valid(schema) {
			return
		}
		if wide, ok := widen(json.RawMessage(schema)).(json.RawMessage); ok {
			var members map[string]json.RawMessage
			require.NoError(t, json.Unmarshal(wide, &members))
			require.Contains(t, members, "anyOf")
		}
	})
}

func TestPollEvery(t *testing.T) {
	for ms, want := range map[int64]time.Duration{0: time.Second, -1: time.Second, 1: 10 * time.Millisecond, 50: 50 * time.Millisecond, 1 << 60: time.Hour} {
		require.Equal(t, want, pollEvery(ms))
	}
}
