package fleet

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/steadymcp/steady/cmd/steady/internal/jsonl"
	"github.com/steadymcp/steady/cmd/steady/internal/rpc"
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
		revision, _ := jsonl.Text(r.meta(metaRevision))
		f.begin(session{modern: true, meta: cleanMeta(r.params), revision: revision})
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
		if c.metIn == s.number && c.metBy == box { // it has begun by itself, and may be done
			running = false
		}
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
		c.hello, c.spoke = h, c.spoke || h != nil
	}
	c.mu.Unlock()
	c.f.mu.Unlock()
	switch {
	case !current:
		return
	case h == nil:
		c.leaveOut(err.Error())
		return
	case now.revision != "" && h.revision != now.revision && !slices.Contains(h.supported, now.revision):
		c.leaveOut(fmt.Sprintf("the session has revision %s, and it speaks %s", now.revision, strings.Join(append(h.supported, h.revision), " ")))
		return
	}
	if now.ready {
		c.tell(notification("notifications/initialized", nil))
	}
	if now.level != nil && h.has("logging") {
		if _, err := c.call(ctx, "logging/setLevel", now.level); err != nil {
			c.f.log.Say("server %s: %v", c.Name, err)
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
	c.f.log.Say("server %s is left out: %s", c.Name, why)
}

func (c *child) greeting() *hello {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.hello
}

func withRevision(params []byte, revision string) []byte {
	if old := jsonl.Member(params, "protocolVersion"); old != nil {
		return jsonl.Splice(params, jsonl.Edit{Part: old, With: rpc.Quote(revision)})
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
		f.refuse(r, rpc.Invalid, "The session has been initialized already.", nil)
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
				f.log.Say("server %s speaks revision %s and not all others do: it is started again with %s", c.Name, h.revision, lowest)
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
		f.refuse(r, rpc.Unavailable, "None of the servers can be used: "+strings.Join(missing, "; "), nil)
		return
	}
	revision, _ := revisions(there)
	out := append([]byte(`{"protocolVersion":`), rpc.Quote(revision)...)
	out = f.aboutUs(out, there, len(missing) > 0)
	out = fmt.Appendf(out, `,"serverInfo":%s,"_meta":{%q:%s}}`, f.info(), metaServers, listServers(there))
	f.welcome(r, revision, out, there, missing)
}

// welcome tells the client about a session that has come about.
func (f *fleet) welcome(r *request, revision string, answer []byte, there []*child, missing []string) {
	for _, why := range missing {
		f.log.Say("without a server, for now: %s", why)
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

// discover answers the client's server/discover. A session without a handshake
// needs servers that all know how: otherwise the client is sent back to
// initialize, which others understand.
func (f *fleet) discover(r *request) {
	f.mu.Lock()
	modern := f.session.modern
	f.mu.Unlock()
	if !modern {
		f.refuse(r, rpc.NoMethod, "Method not found: the session has begun with initialize.", nil)
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
		fail(rpc.NoMethod, "Method not found: not all servers behind this endpoint know server/discover ("+strings.Join(cannot, ", ")+"). Begin with initialize.")
		return
	case len(there) == 0:
		fail(rpc.Unavailable, "None of the servers can be used: "+strings.Join(missing, "; "))
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
