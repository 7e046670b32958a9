package protect

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/steadymcp/steady/catalog"
	"github.com/steadymcp/steady/cmd/steady/internal/config"
	"github.com/steadymcp/steady/discovery"
	"github.com/steadymcp/steady/limits"
	"github.com/steadymcp/steady/observe"
	"github.com/steadymcp/steady/pagination"
	"github.com/steadymcp/steady/registry"
	"github.com/steadymcp/steady/tasks"
)

// In this file the sections of the configuration become the packages' options.

func (p *Protector) repairing() *discovery.Options {
	r := p.cfg.Repair
	o := &discovery.Options{
		Servers: r.Servers, Prefixes: r.Prefixes, Suffixes: r.Suffixes,
		Abbreviations: r.Abbreviations, Synonyms: r.Synonyms,
		RouteWrites: r.RouteWrites, RouteTools: r.RouteTools,
		Strict: r.Strict, Suggestions: r.Suggestions,
		Observer: p.observer,
	}
	if p.names != nil {
		o.Aliases = p.names
	}
	return o
}

func limiting(l *config.Limits, o observe.Observer) *limits.Options {
	opts := &limits.Options{
		Deadline: l.Deadline, Running: l.Running, PerCaller: l.PerCaller, Queue: l.Queue, Wait: l.Wait,
		Rate: limits.Rate{PerSecond: float64(l.Rate), Burst: l.Burst}, Tools: map[string]limits.Limit{}, Observer: o,
	}
	for name, t := range l.Tools {
		opts.Tools[name] = limits.Limit{
			Deadline: t.Deadline, Running: t.Running, Rate: limits.Rate{PerSecond: float64(t.Rate), Burst: t.Burst},
		}
	}
	return opts
}

func tasking(t *config.Tasks, o observe.Observer) *tasks.Options {
	opts := &tasks.Options{
		Policies:      map[string]tasks.Policy{},
		Store:         tasks.NewMemoryStore(&tasks.MemoryOptions{MaxTasks: t.Keep, MaxBytes: int(t.Bytes)}),
		ExtensionOnly: t.ExtensionOnly,
		ToolNames:     tasks.ToolNames{Status: t.Names.Status, Result: t.Names.Result, Cancel: t.Names.Cancel, Answer: t.Names.Answer},
		Observer:      o,
	}
	for name, task := range t.Tools {
		policy := tasks.Policy{
			MaxRun: task.MaxRun, TTL: task.For, PollInterval: task.Poll,
			Concurrency: task.Concurrency, Queue: task.Queue, Window: task.Window,
			// What the server asks the client for comes in a result, or past us.
			Rounds: true,
		}
		policy.Grace = time.Duration(task.Grace)
		if task.Grace == config.Eager {
			policy.Grace = tasks.Eager
		}
		if task.Required {
			policy.Support = tasks.Required
		}
		opts.Policies[name] = policy
	}
	return opts
}

func budgeting(r *config.Results, o observe.Observer) *pagination.BudgetOptions {
	opts := &pagination.BudgetOptions{Bytes: int(r.Bytes), Resources: int(r.Resources), PerTool: map[string]int{}, Observer: o}
	for name, n := range r.PerTool {
		opts.PerTool[name] = int(n)
	}
	if k := r.Keep; k != nil {
		opts.Spill = &pagination.SpillOptions{Bytes: int(k.Bytes), PerResult: int(k.PerResult), TTL: k.For, Tool: k.Tool}
	}
	return opts
}

// otherNames returns what the configuration says about names, and what models call
// the id of a tool that they have found, which elsewhere is its name.
func (p *Protector) otherNames() *config.Names {
	if p.cfg.Search == nil || p.cfg.Repair == nil {
		return p.cfg.Names
	}
	var names config.Names
	if p.cfg.Names != nil {
		names = *p.cfg.Names
	}
	names.Arguments = maps.Clone(names.Arguments)
	if names.Arguments == nil {
		names.Arguments = map[string]map[string]string{}
	}
	n := p.cfg.Search.Names.WithDefaults()
	for _, tool := range []string{n.Describe, n.Call, n.Write} {
		if _, said := names.Arguments[tool]; !said {
			names.Arguments[tool] = map[string]string{"name": "id", "tool": "id", "tool_name": "id"}
		}
	}
	return &names
}

