package pagination

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// bytesOf draws text that need not be UTF-8.
func anyText() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.String(),
		rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }),
		rapid.SampledFrom([]string{"<a href=\"x\">&amp;</a>\n", "\u2028\u2029\xff\xfe", "\x00\b\f\x7f", "😀\\ud83d"}),
	)
}

func block() *rapid.Generator[mcp.Content] {
	annotations := rapid.SampledFrom([]*mcp.Annotations{nil, {Priority: 0.5, Audience: []mcp.Role{"user"}}})
	meta := rapid.SampledFrom([]mcp.Meta{nil, {"a<": "b"}})
	return rapid.Custom(func(t *rapid.T) mcp.Content {
		a, m, s := annotations.Draw(t, "annotations"), meta.Draw(t, "meta"), anyText().Draw(t, "text")
		switch rapid.IntRange(0, 5).Draw(t, "kind") {
		case 0:
			return &mcp.ImageContent{Data: []byte(s), MIMEType: "image/png", Annotations: a, Meta: m}
		case 1:
			return &mcp.AudioContent{Data: []byte(s), MIMEType: "audio/<wav>", Annotations: a, Meta: m}
		case 2:
			return &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "file:///a&b", Text: s, Meta: m}, Annotations: a}
		case 3:
			return &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "file:///a", Blob: []byte(s), MIMEType: "x/y"}, Meta: m}
		case 4:
			return &mcp.ResourceLink{URI: "https://example.com/?a&b", Name: "n", Annotations: a, Meta: m}
		}
		return &mcp.TextContent{Text: s, Annotations: a, Meta: m}
	})
}

// TestSizeIsExact compares every size with what encoding/json makes of the same
// value: a size that is too small lets a result through, one that is too large
// cuts it for nothing.
func TestSizeIsExact(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		b := block().Draw(rt, "block")
		require.Equal(rt, len(marshal(rt, b)), blockSize(b, math.MaxInt-1))

		raw := marshal(rt, jsonValue(3).Draw(rt, "value"))
		require.Equal(rt, len(raw), rawSize(raw, math.MaxInt-1))
		require.Equal(rt, len(raw), rawCosts.cost(raw, math.MaxInt-1))
		require.Equal(rt, len(marshal(rt, raw))-2, textCosts.cost(raw, math.MaxInt-1))
		require.Equal(rt, len(raw)+len(marshal(rt, raw))-2, bothCosts.cost(raw, math.MaxInt-1))

		indented, err := json.MarshalIndent(json.RawMessage(raw), "", "  ")
		require.NoError(rt, err)
		require.Equal(rt, len(raw), rawSize(string(indented), math.MaxInt-1))

		text := anyText().Draw(rt, "text")
		require.Equal(rt, len(marshal(rt, text))-2, textCosts.cost(text, math.MaxInt-1))
	})
}

// TestResultSize: the frame of a result is counted as if it had every field.
func TestResultSize(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		res := &mcp.CallToolResult{Content: rapid.SliceOf(block()).Draw(rt, "blocks"), IsError: rapid.Bool().Draw(rt, "error")}
		if rapid.Bool().Draw(rt, "structured") {
			res.StructuredContent = json.RawMessage(marshal(rt, jsonValue(2).Draw(rt, "value")))
		}
		if rapid.Bool().Draw(rt, "meta") {
			res.Meta = mcp.Meta{"a": anyText().Draw(rt, "meta")}
		}
		_, raw := encodeStructured(res)
		size, real := resultSize(res, raw, math.MaxInt-1), len(marshal(rt, res))
		require.GreaterOrEqual(rt, size, real)
		require.LessOrEqual(rt, size, real+100)
	})
}

// TestSizeStopsAtLimit: nobody needs to know by how much.
func TestSizeStopsAtLimit(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		raw := marshal(rt, jsonValue(3).Draw(rt, "value"))
		limit := rapid.IntRange(0, 2*len(raw)).Draw(rt, "limit")
		for _, c := range []*costs{rawCosts, textCosts, bothCosts} {
			all := c.cost(raw, math.MaxInt-1)
			if n := c.cost(raw, limit); all <= limit {
				require.Equal(rt, all, n)
			} else {
				require.Greater(rt, n, limit)
			}
		}
	})
}
