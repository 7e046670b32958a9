package protect

import (
	"bufio"
	"context"
	"io"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/steadymcp/steady/cmd/steady/internal/config"
)

// BenchmarkCall is a call with 1 kB there and back, with nothing but a stage between
// two pipes: what a protection takes of the processor.
func BenchmarkCall(b *testing.B) {
	for _, set := range []struct{ name, cfg string }{
		{"names", "names: {aliases: {x: read_file}}"},
		{"recommended", "protect: recommended"},
	} {
		b.Run(set.name, func(b *testing.B) {
			cfg, err := config.Parse("x", []byte(set.cfg), nil)
			require.NoError(b, err)
			p, err := New(cfg, &Options{Logger: slog.New(slog.DiscardHandler)})
			require.NoError(b, err)
			toStage, in := io.Pipe()
			fromStage, out := io.Pipe()
			go func() {
				_ = p.Stage(func(_ context.Context, in io.Reader, out io.Writer) error {
					lines := bufio.NewReader(in)
					for {
						line, err := lines.ReadString('\n')
						if err != nil {
							return nil
						}
						m := read([]byte(line))
						if a := scripted(m); a != "" {
							_, _ = io.WriteString(out, strings.ReplaceAll(a, "ID", string(m.id))+"\n")
						}
					}
				})(context.Background(), toStage, out)
				_ = out.Close()
			}()
			lines := bufio.NewReader(fromStage)
			ask := func(line string) {
				_, _ = io.WriteString(in, line+"\n")
				_, err := lines.ReadString('\n')
				require.NoError(b, err)
			}
			ask(hello)
			call := `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"read_file","arguments":{"path":"` + strings.Repeat("x", 1000) + `"}}}`
			ask(call)
			b.ReportAllocs()
			for b.Loop() {
				ask(call)
			}
			_ = in.Close()
		})
	}
}
