package doctor

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/steadymcp/steady/cmd/steady/internal/session"
)

// A verdict is an answer, as the probes see it.
type verdict struct {
	reply  *session.Reply
	result *toolResult // nil if there is none
	text   string      // what a model would read of a failure or a result
	size   int         // of the answer, in bytes
}

// shed drops what a huge answer holds, so that keeping one of each tool cannot
// fill the memory. What is left is still huge.
func (v *verdict) shed() {
	if v == nil || v.size < hugeResult {
		return
	}
	kept := *v.reply
	kept.Raw, kept.Result = bytes.Clone(kept.Raw[:hugeResult]), nil
	v.reply, v.text = &kept, strings.Clone(clip(v.text, keptText))
	if v.result != nil {
		result := *v.result
		result.text, result.structured = v.text, nil
		v.result = &result
	}
}

// ok reports whether the call succeeded.
func (v *verdict) ok() bool { return v != nil && v.result != nil && !v.result.isError }

// refused reports whether the call was answered with a failure.
func (v *verdict) refused() bool {
	return v != nil && (v.reply.Error != nil || v.result != nil && v.result.isError)
}

// names reports whether the text names something, in any style.
func (v *verdict) names(name string) bool {
	return strings.Contains(strings.ToLower(v.text), strings.ToLower(name))
}

// A toolResult is the result of a call.
type toolResult struct {
	isError    bool
	text       string
	structured json.RawMessage
	blocks     int
	shape      string // what is wrong with it, or ""
}

func parseToolResult(raw json.RawMessage) *toolResult {
	var got struct {
		Content           json.RawMessage `json:"content"`
		StructuredContent json.RawMessage `json:"structuredContent"`
		IsError           bool            `json:"isError"`
		ResultType        string          `json:"resultType"`
	}
	if err := json.Unmarshal(raw, &got); err != nil {
		return &toolResult{shape: "the result is no object of a tool's result: " + clip(string(raw), 60)}
	}
	r := &toolResult{isError: got.IsError}
	if s := bytes.TrimSpace(got.StructuredContent); len(s) > 0 && string(s) != "null" {
		r.structured = s
	}
	if got.ResultType != "" && got.ResultType != "complete" {
		return r // something else than content; the tasks family looks at it
	}
	var blocks []struct {
		Type string  `json:"type"`
		Text *string `json:"text"`
	}
	switch c := bytes.TrimSpace(got.Content); {
	case len(c) == 0:
		r.shape = "there is no content"
	case c[0] != '[':
		r.shape = "content is no list"
	case json.Unmarshal(c, &blocks) != nil:
		r.shape = "content is no list of blocks"
	}
	r.blocks = len(blocks)
	var texts []string
	for _, b := range blocks {
		switch {
		case b.Type == "":
			r.shape = "a content block has no type"
		case b.Type == "text" && b.Text == nil:
			r.shape = "a text block has no text"
		case b.Text != nil:
			texts = append(texts, *b.Text)
		}
	}
	r.text = strings.Join(texts, "\n")
	return r
}

// value returns the result's data: structured, or text that is JSON.
func (r *toolResult) value() any {
	raw := []byte(r.structured)
	if len(raw) == 0 {
		raw = []byte(strings.TrimSpace(r.text))
		if len(raw) == 0 || raw[0] != '{' && raw[0] != '[' {
			return nil
		}
	}
	var v any
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	if dec.Decode(&v) != nil {
		return nil
	}
	return v
}
