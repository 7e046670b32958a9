package discovery

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/steadymcp/steady/errors"
	"github.com/steadymcp/steady/internal/wire"
	"github.com/steadymcp/steady/observe"
)

// A Resolver finds out what callers mean. Make one with [New]. It may be used
// by many goroutines and by many servers at once; what it keeps (indexes of
// lists of tools, resolved schemas, counters) lives as long as it does and is
// bounded.
type Resolver struct {
	settings *settings
	observer observe.Observer
	catalogs catalogs
	schemas  schemas
	counters counters
}

// New returns a Resolver. A nil opts means the zero Options.
func New(opts *Options) *Resolver {
	s := newSettings(opts)
	return &Resolver{settings: s, observer: s.Observer}
}

// Resolve finds the tool that requested means among tools, as the function
// [Resolve] does, and keeps what it has prepared for the next call with equal
// tools.
func (r *Resolver) Resolve(requested string, tools []*mcp.Tool) Resolution {
	return r.index(tools).resolve(requested, r.settings)
}

// Middleware returns receiving middleware. It may be called many times.
//
// For tools/call it first asks the rest of the chain for tools/list, once for
// each page, so that it resolves among what this caller may see
// ([Options].ListEvery says when not). Then it calls
// next at most once with the request to run. For prompts/get and resources/read it does the same with the
// steps that lose nothing. Everything else passes through.
func (r *Resolver) Middleware() mcp.Middleware {
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		listed := &seen{every: r.settings.ListEvery} // of this server: another one has other tools
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			switch q := req.(type) {
			case *mcp.CallToolRequest:
				if q != nil && q.Params != nil {
					return r.callTool(ctx, next, listed, method, q)
				}
			case *mcp.GetPromptRequest:
				if q != nil && q.Params != nil {
					return r.getPrompt(ctx, next, method, q)
				}
			case *mcp.ReadResourceRequest:
				if q != nil && q.Params != nil {
					return r.readResource(ctx, next, method, q)
				}
			}
			res, err := next(ctx, method, req)
			if err == nil && method == wire.MethodInitialize {
				r.learn(res)
			}
			return res, err
		}
	}
}

// An aliasAnswerer is an [Aliases] that translates calls by some of its names
// itself, name and arguments, and says so in the result. It gets such a call by
// that name, with its arguments as they were sent, and calls next with one of
// the tool, so that only the tool's own name goes further inside.
type aliasAnswerer interface {
	AnswersAlias(name string) bool
	AnswerAlias(ctx context.Context, method string, req *mcp.CallToolRequest, next mcp.MethodHandler) (mcp.Result, error)
}

// disclosure is what _meta says about a call.
type disclosure struct {
	Requested   string   `json:"requested,omitempty"`
	Resolved    string   `json:"resolved,omitempty"`
	Step        Step     `json:"step,omitempty"`
	Notice      string   `json:"notice,omitempty"`
	Arguments   []Change `json:"arguments,omitempty"`
	Leaked      []string `json:"leakedMarkup,omitempty"`
	Suggestions []string `json:"suggestions,omitempty"`
}

func (r *Resolver) callTool(ctx context.Context, next mcp.MethodHandler, listed *seen, method string, req *mcp.CallToolRequest) (mcp.Result, error) {
	name := req.Params.Name
	tool := listed.get(name)
	fits := tool != nil && r.fits(tool, req.Params.Arguments)
	if !fits {
		tools, found, err := visibleTools(ctx, next, req, name)
		if err != nil || found == nil && len(tools) == 0 {
			return next(ctx, method, req) // without a list there is nothing to go by
		}
		if found == nil {
			r.counters.calls.Add(1)
			return r.mend(ctx, next, method, req, tools, nil)
		}
		listed.put(found)
		tool, fits = found, r.fits(found, req.Params.Arguments)
	}
	r.counters.calls.Add(1)
	r.counters.exact.Add(1)
	r.observer.Observe(ctx, Exact{Tool: name})
	if fits {
		return next(withRepaired(ctx, req.Params.Arguments), method, req)
	}
	return r.mend(ctx, next, method, req, nil, tool)
}

