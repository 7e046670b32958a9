package pagination

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/steadymcp/steady/internal/mcptest"
	"github.com/steadymcp/steady/internal/wire"
	"github.com/steadymcp/steady/observe"
)

func TestCutIsValid(t *testing.T) {
	t.Parallel()
	var value any
	var blocks []mcp.Content
	var isError bool
	schema := &jsonschema.Schema{Type: "object", Required: []string{"a", "rows"}, Properties: map[string]*jsonschema.Schema{
		"rows": {Type: "array", MinItems: jsonschema.Ptr(2)},
		"code": {Type: "string", MaxLength: jsonschema.Ptr(90)},
	}}
	resolved, err := schema.Resolve(nil)
	require.NoError(t, err)
	sizes := map[string]int{}
	for _, n := range []int{1, 4000, 6000, 9000, 15_000, 30_000} {
		sizes[fmt.Sprint("list", n)] = n
	}
	server := mcptest.Server()
	for name := range sizes {
		server.AddTool(&mcp.Tool{Name: name, InputSchema: bare, OutputSchema: schema}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: blocks, StructuredContent: value, IsError: isError}, nil
		})
	}
	server.AddReceivingMiddleware(NewBudget(&BudgetOptions{PerTool: sizes, Observer: observe.Discard}).Middleware())
	sessions := map[string]*mcp.ClientSession{}
	for _, revision := range mcptest.Revisions {
		sessions[revision] = mcptest.Connect(t, server, revision)
	}
	names := []string{"list1", "list4000", "list6000", "list9000", "list15000", "list30000"}
	cut, refused := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		value = map[string]any{
			"a":    jsonValue(2).Draw(rt, "a"),
			"rows": rapid.SliceOfN(jsonValue(3), 2, 60).Draw(rt, "rows"),
			"code": strings.Repeat("c", rapid.IntRange(0, 90).Draw(rt, "code")),
		}
		raw := marshal(rt, value)
		isError = rapid.IntRange(0, 9).Draw(rt, "error") == 0
		blocks = rapid.SliceOfN(block(), 0, 4).Draw(rt, "blocks")
		if rapid.Bool().Draw(rt, "mirror") {
			blocks = append(blocks, &mcp.TextContent{Text: raw})
		}
		if rapid.Bool().Draw(rt, "raw") {
			value = json.RawMessage(raw)
		}
		name := rapid.SampledFrom(names).Draw(rt, "tool")
		limit := max(sizes[name], 2048)
		revision := rapid.SampledFrom(mcptest.Revisions).Draw(rt, "revision")
		whole := len(marshal(rt, &mcp.CallToolResult{Content: blocks, StructuredContent: value, IsError: isError}))
		res := callTool(rt, sessions[revision], name, nil)
		onWire := marshal(rt, res)
		require.LessOrEqual(rt, len(onWire), limit)
		if whole <= limit-envelope-100 {
			require.Equal(rt, isError, res.IsError)
			require.NotContains(rt, res.Meta, wire.MetaBudget)
			return
		}
		text := mcptest.Text(res)
		if res.IsError && !isError {
			refused++
			require.Nil(rt, res.StructuredContent)
			require.Contains(rt, text, "ask for less")
			return
		}
		if _, ok := res.Meta[wire.MetaBudget]; !ok {
			require.True(rt, isError || whole <= limit)
			return
		}
		cut++
		require.Contains(rt, text, "This result was cut")
		if !isError {
			require.True(rt, fitsSchema(marshal(rt, res.StructuredContent), resolved))
		}
		if mirrorOf(blocks, raw) >= 0 && !isError {
			require.GreaterOrEqual(rt, mirrorOf(res.Content, marshal(rt, res.StructuredContent)), 0, "the text agrees")
		}
	})
	t.Logf("%d cut, %d refused", cut, refused)
}

