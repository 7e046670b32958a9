package otelobserve_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel"
)

// FuzzRequest sends whatever a peer can put in the name and the _meta of a call:
// it is served once, and no text of the peer's becomes an attribute.
func FuzzRequest(f *testing.F) {
	f.Add("get_order", []byte(`{"traceparent":"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01","tracestate":"a=1","baggage":"k=v"}`))
	f.Add("get_orders", []byte(`{"traceparent":"00-00000000000000000000000000000000-0000000000000000-ff"}`))
	f.Add("\xff\x00", []byte(`{"traceparent":7,"tracestate":["a"],"baggage":{"a":1}}`))
	f.Add("", []byte(`{"traceparent":"ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-x","baggage":"=;,%zz"}`))
	f.Add("_OTHER", []byte(`null`))
	r := newRig(f)
	var logged error
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { logged = err }))
	f.Fuzz(func(t *testing.T, name string, meta []byte) {
		var m mcp.Meta
		if json.Unmarshal(meta, &m) != nil {
			return
		}
		r.spans.Reset()
		served := 0
		h := r.Middleware()(func(_ context.Context, method string, _ mcp.Request) (mcp.Result, error) {
			if method == "tools/list" {
				return &mcp.ListToolsResult{Tools: []*mcp.Tool{{Name: "get_order"}}}, nil
			}
			served++
			return &mcp.CallToolResult{}, nil
		})
		_, err := h(context.Background(), "tools/call", &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Name: name, Meta: m}})
		require.NoError(t, err)
		require.Equal(t, 1, served)
		require.NoError(t, logged, "OpenTelemetry logs what the client sent")
		for _, s := range r.spans.GetSpans() {
			require.Contains(t, []string{"get_order", "_OTHER"}, texts(s.Attributes)["gen_ai.tool.name"])
			require.Contains(t, []string{"tools/call get_order", "tools/call _OTHER"}, s.Name)
		}
	})
}
