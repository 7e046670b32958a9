package registry

import (
	"cmp"
	"context"
	"encoding/base64"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/steadymcp/steady/internal/wire"
)

// An installation is the registry on one server. It remembers nothing but how
// the tools that the server lists are advertised.
type installation struct {
	registry *Registry

	mu    sync.Mutex
	known map[string]knownTool
}

// A knownTool is a tool as the server lists it and as clients see it.
type knownTool struct {
	listed, advertised *mcp.Tool
}

func (in *installation) middleware(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		switch req := req.(type) {
		case *mcp.CallToolRequest:
			if req != nil && req.Params != nil {
				return in.registry.call(ctx, next, method, req)
			}
		case *mcp.ListToolsRequest:
			if req != nil {
				return in.list(ctx, next, method, req)
			}
		}
		return next(ctx, method, req)
	}
}

// call lets a call through, answers it as if there were no such tool, or, for
// another name, lets it through to the tool that is meant.
func (r *Registry) call(ctx context.Context, next mcp.MethodHandler, method string, req *mcp.CallToolRequest) (mcp.Result, error) {
	st := r.current()
	name := req.Params.Name
	if d := st.byName[name]; d != nil {
		if r.hidden(ctx, st, req, d) {
			return nil, unknownTool(name)
		}
		return next(ctx, method, req)
	}
	if o := st.others[name]; o != nil {
		if r.hidden(ctx, st, req, o.def) {
			return nil, unknownTool(name)
		}
		return r.callOther(ctx, next, method, req, o)
	}
	if st.readOnly || r.opts.VisibleTo != nil {
		listed, err := everyTool(ctx, next, listFor(req))
		if err != nil {
			return nil, err
		}
		i := slices.IndexFunc(listed.tools, func(t *mcp.Tool) bool { return t.Name == name })
		if i >= 0 && r.hiddenForeign(ctx, st, req, listed.tools[i]) {
			return nil, unknownTool(name)
		}
	}
	return next(ctx, method, req)
}

// Middleware returns receiving middleware that does further outside what the
// registry's own does innermost: it answers calls of what this caller must not
// see, and of what does not exist, as the SDK answers the latter, and turns
// calls by other names into calls of the tool itself. It may be called many
// times, and the registry must be installed on the server as well.
//
// It is for servers without package discovery, which does the same: put it
// outside of whatever keys on a tool's name (limits, tasks). Without either,
// such a layer takes a former name for another tool, and a hidden tool for
// one that is there.
//
// It asks the rest of the chain for tools/list when a tool is called that is
// not the registry's. It calls next with tools/call at most once.
func (r *Registry) Middleware() mcp.Middleware {
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if call, ok := req.(*mcp.CallToolRequest); ok && call != nil && call.Params != nil {
				return r.callEarly(ctx, next, method, call)
			}
			return next(ctx, method, req)
		}
	}
}

func (r *Registry) callEarly(ctx context.Context, next mcp.MethodHandler, method string, req *mcp.CallToolRequest) (mcp.Result, error) {
	st := r.current()
	name := req.Params.Name
	if d := st.byName[name]; d != nil {
		if r.hidden(ctx, st, req, d) {
			return nil, unknownTool(name)
		}
		return next(ctx, method, req)
	}
	if st.others[name] != nil {
		return r.AnswerAlias(ctx, method, req, next)
	}
	listed, err := everyTool(ctx, next, listFor(req))
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(listed.tools, func(t *mcp.Tool) bool { return t.Name == name }) {
		return nil, unknownTool(name)
	}
	return next(ctx, method, req)
}

// listFor asks for the tools that the caller of req may see.
func listFor(req *mcp.CallToolRequest) *mcp.ListToolsRequest {
	meta := req.Params.Meta
	if _, ok := meta["progressToken"]; ok { // the call's, not the listing's
		meta = maps.Clone(meta)
		delete(meta, "progressToken")
	}
	return &mcp.ListToolsRequest{Session: req.Session, Extra: req.Extra, Params: &mcp.ListToolsParams{Meta: meta}}
}