func TestCutBlocks(t *testing.T) {
	t.Parallel()
	image := &mcp.ImageContent{Data: make([]byte, 100_000), MIMEType: "image/png"}
	text := func(n int) *mcp.TextContent { return &mcp.TextContent{Text: strings.Repeat("a line of text\n", n)} }
	for _, tt := range []struct {
		name string
		res  *mcp.CallToolResult
		want []string // prefixes of the blocks
	}{
		{"long text", &mcp.CallToolResult{Content: []mcp.Content{text(10_000)}},
			[]string{"a line of text\n", "This result was cut: it has 160 kB, and at most 80 kB can be sent. Shown: 73,"}},
		{"JSON text stays JSON", &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: marshal(t, someOrders(2000))}}},
			[]string{`{"total":2000,"orders":[{"id":"ORD-1"`, "This result was cut: it has 4"}},
		{"an image", &mcp.CallToolResult{Content: []mcp.Content{text(1), image}},
			[]string{"a line of text\n", "[an image (image/png, 100 kB) was left out: the result is too large]", "This result was cut: it has 134 kB, and at most 80 kB can be sent. Left out: an image (image/png, 100 kB)."}},
		{"an image and a small one", &mcp.CallToolResult{Content: []mcp.Content{&mcp.ImageContent{Data: make([]byte, 9000)}, image}},
			[]string{"image", "[an image (image/png, 100 kB) was left out", "This result was cut"}},
		{"a sound", &mcp.CallToolResult{Content: []mcp.Content{&mcp.AudioContent{Data: image.Data, MIMEType: "audio/wav"}}},
			[]string{"[a sound (audio/wav, 100 kB) was left out", "This result was cut"}},
		{"an embedded resource", &mcp.CallToolResult{Content: []mcp.Content{&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "file:///a.bin", Blob: image.Data}}}},
			[]string{"[the resource file:///a.bin (100 kB) was left out", "This result was cut"}},
		{"base64 in text", &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: strings.Repeat("aB3/", 25_000)}}},
			[]string{"[base64 text of 100 kB was left out]", "This result was cut"}}, // B166
		{"many blocks", &mcp.CallToolResult{Content: []mcp.Content{text(2000), text(2000), text(2000), text(2000)}},
			[]string{"a line", "a line", "a line", "This result was cut: it has 128 kB, and at most 80 kB can be sent. Shown: 3 of 4 blocks. It was shortened in 1 more place."}},
		{"many links", &mcp.CallToolResult{Content: links(3000)}, nil},
		{"an error", &mcp.CallToolResult{IsError: true, Content: []mcp.Content{text(10_000)}},
			[]string{"a line of text\n", "This result was cut"}},
		{"_meta", &mcp.CallToolResult{Content: []mcp.Content{text(1)}, Meta: mcp.Meta{"huge": strings.Repeat("a", 100_000)}},
			[]string{"a line of text\n", "This result was cut: it has 100 kB, and at most 80 kB can be sent. Left out: _meta of 100 kB."}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			both(t, func(t *testing.T, revision string) {
				res := callTool(t, mcptest.Connect(t, serve(nil, nil, answer(tt.res)), revision), "list", nil)
				require.LessOrEqual(t, len(marshal(t, res)), DefaultBytes)
				require.Equal(t, tt.res.IsError, res.IsError)
				require.NotContains(t, res.Meta, "huge")
				for i, want := range tt.want {
					got := "image"
					if c, ok := res.Content[i].(*mcp.TextContent); ok {
						got = c.Text
					}
					require.Truef(t, strings.HasPrefix(got, want), "block %d: %.200s", i, got)
					if strings.HasPrefix(want, "{") {
						require.True(t, json.Valid([]byte(got)))
					}
				}
				if tt.want != nil {
					require.Len(t, res.Content, len(tt.want))
				}
			})
		})
	}
}

func links(n int) []mcp.Content {
	var out []mcp.Content
	for i := range n {
		out = append(out, &mcp.ResourceLink{URI: fmt.Sprintf("https://example.com/%d", i), Name: "a page"})
	}
	return out
}

func TestCannotBeMadeValid(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, revision string) {
		tool := &mcp.Tool{
			InputSchema:  json.RawMessage(`{"type":"object","properties":{"region":{"type":"string"},"from":{"type":"string"}},"required":["from"]}`),
			OutputSchema: json.RawMessage(`{"type":"object","properties":{"orders":{"type":"array","minItems":5000}}}`),
		}
		server := serve(nil, tool, answer(&mcp.CallToolResult{StructuredContent: someOrders(5000)}))
		res := callTool(t, mcptest.Connect(t, server, revision), "list", map[string]any{"from": "2026"})
		require.True(t, res.IsError)
		require.Nil(t, res.StructuredContent)
		require.Equal(t, "The result of list has 853 kB; at most 80 kB can be sent. Reason: a shorter version of it would not be a valid result. Next: ask for less, with region.", mcptest.Text(res))
		require.Equal(t, "invalid_input", res.Meta[wire.MetaError].(map[string]any)["kind"])
	})
}

