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
	if err := d.checkChanges(r, properties); err != nil {
		return nil, fmt.Errorf("former name %q: %w", r.Name, err)
	}
	return o, nil
}

// checkChanges says what is wrong with the changes of a former name's arguments.
func (d *definition) checkChanges(r *Rename, properties map[string]bool) error {
	from, to := map[string]bool{}, map[string]bool{}
	for _, a := range r.Arguments {
		switch {
		case !properties[a[1]]:
			return fmt.Errorf("%q is no parameter of the tool", a[1])
		case from[a[0]]:
			return fmt.Errorf("the argument %q is renamed twice", a[0])
		case to[a[1]]:
			return fmt.Errorf("two arguments are renamed to %q", a[1])
		}
		from[a[0]], to[a[1]] = true, true
	}
	if len(r.Constants) == 0 {
		return nil
	}
	// What a call must have besides is not this check's.
	schema, err := d.inputSchema("required", "anyOf", "oneOf", "allOf", "not", "if", "then", "else",
		"dependentRequired", "dependentSchemas", "minProperties", "propertyNames")
	if err != nil {
		return err
	}
	for _, c := range r.Constants {
		if !properties[c.Name] {
			return fmt.Errorf("%q is no parameter of the tool", c.Name)
		}
		var value any
		if err := json.Unmarshal(c.Value, &value); err != nil {
			return fmt.Errorf("the value of %q cannot be read: %w", c.Name, err)
		}
		if err := schema.Validate(map[string]any{c.Name: value}); err != nil {
			return fmt.Errorf("%s is no value of %q: %w", c.Value, c.Name, err)
		}
	}
	return nil
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

// AnswersAlias reports whether calls by name are the registry's to translate,
// with [Registry.AnswerAlias]. That is so for former names: only the registry
// knows their old arguments, counts them, and says goodbye after their sunset.
func (r *Registry) AnswersAlias(name string) bool {
	o := r.current().others[name]
	return o != nil && o.rename != nil
}

// AnswerAlias answers a call by another name: it calls next, at most once, with
// the present name and the present arguments, and says in the result what the
// call was translated from. Whatever next leads to (limits, tasks) sees the
// present name only. A name that is no other name, or that this caller must not
// know, is answered as unknown.
func (r *Registry) AnswerAlias(ctx context.Context, method string, req *mcp.CallToolRequest, next mcp.MethodHandler) (mcp.Result, error) {
	st := r.current()
	o := st.others[req.Params.Name]
	if o == nil || r.hidden(ctx, st, req, o.def) {
		return nil, unknownTool(req.Params.Name)
	}
	return r.callOther(ctx, next, method, req, o)
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
	now := make(map[string]string, len(r.Arguments))
	for _, a := range r.Arguments {
		now[a[0]] = a[1]
	}
	// All are renamed at once, so that two may change places. What was sent by
	// the present name stays, unless it is a former name itself: if an argument
	// is there by both names, the tool says that the former one is unknown.
	have := make(map[string]bool, len(members))
	for _, m := range members {
		if now[m.name] == "" {
			have[m.name] = true
		}
	}
	for i := range members {
		if name := now[members[i].name]; name != "" && !have[name] {
			members[i].name = name
		}
	}
	for _, c := range r.Constants {
		if !slices.ContainsFunc(members, func(m rawMember) bool { return m.name == c.Name }) {
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
