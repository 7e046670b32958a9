package catalog

import (
	"context"
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/steadymcp/steady/errors"
)

// A target is what a call asks for.
type target struct {
	op   *operation     // nil for a free path
	args map[string]any // read from a concrete path
	path string         // of a free path
}

// An effect is what a tool may do to the world.
type effect int

const (
	onlyReads effect = iota
	onlyWrites
	anyEffect
)

// target finds what is asked for by id or path. What the caller may not know
// is not found.
func (c *Catalog) target(ctx context.Context, req *mcp.CallToolRequest, e *edition, args map[string]any, want effect) (*target, error) {
	id, _ := args["id"].(string)
	path, _ := args["path"].(string)
	switch {
	case id != "":
		op := e.lookup(id)
		if op == nil || !c.allowed(ctx, req, op.Entry) {
			return nil, c.unknown(ctx, req, e, "id", id)
		}
		return &target{op: op}, nil
	case path != "":
		return c.byPath(ctx, req, e, path, want)
	}
	return nil, errors.Invalid("neither id nor path is given").Next("give the id of an entry; %s finds it", c.names.Find)
}

// unknown says that nothing has an id or path, and what is like it.
func (c *Catalog) unknown(ctx context.Context, req *mcp.CallToolRequest, e *edition, what, name string) error {
	f := errors.NotFound("no entry has the %s %q", what, clip(name, 128))
	near := e.index.search(clip(name, 256), 3, c.allows(ctx, req))
	if len(near.Hits) == 0 {
		return f.Next("ask %s in plain words", c.names.Find)
	}
	var ids []string
	for _, h := range near.Hits[:min(3, len(near.Hits))] {
		ids = append(ids, h.Entry.ID)
	}
	return f.Next("perhaps %s; or ask %s in plain words", strings.Join(ids, ", "), c.names.Find)
}

// byPath finds the entry whose template is a path, or fits it. What stands in
// the path and in its query become arguments, which are checked like others.
func (c *Catalog) byPath(ctx context.Context, req *mcp.CallToolRequest, e *edition, given string, want effect) (*target, error) {
	method := ""
	if m, rest, ok := strings.Cut(given, " "); ok && slices.Contains(methods[1:], strings.ToUpper(m)) {
		method, given = strings.ToUpper(m), strings.TrimSpace(rest)
	}
	path, rawQuery, _ := strings.Cut(given, "?")
	var fits []*target
	for _, op := range e.templates[segments(path)] {
		args, ok := matchTemplate(op.Path, path)
		if !ok || method != "" && op.Method != method || !c.allowed(ctx, req, op.Entry) {
			continue
		}
		fits = append(fits, &target{op: op, args: args})
	}
	// A template as it is written, or with fewer placeholders, is meant first.
	slices.SortStableFunc(fits, func(a, b *target) int {
		return len(a.args) - len(b.args)
	})
	for len(fits) > 1 && len(fits[len(fits)-1].args) > len(fits[0].args) {
		fits = fits[:len(fits)-1]
	}
	if len(fits) > 1 && want != anyEffect {
		fits = slices.DeleteFunc(fits, func(t *target) bool { return t.op.reads() != (want == onlyReads) })
	}
	switch {
	case len(fits) > 1:
		var ids []string
		for _, t := range fits {
			ids = append(ids, t.op.ID)
		}
		return nil, errors.Invalid("several entries have this path").Next("give one of the ids %s", clip(strings.Join(ids, ", "), 500))
	case len(fits) == 0:
		if c.opts.FreePaths && want == onlyReads && (method == "" || method == "GET") {
			return &target{path: given}, nil
		}
		if _, err := checkPath(placeholder.ReplaceAllString(path, "x"), "/"); err != nil {
			c.observer.Observe(ctx, PathRefused{Reason: err.Error()})
			return nil, errors.Refused("this path is not called").Because("%s", err.Error()).Next("give the id of an entry and its arguments")
		}
		return nil, c.unknown(ctx, req, e, "path", path)
	}
	t := fits[0]
	if rawQuery != "" {
		query, err := parseQuery(rawQuery)
		if err != nil {
			return nil, errors.Refused("this path is not called").Because("%s", err.Error())
		}
		for name, values := range query {
			s := t.op.known[name]
			if s == nil && !t.op.open {
				return nil, t.op.invalid("there is no parameter %q", clip(name, 60))
			}
			t.args[name] = fromText(s, values)
		}
	}
	for name, v := range t.args {
		if s, ok := v.(string); ok {
			t.args[name] = fromText(t.op.known[name], []string{s})
		}
	}
	return t, nil
}

// matchTemplate reports whether a path is a template or fits it, and what
// stands for the placeholders then.
func matchTemplate(template, path string) (map[string]any, bool) {
	args := map[string]any{}
	if template == path {
		return args, true
	}
	t, p := strings.Split(template, "/"), strings.Split(path, "/")
	if len(t) != len(p) {
		return nil, false
	}
	for i := range t {
		open := strings.IndexByte(t[i], '{')
		if open < 0 {
			if t[i] != p[i] {
				return nil, false
			}
			continue
		}
		end := strings.IndexByte(t[i], '}')
		before, after := t[i][:open], t[i][end+1:]
		if strings.Contains(after, "{") || len(p[i]) <= len(before)+len(after) || !strings.HasPrefix(p[i], before) || !strings.HasSuffix(p[i], after) {
			return nil, false
		}
		value, err := url.PathUnescape(p[i][len(before) : len(p[i])-len(after)])
		if err != nil || checkSegment(value) != nil {
			return nil, false
		}
		args[t[i][open+1:end]] = value
	}
	return args, true
}

// fromText reads values that were written in a URL as the schema wants them.
func fromText(s *jsonschema.Schema, values []string) any {
	if s != nil && s.Type == "array" {
		list := make([]any, len(values))
		for i, v := range values {
			list[i] = fromText(s.Items, []string{v})
		}
		return list
	}
	v := values[len(values)-1]
	if s != nil {
		switch s.Type {
		case "integer", "number":
			if _, err := strconv.ParseFloat(v, 64); err == nil && json.Valid([]byte(v)) {
				return json.Number(v)
			}
		case "boolean":
			if b, err := strconv.ParseBool(v); err == nil {
				return b
			}
		}
	}
	return v
}
