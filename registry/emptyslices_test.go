package registry_test

import (
	"context"
	"encoding/json"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/steadymcp/steady/internal/mcptest"
	"github.com/steadymcp/steady/registry"
)

// B156: an output with nothing to report is still valid.
func TestNilSlicesOfOutput(t *testing.T) {
	t.Parallel()
	type report struct {
		Errors []string       `json:"errors"`
		ByCode map[string]int `json:"by_code"`
		Inner  struct {
			Lines []int `json:"lines"`
		} `json:"inner"`
		Omitted []int  `json:"omitted,omitempty"`
		Null    []int  `json:"null"`
		Raw     []byte `json:"raw"`
	}
	schema := json.RawMessage(`{"type":"object","required":["errors"],"properties":{"errors":{"type":"array","items":{"type":"string"}},
		"by_code":{"type":"object"},"inner":{"type":"object","properties":{"lines":{"type":"array"}}},"null":{"type":["null","array"]},"raw":{"type":["null","string"]}}}`)
	for name, add := range map[string]func(*registry.Registry) error{
		"value": func(r *registry.Registry) error {
			return registry.Add(r, &mcp.Tool{Name: "f", OutputSchema: schema}, func(context.Context, *mcp.CallToolRequest, any) (*mcp.CallToolResult, report, error) {
				return nil, report{}, nil
			})
		},
		"pointer": func(r *registry.Registry) error {
			return registry.Add(r, &mcp.Tool{Name: "f", OutputSchema: schema}, func(context.Context, *mcp.CallToolRequest, any) (*mcp.CallToolResult, *report, error) {
				return nil, &report{}, nil
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			server := mcptest.Server()
			require.NoError(t, add(registry.New(server, quiet())))
			res, err := mcptest.Connect(t, server, "").CallTool(t.Context(), &mcp.CallToolParams{Name: "f"})
			require.NoError(t, err)
			require.False(t, res.IsError, mcptest.Text(res))
			got, err := json.Marshal(res.StructuredContent)
			require.NoError(t, err)
			require.JSONEq(t, `{"errors":[],"by_code":{},"inner":{"lines":[]},"null":null,"raw":null}`, string(got))
		})
	}
}

// A handler may return the same value every time. (Run with -race.)
func TestSharedOutputIsLeftAlone(t *testing.T) {
	t.Parallel()
	type inner struct {
		Lines []int `json:"lines"`
	}
	type report struct {
		Errors []string `json:"errors"`
		Inner  inner    `json:"inner"`
		Count  int      `json:"count"`
	}
	schema := json.RawMessage(`{"type":"object","properties":{"errors":{"type":"array"},"inner":{"type":"object","properties":{"lines":{"type":"array"}}},"count":{"type":"integer"}}}`)
	shared := &report{Count: 3}
	server := mcptest.Server()
	r := registry.New(server, quiet())
	require.NoError(t, registry.Add(r, &mcp.Tool{Name: "f", OutputSchema: schema}, func(context.Context, *mcp.CallToolRequest, any) (*mcp.CallToolResult, *report, error) {
		return nil, shared, nil
	}))
	require.NoError(t, registry.Add(r, &mcp.Tool{Name: "none", OutputSchema: schema}, func(context.Context, *mcp.CallToolRequest, any) (*mcp.CallToolResult, *report, error) {
		return &mcp.CallToolResult{IsError: true}, nil, nil
	}))
	cs := mcptest.Connect(t, server, "")
	var calls sync.WaitGroup
	for range 8 {
		calls.Go(func() {
			res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "f"})
			if assert.NoError(t, err) && assert.False(t, res.IsError, mcptest.Text(res)) {
				got, _ := json.Marshal(res.StructuredContent)
				assert.JSONEq(t, `{"errors":[],"inner":{"lines":[]},"count":3}`, string(got))
			}
		})
	}
	calls.Wait()
	require.Equal(t, &report{Count: 3}, shared, "the handler's own value was changed")
	_, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "none"})
	require.NoError(t, err, "no output at all")
}
