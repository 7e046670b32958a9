package tasks

import (
	"context"
	"encoding/json"
	stderrors "errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/steadymcp/steady/internal/wire"
)

// ClientOptions configures a [Client]. The zero value is ready to use.
type ClientOptions struct {
	// OnTask, if not nil, is called when a call has become a task and at each
	// change that the client sees. Whoever wants to [Client.Resume] a task after a
	// restart keeps its ID from here. It must return soon: the call waits for it.
	OnTask func(context.Context, Task)
}

// A Client makes tasks invisible to the code that calls tools: CallTool returns
// the final result. See [InstallClient].
type Client struct {
	opts ClientOptions
	// receive is the client's own chain of receiving handlers: input requests
	// are answered as if the server had sent them.
	receive atomic.Pointer[mcp.MethodHandler]
}

// InstallClient declares the extension on every request of c and follows the
// tasks that its calls become: [mcp.ClientSession.CallTool] returns the final
// result, the handlers of c answer what a task asks, and cancelling the context
// of a call cancels its task, unless the handle has not arrived yet: that is a
// lost reply, and the next call of the kind joins the task. A nil opts means the
// zero ClientOptions.
//
// The transports of c must be wrapped too, since the SDK drops what it does not
// know from results: with [Client.RoundTripper] for streamable HTTP and
// [Client.Transport] for everything else.
func InstallClient(c *mcp.Client, opts *ClientOptions) (*Client, error) {
	x := &Client{}
	if opts != nil {
		x.opts = *opts
	}
	if err := stderrors.Join(
		mcp.AddSendingCustomMethod[*getParams, *getResult](c, methodGet),
		mcp.AddSendingCustomMethod[*updateParams, *ackResult](c, methodUpdate),
		mcp.AddSendingCustomMethod[*cancelParams, *ackResult](c, methodCancel),
	); err != nil {
		return nil, err
	}
	c.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		x.receive.Store(&next)
		return next
	})
	c.AddSendingMiddleware(x.sending)
	return x, nil
}

func (x *Client) sending(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if !strings.HasPrefix(method, "notifications/") {
			declare(req.GetParams())
		}
		res, err := next(ctx, method, req)
		if err != nil || method != wire.MethodCallTool {
			return res, err
		}
		created, ok := unpark(res)
		if !ok {
			return res, nil
		}
		cs, ok := req.GetSession().(*mcp.ClientSession)
		if !ok {
			return nil, stderrors.New("tasks: a task without a client session")
		}
		final, err := x.follow(ctx, cs, created.Task)
		if err != nil {
			return nil, err
		}
		created.disclose(final)
		return final, nil
	}
}

// declare adds the extension to the capabilities that a request carries. They
// are an unexported type there, so they go through JSON.
func declare(params mcp.Params) {
	if params == nil {
		return
	}
	meta := params.GetMeta()
	caps, ok := meta[mcp.MetaKeyClientCapabilities]
	if !ok { // a revision with a handshake, which does not have the extension
		return
	}
	raw, err := json.Marshal(caps)
	if err != nil {
		return
	}
	members := map[string]any{}
	if json.Unmarshal(raw, &members) != nil {
		return
	}
	extensions, _ := members["extensions"].(map[string]any)
	extensions = maps.Clone(extensions)
	if extensions == nil {
		extensions = map[string]any{}
	}
	extensions[ExtensionID] = map[string]any{}
	members["extensions"] = extensions
	meta[mcp.MetaKeyClientCapabilities] = members
}

// Resume follows a task whose handle was kept from an earlier session, and
// returns its result. Cancelling ctx cancels the task.
func (x *Client) Resume(ctx context.Context, cs *mcp.ClientSession, id string) (*mcp.CallToolResult, error) {
	return x.follow(ctx, cs, Task{ID: id})
}

// ErrTaskCancelled is returned by a call whose task was cancelled by somebody
// else.
var ErrTaskCancelled = stderrors.New("tasks: the task was cancelled")

