package fleet

import (
	"fmt"
	"slices"
	"strings"
)

// A Collision is a name or a URI that more than one server has, or that could not
// be published.
type Collision struct {
	Kind    string   // "tools", "prompts", "resources", "resourceTemplates" or "tasks"
	Name    string   // as the servers have it
	Servers []string // in their order
	// Published says under which name each server's is listed: "" if it is not.
	Published []string
}

// String says it in one line.
func (c Collision) String() string {
	parts := make([]string, len(c.Servers))
	for i, s := range c.Servers {
		switch as := c.Published[i]; as {
		case "":
			parts[i] = s + " (left out)"
		case c.Name:
			parts[i] = s
		default:
			parts[i] = s + " (as " + as + ")"
		}
	}
	return fmt.Sprintf("%s: %.200q is what more than one server has: %s", c.Kind, c.Name, strings.Join(parts, ", "))
}

// maxTold bounds what is remembered of what was said once.
const maxTold = 1000

// once says something that was not said before.
func (f *fleet) once(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	f.mu.Lock()
	known := f.told[text] || len(f.told) >= maxTold
	if !known {
		f.told[text] = true
	}
	f.mu.Unlock()
	if !known {
		f.log.Say("%s", text)
	}
}

// report puts a collision on the log. That names are qualified is no news where
// they always are.
func (f *fleet) report(c Collision) {
	f.mu.Lock()
	f.collisions[c.Kind+" "+c.Name] = c
	if len(f.collisions) > maxTold {
		delete(f.collisions, c.Kind+" "+c.Name)
	}
	f.mu.Unlock()
	if f.opts.Qualify == Always && !slices.Contains(c.Published, "") && !slices.Contains(c.Published, c.Name) {
		return
	}
	f.once("%s", c)
}
