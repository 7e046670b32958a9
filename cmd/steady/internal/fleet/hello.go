package fleet

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/steadymcp/steady/cmd/steady/internal/jsonl"
	"github.com/steadymcp/steady/cmd/steady/internal/rpc"
)

// A hello is what a child has said about itself.
type hello struct {
	result       []byte
	revision     string   // of initialize
	supported    []string // of server/discover
	capabilities []byte
}

func newHello(result []byte) *hello {
	h := &hello{result: result, capabilities: jsonl.Member(result, "capabilities")}
	if v := jsonl.Member(result, "protocolVersion"); v != nil {
		h.revision, _ = jsonl.Text(v)
	}
	_ = json.Unmarshal(jsonl.Member(result, "supportedVersions"), &h.supported)
	return h
}

// has reports whether the child has a capability.
func (h *hello) has(capability string) bool {
	return h != nil && jsonl.Member(h.capabilities, capability) != nil
}

// knows reports whether one of the child's capabilities, of whatever sort, is
// that of a method.
func (h *hello) knows(method string) bool {
	if h == nil {
		return false
	}
	area, _, _ := strings.Cut(method, "/")
	if h.has(area) {
		return true
	}
	found := false
	for _, sort := range []string{"extensions", "experimental"} {
		jsonl.Members(jsonl.Member(h.capabilities, sort), func(key, _ []byte) {
			name := string(key)
			found = found || name == area || name == method || strings.HasSuffix(name, "/"+area)
		})
	}
	return found
}

// offers reports whether a child may have items of the kind.
func (h *hello) offers(k *kind) bool {
	if k == taskList { // which only some that have tasks can list
		return h != nil && jsonl.Member(jsonl.Member(h.capabilities, "tasks"), "list") != nil
	}
	return h.has(k.capability)
}

// revisions returns the lowest revision of the children, and whether all have
// the same.
func revisions(there []*child) (lowest string, same bool) {
	same = true
	for i, c := range there {
		h := c.greeting()
		if h == nil {
			continue
		}
		same = same && (i == 0 || h.revision == lowest)
		if i == 0 || h.revision < lowest {
			lowest = h.revision
		}
	}
	return lowest, same
}

// supported returns the revisions that all children have, if one of them needs
// no handshake.
func supported(there []*child) (common []string) {
	for i, c := range there {
		h := c.greeting()
		if h == nil {
			continue
		}
		if i == 0 {
			common = slices.Clone(h.supported)
		}
		common = slices.DeleteFunc(common, func(v string) bool { return !slices.Contains(h.supported, v) })
	}
	if !slices.ContainsFunc(common, func(v string) bool { return v >= rpc.Stateless }) {
		return nil
	}
	return common
}
