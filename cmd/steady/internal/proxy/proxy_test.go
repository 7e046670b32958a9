package proxy

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/steadymcp/steady/cmd/steady/internal/jsonl"
	"github.com/steadymcp/steady/cmd/steady/internal/proxytest"
)

// A session is a client's end of a proxy before the tests' server.
type session struct {
	t     testing.TB
	in    *os.File
	out   *bufio.Reader
	log   *proxytest.Buffer
	ended chan error
	stop  context.CancelFunc
}

func open(t testing.TB, change func(*Options)) *session {
	t.Helper()
	inR, inW, err := os.Pipe()
	require.NoError(t, err)
	outR, outW, err := os.Pipe()
	require.NoError(t, err)
	s := &session{t: t, in: inW, out: bufio.NewReaderSize(outR, 1<<20), log: &proxytest.Buffer{}, ended: make(chan error, 1)}
	opts := Options{Command: []string{os.Args[0]}, Env: []string{"STEADY_PROXY_SERVER=1"}, In: inR, Out: outW, Log: s.log}
	if change != nil {
		change(&opts)
	}
	ctx, stop := context.WithCancel(context.Background())
	s.stop = stop
	go func() {
		s.ended <- Run(ctx, opts)
		_, _ = outW.Close(), inR.Close()
	}()
	t.Cleanup(func() {
		stop()
		_ = inW.Close()
		_, _ = io.Copy(io.Discard, s.out)
		_ = outR.Close()
	})
	require.NoError(t, outR.SetReadDeadline(time.Now().Add(time.Minute)))
	return s
}

func (s *session) send(lines ...string) {
	s.t.Helper()
	_, err := s.in.WriteString(strings.Join(lines, "\n") + "\n")
	require.NoError(s.t, err)
}

func (s *session) receive() string {
	s.t.Helper()
	line, err := s.out.ReadString('\n')
	require.NoError(s.t, err, "%s", s.log)
	return strings.TrimSuffix(line, "\n")
}

func (s *session) wait() error {
	s.t.Helper()
	select {
	case err := <-s.ended:
		return err
	case <-time.After(30 * time.Second):
		require.Fail(s.t, "the proxy does not end")
		return nil
	}
}

func callTo(id int, name string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q}}`, id, name)
}

const (
	initialize  = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25", "odd": 1.50}}`
	initialized = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
)

func TestBytesPass(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	for _, line := range []string{
		initialize,
		`{"jsonrpc":"2.0","id":"é\u00e9","method":"no/such","params":[1, 2.0e0],"more":{"a":"\ud83d\ude00"}}`,
		`{"id":1.0,"params":{"id":9,"method":"x"},"method":"tools/list","jsonrpc":"2.0"}`,
		`{"jsonrpc":"2.0","id":9007199254740993,"method":"x/` + strings.Repeat("y", 200<<10) + `"}`,
	} {
		s.send(line)
		id := string(member([]byte(line), "id"))
		require.Equal(t, fmt.Sprintf(`{ "jsonrpc":"2.0", "id":%s, "unknown": 1e2, "result":{"line":%q} }`, id, line), s.receive())
	}
	s.send(`{"jsonrpc":"2.0","method":"notifications/ping"}`, callTo(1, "ask"))
	require.Equal(t, `{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{}}`, s.receive())
	require.Equal(t, `{"jsonrpc":"2.0","id":1,"result":{}}`, s.receive())
	s.send(`{"jsonrpc":"2.0","id":1,"result":{"action":"accept"}}`)
	require.Equal(t, `{"jsonrpc":"2.0","method":"notifications/answered","params":{"jsonrpc":"2.0","id":1,"result":{"action":"accept"}}}`, s.receive())
	require.Empty(t, s.log.String())
}

func TestStrayOutput(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	s.send(callTo(1, "print"), callTo(2, "echo"))
	require.Equal(t, `{"jsonrpc":"2.0","id":1,"result":{}}`, s.receive())
	require.Contains(t, s.receive(), `"id":2`)
	require.Eventually(t, func() bool { return strings.Contains(s.log.String(), "no end of line") }, 10*time.Second, time.Millisecond)
	for _, text := range []string{"a line that is no message", `"42"`, `level`} {
		require.Contains(t, s.log.String(), text)
	}
}

func TestLinesThatAreNoMessages(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	s.send("\ufeff" + callTo(1, "echo"))
	require.Contains(t, s.receive(), `"id":1`)
	s.send("", "garbage", `{"jsonrpc":"2.0","id":7,"method":"x",}`, `[]`, `42`, `{"jsonrpc":"2.0","id":{},"method":"x"}`)
	for _, id := range []string{"null", "7", "null", "null", "null"} {
		require.Contains(t, s.receive(), `{"jsonrpc":"2.0","id":`+id+`,"error":{"code":-32700`)
	}
	s.send(callTo(2, "echo") + "\r")
	require.Contains(t, s.receive(), `"id":2`)
}

