package pagination

import (
	"encoding/base64"
	"encoding/json"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// costs says how many bytes each byte of some text becomes on the wire. The
// SDK encodes results with encoding/json, which escapes <, > and & even inside
// raw JSON, and U+2028 and U+2029.
type costs struct {
	of [256]uint8
	// copies is how often the text is sent.
	copies int
	// text is whether it is sent as the content of a JSON string, in which
	// bytes that are not UTF-8 become \ufffd.
	text bool
}

var (
	rawCosts  = newCosts(true, false) // as JSON
	textCosts = newCosts(false, true) // as the content of a string
	bothCosts = newCosts(true, true)  // once as each
)

func newCosts(raw, text bool) *costs {
	c := &costs{text: text}
	for b := range 256 {
		asRaw, asText := 1, 1
		switch {
		case b == '<' || b == '>' || b == '&':
			asRaw, asText = 6, 6
		case b == '"' || b == '\\' || b == '\n' || b == '\r' || b == '\t' || b == '\b' || b == '\f':
			asText = 2
		case b < 0x20:
			asText = 6
		}
		if raw {
			c.of[b] += uint8(asRaw)
		}
		if text {
			c.of[b] += uint8(asText)
		}
	}
	if raw {
		c.copies++
	}
	if text {
		c.copies++
	}
	return c
}

// cost returns how many bytes s becomes, or some number above limit if it
// becomes more than that.
func (c *costs) cost(s string, limit int) int {
	n := 0
	for i := 0; i < len(s) && n <= limit; {
		b := s[i]
		if b < utf8.RuneSelf {
			n += int(c.of[b])
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		n += c.rune(r, size)
		i += size
	}
	return n
}

// rune returns what a rune above ASCII costs that takes size bytes.
func (c *costs) rune(r rune, size int) int {
	switch {
	case r == utf8.RuneError && size == 1 && c.text:
		return 6 * c.copies
	case r == '\u2028' || r == '\u2029':
		return 6 * c.copies
	}
	return size * c.copies
}

// rawSize returns how many bytes s, JSON text, takes on the wire, where it is
// sent without the space between its tokens; or some number above limit if
// that is more.
func rawSize(s string, limit int) int {
	n := 0
	for i := 0; i < len(s) && n <= limit; {
		switch s[i] {
		case ' ', '\n', '\r', '\t':
			i++
		case '"':
			end := skipString(s, i)
			if end < 0 {
				end = len(s)
			}
			n += rawCosts.cost(s[i:end], limit-n)
			i = end
		default:
			n++
			i++
		}
	}
	return n
}

// jsonSize returns the size of v's encoding. What cannot be encoded has none.
func jsonSize(v any) int {
	data, err := json.Marshal(v)
	if err != nil {
		return 0
	}
	return len(data)
}

// blockSize returns how many bytes a content block takes, or some number above
// limit.
func blockSize(c mcp.Content, limit int) int {
	switch c := c.(type) {
	case *mcp.TextContent:
		if c.Meta == nil && c.Annotations == nil {
			return len(`{"type":"text","text":""}`) + textCosts.cost(c.Text, limit)
		}
		return jsonSize(&mcp.TextContent{Meta: c.Meta, Annotations: c.Annotations}) + textCosts.cost(c.Text, limit)
	case *mcp.ImageContent:
		return jsonSize(&mcp.ImageContent{Meta: c.Meta, Annotations: c.Annotations, MIMEType: c.MIMEType}) + base64.StdEncoding.EncodedLen(len(c.Data))
	case *mcp.AudioContent:
		return jsonSize(&mcp.AudioContent{Meta: c.Meta, Annotations: c.Annotations, MIMEType: c.MIMEType}) + base64.StdEncoding.EncodedLen(len(c.Data))
	case *mcp.EmbeddedResource:
		n := jsonSize(&mcp.EmbeddedResource{Meta: c.Meta, Annotations: c.Annotations})
		if c.Resource != nil {
			n += len(`,"resource":`) + contentsSize(c.Resource, limit)
		}
		return n
	case nil:
		return len("null")
	}
	return jsonSize(c)
}

// contentsSize is blockSize for the contents of a resource.
func contentsSize(c *mcp.ResourceContents, limit int) int {
	n := jsonSize(&mcp.ResourceContents{URI: c.URI, MIMEType: c.MIMEType, Meta: c.Meta})
	if c.Text != "" {
		n += len(`,"text":""`) + textCosts.cost(c.Text, limit)
	}
	if c.Blob != nil {
		n += len(`,"blob":""`) + base64.StdEncoding.EncodedLen(len(c.Blob))
	}
	return n
}

// heldBytes returns how many bytes of payload a block holds: what it takes on
// the wire is hardly less, and no byte of it is looked at.
func heldBytes(c mcp.Content) int {
	switch c := c.(type) {
	case *mcp.TextContent:
		return len(c.Text)
	case *mcp.ImageContent:
		return base64.StdEncoding.EncodedLen(len(c.Data))
	case *mcp.AudioContent:
		return base64.StdEncoding.EncodedLen(len(c.Data))
	case *mcp.EmbeddedResource:
		if c.Resource != nil {
			return len(c.Resource.Text) + base64.StdEncoding.EncodedLen(len(c.Resource.Blob))
		}
	}
	return 0
}
