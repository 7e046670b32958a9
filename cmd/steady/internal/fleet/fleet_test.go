package fleet

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/steadymcp/steady/cmd/steady/internal/jsonl"
	"github.com/steadymcp/steady/cmd/steady/internal/proxy"
	"github.com/steadymcp/steady/cmd/steady/internal/proxytest"
)

// A script is a server in the test's own process: it gets each line that it is
// sent, and may say something at any time. It ends when it returns an error.
type script func(say func(format string, args ...any), m *message) error

// scripted returns Options whose servers are scripts, by name, in this order.
func scripted(scripts map[string]script, names ...string) Options {
	opts := Options{Start: 5 * time.Second}
	for _, name := range names {
		opts.Servers = append(opts.Servers, Server{Name: name, Command: []string{name}})
	}
	opts.start = func(ctx context.Context, s Server, o proxy.Options) error {
		play := scripts[s.Name]
		if play == nil {
			return fmt.Errorf("there is no program %q", s.Name)
		}
		var mu sync.Mutex
		say := func(format string, args ...any) {
			mu.Lock()
			defer mu.Unlock()
			_, _ = fmt.Fprintf(o.Out, format+"\n", args...)
		}
		stop := context.AfterFunc(ctx, func() { _ = o.In.(io.Closer).Close() })
		defer stop()
		lines := jsonl.NewReader(o.In, 64<<20)
		for {
			line, _, _, err := lines.Next()
			if err != nil {
				return nil
			}
			m, why := parse(bytes.Clone(line))
			if why != "" {
				return fmt.Errorf("%s: %s", line, why)
			}
			if err := play(say, &m); err != nil {
				return err
			}
		}
	}
	return opts
}

// lister answers the handshake, and lists what it is given: tools by name,
// resources by URI, and so on. Calls are answered with what arrived.
func lister(lists map[*kind][]string, more script) script {
	return func(say func(string, ...any), m *message) error {
		if more != nil {
			handled := false
			err := more(func(format string, args ...any) { handled = true; say(format, args...) }, m)
			if err != nil || handled {
				return err
			}
		}
		switch m.method {
		case "initialize":
			capabilities := map[string]any{"logging": map[string]any{}}
			for k := range lists {
				capabilities[k.capability] = map[string]any{}
			}
			text, _ := json.Marshal(capabilities)
			version, _ := jsonl.Text(jsonl.Member(m.params, "protocolVersion"))
			say(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":%q,"capabilities":%s,"serverInfo":{"name":"x","version":"1"},"instructions":"Be kind."}}`, m.id, version, text)
			return nil
		case "":
			return nil
		}
		if k := kindOf(m.method); k != nil {
			var items []string
			for _, key := range lists[k] {
				items = append(items, fmt.Sprintf(`{ "odd":1.50, %q:%q, "_meta":{"a": [1 ,2]} }`, k.key, key))
			}
			say(`{"jsonrpc":"2.0","id":%s,"result":{%q:[%s]}}`, m.id, k.items, strings.Join(items, ","))
			return nil
		}
		if m.isRequest() {
			say(`{"jsonrpc":"2.0", "id":%s, "result":{"got":%s} }`, m.id, orNull(m.params))
		}
		return nil
	}
}

// A wire is the client's end of a fleet.
type wire struct {
	t     testing.TB
	in    *io.PipeWriter
	out   *bufio.Reader
	cut   func(error) error // ends out
	log   *proxytest.Buffer
	ended chan error
	stop  context.CancelFunc
}

func open(t testing.TB, opts Options) *wire {
	t.Helper()
	in, toFleet := io.Pipe()
	fromFleet, out := io.Pipe()
	w := &wire{t: t, in: toFleet, out: bufio.NewReaderSize(fromFleet, 1<<20), cut: fromFleet.CloseWithError, log: &proxytest.Buffer{}, ended: make(chan error, 1)}
	opts.In, opts.Out, opts.Log = in, out, w.log
	ctx, stop := context.WithCancel(context.Background())
	w.stop = stop
	go func() {
		w.ended <- Run(ctx, opts)
		_ = out.Close()
	}()
	t.Cleanup(func() {
		_ = toFleet.Close()
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, _ = io.Copy(io.Discard, w.out)
		}()
		select {
		case <-done:
		case <-time.After(30 * time.Second):
			t.Errorf("the fleet does not end:\n%s", w.log)
		}
		stop()
	})
	return w
}

func (w *wire) send(lines ...string) {
	w.t.Helper()
	for _, line := range lines {
		_, err := io.WriteString(w.in, line+"\n")
		require.NoError(w.t, err)
	}
}

// patience is how long a test waits before it fails.
const patience = time.Minute

// wait waits for a server to do something.
func (w *wire) wait(done <-chan struct{}) {
	w.t.Helper()
	select {
	case <-done:
	case <-time.After(patience):
		require.Fail(w.t, "the server does nothing", "%s", w.log)
	}
}

func (w *wire) receive() string {
	w.t.Helper()
	late := time.AfterFunc(patience, func() { _ = w.cut(errors.New("nothing has come")) })
	defer late.Stop()
	line, err := w.out.ReadString('\n')
	require.NoError(w.t, err, "%s", w.log)
	return strings.TrimSuffix(line, "\n")
}

