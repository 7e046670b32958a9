package catalog

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/steadymcp/steady/errors"
	"github.com/steadymcp/steady/internal/wire"
)

// Install adds the catalog's tools and middleware to a server. Install it last
// (after steady.Wrap, and after [Tools]), so that a call of an entry's id
// reaches it before anything takes the name for unknown. It may be installed
// on many servers.
//
// If there are shortcuts it loads the entries first, until ctx ends, and the
// error says which shortcut does not fit or why nothing was loaded; see
// [Options.Seed] for a server that must start by itself. It is also an error if
// the server has a tool of one of the names already: rename with
// [Options.Names]. For that the tools are listed, in a session without a client.
func (c *Catalog) Install(ctx context.Context, server *mcp.Server) error {
	tools := slices.Clone(c.own)
	if len(c.opts.Shortcuts) > 0 {
		e, err := c.shelf.edition(ctx, nil)
		if err != nil {
			return err
		}
		for i := range c.opts.Shortcuts {
			t, err := c.shortcut(e, &c.opts.Shortcuts[i])
			if err != nil {
				return err
			}
			tools = append(tools, t)
		}
	}
	names := make([]string, len(tools))
	for i, t := range tools {
		names[i] = t.tool.Name
	}
	if err := c.refuseTaken(ctx, server, names); err != nil {
		return err
	}
	for _, t := range tools {
		server.AddTool(t.tool, errors.Handler(t.handle))
	}
	if own, ok := c.opts.Caller.(interface{ setOwn([]string) }); ok {
		own.setOwn(names)
	}
	if own, ok := c.source.(interface{ setOwn([]string) }); ok {
		own.setOwn(names)
	}
	server.AddReceivingMiddleware(c.Middleware())
	return nil
}

// refuseTaken reports the tools of a server that the catalog's would silently
// replace. It asks as a client would, since a server tells no other way; what a
// middleware does not list in such a session is not seen.
func (c *Catalog) refuseTaken(ctx context.Context, server *mcp.Server, names []string) error {
	var list mcp.MethodHandler
	server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		list = next
		return next
	})
	if own, ok := c.source.(*ServerTools); ok {
		list = own.next // it does not leave out what is not advertised
	}
	near, far := mcp.NewInMemoryTransports()
	session, err := server.Connect(ctx, near, nil)
	if err != nil {
		return fmt.Errorf("catalog: the tools of the server: %w", err)
	}
	defer func() {
		_ = session.Close()
		if conn, err := far.Connect(ctx); err == nil {
			_ = conn.Close()
		}
	}()
	var tools []*mcp.Tool
	func() {
		defer func() { _ = recover() }() // a middleware may expect every session to have a client
		tools, _ = listTools(ctx, list, &mcp.CallToolRequest{Session: session})
	}()
	for _, t := range tools {
		if t != nil && slices.Contains(names, t.Name) {
			return fmt.Errorf("catalog: the server has a tool named %q already; see Options.Names", t.Name)
		}
	}
	return nil
}

// Middleware returns what [Catalog.Install] adds beside the tools: calls of an
// entry's id become calls of [Names.Call] or [Names.Write], the tool that writes
// is advertised only while the caller may write something or the entries are
// not known yet, and the instructions are given. It
// calls next at most once for a request, and may list the tools before.
func (c *Catalog) Middleware() mcp.Middleware {
	own := map[string]bool{}
	for _, t := range c.own {
		own[t.tool.Name] = true
	}
	shortcuts := map[string]string{}
	for _, s := range c.opts.Shortcuts {
		own[s.Name] = true
		shortcuts[s.Name] = s.Entry
	}
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if call, ok := req.(*mcp.CallToolRequest); ok && method == wire.MethodCallTool && call.Params != nil && !own[call.Params.Name] {
				if again := c.direct(ctx, next, call); again != nil {
					req = again
				}
			}
			res, err := next(ctx, method, req)
			if err != nil {
				return res, err
			}
			switch r := res.(type) {
			case *mcp.ListToolsResult:
				if list, ok := req.(*mcp.ListToolsRequest); ok && r != nil {
					return c.listed(ctx, list, r, shortcuts), nil
				}
			case *mcp.InitializeResult:
				if r != nil {
					again := *r
					again.Instructions = c.instruct(r.Instructions)
					return &again, nil
				}
			case *mcp.DiscoverResult:
				if r != nil {
					again := *r
					again.Instructions = c.instruct(r.Instructions)
					return &again, nil
				}
			}
			return res, nil
		}
	}
}

