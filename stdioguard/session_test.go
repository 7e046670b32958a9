package stdioguard_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/steadymcp/steady/internal/mcptest"
	"github.com/steadymcp/steady/stdioguard"
)

func nested(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }

func eachRevision(t *testing.T, f func(t *testing.T, revision string)) {
	for _, revision := range mcptest.Revisions {
		t.Run(revision, func(t *testing.T) { f(t, revision) })
	}
}

// A bad line costs that line, and its sender is told under its own id.
func TestBadLines(t *testing.T) {
	tooLong := `{"jsonrpc":"2.0","id":"long-1","method":"x","params":"` + strings.Repeat("y", 1<<20) + `"}`
	tooLongLast := `{"method":"x","params":"` + strings.Repeat("y", 1<<20) + `","jsonrpc":"2.0","id":77}`
	for _, tt := range []struct {
		name, line, id string
		code           int
	}{
		{"garbage (B110)", `hello`, `null`, -32700},
		{"an empty object", `{}`, `null`, -32600},
		{"an empty array (B110)", `[]`, `null`, -32600},
		{"a number", `42`, `null`, -32600},
		{"an open brace", `{`, `null`, -32700},
		{"truncated", `{"jsonrpc":"2.0","id":"cut","method":"ping`, `"cut"`, -32700},
		{"no version", `{"id":31,"method":"ping"}`, `31`, -32600},
		{"not UTF-8", "{\"jsonrpc\":\"2.0\",\"id\":32,\"method\":\"\xff\"}", `32`, -32700},
		{"trailing junk", `{"jsonrpc":"2.0","id":33,"method":"ping"} x`, `33`, -32700},
		{"a later byte order mark", "\ufeff" + `{"jsonrpc":"2.0","id":34,"method":"ping"}`, `null`, -32700},
		{"a NUL", "\x00", `null`, -32700},
		{"1,001 levels", `{"jsonrpc":"2.0","id":35,"method":"x","params":` + nested(1000) + `}`, `35`, -32600},
		{"over the limit, id first", tooLong, `"long-1"`, -32600},
		{"over the limit, id last", tooLongLast, `77`, -32600},
		{"an id beyond 2^53", `{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}`, `9007199254740993`, -32600},
		{"an id with a fraction", `{"jsonrpc":"2.0","id":1.5,"method":"ping"}`, `1.5`, -32600},
		{"an id that is null", `{"jsonrpc":"2.0","id":null,"method":"ping"}`, `null`, -32600},
		{"two ids", `{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}`, `null`, -32600},
		{"two messages", `{"jsonrpc":"2.0","id":51,"method":"ping"}{"jsonrpc":"2.0","id":52,"method":"ping"}`, `51`, -32700},
		{"method in capitals", `{"jsonrpc":"2.0","id":36,"Method":"ping"}`, `36`, -32600},
		{"a method that is a number", `{"jsonrpc":"2.0","id":37,"method":5}`, `37`, -32600},
		{"a batch (B110)", `[{"jsonrpc":"2.0","id":"b","method":"ping"}]`, `"b"`, -32600},
	} {
		t.Run(tt.name, func(t *testing.T) {
			eachRevision(t, func(t *testing.T, revision string) {
				d, _, _ := memory(t, &stdioguard.Options{MaxLine: 1 << 20, Observer: new(events)})
				d.start(revision)
				d.alive()
				d.send(tt.line)
				r := d.read()
				require.NotNil(t, r)
				require.Equal(t, tt.id, string(r.ID), r.raw)
				require.NotNil(t, r.Error, r.raw)
				require.Equal(t, tt.code, r.Error.Code, r.raw)
				d.alive()
			})
		})
	}
}

