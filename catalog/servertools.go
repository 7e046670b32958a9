package catalog

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/maphash"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/steadymcp/steady/errors"
	"github.com/steadymcp/steady/internal/wire"
)

// ToolsOptions configures [Tools]. The zero value is ready to use.
type ToolsOptions struct {
	// Advertise lists the tools that stay in tools/list beside those of the
	// catalog. Nil means all of them; a list that is empty, none. What is not
	// advertised can be found and called.
	Advertise []string
	// Except lists tools that are not to be found through the catalog.
	Except []string
}

// ServerTools is the [Source] and [Caller] of a server's own tools.
type ServerTools struct {
	advertise map[string]bool // nil for all
	except    map[string]bool
	seed      maphash.Seed

	mu        sync.Mutex
	next      mcp.MethodHandler
	own       map[string]bool // tools of the catalog
	snapshots map[string]*Snapshot
}

// Tools returns the tools of a server as a catalog, so that a server with two
// hundred tools can advertise a handful and keep the rest findable and
// callable. A search sees the tools that the caller would see, and a call runs
// through the middleware that is installed when Tools is called: call it last.
func Tools(server *mcp.Server, opts *ToolsOptions) *ServerTools {
	t := &ServerTools{seed: maphash.MakeSeed(), own: map[string]bool{}, except: map[string]bool{}, snapshots: map[string]*Snapshot{}}
	if opts != nil {
		if opts.Advertise != nil {
			t.advertise = map[string]bool{}
		}
		for _, name := range opts.Advertise {
			t.advertise[name] = true
		}
		for _, name := range opts.Except {
			t.except[name] = true
		}
	}
	server.AddReceivingMiddleware(t.middleware)
	return t
}

// middleware leaves out of tools/list what is not advertised.
func (t *ServerTools) middleware(next mcp.MethodHandler) mcp.MethodHandler {
	t.mu.Lock()
	t.next = next
	t.mu.Unlock()
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		res, err := next(ctx, method, req)
		list, ok := res.(*mcp.ListToolsResult)
		if err != nil || !ok || list == nil || t.advertise == nil {
			return res, err
		}
		shown := *list
		shown.Tools = []*mcp.Tool{}
		for _, tool := range list.Tools {
			if t.advertise[tool.Name] || t.owns(tool.Name) {
				shown.Tools = append(shown.Tools, tool)
			}
		}
		return &shown, nil
	}
}

func (t *ServerTools) owns(name string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.own[name]
}

// setOwn tells which tools are the catalog's, and no entries.
func (t *ServerTools) setOwn(names []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, name := range names {
		t.own[name] = true
	}
}

// Live implements [LiveSource].
func (t *ServerTools) Live() {}

const (
	maxPages     = 200
	maxSnapshots = 16
)

// listTools returns all tools that the caller of a request would see.
func listTools(ctx context.Context, next mcp.MethodHandler, req *mcp.CallToolRequest) ([]*mcp.Tool, error) {
	var tools []*mcp.Tool
	r := &mcp.ListToolsRequest{Params: &mcp.ListToolsParams{}}
	if req != nil {
		r.Session, r.Extra = req.Session, req.Extra
		if req.Params != nil {
			r.Params.Meta = req.Params.Meta // a stateless request says in it who the client is
		}
	}
	for range maxPages {
		res, err := next(ctx, wire.MethodListTools, r)
		if err != nil {
			return nil, err
		}
		list, ok := res.(*mcp.ListToolsResult)
		if !ok || list == nil {
			return nil, errors.New("catalog: the server does not list its tools")
		}
		tools = append(tools, list.Tools...)
		if list.NextCursor == "" || len(tools) > maxEntries {
			break
		}
		again := *r
		again.Params = &mcp.ListToolsParams{Meta: r.Params.Meta, Cursor: list.NextCursor}
		r = &again
	}
	return tools, nil
}

// Load implements [Source].
func (t *ServerTools) Load(ctx context.Context, _ string) (*Snapshot, error) {
	req := RequestOf(ctx)
	if req == nil || req.Session == nil {
		return nil, errors.New("catalog: the tools of a server are listed for a request only")
	}
	tools, err := listTools(ctx, t.next, req)
	if err != nil {
		return nil, err
	}
	kept := tools[:0:0]
	for _, tool := range tools {
		if tool != nil && !t.except[tool.Name] && !t.owns(tool.Name) {
			kept = append(kept, tool)
		}
	}
	version := t.version(kept)
	t.mu.Lock()
	defer t.mu.Unlock()
	if s, ok := t.snapshots[version]; ok {
		return s, nil
	}
	s := &Snapshot{Version: version}
	for _, tool := range kept {
		s.Entries = append(s.Entries, toolEntry(tool))
	}
	if len(t.snapshots) >= maxSnapshots {
		clear(t.snapshots)
	}
	t.snapshots[version] = s
	return s, nil
}

