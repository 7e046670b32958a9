package registry

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/steadymcp/steady/errors"
	"github.com/steadymcp/steady/internal/wire"
)

// An otherName is a name that is not listed and leads to a tool: an alias, or
// a former name.
type otherName struct {
	name   string
	def    *definition
	rename *Rename // nil for an alias
	ends   time.Time
	notice string
	about  map[string]any // for _meta; never changed
	// properties are those of the tool.
	properties map[string]bool
	calls      atomic.Uint64 // of a former name
}

func newOtherName(name string, d *definition) *otherName {
	return &otherName{name: name, def: d, about: map[string]any{"requested": name, "tool": d.name}}
}

func newFormerName(d *definition, r *Rename) (*otherName, error) {
	o := newOtherName(r.Name, d)
	o.rename = r
	o.about["former"] = true
	o.notice = fmt.Sprintf("%s is now called %s.", r.Name, d.name)
	if r.Sunset != "" {
		day, err := time.Parse(date, r.Sunset)
		if err != nil {
			return nil, fmt.Errorf("former name %q: sunset %q is not a day like 2027-01-31", r.Name, r.Sunset)
		}
		o.ends = day.AddDate(0, 0, 1)
		o.about["sunset"] = r.Sunset
		o.notice = fmt.Sprintf("%s is now called %s; the former name works until %s.", r.Name, d.name, r.Sunset)
	}
	properties, err := declaredProperties(d.advertised)
	if err != nil {
		return nil, err
	}
	o.properties = properties
	for _, a := range r.Arguments {
		if !properties[a[1]] {
			return nil, fmt.Errorf("former name %q: %q is no parameter of the tool", r.Name, a[1])
		}
	}
	for _, c := range r.Constants {
		if !properties[c.Name] {
			return nil, fmt.Errorf("former name %q: %q is no parameter of the tool", r.Name, c.Name)
		}
	}
	return o, nil
}

func (o *otherName) gone() bool { return !o.ends.IsZero() && !time.Now().Before(o.ends) }

// ResolveAlias returns the tool that another name stands for, and a notice for
// the caller if it is a former name.
//
// With [Registry.ArgumentAliases] it is what package discovery asks for.
func (r *Registry) ResolveAlias(name string) (tool, notice string, ok bool) {
	o := r.current().others[name]
	if o == nil {
		return "", "", false
	}
	return o.def.name, o.notice, true
}

// AnswersAlias reports whether calls by name should reach the registry as they
// were sent. That is so for former names: only the registry knows their old
// arguments, counts them, and says goodbye after their sunset.
func (r *Registry) AnswersAlias(name string) bool {
	o := r.current().others[name]
	return o != nil && o.rename != nil
}

// ArgumentAliases returns the other names of a tool's parameters, each with the
// parameter that it stands for: those that were declared, and those that its
// former names used. It may be nil, and must not be changed.
func (r *Registry) ArgumentAliases(tool string) map[string]string {
	if d := r.current().byName[tool]; d != nil {
		return d.arguments
	}
	return nil
}

// FormerNameCalls returns, for every former name, how often it was called
// since the registry was made.
func (r *Registry) FormerNameCalls() map[string]uint64 {
	calls := map[string]uint64{}
	for name, o := range r.current().others {
		if o.rename != nil {
			calls[name] = o.calls.Load()
		}
	}
	return calls
}

// callOther answers a call by another name.
func (r *Registry) callOther(ctx context.Context, next mcp.MethodHandler, method string, req *mcp.CallToolRequest, o *otherName) (mcp.Result, error) {
	if o.rename != nil {
		gone := o.gone()
		r.opts.Observer.Observe(ctx, FormerNameCalled{Name: o.name, Tool: o.def.name, Gone: gone, Calls: o.calls.Add(1)})
		if gone {
			return o.farewell().Result(req), nil
		}
	}
	params := *req.Params
	params.Name = o.def.name
	if o.rename != nil {
		params.Arguments = o.rename.apply(params.Arguments)
	}
	inner := *req
	inner.Params = &params
	res, err := next(ctx, method, &inner)
	if err != nil || res == nil {
		return res, err
	}
	return o.disclose(res), nil
}

func (o *otherName) farewell() *errors.Failure {
	f := errors.NotFound("%s is no longer offered", o.name).
		Because("it was renamed to %s, and the former name worked until %s", o.def.name, o.rename.Sunset)
	if len(o.rename.Arguments) == 0 {
		return f.Next("call %s", o.def.name)
	}
	changes := ""
	for i, a := range o.rename.Arguments {
		if i > 0 {
			changes += ", "
		}
		changes += a[1] + " for what was " + a[0]
	}
	return f.Next("call %s with %s", o.def.name, changes)
}

// disclose says in a result that the call used another name.
func (o *otherName) disclose(res mcp.Result) mcp.Result {
	switch r := res.(type) {
	case *mcp.CallToolResult:
		if r == nil {
			return res
		}
		r = wire.WithMeta(r, wire.MetaRegistry, o.about)
		if o.notice != "" && r.InputRequests == nil {
			r.Content = append(slices.Clip(r.Content), &mcp.TextContent{Text: "Note: " + o.notice})
		}
		return r
	default:
		// A task, or another layer's result: this call's own, so nobody else
		// reads it.
		meta := maps.Clone(res.GetMeta())
		if meta == nil {
			meta = map[string]any{}
		}
		meta[wire.MetaRegistry] = o.about
		res.SetMeta(meta)
		return res
	}
}

// apply turns the arguments of the former tool into those of the present one.
// Arguments that are not an object stay as they are, for the tool to refuse.
func (r *Rename) apply(args json.RawMessage) json.RawMessage {
	if len(r.Arguments) == 0 && len(r.Constants) == 0 {
		return args
	}
	members, ok := rawMembers(args)
	if !ok {
		return args
	}
	have := func(name string) bool {
		return slices.ContainsFunc(members, func(m rawMember) bool { return m.name == name })
	}
	for _, a := range r.Arguments {
		if have(a[1]) {
			continue // if both were sent, the tool says that the former one is unknown
		}
		for i := range members {
			if members[i].name == a[0] {
				members[i].name = a[1]
			}
		}
	}
	for _, c := range r.Constants {
		if !have(c.Name) {
			members = append(members, rawMember{c.Name, c.Value})
		}
	}
	out := append(make([]byte, 0, len(args)+64), '{')
	for i, m := range members {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(wire.AppendString(out, m.name), ':')
		out = append(out, m.value...)
	}
	return append(out, '}')
}
