package fleet

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/steadymcp/steady/cmd/steady/internal/jsonl"
	"github.com/steadymcp/steady/cmd/steady/internal/rpc"
)

// How long is waited for what another goroutine does.
const (
	within = 10 * time.Second
	tick   = time.Millisecond
)

const modernMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`

// modern is a server without a handshake.
func modern(lists map[*kind][]string, more script) script {
	return lister(lists, func(say func(string, ...any), m *message) error {
		if m.method == "server/discover" {
			more := ""
			if lists[resources] != nil {
				more = `"resources":{},`
			}
			say(`{"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete","supportedVersions":["2026-07-28","2025-11-25"],"capabilities":{"tools":{},%s"extensions":{"com.example/acme":{}}},"ttlMs":5000,"cacheScope":"private"}}`, m.id, more)
			return nil
		}
		if more != nil {
			return more(say, m)
		}
		return nil
	})
}

func TestDiscover(t *testing.T) {
	t.Parallel()
	lists := map[*kind][]string{tools: {"x"}}
	w := open(t, scripted(map[string]script{"a": modern(lists, nil), "b": modern(lists, nil)}, "a", "b"))
	answer := w.ask("1", "server/discover", "{"+modernMeta+"}")
	require.Equal(t, `{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","supportedVersions":["2026-07-28","2025-11-25"],`+
		`"capabilities":{"extensions":{"com.example/acme":{}},"tools":{"listChanged":true}},"ttlMs":5000,"cacheScope":"private",`+
		`"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"steady-proxy","title":"Steady proxy","version":""},"steady/servers":[{"name":"a"},{"name":"b"}]}}}`, answer)
	list := w.ask("2", "tools/list", "{"+modernMeta+"}")
	require.Equal(t, []string{"a_x", "b_x"}, keysOf(t, list, tools))
	require.Contains(t, list, `],"resultType":"complete","ttlMs":0,"cacheScope":"public","_meta":{"io.modelcontextprotocol/serverInfo":`)
	for _, method := range handshakeOnly {
		require.Contains(t, w.ask("3", method, "{"+modernMeta+"}"), `"code":-32601`)
	}
	require.Contains(t, w.ask("3", "tools/list", `{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}`), `"code":-32602`)
	require.Contains(t, w.ask("4", "acme/do", "{"+modernMeta+"}"), `may be for any of the servers a, b`)
	other := strings.Replace(modernMeta, rpc.Stateless, "2027-01-01", 1)
	require.Contains(t, w.ask("5", "server/discover", "{"+other+"}"), `"code":-32022,"message":"Not all servers behind this endpoint support this revision.","data":{"requested":"2027-01-01","supported":["2026-07-28","2025-11-25"]}`)
	require.Contains(t, w.ask("6", "tools/call", `{"name":"b_x",`+modernMeta+`}`), `"result":{"got":{"name":"x","_meta"`)
}

