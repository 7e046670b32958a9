// Package registry keeps the list of a server's tools: in the order in which
// their author wrote them, under names that clients take, with schemas that
// clients load, and the same to the byte at every launch.
//
//	tools := registry.New(server, nil) // before steady.Wrap
//	registry.Add(tools, &mcp.Tool{Name: "search_papers", Description: "..."}, searchPapers)
//	registry.Add(tools, &mcp.Tool{Name: "get_paper", Description: "..."}, getPaper,
//		registry.Renamed("fetch_paper", "2027-01-31"))
//	if err := tools.Err(); err != nil { ... }
//
// # What it does
//
//   - [Add] and [AddRaw] register tools. What would surprise at call time (a
//     name that a client refuses, two names that differ in case only, a schema
//     that the SDK panics about) is an error at registration.
//   - tools/list answers in the order of registration, on every replica, across
//     pages. The SDK sorts by name.
//   - Schemas are advertised in a form that common clients load; what a call
//     may send is unchanged. See [Options.Verbatim].
//   - Former names stay callable ([Renamed]), groups are switched at run time
//     ([Registry.SetEnabled]), callers see only their tools ([VisibleTo]), and
//     what is hidden answers exactly like what does not exist.
//   - [Lint], [Diff] and package registrytest check what is advertised, of this
//     server or of any other.
//
// # Where it stands
//
// The registry adds receiving middleware to its server when it is made, so
// whatever middleware is added later stands outside of it. That is the right
// order: names are resolved outside, among the tools that the registry shows.
//
// # Concurrency
//
// A [Registry] may be used from many goroutines, and serve many servers.
package registry

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"weak"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/steadymcp/steady/observe"
)

// Options configures a [Registry]. The zero value is ready to use.
type Options struct {
	// SortByName lists tools by name. If false, those that were added to the
	// server by other means come first, in the order of the SDK, and then the
	// registry's, in the order of registration: a tool that is registered last
	// is the last of the list and shifts no other, which leaves prompts that
	// are cached by their beginning as they are.
	SortByName bool
	// SpecNames accepts every name that the specification accepts: up to 128
	// bytes, with dots. If false, a name has at most 64 letters, digits,
	// underscores and hyphens and begins with a letter or an underscore, which
	// is what the common clients have in common.
	SpecNames bool
	// Verbatim advertises schemas as they are registered. If false, they are
	// advertised as common clients need them: with properties, without
	// ["null", T] for optional values, with local $refs inlined (unless the
	// schema would grow by more than its own size or 4 kB, whichever is more),
	// without null or true where clients expect an object.
	Verbatim bool
	// ReadOnly begins in read-only mode; see [Registry.SetReadOnly].
	ReadOnly bool
	// VisibleTo, if non-nil, decides for every tool, those that were added by
	// other means included, whether a caller may see and call it. It is asked
	// in addition to the tool's own [VisibleTo]. A call of a tool that was added
	// by other means then costs a listing besides, as it does in read-only mode.
	VisibleTo Visibility
	// Observer receives an event for every refused registration, cleaned
	// schema and use of a former name. If nil, slog.Default logs them.
	Observer observe.Observer
}

// A Visibility decides whether the caller of req may see and call tool. req is
// a *mcp.ListToolsRequest or a *mcp.CallToolRequest; its GetExtra is nil where
// there is no HTTP request, on stdio for example. The tool must not be changed.
// A Visibility is called for every tool of every listing: keep it quick.
type Visibility func(ctx context.Context, req mcp.Request, tool *mcp.Tool) bool

// A Registry is an ordered list of tools that one or more servers offer.
type Registry struct {
	opts    Options
	scratch *mcp.Server // where a registration is tried before it counts

	mu       sync.Mutex // guards what follows
	defs     []*definition
	taken    map[string]string // folded name -> the tool that it belongs to
	disabled map[string]bool   // groups
	readOnly bool
	mistakes []mistake
	servers  map[weak.Pointer[mcp.Server]]struct{}
	seq      int

	// state is what requests read. It is nil after a change, until somebody
	// asks for it.
	state atomic.Pointer[state]
	// served is set once a listing has been answered.
	served atomic.Bool
}

// New returns a registry whose tools server offers. A nil server is allowed:
// the registry then only holds definitions, which [Registry.Install] gives to
// servers. A nil opts means the zero Options.
func New(server *mcp.Server, opts *Options) *Registry {
	r := &Registry{
		scratch: mcp.NewServer(&mcp.Implementation{Name: "steady"}, &mcp.ServerOptions{
			Logger:      slog.New(slog.NewTextHandler(io.Discard, nil)),
			SchemaCache: mcp.NewSchemaCache(),
		}),
		taken:    map[string]string{},
		disabled: map[string]bool{},
		servers:  map[weak.Pointer[mcp.Server]]struct{}{},
	}
	if opts != nil {
		r.opts = *opts
	}
	r.opts.Observer = observe.Or(r.opts.Observer)
	r.readOnly = r.opts.ReadOnly
	if server != nil {
		r.Install(server)
	}
	return r
}

// Install offers the registry's tools, those to come included, on one more
// server. It is made for programs that build a server for each HTTP request:
// definitions are checked, cleaned and encoded once, in [Add], and Install only
// hands them over. Give such servers one [mcp.SchemaCache].
//
// The registry does not keep servers alive. A second Install on the same
// server does nothing.
func (r *Registry) Install(server *mcp.Server) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := weak.Make(server)
	if _, twice := r.servers[p]; twice {
		return
	}
	r.servers[p] = struct{}{}
	runtime.AddCleanup(server, r.forget, p)
	server.AddReceivingMiddleware((&installation{registry: r}).middleware)
	for _, d := range r.defs {
		d.register(server)
	}
}

