package stdioguard

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/steadymcp/steady/internal/wire"
)

const (
	// maxNamed bounds the requests that an event names.
	maxNamed = 5
	// maxNameBytes bounds each text that comes from the client.
	maxNameBytes = 128
)

// namesLocked returns the requests that have waited longest, those that the
// client has cancelled last.
func (c *conn) namesLocked() []Request {
	waiting := slices.Collect(maps.Keys(c.replying))
	waiting = slices.AppendSeq(waiting, maps.Values(c.calls))
	slices.SortFunc(waiting, func(a, b *call) int {
		if a.forgotten() != b.forgotten() {
			if b.forgotten() {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.number, b.number)
	})
	var named []Request
	for _, call := range waiting[:min(len(waiting), maxNamed)] {
		r := call.request
		named = append(named, Request{
			ID:     cut(string(appendID(nil, r.ID))),
			Method: cut(r.Method),
			Name:   cut(nameIn(r.Method, r.Params)),
		})
	}
	return named
}

// nameIn returns the name of the tool or prompt that a request is about.
func nameIn(method string, params json.RawMessage) string {
	if method != wire.MethodCallTool && method != wire.MethodGetPrompt {
		return ""
	}
	var p struct {
		Name string `json:"name"`
	}
	_ = json.Unmarshal(params, &p) // then it has none
	return p.Name
}

func cut(s string) string {
	return strings.ToValidUTF8(s[:min(len(s), maxNameBytes)], "")
}
