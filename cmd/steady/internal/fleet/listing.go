package fleet

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/steadymcp/steady/cmd/steady/internal/jsonl"
	"github.com/steadymcp/steady/cmd/steady/internal/rpc"
)

// What a child may list, of one kind.
const (
	maxPages     = 1000
	maxItems     = 20_000
	maxListBytes = 32 << 20
)

// pageBytes is how much of a listing goes into one answer. Some clients take less
// than 10 MiB in a line, and some never ask for a second page.
const pageBytes = 4 << 20

// An item is what a child lists.
type item struct {
	child *child
	key   string // its name or URI
	raw   []byte
}

// A cache is what a child has listed.
type cache struct {
	items    []item
	said     []byte // the last page, for how long it may be kept
	loaded   bool
	outdated bool // the child says so, or it was not there to be asked
	missing  bool // it did not answer the last time, and is asked in the background
}

// A listing is what all children have listed.
type listing struct {
	number int64
	items  [][]byte
	said   [][]byte
}

// fetch asks the child for everything of a kind.
func (c *child) fetch(ctx context.Context, k *kind, params []byte) ([]item, []byte, error) {
	var items []item
	var said []byte
	size := 0
	seen := map[string]bool{}
	asked := map[string]bool{}
	for cursor := []byte(nil); ; {
		if len(asked) >= maxPages {
			return items, said, fmt.Errorf("%s has more than %d pages: the rest was left out", k.list, maxPages)
		}
		asked[string(cursor)] = true
		page := params
		if cursor != nil {
			page = jsonl.WithMember(orEmpty(params), "cursor", cursor)
		}
		m, err := c.call(ctx, k.list, page)
		if err != nil {
			return nil, nil, err
		}
		said = m.result
		list := jsonl.Member(m.result, k.items)
		if list == nil || list[0] != '[' {
			return nil, nil, fmt.Errorf("its answer to %s has no array %q", k.list, k.items)
		}
		full := ""
		jsonl.Elements(list, func(value []byte) {
			key, ok := jsonl.Text(orNull(jsonl.Member(value, k.key)))
			switch {
			case full != "":
			case !ok:
				c.f.once("server %s lists one of its %s without %q: it was left out", c.Name, k.items, k.key)
			case seen[key]:
				c.f.once("server %s lists %s %.100q twice: the second was left out", c.Name, k.items, key)
			case len(items) >= maxItems:
				full = fmt.Sprintf("%d items", maxItems)
			case size+len(value) > maxListBytes:
				full = fmt.Sprintf("%d bytes", maxListBytes)
			default:
				seen[key] = true
				size += len(value)
				items = append(items, item{c, key, value})
			}
		})
		if full != "" {
			return items, said, fmt.Errorf("%s has more than %s: the rest was left out", k.list, full)
		}
		cursor = jsonl.Member(m.result, "nextCursor")
		if cursor == nil || cursor[0] != '"' || string(cursor) == `""` {
			return items, said, nil
		}
		if asked[string(cursor)] {
			return items, said, fmt.Errorf("%s repeats a cursor: what follows was left out", k.list)
		}
	}
}

func orEmpty(object []byte) []byte {
	if !isObject(object) {
		return []byte("{}")
	}
	return object
}

// refresh fetches what the children have, all at once. Who does not answer in
// time, or fails, keeps what it had listed before if it runs, and is asked again
// in the background. With all, those too are asked whose last answer is still good.
// The result is what there is then.
func (f *fleet) refresh(ctx context.Context, k *kind, params []byte, all bool) *listing {
	ctx, stop := context.WithTimeout(ctx, f.opts.Start)
	defer stop()
	var wait sync.WaitGroup
	for _, c := range f.children {
		c.mu.Lock()
		have := c.cacheOf(k)
		ask := c.state == ready && c.hello.offers(k) && !have.missing && (all || !have.loaded || have.outdated)
		c.mu.Unlock()
		if ask {
			wait.Go(func() { c.reload(ctx, k, params) })
		}
	}
	wait.Wait()
	return f.publish(k)
}

