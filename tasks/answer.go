package tasks

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/steadymcp/steady/errors"
	"github.com/steadymcp/steady/internal/wire"
)

// joinedResult answers a repeated call with what the first one came to.
func joinedResult(req *mcp.CallToolRequest, rec *Record) (mcp.Result, error) {
	switch {
	case rec.Status == Completed:
		res, err := storedResult(req, rec.Result)
		if err != nil {
			return nil, errInternal("The stored result cannot be read.")
		}
		res.Content = append(res.Content, &mcp.TextContent{Text: joinNote(rec)})
		return wire.WithMeta(res, wire.MetaTask, rec.meta(true)), nil
	case rec.Done:
		return wire.WithMeta(resultLost(rec).Result(req), wire.MetaTask, rec.meta(true)), nil
	case rec.Status == Failed:
		e := *rec.Error
		e.Message += " " + joinNote(rec)
		return nil, e.protocol()
	default:
		return endedElsewhere(rec).Result(req), nil
	}
}

// endedElsewhere says that somebody else has ended the caller's task.
func endedElsewhere(rec *Record) *errors.Failure {
	return errors.Refused("this call was %s", rec.Status).Because("%s", rec.StatusMessage)
}

// resultLost says that work was done whose result nobody has any more.
func resultLost(rec *Record) *errors.Failure {
	return errors.Refused("the result of %s is gone", rec.Tool).Because("%s", rec.StatusMessage).
		Next("look at what the work has changed instead of starting it again").DoNotRetry()
}

func (e *Error) protocol() error {
	return &jsonrpc.Error{Code: e.Code, Message: e.Message, Data: e.Data}
}

// joinNote is the line that tells a model that its call was not run again.
func joinNote(rec *Record) string {
	return fmt.Sprintf("(Not run again: this is the result of the call of %s ago.)", ago(rec.CreatedAt))
}

func ago(t time.Time) time.Duration {
	d := time.Since(t)
	if d >= time.Second {
		return d.Round(time.Second)
	}
	return d.Round(time.Millisecond)
}

// meta is what a result says about the task behind it, for programs.
func (r *Record) meta(joined bool) map[string]any {
	return map[string]any{
		"taskId": r.ID,
		"status": string(r.Status),
		"joined": joined,
		"ageMs":  time.Since(r.CreatedAt).Milliseconds(),
	}
}

// storedResult decodes a stored result for one answer. Structured content and
// _meta stay as they are: decoding them would round large integers.
func storedResult(req *mcp.CallToolRequest, raw json.RawMessage) (*mcp.CallToolResult, error) {
	var stored mcp.CallToolResult
	if err := json.Unmarshal(raw, &stored); err != nil {
		return nil, err
	}
	var kept struct {
		Meta              map[string]json.RawMessage `json:"_meta"`
		StructuredContent json.RawMessage            `json:"structuredContent"`
	}
	if err := json.Unmarshal(raw, &kept); err != nil {
		return nil, err
	}
	res := wire.NewToolResult(req)
	res.Content, res.IsError = stored.Content, stored.IsError
	if kept.StructuredContent != nil {
		res.StructuredContent = kept.StructuredContent
	}
	res.Meta = make(mcp.Meta, len(kept.Meta))
	for k, v := range kept.Meta {
		res.Meta[k] = v
	}
	return res, nil
}
