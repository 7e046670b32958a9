package otelobserve

import (
	"context"
	"maps"
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

// look makes sure that name is known if the server has it. list asks for a page
// of the list, learns what is on it, and returns the cursor of the next.
func (n *names) look(name string, list func(cursor string) (next string)) {
	if n.has(name) || len(name) > maxName || !n.due() {
		return
	}
	cursor := ""
	for range maxPages {
		next := list(cursor)
		if next == "" || next == cursor || n.has(name) {
			return
		}
		cursor = next
	}
}

// knownTool returns the name of the tool that req calls, or other. It may ask
// the rest of the chain for the list of tools.
func (t *Telemetry) knownTool(ctx context.Context, next mcp.MethodHandler, req *mcp.CallToolRequest) string {
	t.tools.look(req.Params.Name, func(cursor string) string {
		res, _ := next(ctx, "tools/list", &mcp.ListToolsRequest{
			Session: req.Session, Extra: req.Extra, Params: &mcp.ListToolsParams{Meta: listMeta(req.Params.Meta), Cursor: cursor},
		})
		t.learn(res)
		if page, ok := res.(*mcp.ListToolsResult); ok && page != nil {
			return page.NextCursor
		}
		return ""
	})
	return t.tools.bounded(req.Params.Name)
}

// knownPrompt is knownTool for prompts.
func (t *Telemetry) knownPrompt(ctx context.Context, next mcp.MethodHandler, req *mcp.GetPromptRequest) string {
	t.prompts.look(req.Params.Name, func(cursor string) string {
		res, _ := next(ctx, "prompts/list", &mcp.ListPromptsRequest{
			Session: req.Session, Extra: req.Extra, Params: &mcp.ListPromptsParams{Meta: listMeta(req.Params.Meta), Cursor: cursor},
		})
		t.learn(res)
		if page, ok := res.(*mcp.ListPromptsResult); ok && page != nil {
			return page.NextCursor
		}
		return ""
	})
	return t.prompts.bounded(req.Params.Name)
}

// listMeta is a request's _meta for a listing in its name: under which revision
// it asks, and nothing that is to happen once.
func listMeta(m mcp.Meta) mcp.Meta {
	c := maps.Clone(m)
	delete(c, "progressToken")
	return c
}