func TestStringsThatSchemasConstrain(t *testing.T) {
	t.Parallel()
	tool := &mcp.Tool{InputSchema: bare, OutputSchema: json.RawMessage(`{"properties":{"rows":{"items":{"properties":{"hash":{"type":"string","pattern":"^[0-9a-f]*$"}}}}}}`)}
	res := callTool(t, mcptest.Connect(t, serve(nil, tool, answer(&mcp.CallToolResult{
		StructuredContent: map[string]any{"rows": []any{map[string]any{"hash": strings.Repeat("0", 90_000)}, 1}},
	})), ""), "list", nil)
	require.JSONEq(t, `{"rows":[]}`, marshal(t, res.StructuredContent))
}

func TestFarAboveTheCeiling(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, revision string) {
		for name, res := range map[string]*mcp.CallToolResult{
			"text":       {Content: []mcp.Content{&mcp.TextContent{Text: strings.Repeat("a", 900_000)}}},
			"raw":        {StructuredContent: json.RawMessage(`"` + strings.Repeat("a", 900_000) + `"`)},
			"a Go value": {StructuredContent: someOrders(20_000)},
			"an image":   {Content: []mcp.Content{&mcp.ImageContent{Data: make([]byte, 900_000)}}},
		} {
			var events []observe.Event
			opts := &BudgetOptions{Ceiling: 100_000, Observer: observe.Func(func(_ context.Context, e observe.Event) { events = append(events, e) })}
			got := callTool(t, mcptest.Connect(t, serve(opts, nil, answer(res)), revision), "list", nil)
			require.True(t, got.IsError, name)
			require.Contains(t, mcptest.Text(got), "The result of list has more than 800 kB; at most 80 kB can be sent. Reason: that is more than the server will look at. Next: ask for less", name)
			require.Len(t, events, 1)
			require.IsType(t, Refused{}, events[0])
		}
	})
}

func TestHints(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, properties, arguments, more, want string
	}{
		{"nothing", ``, `{}`, ``, `To see the rest, ask for less: a filter, a shorter range, fewer fields\.$`},
		{"a filter", `"status":{}`, `{}`, ``, `To see the rest, ask for less, with status\.$`},
		{"a limit", `"page_size":{"type":"integer"}`, `{}`, ``, `Call list again with page_size = \d+ or less`},
		{"an offset", `"offset":{"type":"integer"},"limit":{"type":"integer"}`, `{"offset":1000}`, ``, `For the rest, call list again with offset = 1\d\d\d\.$`},
		{"an offset out of range", `"skip":{"type":"integer"}`, `{"skip":1e300}`, ``, `To see the rest, ask for less, with skip\.$`},
		{"a cursor of its own", `"limit":{"type":"integer"},"cursor":{"type":"string"}`, `{}`, `"next_cursor":"x",`, `Its cursor continues behind all 800 items: \d+ of them are on no page\. To miss nothing, call list again with the same arguments and limit = \d+\.$`},
		{"a cursor and an offset", `"offset":{"type":"integer"}`, `{}`, `"next_cursor":"x",`, `\d+ of them are on no page\. To miss nothing, ask for less, with offset\.$`},
		// They say what is looked for, or may.
		{"a year", `"from":{"type":"integer"}`, `{"from":2020}`, ``, `To see the rest, ask for less, with from\.$`},
		{"a time", `"start":{"type":"integer"}`, `{"start":1767225600}`, ``, `To see the rest, ask for less, with start\.$`},
		{"a price", `"max":{"type":"number"}`, `{"max":99.5}`, ``, `To see the rest, ask for less, with max\.$`},
	} {
		tool := &mcp.Tool{InputSchema: json.RawMessage(`{"type":"object","properties":{` + tt.properties + `}}`)}
		raw := `{` + tt.more + `"orders":` + marshal(t, someOrders(800).Orders) + `}`
		server := serve(nil, tool, answer(&mcp.CallToolResult{StructuredContent: json.RawMessage(raw)}))
		res := callTool(t, mcptest.Connect(t, server, ""), "list", json.RawMessage(tt.arguments))
		require.Regexp(t, tt.want, mcptest.Text(res), tt.name)
	}
}

// TestRefusedWithoutACopy: what is far too large is neither encoded nor read.
func TestRefusedWithoutACopy(t *testing.T) {
	value := someOrders(80_000) // 14 MB
	b := NewBudget(&BudgetOptions{Ceiling: 1 << 20, Observer: observe.Discard})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	res := boundBy(t, b, &mcp.CallToolResult{StructuredContent: value})
	runtime.ReadMemStats(&after)
	require.True(t, res.IsError)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(200_000))
}
