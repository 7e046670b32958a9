package errors

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"sync"
	"weak"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/steadymcp/steady/internal/wire"
)

// The functions in this file make a result fit for the wire: no null where a
// list belongs, and nothing that cannot be encoded, because the SDK sends no
// reply at all for such a result. They return the result itself if it is fit,
// and a copy if not: a handler may return the same result to many calls.

func tidyTool(r *mcp.CallToolResult) (*mcp.CallToolResult, error) {
	content, err := tidyContent(r.Content)
	if err != nil {
		return nil, err
	}
	if content == nil && r.InputRequests == nil && !r.NeedsInput() {
		content = []mcp.Content{}
	}
	structured, err := tidyStructured(r.StructuredContent)
	if err != nil {
		return nil, &malformed{"structured content", err}
	}
	meta, err := tidyMeta(r.Meta)
	if err != nil {
		return nil, err
	}
	if sameSlice(content, r.Content) && structured == nil && meta == nil {
		return r, nil
	}
	c := *r
	c.Content = content
	if structured != nil {
		c.StructuredContent = structured.value
	}
	if meta != nil {
		c.Meta = meta
	}
	return &c, nil
}

func tidyPrompt(r *mcp.GetPromptResult) (mcp.Result, error) {
	messages, err := tidyMessages(r.Messages)
	if err != nil {
		return nil, err
	}
	if messages == nil && r.InputRequests == nil && !r.NeedsInput() {
		messages = []*mcp.PromptMessage{}
	}
	meta, err := tidyMeta(r.Meta)
	if err != nil {
		return nil, err
	}
	if sameSlice(messages, r.Messages) && meta == nil {
		return r, nil
	}
	c := *r
	c.Messages = messages
	if meta != nil {
		c.Meta = meta
	}
	return &c, nil
}

func tidyMessages(messages []*mcp.PromptMessage) ([]*mcp.PromptMessage, error) {
	changed := false
	for i, m := range messages {
		if m == nil || isNil(m.Content) {
			changed = true
		} else if err := contentEncodes(m.Content); err != nil {
			return nil, &malformed{fmt.Sprintf("messages[%d]", i), err}
		}
	}
	if !changed {
		return messages, nil
	}
	tidied := make([]*mcp.PromptMessage, 0, len(messages))
	for _, m := range messages {
		if m != nil && !isNil(m.Content) {
			tidied = append(tidied, m)
		}
	}
	return tidied, nil
}

func tidyResource(r *mcp.ReadResourceResult) (mcp.Result, error) {
	contents := r.Contents
	for i, c := range contents {
		if c == nil {
			continue
		}
		if err := metaEncodes(c.Meta); err != nil {
			return nil, &malformed{fmt.Sprintf("contents[%d]", i), err}
		}
	}
	if slices.Contains(contents, nil) {
		contents = slices.DeleteFunc(slices.Clone(contents), func(c *mcp.ResourceContents) bool { return c == nil })
	}
	if contents == nil && r.InputRequests == nil && !r.NeedsInput() {
		contents = []*mcp.ResourceContents{}
	}
	meta, err := tidyMeta(r.Meta)
	if err != nil {
		return nil, err
	}
	if sameSlice(contents, r.Contents) && meta == nil {
		return r, nil
	}
	c := *r
	c.Contents = contents
	if meta != nil {
		c.Meta = meta
	}
	return &c, nil
}

func tidyCompletion(r *mcp.CompleteResult) (mcp.Result, error) {
	meta, err := tidyMeta(r.Meta)
	if err != nil {
		return nil, err
	}
	if r.Completion.Values != nil && meta == nil {
		return r, nil
	}
	c := *r
	if c.Completion.Values == nil {
		c.Completion.Values = []string{}
	}
	if meta != nil {
		c.Meta = meta
	}
	return &c, nil
}

