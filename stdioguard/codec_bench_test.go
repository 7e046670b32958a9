package stdioguard

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// BenchmarkCodec decodes a request and encodes a response of the same size,
// with our codec and with the SDK's in turn; "ratio" is our share of its time.
func BenchmarkCodec(b *testing.B) {
	for _, size := range []int{100, 10_000, 1_000_000} {
		value := `{"text":"` + strings.Repeat("0123456789", size/10) + `"}`
		request := []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":` + value + `}`)
		id, _ := jsonrpc.MakeID(1.0)
		response := &jsonrpc.Response{ID: id, Result: json.RawMessage(value)}
		var buf []byte
		compare := func(name string, ours, theirs func() error) {
			b.Run(fmt.Sprintf("%s/%dB", name, size), func(b *testing.B) {
				var took [2]time.Duration
				for b.Loop() {
					for i, f := range []func() error{ours, theirs} {
						begin := time.Now()
						if err := f(); err != nil {
							b.Fatal(err)
						}
						took[i] += time.Since(begin)
					}
				}
				b.ReportMetric(float64(took[0])/float64(took[1]), "ratio")
			})
		}
		compare("decode", func() error {
			if _, r := decodeMessage(request); r != nil {
				return fmt.Errorf("%s", r.reason)
			}
			return nil
		}, func() error {
			_, err := jsonrpc.DecodeMessage(request)
			return err
		})
		compare("encode", func() error {
			buf = appendResponse(buf[:0], response)
			return nil
		}, func() error {
			_, err := jsonrpc.EncodeMessage(response)
			return err
		})
	}
}
