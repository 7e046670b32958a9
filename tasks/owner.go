package tasks

import (
	"crypto/rand"
	"runtime"
	"sync"
	"weak"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// anonymous owns the tasks of callers that are not told apart, when
// [Options.Anonymous] allows them. No other owner has its name: see ownerOf.
const anonymous = "anonymous"

// ownerOf returns the principal of a request, or "" if there is none: the
// subject of its verified token, else its session. The prefixes keep the three
// kinds of names apart.
//
// A connection that has no session id, such as stdio or in memory, is a session
// by itself. A stateless HTTP request has neither: its session ends with it.
func (m *Manager) ownerOf(req mcp.Request) string {
	if m.opts.Owner != nil {
		if o := m.opts.Owner(req); o != "" {
			return "own:" + o
		}
	}
	extra := req.GetExtra()
	if extra != nil && extra.TokenInfo != nil && extra.TokenInfo.UserID != "" {
		return "sub:" + extra.TokenInfo.UserID
	}
	if m.opts.Anonymous {
		return anonymous
	}
	ss, _ := req.GetSession().(*mcp.ServerSession)
	if ss == nil { // a request made by hand has a typed nil
		return ""
	}
	if id := ss.ID(); id != "" {
		return "ses:" + id
	}
	if extra != nil && extra.Header != nil {
		return ""
	}
	return "con:" + connections.name(ss)
}

// connections names sessions that have no id. A name goes when its session
// does, and is random, since a store may outlive the process.
var connections sessionNames

type sessionNames struct {
	names sync.Map // weak.Pointer[mcp.ServerSession] -> string
}

func (n *sessionNames) name(ss *mcp.ServerSession) string {
	key := weak.Make(ss)
	if name, ok := n.names.Load(key); ok {
		return name.(string)
	}
	name, known := n.names.LoadOrStore(key, rand.Text())
	if !known {
		runtime.AddCleanup(ss, func(key weak.Pointer[mcp.ServerSession]) { n.names.Delete(key) }, key)
	}
	return name.(string)
}