// Lines that are passed over without an answer.
func TestUnansweredLines(t *testing.T) {
	for name, line := range map[string]string{
		"blank":                      "",
		"blanks":                     " \t\r",
		"a notification nobody has":  `{"jsonrpc":"2.0","method":"notifications/nobody"}`,
		"an error with a null id":    `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"x"}}`,
		"an answer to no question":   `{"jsonrpc":"2.0","id":99,"result":{}}`,
		"a broken answer":            `{"jsonrpc":"2.0","id":99,"result":{]}`,
		"an answer that is too long": `{"jsonrpc":"2.0","id":99,"result":"` + strings.Repeat("y", 1<<20) + `"}`,
	} {
		t.Run(name, func(t *testing.T) {
			d, _, _ := memory(t, &stdioguard.Options{MaxLine: 1 << 20, Observer: new(events)})
			d.start(mcptest.Handshake)
			d.send(line, d.tool("5", "echo", script{Text: "hi"}))
			r := d.read()
			require.Equal(t, "5", string(r.ID), r.raw)
		})
	}
}

// B110: calls without parameters, or without a name, get an error.
func TestCallsWithoutParameters(t *testing.T) {
	d, _, _ := memory(t, nil)
	d.start(mcptest.Handshake)
	for i, params := range []string{`,"params":null`, ``, `,"params":{}`, `,"params":5`, `,"params":[]`} {
		d.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call"%s}`, 10+i, params))
		r := d.wait(fmt.Sprint(10 + i))
		require.NotNil(t, r.Error, r.raw)
		require.NotZero(t, r.Error.Code)
	}
	d.alive()
}

// B106, B108: one byte order mark, CRLF, blanks, and no line feed at the end.
func TestLenientFraming(t *testing.T) {
	d, _, served := memory(t, nil)
	d.send("\ufeff"+initialize(mcptest.Handshake)+"\r", "\r", "  "+`{"jsonrpc":"2.0","id":1,"method":"ping"}`+" \t \r")
	require.NotNil(t, d.wait("0").Result)
	require.NotNil(t, d.wait("1").Result)
	_, err := io.WriteString(d.in, `{"jsonrpc":"2.0","id":2,"method":"ping"}`)
	require.NoError(t, err)
	require.NoError(t, d.in.Close())
	require.NotNil(t, d.wait("2").Result)
	require.NoError(t, <-served)
}

func TestNoNullID(t *testing.T) {
	seen := new(events)
	d, _, served := memory(t, &stdioguard.Options{NoNullID: true, Observer: seen})
	d.start(mcptest.Handshake)
	d.send(`garbage`, `{"jsonrpc":"2.0","id":8,"method":`)
	r := d.read()
	require.Equal(t, "8", string(r.ID), r.raw)
	require.NoError(t, d.in.Close())
	require.NoError(t, <-served)
	rejected, found := find[stdioguard.Rejected](seen)
	require.True(t, found)
	require.False(t, rejected.Answered)
	require.EqualValues(t, len("garbage"), rejected.Bytes)
}

func TestIDsAreExact(t *testing.T) {
	eachRevision(t, func(t *testing.T, revision string) {
		d, _, _ := memory(t, nil)
		d.start(revision)
		for _, id := range []string{`0`, `-1`, `9007199254740991`, `-9007199254740991`, `""`, `"0"`, `"9007199254740993"`, `"a\"b\\c"`, `"é漢"`, `"` + strings.Repeat("k", 1000) + `"`} {
			d.send(d.tool(id, "echo", script{Text: "x"}))
			r := d.read()
			require.Equal(t, id, string(r.ID))
			require.Equal(t, "x", r.text(), r.raw)
		}
	})
}

