package discovery

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/steadymcp/steady/internal/wire"
)

// Bounds on what is kept and asked for.
const (
	maxTools    = 20_000
	maxPages    = 256
	maxCatalogs = 8  // lists of tools that indexes are kept for
	maxServers  = 16 // server names that are learned
)

// visibleTools asks the rest of the chain for the tools that the caller of req
// may see, page by page. It stops after the page that holds the tool named
// exact.
func visibleTools(ctx context.Context, next mcp.MethodHandler, req *mcp.CallToolRequest, exact string) (tools []*mcp.Tool, found *mcp.Tool, err error) {
	list := &mcp.ListToolsRequest{Session: req.Session, Extra: req.Extra}
	meta := listMeta(req.Params.Meta)
	cursor := ""
	for range maxPages {
		list.Params = &mcp.ListToolsParams{Meta: meta, Cursor: cursor}
		res, err := next(ctx, wire.MethodListTools, list)
		if err != nil {
			return nil, nil, err
		}
		page, ok := res.(*mcp.ListToolsResult)
		if !ok || page == nil {
			return tools, nil, nil
		}
		for _, t := range page.Tools {
			if t != nil && t.Name == exact {
				return nil, t, nil
			}
		}
		if tools == nil && page.NextCursor == "" {
			return page.Tools, nil, nil
		}
		tools = append(tools, page.Tools...)
		if page.NextCursor == "" || page.NextCursor == cursor || len(tools) >= maxTools {
			break
		}
		cursor = page.NextCursor
	}
	return tools, nil, nil
}

// listMeta is a call's _meta for a request that the call depends on: who asks
// and under which revision, but not whom to tell of progress.
func listMeta(m mcp.Meta) mcp.Meta {
	if _, ok := m["progressToken"]; !ok {
		return m
	}
	c := maps.Clone(m)
	delete(c, "progressToken")
	return c
}

// A cachedIndex is the index of one list of tools under one set of server names.
type cachedIndex struct {
	tools   []*mcp.Tool
	servers int // how many server names were known
	build   func() *index
}

// catalogs keeps the indexes of the lists that were seen last.
type catalogs struct {
	mu      sync.Mutex
	recent  []*cachedIndex // newest first
	servers []string
}

// index returns the index of tools, built once.
func (r *Resolver) index(tools []*mcp.Tool) *index {
	c := &r.catalogs
	c.mu.Lock()
	var hit *cachedIndex
	for i, k := range c.recent {
		if k.servers == len(c.servers) && sameTools(k.tools, tools) {
			hit = k
			copy(c.recent[1:i+1], c.recent[:i])
			c.recent[0] = hit
			break
		}
	}
	if hit == nil {
		o := *r.settings
		o.servers = append(slices.Clip(o.servers), c.servers...)
		// The caller's slice may be changed once the call is over.
		kept := slices.Clone(tools)
		hit = &cachedIndex{tools: kept, servers: len(c.servers), build: sync.OnceValue(func() *index { return buildIndex(kept, &o) })}
		c.recent = append([]*cachedIndex{hit}, c.recent[:min(len(c.recent), maxCatalogs-1)]...)
	}
	c.mu.Unlock()
	return hit.build()
}

// sameTools reports whether two lists lead to the same index. Servers that are
// built per request list equal tools at other addresses.
func sameTools(a, b []*mcp.Tool) bool {
	return slices.EqualFunc(a, b, func(x, y *mcp.Tool) bool {
		if x == y {
			return true
		}
		if x == nil || y == nil || x.Name != y.Name || x.Description != y.Description || x.Title != y.Title {
			return false
		}
		xr, xd := effects(x)
		yr, yd := effects(y)
		return xr == yr && xd == yd
	})
}

// learn notes a name that a server announces itself under. From revision
// 2026-07-28 on there is no handshake to learn it from; Options.Servers says it.
func (r *Resolver) learn(res mcp.Result) {
	init, ok := res.(*mcp.InitializeResult)
	if !ok || init == nil {
		return
	}
	info := init.ServerInfo
	if info == nil || strings.TrimSpace(info.Name) == "" || len(info.Name) > maxName {
		return
	}
	c := &r.catalogs
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.servers) < maxServers && !slices.Contains(c.servers, info.Name) && !slices.Contains(r.settings.servers, info.Name) {
		c.servers = append(c.servers, info.Name)
	}
}

// schemas keeps each tool's resolved input schema for as long as the tool has
// that schema.
type schemas struct {
	mu     sync.RWMutex
	byTool map[string]schemaEntry
}

type schemaEntry struct {
	source   any // keeps the schema alive, so that its address is not used again
	raw      []byte
	compiled *compiled // nil if it cannot be resolved
}

// schema returns the resolved input schema of a tool, or nil.
func (r *Resolver) schema(t *mcp.Tool) *compiled {
	s := &r.schemas
	s.mu.RLock()
	e, ok := s.byTool[t.Name]
	s.mu.RUnlock()
	if ok && sameSource(e.source, t.InputSchema) {
		return e.compiled
	}
	raw, err := json.Marshal(t.InputSchema)
	if err != nil {
		return nil
	}
	if !ok || !bytes.Equal(raw, e.raw) {
		e.raw = raw
		e.compiled, _ = compile(t.InputSchema)
	}
	e.source = t.InputSchema
	s.mu.Lock()
	if s.byTool == nil || len(s.byTool) >= maxTools {
		s.byTool = map[string]schemaEntry{}
	}
	s.byTool[t.Name] = e
	s.mu.Unlock()
	return e.compiled
}

// sameSource reports whether two schemas are one and the same value.
func sameSource(a, b any) bool {
	x, y := reflect.ValueOf(a), reflect.ValueOf(b)
	if !x.IsValid() || !y.IsValid() || x.Type() != y.Type() {
		return false
	}
	switch x.Kind() {
	case reflect.Pointer, reflect.Map:
		return x.Pointer() == y.Pointer()
	case reflect.Slice:
		return x.Pointer() == y.Pointer() && x.Len() == y.Len()
	}
	return false
}
