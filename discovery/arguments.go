package discovery

import (
	"encoding/json"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/steadymcp/steady/errors"
)

// Repair makes arguments fit tool's input schema where what is wrong with them
// is certain, and returns what was changed. Arguments that fit come back as
// they are, byte for byte; missing ones are an empty object. The error says what could not be repaired; it is an
// [errors.Failure] of the kind [errors.KindInvalidInput] that a caller may read.
//
// A schema that is missing, or cannot be resolved, for one that refers to other
// documents, is not enforced: its arguments come back as they are.
//
// Repair prepares the schema anew for each call. A [Resolver] keeps it.
func Repair(tool *mcp.Tool, arguments json.RawMessage, opts *Options) (json.RawMessage, []Change, error) {
	if tool == nil {
		return arguments, nil, nil
	}
	o := newSettings(opts)
	c, err := compile(tool.InputSchema)
	if err != nil {
		return arguments, nil, nil
	}
	out := o.repair(tool, arguments, c)
	if len(out.problems) > 0 {
		return arguments, nil, refused(tool.Name, c, out)
	}
	return out.arguments, out.changes, nil
}

func (o *settings) repair(tool *mcp.Tool, arguments json.RawMessage, c *compiled) repaired {
	out, done := c.fitting(arguments)
	_, destructive := effects(tool)
	if done {
		if destructive && len(out.problems) == 0 {
			out.problems = c.root.overlooked(out.root)
		}
		return out
	}
	return o.newRepairer(tool.Name, destructive).repair(out, c)
}

// effects reads a tool's annotations, with the specification's defaults: what
// is not known to be harmless may destroy.
func effects(t *mcp.Tool) (readOnly, destructive bool) {
	a := t.Annotations
	if a != nil && a.ReadOnlyHint {
		return true, false
	}
	return false, a == nil || a.DestructiveHint == nil || *a.DestructiveHint
}

// refused is the answer to arguments that could not be repaired.
func refused(tool string, c *compiled, out repaired) *errors.Failure {
	f := errors.Invalid("%s", fmt.Sprintf("The arguments of %s do not fit its input schema: %s", quote(tool), explain(out.problems)))
	example := c.root.example(out.root, out.problems)
	if !c.validates([]byte(example)) {
		// What was sent breaks a rule that no path says: what is required alone
		// may keep it.
		if bare := c.root.example(nil, out.problems); c.validates([]byte(bare)) {
			example = bare
		}
	}
	return f.Next("%s", "correct the arguments and call "+tool+" again, for example with "+example)
}
