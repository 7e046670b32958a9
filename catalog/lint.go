package catalog

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/steadymcp/steady/errors"
)

// maxShortcuts is how many shortcuts a catalog may have before Lint objects: a
// new source never adds a tool.
const maxShortcuts = 8

// Lint returns what makes the catalog hard to use, for a test to print: too
// many shortcuts, malformed entries, entries that a search cannot find or tell
// apart. It loads the entries if there are none. Each line names the entry. Of a
// [LiveSource] nothing can be told without a request, which is an error.
func (c *Catalog) Lint(ctx context.Context) ([]string, error) {
	if c.keeper == nil {
		return nil, errors.New("catalog: the entries depend on who asks, and nobody does")
	}
	e, err := c.shelf.edition(ctx, nil)
	if err != nil {
		return nil, err
	}
	var out []string
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	if n := len(c.opts.Shortcuts); n > maxShortcuts {
		add("%d shortcuts, more than %d: an entry need not be a tool", n, maxShortcuts)
	}
	for _, s := range c.opts.Shortcuts {
		if e.operation(s.Entry) == nil {
			add("shortcut %s: there is no entry %s", s.Name, s.Entry)
		}
	}
	for _, p := range e.problems {
		add("%v", p)
	}
	summaries := map[string]string{}
	for i := range e.operations {
		op := &e.operations[i]
		switch summary := strings.ToLower(strings.TrimSpace(op.Summary)); {
		case summary == "":
			add("%s: no summary, which is what a search reads first", op.ID)
		case len(summary) > 300:
			add("%s: a summary of %d bytes is no summary", op.ID, len(summary))
		case summaries[summary] != "":
			add("%s: the same summary as %s", op.ID, summaries[summary])
		default:
			summaries[summary] = op.ID
		}
		if len(op.Example) == 0 && len(op.schema.Required) > 0 {
			add("%s: no example, and required parameters", op.ID)
		}
		if len(op.Example) > 0 && op.example == nil {
			add("%s: the example does not fit the parameters", op.ID)
		}
		for _, name := range sortedKeys(op.schema.Properties) {
			if s := op.schema.Properties[name]; s != nil && s.Description == "" && len(s.Enum) == 0 && slices.Contains(op.schema.Required, name) {
				add("%s: the required parameter %s has no description", op.ID, name)
			}
		}
	}
	return out, nil
}
