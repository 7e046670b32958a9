package catalog

import (
	"context"
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
// [Options.Seed] for a server that must start by itself.
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

// Middleware returns what [Catalog.Install] adds beside the tools: calls of an
// entry's id are routed to the entry, the tool that writes is advertised only
// while the caller may write something, and the instructions are given. It
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
			if call, ok := req.(*mcp.CallToolRequest); ok && method == wire.MethodCallTool && call.Params != nil && !own[call.Params.Name] && c.direct(ctx, next, call) {
				return errors.Handler(c.callDirectly)(ctx, call)
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

// direct reports whether a call names an entry that the caller may call, and
// not a tool.
func (c *Catalog) direct(ctx context.Context, next mcp.MethodHandler, req *mcp.CallToolRequest) bool {
	if c.opts.Caller == nil || c.keeper == nil || !idPattern.MatchString(req.Params.Name) {
		return false // a live source's entries are tools
	}
	e, err := c.shelf.edition(ctx, req)
	if err != nil {
		return false
	}
	name := req.Params.Name
	op := e.lookup(name)
	if op == nil || !c.allowed(ctx, req, op.Entry) {
		return false
	}
	tools, err := listTools(ctx, next, req)
	return err == nil && !slices.ContainsFunc(tools, func(t *mcp.Tool) bool {
		return t.Name == name || op.ID != name && collapse(t.Name) == collapse(name)
	})
}

func (c *Catalog) callDirectly(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	args, err := decodeObject(req.Params.Arguments)
	if err != nil {
		return nil, errors.Invalid("the arguments of %s do not fit", req.Params.Name).Because("%s", err.Error())
	}
	a, err := c.callOne(ctx, req, map[string]any{"id": req.Params.Name, "arguments": args}, anyEffect)
	if err != nil {
		return nil, err
	}
	return a.result(req)
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
	if e == nil || !e.writes {
		return false
	}
	return slices.ContainsFunc(e.operations, func(op operation) bool { return !op.reads() && c.allowed(ctx, req, op.Entry) })
}

// peek returns the edition without waiting long for the first one, or nil.
func (c *Catalog) peek(ctx context.Context, req *mcp.CallToolRequest) *edition {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	e, err := c.shelf.edition(ctx, req)
	if err != nil {
		return nil
	}
	return e
}