// mend resolves and repairs a call that needs it. It is apart from callTool so
// that a call which needs nothing runs on a small stack: growing it would cost
// more than all else.
//
//go:noinline
func (r *Resolver) mend(ctx context.Context, next mcp.MethodHandler, method string, req *mcp.CallToolRequest, tools []*mcp.Tool, tool *mcp.Tool) (mcp.Result, error) {
	name := req.Params.Name
	var d disclosure
	note := ""
	if tool == nil {
		res := r.Resolve(name, tools)
		if res.Tool == "" {
			return r.miss(ctx, req, res, tools)
		}
		if a, ok := r.settings.aliases.(aliasAnswerer); ok && res.Alias != "" && a.AnswersAlias(res.Alias) {
			params := *req.Params
			params.Name = res.Alias
			changed := *req
			changed.Params = &params
			return a.AnswerAlias(ctx, method, &changed, r.known(next, tools, find(tools, res.Tool)))
		}
		tool = find(tools, res.Tool)
		r.counters.routed.Add(1)
		r.observer.Observe(ctx, Routed{Method: wire.MethodCallTool, Requested: shown(name), Tool: res.Tool, Step: res.Step, Reason: res.Reason})
		d.Requested, d.Resolved, d.Step, d.Notice = shown(name), res.Tool, res.Step, res.Notice
		if !res.Step.Lossless() {
			note = fmt.Sprintf("There is no tool named %s; %s was called instead.", quote(name), res.Tool)
		}
		if res.Notice != "" {
			note = strings.TrimSpace(note + " " + res.Notice)
		}
	}
	out, refusal := r.arguments(ctx, req, tool)
	if refusal != nil {
		if d.Requested == "" {
			return refusal, nil
		}
		d.Leaked = out.leaked
		return disclose(refusal, d, d.Notice), nil
	}
	d.Arguments, d.Leaked = out.changes, out.leaked
	if out.note != "" {
		note = strings.TrimSpace(note + " " + out.note)
	}
	silent := d.Requested == "" && len(d.Arguments) == 0 && len(d.Leaked) == 0
	if silent && len(out.arguments) == len(req.Params.Arguments) {
		return next(withRepaired(ctx, req.Params.Arguments), method, req)
	}
	params := *req.Params
	params.Name, params.Arguments = tool.Name, out.arguments
	changed := *req
	changed.Params = &params
	result, err := next(withRepaired(ctx, out.arguments), method, &changed)
	if err != nil || silent {
		return result, err
	}
	return disclose(result, d, note), nil
}

// known runs a call of a tool that is found already.
func (r *Resolver) known(next mcp.MethodHandler, tools []*mcp.Tool, tool *mcp.Tool) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		call, ok := req.(*mcp.CallToolRequest)
		if !ok || call == nil || call.Params == nil || call.Params.Name != tool.Name {
			return next(ctx, method, req)
		}
		if r.fits(tool, call.Params.Arguments) {
			return next(withRepaired(ctx, call.Params.Arguments), method, call)
		}
		return r.mend(ctx, next, method, call, tools, tool)
	}
}

// find returns the tool of that name; the resolver's index may hold another
// server's equal one.
func find(tools []*mcp.Tool, name string) *mcp.Tool {
	for _, t := range tools {
		if t != nil && t.Name == name {
			return t
		}
	}
	return nil
}

// disclose adds to a result what was rewritten on the way to it.
func disclose(res mcp.Result, d disclosure, note string) mcp.Result {
	switch res := res.(type) {
	case *mcp.CallToolResult:
		if res == nil {
			return res
		}
		c := wire.WithMeta(res, wire.MetaDiscovery, d)
		if note != "" && len(c.InputRequests) == 0 {
			c.Content = append(slices.Clip(c.Content), &mcp.TextContent{Text: note})
		}
		return c
	case *mcp.GetPromptResult:
		if res == nil {
			return res
		}
		c := *res
		c.Meta = withMeta(res.Meta, d)
		return &c
	case *mcp.ReadResourceResult:
		if res == nil {
			return res
		}
		c := *res
		c.Meta = withMeta(res.Meta, d)
		return &c
	default:
		return discloseOwn(res, d)
	}
}

// discloseOwn does the same for another layer's own kind of result, a task for
// example. That layer may still be using it, so the disclosure goes to a copy;
// a result whose Meta is no part of the struct itself is left as it is.
func discloseOwn(res mcp.Result, d disclosure) mcp.Result {
	v := reflect.ValueOf(res)
	if v.Kind() != reflect.Pointer || v.IsNil() || v.Elem().Kind() != reflect.Struct {
		return res
	}
	meta, ok := v.Elem().Type().FieldByName("Meta")
	if !ok || meta.Type != reflect.TypeFor[mcp.Meta]() {
		return res
	}
	for i := 1; i < len(meta.Index); i++ {
		if v.Elem().Type().FieldByIndex(meta.Index[:i]).Type.Kind() != reflect.Struct {
			return res
		}
	}
	c := reflect.New(v.Elem().Type())
	c.Elem().Set(v.Elem())
	c.Elem().FieldByIndex(meta.Index).Set(reflect.ValueOf(mcp.Meta(withMeta(res.GetMeta(), d))))
	return c.Interface().(mcp.Result)
}

