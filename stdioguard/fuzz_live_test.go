//go:build unix

package stdioguard_test

import (
	"bufio"
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/steadymcp/steady/internal/mcptest"
)

// pieces are what arbitrary lines are made of, besides arbitrary bytes.
var pieces = []string{
	`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"x"}}}`,
	`{"jsonrpc":"2.0","id":"a","method":"ping"}`, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`,
	`{"jsonrpc":"2.0","id":3,"method":"resources/read","params":{"uri":"x"}}`, `{"jsonrpc":"2.0","id":4,"method":"prompts/get","params":{}}`,
	`{"jsonrpc":"2.0","id":5,"method":"completion/complete","params":null}`, `{"jsonrpc":"2.0","id":6,"method":"initialize","params":{"protocolVersion":"2025-03-26"}}`,
	`{"jsonrpc":"2.0","id":7,"method":"logging/setLevel","params":{"level":"debug"}}`, `{"jsonrpc":"2.0","id":8,"method":"nobody/knows"}`,
	`{"jsonrpc":"2.0","id":9,"result":{}}`, `{"jsonrpc":"2.0","id":9,"error":{"code":-1,"message":"m"}}`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"x"}}`,
	`{"jsonrpc":"2.0","id":10,"method":"tools/list","params":{"cursor":"zzz"}}`, `{"jsonrpc":"2.0","id":11,"method":"resources/subscribe","params":{"uri":"test://big"}}`,
	`{`, `}`, `[`, `]`, `"`, `\`, `,`, `:`, `null`, `true`, `1e999`, `-`, `\ud83d`, "\xff", "\xed\xa0\x80", "\ufeff", "\x00", "\r", `"id":`, `"method":`, `"jsonrpc":"2.0"`, `{"a":`,
}

func arbitraryLine(r *rand.Rand) string {
	var b bytes.Buffer
	switch r.IntN(4) {
	case 0: // bytes
		for range r.IntN(200) {
			b.WriteByte(byte(r.Uint32()))
		}
	case 1: // pieces
		for range 1 + r.IntN(6) {
			b.WriteString(pieces[r.IntN(len(pieces))])
		}
	default: // a piece with some damage
		b.WriteString(pieces[r.IntN(len(pieces))])
		raw := b.Bytes()
		for range r.IntN(4) {
			i := r.IntN(len(raw))
			switch r.IntN(3) {
			case 0:
				raw[i] ^= 1 << r.IntN(8)
			case 1:
				raw = append(raw[:i], raw[min(len(raw), i+1+r.IntN(8)):]...)
			default:
				raw = append(raw[:i:i], append([]byte(pieces[r.IntN(len(pieces))]), raw[i:]...)...)
			}
			if len(raw) == 0 {
				break
			}
		}
		b = *bytes.NewBuffer(raw)
	}
	return strings.ReplaceAll(b.String(), "\n", " ")
}

// Arbitrary lines into a real server: it does not crash, every line it writes
// is a message, and a good request after each line is answered.
func TestArbitraryLines(t *testing.T) {
	const n = 10_000
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 0))
	p := launch(t, helper{EOFMs: 2000}, nil)
	p.start(mcptest.Handshake)
	answered := 0
	for i := range n {
		line := arbitraryLine(r)
		id := fmt.Sprintf(`"after %d"`, i)
		p.send(line, fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":"echo","arguments":{"text":%s}}}`, id, id))
		for {
			raw, err := p.out.ReadBytes('\n')
			require.NoError(t, err, "seed %d, line %d: %q\nstderr: %s", seed, i, line, p.stderr)
			reply := parseReply(t, raw)
			if string(reply.ID) == id {
				require.Equal(t, strings.Trim(id, `"`), reply.text(), "seed %d, line %d: %q", seed, i, line)
				answered++
				break
			}
		}
	}
	p.finish()
	require.Equal(t, n, answered)
	t.Logf("seed %d: %d of %d answered", seed, answered, n)
	scanner := bufio.NewScanner(strings.NewReader(p.stderr.String()))
	for scanner.Scan() {
		require.NotContains(t, scanner.Text(), "DATA RACE")
	}
}
