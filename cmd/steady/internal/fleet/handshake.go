package fleet

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/steadymcp/steady/cmd/steady/internal/jsonl"
)

// A session is what the client has said about itself.
type session struct {
	number   int // 0 before the first
	begun    bool
	modern   bool          // of a revision without a handshake
	params   []byte        // of initialize
	revision string        // that all have agreed on, once the client has been told
	ready    bool          // the client has said that it is initialized
	level    []byte        // the parameters of logging/setLevel
	meta     []byte        // of modern requests, for those of ours
	settled  chan struct{} // closed when it is known who takes part
}

// A hello is what a child has said about itself.
type hello struct {
	result       []byte
	revision     string   // of initialize
	supported    []string // of server/discover
	capabilities []byte
}

// maxMeta bounds what is kept of the client's _meta, in bytes.
const maxMeta = 64 << 10

// open begins a session if that is what the request is for. It does not wait for
// anybody, so that what the client sends next finds the session there.
func (f *fleet) open(r *request) {
	f.mu.Lock()
	now := f.session
	f.mu.Unlock()
	modern := r.modern()
	switch {
	case modern && (slices.Contains(handshakeOnly, r.method) || !isObject(r.meta(metaCapabilities))):
		return // refused
	case r.method == "initialize" && (!now.begun || now.modern):
		f.begin(session{params: r.params})
	case r.method == "server/discover" && !now.begun:
		f.begin(session{modern: true, meta: cleanMeta(r.params)})
	case modern && !now.begun: // a client that knows what it wants need not ask who we are
		f.begin(session{modern: true, meta: cleanMeta(r.params), revision: stateless})
	default:
		return
	}
	r.opens = true
}

// begin starts a session, to which all children are introduced.
func (f *fleet) begin(s session) {
	s.begun, s.settled = true, make(chan struct{})
	f.mu.Lock()
	s.number = f.session.number + 1
	f.settleLocked()
	f.session = s
	ctx := f.ctx
	f.mu.Unlock()
	for _, c := range f.children {
		c.mu.Lock()
		box, running := c.box, c.state != down && c.box != nil
		if running {
			c.hello = nil
			c.state = starting
			close(c.changed)
			c.changed = make(chan struct{})
		}
		c.mu.Unlock()
		if running {
			f.spawn(func() { c.introduce(ctx, box) })
		}
	}
}

// settleLocked lets those go on who wait for the session to come about.
func (f *fleet) settleLocked() {
	if f.session.settled != nil {
		close(f.session.settled)
		f.session.settled = nil
	}
}

// drop ends a session that has not come about.
func (f *fleet) drop() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.settleLocked()
	f.session = session{number: f.session.number}
}

// introduce makes a child that has been started part of the session, if there is
// one already.
func (c *child) introduce(ctx context.Context, box *outbox) {
	c.f.mu.Lock()
	s := c.f.session
	c.f.mu.Unlock()
	if !s.begun {
		return // begin will
	}
	c.mu.Lock()
	met := c.metIn == s.number && c.metBy == box
	c.metIn, c.metBy = s.number, box
	c.mu.Unlock()
	if met {
		return
	}
	method, params := "initialize", s.params
	switch {
	case s.modern:
		method, params = "server/discover", append(append([]byte(`{"_meta":`), s.meta...), '}')
	case s.revision != "":
		params = withRevision(params, s.revision)
	}
	m, err := c.call(ctx, method, params)
	for delay := firstDelay; errors.Is(err, errNotThere) && m != nil; delay = min(2*delay, maxDelay) {
		if !c.stillMeeting(box, s.number) {
			return
		}
		c.become(away, err.Error())
		select {
		case <-time.After(delay):
		case <-c.f.over:
			return
		case <-ctx.Done():
			return
		}
		m, err = c.call(ctx, method, params)
	}
	var h *hello
	if err == nil {
		h = newHello(m.result)
	} else if m == nil {
		return // it has ended, or the session has
	}
	// The session may have gone on while the child was being introduced.
	c.f.mu.Lock()
	now := c.f.session
	c.mu.Lock()
	current := now.number == s.number && c.box == box
	if current {
		c.hello = h
	}
	c.mu.Unlock()
	c.f.mu.Unlock()
	switch {
	case !current:
		return
	case h == nil:
		c.leaveOut(err.Error())
		return
	case !s.modern && now.revision != "" && h.revision != now.revision:
		c.leaveOut(fmt.Sprintf("it speaks revision %s, and the session has %s", h.revision, now.revision))
		return
	}
	if now.ready {
		c.tell(notification("notifications/initialized", nil))
	}
	if now.level != nil && h.has("logging") {
		if _, err := c.call(ctx, "logging/setLevel", now.level); err != nil {
			c.f.log.say("server %s: %v", c.Name, err)
		}
	}
	c.become(ready, "")
	if now.revision != "" {
		c.f.announce(c)
	}
}

// stillMeeting reports whether this run of the child is still the one to be
// introduced to this session.
func (c *child) stillMeeting(box *outbox, session int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.metBy == box && c.metIn == session
}