func (r *Registry) hidden(ctx context.Context, st *state, req mcp.Request, d *definition) bool {
	if !st.offers(d) {
		return true
	}
	if d.visible != nil && !d.visible(ctx, req, d.advertised) {
		return true
	}
	return r.opts.VisibleTo != nil && !r.opts.VisibleTo(ctx, req, d.advertised)
}

func (r *Registry) hiddenForeign(ctx context.Context, st *state, req mcp.Request, t *mcp.Tool) bool {
	return st.readOnly && !isReadOnly(t) || r.opts.VisibleTo != nil && !r.opts.VisibleTo(ctx, req, t)
}

// unknownTool is the SDK's answer to a call of a tool that it does not have.
func unknownTool(name string) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf("unknown tool %q", name)}
}

// everything is what a server lists, all pages of it.
type everything struct {
	first    *mcp.ListToolsResult
	tools    []*mcp.Tool
	pageSize int
}

// maxPages bounds how often a listing asks for more.
const maxPages = 10_000

// everyTool asks next for every page.
func everyTool(ctx context.Context, next mcp.MethodHandler, req *mcp.ListToolsRequest) (*everything, error) {
	var all everything
	var params mcp.ListToolsParams
	if req.Params != nil {
		params = *req.Params
	}
	params.Cursor = ""
	for range maxPages {
		page := params
		res, err := next(ctx, wire.MethodListTools, &mcp.ListToolsRequest{Session: req.Session, Extra: req.Extra, Params: &page})
		if err != nil {
			return nil, err
		}
		list, ok := res.(*mcp.ListToolsResult)
		if !ok || list == nil {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: fmt.Sprintf("tools/list was answered with %T", res)}
		}
		if all.first == nil {
			all.first, all.tools = list, slices.Clip(list.Tools)
			all.pageSize = len(list.Tools)
		} else {
			all.tools = append(all.tools, list.Tools...)
		}
		if list.NextCursor == "" || list.NextCursor == params.Cursor {
			break
		}
		params.Cursor = list.NextCursor
	}
	if all.first.NextCursor == "" || all.pageSize == 0 {
		all.pageSize = max(len(all.tools), 1)
	}
	return &all, nil
}

// list answers tools/list. It calls next once for each page that the server
// has, because the server's pages are in another order.
func (in *installation) list(ctx context.Context, next mcp.MethodHandler, _ string, req *mcp.ListToolsRequest) (mcp.Result, error) {
	st := in.registry.current()
	if st.refusal != nil {
		return nil, st.refusal
	}
	var from position
	if req.Params != nil && req.Params.Cursor != "" {
		var ok bool
		if from, ok = parseCursor(req.Params.Cursor); !ok {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "the cursor is not one of this server's"}
		}
	}
	all, err := everyTool(ctx, next, req)
	if err != nil {
		return nil, err
	}
	entries := in.arrange(ctx, st, req, all.tools)
	start := from.resume(entries, in.registry.opts.SortByName)
	end := min(start+all.pageSize, len(entries))
	res := *all.first
	res.Tools = make([]*mcp.Tool, 0, end-start)
	for _, e := range entries[start:end] {
		res.Tools = append(res.Tools, e.tool)
	}
	res.NextCursor = ""
	if end < len(entries) {
		last := entries[end-1]
		res.NextCursor = position{seq: last.seq, index: end - 1, name: last.tool.Name}.cursor()
	}
	if st.perCaller || in.registry.opts.VisibleTo != nil {
		res.CacheScope = "private" // another caller must not be served this list
	}
	in.registry.served.Store(true)
	return &res, nil
}

// An entry is a tool in its place in the list.
type entry struct {
	tool *mcp.Tool
	seq  int // of its registration; -1 if it was added by other means
}

