package fleet

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/steadymcp/steady/cmd/steady/internal/jsonl"
)

// What servers ask of the client has ids and progress tokens of their own, which
// are the same for both.
func TestRequestsOfServers(t *testing.T) {
	t.Parallel()
	asks := func(say func(string, ...any), m *message) error {
		switch {
		case m.method == "tools/call":
			say(`{"jsonrpc":"2.0","id":7.0,"method":"sampling/createMessage","params":{"x":1.50,"_meta":{"progressToken":"t"}}}`)
			say(`{"jsonrpc":"2.0","id":%s,"result":{}}`, m.id)
		case m.method == "" || m.method == "notifications/progress":
			say(`{"jsonrpc":"2.0","method":"notifications/got","params":%s}`, m.raw)
		case m.method == "tools/list" || m.method == "initialize":
		case m.isRequest():
			say(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7,"reason":"r"}}`)
			say(`{"jsonrpc":"2.0","id":%s,"result":{}}`, m.id)
		}
		return nil
	}
	w := open(t, scripted(map[string]script{
		"a": lister(map[*kind][]string{tools: {"x"}, prompts: {"p"}}, asks), "b": lister(map[*kind][]string{tools: {"x"}, prompts: {"p"}}, asks),
	}, "a", "b"))
	w.initialize()
	ids, tokens := map[string]string{}, map[string]string{}
	for i, name := range []string{"a", "b"} {
		w.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"%s_x"}}`, i, name))
		m, _ := parse([]byte(w.receive()))
		require.Contains(t, string(m.params), `{"x":1.50,"_meta":{"progressToken":`)
		ids[name], tokens[name] = string(m.id), string(m.meta(progressToken))
		require.Contains(t, w.receive(), fmt.Sprintf(`"id":%d,`, i))
	}
	require.NotEqual(t, ids["a"], ids["b"])
	require.NotEqual(t, tokens["a"], tokens["b"])
	for _, name := range []string{"b", "a"} {
		w.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":1e0}}`, tokens[name]))
		require.Contains(t, w.receive(), `"params":{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t","progress":1e0}}`)
	}
	w.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"role": "user"}}`, ids["a"]))
	require.Contains(t, w.receive(), `"params":{"jsonrpc":"2.0","id":7.0,"result":{"role": "user"}}`)
	// What was answered, or withdrawn, is no question any more.
	w.send(`{"jsonrpc":"2.0","id":3,"method":"prompts/get","params":{"name":"b_p"}}`)
	require.Equal(t, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":`+ids["b"]+`,"reason":"r"}}`, w.receive())
	require.Contains(t, w.receive(), `"id":3,`)
	w.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{}}`, ids["a"]), fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{}}`, ids["b"]))
	w.send(`{"jsonrpc":"2.0","id":4,"method":"ping"}`)
	require.Contains(t, w.receive(), `"id":4,`)
}

func TestCancellation(t *testing.T) {
	t.Parallel()
	hangs := func(say func(string, ...any), m *message) error {
		switch m.method {
		case "tools/call":
			say(`{"jsonrpc":"2.0","method":"notifications/has","params":%s}`, m.id)
		case "notifications/cancelled":
			say(`{"jsonrpc":"2.0","method":"notifications/got","params":%s}`, m.params)
			say(`{"jsonrpc":"2.0","id":%s,"error":{"code":0,"message":"late"}}`, jsonl.Member(m.params, "requestId"))
		}
		return nil
	}
	w := open(t, scripted(map[string]script{"a": lister(map[*kind][]string{tools: {"x"}}, hangs)}, "a"))
	w.initialize()
	w.send(`{"jsonrpc":"2.0","id":"c","method":"tools/call","params":{"name":"a_x"}}`)
	m, _ := parse([]byte(w.receive()))
	w.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"reason":"why","requestId":"c"}}`)
	require.Equal(t, `{"jsonrpc":"2.0","method":"notifications/got","params":{"reason":"why","requestId":`+string(m.params)+`}}`, w.receive())
	require.Equal(t, `{"jsonrpc":"2.0","id":"c","error":{"code":0,"message":"late"}}`, w.receive())
	w.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"c"}}`)
	require.Contains(t, w.ask("1", "ping", "{}"), `"result"`)
}

