package session

import (
	"bytes"
	"context"
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/steadymcp/steady/cmd/steady/internal/launch"
)

// A script is a connection whose server answers by script.
type script struct {
	lines  chan launch.Line
	answer func(message []byte) []string
}

func (s *script) Send(_ context.Context, m []byte) error {
	if s.answer != nil {
		for _, line := range s.answer(m) {
			s.lines <- launch.Line{Text: []byte(line)}
		}
	}
	return nil
}
func (s *script) Lines() <-chan launch.Line { return s.lines }
func (s *script) Close() error              { return nil }

func open(answer func(message []byte) []string) (*Session, *script) {
	c := &script{lines: make(chan launch.Line, 100), answer: answer}
	return Open(c), c
}

func TestWhatAClientWouldHide(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, c := open(func(m []byte) []string {
			var got struct {
				ID     json.RawMessage
				Method string
			}
			if json.Unmarshal(m, &got) != nil || got.Method == "" {
				return nil
			}
			answer := `{"jsonrpc":"2.0","id":` + string(got.ID) + `,"result":{}}`
			switch got.Method {
			case "glued":
				return []string{"Loading... " + answer}
			case "twice":
				return []string{answer, answer}
			case "batch":
				return []string{"[" + answer + "]"}
			case "empty":
				return []string{`{"jsonrpc":"2.0","id":` + string(got.ID) + `}`}
			case "silent":
				return nil
			}
			return []string{answer}
		})
		defer close(c.lines)
		for _, method := range []string{"plain", "glued", "twice", "batch"} {
			r := s.Call(method, nil, time.Second)
			require.True(t, r.OK(), method)
		}
		empty := s.Call("empty", nil, time.Second)
		require.NotNil(t, empty.Error)
		silent := s.Call("silent", nil, time.Second)
		require.ErrorIs(t, silent.Err, ErrTimeout)
		require.Equal(t, time.Second, silent.Elapsed)

		s.SetPhase("call")
		for _, line := range []string{"WARN", "WARN", `{"level":"info"}`, "42", "", `{"jsonrpc":"2.0","id":99,"result":{}}`, `{"jsonrpc":"2.0","method":"notifications/x"}`} {
			c.lines <- launch.Line{Text: []byte(line)}
		}
		synctest.Wait()
		require.Equal(t, []Stray{{Phase: "handshake", Text: "Loading... ", Glued: true}, {Phase: "call", Text: "WARN"}, {Phase: "call", Text: `{"level":"info"}`}, {Phase: "call", Text: "42"}}, s.Strays())
		var kinds []FaultKind
		for _, f := range s.Faults() {
			kinds = append(kinds, f.Kind)
		}
		require.Equal(t, []FaultKind{AnsweredTwice, NoContent, UnknownID}, kinds)
	})
}

// A server that knows no handshake is spoken to without one.
func TestWithoutHandshake(t *testing.T) {
	t.Parallel()
	var last []byte
	s, c := open(func(m []byte) []string {
		last = bytes.Clone(m)
		if bytes.Contains(m, []byte(`"initialize"`)) {
			return []string{`{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}`}
		}
		return []string{`{"jsonrpc":"2.0","id":2,"result":{"capabilities":{"tools":{}}}}`}
	})
	defer close(c.lines)
	require.NoError(t, s.Handshake(time.Second))
	require.True(t, s.Server().Stateless)
	require.Contains(t, string(last), `"io.modelcontextprotocol/protocolVersion":"2026-07-28"`)
}

// What a server sends never breaks us, and what is kept of it is bounded.
func FuzzTake(f *testing.F) {
	f.Add([]byte("Loading... {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n[{\"jsonrpc\":\"2.0\",\"id\":1}]\n{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"ping\"}"), true)
	f.Add([]byte("{\"{\"{\"{\"{\"{\"{\"{\""), false)
	f.Fuzz(func(t *testing.T, data []byte, cut bool) {
		s, c := open(nil)
		defer close(c.lines)
		for line := range bytes.SplitSeq(data, []byte("\n")) {
			s.take(launch.Line{Text: line, Cut: cut})
		}
		require.LessOrEqual(t, len(s.Strays()), maxStrays)
		require.LessOrEqual(t, len(s.Faults()), maxFaults)
		for _, x := range s.Strays() {
			require.LessOrEqual(t, len(x.Text), keptLine+len("…"))
		}
	})
}
