package fleet

import (
	"bytes"
	"fmt"

	"github.com/steadymcp/steady/cmd/steady/internal/jsonl"
	"github.com/steadymcp/steady/cmd/steady/internal/rpc"
)

// An ask is a request of a child that the client has not answered.
type ask struct {
	child *child
	id    []byte // the child's
	token int64  // the progress token that the client was given, or 0
}

// A token is a child's progress token.
type token struct {
	child *child
	value []byte
}

// ask passes a request of a child on, under an id and with a progress token that
// no other child has.
func (f *fleet) ask(c *child, m *message) error {
	id := f.next.Add(1)
	a := ask{child: c, id: bytes.Clone(m.id)}
	edits := []jsonl.Edit{{Part: m.id, With: number(id)}}
	value := m.meta(progressToken)
	if value != nil {
		a.token = f.next.Add(1)
		edits = append(edits, jsonl.Edit{Part: value, With: number(a.token)})
	}
	f.mu.Lock()
	full := len(f.asked) >= f.opts.MaxInFlight
	if !full {
		f.asked[id] = a
		if a.token != 0 {
			f.tokens[a.token] = token{c, bytes.Clone(value)}
		}
	}
	f.mu.Unlock()
	if full {
		c.tell(rpc.Refusal(m.id, rpc.Unavailable, "Too many requests to the client are waiting for an answer."))
		return nil
	}
	return f.out.write(jsonl.Splice(m.raw, edits...))
}

// take returns a request of a child that is not open any more.
func (f *fleet) take(id []byte) (ask, int64, bool) {
	n, ok := toNumber(orNull(id))
	if !ok {
		return ask{}, 0, false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	a, ok := f.asked[n]
	delete(f.asked, n)
	delete(f.tokens, a.token)
	return a, n, ok
}

// answered passes the client's answer to the child that has asked.
func (f *fleet) answered(m *message) {
	if a, _, ok := f.take(m.id); ok {
		a.child.tell(jsonl.Splice(m.raw, jsonl.Edit{Part: m.id, With: a.id}))
	}
}

// progressed passes the client's progress with a child's request on.
func (f *fleet) progressed(m *message) {
	value := jsonl.Member(m.params, progressToken)
	n, ok := toNumber(orNull(value))
	if !ok {
		return
	}
	f.mu.Lock()
	t, ok := f.tokens[n]
	f.mu.Unlock()
	if ok {
		t.child.tell(jsonl.Splice(m.raw, jsonl.Edit{Part: value, With: t.value}))
	}
}

// forget withdraws what a child that has ended had asked.
func (f *fleet) forget(c *child) {
	f.mu.Lock()
	var left []int64
	for id, a := range f.asked {
		if a.child == c {
			left = append(left, id)
			delete(f.asked, id)
			delete(f.tokens, a.token)
		}
	}
	f.mu.Unlock()
	for _, id := range left {
		_ = f.out.write(notification("notifications/cancelled", fmt.Appendf(nil, `{"requestId":%d,"reason":"the server that asked has ended"}`, id)))
	}
}

// notify passes a notification of a child on.
func (f *fleet) notify(c *child, m *message) error {
	var edits []jsonl.Edit
	switch m.method {
	case "notifications/cancelled":
		id := jsonl.Member(m.params, "requestId")
		n, ok := f.findAsk(c, id)
		if !ok {
			return nil
		}
		f.take(number(n))
		edits = append(edits, jsonl.Edit{Part: id, With: number(n)})
	case "notifications/message":
		return f.out.write(jsonl.Splice(m.raw, c.nameLogger(m)...))
	case "notifications/subscriptions/acknowledged":
		f.acknowledged(c, m)
		return nil
	}
	for _, k := range kinds {
		if k.changed == m.method {
			c.outdated(k)
			if !f.welcomed() {
				return nil // the client is about to ask anyway
			}
		}
	}
	if id := m.meta(metaSubscription); id != nil {
		l := f.listenOf(c, id)
		if l == nil {
			return nil // of one that has ended
		}
		f.acknowledge(l)
		edits = append(edits, jsonl.Edit{Part: id, With: l.r.id})
	}
	return f.out.write(jsonl.Splice(m.raw, edits...))
}

func (f *fleet) welcomed() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.session.revision != ""
}

// findAsk returns our id of a child's request.
func (f *fleet) findAsk(c *child, id []byte) (int64, bool) {
	key := jsonl.IDKey(id)
	f.mu.Lock()
	defer f.mu.Unlock()
	for n, a := range f.asked {
		if a.child == c && jsonl.IDKey(a.id) == key {
			return n, true
		}
	}
	return 0, false
}

// nameLogger puts the server's name before the name of its logger.
func (c *child) nameLogger(m *message) []jsonl.Edit {
	if m.params == nil || !isObject(m.params) {
		return nil
	}
	old := jsonl.Member(m.params, "logger")
	name, ok := jsonl.Text(orNull(old))
	switch {
	case ok:
		return []jsonl.Edit{{Part: old, With: rpc.Quote(c.Name + "." + name)}}
	case old != nil:
		return []jsonl.Edit{{Part: old, With: rpc.Quote(c.Name)}}
	}
	return []jsonl.Edit{{Part: m.params, With: jsonl.WithMember(m.params, "logger", rpc.Quote(c.Name))}}
}
