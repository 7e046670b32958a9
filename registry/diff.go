package registry

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ChangeKind says what a change means to callers.
type ChangeKind string

// The kinds of change.
const (
	// Breaking changes make a call fail that worked, or mean something else;
	// the order of the tools that both listings have is among them, because a
	// prompt is cached by its prefix.
	Breaking ChangeKind = "breaking"
	// Additive changes allow more than before.
	Additive ChangeKind = "additive"
	// Cosmetic changes are in texts. They still change what a model chooses.
	Cosmetic ChangeKind = "cosmetic"
)

// A Change is one difference between two listings.
type Change struct {
	Kind    ChangeKind `json:"kind"`
	Tool    string     `json:"tool,omitempty"`    // "" for the listing as a whole
	Pointer string     `json:"pointer,omitempty"` // JSON pointer into the tool's definition
	Message string     `json:"message"`
}

// String returns the change on one line.
func (c Change) String() string {
	at := strings.TrimSpace(c.Tool + " " + c.Pointer)
	if at != "" {
		at += ": "
	}
	return string(c.Kind) + ": " + at + c.Message
}

// Diff says how what a server advertises has changed from old to now. Changes
// of the same tool stand together, in now's order; removed tools come first. Of
// tools with one name the first counts. What is written otherwise and means the
// same is no change; where it cannot tell whether a schema became narrower, a
// change is Breaking.
func Diff(old, now *Listing) ([]Change, error) {
	if old == nil || now == nil {
		return nil, errors.New("registry: a listing is nil")
	}
	before, err := byName(old)
	if err != nil {
		return nil, fmt.Errorf("registry: the old listing: %w", err)
	}
	after, err := byName(now)
	if err != nil {
		return nil, fmt.Errorf("registry: the new listing: %w", err)
	}
	d := &differ{budget: maxComparedAll}
	var kept []string // in old's order
	for _, name := range before.order {
		if after.tools[name] == nil {
			d.tool = name
			d.add(Breaking, "", "the tool was removed")
			continue
		}
		kept = append(kept, name)
	}
	d.tool = ""
	if prefix := after.order[:min(len(kept), len(after.order))]; !slices.Equal(prefix, kept) {
		i := 0
		for i < len(prefix) && prefix[i] == kept[i] {
			i++
		}
		d.add(Breaking, "", "the order changed: tool %d is now %q, which was %q", i+1, after.order[i], kept[i])
	}
	if old.Instructions != now.Instructions {
		d.add(Cosmetic, "", "the server's instructions changed")
	}
	for _, name := range after.order {
		d.tool = name
		if before.tools[name] == nil {
			d.add(Additive, "", "the tool was added")
			continue
		}
		d.compareTools(before.tools[name], after.tools[name])
	}
	return d.changes, nil
}

type namedTools struct {
	order []string
	tools map[string]*document
}

func byName(l *Listing) (*namedTools, error) {
	n := &namedTools{tools: map[string]*document{}}
	for i, raw := range l.Tools {
		doc, err := parseDocument(raw)
		if err != nil {
			return nil, fmt.Errorf("tool %d: %w", i+1, err)
		}
		name := doc.get("name").string()
		if n.tools[name] == nil {
			n.order = append(n.order, name)
			n.tools[name] = doc
		}
	}
	return n, nil
}

type differ struct {
	tool    string
	changes []Change
	budget  int // bytes that may still be copied
}

func (d *differ) add(kind ChangeKind, pointer, format string, args ...any) {
	d.changes = append(d.changes, Change{kind, d.tool, pointer, fmt.Sprintf(format, args...)})
}

func (d *differ) compareTools(old, now *document) {
	for _, k := range []string{"title", "description", "icons", "_meta"} {
		if !equal(old.get(k), now.get(k)) {
			d.add(Cosmetic, "/"+k, "the %s changed", k)
		}
	}
	d.compareHints(old.get("annotations"), now.get("annotations"))
	d.compareExecution(old.get("execution").get("taskSupport").string(), now.get("execution").get("taskSupport").string())
	d.compareSchemas("/inputSchema", d.arguments(old.get("inputSchema")), d.arguments(now.get("inputSchema")), true)
	was, is := old.get("outputSchema"), now.get("outputSchema")
	switch {
	case was == nil && is == nil:
	case is == nil:
		d.add(Breaking, "/outputSchema", "there is no output schema any more")
	case was == nil:
		d.add(Additive, "/outputSchema", "there is an output schema now")
	default:
		d.compareSchemas("/outputSchema", d.normalized(was), d.normalized(is), false)
	}
}

func (d *differ) compareHints(old, now *document) {
	if equal(old, now) {
		return
	}
	const at = "/annotations"
	destroys := func(a *document) bool {
		return !a.get("readOnlyHint").isTrue() && (a.get("destructiveHint") == nil || a.get("destructiveHint").isTrue())
	}
	switch {
	case old.get("readOnlyHint").isTrue() && !now.get("readOnlyHint").isTrue():
		d.add(Breaking, at, "the tool is not read-only any more: clients that let it run will ask")
	case !destroys(old) && destroys(now):
		d.add(Breaking, at, "the tool counts as destructive now: clients that let it run will ask")
	default:
		d.add(Cosmetic, at, "the hints changed")
	}
}

// compareExecution compares whether a tool may be called as a task (revision
// 2025-11-25, tools, execution): not at all if nothing is said.
func (d *differ) compareExecution(old, now string) {
	direct := func(support string) bool { return support != "required" }
	task := func(support string) bool { return support == "optional" || support == "required" }
	const at = "/execution/taskSupport"
	switch {
	case direct(old) && !direct(now):
		d.add(Breaking, at, "the tool can only be called as a task now")
	case task(old) && !task(now):
		d.add(Breaking, at, "the tool cannot be called as a task any more")
	case direct(old) != direct(now) || task(old) != task(now):
		d.add(Additive, at, "how the tool can be called was extended")
	}
}
