package tasks

import (
	"context"
	stderrors "errors"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/steadymcp/steady/errors"
	"github.com/steadymcp/steady/internal/wire"
)

// verb answers the three methods of the extension.
func (m *Manager) verb(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
	id, err := verbTarget(req)
	if err != nil {
		return nil, err
	}
	if !declared(req) {
		return nil, errMissingCapability()
	}
	if err := checkName(req, id); err != nil {
		return nil, err
	}
	rec, err := m.find(ctx, method, req, id)
	if err != nil {
		return nil, onWire(err)
	}
	switch req := req.(type) {
	case *mcp.ServerRequest[*getParams]:
		return &getResult{ResultType: resultComplete, detailedTask: rec.detailed(time.Now())}, nil
	case *mcp.ServerRequest[*updateParams]:
		if !rec.Status.Terminal() {
			_, err = m.deliver(ctx, rec.ID, req.Params.InputResponses)
		}
	case *mcp.ServerRequest[*cancelParams]:
		if !rec.Status.Terminal() {
			_, err = m.cancel(ctx, rec.ID)
		}
	}
	if err != nil && !stderrors.Is(err, errEnded) && !stderrors.Is(err, errNoAnswer) {
		return nil, onWire(m.publicError(ctx, method, id, err))
	}
	return &ackResult{ResultType: resultComplete}, nil
}

// verbTarget returns the handle that a request is about. Requests without
// parameters come with nil ones: the SDK lets them pass for custom methods.
func verbTarget(req mcp.Request) (string, error) {
	switch req := req.(type) {
	case *mcp.ServerRequest[*getParams]:
		if req.Params != nil {
			return req.Params.TaskID, nil
		}
	case *mcp.ServerRequest[*updateParams]:
		if req.Params != nil {
			return req.Params.TaskID, nil
		}
	case *mcp.ServerRequest[*cancelParams]:
		if req.Params != nil {
			return req.Params.TaskID, nil
		}
	}
	return "", errInvalidParams("The parameter taskId is missing.")
}

// checkName holds the header Mcp-Name to the body, as the extension's section
// "Streamable HTTP: Routing Headers" wants. [Manager.Handler] does so before,
// with the HTTP status that belongs to it.
func checkName(req mcp.Request, id string) error {
	extra := req.GetExtra()
	if extra == nil || extra.Header == nil || extra.Header.Get(headerName) == id {
		return nil
	}
	return &jsonrpc.Error{Code: mcp.CodeHeaderMismatch, Message: nameMismatch}
}

const nameMismatch = "The header Mcp-Name does not match params.taskId."

// Reasons of Denied events.
const (
	deniedForeign   = "foreign"
	deniedExpired   = "expired"
	deniedUnknown   = "unknown"
	deniedAnonymous = "anonymous"
)

// find returns a task for its owner. For everybody else, and for a task that
// has expired or never existed, the error is the same; the operator learns the
// reason.
//
// A handle that was issued by a store that is gone, because it was lost in a
// restart, is answered with a failed task: its owner must not believe that the
// work never began.
func (m *Manager) find(ctx context.Context, verb string, req mcp.Request, id string) (*Record, error) {
	epoch, issued := parseHandle(id)
	owner := m.ownerOf(req)
	deny := func(reason string) error {
		e := Denied{Verb: verb, Reason: reason, Caller: wire.Shown(owner)}
		if issued {
			e.Task = id
		}
		m.observer.Observe(ctx, e)
		return errUnknownTask()
	}
	if !issued {
		return nil, deny(deniedUnknown)
	}
	if owner == "" {
		return nil, deny(deniedAnonymous)
	}
	rec, err := m.store.Get(ctx, id)
	switch {
	case err == nil && rec.Owner != owner:
		return nil, deny(deniedForeign)
	case err == nil && rec.Expired(time.Now()):
		return nil, deny(deniedExpired)
	case err == nil:
		return &rec, nil
	case !stderrors.Is(err, ErrNotFound):
		return nil, m.publicError(ctx, verb, id, err)
	case epoch == m.epoch:
		return nil, deny(deniedExpired) // it was issued and has been swept
	}
	lost := m.lostTask(id)
	return &lost, nil
}

// lostInRestart does not say that the task was running: it may have been done.
const lostInRestart = "The server was restarted and has kept nothing of this task. Whether its work was done is not known: " +
	"check before you start it again."

// lostTask is the record of a task that went with its store.
func (m *Manager) lostTask(id string) Record {
	return Record{
		ID:            id,
		Status:        Failed,
		StatusMessage: lostInRestart,
		Error:         &Error{Code: jsonrpc.CodeInternalError, Message: lostInRestart},
		CreatedAt:     m.started,
		UpdatedAt:     m.started,
		ExpiresAt:     m.started.Add(time.Hour),
		PollInterval:  time.Second,
	}
}

// cancel ends a task, unless it has ended: then it returns the task as it is.
// The handler is told, and the key stays held until it has returned.
func (m *Manager) cancel(ctx context.Context, id string) (Record, error) {
	ctx, done := context.WithTimeout(ctx, storeAway)
	defer done()
	if r := m.local(id); r != nil {
		if err := r.abort(ctx, "Cancelled on request."); err != nil {
			return Record{}, err
		}
		return m.store.Get(ctx, id)
	}
	e := ending{status: Cancelled, message: "Cancelled on request."}
	rec, err := m.persist(ctx, id, func(rec *Record, now time.Time) error {
		if rec.Status.Terminal() {
			return errEnded
		}
		e.apply(rec, now)
		return nil
	})
	switch {
	case err == nil:
		m.observer.Observe(ctx, Ended{Task: rec.ID, Tool: rec.Tool, Status: rec.Status, Ran: rec.UpdatedAt.Sub(rec.CreatedAt)})
	case stderrors.Is(err, errEnded):
		err = nil
	}
	return rec, err
}

// publicError passes protocol errors, and hides what the store says: the state of
// a task that cannot be read is not known, so nothing is said about it.
func (m *Manager) publicError(ctx context.Context, operation, id string, err error) error {
	if je, ok := errorAs[*jsonrpc.Error](err); ok {
		return je
	}
	if stderrors.Is(err, ErrNotFound) {
		return errUnknownTask()
	}
	m.observer.Observe(ctx, OperationFailed{Operation: operation, Task: id, Err: err})
	return errors.Unavailable("the tasks cannot be looked at now").
		Because("their store does not answer; what runs goes on").RetryAfter(storeAway).Cause(err)
}

// storeAway is when to try again if the store does not answer, and how long a caller
// waits for it to write something down.
const storeAway = 5 * time.Second

// onWire makes a protocol error of what a tool would answer with a result.
func onWire(err error) error {
	f, ok := errorAs[*errors.Failure](err)
	if !ok {
		return err
	}
	data := fmt.Appendf(nil, `{"retryAfterMs":%d}`, f.Retry().After.Milliseconds())
	return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: f.Error(), Data: data}
}

// invalidParams returns err if it blames the caller's parameters.
func invalidParams(err error) (*jsonrpc.Error, bool) {
	je, ok := errorAs[*jsonrpc.Error](err)
	return je, ok && je.Code == jsonrpc.CodeInvalidParams
}
