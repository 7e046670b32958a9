package tasks

import (
	"context"
	stderrors "errors"
	"fmt"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/steadymcp/steady/internal/perserver"
	"github.com/steadymcp/steady/internal/wire"
)

// Install makes server answer for tasks: it adds the methods and the
// advertisement of the extension, and the tools that stand in for it. Calls of
// tools with a policy become tasks from then on.
//
// Install before adding other middleware, and add [Manager.Middleware] at the
// place in the order where calls shall be caught; without it they are caught
// innermost. It starts nothing that outlives server, so that a server may be made
// for each request.
//
// It fails, and changes nothing, if a Manager, this or another one, is installed
// on server, or if server has a tool with one of the [ToolNames]. A tool that is
// added later replaces ours without a word: the SDK tells nobody.
func (m *Manager) Install(server *mcp.Server) (err error) {
	if !managed.Claim(server, struct{}{}) {
		return stderrors.New("tasks: a manager is installed on this server already; one serves all its tools")
	}
	defer func() {
		if err != nil {
			managed.Release(server)
		}
	}()
	if !m.opts.ExtensionOnly {
		if err = m.checkNames(server); err != nil {
			return err
		}
	}
	if err := stderrors.Join(
		mcp.AddReceivingCustomMethod(server, methodGet, notReached[*getParams, *getResult]),
		mcp.AddReceivingCustomMethod(server, methodUpdate, notReached[*updateParams, *ackResult]),
		mcp.AddReceivingCustomMethod(server, methodCancel, notReached[*cancelParams, *ackResult]),
	); err != nil {
		return err
	}
	if !m.opts.ExtensionOnly {
		m.addTools(server)
	}
	workers := &workers{server: server, m: m}
	server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		m.rerun.Store(&rerunner{next: next, workers: workers})
		return m.receiving(next, workers)
	})
	server.AddSendingMiddleware(m.sending)
	m.installed.Store(true)
	if m.opts.Store != nil {
		m.keep() // it may hold the tasks of a process that is gone
	}
	return nil
}

// checkNames returns an error if a tool that is about to be added would replace
// one of the server's. A server tells its tools only to a session, and middleware
// that is there already may refuse: then it is not known.
func (m *Manager) checkNames(server *mcp.Server) error {
	ctx := context.Background()
	ss, err := server.Connect(ctx, &nobody{}, &mcp.ServerSessionOptions{State: workerState(legacyRevision)})
	if err != nil {
		return nil
	}
	defer ss.Close()
	var list mcp.MethodHandler
	server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		list = next
		return next
	})
	ours := m.opts.ToolNames.all()
	for tool := range toolsOf(ctx, list, ss) {
		if slices.Contains(ours, tool.Name) {
			return fmt.Errorf("tasks: the server has a tool %q already; choose another name in Options.ToolNames", tool.Name)
		}
	}
	return nil
}

// managed are the servers that live and have a manager. The SDK has no place on
// a server for that, and of two managers the second would answer for the handles
// of the first, which it does not know.
var managed perserver.Map[struct{}]

// notReached is the handler of the extension's methods: registering it makes
// the SDK decode their parameters, and the middleware answers, because it alone
// sees who asks.
func notReached[P mcp.Params, R mcp.Result](context.Context, *mcp.ServerSession, P) (R, error) {
	var none R
	return none, errInternal("tasks: the middleware is missing")
}

// Middleware returns receiving middleware that catches calls of tools with a
// policy. What stands inside of it runs as part of the task, away from the
// request; what stands outside sees, as the result of tools/call, sometimes a
// result of this package instead of an [mcp.CallToolResult].
//
// It may be used for any number of servers, which should be installed on too.
func (m *Manager) Middleware() mcp.Middleware {
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if call, ok := req.(*mcp.CallToolRequest); ok && method == wire.MethodCallTool {
				return m.call(ctx, next, call)
			}
			return next(ctx, method, req)
		}
	}
}

// receiving is the middleware that Install adds.
func (m *Manager) receiving(next mcp.MethodHandler, w *workers) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		switch req := req.(type) {
		case *mcp.CallToolRequest:
			if method != wire.MethodCallTool {
				break
			}
			if r := runFrom(ctx); r != nil {
				return next(ctx, method, w.lend(ctx, r, req))
			}
			return m.call(ctx, w.lending(next), req)
		case *mcp.ListToolsRequest:
			return m.listTools(ctx, next, method, req)
		case *mcp.SubscriptionsListenRequest:
			return m.listen(ctx, next, method, req)
		case *mcp.ServerRequest[*getParams], *mcp.ServerRequest[*updateParams], *mcp.ServerRequest[*cancelParams]:
			if !hasTasks(req) {
				return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "Method not found: " + method}
			}
			return m.verb(ctx, method, req)
		}
		res, err := next(ctx, method, req)
		if d, ok := res.(*mcp.DiscoverResult); ok && d != nil && d.Capabilities != nil {
			d.Capabilities.AddExtension(ExtensionID, nil) // a copy: the server makes one for each request
		}
		return res, err
	}
}