func (c *Catalog) instruct(given string) string {
	ours := c.Instructions()
	if strings.Contains(given, ours) {
		return given
	}
	return strings.TrimSpace(given + "\n\n" + ours)
}

// direct returns the call of the catalog's tool that a call of an entry's id
// stands for, so that everything which guards that tool guards the entry too,
// or nil if the name is that of a tool or of nothing that the caller may call.
// It does not wait for entries if the name is a tool's, which must not depend
// on the source.
func (c *Catalog) direct(ctx context.Context, next mcp.MethodHandler, req *mcp.CallToolRequest) *mcp.CallToolRequest {
	name := req.Params.Name
	if c.opts.Caller == nil || c.keeper == nil || !idPattern.MatchString(name) {
		return nil // a live source's entries are tools
	}
	e := c.keeper.held()
	if e != nil && e.lookup(name) == nil {
		return nil
	}
	tools, err := listTools(ctx, next, req)
	isTool := func(same func(tool string) bool) bool {
		return slices.ContainsFunc(tools, func(t *mcp.Tool) bool { return same(t.Name) })
	}
	if err != nil || isTool(func(tool string) bool { return tool == name }) {
		return nil
	}
	if e == nil {
		e = c.peek(ctx, req)
	}
	op := e.lookup(name)
	if op == nil || !c.allowed(ctx, req, op.Entry) || op.ID != name && isTool(func(tool string) bool { return collapse(tool) == collapse(name) }) {
		return nil
	}
	raw, err := json.Marshal(struct {
		ID        string          `json:"id"`
		Arguments json.RawMessage `json:"arguments,omitempty"`
	}{name, directArguments(req.Params.Arguments)})
	if err != nil {
		return nil
	}
	params := *req.Params
	params.Name, params.Arguments = c.names.Call, raw
	if !op.reads() {
		params.Name = c.names.Write
	}
	again := *req
	again.Params = &params
	return &again
}

// directArguments leaves out what stands for no arguments.
func directArguments(raw json.RawMessage) json.RawMessage {
	if string(raw) == "null" {
		return nil
	}
	return raw
}

// listed leaves out what this caller has no use for: the tool that writes if
// there is nothing to write, and shortcuts for what is hidden.
func (c *Catalog) listed(ctx context.Context, list *mcp.ListToolsRequest, r *mcp.ListToolsResult, shortcuts map[string]string) *mcp.ListToolsResult {
	call := &mcp.CallToolRequest{Session: list.Session, Extra: list.Extra, Params: &mcp.CallToolParamsRaw{}}
	if list.Params != nil {
		call.Params.Meta = list.Params.Meta
	}
	e := c.peek(ctx, call)
	shown := *r
	if c.opts.Allow != nil {
		shown.CacheScope = "private" // another caller must not be served this list
	}
	shown.Tools = slices.DeleteFunc(slices.Clone(r.Tools), func(t *mcp.Tool) bool {
		if entry, ok := shortcuts[t.Name]; ok {
			op := e.operation(entry)
			return op != nil && !c.allowed(ctx, call, op.Entry)
		}
		return t.Name == c.names.Write && c.isOwnWrite(t) && !c.writes(ctx, call, e)
	})
	return &shown
}

func (c *Catalog) isOwnWrite(t *mcp.Tool) bool {
	return slices.ContainsFunc(c.own, func(o *ownTool) bool { return o.write && o.tool.Name == t.Name })
}

func (c *Catalog) writes(ctx context.Context, req *mcp.CallToolRequest, e *edition) bool {
	if e == nil {
		return true // not known yet, and a client may keep the list
	}
	return e.writes && slices.ContainsFunc(e.operations, func(op operation) bool { return !op.reads() && c.allowed(ctx, req, op.Entry) })
}

// peek returns the edition, or nil. It waits for the first one, but not if its
// load has taken a second already.
func (c *Catalog) peek(ctx context.Context, req *mcp.CallToolRequest) *edition {
	wait := time.Second
	if c.keeper != nil {
		wait -= c.keeper.loadingFor()
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	e, err := c.shelf.edition(ctx, req)
	if err != nil {
		return nil
	}
	return e
}