func TestBatches(t *testing.T) {
	batch := func(d *driver, ids ...string) string {
		var calls []string
		for _, id := range ids {
			calls = append(calls, d.tool(id, "echo", script{Text: "t" + id}))
		}
		return "[" + strings.Join(calls, ",") + "]"
	}
	for _, revision := range []string{"2024-11-05", "2025-03-26"} {
		t.Run(revision, func(t *testing.T) {
			d, _, served := memory(t, &stdioguard.Options{MaxMessage: 1 << 20, Observer: new(events)})
			d.start(revision)
			d.send(batch(d, "1", "2"))
			r := d.read()
			var replies []reply
			require.NoError(t, json.Unmarshal([]byte(r.raw), &replies))
			require.Len(t, replies, 2)

			// Good, bad, notification, answer, and something that is no object.
			d.send(`[` + d.tool("3", "echo", script{Text: "t3"}) + `,{"jsonrpc":"2.0","id":4},{"jsonrpc":"2.0","method":"notifications/x"},{"jsonrpc":"2.0","id":9,"result":{}},7]`)
			r = d.read()
			replies = nil
			require.NoError(t, json.Unmarshal([]byte(r.raw), &replies))
			require.Len(t, replies, 3)
			got := map[string]int{}
			for _, r := range replies {
				code := 0
				if r.Error != nil {
					code = r.Error.Code
				}
				got[string(r.ID)] = code
			}
			require.Equal(t, map[string]int{"3": 0, "4": -32600, "null": -32600}, got)

			// Nothing to answer, and only errors.
			d.send(`[{"jsonrpc":"2.0","method":"notifications/x"}]`, `[1]`)
			require.True(t, strings.HasPrefix(d.read().raw, `[{"jsonrpc":"2.0","id":null,"error":`))

			// All of them have to fit.
			d.send(`[` + d.tool("5", "big", script{Bytes: 600_000}) + `,` + d.tool("6", "big", script{Bytes: 600_000}) + `]`)
			r = d.read()
			require.Less(t, len(r.raw), 1<<20)
			replies = nil
			require.NoError(t, json.Unmarshal([]byte(r.raw), &replies))
			require.Len(t, replies, 2)
			require.False(t, replies[0].Result.IsError)
			require.True(t, replies[1].Result.IsError)

			// A batch that is in flight at the end is answered.
			d.send(batch(d, "7", "8"))
			require.NoError(t, d.in.Close())
			require.Contains(t, d.read().raw, `"t8"`)
			require.NoError(t, <-served)
		})
	}
	// Refused afterwards, each request under its own id.
	for _, revision := range []string{"2025-06-18", mcptest.Handshake, mcptest.Stateless} {
		t.Run(revision, func(t *testing.T) {
			d, _, _ := memory(t, &stdioguard.Options{Observer: new(events)})
			d.start(revision)
			d.send(batch(d, "1", `"two"`))
			for _, id := range []string{"1", `"two"`} {
				r := d.read()
				require.Equal(t, id, string(r.ID))
				require.Equal(t, -32600, r.Error.Code)
			}
			d.alive()
		})
	}
	t.Run("too many", func(t *testing.T) {
		d, _, _ := memory(t, &stdioguard.Options{Observer: new(events)})
		d.start("2025-03-26")
		d.send("[" + strings.Repeat("1,", 1000) + "1]")
		require.Equal(t, -32600, d.read().Error.Code)
		d.alive()
	})
}

// An id that is in flight is not answered twice, whatever arrives under it.
func TestIDInFlight(t *testing.T) {
	d, _, _ := memory(t, &stdioguard.Options{Observer: new(events)})
	d.start(mcptest.Handshake)
	d.send(d.tool("5", "sleep", script{Ms: 200}))
	for _, line := range []string{d.tool("5", "echo", script{}), `{"jsonrpc":"2.0","id":5,"method":"ping","params":{`, `{"id":5,"method":"ping"}`} {
		d.send(line)
		r := d.read()
		require.Equal(t, "null", string(r.ID), r.raw)
	}
	require.Equal(t, "slept", d.wait("5").text())
	d.send(d.tool("5", "echo", script{Text: "again"}))
	require.Equal(t, "again", d.wait("5").text(), "an answered id may be used again")
}

func TestTooLarge(t *testing.T) {
	eachRevision(t, func(t *testing.T, revision string) {
		seen := new(events)
		d, transport, _ := memory(t, &stdioguard.Options{MaxMessage: 1 << 20, Observer: seen})
		d.start(revision)

		fits := d.call("big", script{Bytes: 1<<20 - 500})
		require.False(t, fits.Result.IsError)

		r := d.call("big", script{Bytes: 2 << 20})
		require.NotNil(t, r.Result, r.raw)
		require.True(t, r.Result.IsError)
		require.Contains(t, r.text(), "at most 1048576 fit in one message")
		require.Nil(t, r.Result.StructuredContent)
		require.Contains(t, r.Result.Meta, "steady/error")
		want := ""
		if revision == mcptest.Stateless {
			want = "complete"
		}
		require.Equal(t, want, r.Result.ResultType)

		d.send(d.request("7", "resources/read", map[string]any{"uri": "test://big"}))
		r = d.wait("7")
		require.NotNil(t, r.Error, r.raw)
		require.Equal(t, -32603, r.Error.Code)

		// What the server sends of its own accord is refused to its sender.
		require.Contains(t, d.call("notify", script{Bytes: 2 << 20}).text(), "fit in one message")
		d.alive()
		require.NoError(t, transport.Close())
		e, found := find[stdioguard.TooLarge](seen)
		require.True(t, found)
		require.Equal(t, "big", e.Tool)
		require.Greater(t, e.Bytes, 2<<20)
	})
}

