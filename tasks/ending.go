package tasks

import (
	"encoding/json"
	stderrors "errors"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// An ending is how a task ends.
type ending struct {
	status    Status
	message   string
	result    json.RawMessage
	err       *Error
	toolError bool
	done      bool  // the work succeeded, see Record.Done
	cause     error // private
}

// ending turns the outcome of a run into what the record says. Of errors, only
// protocol errors are public.
func (r *run) ending(out outcome) ending {
	if out.err != nil {
		e := &Error{Code: jsonrpc.CodeInternalError, Message: "The tool failed because of an internal error."}
		if je, ok := errorAs[*jsonrpc.Error](out.err); ok {
			e = &Error{Code: je.Code, Message: je.Message, Data: je.Data}
		}
		return ending{status: Failed, err: e, cause: out.err}
	}
	if out.unfit {
		return notKept(true, stderrors.New("the result cannot be encoded"))
	}
	toolError := !out.succeeded()
	raw, err := marshal(out.res)
	if err != nil {
		return notKept(!toolError, err)
	}
	return ending{status: Completed, result: raw, toolError: toolError, done: !toolError}
}

const resultNotKept = "The work was done, but its result could not be kept. Do not start it again."

// notKept is the ending of a run whose result cannot be encoded or finds no
// room. The handler has returned without an error, so the work was done, unless
// the result itself says otherwise.
func notKept(done bool, cause error) ending {
	message := resultNotKept
	if !done {
		message = "The tool failed, and what it says about that could not be kept."
	}
	return ending{status: Failed, done: done, cause: cause, err: &Error{Code: jsonrpc.CodeInternalError, Message: message}}
}

func errorAs[E error](err error) (e E, ok bool) {
	ok = stderrors.As(err, &e)
	return e, ok
}

// marshal encodes a result of foreign code, which may be nil or panic.
func marshal(res mcp.Result) (raw json.RawMessage, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("encoding the result panicked: %v", v)
		}
	}()
	raw, err = json.Marshal(res)
	if err == nil && (len(raw) == 0 || raw[0] != '{') {
		err = stderrors.New("the handler returned no result")
	}
	return raw, err
}

// briefly is how long a failed call that nobody has the handle of is kept, for
// those who wait for it.
const briefly = time.Minute

// apply ends rec.
func (e *ending) apply(rec *Record, now time.Time) {
	rec.Status, rec.StatusMessage = e.status, e.message
	rec.Result, rec.Error, rec.Done = e.result, e.err, e.done
	if e.err != nil && rec.StatusMessage == "" {
		rec.StatusMessage = e.err.Message
	}
	rec.InputRequests, rec.InputResponses, rec.Answered, rec.Parked = nil, nil, nil, false

	switch {
	case rec.Disclosed, e.done && (rec.Key != "" || len(rec.JoinedKeys) > 0 || rec.Identity != "" && rec.Window == 0):
		rec.ExpiresAt = now.Add(rec.TTL)
	case e.done:
		rec.ExpiresAt = now.Add(min(rec.Window, rec.TTL))
	default:
		rec.ExpiresAt = now.Add(min(briefly, rec.TTL))
	}
	switch {
	case e.done:
		rec.KeyUntil, rec.IdentityUntil = rec.ExpiresAt, rec.ExpiresAt
		if rec.Window > 0 {
			rec.IdentityUntil = now.Add(min(rec.Window, rec.TTL))
		}
	case rec.Worker == "":
		rec.letGo(now)
	}
}