func TestNotifications(t *testing.T) {
	t.Parallel()
	logs := func(say func(string, ...any), m *message) error {
		if m.method == "tools/call" {
			for _, params := range []string{`{"level":"info","logger":"db","data": 1.0}`, `{ "level":"info"}`, `{}`} {
				say(`{"jsonrpc":"2.0","method":"notifications/message","params":%s}`, params)
			}
			say(`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"a:1"}}`)
			say(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1.0,"progress":3}}`)
			say(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
			say(`{"jsonrpc":"2.0","id":%s,"result":{}}`, m.id)
		}
		return nil
	}
	w := open(t, scripted(map[string]script{"a": lister(map[*kind][]string{tools: {"x"}}, logs)}, "a"))
	w.initialize()
	w.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a_x"}}`)
	for _, want := range []string{
		`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","logger":"a.db","data": 1.0}}`,
		`{"jsonrpc":"2.0","method":"notifications/message","params":{"logger":"a","level":"info"}}`,
		`{"jsonrpc":"2.0","method":"notifications/message","params":{"logger":"a"}}`,
		`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"a:1"}}`,
		`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1.0,"progress":3}}`,
		`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`,
		`{"jsonrpc":"2.0","id":1,"result":{}}`,
	} {
		require.Equal(t, want, w.receive())
	}
}

