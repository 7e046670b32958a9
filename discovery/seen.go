package discovery

import (
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// seen are the tools of one server that it has listed within the last every.
// Nothing is kept if that is zero.
type seen struct {
	every time.Duration

	mu    sync.RWMutex
	tools map[string]seenTool
}

type seenTool struct {
	tool  *mcp.Tool
	until time.Time
}

// get returns the tool of that name, or nil.
func (s *seen) get(name string) *mcp.Tool {
	if s.every <= 0 {
		return nil
	}
	s.mu.RLock()
	t := s.tools[name]
	s.mu.RUnlock()
	if t.tool == nil || time.Now().After(t.until) {
		return nil
	}
	return t.tool
}

// put notes that the server has just listed t.
func (s *seen) put(t *mcp.Tool) {
	if s.every <= 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tools == nil || len(s.tools) >= maxTools {
		s.tools = map[string]seenTool{}
	}
	s.tools[t.Name] = seenTool{t, time.Now().Add(s.every)}
}
