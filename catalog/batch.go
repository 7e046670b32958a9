package catalog

import (
	"context"
	"encoding/json"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/steadymcp/steady/errors"
)

// maxBatchBytes bounds the answers of a batch together.
const maxBatchBytes = 2 << 20

type batchItem struct {
	ID    string          `json:"id,omitempty"`
	Path  string          `json:"path,omitempty"`
	Data  json.RawMessage `json:"data,omitempty"`
	Error *batchError     `json:"error,omitempty"`
	// Rewritten is what was called instead of what was written.
	Rewritten map[string]any `json:"rewritten,omitempty"`
}

type batchError struct {
	Kind    errors.Kind `json:"kind"`
	Message string      `json:"message"`
}

// callBatch runs several calls, each as if it were the only one. Writes run in
// order; a failure does not stop the others.
func (c *Catalog) callBatch(ctx context.Context, req *mcp.CallToolRequest, calls []any, want effect) (*mcp.CallToolResult, error) {
	items := make([]batchItem, len(calls))
	answers := make([]*done, len(calls))
	slots := make(chan struct{}, c.opts.Concurrency)
	if want == onlyWrites {
		slots = make(chan struct{}, 1)
	}
	var wg sync.WaitGroup
	for i := range calls {
		args, _ := calls[i].(map[string]any)
		items[i].ID, _ = args["id"].(string)
		items[i].Path, _ = args["path"].(string)
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			var err error
			answers[i], err = c.callSafely(ctx, req, args, want)
			if err != nil {
				items[i].Error = shownError(err)
			}
		})
	}
	wg.Wait()
	size := 0
	var limit *RateLimit
	var extra []mcp.Content
	for i, a := range answers {
		if a == nil {
			continue
		}
		limit = tighter(limit, a.RateLimit)
		data := a.Data
		if a.rewritten() {
			items[i].Rewritten = a.facts()
		}
		switch {
		case a.Result != nil:
			items[i].Error = &batchError{errors.KindConflict, clip(resultText(a.Result), 2000)}
			continue
		case len(data) == 0:
			data = json.RawMessage("null")
		}
		if size+len(data) > maxBatchBytes {
			items[i].Error = &batchError{errors.KindConflict, "It was called, and its answer has no room beside the others. Call it alone if it only reads."}
			continue
		}
		size += len(data)
		items[i].Data = data
		extra = append(extra, a.Content...)
	}
	r, err := envelope(req, map[string]any{"results": items}, limit, extra...)
	if err == nil && tooLarge(r) {
		if want == onlyWrites {
			return nil, errors.Unavailable("the calls were carried out, and their answers cannot be shown together").DoNotRetry().Next("do not call them again; look at what they did with calls that read")
		}
		return nil, errors.Invalid("the answers are too large for one result").Next("make fewer calls at once, or ask for less in each")
	}
	return r, err
}

// callSafely is callOne in a goroutine that no middleware protects.
func (c *Catalog) callSafely(ctx context.Context, req *mcp.CallToolRequest, args map[string]any, want effect) (a *done, err error) {
	err = <-errors.Go(ctx, func(ctx context.Context) (err error) {
		a, err = c.callOne(ctx, req, args, want)
		return err
	})
	return a, err
}

// shownError returns what an item of a batch may show of an error: a failure
// is made to be shown, anything else is not.
func shownError(err error) *batchError {
	if f, ok := errors.AsType[*errors.Failure](err); ok {
		return &batchError{f.Kind(), f.Error()}
	}
	return &batchError{errors.KindInternal, "internal error"}
}

func resultText(r *mcp.CallToolResult) string {
	var texts []string
	for _, block := range r.Content {
		if t, ok := block.(*mcp.TextContent); ok {
			texts = append(texts, t.Text)
		}
	}
	if len(r.InputRequests) > 0 {
		texts = append(texts, "It asks for input. Call it alone.")
	}
	return strings.Join(texts, "\n")
}

// tighter returns the limit that leaves less.
func tighter(a, b *RateLimit) *RateLimit {
	switch {
	case b == nil:
		return a
	case a == nil || a.Remaining == nil || b.Remaining != nil && *b.Remaining < *a.Remaining:
		return b
	}
	return a
}