// The limit is on the whole line, its line feed included.
func TestTooLargeIsExact(t *testing.T) {
	d, _, _ := memory(t, nil)
	d.start(mcptest.Handshake)
	size := len(d.call("big", script{Bytes: 1000}).raw) + 1
	for limit, isError := range map[int]bool{size: false, size - 1: true, stdioguard.NoLimit: false} {
		d, _, _ := memory(t, &stdioguard.Options{MaxMessage: limit, Observer: new(events)})
		d.start(mcptest.Handshake)
		require.Equal(t, isError, d.call("big", script{Bytes: 1000}).Result.IsError, limit)
	}
}

// B113: what a handler passes through is made readable, in text and in
// structured content.
func TestResultsAreCleaned(t *testing.T) {
	eachRevision(t, func(t *testing.T, revision string) {
		d, _, _ := memory(t, nil)
		d.start(revision)
		for raw, want := range map[string]string{
			`{"a":"\ud83d alone"}`:           "\ufffd alone",
			"{\"a\":\"\x92\"}":               "\ufffd",
			`{"a":"\ud83d\ude00"}`:           "😀",
			"{\"a\":\n\"on two lines\"\r\n}": "on two lines",
		} {
			r := d.call("raw", script{Raw: []byte(raw)})
			require.NotContains(t, r.raw, `\ud83d"`)
			require.Equal(t, map[string]any{"a": want}, r.Result.StructuredContent)
		}
	})
}

func TestNoReplyHasCodeZero(t *testing.T) {
	d, _, _ := memory(t, nil)
	d.start(mcptest.Handshake)
	require.Equal(t, -32603, d.call("fail", script{}).Error.Code)
}

func TestBounds(t *testing.T) {
	t.Run("in flight", func(t *testing.T) {
		seen := new(events)
		d, transport, _ := memory(t, &stdioguard.Options{MaxInFlight: 2, Observer: seen})
		d.start(mcptest.Handshake)
		d.send(d.tool("1", "sleep", script{Ms: 60_000}), d.tool("2", "sleep", script{Ms: 60_000}), d.tool("3", "echo", script{}))
		r := d.read()
		require.Equal(t, "3", string(r.ID))
		require.Equal(t, -32000, r.Error.Code)
		// A request that the client has cancelled no longer counts when its
		// handler has returned.
		d.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
		require.Eventually(t, func() bool { return transport.Stats().Cancelled == 0 }, time.Minute, time.Millisecond)
		d.alive()
		require.NoError(t, transport.Close())
		_, found := find[stdioguard.Overloaded](seen)
		require.True(t, found)
	})
	t.Run("backlog", func(t *testing.T) {
		d, transport, _ := memory(t, &stdioguard.Options{MaxBacklog: 3 << 20, Observer: new(events)})
		d.start(mcptest.Handshake)
		// Nobody reads; what is sent still gets in, and is refused in the end.
		const n = 50
		for i := range n {
			d.send(d.tool(fmt.Sprint(i+1), "big", script{Bytes: 1 << 20}))
			require.Eventually(t, func() bool {
				s := transport.Stats()
				return s.Rejected > 0 || s.Backlog >= int64(min(i+1, 4)<<20)
			}, time.Minute, time.Millisecond)
		}
		require.Less(t, transport.Stats().Backlog, int64(5<<20))
		var good, busy int
		for range n {
			if r := d.read(); r.Error != nil {
				busy++
			} else {
				good++
			}
		}
		require.GreaterOrEqual(t, good, 3)
		require.LessOrEqual(t, good, 5)
		require.Equal(t, n, good+busy)
		d.alive()
	})
	t.Run("malformed lines", func(t *testing.T) {
		d, transport, _ := memory(t, &stdioguard.Options{Observer: new(events)})
		d.start(mcptest.Handshake)
		d.send(d.tool("1", "big", script{Bytes: 1 << 20})) // holds the output
		require.Eventually(t, func() bool { return transport.Stats().Backlog > 0 }, time.Minute, time.Millisecond)
		for range 3000 {
			d.send("garbage") // never blocks, although nobody reads
		}
		require.Eventually(t, func() bool { return transport.Stats().Rejected == 3000 }, time.Minute, time.Millisecond)
		d.alive()
		require.NoError(t, d.in.Close())
		n := 0
		for d.read() != nil {
			n++
		}
		require.Less(t, n, 2500)
	})
}

