package discovery

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/steadymcp/steady/errors"
	"github.com/steadymcp/steady/internal/wire"
)

// readied is what became of a call's arguments.
type readied struct {
	arguments json.RawMessage
	changes   []Change
	leaked    []string // paths of texts with call markup
	note      string
}

// fits reports whether arguments can be passed on as they are, by the quick
// look alone.
func (r *Resolver) fits(tool *mcp.Tool, raw json.RawMessage) bool {
	c := r.schema(tool)
	return c != nil && len(raw) <= maxArguments && c.root.scan(raw) == valid && !marked(raw)
}

// marked reports whether text may contain call markup: escaped or not, these
// words are part of all of it. A letter may also be written as a code.
func marked(raw []byte) bool {
	return bytes.Contains(raw, []byte("parameter")) || bytes.Contains(raw, []byte("invoke")) || bytes.Contains(raw, []byte(`\u00`))
}

// arguments mends the arguments of a call to tool, or returns the answer that
// refuses them.
func (r *Resolver) arguments(ctx context.Context, req *mcp.CallToolRequest, tool *mcp.Tool) (readied, *mcp.CallToolResult) {
	out := readied{arguments: req.Params.Arguments}
	c := r.schema(tool)
	var root *node
	if c != nil {
		done := r.settings.repair(tool, req.Params.Arguments, c)
		if len(done.problems) > 0 {
			r.counters.refused.Add(1)
			e := Refused{Tool: tool.Name}
			for _, p := range done.problems {
				e.Paths = append(e.Paths, plain(p.path, 120))
			}
			r.observer.Observe(ctx, e)
			return out, refused(tool.Name, c, done).Result(req)
		}
		out.arguments, out.changes, root = done.arguments, done.changes, done.root
		if len(out.changes) > 0 {
			for _, change := range out.changes {
				r.observer.Observe(ctx, Repaired{Tool: tool.Name, Change: change})
			}
			if !spellingOnly(out.changes) {
				out.note = "Arguments were adjusted: " + said(out.changes) + "."
			}
		}
	}
	out.leaked = leaks(out.arguments, root)
	if len(out.leaked) == 0 {
		r.countRepaired(out)
		return out, nil
	}
	for _, path := range out.leaked {
		r.observer.Observe(ctx, Leaked{Tool: tool.Name, Path: plain(path, 120)})
	}
	if readOnly, _ := effects(tool); r.settings.Strict && !readOnly {
		r.counters.refused.Add(1)
		f := errors.Invalid("The text of %s contains markup of the call itself", strings.Join(out.leaked, ", ")).
			Because("a closing tag was probably misspelled, and part of one argument, or a whole other one, has ended up in this text").
			Next("send each argument as a value of its own")
		return out, wire.WithMeta(f.Result(req), wire.MetaDiscovery, disclosure{Leaked: out.leaked})
	}
	r.countRepaired(out)
	out.note = strings.TrimSpace(out.note + " The text of " + strings.Join(out.leaked, ", ") + " contains markup of the call itself; an argument may have been swallowed by it.")
	return out, nil
}

func (r *Resolver) countRepaired(out readied) {
	if len(out.changes) > 0 {
		r.counters.repaired.Add(1)
	}
}

// spellingOnly reports whether the changes could not have altered the meaning.
func spellingOnly(changes []Change) bool {
	for _, c := range changes {
		switch c.Kind {
		case "empty", "json", "unwrapped", "spelling", "affix", "number", "integer", "boolean", "string", "enum", "list":
		default:
			return false
		}
	}
	return true
}

// said lists changes for a reader, without values.
func said(changes []Change) string {
	var parts []string
	for i, c := range changes {
		if i == maxListed {
			parts = append(parts, "and more")
			break
		}
		path := plain(c.Path, 80)
		switch {
		case c.From != "":
			parts = append(parts, quote(c.From)+" was taken as "+path)
		case c.Kind == "dropped":
			parts = append(parts, path+" was left out")
		default:
			parts = append(parts, path+" ("+c.Kind+")")
		}
	}
	return strings.Join(parts, ", ")
}

// markup is what the syntax of a call looks like when a model's closing tag
// went wrong and the rest of the call became part of a text.
var markup = []string{"</parameter>", "<parameter name=", "</invoke>", "<invoke name="}

// leaks returns the paths of the texts that contain call markup.
func leaks(raw []byte, root *node) []string {
	if !marked(raw) || len(raw) > maxArguments {
		return nil
	}
	if root == nil {
		var err error
		if root, err = parseJSON(raw); err != nil {
			return nil
		}
	}
	var paths []string
	var walk func(n *node, path string)
	walk = func(n *node, path string) {
		if len(paths) >= maxProblems {
			return
		}
		if n.kind == 's' {
			s := n.str()
			for _, m := range markup {
				if strings.Contains(s, m) {
					paths = append(paths, path)
					break
				}
			}
		}
		for _, m := range n.members {
			walk(m.value, pointer(path, m.key))
		}
		for i, v := range n.items {
			walk(v, pointer(path, itoa(i)))
		}
	}
	walk(root, "")
	return paths
}

// repairedKey marks a context under which arguments have been looked at, so
// that a handler that is wrapped as well leaves them alone.
type repairedKey struct{}

type repairedArguments struct{ raw json.RawMessage }

// wrapped is set once a handler is wrapped: only then is the mark worth setting.
var wrapped atomic.Bool

func withRepaired(ctx context.Context, raw json.RawMessage) context.Context {
	if !wrapped.Load() {
		return ctx
	}
	return context.WithValue(ctx, repairedKey{}, repairedArguments{raw})
}

// alreadyRepaired reports whether these very arguments were looked at.
func alreadyRepaired(ctx context.Context, raw json.RawMessage) bool {
	v, ok := ctx.Value(repairedKey{}).(repairedArguments)
	return ok && len(v.raw) == len(raw) && (len(raw) == 0 || &v.raw[0] == &raw[0])
}
