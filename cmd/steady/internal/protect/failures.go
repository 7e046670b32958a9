package protect

import (
	"encoding/json"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/steadymcp/steady/cmd/steady/internal/config"
	"github.com/steadymcp/steady/cmd/steady/internal/rpc"
	"github.com/steadymcp/steady/errors"
)

// theirs is an error whose text the server wrote and nobody vouches for.
type theirs struct{ text string }

func (e *theirs) Error() string { return e.text }

// shaped makes of a failure what package errors can shape. Its text is the server's
// own: what it should not say is left out of it, or all of it.
func (s *session) shaped(res mcp.Result, err error) (mcp.Result, error) {
	if s.p.cfg.Errors == nil {
		return res, err
	}
	hide := s.p.cfg.Errors.Show == config.ShowNothing
	if e, ok := err.(*jsonrpc.Error); ok && ofHandler(e.Code) {
		if hide {
			return nil, &theirs{e.Message}
		}
		return nil, errors.New(s.redact(e.Message))
	} else if ok {
		return nil, s.redactError(e)
	}
	r, ok := res.(*mcp.CallToolResult)
	if err != nil || !ok || !r.IsError {
		return res, err
	}
	if hide {
		return nil, &theirs{textsOf(r)}
	}
	clean := *r
	clean.Content = slices.Clone(r.Content)
	for i, block := range r.Content {
		if t, ok := block.(*mcp.TextContent); ok {
			if text := s.redact(t.Text); text != t.Text {
				c := *t
				c.Text = text
				clean.Content[i] = &c
			}
		}
	}
	if raw, ok := r.StructuredContent.(json.RawMessage); ok && s.redact(string(raw)) != string(raw) {
		clean.StructuredContent = nil // the text says what there is to say
	}
	return &clean, nil
}

// redactError is redact for an error that stays one of the protocol.
func (s *session) redactError(e *jsonrpc.Error) error {
	text := s.redact(e.Message)
	data := e.Data
	if s.redact(string(data)) != string(data) {
		data = nil
	}
	if text == e.Message && len(data) == len(e.Data) {
		return e
	}
	return &jsonrpc.Error{Code: e.Code, Message: text, Data: data}
}

// maxLogged is how much is logged of a text that was redacted, in bytes.
const maxLogged = 4 << 10

// redact returns what a client may see of a failure's text. The rest is for the
// operator.
func (s *session) redact(text string) string {
	shown := errors.Redact(text)
	if shown != text {
		s.log("the text of a failure was redacted: %q", errors.Mask(text[:min(len(text), maxLogged)]))
	}
	return shown
}

// ofHandler reports whether an error code says that the tool has failed, as
// servers say it that have no results for failures: -32603, 0, and the codes that
// are left to servers. The others are about the request, or ask the client for
// something.
func ofHandler(code int64) bool {
	return code == rpc.Internal || code >= 0 || code <= -32000 && code >= -32019 && code != -32002
}

func textsOf(r *mcp.CallToolResult) (text string) {
	for _, block := range r.Content {
		if t, ok := block.(*mcp.TextContent); ok {
			text += t.Text + "\n"
		}
	}
	return text
}