// registryOf returns a registry that knows other names of tools which it does not
// have: of each it knows the parameters that the names are about.
func registryOf(n *config.Names, o observe.Observer) (*registry.Registry, error) {
	type about struct {
		properties map[string]any
		options    []registry.ToolOption
	}
	tools := map[string]*about{}
	tool := func(name string) *about {
		if tools[name] == nil {
			tools[name] = &about{properties: map[string]any{}}
		}
		return tools[name]
	}
	for _, former := range slices.Sorted(maps.Keys(n.Former)) {
		f := n.Former[former]
		t := tool(f.Tool)
		var changes []registry.ArgumentChange
		for _, old := range slices.Sorted(maps.Keys(f.Arguments)) {
			t.properties[f.Arguments[old]] = map[string]any{}
			changes = append(changes, registry.RenamedArgument(old, f.Arguments[old]))
		}
		for _, name := range slices.Sorted(maps.Keys(f.Added)) {
			t.properties[name] = map[string]any{}
			changes = append(changes, registry.AddedArgument(name, f.Added[name]))
		}
		t.options = append(t.options, registry.Renamed(former, string(f.Until), changes...))
	}
	for _, alias := range slices.Sorted(maps.Keys(n.Aliases)) {
		t := tool(n.Aliases[alias])
		t.options = append(t.options, registry.Aliases(alias))
	}
	for _, name := range slices.Sorted(maps.Keys(n.Arguments)) {
		t := tool(name)
		for _, alias := range slices.Sorted(maps.Keys(n.Arguments[name])) {
			parameter := n.Arguments[name][alias]
			t.properties[parameter] = map[string]any{}
			t.options = append(t.options, registry.ArgumentAliases(parameter, alias))
		}
	}
	r := registry.New(nil, &registry.Options{SpecNames: true, Verbatim: true, Observer: observe.Discard})
	never := func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return nil, fmt.Errorf("the registry of other names runs nothing")
	}
	for _, name := range slices.Sorted(maps.Keys(tools)) {
		t := tools[name]
		definition := &mcp.Tool{Name: name, InputSchema: map[string]any{"type": "object", "properties": t.properties}}
		if err := registry.AddRaw(r, definition, never, t.options...); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// ownTools are the names of the tools that protections add, besides the search's.
func (p *Protector) ownTools() (names []string) {
	if t := p.cfg.Tasks; t != nil && !t.ExtensionOnly {
		n := t.Names.WithDefaults()
		names = append(names, n.Status, n.Result, n.Cancel, n.Answer)
	}
	if r := p.cfg.Results; r != nil && r.Keep != nil {
		names = append(names, cmp.Or(r.Keep.Tool, "read_result"))
	}
	return names
}

// visible returns the registry's rule for what v shows. It is for the server's tools
// only: those that protections add, ours, are not hidden.
func visible(v *config.Visibility, ours []string) registry.Visibility {
	return func(_ context.Context, _ mcp.Request, tool *mcp.Tool) bool {
		if slices.Contains(ours, tool.Name) {
			return true
		}
		fits := func(p config.Pattern) bool { return p.Matches(tool.Name) }
		tags := tagsOf(tool)
		tagged := func(tag string) bool { return slices.Contains(tags, tag) }
		switch {
		case len(v.Only) > 0 && !slices.ContainsFunc(v.Only, fits), slices.ContainsFunc(v.Hide, fits):
			return false
		case len(v.OnlyTags) > 0 && !slices.ContainsFunc(v.OnlyTags, tagged), slices.ContainsFunc(v.HideTags, tagged):
			return false
		}
		return !v.ReadOnly || tool.Annotations != nil && tool.Annotations.ReadOnlyHint
	}
}

// tagsOf returns the tags that a tool's _meta has: the protocol has no place for
// them, and frameworks have theirs.
func tagsOf(tool *mcp.Tool) []string {
	var out []string
	for _, holder := range []any{map[string]any(tool.Meta), tool.Meta["fastmcp"], tool.Meta["_fastmcp"]} {
		holder, _ := holder.(map[string]any)
		list, _ := holder["tags"].([]any)
		for _, tag := range list {
			if text, ok := tag.(string); ok {
				out = append(out, text)
			}
		}
	}
	return out
}

// addSearch puts the server's tools behind a search. It comes last. The tools that
// other protections add, ours, stay in the list.
func (p *Protector) addSearch(server *mcp.Server, ours []string) error {
	s := p.cfg.Search
	names := s.Names.WithDefaults()
	source := catalog.Tools(server, &catalog.ToolsOptions{
		Advertise: slices.Concat([]string{}, s.Advertise, ours),
		Except:    slices.Concat(s.Except, ours),
	})
	opts := &catalog.Options{
		Names:    catalog.Names{Find: names.Find, Describe: names.Describe, Browse: names.Browse, Call: names.Call, Write: names.Write},
		NoWrites: s.NoWrites,
		Observer: p.observer,
	}
	if p.resolver != nil {
		repairing := p.repairing()
		opts.Repairer = catalog.RepairFunc(func(_ context.Context, tool *mcp.Tool, arguments json.RawMessage) (json.RawMessage, error) {
			repaired, _, err := discovery.Repair(tool, arguments, repairing)
			return repaired, err
		})
	}
	c, err := catalog.New(source, opts)
	if err != nil {
		return err
	}
	return c.Install(context.Background(), server)
}