// arrange puts what the server lists into the registry's order and form, and
// leaves out what the caller may not see.
func (in *installation) arrange(ctx context.Context, st *state, req *mcp.ListToolsRequest, tools []*mcp.Tool) []entry {
	r := in.registry
	placed := make([]*mcp.Tool, len(st.order))
	var others []entry
	for _, t := range tools {
		d := st.byName[t.Name]
		switch {
		case t.Name == listChanged.Name:
			continue
		case d != nil && r.hidden(ctx, st, req, d), d == nil && r.hiddenForeign(ctx, st, req, t):
			continue
		case d != nil:
			placed[st.ranks[d]] = in.advertised(t, d)
		default:
			others = append(others, entry{in.advertised(t, nil), -1})
		}
	}
	// What is registered stands at the end, where one more shifts nothing.
	entries := slices.Grow(others, len(tools)-len(others))
	for i, t := range placed {
		if t != nil {
			entries = append(entries, entry{t, st.order[i].seq})
		}
	}
	if r.opts.SortByName {
		slices.SortStableFunc(entries, func(a, b entry) int { return cmp.Compare(a.tool.Name, b.tool.Name) })
	}
	return entries
}

// maxKnown bounds what an installation remembers.
const maxKnown = 10_000

// advertised returns the form in which clients see t. d is its definition, or
// nil for a tool that was added by other means.
func (in *installation) advertised(t *mcp.Tool, d *definition) *mcp.Tool {
	in.mu.Lock()
	defer in.mu.Unlock()
	if k, ok := in.known[t.Name]; ok && k.listed == t {
		return k.advertised
	}
	k := knownTool{t, t}
	switch {
	case d != nil && reflect.DeepEqual(d.source, t): // its schemas are the same pointers
		k.advertised = d.advertised
	case !in.registry.opts.Verbatim: // replaced, or changed by middleware further inside
		// What cannot be encoded stays as it is: a server that worked goes on working.
		if adv, _, err := advertise(t, false, false, false); err == nil {
			k.advertised = adv
		}
	}
	if in.known == nil || len(in.known) >= maxKnown {
		in.known = map[string]knownTool{}
	}
	in.known[t.Name] = k
	return k.advertised
}

// A position is where a page ended.
type position struct {
	seq   int    // of the last tool's registration, or -1
	index int    // of the last tool in the list at that time
	name  string // of the last tool; "" at the start
}

const maxCursor = 1024

func (p position) cursor() string {
	return base64.RawURLEncoding.EncodeToString([]byte("1:" + strconv.Itoa(p.seq) + ":" + strconv.Itoa(p.index) + ":" + p.name))
}

func parseCursor(cursor string) (position, bool) {
	if len(cursor) > maxCursor {
		return position{}, false
	}
	data, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil {
		return position{}, false
	}
	parts := strings.SplitN(string(data), ":", 4)
	if len(parts) != 4 || parts[0] != "1" || parts[3] == "" {
		return position{}, false
	}
	seq, err1 := strconv.Atoi(parts[1])
	index, err2 := strconv.Atoi(parts[2])
	if err1 != nil || err2 != nil || seq < -1 || index < 0 {
		return position{}, false
	}
	return position{seq, index, parts[3]}, true
}

// resume returns the index of the first tool after p. Tools that were added or
// removed since then neither repeat nor skip others: the next page begins
// after the tool that the last one ended with, or else where that would stand.
func (p position) resume(entries []entry, byName bool) int {
	if p.name == "" {
		return 0
	}
	if i := slices.IndexFunc(entries, func(e entry) bool { return e.tool.Name == p.name }); i >= 0 {
		return i + 1
	}
	var after func(e entry) bool
	switch {
	case byName:
		after = func(e entry) bool { return e.tool.Name > p.name }
	case p.seq >= 0:
		after = func(e entry) bool { return e.seq > p.seq }
	default:
		return min(p.index, len(entries))
	}
	if i := slices.IndexFunc(entries, after); i >= 0 {
		return i
	}
	return len(entries)
}