func TestLongMessages(t *testing.T) {
	t.Parallel()
	s := open(t, func(o *Options) { o.MaxLine = 10 << 10 })
	pad := strings.Repeat("x", 200<<10)
	s.send(`{"jsonrpc":"2.0","id":1,"method":"x","params":"` + pad + `"}`)
	require.Contains(t, s.receive(), `"id":1,"error":{"code":-32600`)
	s.send(`{"method":"x","params":"` + pad + `","jsonrpc":"2.0","id":"two"}`)
	require.Contains(t, s.receive(), `"id":"two","error":{"code":-32600`)
	s.send(callTo(3, "large"))
	require.Contains(t, s.receive(), `"id":3,"error":{"code":-32603`)
	s.send(callTo(4, "echo"))
	require.Contains(t, s.receive(), `"id":4`)
}

func TestServerKilled(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"die", "leave", "orphan"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			s := open(t, nil)
			level := `{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"debug"}}`
			subscribe := `{"jsonrpc":"2.0","id":2,"method":"resources/subscribe","params":{"uri":"a:b"}}`
			for _, line := range []string{initialize, level, subscribe} {
				s.send(line)
				s.receive()
			}
			s.send(initialized, callTo(3, "hang"), callTo(4, "hang"),
				`{"jsonrpc":"2.0","id":5,"method":"hang"}`,
				`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":4}}`,
				`{"jsonrpc":"2.0","id":6,"method":"tools/call","params":{"name":"`+how+`","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`)
			answers := map[string]string{}
			for range 3 {
				line := s.receive()
				answers[string(member([]byte(line), "id"))] = line
			}
			require.Contains(t, answers["3"], `"isError":true`)
			require.Contains(t, answers["3"], "whether the call has done its work is not known")
			require.NotContains(t, answers["3"], "resultType")
			require.Contains(t, answers["5"], `"error":{"code":-32000`)
			require.Contains(t, answers["6"], `"resultType":"complete"`)

			s.send(callTo(7, "seen"))
			var seen struct{ Result []string }
			require.NoError(t, json.Unmarshal([]byte(s.receive()), &seen))
			mine := func(line string, n int) string {
				return string(withID([]byte(line), fmt.Sprintf(`"steady-restart-1-%d"`, n)))
			}
			require.Equal(t, []string{mine(initialize, 1), initialized, mine(level, 2), mine(subscribe, 3), callTo(7, "seen")}, seen.Result)
			require.Contains(t, s.log.String(), "started again")
		})
	}
}

// An answer to a question of a server that has ended is not taken for one to
// the same id of the next.
func TestAnswerToTheDead(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	s.send(callTo(1, "ask"))
	s.receive()
	s.receive()
	s.send(callTo(2, "die"))
	require.Contains(t, s.receive(), `"id":2`)
	require.Contains(t, s.receive(), `"method":"notifications/cancelled","params":{"requestId":1,`)
	s.send(callTo(3, "ask")) // which the proxy refuses
	for range 2 {
		require.NotContains(t, s.receive(), "elicitation")
		if s.out.Buffered() == 0 {
			break
		}
	}
	s.send(`{"jsonrpc":"2.0","id":1,"result":{"action":"accept"}}`, callTo(4, "seen"))
	for {
		if line := s.receive(); strings.Contains(line, `"id":4`) {
			require.NotContains(t, line, "accept")
			break
		}
	}
}

func TestServerThatDiesAgainAndAgain(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	s.send(initialize)
	s.receive()
	for id := range 4 {
		s.send(callTo(id, "die"))
		require.Contains(t, s.receive(), `"isError":true`)
	}
	s.send(callTo(9, "echo"))
	require.Contains(t, s.receive(), `"id":9`)
}

// hangingUp is a client that ends its input when it is answered, and is heard.
type hangingUp struct{ in io.Closer }

func (h hangingUp) Write(b []byte) (int, error) {
	_ = h.in.Close()
	<-time.After(50 * time.Millisecond)
	return len(b), nil
}