func TestTasksByHandle(t *testing.T) {
	t.Parallel()
	makes := func(name, shape string) script {
		return lister(map[*kind][]string{tools: {"slow"}}, func(say func(string, ...any), m *message) error {
			switch {
			case m.method == "initialize":
				say(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"tasks":{"list":{}}}}}`, m.id)
			case m.method == "tools/call":
				say(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.id, shape)
			case strings.HasPrefix(m.method, "tasks/") && m.method != "tasks/list":
				say(`{"jsonrpc":"2.0","id":%s,"result":{"by":%q,"got":%s}}`, m.id, name, m.params)
			}
			return nil
		})
	}
	w := open(t, scripted(map[string]script{
		"a": makes("a", `{"task":{"taskId":"1","status":"working"}}`),
		"b": makes("b", `{"resultType":"task","taskId":"2"}`),
		"c": makes("c", `{"resultType":"task","taskId":"2"}`),
		"d": makes("d", `{"structuredContent":{"taskId":"1"}}`),
	}, "a", "b", "c", "d"))
	w.initialize()
	for _, name := range []string{"a", "b", "d"} {
		w.ask("1", "tools/call", `{"name":"`+name+`_slow"}`)
	}
	require.Contains(t, w.ask("2", "tasks/get", `{"taskId":"1"}`), `"by":"a","got":{"taskId":"1"}`)
	require.Contains(t, w.ask("2", "tasks/cancel", `{"taskId":"2"}`), `"by":"b"`)
	require.Contains(t, w.ask("3", "tasks/get", `{"taskId":"3"}`), `"code":-32602`)
	w.ask("1", "tools/call", `{"name":"c_slow"}`)
	require.Contains(t, w.ask("2", "tasks/cancel", `{"taskId":"2"}`), "more than one server")
	require.Contains(t, w.ask("4", "tasks/list", `{}`), `"tasks":[]`)

	h := handles{}
	for i := range maxHandles + 10 {
		h.add(fmt.Sprint(i), &child{})
	}
	require.Len(t, h.owner, maxHandles)
	require.NotContains(t, h.owner, "9")
}

func TestPages(t *testing.T) {
	t.Parallel()
	large := `"` + strings.Repeat("x", pageBytes/3) + `"`
	pages := func(say func(string, ...any), m *message) error {
		if m.method == "tools/list" {
			switch string(jsonl.Member(m.params, "cursor")) {
			case "":
				say(`{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"a"},{"name":"b","d":%s}],"nextCursor":"p2"}}`, m.id, large)
			case `"p2"`:
				say(`{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"c","d":%s},{"name":"d","d":%s},{"name":"a"},{}],"nextCursor":"p2"}}`, m.id, large, large)
			}
		}
		return nil
	}
	w := open(t, scripted(map[string]script{"s": lister(map[*kind][]string{tools: nil}, pages)}, "s"))
	w.initialize()
	first := w.ask("1", "tools/list", `{"_meta":{"progressToken":1}}`)
	require.Equal(t, []string{"s_a", "s_b", "s_c"}, keysOf(t, first, tools))
	var m struct{ Result struct{ NextCursor string } }
	require.NoError(t, json.Unmarshal([]byte(first), &m))
	require.NotEmpty(t, m.Result.NextCursor)
	second := w.ask("1", "tools/list", `{"cursor":"`+m.Result.NextCursor+`"}`)
	require.Equal(t, []string{"s_d"}, keysOf(t, second, tools))
	require.NotContains(t, second, "nextCursor")
	for _, cursor := range []string{"p2", strings.Repeat("A", 1000), ""} {
		require.Contains(t, w.ask("1", "tools/list", `{"cursor":"`+cursor+`"}`), `"code":-32602`)
	}
	require.Contains(t, w.ask("1", "prompts/list", `{"cursor":"`+m.Result.NextCursor+`"}`), `"code":-32602`)
	for range maxMerged {
		require.NotContains(t, w.ask("1", "tools/list", `{"cursor":"`+m.Result.NextCursor+`"}`), `"error"`)
		w.ask("1", "tools/list", `{}`)
	}
	require.Contains(t, w.ask("1", "tools/list", `{"cursor":"`+m.Result.NextCursor+`"}`), `one that is too old`)
	require.Eventually(t, func() bool { return strings.Contains(w.log.String(), "repeats a cursor") }, 10*time.Second, time.Millisecond)
	require.Contains(t, w.log.String(), `lists tools "a" twice`)
}

// A server that does not list what it has holds nobody up but once, and is
// announced when it does.
func TestSlowServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		answer := "\n" // nothing
		mute := func(say func(string, ...any), m *message) error {
			mu.Lock()
			defer mu.Unlock()
			if m.method == "tools/list" && answer != "" {
				say("%s", strings.Replace(answer, "ID", string(m.id), 1))
			}
			return nil
		}
		now := func(a string) {
			mu.Lock()
			defer mu.Unlock()
			answer = a
		}
		lists := map[*kind][]string{tools: {"x"}}
		w := open(t, scripted(map[string]script{"a": lister(lists, mute), "b": lister(lists, nil)}, "a", "b"))
		w.initialize()
		begun := time.Now()
		require.Equal(t, []string{"b_x"}, keysOf(t, w.ask("1", "tools/list", "{}"), tools))
		require.Equal(t, 5*time.Second, time.Since(begun))
		begun = time.Now()
		require.Equal(t, []string{"b_x"}, keysOf(t, w.ask("1", "tools/list", "{}"), tools))
		require.Contains(t, w.ask("2", "tools/call", `{"name":"b_x"}`), `"result"`)
		require.Zero(t, time.Since(begun))
		now("")
		require.Equal(t, `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`, w.receive())
		both := []string{"a_x", "b_x"}
		require.Equal(t, both, keysOf(t, w.ask("1", "tools/list", "{}"), tools))

		// What is slow still has what it had; what is not there has nothing.
		now("\n")
		require.Equal(t, both, keysOf(t, w.ask("1", "tools/list", "{}"), tools))
		now("")
		require.Contains(t, w.receive(), "list_changed")
		now(`{"jsonrpc":"2.0","id":ID,"error":{"code":-32000,"message":"it ended"}}`)
		require.Equal(t, []string{"b_x"}, keysOf(t, w.ask("1", "tools/list", "{}"), tools))
		now("")
		require.Contains(t, w.receive(), "list_changed")
		require.Equal(t, both, keysOf(t, w.ask("1", "tools/list", "{}"), tools))
	})
}

// A server that cannot be started at first is a part of the session later, with
// the same revision and level.
func TestLateServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		starts := 0
		lists := map[*kind][]string{tools: {"x"}, prompts: {"p"}}
		var seen []string
		late := lister(lists, func(_ func(string, ...any), m *message) error {
			if starts++; starts < 3 {
				return fmt.Errorf("not yet")
			}
			seen = append(seen, m.method+string(m.params))
			return nil
		})
		w := open(t, scripted(map[string]script{"a": late, "b": lister(map[*kind][]string{tools: {"x"}}, nil)}, "a", "b"))
		hello := w.initialize()
		require.Contains(t, hello, `"prompts":{"listChanged":true}`, "whoever comes later may have some")
		require.Equal(t, []string{"b_x"}, keysOf(t, w.ask("1", "tools/list", "{}"), tools))
		answer := w.ask("2", "tools/call", `{"name":"a_x"}`)
		require.Contains(t, answer, "a (not running), b")
		w.ask("3", "logging/setLevel", `{"level":"debug"}`)
		require.Equal(t, `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`, w.receive())
		require.Equal(t, `{"jsonrpc":"2.0","method":"notifications/prompts/list_changed"}`, w.receive())
		require.Contains(t, w.ask("4", "tools/call", `{"name":"a_x"}`), `"got":{"name":"x"}`)
		require.Equal(t, []string{
			`initialize{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}`,
			`notifications/initialized`, `logging/setLevel{"level":"debug"}`, `tools/list`, `tools/call{"name":"x"}`,
		}, seen)
	})
}

// All get the revision that all have: who spoke a later one is started again.
func TestRevisions(t *testing.T) {
	t.Parallel()
	speaks := func(revisions ...string) script {
		return lister(map[*kind][]string{tools: {"x"}}, func(say func(string, ...any), m *message) error {
			if m.method == "initialize" {
				version, _ := jsonl.Text(jsonl.Member(m.params, "protocolVersion"))
				answer := revisions[0]
				for _, r := range revisions {
					if r == version {
						answer = r
					}
				}
				say(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":%q,"capabilities":{"tools":{}}}}`, m.id, answer)
			}
			return nil
		})
	}
	w := open(t, scripted(map[string]script{
		"old": speaks("2025-03-26"), "both": speaks("2025-11-25", "2025-03-26"), "new": speaks("2025-11-25"),
	}, "old", "both", "new"))
	require.Contains(t, w.initialize(), `"protocolVersion":"2025-03-26"`)
	require.Equal(t, []string{"old_x", "both_x"}, keysOf(t, w.ask("1", "tools/list", "{}"), tools))
	require.Eventually(t, func() bool {
		return strings.Contains(w.log.String(), "server new is left out: it cannot speak revision 2025-03-26")
	}, 10*time.Second, time.Millisecond)
	require.Contains(t, w.ask("2", "initialize", "{}"), "initialized already")
}