// leaveOut leaves a child out of the session that it cannot be a part of.
func (c *child) leaveOut(why string) {
	c.become(unfit, why)
	c.f.log.say("server %s is left out: %s", c.Name, why)
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

func (c *child) greeting() *hello {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.hello
}

// spoke reports whether the child was ever part of a session.
func (c *child) spoke() bool { return c.greeting() != nil }

func withRevision(params []byte, revision string) []byte {
	if old := jsonl.Member(params, "protocolVersion"); old != nil {
		return jsonl.Splice(params, jsonl.Edit{Part: old, With: quote(revision)})
	}
	return params
}

// gather waits for the children to be ready, and returns those that are, and for
// each other one why it is not.
func (f *fleet) gather(ctx context.Context) (there []*child, missing []string) {
	ctx, stop := context.WithTimeout(ctx, f.opts.Start)
	defer stop()
	for _, c := range f.children {
		switch s, why := c.settled(ctx); s {
		case ready:
			there = append(there, c)
		default:
			missing = append(missing, c.Name+": "+why)
		}
	}
	return there, missing
}

// initialize answers the client's initialize.
func (f *fleet) initialize(r *request) {
	if !r.opens {
		f.refuse(r, codeInvalid, "The session has been initialized already.", nil)
		return
	}
	there, missing := f.gather(r.ctx)
	if lowest, same := revisions(there); !same {
		// What a revision allows must be so for all: who has agreed to a later one
		// is started anew, and asked for the earliest of them.
		f.mu.Lock()
		f.session.params = withRevision(r.params, lowest)
		f.mu.Unlock()
		for _, c := range there {
			if h := c.greeting(); h != nil && h.revision != lowest {
				f.log.say("server %s speaks revision %s and not all others do: it is started again with %s", c.Name, h.revision, lowest)
				c.become(starting, "it is being started")
				c.mu.Lock()
				restart := c.restart
				c.mu.Unlock()
				restart()
			}
		}
		there, missing = f.gather(r.ctx)
		there = slices.DeleteFunc(there, func(c *child) bool {
			h := c.greeting()
			if h != nil && h.revision == lowest {
				return false
			}
			why := "it cannot speak revision " + lowest
			c.leaveOut(why)
			missing = append(missing, c.Name+": "+why)
			return true
		})
	}
	if len(there) == 0 {
		f.drop()
		f.refuse(r, codeUnavailable, "None of the servers can be used: "+strings.Join(missing, "; "), nil)
		return
	}
	revision, _ := revisions(there)
	out := append([]byte(`{"protocolVersion":`), quote(revision)...)
	out = f.aboutUs(out, there, len(missing) > 0)
	out = fmt.Appendf(out, `,"serverInfo":%s,"_meta":{%q:%s}}`, f.info(), metaServers, listServers(there))
	f.welcome(r, revision, out, there, missing)
}

// welcome tells the client about a session that has come about.
func (f *fleet) welcome(r *request, revision string, answer []byte, there []*child, missing []string) {
	for _, why := range missing {
		f.log.say("without a server, for now: %s", why)
	}
	f.mu.Lock()
	f.session.revision = revision
	f.settleLocked()
	f.mu.Unlock()
	f.finishRequest(r, result(r.id, answer))
	for _, c := range f.children {
		if c.is(ready) && !slices.Contains(there, c) { // has come while we were answering
			f.announce(c)
		}
	}
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

// discover answers the client's server/discover. A session without a handshake
// needs servers that all know how: otherwise the client is sent back to
// initialize, which others understand.
func (f *fleet) discover(r *request) {
	f.mu.Lock()
	modern := f.session.modern
	f.mu.Unlock()
	if !modern {
		f.refuse(r, codeNoMethod, "Method not found: the session has begun with initialize.", nil)
		return
	}
	fail := func(code int, text string) {
		if r.opens {
			f.drop()
		}
		f.refuse(r, code, text, nil)
	}
	there, missing := f.gather(r.ctx)
	var cannot []string
	for _, c := range f.children {
		if c.is(starting) || c.is(unfit) {
			cannot = append(cannot, c.Name)
		}
	}
	common := supported(there)
	wanted, _ := jsonl.Text(orNull(jsonl.Member(jsonl.Member(r.params, "_meta"), metaRevision)))
	switch {
	case len(cannot) > 0 || len(there) > 0 && len(common) == 0:
		if len(cannot) == 0 {
			cannot = []string{"they have no revision in common"}
		}
		fail(codeNoMethod, "Method not found: not all servers behind this endpoint know server/discover ("+strings.Join(cannot, ", ")+"). Begin with initialize.")
		return
	case len(there) == 0:
		fail(codeUnavailable, "None of the servers can be used: "+strings.Join(missing, "; "))
		return
	case !slices.Contains(common, wanted):
		f.refuse(r, codeRevision, "Not all servers behind this endpoint support this revision.", map[string]any{"supported": common, "requested": wanted})
		return
	}
	versions, _ := json.Marshal(common)
	out := append([]byte(`{"resultType":"complete","supportedVersions":`), versions...)
	out = f.aboutUs(out, there, len(missing) > 0)
	var said [][]byte
	for _, c := range there {
		if h := c.greeting(); h != nil {
			said = append(said, h.result)
		}
	}
	out = appendCaching(out, said)
	out = fmt.Appendf(out, `,"_meta":{%q:%s,%q:%s}}`, metaServerInfo, f.info(), metaServers, listServers(there))
	f.welcome(r, wanted, out, there, missing)
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
	if !slices.ContainsFunc(common, func(v string) bool { return v >= stateless }) {
		return nil
	}
	return common
}

// appendCaching appends how long what several servers have said may be kept:
// as long as the most cautious of them allows.
func appendCaching(out []byte, said [][]byte) []byte {
	ttl, scope := int64(-1), "public"
	for _, s := range said {
		n, ok := toNumber(orNull(jsonl.Member(s, "ttlMs")))
		if !ok {
			n = 0
		}
		if ttl < 0 || n < ttl {
			ttl = n
		}
		if v := jsonl.Member(s, "cacheScope"); v != nil && string(v) != `"public"` {
			scope = "private"
		}
	}
	return fmt.Appendf(out, `,"ttlMs":%d,"cacheScope":%q`, max(ttl, 0), scope)
}

// aboutUs appends the capabilities and the instructions of all.
func (f *fleet) aboutUs(out []byte, there []*child, incomplete bool) []byte {
	all := map[string]json.RawMessage{}
	for _, c := range there {
		if h := c.greeting(); h != nil {
			all = unite(all, h.capabilities, 0)
		}
	}
	// Servers come and go, and with them what they have.
	for _, k := range kinds {
		if k.changed != "" && (all[k.capability] != nil || incomplete) {
			all = unite(all, fmt.Appendf(nil, `{%q:{"listChanged":true}}`, k.capability), 0)
		}
	}
	capabilities, _ := json.Marshal(all)
	out = append(append(out, `,"capabilities":`...), capabilities...)
	if text := instructions(there); text != "" {
		out = append(append(out, `,"instructions":`...), quote(text)...)
	}
	return out
}

// maxUnited is how deep capabilities are united. Below, the first says.
const maxUnited = 8

// unite adds the members of an object to those of another. What both have is
// united if both have objects; of true and something else, true stays.
func unite(all map[string]json.RawMessage, more []byte, depth int) map[string]json.RawMessage {
	var add map[string]json.RawMessage
	if json.Unmarshal(more, &add) != nil {
		return all
	}
	all = maps.Clone(all)
	if all == nil {
		all = map[string]json.RawMessage{}
	}
	for key, value := range add {
		old, ok := all[key]
		switch {
		case !ok || string(value) == "true":
			all[key] = value
		case depth < maxUnited && isObject(old) && isObject(value):
			var both map[string]json.RawMessage
			_ = json.Unmarshal(old, &both)
			all[key], _ = json.Marshal(unite(both, value, depth+1))
		}
	}
	return all
}

func isObject(value []byte) bool { return len(value) > 0 && value[0] == '{' }

// maxInstructions bounds the instructions of all servers, in bytes.
const maxInstructions = 16 << 10

// instructions joins those of the children, each under its name.
func instructions(there []*child) string {
	var b strings.Builder
	for _, c := range there {
		h := c.greeting()
		if h == nil {
			continue
		}
		text, _ := jsonl.Text(orNull(jsonl.Member(h.result, "instructions")))
		if text = strings.TrimSpace(text); text == "" {
			continue
		}
		if limit := maxInstructions / len(there); len(text) > limit {
			for limit > 0 && !utf8.RuneStart(text[limit]) {
				limit--
			}
			text = text[:limit] + " [cut]"
		}
		if b.Len() > 0 {
			b.WriteString("\n\n")
		}
		b.WriteString("## " + c.Name + "\n\n" + text)
	}
	return b.String()
}

func (f *fleet) info() []byte {
	info, _ := json.Marshal(map[string]string{"name": "steady-proxy", "title": "Steady proxy", "version": f.opts.Version})
	return info
}

// listServers says who is behind us.
func listServers(there []*child) []byte {
	out := []byte{'['}
	for _, c := range there {
		h := c.greeting()
		if h == nil {
			continue
		}
		info := jsonl.Member(h.result, "serverInfo")
		if info == nil {
			info = jsonl.Member(jsonl.Member(h.result, "_meta"), metaServerInfo)
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = fmt.Appendf(out, `{"name":%q`, c.Name)
		if info != nil && len(info) <= 4<<10 {
			out = append(append(out, `,"serverInfo":`...), info...)
		}
		out = append(out, '}')
	}
	return append(out, ']')
}

// cleanMeta returns the _meta of a request for requests of our own.
func cleanMeta(params []byte) []byte {
	meta := jsonl.Member(params, "_meta")
	if meta == nil || len(meta) > maxMeta {
		return nil
	}
	return jsonl.Without(meta, progressToken)
}

func orNull(value []byte) []byte {
	if value == nil {
		return []byte("null")
	}
	return bytes.TrimSpace(value)
}