func TestServerThatNeverSpeaks(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	s.send(`{"jsonrpc":"2.0","id":1,"method":"leave"}`)
	require.Contains(t, s.receive(), `"id":1,"error":{"code":-32000,"message":"The server ended (exit status 7)`)
	require.ErrorIs(t, s.wait(), errNoAnswer)

	// A client that leaves at once when it is told so changes nothing.
	in, end := io.Pipe()
	leaving := hangingUp{end}
	go func() { _, _ = io.WriteString(end, `{"jsonrpc":"2.0","id":1,"method":"leave"}`+"\n") }()
	err := Run(t.Context(), Options{Command: []string{os.Args[0]}, Env: []string{"STEADY_PROXY_SERVER=1"}, In: in, Out: leaving, Log: io.Discard})
	require.ErrorIs(t, err, errNoAnswer)

	require.ErrorContains(t, Run(t.Context(), Options{Command: []string{"./no/such"}, Log: io.Discard}), "starting the server")
	require.ErrorContains(t, Run(t.Context(), Options{Command: []string{os.Args[0]}, Dir: "./no/such", Log: io.Discard}), "stat ./no/such")
}

func TestEndOfInput(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	s.send(callTo(1, "slow"), callTo(2, "slow"))
	require.NoError(t, s.in.Close())
	for _, want := range []string{"notifications/slow", `"id":1`, "notifications/slow", `"id":2`} {
		require.Contains(t, s.receive(), want)
	}
	require.NoError(t, s.wait())
}

func TestStop(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	s.send(callTo(3, "slow"), `{"jsonrpc":"2.0","id":4,"method":"hang"}`, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":4}}`)
	require.Contains(t, s.receive(), "notifications/slow")
	s.stop()
	require.Contains(t, s.receive(), `"id":3`)
	require.NoError(t, s.wait())
}

func TestStopAServerThatHangs(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(s *session, hurry chan struct{}){
		"window":  func(s *session, _ chan struct{}) { s.stop() },
		"eof":     func(s *session, _ chan struct{}) { _ = s.in.Close() },
		"hurry":   func(s *session, hurry chan struct{}) { s.stop(); close(hurry) },
		"no room": func(s *session, _ chan struct{}) { _ = s.in.Close(); s.stop() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			hurry := make(chan struct{})
			s := open(t, func(o *Options) {
				o.Hurry, o.EOFWindow, o.StopWindow = hurry, 100*time.Millisecond, 100*time.Millisecond
			})
			s.send(callTo(1, "echo"))
			s.receive()
			s.send(callTo(2, "hang-on"))
			end(s, hurry)
			require.NoError(t, s.wait())
		})
	}
}

func TestClientGone(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	require.NoError(t, err)
	require.NoError(t, r.Close())
	s := open(t, func(o *Options) { o.Out = w })
	s.send(callTo(1, "echo"))
	require.NoError(t, s.wait())
}

func TestTooManyInFlight(t *testing.T) {
	t.Parallel()
	s := open(t, func(o *Options) { o.MaxInFlight, o.StopWindow = 2, time.Millisecond })
	s.send(callTo(1, "hang"), callTo(2, "hang"), callTo(3, "echo"))
	require.Contains(t, s.receive(), `"id":3,"error":{"code":-32000`)
}

func TestLogNeverBlocks(t *testing.T) {
	t.Parallel()
	blocked, w := io.Pipe()
	l := newLog(w)
	for range 10 * logLines {
		l.say("x")
	}
	go func() { _, _ = io.Copy(io.Discard, blocked) }()
	l.close()
	require.Positive(t, l.dropped)
}

func FuzzParse(f *testing.F) {
	for _, line := range []string{
		initialize, callTo(1, "x"), `[` + initialized + `]`, `{"id":"\"","result":[{"a":"}"}],"jsonrpc":"2.0"}`, "x" + initialized, `{"a\u0062":1}`, `{`, `[`,
	} {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		// What is read agrees with what encoding/json reads.
		reader := newFrames(bytes.NewReader(line), 64)
		for {
			got, tail, _, err := reader.next()
			if err != nil {
				break
			}
			require.LessOrEqual(t, len(got), max(64, jsonl.CutHead))
			require.LessOrEqual(t, len(tail), jsonl.CutTail)
			identify(got, tail)
		}
		salvage(line)
		var want map[string]json.RawMessage
		if json.Unmarshal(line, &want) != nil || want == nil {
			parse(line)
			return
		}
		got := map[string]json.RawMessage{}
		members(line, func(key, value []byte) { got[string(key)] = value })
		if bytes.Contains(line, []byte(`\`)) || !bytes.Equal(bytes.ToValidUTF8(line, nil), line) {
			return // encoding/json replaces what is no text
		}
		require.Equal(t, len(want), len(got))
		for key, value := range want {
			require.Equal(t, string(value), string(got[key]))
		}
		messages, ok := parse(line)
		if ok && messages[0].id != nil {
			again, ok := parse(withID(line, `"other"`))
			require.True(t, ok)
			require.Equal(t, `"other"`, string(again[0].id))
		}
	})
}