// cacheOf is called with c.mu held.
func (c *child) cacheOf(k *kind) *cache {
	have := c.cached[k]
	if have == nil {
		have = &cache{}
		c.cached[k] = have
	}
	return have
}

// outdated notes that a list has changed.
func (c *child) outdated(k *kind) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cacheOf(k).outdated = true
}

// reload fetches a list, and reports whether that worked.
func (c *child) reload(ctx context.Context, k *kind, params []byte) bool {
	c.mu.Lock()
	c.cacheOf(k).outdated = false // unless it says so again
	c.mu.Unlock()
	items, said, err := c.fetch(ctx, k, params)
	if err != nil && said != nil { // all but the rest
		c.f.once("server %s: %v", c.Name, err)
		err = nil
	}
	c.mu.Lock()
	have := c.cacheOf(k)
	if err == nil {
		*have = cache{items: items, said: said, loaded: true, outdated: have.outdated}
		c.mu.Unlock()
		if k == taskList {
			for _, it := range items {
				c.f.addHandle(c, it.key)
			}
		}
		return true
	}
	if errors.Is(err, errNoMethod) { // as some say that have the capability, and nothing
		*have = cache{loaded: true}
		c.mu.Unlock()
		return false
	}
	if ctx.Err() == context.Canceled { // who asked has withdrawn: that is no fault of the server
		have.outdated = true
		c.mu.Unlock()
		return false
	}
	watched, running := have.missing, c.state == ready
	if errors.Is(err, errNotThere) {
		*have = cache{}
	}
	have.missing, have.outdated = running, true
	c.mu.Unlock()
	if running && !watched {
		c.f.log.Say("server %s: its %s are left out, or are those of before if it runs: %v", c.Name, k.items, err)
		c.f.spawn(func() { c.watch(k, params) })
	}
	return false
}

// watch asks a child for a list until it answers, and tells the client that there
// is one again.
func (c *child) watch(k *kind, params []byte) {
	for delay := firstDelay; ; delay = min(2*delay, maxDelay) {
		select {
		case <-c.f.context().Done():
			return
		case <-c.f.over:
			return
		case <-time.After(delay):
		}
		if !c.is(ready) {
			continue
		}
		ctx, stop := context.WithTimeout(c.f.context(), c.f.opts.Start)
		ok := c.reload(ctx, k, params)
		stop()
		if ok {
			c.f.publish(k)
			c.f.log.Say("server %s: its %s are back", c.Name, k.items)
			c.f.changed(k)
			return
		}
	}
}

func (f *fleet) context() context.Context {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.ctx
}

// publish makes what the children have the list of all.
func (f *fleet) publish(k *kind) *listing {
	var items []item
	l := &listing{number: f.next.Add(1)}
	for _, c := range f.children {
		c.mu.Lock()
		if have := c.cached[k]; have != nil && c.state == ready {
			items = append(items, have.items...)
			if have.said != nil {
				l.said = append(l.said, have.said)
			}
		}
		c.mu.Unlock()
	}
	owners := make([]owner, len(items))
	for i, it := range items {
		owners[i] = owner{it.child, it.key}
	}
	var clashes []Collision
	clash := func(c Collision) { clashes = append(clashes, c) }
	f.mu.Lock()
	var names map[owner]string
	if b := f.books[k]; k.named {
		names = b.publish(f.opts.Qualify, owners, clash)
	} else {
		names = b.first(owners, clash)
	}
	for i, it := range items {
		name, ok := names[owners[i]]
		if !ok {
			continue
		}
		raw := it.raw
		if name != it.key {
			raw = jsonl.Splice(raw, jsonl.Edit{Part: jsonl.Member(raw, k.key), With: rpc.Quote(name)})
		}
		l.items = append(l.items, raw)
	}
	f.mu.Unlock()
	for _, c := range clashes {
		c.Kind = k.items
		f.report(c)
	}
	return l
}