// answerTo returns the answer to a request, and forgets what comes before it.
func (w *wire) answerTo(id string) string {
	w.t.Helper()
	for {
		line := w.receive()
		if m, _ := parse([]byte(line)); m.method == "" && string(m.id) == id {
			return line
		}
	}
}

func (w *wire) ask(id, method, params string) string {
	w.t.Helper()
	w.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`, id, method, params))
	return w.answerTo(id)
}

func (w *wire) initialize() string {
	w.t.Helper()
	answer := w.ask("0", "initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}`)
	w.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return answer
}

func keysOf(t testing.TB, line string, k *kind) (keys []string) {
	t.Helper()
	var m struct{ Result map[string]json.RawMessage }
	require.NoError(t, json.Unmarshal([]byte(line), &m), line)
	var items []map[string]any
	require.NoError(t, json.Unmarshal(m.Result[k.items], &items), line)
	for _, it := range items {
		keys = append(keys, it[k.key].(string))
	}
	return keys
}

func TestSeveralServers(t *testing.T) {
	t.Parallel()
	w := open(t, scripted(map[string]script{
		"one": lister(map[*kind][]string{tools: {"search", "get.it"}, prompts: {"hello"}, resources: {"a:1", "b:1"}}, nil),
		"two": lister(map[*kind][]string{tools: {"search", "other"}, resources: {"b:1", "b:2"}, templates: {"c://{x}/y"}}, nil),
	}, "two", "one", "none"))
	hello := w.initialize()
	require.Contains(t, hello, `"protocolVersion":"2025-11-25"`)
	require.Contains(t, hello, `"capabilities":{"logging":{},"prompts":{"listChanged":true},"resources":{"listChanged":true},"tools":{"listChanged":true}}`)
	require.Contains(t, hello, `"instructions":"## two\n\nBe kind.\n\n## one\n\nBe kind."`)
	require.Contains(t, hello, `"steady/servers":[{"name":"two","serverInfo":{"name":"x","version":"1"}},{"name":"one"`)

	list := w.ask(`"é"`, "tools/list", "{}")
	require.Equal(t, `{"jsonrpc":"2.0","id":"é","result":{"tools":[`+
		`{ "odd":1.50, "name":"two_search", "_meta":{"a": [1 ,2]} },{ "odd":1.50, "name":"two_other", "_meta":{"a": [1 ,2]} },`+
		`{ "odd":1.50, "name":"one_search", "_meta":{"a": [1 ,2]} },{ "odd":1.50, "name":"one_get_it", "_meta":{"a": [1 ,2]} }]}}`, list)
	require.Equal(t, []string{"b:1", "b:2", "a:1"}, keysOf(t, w.ask("1", "resources/list", "{}"), resources))
	require.Equal(t, []string{"one_hello"}, keysOf(t, w.ask("1", "prompts/list", "{}"), prompts))

	require.Equal(t, `{"jsonrpc":"2.0", "id":2.0, "result":{"got":{"x":1e3,"name":"get.it" , "arguments":{"name":"one_get_it"}}} }`,
		w.ask("2.0", "tools/call", `{"x":1e3,"name":"one_get_it" , "arguments":{"name":"one_get_it"}}`))
	require.Contains(t, w.ask("3", "prompts/get", `{"name":"one_hello"}`), `"got":{"name":"hello"}`)
	require.Contains(t, w.ask("3", "completion/complete", `{"ref":{"type":"ref/prompt","name":"one_hello"}}`), `"got":{"ref":{"type":"ref/prompt","name":"hello"}}`)
	for _, uri := range []string{"a:1", "b:2", "c://d/y", "a:other"} {
		require.Contains(t, w.ask("4", "resources/read", `{"uri":"`+uri+`"}`), `"got":{"uri":"`+uri+`"}`)
	}
	require.Contains(t, w.ask("5", "ping", "{}"), `"result":{}`)
	require.Contains(t, w.ask("6", "logging/setLevel", `{"level":"debug"}`), `"got":{"level":"debug"}`)
	for _, name := range []string{"search", "three_search"} {
		answer := w.ask("7", "tools/call", `{"name":"`+name+`"}`)
		require.Contains(t, answer, `"code":-32602`)
		require.Contains(t, answer, "two, one, none (not running)")
	}
	require.Contains(t, w.ask("8", "tools/call", `{"name":"search"}`), `it is called \"one_search\" or \"two_search\"`)
	require.Contains(t, w.ask("9", "acme/do", `{}`), `"code":-32601`)
	require.Contains(t, w.ask("9", "resources/read", `{"uri":"a:1","uri2":2}`), `"uri2":2`)

	require.Eventually(t, func() bool { return strings.Contains(w.log.String(), "b:1") }, 10*time.Second, time.Millisecond)
	for _, text := range []string{`server none is left out: there is no program "none"`,
		`resources: "b:1" is what more than one server has: two, one (left out)`} {
		require.Equal(t, 1, strings.Count(w.log.String(), text), "%s", w.log)
	}
	require.NotContains(t, w.log.String(), `tools: "search"`, "that every name carries its server's is no news")
}
