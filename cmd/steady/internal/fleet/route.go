package fleet

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/yosida95/uritemplate/v3"

	"github.com/steadymcp/steady/cmd/steady/internal/jsonl"
	"github.com/steadymcp/steady/cmd/steady/internal/rpc"
)

// quick sends a call of a known tool, which is most of what there is to do, on
// the spot. It reports whether it has.
func (f *fleet) quick(r *request, m *message) bool {
	if m.method != "tools/call" {
		return false
	}
	written, name, named := nameIn(m.params, "name")
	f.mu.Lock()
	o, ok := f.books[tools].find(name)
	begun := f.session.revision != ""
	f.mu.Unlock()
	if !named || !ok || !begun {
		return false
	}
	f.forward(r, m, o.child, rename(written, name, o.own)...)
	return true
}

// nameIn returns a member of the parameters that is text, also as it is written.
// One that is there twice is none: the server might take the other.
func nameIn(params []byte, member string) (written []byte, name string, ok bool) {
	n := 0
	jsonl.Members(params, func(key, value []byte) {
		if string(key) == member {
			written = value
			n++
		}
	})
	if n != 1 {
		return nil, "", false
	}
	name, ok = jsonl.Text(written)
	return written, name, ok
}

// rename returns the edit that gives something another name, if it has to have one.
func rename(written []byte, name, own string) []jsonl.Edit {
	if name == own {
		return nil
	}
	return []jsonl.Edit{{Part: written, With: rpc.Quote(own)}}
}

// handshakeOnly are methods that revisions without a handshake do not have.
var handshakeOnly = []string{"initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe", "tasks/list", "tasks/result"}

// refused answers a request of a revision without a handshake that is not as
// that has it.
func (f *fleet) refused(r *request) bool {
	switch {
	case !r.modern():
		return false
	case slices.Contains(handshakeOnly, r.method):
		f.refuse(r, rpc.NoMethod, fmt.Sprintf("Method not found: %s is of revisions with a handshake.", r.method), nil)
	case !isObject(r.meta(metaCapabilities)):
		f.refuse(r, rpc.Params, fmt.Sprintf("Invalid params: _meta has to have the object %q.", metaCapabilities), nil)
	default:
		return false
	}
	return true
}

// route answers a request, or sends it to who can.
func (f *fleet) route(r *request) {
	if f.refused(r) {
		return
	}
	switch r.method {
	case "initialize":
		f.initialize(r)
		return
	case "server/discover":
		f.discover(r)
		return
	}
	if r.method == "ping" {
		f.finishRequest(r, result(r.id, []byte("{}")))
		return
	}
	f.mu.Lock()
	begun, settled := f.session.begun, f.session.settled
	f.mu.Unlock()
	switch {
	case !begun:
		f.refuse(r, rpc.Invalid, fmt.Sprintf("%s is sent before initialize. Begin with that.", r.method), nil)
		return
	case r.opens:
		there, missing := f.gather(r.ctx)
		if len(there) == 0 {
			f.drop()
			f.refuse(r, rpc.Unavailable, "None of the servers can be used: "+strings.Join(missing, "; "), nil)
			return
		}
		f.mu.Lock()
		f.settleLocked()
		f.mu.Unlock()
	case settled != nil:
		select {
		case <-settled:
		case <-r.ctx.Done():
			return
		}
	}
	if k := kindOf(r.method); k != nil && (k != taskList || f.lists(k)) {
		f.list(r, k)
		return
	}
	switch area, _, _ := strings.Cut(r.method, "/"); {
	case r.method == "tools/call":
		f.byName(r, tools, "tool")
	case r.method == "prompts/get":
		f.byName(r, prompts, "prompt")
	case slices.Contains([]string{"resources/read", "resources/subscribe", "resources/unsubscribe"}, r.method):
		if _, uri, ok := nameIn(r.params, "uri"); ok {
			f.byURI(r, uri)
			return
		}
		f.refuse(r, rpc.Params, r.method+" needs one uri, which is text.", nil)
	case r.method == "completion/complete":
		f.complete(r)
	case r.method == "logging/setLevel":
		f.setLevel(r)
	case r.method == "subscriptions/listen" && r.modern():
		f.listen(r)
	case area == "tasks":
		f.byHandle(r)
	default:
		f.byCapability(r)
	}
}