// A client that knows the revision does not have to ask for it.
func TestNoDiscover(t *testing.T) {
	t.Parallel()
	w := open(t, scripted(map[string]script{"a": modern(map[*kind][]string{tools: {"x"}}, nil), "old": lister(map[*kind][]string{tools: {"x"}}, func(say func(string, ...any), m *message) error {
		if m.method == "server/discover" {
			say(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}`, m.id)
		}
		return nil
	})}, "a", "old"))
	require.Contains(t, w.ask("1", "tools/call", `{"name":"a_x",`+modernMeta+`}`), `"got"`)
	require.Equal(t, []string{"a_x"}, keysOf(t, w.ask("2", "tools/list", "{"+modernMeta+"}"), tools))
	require.Eventually(t, func() bool { return strings.Contains(w.log.String(), "server old is left out") }, within, tick)
}

func TestCheckWithoutHandshake(t *testing.T) {
	t.Parallel()
	only := modern(map[*kind][]string{tools: {"x"}}, func(say func(string, ...any), m *message) error {
		if m.method == "initialize" {
			say(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}`, m.id)
		}
		return nil
	})
	opts := scripted(map[string]script{"a": only, "b": only}, "a", "b", "none")
	opts.Log = io.Discard
	r, err := Check(t.Context(), opts)
	require.NoError(t, err)
	require.Equal(t, []Collision{{Kind: "tools", Name: "x", Servers: []string{"a", "b"}, Published: []string{"a_x", "b_x"}}}, r.Collisions)
	require.Equal(t, 2, r.Counts["tools"])
	require.Equal(t, []string{`none: there is no program "none"`}, r.Missing)
}

// Where one server needs a handshake, all get one.
func TestDiscoverFallsBack(t *testing.T) {
	t.Parallel()
	lists := map[*kind][]string{tools: {"x"}}
	w := open(t, scripted(map[string]script{"a": modern(lists, nil), "old": lister(lists, func(say func(string, ...any), m *message) error {
		if m.method == "server/discover" {
			say(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}`, m.id)
		}
		return nil
	})}, "a", "old"))
	require.Contains(t, w.ask("1", "server/discover", "{"+modernMeta+"}"), `"code":-32601,"message":"Method not found: not all servers behind this endpoint know server/discover (old). Begin with initialize."`)
	w.initialize()
	require.Equal(t, []string{"a_x", "old_x"}, keysOf(t, w.ask("2", "tools/list", "{}"), tools))
}

func TestListen(t *testing.T) {
	t.Parallel()
	var said [2]func(string, ...any)
	listens := func(i int, uri string) script {
		return modern(map[*kind][]string{tools: {"x"}, resources: {uri}}, func(say func(string, ...any), m *message) error {
			sub := func(id []byte) string {
				return fmt.Sprintf(`"_meta":{"io.modelcontextprotocol/subscriptionId":%s}`, id)
			}
			switch m.method {
			case "subscriptions/listen":
				say(`{"jsonrpc":"2.0","method":"notifications/seen","params":%s}`, jsonl.Member(m.params, "notifications"))
				say(`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{%s,"notifications":%s}}`, sub(m.id), jsonl.Member(m.params, "notifications"))
				id := string(m.id)
				said[i] = func(format string, args ...any) {
					say(strings.ReplaceAll(fmt.Sprintf(format, args...), "SUB", sub([]byte(id))))
				}
			case "tools/call":
				said[i](`{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{SUB}}`)
				said[i](`{"jsonrpc":"2.0","method":"notifications/other","params":{ SUB , "x":1.0}}`)
				say(`{"jsonrpc":"2.0","id":%s,"result":{}}`, m.id)
			case "notifications/cancelled":
				say(`{"jsonrpc":"2.0","id":%s,"result":{%s}}`, jsonl.Member(m.params, "requestId"), sub(jsonl.Member(m.params, "requestId")))
			}
			return nil
		})
	}
	w := open(t, scripted(map[string]script{"a": listens(0, "a:1"), "b": listens(1, "b:1")}, "a", "b"))
	w.ask("1", "server/discover", "{"+modernMeta+"}")
	w.send(`{"jsonrpc":"2.0","id":"L","method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true,"resourceSubscriptions":["a:1","b:1"]},` + modernMeta + `}}`)
	var got []string
	for range 3 {
		got = append(got, w.receive())
	}
	require.ElementsMatch(t, []string{
		`{"jsonrpc":"2.0","method":"notifications/seen","params":{"resourceSubscriptions":["a:1"],"toolsListChanged":true}}`,
		`{"jsonrpc":"2.0","method":"notifications/seen","params":{"resourceSubscriptions":["b:1"],"toolsListChanged":true}}`,
	}, got[:2])
	require.Contains(t, got[2], `"method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"L"},"notifications":{"resourceSubscriptions":[`)
	for _, name := range []string{"a", "b"} {
		w.send(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"` + name + `_x",` + modernMeta + `}}`)
		require.Equal(t, `{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"L"}}}`, w.receive())
		require.Equal(t, `{"jsonrpc":"2.0","method":"notifications/other","params":{ "_meta":{"io.modelcontextprotocol/subscriptionId":"L"} , "x":1.0}}`, w.receive())
		require.Equal(t, `{"jsonrpc":"2.0","id":2,"result":{}}`, w.receive())
	}
	w.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"L"}}`)
	require.Equal(t, `{"jsonrpc":"2.0","id":"L","result":{"resultType":"complete","_meta":{"io.modelcontextprotocol/subscriptionId":"L"}}}`, w.receive())
	require.Contains(t, w.ask("3", "tools/call", `{"name":"a_x",`+modernMeta+`}`), `"result"`)
}
