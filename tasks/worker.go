package tasks

import (
	"context"
	"encoding/json"
	"io"
	"iter"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/steadymcp/steady/internal/wire"
)

// workers lends server sessions to handlers whose request is answered before
// they begin.
//
// The session of a stateless request ends with it, and revision 2026-07-28
// lets no handler ask its client in the middle of a call. A worker session has
// nobody at its other end, outlives the request, and claims the revision
// before, so that handlers written for that one work unchanged: what they send
// is caught by [Manager.sending] and goes through the task.
//
// For handlers that return their questions, the SDK asks them itself through a
// session of that revision, and waits within the call. [Policy.Rounds] gets one of
// revision 2026-07-28, on which such a result comes back to us.
type workers struct {
	server *mcp.Server
	m      *Manager

	mu   sync.Mutex
	lent map[string]*lentSession // by revision
}

type lentSession struct {
	session *mcp.ServerSession
	users   int
}

// lending is next with a lent session for the runs that need one.
func (w *workers) lending(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if call, ok := req.(*mcp.CallToolRequest); ok {
			if r := runFrom(ctx); r != nil {
				req = w.lend(ctx, r, call)
			}
		}
		return next(ctx, method, req)
	}
}

// lend returns req on a worker session if its run needs one, until the run
// ends.
func (w *workers) lend(ctx context.Context, r *run, req *mcp.CallToolRequest) *mcp.CallToolRequest {
	if !r.eager() || !hasTasks(req) {
		return req
	}
	if r.lent == nil {
		ss, giveBack, err := w.take(ctx, r.policy.Rounds)
		if err != nil { // the handler can still do everything but talk to the client
			r.m.observer.Observe(ctx, OperationFailed{Operation: "worker session", Task: r.id, Err: err})
			return req
		}
		r.lent = ss
		r.giveBack = giveBack
	}
	lent := *req
	lent.Session = r.lent
	return &lent
}

// take returns the server's worker session, connects it for its first user, and
// closes it after its last: a server that was made for one request must not be kept
// alive by it.
func (w *workers) take(ctx context.Context, rounds bool) (_ *mcp.ServerSession, giveBack func(), err error) {
	revision := legacyRevision
	if rounds {
		revision = wire.StatelessRevision
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	l := w.lent[revision]
	if l == nil {
		ss, err := w.server.Connect(context.WithoutCancel(ctx), &nobody{}, &mcp.ServerSessionOptions{State: workerState(revision)})
		if err != nil {
			return nil, nil, err
		}
		l = &lentSession{session: ss}
		if w.lent == nil {
			w.lent = map[string]*lentSession{}
		}
		w.lent[revision] = l
	}
	l.users++
	return l.session, sync.OnceFunc(func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if l.users--; l.users == 0 {
			_ = l.session.Close()
			delete(w.lent, revision)
		}
	}), nil
}

// nobody is a transport, and its connection, with nobody at the other end. It
// drops notifications and answers requests at once, so that none waits for
// ever: pings succeed, anything else is not supported.
type nobody struct {
	replies chan jsonrpc.Message
	closed  chan struct{}
	once    sync.Once
}

func (n *nobody) Connect(context.Context) (mcp.Connection, error) {
	n.replies, n.closed = make(chan jsonrpc.Message, 16), make(chan struct{})
	return n, nil
}

func (n *nobody) Read(ctx context.Context) (jsonrpc.Message, error) {
	select {
	case m := <-n.replies:
		return m, nil
	case <-n.closed:
		return nil, io.EOF
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (n *nobody) Write(ctx context.Context, msg jsonrpc.Message) error {
	req, ok := msg.(*jsonrpc.Request)
	if !ok || !req.ID.IsValid() {
		return nil
	}
	reply := &jsonrpc.Response{ID: req.ID, Result: json.RawMessage(`{}`)}
	if req.Method != "ping" {
		reply.Result, reply.Error = nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: req.Method + " is not supported in a task"}
	}
	select {
	case n.replies <- reply:
		return nil
	case <-n.closed:
		return io.ErrClosedPipe
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (n *nobody) Close() error {
	n.once.Do(func() { close(n.closed) })
	return nil
}

func (n *nobody) SessionID() string { return "" }

// A rerunner can start the handler of a task anew, from its record.
type rerunner struct {
	next    mcp.MethodHandler
	workers *workers
	known   sync.Map // names of tools that the server had
}

// has reports whether the server has a tool, as far as it says.
func (rr *rerunner) has(ctx context.Context, tool string) bool {
	if _, ok := rr.known.Load(tool); ok {
		return true
	}
	ss, giveBack, err := rr.workers.take(ctx, false)
	if err != nil {
		return false
	}
	defer giveBack()
	for t := range toolsOf(ctx, rr.next, ss) {
		rr.known.Store(t.Name, nil)
	}
	_, ok := rr.known.Load(tool)
	return ok
}

const maxPages = 1000 // of a list of tools

// toolsOf asks a server for its tools. Where it does not answer, there are no more.
func toolsOf(ctx context.Context, next mcp.MethodHandler, ss *mcp.ServerSession) iter.Seq[*mcp.Tool] {
	return func(yield func(*mcp.Tool) bool) {
		params := &mcp.ListToolsParams{}
		for range maxPages {
			res, err := next(ctx, wire.MethodListTools, &mcp.ListToolsRequest{Session: ss, Params: params, Extra: &mcp.RequestExtra{}})
			page, ok := res.(*mcp.ListToolsResult)
			if err != nil || !ok {
				return
			}
			for _, t := range page.Tools {
				if !yield(t) {
					return
				}
			}
			if page.NextCursor == "" {
				return
			}
			params = &mcp.ListToolsParams{Cursor: page.NextCursor}
		}
	}
}

// request makes the request of a recorded call.
func (rr *rerunner) request(ctx context.Context, rec *Record) (*mcp.CallToolRequest, func(), error) {
	params := &mcp.CallToolParamsRaw{Name: rec.Tool, Arguments: rec.Arguments, RequestState: rec.RequestState}
	if len(rec.Responses) > 0 {
		if err := json.Unmarshal(rec.Responses, &params.InputResponses); err != nil {
			return nil, nil, err
		}
	}
	extra, err := rr.workers.m.extra(rec)
	if err != nil {
		return nil, nil, err
	}
	ss, giveBack, err := rr.workers.take(ctx, rr.workers.m.policies[rec.Tool].Rounds)
	if err != nil {
		return nil, nil, err
	}
	params.Meta = rec.Caller.meta()
	return &mcp.CallToolRequest{Session: ss, Params: params, Extra: extra}, giveBack, nil
}
