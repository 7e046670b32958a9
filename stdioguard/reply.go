package stdioguard

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/steadymcp/steady/errors"
	"github.com/steadymcp/steady/internal/wire"
)

// codeRejected is the SDK's "rejected by transport". A Write that fails with
// it fails alone; with any other error it ends the session.
const codeRejected = -32005

// Write implements [mcp.Connection].
func (c *conn) Write(ctx context.Context, m jsonrpc.Message) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	switch m := m.(type) {
	case *jsonrpc.Response:
		return c.writeResponse(m)
	case *jsonrpc.Request:
		return c.writeRequest(m)
	default:
		return fmt.Errorf("stdioguard: cannot send a %T", m)
	}
}

func (c *conn) writeResponse(r *jsonrpc.Response) error {
	size := int64(len(r.Result))
	c.backlog.Add(size)
	defer c.backlog.Add(-size)

	// It leaves calls before it is written, because the client may use its id
	// again as soon as it has read the reply; the drain waits until after.
	c.mu.Lock()
	answered := c.removeLocked(r.ID)
	dropped := answered != nil && !answered.cancelled.IsZero()
	if dropped && answered.batch == nil {
		c.mu.Unlock()
		return nil
	}
	if c.cause != nil && errors.Is(r.Error, context.Canceled) {
		// The SDK's answer to a request that was cancelled before it began.
		r = &jsonrpc.Response{ID: r.ID, Error: &jsonrpc.Error{Code: codeServer, Message: c.cause.Error()}}
	}
	replied := answered
	if replied == nil {
		replied = &call{request: &jsonrpc.Request{ID: r.ID}}
	}
	c.replying[replied] = struct{}{}
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		delete(c.replying, replied)
		c.drainedLocked()
		c.mu.Unlock()
	}()

	var request *jsonrpc.Request
	if answered != nil {
		request = answered.request
		if request.Method == wire.MethodInitialize && r.Error == nil {
			c.learnRevision(r.Result)
		}
		if answered.batch != nil {
			if dropped {
				r = nil
			}
			return c.completeBatch(answered.batch, r, request)
		}
	}
	return c.write(func(dst []byte) ([]byte, error) { return c.appendReply(dst, r, request, 0), nil })
}

// learnRevision takes note of the revision that a handshake has agreed on.
func (c *conn) learnRevision(result json.RawMessage) {
	var p struct {
		ProtocolVersion string `json:"protocolVersion"`
	}
	if json.Unmarshal(result, &p) != nil {
		return
	}
	c.mu.Lock()
	c.revision = p.ProtocolVersion
	c.mu.Unlock()
}

// appendReply appends the reply to request, or what stands for it if it is too
// large to share a message with used bytes. A nil request is one that is not
// known any more.
func (c *conn) appendReply(dst []byte, r *jsonrpc.Response, request *jsonrpc.Request, used int) []byte {
	start := len(dst)
	size := len(r.Result)
	if !exceeds(used+size, c.opts.MaxMessage) {
		dst = appendResponse(slices.Grow(dst, size+256), r)
		size = len(dst) - start + 1 // the LF
		if !exceeds(used+size, c.opts.MaxMessage) {
			return dst
		}
	}
	e := TooLarge{Bytes: size, Limit: c.opts.MaxMessage}
	instead := &jsonrpc.Response{ID: r.ID}
	if request != nil {
		e.Method = request.Method
	}
	if e.Method == wire.MethodCallTool && r.Error == nil {
		e.Tool, instead.Result = tooLargeResult(request.Params, size, c.opts.MaxMessage)
	}
	if instead.Result == nil {
		instead.Error = &jsonrpc.Error{
			Code:    jsonrpc.CodeInternalError,
			Message: fmt.Sprintf("the reply is %d bytes; at most %d fit in one message", size, c.opts.MaxMessage),
		}
	}
	c.reporter.report(e)
	return appendResponse(dst[:start], instead)
}

// tooLargeResult is the tool result that stands for one that does not fit, and
// the tool's name for an event.
func tooLargeResult(params json.RawMessage, size, limit int) (tool string, _ json.RawMessage) {
	var p mcp.CallToolParamsRaw
	if json.Unmarshal(params, &p) != nil {
		return "", nil
	}
	tool = cut(p.Name)
	failure := errors.Invalid("the result is %d bytes, and at most %d fit in one message", size, limit).
		Next("ask for less: a smaller limit, a narrower filter, or one page at a time")
	result, err := json.Marshal(failure.Result(&mcp.CallToolRequest{Params: &p}))
	if err != nil {
		return tool, nil
	}
	return tool, result
}

// writeRequest writes a request or a notification of the server's.
func (c *conn) writeRequest(r *jsonrpc.Request) error {
	if r.IsCall() {
		c.mu.Lock()
		refuse := c.inputOver
		if !refuse {
			c.asked[r.ID] = struct{}{}
		}
		c.mu.Unlock()
		if refuse {
			return refused("the client has closed its end and cannot answer %q", r.Method)
		}
	} else if r.Method == wire.NotificationCancelled {
		c.mu.Lock()
		delete(c.asked, cancelledID(r))
		c.mu.Unlock()
	}
	return c.write(func(dst []byte) ([]byte, error) {
		size := len(r.Params)
		if !exceeds(size, c.opts.MaxMessage) {
			dst = appendRequest(dst, r)
			size = len(dst) + 1 // the LF
		}
		if !exceeds(size, c.opts.MaxMessage) {
			return dst, nil
		}
		c.mu.Lock()
		delete(c.asked, r.ID)
		c.mu.Unlock()
		c.reporter.report(TooLarge{Method: r.Method, Bytes: size, Limit: c.opts.MaxMessage, Refused: true})
		return nil, refused("%q is %d bytes; at most %d fit in one message", r.Method, size, c.opts.MaxMessage)
	})
}

// refused is an error that the SDK gives to the sender and to nobody else.
func refused(format string, args ...any) error {
	return fmt.Errorf("stdioguard: %s: %w", fmt.Sprintf(format, args...), &jsonrpc.Error{Code: codeRejected, Message: "rejected by transport"})
}

// write encodes one message and writes it with its LF, in one call.
func (c *conn) write(encode func(dst []byte) ([]byte, error)) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	buf, err := encode(c.buf[:0])
	if err != nil {
		return err
	}
	buf = append(buf, '\n')
	if cap(buf) <= keptBuffer {
		c.buf = buf
	}
	if _, err = c.out.Write(buf); err != nil {
		c.outputEnded(err)
	}
	return err
}
