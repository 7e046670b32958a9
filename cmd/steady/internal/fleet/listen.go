package fleet

import (
	"bytes"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"github.com/steadymcp/steady/cmd/steady/internal/jsonl"
	"github.com/steadymcp/steady/cmd/steady/internal/rpc"
)

// A listen is a subscriptions/listen of the client, which each child has under an
// id of its own. The client has one stream: it is told the first time, and once,
// what it will get, and the stream ends when all have ended theirs.
type listen struct {
	r    *request
	asks map[string]json.RawMessage // what the client wants to hear

	// telling is held while the client is told what it will hear.
	telling sync.Mutex
	told    bool

	// The rest is guarded by fleet.mu.
	open   map[*child]int64 // with the id that the child knows
	later  map[*child]bool  // to be opened
	silent map[*child]bool  // has not yet said what it agrees to
	agreed map[string]json.RawMessage
	failed []byte // the first error
}

// listen opens a stream of notifications of all children.
func (f *fleet) listen(r *request) {
	l := &listen{r: r, open: map[*child]int64{}, later: map[*child]bool{}, silent: map[*child]bool{}, agreed: map[string]json.RawMessage{}}
	if err := json.Unmarshal(orNull(jsonl.Member(r.params, "notifications")), &l.asks); err != nil || l.asks == nil {
		f.refuse(r, rpc.Params, `subscriptions/listen needs the object "notifications".`, nil)
		return
	}
	var to []*child
	for _, c := range f.children {
		if c.is(ready) {
			to = append(to, c)
		}
	}
	if len(to) == 0 {
		f.refuse(r, rpc.Unavailable, "None of the servers is running.", nil)
		return
	}
	if l.asks["resourceSubscriptions"] != nil { // which are for who has them
		f.refresh(r.ctx, resources, fanned(onlyMeta(r)), false)
		f.refresh(r.ctx, templates, fanned(onlyMeta(r)), false)
	}
	f.mu.Lock()
	for _, c := range to {
		l.silent[c], l.later[c] = true, true
	}
	f.mu.Unlock()
	for _, c := range to {
		f.listenTo(l, c, false)
	}
	// Who says nothing is not waited for.
	time.AfterFunc(f.opts.Start, func() {
		if r.ctx.Err() == nil {
			f.acknowledge(l)
		}
	})
}

// listenTo opens the stream of one child. Again means that the child had one
// before, and the client may have missed what it has said since.
func (f *fleet) listenTo(l *listen, c *child, again bool) {
	part := f.partOf(l, c)
	m, bad := parse(jsonl.Splice(l.r.raw, jsonl.Edit{Part: jsonl.Member(l.r.params, "notifications"), With: part}))
	if bad != "" { // it was a message before
		return
	}
	l.r.mu.Lock()
	over := l.r.over
	id, why := int64(0), ""
	if !over {
		id, why = c.send(&m, func(a *message) { f.unlistened(l, c, a) })
		if why == "" {
			l.r.sent[c] = id
			f.mu.Lock()
			f.listens[id] = l
			l.open[c] = id
			delete(l.later, c)
			f.mu.Unlock()
		}
	}
	l.r.mu.Unlock()
	switch {
	case over:
	case why != "":
		f.listenLater(l, c)
		f.heard(l, c)
	case again:
		for _, k := range kinds {
			if k.listen != "" && k != templates && string(l.asks[k.listen]) == "true" && c.greeting().has(k.capability) {
				f.changedFor(l, k)
			}
		}
	}
}

// partOf returns what a child is to be asked for: all but what others have.
func (f *fleet) partOf(l *listen, c *child) []byte {
	part := map[string]json.RawMessage{}
	for key, value := range l.asks {
		var list []string
		switch {
		case key == "resourceSubscriptions" && json.Unmarshal(value, &list) == nil:
			list = slices.DeleteFunc(list, func(uri string) bool { return !f.mayHave(c, uri) })
		case key == "taskIds" && json.Unmarshal(value, &list) == nil:
			list = slices.DeleteFunc(list, func(id string) bool { o, _ := f.ofHandle(id); return o != c })
		default:
			part[key] = value
			continue
		}
		if len(list) > 0 {
			part[key], _ = json.Marshal(list)
		}
	}
	out, _ := json.Marshal(part)
	return out
}

// mayHave reports whether a child is the one that a URI belongs to.
func (f *fleet) mayHave(c *child, uri string) bool {
	f.mu.Lock()
	o, ok := f.books[resources].find(uri)
	f.mu.Unlock()
	if ok {
		return o.child == c
	}
	if t := f.byTemplate(uri); t != nil {
		return t == c
	}
	return slices.Contains(f.byScheme(uri), c)
}

