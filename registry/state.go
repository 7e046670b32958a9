package registry

import (
	"cmp"
	"maps"
	"slices"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// state is a view of the registry that does not change.
type state struct {
	order    []*definition // as listed
	byName   map[string]*definition
	ranks    map[*definition]int // in order
	others   map[string]*otherName
	readOnly bool
	disabled map[string]bool
	refusal  error // what tools/list answers instead of a list
	// perCaller says that a tool has a visibility of its own.
	perCaller bool
	print     func() string // the fingerprint
}

func (r *Registry) current() *state {
	if st := r.state.Load(); st != nil {
		return st
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if st := r.state.Load(); st != nil {
		return st
	}
	st := &state{
		order:    slices.Clone(r.defs),
		byName:   make(map[string]*definition, len(r.defs)),
		ranks:    make(map[*definition]int, len(r.defs)),
		others:   map[string]*otherName{},
		readOnly: r.readOnly,
		disabled: maps.Clone(r.disabled),
	}
	if r.opts.SortByName {
		slices.SortFunc(st.order, func(a, b *definition) int { return cmp.Compare(a.name, b.name) })
	}
	var advertised []*mcp.Tool
	for i, d := range st.order {
		st.byName[d.name] = d
		st.ranks[d] = i
		st.perCaller = st.perCaller || d.visible != nil
		for _, o := range d.others {
			st.others[o.name] = o
		}
		if st.offers(d) {
			advertised = append(advertised, d.advertised)
		}
	}
	if len(r.mistakes) > 0 && !r.served.Load() {
		st.refusal = mistakesError(r.mistakes)
	}
	st.print = sync.OnceValue(func() string { return fingerprint(advertised) })
	r.state.Store(st)
	return st
}

// offers reports whether d is offered to anybody.
func (st *state) offers(d *definition) bool {
	return (!st.readOnly || d.readOnly) && !st.disabled[d.group]
}

// Fingerprint returns the SHA-256, in hexadecimal, of the canonical JSON of the
// tools that are advertised now, in their order. Tools of disabled groups and
// those that read-only mode removes are left out; visibility to a caller does
// not count, nor do tools that were added to a server by other means (for those
// see [Listing.Fingerprint]).
//
// Canonical means: members sorted by name, no white space, no needless escapes.
// Numbers keep their digits, where RFC 8785 would round those above 2^53.
func (r *Registry) Fingerprint() string { return r.current().print() }
