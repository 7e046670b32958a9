// Package perserver keeps something for each server that lives. The SDK has no
// place on a server for what is installed on it.
package perserver

import (
	"runtime"
	"sync"
	"weak"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A Map holds at most one value for each server, and keeps no server alive: an
// entry goes with its server. A value must not lead to its server, or both stay;
// one that does belongs in as a [weak.Pointer]. The zero Map is empty and ready
// to use, by many goroutines at once.
type Map[T any] struct {
	mu     sync.Mutex
	values map[weak.Pointer[mcp.Server]]T
}

// Claim puts value in for server and reports true, unless there is one already.
func (m *Map[T]) Claim(server *mcp.Server, value T) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	key := weak.Make(server)
	if _, ok := m.values[key]; ok {
		return false
	}
	if m.values == nil {
		m.values = map[weak.Pointer[mcp.Server]]T{}
	}
	m.values[key] = value
	runtime.AddCleanup(server, m.delete, key)
	return true
}

// Get returns the value for server, or the zero value.
func (m *Map[T]) Get(server *mcp.Server) T {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.values[weak.Make(server)]
}

// Release takes the value for server out.
func (m *Map[T]) Release(server *mcp.Server) { m.delete(weak.Make(server)) }

func (m *Map[T]) delete(key weak.Pointer[mcp.Server]) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.values, key)
}
