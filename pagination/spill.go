package pagination

import (
	"crypto/rand"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/steadymcp/steady/internal/wire"
)

// SpillOptions configures what a [Budget] keeps of the results of calls that it
// has cut: their structured content and text, not images and not resources. The
// zero value is ready to use.
type SpillOptions struct {
	// Bytes is how much is kept in memory at most, of all callers together. If
	// zero or less, 64 MiB. One caller has at most a quarter of it; the oldest
	// results make room for new ones.
	Bytes int
	// PerResult is the largest result that is kept. If zero or less, 16 MiB; it
	// is at most a quarter of Bytes.
	PerResult int
	// TTL is how long a result is kept. If zero or less, 15 minutes.
	TTL time.Duration
	// Tool is the name of the tool that reads kept results. If empty,
	// "read_result".
	Tool string
	// Principal, if non-nil, names the caller that a kept result belongs to. If
	// nil, it is the user of the request's token, else the session; on standard
	// input and output, and over HTTP with neither, every caller is the same.
	Principal func(mcp.Request) string
}

// spillStore keeps results for a while. What is too old goes when something
// else comes or is asked for; the bounds hold at all times.
type spillStore struct {
	opts SpillOptions

	mu      sync.Mutex
	kept    map[string]*spilled
	oldest  *spilled // a list in order of age, by next
	newest  *spilled
	bytes   int
	byOwner map[string]int // bytes
}

// spilled is one kept result.
type spilled struct {
	handle  string
	owner   string
	expires time.Time
	size    int
	next    *spilled

	parts []string
	// part and path are where reading begins if the caller does not say.
	part int
	path string
}

// keptOverhead is what a kept result counts beyond its bytes.
const keptOverhead = 512

func newSpillStore(o SpillOptions) *spillStore {
	if o.Bytes <= 0 {
		o.Bytes = 64 << 20
	}
	if o.PerResult <= 0 {
		o.PerResult = 16 << 20
	}
	o.PerResult = min(o.PerResult, o.Bytes/4)
	if o.TTL <= 0 {
		o.TTL = 15 * time.Minute
	}
	if o.Tool == "" {
		o.Tool = "read_result"
	}
	if o.Principal == nil {
		o.Principal = wire.Principal
	}
	return &spillStore{opts: o, kept: map[string]*spilled{}, byOwner: map[string]int{}}
}

// put keeps e, with copies of its parts, and gives it a handle. It returns
// false if e is too large.
func (s *spillStore) put(e *spilled) bool {
	e.size = keptOverhead
	for _, p := range e.parts {
		e.size += len(p)
	}
	if e.size-keptOverhead > s.opts.PerResult || e.size > s.opts.Bytes/4 {
		return false
	}
	for i, p := range e.parts {
		// The bytes may be the handler's, or a small piece of a large text.
		e.parts[i] = strings.Clone(p)
	}
	e.handle = rand.Text()
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	e.expires = now.Add(s.opts.TTL)
	s.expire(now)
	for s.byOwner[e.owner]+e.size > s.opts.Bytes/4 {
		s.removeOldest(e.owner)
	}
	for s.bytes+e.size > s.opts.Bytes {
		s.remove(nil, s.oldest)
	}
	s.kept[e.handle] = e
	s.bytes += e.size
	s.byOwner[e.owner] += e.size
	if s.newest == nil {
		s.oldest = e
	} else {
		s.newest.next = e
	}
	s.newest = e
	return true
}

// get returns what owner kept under handle, or nil: what belongs to somebody
// else is not there.
func (s *spillStore) get(handle, owner string) *spilled {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expire(time.Now())
	e := s.kept[handle]
	if e == nil || e.owner != owner {
		return nil
	}
	return e
}

func (s *spillStore) expire(now time.Time) {
	for s.oldest != nil && !now.Before(s.oldest.expires) {
		s.remove(nil, s.oldest)
	}
}

func (s *spillStore) removeOldest(owner string) {
	var before *spilled
	for e := s.oldest; e != nil; before, e = e, e.next {
		if e.owner == owner {
			s.remove(before, e)
			return
		}
	}
}

// remove takes e, which stands behind before, out of the store.
func (s *spillStore) remove(before, e *spilled) {
	if before == nil {
		s.oldest = e.next
	} else {
		before.next = e.next
	}
	if s.newest == e {
		s.newest = before
	}
	delete(s.kept, e.handle)
	s.bytes -= e.size
	if s.byOwner[e.owner] -= e.size; s.byOwner[e.owner] == 0 {
		delete(s.byOwner, e.owner)
	}
}

// keep stores the whole result, once, if there is a tool to read it with, and
// notes where reading on begins.
func (d *draft) keep() {
	if d.spill == nil || d.lookUp(d.spill.opts.Tool) == nil {
		return
	}
	m := mainCut(d.cuts)
	part, path := 0, ""
	if m.unit == unitItems || m.unit == unitText && len(m.path) > 0 {
		path = m.pointer()
	}
	var parts []string
	mirror := -1
	if d.raw != "" {
		mirror = mirrorOf(d.res.Content, d.raw)
		parts = append(parts, d.raw)
	}
	for i, b := range d.res.Content {
		t, ok := b.(*mcp.TextContent)
		if !ok || i == mirror {
			continue
		}
		if m.block == i && m.total > 0 {
			part = len(parts)
		}
		parts = append(parts, t.Text)
	}
	if len(parts) == 0 {
		return
	}
	if d.kept == nil {
		d.kept = &spilled{owner: d.spill.opts.Principal(d.req), parts: parts}
		if !d.spill.put(d.kept) {
			d.kept = nil
			return
		}
	}
	// Nobody knows the handle yet.
	d.kept.part, d.kept.path = part, path
}

// readCall says how to read on, with the arguments for it.
func (d *draft) readCall(m cut) string {
	offset := m.shown
	if m.unit != unitItems && m.unit != unitText {
		offset = 0
	}
	return "For the rest, call " + d.spill.opts.Tool + " with " + nextWindow{Handle: d.kept.handle, Offset: offset}.String()
}

// linkRevision is the first protocol revision that has resource links.
const linkRevision = "2025-06-18"

// link returns a link to the whole result, or nil for clients that do not know
// such a thing.
func (d *draft) link() mcp.Content {
	if wire.Revision(d.req) < linkRevision {
		return nil
	}
	return &mcp.ResourceLink{URI: resourceScheme + d.kept.handle, Name: d.kept.handle, Title: "The whole result", MIMEType: "application/json"}
}