func withMeta(m map[string]any, d disclosure) map[string]any {
	c := make(map[string]any, len(m)+1)
	maps.Copy(c, m)
	c[wire.MetaDiscovery] = d
	return c
}

// miss answers a call of a tool that nobody knows.
func (r *Resolver) miss(ctx context.Context, req *mcp.CallToolRequest, res Resolution, tools []*mcp.Tool) (mcp.Result, error) {
	name := req.Params.Name
	d := disclosure{Requested: shown(name)}
	var near []string
	for _, c := range res.Candidates {
		d.Suggestions = append(d.Suggestions, c.Name)
		if t := find(tools, c.Name); t != nil {
			near = append(near, summary(t))
		}
	}
	f := errors.NotFound("%s", "There is no tool named "+quote(name))
	if len(near) > 0 {
		r.counters.suggested.Add(1)
		r.observer.Observe(ctx, Suggested{Requested: d.Requested, Names: d.Suggestions, Reason: res.Reason})
		if res.Reason != "" {
			f = f.Because("%s", res.Reason)
		}
		f = f.Next("%s", "call the one that does what you want by its exact name: "+strings.Join(near, "; "))
	} else {
		r.counters.missed.Add(1)
		r.observer.Observe(ctx, Missed{Requested: d.Requested})
		f = f.Because("no tool that you can see is near it")
		if finder := r.finder(tools); finder != "" {
			f = f.Next("%s", "look for the tool with "+finder)
		} else {
			f = f.Next("choose a tool from tools/list; if none does what you want, this server cannot do it")
		}
	}
	if r.settings.Strict {
		return nil, invalidParams(fmt.Sprintf("unknown tool %s: %s", quote(name), f.Error()), d)
	}
	return wire.WithMeta(f.Result(req), wire.MetaDiscovery, d), nil
}

// finder names the tool that looks for tools, if there is one.
func (r *Resolver) finder(tools []*mcp.Tool) string {
	for _, t := range tools {
		if t == nil {
			continue
		}
		words := split(t.Name)
		if len(words) < 2 {
			continue
		}
		lx := r.settings.lex.words[words[0]]
		if lx == nil || lx.verb == 0 {
			continue
		}
		v := r.settings.lex.verbs[lx.verb]
		last, _ := singular(words[len(words)-1])
		if v.family == "read" && v.sub == "search" && (last == "tool" || last == "endpoint" || last == "api") {
			return t.Name
		}
	}
	return ""
}

// summary is a tool in one line: its name, purpose and required arguments.
func summary(t *mcp.Tool) string {
	purpose := t.Description
	if purpose == "" {
		purpose = t.Title
	}
	purpose = firstLine(purpose)
	var need []string
	names, required := schemaNames(t.InputSchema)
	for i, n := range names {
		if required[i] {
			need = append(need, plain(n, 40))
		}
	}
	var extra []string
	if purpose != "" {
		extra = append(extra, purpose)
	}
	if len(need) > 0 {
		extra = append(extra, "requires "+list(need))
	}
	if len(extra) == 0 {
		return t.Name
	}
	return t.Name + " (" + strings.Join(extra, "; ") + ")"
}

// firstLine is the first sentence of a description, bounded and on one line.
func firstLine(s string) string {
	s = strings.TrimSpace(s)
	if i := strings.IndexAny(s, "\r\n"); i >= 0 {
		s = s[:i]
	}
	if i := strings.Index(s, ". "); i >= 0 {
		s = s[:i]
	}
	return strings.TrimSuffix(plain(s, 120), ".")
}

// plain is s without what cannot be seen, cut to n characters.
func plain(s string, n int) string {
	var b strings.Builder
	for _, c := range unescaped(s) {
		if invisible(c) || c == 0x2028 || c == 0x2029 {
			continue
		}
		if n--; n < 0 {
			b.WriteString("...")
			break
		}
		b.WriteRune(c)
	}
	return b.String()
}

// shown is a requested name as it may be shown to anybody.
func shown(name string) string { return plain(name, 80) }

func invalidParams(message string, data any) *jsonrpc.Error {
	e := &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: message}
	if raw, err := json.Marshal(data); err == nil {
		e.Data = raw
	}
	return e
}