// tidyOther is for lists, for results of custom methods and for whatever else
// middleware may answer with. Their types are anybody's, so a value that is not
// known to encode is encoded once to find out.
func tidyOther(res mcp.Result) (mcp.Result, error) {
	switch r := res.(type) {
	case *mcp.ListToolsResult:
		return tidyTools(r)
	case *mcp.ListPromptsResult:
		if r.Prompts == nil {
			c := *r
			c.Prompts = []*mcp.Prompt{}
			res = &c
		}
	case *mcp.ListResourcesResult:
		if r.Resources == nil {
			c := *r
			c.Resources = []*mcp.Resource{}
			res = &c
		}
	case *mcp.ListResourceTemplatesResult:
		if r.ResourceTemplates == nil {
			c := *r
			c.ResourceTemplates = []*mcp.ResourceTemplate{}
			res = &c
		}
	}
	if err := encodes(res); err != nil {
		return nil, &malformed{"result", err}
	}
	return res, nil
}

func tidyTools(r *mcp.ListToolsResult) (mcp.Result, error) {
	for i, t := range r.Tools {
		if err := toolEncodes(t); err != nil {
			return nil, &malformed{fmt.Sprintf("tools[%d]", i), err}
		}
	}
	if err := metaEncodes(r.Meta); err != nil {
		return nil, &malformed{"_meta", err}
	}
	if r.Tools != nil {
		return r, nil
	}
	c := *r
	c.Tools = []*mcp.Tool{}
	return &c, nil
}

// Encoding a schema is the costly part of a list, and a server lists the same
// tools over and over: the tools that have been seen to encode are remembered,
// without being kept alive.
var encodable = struct {
	sync.Mutex
	tools map[weak.Pointer[mcp.Tool]]struct{}
}{tools: map[weak.Pointer[mcp.Tool]]struct{}{}}

// maxEncodable bounds how many tools are remembered. At the bound all are
// forgotten.
const maxEncodable = 4096

func toolEncodes(t *mcp.Tool) error {
	key := weak.Make(t)
	encodable.Lock()
	_, known := encodable.tools[key]
	encodable.Unlock()
	if known {
		return nil
	}
	if err := encodes(t); err != nil {
		return err
	}
	encodable.Lock()
	defer encodable.Unlock()
	if len(encodable.tools) >= maxEncodable {
		clear(encodable.tools)
	}
	encodable.tools[key] = struct{}{}
	return nil
}

// tidyContent returns content without nil elements, which would be sent as
// null, or the error that encoding one of them would end in.
func tidyContent(content []mcp.Content) ([]mcp.Content, error) {
	changed := false
	for i, c := range content {
		if isNil(c) {
			changed = true
		} else if err := contentEncodes(c); err != nil {
			return nil, &malformed{fmt.Sprintf("content[%d]", i), err}
		}
	}
	if !changed {
		return content, nil
	}
	return slices.DeleteFunc(slices.Clone(content), func(c mcp.Content) bool { return isNil(c) }), nil
}

// contentEncodes returns the error that encoding c, which is not nil, would end
// in. It encodes nothing but what is not of the SDK's everyday types: data of
// images and resources may be large.
func contentEncodes(c mcp.Content) error {
	switch c := c.(type) {
	case *mcp.TextContent:
		return extrasEncode(c.Meta, c.Annotations)
	case *mcp.ImageContent:
		return extrasEncode(c.Meta, c.Annotations)
	case *mcp.AudioContent:
		return extrasEncode(c.Meta, c.Annotations)
	case *mcp.ResourceLink:
		return extrasEncode(c.Meta, c.Annotations)
	case *mcp.EmbeddedResource:
		if c.Resource != nil {
			if err := metaEncodes(c.Resource.Meta); err != nil {
				return err
			}
		}
		return extrasEncode(c.Meta, c.Annotations)
	default:
		_, err := json.Marshal(c)
		return err
	}
}

