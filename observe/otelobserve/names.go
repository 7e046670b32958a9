package otelobserve

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	maxNames     = 2000
	maxName      = 256 // bytes
	maxPages     = 64
	listInterval = 10 * time.Second
)

// names are the tools or the prompts that the server is known to have. A name
// stays when its tool is removed.
type names struct {
	mu     sync.RWMutex
	known  map[string]struct{}
	listed atomic.Int64 // when the server was asked last, in Unix nanoseconds
}

func (n *names) has(name string) bool {
	n.mu.RLock()
	defer n.mu.RUnlock()
	_, ok := n.known[name]
	return ok
}

func (n *names) add(name string) {
	if name == "" || len(name) > maxName || n.has(name) {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.known) >= maxNames {
		return
	}
	if n.known == nil {
		n.known = map[string]struct{}{}
	}
	n.known[name] = struct{}{}
}

// bounded returns name if the server has it.
func (n *names) bounded(name string) string {
	if n.has(name) {
		return name
	}
	return other
}

// due reports whether the server may be asked for its list, and notes that it
// was. Whoever sends names that do not exist must not cause a listing each.
func (n *names) due() bool {
	last, now := n.listed.Load(), time.Now().UnixNano()
	return (last == 0 || now-last >= int64(listInterval)) && n.listed.CompareAndSwap(last, now)
}

// learn notes the names in a list that the server gave out.
func (t *Telemetry) learn(res mcp.Result) {
	switch res := res.(type) {
	case *mcp.ListToolsResult:
		if res != nil {
			for _, tool := range res.Tools {
				if tool != nil {
					t.tools.add(tool.Name)
				}
			}
		}
	case *mcp.ListPromptsResult:
		if res != nil {
			for _, prompt := range res.Prompts {
				if prompt != nil {
					t.prompts.add(prompt.Name)
				}
			}
		}
	}
}

// knownTool returns the name of the tool that req calls, or other. It may ask
// the rest of the chain for the list of tools.
func (t *Telemetry) knownTool(ctx context.Context, next mcp.MethodHandler, req *mcp.CallToolRequest) string {
	name := req.Params.Name
	if t.tools.has(name) {
		return name
	}
	if len(name) <= maxName && t.tools.due() {
		list := &mcp.ListToolsRequest{Session: req.Session, Extra: req.Extra}
		meta, cursor := listMeta(req.Params.Meta), ""
		for range maxPages {
			list.Params = &mcp.ListToolsParams{Meta: meta, Cursor: cursor}
			res, err := next(ctx, "tools/list", list)
			page, ok := res.(*mcp.ListToolsResult)
			if err != nil || !ok || page == nil {
				break
			}
			t.learn(page)
			if page.NextCursor == "" || page.NextCursor == cursor || t.tools.has(name) {
				break
			}
			cursor = page.NextCursor
		}
	}
	return t.tools.bounded(name)
}

// knownPrompt is knownTool for prompts.
func (t *Telemetry) knownPrompt(ctx context.Context, next mcp.MethodHandler, req *mcp.GetPromptRequest) string {
	name := req.Params.Name
	if t.prompts.has(name) {
		return name
	}
	if len(name) <= maxName && t.prompts.due() {
		list := &mcp.ListPromptsRequest{Session: req.Session, Extra: req.Extra}
		meta, cursor := listMeta(req.Params.Meta), ""
		for range maxPages {
			list.Params = &mcp.ListPromptsParams{Meta: meta, Cursor: cursor}
			res, err := next(ctx, "prompts/list", list)
			page, ok := res.(*mcp.ListPromptsResult)
			if err != nil || !ok || page == nil {
				break
			}
			t.learn(page)
			if page.NextCursor == "" || page.NextCursor == cursor || t.prompts.has(name) {
				break
			}
			cursor = page.NextCursor
		}
	}
	return t.prompts.bounded(name)
}

// listMeta is a request's _meta for a listing in its name: under which revision
// it asks, and nothing that is to happen once.
func listMeta(m mcp.Meta) mcp.Meta {
	if m == nil {
		return nil
	}
	c := mcp.Meta{}
	for key, value := range m {
		if key != "progressToken" {
			c[key] = value
		}
	}
	return c
}
