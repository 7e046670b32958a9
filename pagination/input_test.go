package pagination

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/steadymcp/steady/errors"
	"github.com/steadymcp/steady/internal/mcptest"
	"github.com/steadymcp/steady/observe"
)

type searchInput struct {
	Input
	Status string `json:"status,omitempty" jsonschema:"Only orders in this status."`
}

const wantInput = `{"type":"object","properties":{
	"status":{"type":"string","description":"Only orders in this status."},
	"limit":{"type":"integer","minimum":1,"maximum":50,"default":20,"description":"How many items to return: 1 to 50, 20 if left out."},
	"cursor":{"type":"string","description":"The next_cursor of the page before, copied exactly. Leave it out for the first page."}
},"additionalProperties":false}`

func TestSchemas(t *testing.T) {
	t.Parallel()
	for name, schema := range map[string]func() (*jsonschema.Schema, error){
		"typed": func() (*jsonschema.Schema, error) { return Schema[searchInput](Bounds{}) },
		"raw": func() (*jsonschema.Schema, error) {
			return Extend(json.RawMessage(`{"type":"object","properties":{"status":{"type":"string","description":"Only orders in this status."},"limit":{"type":"number"}},"required":["limit"],"additionalProperties":false}`), Bounds{})
		},
		"map": func() (*jsonschema.Schema, error) {
			return Extend(map[string]any{"type": "object", "properties": map[string]any{"status": map[string]any{"type": "string", "description": "Only orders in this status."}}, "additionalProperties": false}, Bounds{})
		},
	} {
		s, err := schema()
		require.NoError(t, err, name)
		require.JSONEq(t, wantInput, marshal(t, s), name)
		require.Equal(t, []string{"status", "limit", "cursor"}, s.PropertyOrder, name)
	}
	s, err := Extend(nil, Bounds{Limit: 100})
	require.NoError(t, err)
	require.Contains(t, marshal(t, s), `"maximum":100`)
	require.Contains(t, marshal(t, s), `"default":100`)
	for _, bad := range []any{json.RawMessage(`{"type":"array"}`), json.RawMessage(`nonsense`), func() {}, map[string]any{"type": 5}} {
		_, err := Extend(bad, Bounds{})
		require.Error(t, err)
	}
	given := &jsonschema.Schema{Type: "object", Properties: map[string]*jsonschema.Schema{}}
	_, err = Extend(given, Bounds{})
	require.NoError(t, err)
	require.Empty(t, given.Properties, "the caller's schema is not changed")
}

func TestOutputSchema(t *testing.T) {
	t.Parallel()
	s, err := OutputSchema[row]()
	require.NoError(t, err)
	require.JSONEq(t, `{"type":"object","properties":{
		"items":{"type":"array","description":"The items of this page.","items":{"type":"object","properties":{"id":{"type":"integer"},"name":{"type":"string"}},"required":["id"],"additionalProperties":false}},
		"next_cursor":{"type":["string","null"],"description":"The cursor of the next page; null on the last page."},
		"has_more":{"type":"boolean","description":"Whether there is another page."},
		"total":{"type":"integer","minimum":0,"description":"How many items all pages have together."}
	},"required":["items","next_cursor","has_more"],"additionalProperties":false}`, marshal(t, s))
	_, err = OutputSchema[func()]()
	require.Error(t, err)
}

func TestToolPanicsLikeTheSDK(t *testing.T) {
	t.Parallel()
	type recursive struct{ Next *recursive }
	p := Slice(func(context.Context, struct{}) ([]recursive, error) { return nil, nil }, nil)
	require.Panics(t, func() { Tool[Input](&mcp.Tool{Name: "list"}, p) })
}