func extrasEncode(meta mcp.Meta, a *mcp.Annotations) error {
	if a != nil && (math.IsNaN(a.Priority) || math.IsInf(a.Priority, 0)) {
		return fmt.Errorf("annotations: priority %v", a.Priority)
	}
	return metaEncodes(meta)
}

func metaEncodes(meta mcp.Meta) error {
	if len(meta) == 0 {
		return nil
	}
	return encodes(map[string]any(meta))
}

// tidyMeta returns a copy of a result's _meta, or nil if there is none. From
// revision 2026-07-28 on the SDK writes into that map, and a map that two calls
// share would end the process.
func tidyMeta(meta mcp.Meta) (mcp.Meta, error) {
	if meta == nil {
		return nil, nil
	}
	if err := metaEncodes(meta); err != nil {
		return nil, &malformed{"_meta", err}
	}
	return maps.Clone(meta), nil
}

// replacement is a value that takes the place of another, and may be nil.
type replacement struct{ value any }

// tidyStructured returns what takes the place of v, or nil if v is fit. A value
// that had to be encoded to find out is replaced by its encoding, as the SDK
// does with a typed handler's output, so that nothing is encoded twice.
func tidyStructured(v any) (*replacement, error) {
	switch v := v.(type) {
	case nil:
		return nil, nil
	case json.RawMessage:
		if len(v) == 0 || string(v) == "null" {
			return &replacement{}, nil
		}
		if !json.Valid(v) {
			return nil, New("not valid JSON")
		}
		return nil, nil
	}
	if r := reflect.ValueOf(v); surely(r, 0) {
		switch r.Kind() {
		case reflect.Slice:
			if r.IsNil() {
				return &replacement{json.RawMessage("[]")}, nil
			}
		case reflect.Map, reflect.Pointer:
			if r.IsNil() {
				return &replacement{}, nil
			}
		}
		return nil, nil
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	if string(raw) == "null" {
		return &replacement{}, nil
	}
	return &replacement{json.RawMessage(raw)}, nil
}

// authored makes a result fit that its author marked isError: what it says is
// the author's own, so only credentials are masked. structuredContent goes, because
// clients validate it against the output schema and then hide the error; it
// becomes the text if there is none, and a part of _meta otherwise.
func authored(r *mcp.CallToolResult) *mcp.CallToolResult {
	c := *r
	c.Content = slices.Clone(r.Content)
	for i, block := range c.Content {
		c.Content[i] = scrubbed(block)
	}
	details := c.StructuredContent
	if details == nil {
		return &c
	}
	c.StructuredContent = nil
	if raw, err := json.Marshal(details); err == nil { // otherwise tidyTool will say so
		raw, masked := scrubJSON(raw)
		if len(c.Content) == 0 {
			c.Content = []mcp.Content{&mcp.TextContent{Text: string(raw)}}
			return &c
		}
		if masked {
			details = json.RawMessage(raw)
		}
	}
	if _, taken := c.Meta[wire.MetaError]; taken {
		return &c
	}
	return wire.WithMeta(&c, wire.MetaError, map[string]any{"details": details})
}

// scrubbed returns block with the credentials in its text masked.
func scrubbed(block mcp.Content) mcp.Content {
	switch b := block.(type) {
	case *mcp.TextContent:
		if b == nil {
			return block
		}
		if text := scrub(b.Text); text != b.Text {
			c := *b
			c.Text = text
			return &c
		}
	case *mcp.EmbeddedResource:
		if b == nil || b.Resource == nil {
			return block
		}
		if text := scrub(b.Resource.Text); text != b.Resource.Text {
			c, r := *b, *b.Resource
			r.Text = text
			c.Resource = &r
			return &c
		}
	}
	return block
}

// sameSlice reports whether a and b are one slice. A nil slice is not the same
// as an empty one.
func sameSlice[T any](a, b []T) bool {
	return len(a) == len(b) && (a == nil) == (b == nil) && (len(a) == 0 || &a[0] == &b[0])
}
