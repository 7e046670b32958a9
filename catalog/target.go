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
		if path == "" {
			return &target{op: op}, nil
		}
		// Which of the two is meant is not for us to choose.
		t, err := c.byPath(ctx, req, e, path, want)
		if err != nil || t.op != op {
			return nil, errors.Invalid("the path is not that of %s", op.ID).Next("give either the id with its arguments or the path")
		}
		return t, nil
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
	if strings.Contains(given, "#") {
		return nil, c.refusedPath(ctx, errors.New("it has a fragment"))
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
			if err := c.free(ctx, req, e, path); err != nil {
				return nil, err
			}
			return &target{path: given}, nil
		}
		if _, err := checkPath(placeholder.ReplaceAllString(path, "x"), "/"); err != nil {
			return nil, c.refusedPath(ctx, err)
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

// refusedPath says why a path is not called.
func (c *Catalog) refusedPath(ctx context.Context, why error) error {
	c.observer.Observe(ctx, PathRefused{Reason: why.Error()})
	return errors.Refused("this path is not called").Because("%s", why.Error()).Next("give the id of an entry and its arguments")
}

// free returns an error unless a path is that of no entry, however a server may
// read it: whatever is escaped, in capitals or not, with a slash, parameters,
// blanks or dots behind a segment.
func (c *Catalog) free(ctx context.Context, req *mcp.CallToolRequest, e *edition, path string) error {
	given := strings.Split(plainPath(path), "/")
	like := func(template string) bool { return likeTemplate(strings.Split(plainPath(template), "/"), given) }
	var of *operation
	for _, n := range []int{len(given) - 1, len(given)} { // a template may end in a slash
		for _, op := range e.templates[n] {
			switch {
			case !like(op.Path):
			case !c.allowed(ctx, req, op.Entry):
				return c.unknown(ctx, req, e, "path", path)
			case op.Method == "GET" || op.Method == "HEAD":
				of = op
			}
		}
	}
	if slices.ContainsFunc(e.unusable, like) {
		return c.unknown(ctx, req, e, "path", path)
	}
	if of != nil {
		return errors.Refused("this path is not called").Because("it may be read as the path of %s", of.ID).Next("give the id of an entry and its arguments")
	}
	return nil
}

// plainPath is the form in which paths are compared that a server may take for
// the same.
func plainPath(path string) string {
	for range decodeRounds {
		path = unescape(path)
	}
	list := strings.Split(strings.ReplaceAll(path, `\`, "/"), "/")
	plain := list[:0]
	for _, s := range list {
		s, _, _ = strings.Cut(s, ";")
		if s = strings.TrimRight(s, ". \t"); s != "" {
			plain = append(plain, strings.ToLower(s))
		}
	}
	return "/" + strings.Join(plain, "/")
}

// likeTemplate reports whether every segment is that of a template, or could
// stand for it.
func likeTemplate(template, path []string) bool {
	if len(template) != len(path) {
		return false
	}
	for i, t := range template {
		open, end := strings.IndexByte(t, '{'), strings.LastIndexByte(t, '}')
		if open < 0 {
			if t != path[i] {
				return false
			}
			continue
		}
		if len(path[i]) < open+len(t)-end-1 || !strings.HasPrefix(path[i], t[:open]) || !strings.HasSuffix(path[i], t[end+1:]) {
			return false
		}
	}
	return true
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
