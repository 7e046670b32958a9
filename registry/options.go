package registry

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// A ToolOption says something about one tool that is not sent to clients.
type ToolOption func(*definition)

// Aliases declares other names by which a tool may be called. They are not
// listed. A call by such a name is answered as if it had used the tool's own,
// and says so in the result's _meta.
func Aliases(names ...string) ToolOption {
	names = slices.Clone(names)
	return func(d *definition) { d.aliases = append(d.aliases, names...) }
}

// ArgumentAliases declares other names of one parameter, for package discovery
// to repair calls with.
func ArgumentAliases(parameter string, aliases ...string) ToolOption {
	aliases = slices.Clone(aliases)
	return func(d *definition) {
		if d.arguments == nil {
			d.arguments = map[string]string{}
		}
		for _, a := range aliases {
			if other, ok := d.arguments[a]; ok && other != parameter {
				d.problems = append(d.problems, fmt.Errorf("argument alias %q stands for both %q and %q", a, other, parameter))
			}
			d.arguments[a] = parameter
		}
	}
}

// Renamed keeps a tool's former name callable, unlisted, with a notice in each
// result. sunset is the last day, as YYYY-MM-DD in UTC, on which it works;
// afterwards a call is answered with where to go. An empty sunset means that
// it works for good.
//
// Changes say how calls of the former name become calls of the tool.
func Renamed(former, sunset string, changes ...ArgumentChange) ToolOption {
	r := &Rename{Name: former, Sunset: sunset}
	var problems []error
	for _, c := range changes {
		if err := c(r); err != nil {
			problems = append(problems, err)
		}
	}
	return func(d *definition) {
		c := *r // the option may be used for several registries
		d.renames = append(d.renames, &c)
		d.problems = append(d.problems, problems...)
	}
}

// An ArgumentChange is a difference between a former tool and the present one.
type ArgumentChange func(*Rename) error

// RenamedArgument says that what the former tool called old is now called now.
func RenamedArgument(old, now string) ArgumentChange {
	return func(r *Rename) error {
		if old == "" || now == "" || old == now {
			return fmt.Errorf("former name %q: an argument cannot be renamed from %q to %q", r.Name, old, now)
		}
		r.Arguments = append(r.Arguments, [2]string{old, now})
		return nil
	}
}

// AddedArgument says that the present tool wants an argument that the former
// one did not have, and which value means what the former tool did. It is added
// to calls that do not have the argument.
func AddedArgument(name string, value any) ArgumentChange {
	return func(r *Rename) error {
		data, err := json.Marshal(value)
		if err != nil || name == "" {
			return errors.Join(fmt.Errorf("former name %q: argument %q cannot be added", r.Name, name), err)
		}
		r.Constants = append(r.Constants, Constant{name, data})
		return nil
	}
}

// Group puts a tool into a group, which [Registry.SetEnabled] shows and hides.
func Group(name string) ToolOption {
	return func(d *definition) {
		if name == "" || d.group != "" && d.group != name {
			d.problems = append(d.problems, fmt.Errorf("a tool belongs to one group with a name; have %q and %q", d.group, name))
		}
		d.group = name
	}
}

// Example declares a call that works. arguments is anything that encodes to a
// JSON object; it must fit the tool's input schema.
func Example(about string, arguments any) ToolOption {
	data, err := json.Marshal(arguments)
	return func(d *definition) {
		if err != nil {
			d.problems = append(d.problems, fmt.Errorf("an example cannot be encoded: %w", err))
			return
		}
		d.examples = append(d.examples, ToolExample{About: about, Arguments: data})
	}
}

// VisibleTo lets visible decide who may see and call a tool.
func VisibleTo(visible Visibility) ToolOption {
	return func(d *definition) {
		if visible == nil {
			d.problems = append(d.problems, errors.New("the visibility is nil"))
		}
		d.visible = visible
	}
}

// A ToolExample is a call that works.
type ToolExample struct {
	About     string
	Arguments json.RawMessage // an object
}

// A Rename is a name that a tool used to have.
type Rename struct {
	Name      string
	Sunset    string      // the last day on which it works, YYYY-MM-DD, or ""
	Arguments [][2]string // former name, present name
	Constants []Constant
}

// A Constant is an argument that is added to calls by a former name.
type Constant struct {
	Name  string
	Value json.RawMessage
}

// Metadata is what the registry keeps beside a tool.
type Metadata struct {
	Group    string
	Aliases  []string
	Renames  []Rename
	Examples []ToolExample
}

// Metadata returns what was said about a registered tool.
func (r *Registry) Metadata(tool string) (Metadata, bool) {
	d := r.current().byName[tool]
	if d == nil {
		return Metadata{}, false
	}
	m := Metadata{Group: d.group, Aliases: slices.Clone(d.aliases), Examples: slices.Clone(d.examples)}
	for _, n := range d.renames {
		m.Renames = append(m.Renames, *n)
	}
	return m, true
}