// version tells sets of tools apart without writing their schemas: a schema is
// the same while it is the same value.
func (t *ServerTools) version(tools []*mcp.Tool) string {
	var h maphash.Hash
	h.SetSeed(t.seed)
	for _, tool := range tools {
		for _, s := range []string{tool.Name, tool.Title, tool.Description} {
			h.WriteString(s)
			h.WriteByte(0)
		}
		if a := tool.Annotations; a != nil {
			fmt.Fprint(&h, a.ReadOnlyHint, a.IdempotentHint, a.DestructiveHint != nil && *a.DestructiveHint, a.Title)
		}
		switch s := tool.InputSchema.(type) {
		case json.RawMessage:
			h.Write(s)
		case map[string]any:
			fmt.Fprintf(&h, "%d %p", len(s), s)
		default:
			fmt.Fprintf(&h, "%p", s)
		}
	}
	return fmt.Sprintf("%016x", h.Sum64())
}

// toolEntry describes a tool as an entry. A schema that the catalog cannot
// check is left to the tool.
func toolEntry(tool *mcp.Tool) Entry {
	e := Entry{ID: tool.Name, Title: tool.Title}
	e.Summary, e.Description = firstSentence(clip(strings.TrimSpace(tool.Description), maxTextBytes))
	no := false
	e.ReadOnly = &no
	if a := tool.Annotations; a != nil {
		if e.Title == "" {
			e.Title = a.Title
		}
		e.ReadOnly, e.Destructive, e.Idempotent = &a.ReadOnlyHint, a.DestructiveHint, &a.IdempotentHint
		if a.ReadOnlyHint {
			e.Destructive, e.Idempotent = &no, nil
		}
	}
	e.Parameters, _ = json.Marshal(tool.InputSchema)
	if _, err := compile(&e); err != nil {
		e.Parameters = json.RawMessage(`{"type":"object"}`)
	}
	return e
}

func firstSentence(text string) (first, rest string) {
	end := len(text)
	for _, stop := range []string{". ", ".\n", "\n"} {
		if i := strings.Index(text, stop); i > 0 && i+1 < end {
			end = i + 1
		}
	}
	return strings.TrimSpace(text[:end]), strings.TrimSpace(text[end:])
}

// Call implements [Caller]: it calls the tool as if the client had.
func (t *ServerTools) Call(ctx context.Context, req *mcp.CallToolRequest, e *Entry, arguments map[string]any) (*Answer, error) {
	raw, err := json.Marshal(arguments)
	if err != nil {
		return nil, errors.Invalid("the arguments of %s cannot be written", e.ID).Cause(err)
	}
	call := *req
	params := mcp.CallToolParamsRaw{}
	if req.Params != nil {
		params = *req.Params
	}
	params.Name, params.Arguments = e.ID, raw
	call.Params = &params
	res, err := t.next(ctx, wire.MethodCallTool, &call)
	if err != nil {
		return nil, err
	}
	r, ok := res.(*mcp.CallToolResult)
	if !ok || r == nil {
		return nil, errors.Unavailable("%s does not answer at once", e.ID).Next("call the tool %s itself, which a client may run as a task", e.ID).DoNotRetry()
	}
	if r.IsError || len(r.InputRequests) > 0 {
		return &Answer{Result: r}, nil
	}
	return toolAnswer(r)
}

// toolAnswer takes the data from a tool's result: what is structured, else a
// text that is JSON, else the text. The rest comes along: other blocks, texts
// that say more than what is structured, and _meta.
func toolAnswer(r *mcp.CallToolResult) (*Answer, error) {
	a := &Answer{Meta: r.Meta}
	var texts []string
	for _, block := range r.Content {
		if text, ok := block.(*mcp.TextContent); ok {
			texts = append(texts, text.Text)
		} else {
			a.Content = append(a.Content, block)
		}
	}
	text := strings.Join(texts, "\n")
	var err error
	switch {
	case r.StructuredContent != nil:
		if a.Data, err = json.Marshal(r.StructuredContent); err != nil {
			return nil, err
		}
		a.Content = slices.DeleteFunc(slices.Clone(r.Content), func(block mcp.Content) bool {
			t, ok := block.(*mcp.TextContent)
			return ok && sameJSON([]byte(t.Text), a.Data)
		})
	case len(texts) == 1 && json.Valid([]byte(text)) && depth([]byte(text)) <= maxDepth:
		a.Data = json.RawMessage(strings.TrimSpace(text))
	case len(texts) > 0:
		a.Data, err = json.Marshal(text)
	}
	return a, err
}

// sameJSON reports whether a text is data, written perhaps in another way.
func sameJSON(text, data []byte) bool {
	if len(text) == 0 || depth(text) > maxDepth {
		return len(text) == 0
	}
	var a, b any
	return json.Unmarshal(text, &a) == nil && json.Unmarshal(data, &b) == nil && reflect.DeepEqual(a, b)
}