func (r *Registry) forget(p weak.Pointer[mcp.Server]) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.servers, p)
}

// each calls f for every server that still exists. r.mu is held.
func (r *Registry) each(f func(*mcp.Server)) {
	for p := range r.servers {
		if s := p.Value(); s != nil {
			f(s)
		}
	}
}

// add is the common part of Add and AddRaw.
func (r *Registry) add(d *definition, opts []ToolOption) error {
	for _, o := range opts {
		if o != nil {
			o(d)
		}
	}
	err := r.enter(d)
	if err != nil {
		r.opts.Observer.Observe(context.Background(), RegistrationRefused{Tool: d.name, Reason: err.Error()})
		return err
	}
	for _, e := range d.cleaned {
		r.opts.Observer.Observe(context.Background(), e)
	}
	return nil
}

// enter checks a definition and gives it to the servers, or remembers what is
// wrong with it.
func (r *Registry) enter(d *definition) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	err := r.check(d)
	if err == nil {
		err = d.prepare(r.opts.Verbatim)
	}
	if err != nil {
		err = fmt.Errorf("registry: tool %q: %w", d.name, err)
		r.blame(d.name, err)
		r.state.Store(nil)
		return err
	}
	r.forgive(d.name)
	for _, name := range d.allNames() {
		r.taken[fold(name)] = d.name
	}
	d.seq = r.seq
	r.seq++
	r.defs = append(r.defs, d)
	r.state.Store(nil)
	r.each(d.register)
	return nil
}

// check says what is wrong with a definition, all of it.
func (r *Registry) check(d *definition) error {
	if d.source == nil {
		return errors.New("the tool is nil")
	}
	problems := d.problems
	if err := checkName(d.name, r.opts.SpecNames); err != nil {
		problems = append(problems, err)
	}
	if d.name == listChanged.Name {
		problems = append(problems, errors.New("the name is reserved: the registry announces changed lists with it"))
	}
	if owner, ok := r.taken[fold(d.name)]; ok {
		switch {
		case owner == d.name:
			problems = append(problems, errors.New("it is registered already"))
		case fold(owner) == fold(d.name):
			problems = append(problems, fmt.Errorf("the name differs from %q only in case or separators", owner))
		default:
			problems = append(problems, fmt.Errorf("the name is another name of %q", owner))
		}
	}
	own := map[string]bool{d.name: true}
	for _, name := range d.allNames()[1:] {
		if err := checkOtherName(name); err != nil {
			problems = append(problems, fmt.Errorf("other name %q: %w", name, err))
		} else if owner, ok := r.taken[fold(name)]; ok {
			problems = append(problems, fmt.Errorf("other name %q belongs to %q", name, owner))
		} else if own[name] {
			problems = append(problems, fmt.Errorf("other name %q is given twice", name))
		}
		own[name] = true
	}
	if len(problems) == 0 && d.register != nil {
		if err := try(func() { d.register(r.scratch) }); err != nil {
			return err
		}
		r.scratch.RemoveTools(d.name)
	}
	return errors.Join(problems...)
}

// try calls the SDK's registration, which panics about what it does not like.
func try(register func()) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("the SDK refuses it: %v", v)
		}
	}()
	register()
	return nil
}

// Remove takes tools off the registry and its servers, and forgets the mistakes
// that were made under these names (see [Registry.Err]). Names that are not
// registered are ignored otherwise.
func (r *Registry) Remove(tools ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.defs = slices.DeleteFunc(r.defs, func(d *definition) bool {
		gone := slices.Contains(tools, d.name)
		if gone {
			for _, name := range d.allNames() {
				delete(r.taken, fold(name))
			}
			r.each(func(s *mcp.Server) { s.RemoveTools(d.name) })
		}
		return gone
	})
	for _, name := range tools {
		r.forgive(name)
	}
	r.state.Store(nil)
}

// SetEnabled shows or hides the tools of a group, in tools/list and tools/call
// alike, and tells clients that the list has changed. Groups are enabled at
// first. A group that no tool belongs to is an error.
func (r *Registry) SetEnabled(group string, enabled bool) error {
	r.mu.Lock()
	known := slices.ContainsFunc(r.defs, func(d *definition) bool { return d.group == group && group != "" })
	changed := known && r.disabled[group] == enabled
	if changed {
		r.disabled[group] = !enabled
	}
	r.mu.Unlock()
	if !known {
		return fmt.Errorf("registry: no tool belongs to group %q", group)
	}
	if changed {
		r.changed()
	}
	return nil
}

// SetReadOnly turns read-only mode on or off: while it is on, a tool that is
// not annotated with ReadOnlyHint is neither listed nor callable, those that
// were added to the server by other means included. Clients are told that the
// list has changed.
func (r *Registry) SetReadOnly(on bool) {
	r.mu.Lock()
	changed := r.readOnly != on
	r.readOnly = on
	r.mu.Unlock()
	if changed {
		r.changed()
	}
}

// listChanged is a tool that exists for a moment, because adding and removing
// a tool is how the SDK is made to say that the list has changed. It is
// neither listed nor callable.
var listChanged = &mcp.Tool{Name: "steady_list_changed", InputSchema: emptyInput}

func (r *Registry) changed() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.state.Store(nil)
	r.each(func(s *mcp.Server) {
		s.AddTool(listChanged, func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return nil, unknownTool(req.Params.Name)
		})
		s.RemoveTools(listChanged.Name)
	})
}