func TestQualifyCollisionsOnly(t *testing.T) {
	t.Parallel()
	opts := scripted(map[string]script{
		"a": lister(map[*kind][]string{tools: {"search", "get.it", strings.Repeat("n", 100)}}, nil),
		"b": lister(map[*kind][]string{tools: {"search", "a_search"}}, nil),
	}, "a", "b")
	opts.Qualify = Collisions
	w := open(t, opts)
	w.initialize()
	// What b calls a_search is left its name only if nobody else has got it.
	require.Equal(t, []string{"a_search", "get.it", strings.Repeat("n", 100), "b_search", hashed("b", "a_search")}, keysOf(t, w.ask("1", "tools/list", "{}"), tools))
	require.Contains(t, w.ask("1", "tools/call", `{"name":"a_search"}`), `"name":"search"`)
	require.Contains(t, w.ask("1", "tools/call", `{"name":"search"}`), `it is called \"a_search\" or \"b_search\"`)
}

func TestNames(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 60)
	for _, tt := range []struct{ own, want string }{
		{"x", "srv_x"}, {"a.b/c d", "srv_a_b_c_d"}, {strings.Repeat("y", 60), "srv_" + strings.Repeat("y", 60)},
		{strings.Repeat("y", 61), "srv_" + strings.Repeat("y", 51) + "_"}, {long, "srv_"},
	} {
		got := qualified("srv", tt.own)
		require.True(t, strings.HasPrefix(got, tt.want), got)
		require.LessOrEqual(t, len(got), MaxName)
		require.Regexp(t, `^[A-Za-z0-9_-]+$`, got)
	}
	for _, names := range [][]string{{""}, {"a b"}, {"a", "a"}, {strings.Repeat("x", 33)}, {"-a"}} {
		var servers []Server
		for _, n := range names {
			servers = append(servers, Server{Name: n})
		}
		require.Error(t, CheckServers(servers), names)
	}

	// A name keeps its meaning while another server with it comes and goes.
	a, b := &child{Server: Server{Name: "a"}}, &child{Server: Server{Name: "a_b"}}
	first, second := owner{a, "b_c"}, owner{b, "c"}
	book := &book{}
	none := func(Collision) {}
	require.Equal(t, "a_b_c", book.publish(Always, []owner{second}, none)[second])
	names := book.publish(Always, []owner{first, second}, none)
	require.Equal(t, "a_b_c", names[second])
	require.Equal(t, hashed("a", "b_c"), names[first])
	book.publish(Always, nil, none)
	o, _ := book.find("a_b_c")
	require.Equal(t, second, o)
}