// follow asks for a task until it has ended.
func (x *Client) follow(ctx context.Context, cs *mcp.ClientSession, t Task) (*mcp.CallToolResult, error) {
	x.tell(ctx, t)
	answered := map[string]bool{}
	for first := t.Status == ""; ; first = false {
		if !first && !sleep(ctx, pollEvery(t.PollIntervalMs)) {
			return nil, x.giveUp(ctx, cs, t.ID)
		}
		got, err := mcp.CallCustomMethod[*getParams, *getResult](ctx, cs, methodGet, &getParams{TaskID: t.ID})
		if err != nil {
			if ctx.Err() != nil {
				return nil, x.giveUp(ctx, cs, t.ID)
			}
			return nil, err
		}
		if got.LastUpdatedAt != t.LastUpdatedAt || got.Status != t.Status {
			x.tell(ctx, got.Task)
		}
		t = got.Task
		switch got.Status {
		case Completed:
			res := new(mcp.CallToolResult)
			if err := json.Unmarshal(got.Result, res); err != nil {
				return nil, fmt.Errorf("tasks: the result of %s: %w", t.ID, err)
			}
			return res, nil
		case Failed:
			if got.Error == nil {
				return nil, errInternal(t.StatusMessage)
			}
			return nil, got.Error.protocol()
		case Cancelled:
			return nil, ErrTaskCancelled
		case InputRequired:
			if err := x.answer(ctx, cs, got, answered); err != nil {
				if ctx.Err() != nil {
					return nil, x.giveUp(ctx, cs, t.ID)
				}
				return nil, err
			}
		}
	}
}

func (x *Client) tell(ctx context.Context, t Task) {
	if x.opts.OnTask != nil && t.Status != "" {
		x.opts.OnTask(ctx, t)
	}
}

// pollEvery bounds what the server wishes: a zero must not become a storm.
func pollEvery(ms int64) time.Duration {
	const shortest, usual = 10 * time.Millisecond, time.Second
	if ms <= 0 {
		return usual
	}
	if ms > time.Hour.Milliseconds() {
		return time.Hour
	}
	return max(time.Duration(ms)*time.Millisecond, shortest)
}

// giveUp cancels the task of a caller that has gone.
func (x *Client) giveUp(ctx context.Context, cs *mcp.ClientSession, id string) error {
	bye, stop := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer stop()
	// There is nobody left to tell if it fails: the task ends by itself then.
	_, _ = mcp.CallCustomMethod[*cancelParams, *ackResult](bye, cs, methodCancel, &cancelParams{TaskID: id})
	return ctx.Err()
}

// answer lets the client's own handlers answer what has not been answered.
func (x *Client) answer(ctx context.Context, cs *mcp.ClientSession, got *getResult, answered map[string]bool) error {
	responses := map[string]json.RawMessage{}
	for _, key := range slices.Sorted(maps.Keys(got.InputRequests)) {
		if answered[key] {
			continue
		}
		res, err := x.ask(ctx, cs, got.InputRequests[key])
		if err != nil {
			return fmt.Errorf("tasks: answering %q: %w", key, err)
		}
		if responses[key], err = json.Marshal(res); err != nil {
			return err
		}
	}
	if len(responses) == 0 {
		return nil
	}
	if _, err := mcp.CallCustomMethod[*updateParams, *ackResult](ctx, cs, methodUpdate, &updateParams{TaskID: got.ID, InputResponses: responses}); err != nil {
		return err
	}
	for key := range responses {
		answered[key] = true
	}
	return nil
}

// ask passes one input request to the handler of the client that is there for
// it.
func (x *Client) ask(ctx context.Context, cs *mcp.ClientSession, raw json.RawMessage) (mcp.Result, error) {
	method, req, err := questionFor(cs, raw)
	if err != nil {
		return nil, err
	}
	return (*x.receive.Load())(ctx, method, req)
}