type brokenWriter struct{ err error }

func (w brokenWriter) Write([]byte) (int, error) { return 0, w.err }
func (brokenWriter) Close() error                { return nil }

type brokenReader struct {
	io.ReadCloser
	err error
}

func (r brokenReader) Read(b []byte) (int, error) {
	n, err := r.ReadCloser.Read(b)
	if err == io.EOF {
		err = r.err
	}
	return n, err
}

// A stream that fails is a failure.
func TestBrokenStreams(t *testing.T) {
	broken := errors.New("no space left")
	t.Run("write", func(t *testing.T) {
		in := io.NopCloser(strings.NewReader(initialize(mcptest.Handshake) + "\n"))
		err := stdioguard.NewTransport(in, brokenWriter{broken}, nil).Serve(t.Context(), newServer())
		require.ErrorContains(t, err, "no space left")
	})
	t.Run("read", func(t *testing.T) {
		out, serverOut := io.Pipe()
		in := brokenReader{io.NopCloser(strings.NewReader(initialize(mcptest.Handshake) + "\n")), broken}
		served := make(chan error, 1)
		go func() {
			served <- stdioguard.NewTransport(in, serverOut, nil).Serve(t.Context(), newServer())
		}()
		d := newDriver(t, nil, out)
		require.NotNil(t, d.wait("0").Result, "what had arrived is answered")
		require.ErrorContains(t, <-served, "no space left")
	})
}

func TestOneSession(t *testing.T) {
	_, transport, _ := memory(t, nil)
	require.Eventually(t, func() bool {
		_, err := transport.Connect(t.Context())
		return err != nil
	}, time.Minute, time.Millisecond)
	require.NoError(t, transport.Close())
	require.NoError(t, transport.Close())

	unused := stdioguard.NewTransport(io.NopCloser(strings.NewReader("")), brokenWriter{}, nil)
	require.NoError(t, unused.Close())
	require.ErrorContains(t, unused.Serve(t.Context(), newServer()), "closed")
}

// With the SDK's own Run the end of input drains as well.
func TestServerRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		serverIn, in := io.Pipe()
		out, serverOut := io.Pipe()
		ran := make(chan error, 1)
		go func() {
			ran <- newServer().Run(context.Background(), stdioguard.NewTransport(serverIn, serverOut, &stdioguard.Options{Observer: new(events)}))
		}()
		d := newDriver(t, in, out)
		d.start(mcptest.Handshake)
		d.send(d.tool("1", "sleep", script{Ms: 1000}))
		require.NoError(t, in.Close())
		require.Equal(t, "slept", d.wait("1").text())
		require.NoError(t, <-ran)
	})
}

// Requests of sessions on other transports pass through Serve's middleware.
func TestOtherSessions(t *testing.T) {
	server := newServer()
	serverIn, in := io.Pipe()
	out, serverOut := io.Pipe()
	served := make(chan error, 1)
	go func() { served <- stdioguard.NewTransport(serverIn, serverOut, nil).Serve(t.Context(), server) }()
	d := newDriver(t, in, out)
	d.start(mcptest.Handshake)
	session := mcptest.Connect(t, server, mcptest.Stateless)
	require.NoError(t, in.Close())
	require.NoError(t, <-served)
	r, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "echo", Arguments: script{Text: "x"}})
	require.NoError(t, err)
	require.Equal(t, "x", mcptest.Text(r))
}