// TestLimitsOnTheWire: what a caller reads about each bad limit, from a typed
// handler and from a raw one (B181, B183, B185).
func TestLimitsOnTheWire(t *testing.T) {
	t.Parallel()
	p := pagers(200, quiet(Bounds{}))["keyset"]
	both(t, func(t *testing.T, revision string) {
		server := mcptest.Server()
		typed := func(ctx context.Context, req *mcp.CallToolRequest, in searchInput) (*mcp.CallToolResult, Page[row], error) {
			return p.Page(ctx, req, in.Input, filter{Status: in.Status})
		}
		mcp.AddTool(server, Tool[searchInput](&mcp.Tool{Name: "typed"}, p), typed)
		server.AddTool(Tool[searchInput](&mcp.Tool{Name: "raw"}, p), func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			in, err := ParseInput(req.Params.Arguments, Bounds{})
			if err == nil {
				var res *mcp.CallToolResult
				if res, _, err = p.Page(ctx, req, in, filter{}); err == nil {
					return res, nil
				}
			}
			var f *errors.Failure
			require.ErrorAs(t, err, &f)
			return f.Result(req), nil
		})
		server.AddReceivingMiddleware(NewBudget(&BudgetOptions{Observer: observe.Discard}).Middleware())
		cs := mcptest.Connect(t, server, revision)
		for _, tool := range []string{"typed", "raw"} {
			for arguments, want := range map[string]string{
				`{"limit":500}`:                            "limit 500 is above the maximum of 50. Next: ask for at most 50 and follow next_cursor for the rest.",
				`{"limit":51}`:                             "limit 51 is above the maximum of 50",
				`{"limit":9223372036854775807}`:            "limit 9223372036854775807 is above the maximum of 50",
				`{"limit":1e18}`:                           "limit 1e18 is above the maximum of 50",
				`{"limit":123456789012345678901234567890}`: "limit 123456789012345678901234567890 is above the maximum of 50",
				`{"limit":0}`:                              "limit must be from 1 to 50, got 0. Next: leave limit out for 20 items.",
				`{"limit":-5}`:                             "limit must be from 1 to 50, got -5",
				`{"limit":-9223372036854775808}`:           "limit must be from 1 to 50, got -9223372036854775808",
				`{"limit":2.5}`:                            "limit must be a whole number from 1 to 50, got 2.5",
				`{"limit":"abc"}`:                          `limit must be a whole number from 1 to 50, got "abc"`,
				`{"limit":"5"}`:                            `limit must be a whole number from 1 to 50, got "5"`,
				`{"limit":[5]}`:                            `limit must be a whole number from 1 to 50, got [5]`,
				`{"limit":true}`:                           `limit must be a whole number from 1 to 50, got true`,
				`{"cursor":"pc1_AAAA"}`:                    "The cursor was damaged on its way",
				`{"cursor":"eyJvZmZzZXQiOjIwLCJzIjoicGFpZCJ9AA"}`: "was not made by " + tool,
			} {
				res := callTool(t, cs, tool, json.RawMessage(arguments))
				require.True(t, res.IsError, "%s %s", tool, arguments)
				require.Contains(t, mcptest.Text(res), want, "%s %s", tool, arguments)
			}
			for arguments, want := range map[string]int{`{}`: 20, `{"limit":1}`: 1, `{"limit":50}`: 50, `{"limit":3.0}`: 3, `{"cursor":""}`: 20, `{"cursor":"0"}`: 20} {
				res := callTool(t, cs, tool, json.RawMessage(arguments))
				require.False(t, res.IsError, mcptest.Text(res))
				require.Len(t, res.StructuredContent.(map[string]any)["items"], want, "%s %s", tool, arguments)
			}
		}
		// Another parameter is refused by the SDK in its own words.
		res := callTool(t, cs, "typed", json.RawMessage(`{"status":5,"limit":5}`))
		require.Contains(t, mcptest.Text(res), "validating")
		res = callTool(t, cs, "typed", json.RawMessage(`{"status":5}`))
		require.Contains(t, mcptest.Text(res), "validating")
	})
}

// TestRefusedLimitKeepsItsCause: whoever observes errors sees what the SDK said.
func TestRefusedLimitKeepsItsCause(t *testing.T) {
	t.Parallel()
	p := pagers(1, quiet(Bounds{}))["slice"]
	server := mcptest.Server()
	mcp.AddTool(server, Tool[Input](&mcp.Tool{Name: "list"}, p), func(ctx context.Context, req *mcp.CallToolRequest, in Input) (*mcp.CallToolResult, Page[row], error) {
		return p.Page(ctx, req, in, filter{})
	})
	var cause error
	server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			res, err := next(ctx, method, req)
			if r, ok := res.(*mcp.CallToolResult); ok {
				cause = r.GetError()
			}
			return res, err
		}
	}, NewBudget(nil).Middleware())
	callTool(t, mcptest.Connect(t, server, ""), "list", map[string]any{"limit": 500})
	require.ErrorContains(t, errors.Unwrap(cause), `validating "arguments"`)
}

func TestParseInput(t *testing.T) {
	t.Parallel()
	for arguments, want := range map[string]Input{
		``: {}, `null`: {}, `{}`: {}, ` {"limit" : 5e0 , "cursor" : "a\nb"} `: {Limit: 5, Cursor: "a\nb"},
		`{"limit":null,"cursor":null}`: {}, `{"other":{"limit":500}}`: {},
	} {
		in, err := ParseInput(json.RawMessage(arguments), Bounds{})
		require.NoError(t, err, arguments)
		require.Equal(t, want, in, arguments)
	}
	for arguments, want := range map[string]string{
		`[]`: "not a JSON object", `{`: "not a JSON object", `5`: "not a JSON object",
		`{"cursor":5}`: "cursor must be text, got 5", `{"limit":1,"limit":500}`: "above the maximum",
	} {
		_, err := ParseInput(json.RawMessage(arguments), Bounds{})
		require.ErrorContains(t, err, want, arguments)
	}
}

func TestWholeNumber(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]int64{"0": 0, "-3": -3, "5.0": 5, "5e1": 50, "1e400": 1<<63 - 1, "-1e400": -1 << 63, "9223372036854775808": 1<<63 - 1} {
		n, ok := wholeNumber(in)
		require.True(t, ok, in)
		require.Equal(t, want, n, in)
	}
	for _, in := range []string{"", "1.5", "Inf", "NaN", "abc", `"5"`, "-", "0x10"} {
		n, ok := wholeNumber(in)
		require.False(t, ok, "%s %d", in, n)
	}
}