// lists reports whether a server may have items of the kind.
func (f *fleet) lists(k *kind) bool {
	return slices.ContainsFunc(f.children, func(c *child) bool { return c.is(ready) && c.greeting().offers(k) })
}

// byName sends the request to the child whose tool or prompt it names.
func (f *fleet) byName(r *request, k *kind, what string) {
	written, name, ok := nameIn(r.params, "name")
	if !ok {
		f.refuse(r, rpc.Params, r.method+" needs one name, which is text.", nil)
		return
	}
	o, ok := f.owner(r, k, name)
	if !ok {
		f.refuse(r, rpc.Params, f.unknown(k, what, name), nil)
		return
	}
	f.forward(r, &r.message, o.child, rename(written, name, o.own)...)
}

// owner finds who has something, if need be by asking.
func (f *fleet) owner(r *request, k *kind, key string) (owner, bool) {
	find := func() (owner, bool) {
		f.mu.Lock()
		defer f.mu.Unlock()
		return f.books[k].find(key)
	}
	o, ok := find()
	if !ok {
		f.refresh(r.ctx, k, fanned(onlyMeta(r)), false)
		o, ok = find()
	}
	return o, ok
}

// onlyMeta returns parameters that have nothing but the request's _meta.
func onlyMeta(r *request) []byte {
	if meta := cleanMeta(r.params); meta != nil {
		return append(append([]byte(`{"_meta":`), meta...), '}')
	}
	return nil
}

// unknown is what is said about a name that nobody has. The beginning is what a
// server on the SDK says.
func (f *fleet) unknown(k *kind, what, name string) string {
	if len(name) > 256 {
		name = strings.ToValidUTF8(name[:256], "") + "..."
	}
	text := fmt.Sprintf("unknown %s %q", what, name)
	var as, servers []string
	f.mu.Lock()
	for published, o := range f.books[k].current {
		if o.own == name {
			as = append(as, fmt.Sprintf("%q", published))
		}
	}
	f.mu.Unlock()
	for _, c := range f.children {
		if c.is(ready) {
			servers = append(servers, c.Name)
		} else {
			servers = append(servers, c.Name+" (not running)")
		}
	}
	if len(as) > 0 {
		slices.Sort(as)
		text += ": it is called " + strings.Join(as, " or ")
	}
	return text + ". The servers behind this endpoint are " + strings.Join(servers, ", ") + "."
}

// byURI sends the request to the child that has listed the resource, or whose
// template the URI matches, or that has others with the same scheme. Where there
// are several of those, the first that does not refuse answers.
func (f *fleet) byURI(r *request, uri string, edits ...jsonl.Edit) {
	if o, ok := f.owner(r, resources, uri); ok {
		f.forward(r, &r.message, o.child, edits...)
		return
	}
	f.refresh(r.ctx, templates, fanned(onlyMeta(r)), false)
	if c := f.byTemplate(uri); c != nil {
		f.forward(r, &r.message, c, edits...)
		return
	}
	candidates := f.byScheme(uri)
	if len(candidates) == 0 {
		f.refuse(r, rpc.Params, fmt.Sprintf("Resource not found: none of the servers behind this endpoint has resources like %.300q.", uri), map[string]string{"uri": uri})
		return
	}
	f.try(r, candidates, edits)
}

// try asks one child after the other until one does not answer with an error.
func (f *fleet) try(r *request, candidates []*child, edits []jsonl.Edit) {
	c := candidates[0]
	f.forwardTo(r, &r.message, c, func(a *message) {
		if a.failed == nil || len(candidates) == 1 {
			f.pass(r, c, a)
			return
		}
		f.try(r, candidates[1:], edits)
	}, slices.Clone(edits)...)
}

