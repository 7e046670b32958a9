package tasks

import (
	"context"
	stderrors "errors"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxRounds bounds how often one call may come back for more input.
const maxRounds = 32

// rounds carries a multi round-trip request to its end. While only the caller
// knows of the call, the caller gets the question and there is no task: the
// extension wants that settled before a task is created. Afterwards the task
// asks.
func (r *run) rounds(out outcome) outcome {
	for range maxRounds {
		out = r.shape(out)
		res, ok := out.res.(*mcp.CallToolResult)
		if out.err != nil || !ok || res == nil || res.InputRequests == nil {
			return out
		}
		if !r.recorded && r.withdraw() {
			out.withdrawn = true
			return out
		}
		if r.m.dispatch != nil {
			if err := r.park(res); err != nil {
				return outcome{err: err}
			}
			return outcome{parked: true}
		}
		responses, err := r.askAll(r.ctx, res.InputRequests)
		if err != nil {
			return outcome{err: err}
		}
		params := *r.req.Params
		params.InputResponses, params.RequestState = responses, res.RequestState
		again := *r.req
		again.Params = &params
		out = r.invoke(&again)
	}
	return outcome{err: errInternal("The tool asked for input too often.")}
}

// withdraw removes the record if nobody has the handle.
func (r *run) withdraw() bool { return r.m.withdraw(r.m.life, r.id) }

// withdraw removes a record that nobody has the handle of. Calls that have
// joined it start anew.
func (m *Manager) withdraw(ctx context.Context, id string) bool {
	for {
		rec, err := m.store.Get(ctx, id)
		if err != nil || rec.Disclosed || rec.Status.Terminal() {
			return false
		}
		if err = m.store.Delete(ctx, id, rec.Version); err == nil {
			return true
		}
		if !stderrors.Is(err, ErrConflict) {
			m.observer.Observe(ctx, OperationFailed{Operation: "delete", Task: id, Err: err})
			return false
		}
	}
}