func TestBadMessages(t *testing.T) {
	t.Parallel()
	opts := scripted(map[string]script{"a": lister(map[*kind][]string{tools: {"x"}}, nil)}, "a")
	opts.MaxLine = 10 << 10
	w := open(t, opts)
	for _, tt := range []struct{ line, want string }{
		{`garbage`, `"id":null,"error":{"code":-32700`},
		{`[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, `-32600,"message":"Invalid request: a batch`},
		{`{"jsonrpc":"2.0","id":1,"method":"ping","id":2}`, `is there twice`},
		{`{"jsonrpc":"2.0","id":{},"method":"ping"}`, `"id":null,"error":{"code":-32600`},
		{`{"id":1,"method":"ping"}`, `"id":1,"error":{"code":-32600`},
		{`{"jsonrpc":"2.0","id":1,"method":"x","params":"` + strings.Repeat("x", 20<<10) + `"}`, `too long`},
		{`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, `before initialize`},
		{`{"jsonrpc":"2.0","id":1,"method":"ping"}`, `{"jsonrpc":"2.0","id":1,"result":{}}`},
	} {
		w.send(tt.line)
		require.Contains(t, w.receive(), tt.want, tt.line)
	}
	w.initialize()
	for _, tt := range []struct{ method, params string }{
		{"tools/call", `{}`}, {"tools/call", `{"name":1}`}, {"tools/call", `[1]`}, {"tools/call", `{"name":"a_x","name":"a_x"}`}, {"resources/read", `{"uri":"a","uri":"b"}`}, {"prompts/get", `{"name":"x"}`}, {"completion/complete", `{}`},
		{"resources/read", `{}`}, {"tasks/get", `{"taskId":"x"}`}, {"tasks/get", `{}`}, {"subscriptions/listen", `{}`}, {"server/discover", `{}`},
	} {
		require.Contains(t, w.ask("1", tt.method, tt.params), `"error"`, "%s %s", tt.method, tt.params)
	}
	require.Contains(t, w.ask("1", "tools/call", `{"name":"a_x"}`), `"result"`)
}

func TestNoServer(t *testing.T) {
	t.Parallel()
	w := open(t, scripted(nil, "a", "b"))
	answer := w.initialize()
	require.Contains(t, answer, `"code":-32000`)
	require.Contains(t, answer, `a: there is no program \"a\"; b: there is no program \"b\"`)
	require.NoError(t, w.in.Close())
	require.ErrorIs(t, <-w.ended, ErrNone)

	require.Error(t, Run(t.Context(), Options{}))
	require.Error(t, Run(t.Context(), Options{Servers: []Server{{Name: "a"}}, Qualify: "never"}))
}

// A server that reads nothing fills its own queue, and nobody else waits.
func TestServerThatDoesNotRead(t *testing.T) {
	t.Parallel()
	stuck := make(chan struct{})
	lists := map[*kind][]string{tools: {"x"}, prompts: {"p"}}
	blocks := func(_ func(string, ...any), m *message) error {
		if m.method == "tools/call" {
			<-stuck
		}
		return nil
	}
	opts := scripted(map[string]script{"a": lister(lists, blocks), "b": lister(lists, nil)}, "a", "b")
	opts.MaxQueue = 200 << 10
	w := open(t, opts)
	t.Cleanup(func() { close(stuck) })
	w.initialize()
	w.ask("1", "tools/list", "{}")
	w.ask("1", "prompts/list", "{}")
	large := strings.Repeat("x", 90<<10)
	go func() { // of which the first few find room
		for i := range 10 {
			_, _ = fmt.Fprintf(w.in, `{"jsonrpc":"2.0","id":"a%d","method":"tools/call","params":{"name":"a_x","y":"%s"}}`+"\n", i, large)
		}
	}()
	require.Contains(t, w.answerTo(`"a9"`), `"code":-32000,"message":"The server a does not take what is sent to it. Nothing was done.`)
	for range 10 {
		require.Contains(t, w.ask("2", "tools/call", `{"name":"b_x"}`), `"got"`)
		require.Contains(t, w.ask("3", "prompts/get", `{"name":"b_p"}`), `"got"`)
	}
}

// A server that has been introduced to a session before all others were told of it
// is not told again, and stays what it is.
func TestBeginLeavesTheIntroducedAlone(t *testing.T) {
	t.Parallel()
	opts := scripted(map[string]script{"a": lister(nil, nil)}, "a")
	f, err := newFleet(opts)
	require.NoError(t, err)
	c := f.children[0]
	c.box = newOutbox(1 << 10)
	c.metIn, c.metBy = f.session.number+1, c.box
	c.hello = &hello{}
	c.become(ready, "")
	f.begin(session{})
	require.True(t, c.is(ready))
	require.NotNil(t, c.greeting())
}

// A request that is withdrawn while the server is asked for its list takes the list
// from nobody else.
func TestCancelledWhileListing(t *testing.T) {
	t.Parallel()
	listing := make(chan struct{})
	asked := 0
	slow := func(say func(string, ...any), m *message) error {
		if m.method != "prompts/list" {
			return nil
		}
		if asked++; asked == 1 {
			say("\n") // nothing
			close(listing)
		}
		return nil
	}
	w := open(t, scripted(map[string]script{"a": lister(map[*kind][]string{prompts: {"p"}}, slow)}, "a"))
	w.initialize()
	w.send(`{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"a_p"}}`)
	w.wait(listing)
	w.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
	require.Contains(t, w.ask("2", "prompts/get", `{"name":"a_p"}`), `"got"`)
}

// What is kept of requests in flight is bounded, too.
func TestLargeRequests(t *testing.T) {
	t.Parallel()
	got := make(chan struct{}, 8)
	hangs := func(say func(string, ...any), m *message) error {
		if m.method == "prompts/get" {
			say("\n") // nothing
			got <- struct{}{}
		}
		return nil
	}
	opts := scripted(map[string]script{"a": lister(map[*kind][]string{prompts: {"p"}}, hangs)}, "a")
	opts.MaxQueue, opts.MaxInFlight = 10<<10, 3
	w := open(t, opts)
	w.initialize()
	large := strings.Repeat("x", 6<<10)
	w.send(`{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"a_p","y":"` + large + `"}}`)
	require.Contains(t, w.ask("2", "prompts/get", `{"name":"a_p","y":"`+large+`"}`), "are too large in all")
	w.wait(got) // the queue to the server has the same bound
	w.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
	w.send(`{"jsonrpc":"2.0","id":3,"method":"prompts/get","params":{"name":"a_p","y":"` + large + `"}}`)
	require.Contains(t, w.ask("4", "ping", "{}"), `"result"`)
	for id := range 2 {
		w.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":"s%d","method":"prompts/get","params":{"name":"a_p"}}`, id))
	}
	require.Contains(t, w.ask("5", "ping", "{}"), "Too many requests are waiting for an answer")
}