// maxTemplate is how long a template may be that is matched, in bytes, and
// maxMatched how many of a server are.
const (
	maxTemplate = 2 << 10
	maxMatched  = 1000
)

// byTemplate returns the first child that has a template which the URI matches.
func (f *fleet) byTemplate(uri string) *child {
	if len(uri) > maxTemplate {
		return nil
	}
	for _, c := range f.children {
		for i, it := range c.listed(templates) {
			if it.key == uri {
				return c
			}
			if len(it.key) > maxTemplate || i >= maxMatched {
				continue
			}
			if t, err := uritemplate.New(it.key); err == nil && t.Regexp().MatchString(uri) {
				return c
			}
		}
	}
	return nil
}

// byScheme returns the children that have a resource or a template with the URI's
// scheme, or else those that have resources at all.
func (f *fleet) byScheme(uri string) (same []*child) {
	scheme := schemeOf(uri)
	var all []*child
	for _, c := range f.children {
		if !c.is(ready) || !c.greeting().has(resources.capability) {
			continue
		}
		all = append(all, c)
		for _, it := range append(c.listed(resources), c.listed(templates)...) {
			if scheme != "" && schemeOf(it.key) == scheme {
				same = append(same, c)
				break
			}
		}
	}
	if len(same) > 0 {
		return same
	}
	return all
}

func schemeOf(uri string) string {
	scheme, _, ok := strings.Cut(uri, ":")
	if _, err := url.Parse(scheme + ":x"); !ok || err != nil {
		return ""
	}
	return strings.ToLower(scheme)
}

// listed returns what the child has listed. The result must not be changed.
func (c *child) listed(k *kind) []item {
	c.mu.Lock()
	defer c.mu.Unlock()
	if have := c.cached[k]; have != nil && c.state == ready {
		return slices.Clip(have.items)
	}
	return nil
}

// complete sends completion/complete to the child that has what it is about.
func (f *fleet) complete(r *request) {
	ref := jsonl.Member(r.params, "ref")
	kindName, _ := jsonl.Text(orNull(jsonl.Member(ref, "type")))
	if kindName != "ref/prompt" {
		_, uri, _ := nameIn(ref, "uri")
		f.byURI(r, uri)
		return
	}
	written, name, _ := nameIn(ref, "name")
	o, ok := f.owner(r, prompts, name)
	if !ok {
		f.refuse(r, rpc.Params, f.unknown(prompts, "prompt", name), nil)
		return
	}
	f.forward(r, &r.message, o.child, rename(written, name, o.own)...)
}

// setLevel tells the level to all children that log.
func (f *fleet) setLevel(r *request) {
	f.mu.Lock()
	f.session.level = r.params
	var to []*child
	for _, c := range f.children {
		if c.greeting().has("logging") {
			to = append(to, c)
		}
	}
	f.mu.Unlock()
	if len(to) == 0 {
		f.refuse(r, rpc.NoMethod, "Method not found: none of the servers behind this endpoint has logging.", nil)
		return
	}
	f.all(r, to)
}

// byCapability sends a request that we know nothing about to the only child that
// has a capability for it.
func (f *fleet) byCapability(r *request) {
	var has []*child
	var names []string
	for _, c := range f.children {
		if c.is(ready) && c.greeting().knows(r.method) {
			has, names = append(has, c), append(names, c.Name)
		}
	}
	switch len(has) {
	case 1:
		f.forward(r, &r.message, has[0])
	case 0:
		f.refuse(r, rpc.NoMethod, fmt.Sprintf("Method not found: %.200q belongs to no capability of the servers behind this endpoint.", r.method), nil)
	default:
		f.refuse(r, rpc.NoMethod, fmt.Sprintf("Method not found: %.200q may be for any of the servers %s, and does not say for which.", r.method, strings.Join(names, ", ")), nil)
	}
}