// first is publish for what cannot be renamed: the first server that has it, has it.
func (b *book) first(items []owner, clash func(Collision)) map[owner]string {
	b.current = map[string]owner{}
	names := map[owner]string{}
	all := map[string][]string{}
	for _, o := range items {
		all[o.own] = append(all[o.own], o.child.Name)
		if _, taken := b.current[o.own]; !taken {
			b.current[o.own], names[o] = o, o.own
		}
	}
	told := map[string]bool{}
	for _, o := range items {
		if servers := all[o.own]; len(servers) > 1 && !told[o.own] {
			told[o.own] = true
			clash(Collision{Name: o.own, Servers: servers, Published: append([]string{o.own}, make([]string, len(servers)-1)...)})
		}
	}
	return names
}

// list answers a listing of the client.
func (f *fleet) list(r *request, k *kind) {
	cursor := jsonl.Member(r.params, "cursor")
	if cursor != nil && string(cursor) != "null" {
		f.page(r, k, cursor)
		return
	}
	l := f.refresh(r.ctx, k, fanned(r.params), true)
	if l.end(0) < len(l.items) {
		f.mu.Lock()
		kept := append(f.merged[k], l)
		f.merged[k] = kept[max(0, len(kept)-maxMerged):]
		f.mu.Unlock()
	}
	f.answerList(r, k, l, 0)
}

// maxMerged is how many listings of a kind have further pages.
const maxMerged = 4

// end returns where a page ends that begins at an index.
func (l *listing) end(at int) int {
	end, size := at, 0
	for end < len(l.items) && (end == at || size+len(l.items[end]) <= pageBytes) {
		size += len(l.items[end])
		end++
	}
	return end
}

// fanned returns parameters for several servers: our cursor and the client's
// progress token mean nothing to them.
func fanned(params []byte) []byte {
	if !isObject(params) {
		return nil
	}
	meta := jsonl.Member(params, "_meta")
	out := jsonl.Without(params, "cursor", "_meta")
	if isObject(meta) {
		out = jsonl.WithMember(out, "_meta", jsonl.Without(meta, progressToken))
	}
	return out
}

// page answers with a further page of a list that the client has been given.
func (f *fleet) page(r *request, k *kind, cursor []byte) {
	text, _ := jsonl.Text(cursor)
	f.mu.Lock()
	kept := f.merged[k]
	f.mu.Unlock()
	for _, l := range kept {
		if at, ok := l.offset(k, text); ok {
			f.answerList(r, k, l, at)
			return
		}
	}
	f.refuse(r, rpc.Params, fmt.Sprintf("Invalid cursor: it is not of this list, or of one that is too old. Call %s without a cursor.", k.list), nil)
}

// cursor says where a list goes on.
func (l *listing) cursor(k *kind, at int) string {
	b := binary.BigEndian.AppendUint64(nil, uint64(l.number))
	b = binary.BigEndian.AppendUint32(b, uint32(at))
	return base64.RawURLEncoding.EncodeToString(append(b, k.list...))
}

// offset reads a cursor. One of ours has at most 60 bytes.
func (l *listing) offset(k *kind, cursor string) (int, bool) {
	if len(cursor) > 60 {
		return 0, false
	}
	b, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil || len(b) < 12 || string(b[12:]) != k.list || binary.BigEndian.Uint64(b) != uint64(l.number) {
		return 0, false
	}
	at := int(binary.BigEndian.Uint32(b[8:]))
	return at, at > 0 && at < len(l.items)
}

// answerList answers with what follows in a list from an index on.
func (f *fleet) answerList(r *request, k *kind, l *listing, at int) {
	end := l.end(at)
	out := fmt.Appendf(nil, `{%q:[`, k.items)
	out = append(out, bytes.Join(l.items[at:end], []byte(","))...)
	out = append(out, ']')
	if end < len(l.items) {
		out = fmt.Appendf(out, `,"nextCursor":%q`, l.cursor(k, end))
	}
	if r.modern() {
		out = append(out, `,"resultType":"complete"`...)
		out = appendCaching(out, l.said)
		out = fmt.Appendf(out, `,"_meta":{%q:%s}`, metaServerInfo, f.info())
	}
	f.finishRequest(r, result(r.id, append(out, '}')))
}