// listenOf returns the client's stream that a child means.
func (f *fleet) listenOf(c *child, id []byte) *listen {
	n, ok := toNumber(id)
	if !ok {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if l := f.listens[n]; l != nil && l.open[c] == n {
		return l
	}
	return nil
}

// acknowledged notes what a child agrees to.
func (f *fleet) acknowledged(c *child, m *message) {
	l := f.listenOf(c, orNull(m.meta(metaSubscription)))
	if l == nil {
		return
	}
	f.mu.Lock()
	var more map[string]json.RawMessage
	_ = json.Unmarshal(orNull(jsonl.Member(m.params, "notifications")), &more)
	for key, value := range more {
		old, ok := l.agreed[key]
		var a, b []json.RawMessage
		switch {
		case !ok || string(value) == "true":
			l.agreed[key] = bytes.Clone(value)
		case json.Unmarshal(old, &a) == nil && json.Unmarshal(value, &b) == nil && len(a)+len(b) <= maxItems:
			l.agreed[key], _ = json.Marshal(append(a, b...))
		}
	}
	f.mu.Unlock()
	f.heard(l, c)
}

// heard notes that a child has said, or never will, what it agrees to, and tells
// the client when all have.
func (f *fleet) heard(l *listen, c *child) {
	f.mu.Lock()
	delete(l.silent, c)
	all := len(l.silent) == 0
	f.mu.Unlock()
	if all {
		f.acknowledge(l)
	}
}

// acknowledge tells the client what it will hear, which is the first that it may
// hear of a stream.
func (f *fleet) acknowledge(l *listen) {
	l.telling.Lock()
	defer l.telling.Unlock()
	if l.told {
		return
	}
	l.told = true
	f.mu.Lock()
	agreed, _ := json.Marshal(l.agreed)
	f.mu.Unlock()
	params := append(append([]byte(`{"_meta":`), subscription(l.r.id)...), `,"notifications":`...)
	_ = f.out.write(notification("notifications/subscriptions/acknowledged", append(append(params, agreed...), '}')))
}

func subscription(id []byte) []byte {
	return append(append([]byte(`{"`+metaSubscription+`":`), id...), '}')
}

// unlistened notes that the stream of a child has ended: because the child has, and
// then it is opened again, or for good.
func (f *fleet) unlistened(l *listen, c *child, a *message) {
	lost := a.code() == rpc.Unavailable
	l.r.mu.Lock()
	delete(l.r.sent, c)
	over := l.r.over
	l.r.mu.Unlock()
	f.mu.Lock()
	delete(f.listens, l.open[c])
	delete(l.open, c)
	l.later[c] = lost && !over
	if !l.later[c] {
		delete(l.later, c)
	}
	if a.failed != nil && l.failed == nil {
		l.failed = bytes.Clone(a.failed)
	}
	ended := len(l.open)+len(l.later) == 0
	failed := l.failed
	if len(l.agreed) > 0 {
		failed = nil
	}
	f.mu.Unlock()
	if over {
		if ended { // the client, who has cancelled it, may wait for the answer nevertheless
			_ = f.out.write(f.listenResult(l))
		}
		return
	}
	if lost {
		f.listenLater(l, c)
	}
	switch {
	case !ended:
		f.heard(l, c)
	case failed != nil:
		f.finishRequest(l.r, append(append(append([]byte(`{"jsonrpc":"2.0","id":`), l.r.id...), `,"error":`...), append(failed, '}')...))
	default:
		f.acknowledge(l)
		f.finishRequest(l.r, f.listenResult(l))
	}
}

// stopListening forgets a stream that the client has cancelled.
func (f *fleet) stopListening(r *request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for id, l := range f.listens {
		if l.r == r {
			delete(f.listens, id)
		}
	}
}

func (f *fleet) listenResult(l *listen) []byte {
	return result(l.r.id, append(append([]byte(`{"resultType":"complete","_meta":`), subscription(l.r.id)...), '}'))
}

// listenLater opens the stream of a child again when it is there again.
func (f *fleet) listenLater(l *listen, c *child) {
	f.spawn(func() {
		for {
			select {
			case <-l.r.ctx.Done():
				return
			case <-f.over:
				return
			case <-time.After(firstDelay):
			}
			if c.is(ready) {
				f.listenTo(l, c, true)
				return
			}
		}
	})
}

// announce tells the client that a child has come, with all that it has.
func (f *fleet) announce(c *child) {
	f.log.Say("server %s is back", c.Name)
	h := c.greeting()
	for _, k := range kinds {
		if k.changed != "" && k != templates && h.has(k.capability) {
			f.changed(k)
		}
	}
	// Streams that are open are to be of this child too.
	f.mu.Lock()
	open := map[*listen]bool{}
	for _, l := range f.listens {
		if _, has := l.open[c]; !has {
			open[l] = true
		}
	}
	f.mu.Unlock()
	for l := range open {
		f.listenTo(l, c, false)
	}
}

// changed tells the client that a list has changed.
func (f *fleet) changed(k *kind) {
	if k.changed == "" {
		return
	}
	f.mu.Lock()
	modern := f.session.modern
	streams := map[*listen]bool{}
	for _, l := range f.listens {
		if string(l.asks[k.listen]) == "true" {
			streams[l] = true
		}
	}
	f.mu.Unlock()
	if !modern {
		_ = f.out.write(notification(k.changed, nil))
		return
	}
	for l := range streams {
		f.changedFor(l, k)
	}
}

func (f *fleet) changedFor(l *listen, k *kind) {
	f.acknowledge(l)
	_ = f.out.write(notification(k.changed, append(append([]byte(`{"_meta":`), subscription(l.r.id)...), '}')))
}
