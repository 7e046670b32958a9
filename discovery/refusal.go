package discovery

import (
	"fmt"
	"slices"
	"strings"
)

const (
	maxListed   = 12  // properties or members that a text names
	maxProblems = 5   // that a text describes
	maxSample   = 200 // bytes of a value that a corrected call repeats
	maxExample  = 2048
)

// wants says in words what a schema asks for.
func (s *shape) wants() string {
	if len(s.enum) > 0 {
		var names []string
		for _, e := range s.enum {
			names = append(names, cut(string(e.raw), 40))
		}
		return "one of " + list(names)
	}
	if s.types == 0 && len(s.branches) > 0 {
		var each []string
		for _, b := range s.branches {
			each = append(each, b.wantsBranch())
		}
		return strings.Join(each[:min(len(each), maxListed)], " or ")
	}
	var names []string
	for _, name := range []string{"string", "integer", "number", "boolean", "object", "array"} {
		if s.types&typeNames[name] != 0 {
			names = append(names, name)
		}
	}
	switch {
	case len(names) == 0:
		return "another value"
	case len(names) == 1 && names[0] == "array" && s.items != nil && bits(s.items.types&^typeNull) == 1:
		return "an array of " + strings.TrimPrefix(strings.TrimPrefix(s.items.wants(), "an "), "a ") + "s"
	case len(names) == 1:
		return aOrAn(names[0])
	}
	return "one of " + list(names)
}

// wantsBranch is wants for a branch of a union, without its own branches: they
// may lead back to it.
func (s *shape) wantsBranch() string {
	if len(s.branches) > 0 || s.items != nil {
		return "another value"
	}
	if s.types == typeNull {
		return "null"
	}
	return s.wants()
}

func aOrAn(noun string) string {
	if strings.ContainsRune("aeio", rune(noun[0])) {
		return "an " + noun
	}
	return "a " + noun
}

// sentValue names what was sent. Text is repeated only where it is short and
// not a secret.
func sentValue(n *node, path string) string {
	if n.kind == '0' {
		return "null"
	}
	if n.kind != 'o' && n.kind != 'a' && !credentialLike(split(lastKey(path))) {
		if n.kind == 's' {
			return "the string " + quote(n.str())
		}
		return fmt.Sprintf("the %s %s", n.kindName(), cut(string(n.raw), 40))
	}
	return aOrAn(n.kindName())
}

func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "..."
}

func list(names []string) string {
	if len(names) > maxListed {
		return strings.Join(names[:maxListed], ", ") + fmt.Sprintf(" and %d more", len(names)-maxListed)
	}
	return strings.Join(names, ", ")
}

func oneOf(names []string) string {
	switch len(names) {
	case 0:
		return "no parameters"
	case 1:
		return names[0]
	}
	return "one of " + list(names)
}

// explain puts the problems into words, each with its path.
func explain(problems []problem) string {
	var b strings.Builder
	for i, p := range problems {
		if i == maxProblems {
			fmt.Fprintf(&b, "; and %d more", len(problems)-i)
			break
		}
		if i > 0 {
			b.WriteString("; ")
		}
		path := p.path
		if path == "" {
			path = "the arguments"
		} else {
			path = cut(strings.Trim(quote(path), `"`), 120)
		}
		if p.sent == "" {
			fmt.Fprintf(&b, "%s is required (%s)", path, p.want)
		} else {
			fmt.Fprintf(&b, "%s: sent %s, wanted %s", path, p.sent, p.want)
		}
		if p.near != "" {
			fmt.Fprintf(&b, ", nearest is %s", quote(p.near))
		}
	}
	return b.String()
}

// example is a call to copy: what fits of what was sent, the nearest names for
// what does not, and a placeholder for each required value that is missing.
func (s *shape) example(n *node, problems []problem) string {
	bad := map[string]problem{}
	for _, p := range problems {
		bad[p.path] = p
	}
	if slices.ContainsFunc(problems, func(p problem) bool { return p.acts }) {
		n = nil // what was sent, without the flag, would act
	}
	out := s.sample(n, "", bad, 0)
	raw := out.append(nil)
	if len(raw) > maxExample {
		out = s.sample(nil, "", bad, 0) // the required parameters alone
		raw = out.append(nil)
	}
	if len(raw) > maxExample {
		return "{}"
	}
	return string(raw)
}

func (s *shape) sample(n *node, path string, bad map[string]problem, depth int) *node {
	out := &node{kind: 'o', changed: true}
	if n != nil && n.kind == 'o' {
		for _, m := range n.members {
			at := pointer(path, m.key)
			sub := s.props[m.key]
			p, failed := bad[at]
			switch {
			case sub == nil && failed && p.near != "" && p.sample != nil && n.get(p.near) == nil && out.get(p.near) == nil:
				out.members = append(out.members, member{p.near, p.sample})
			case sub == nil && failed && p.near != "" && s.props[p.near] != nil && n.get(p.near) == nil && out.get(p.near) == nil && !strings.HasPrefix(p.sent, "a second"):
				v := m.value
				if s.props[p.near].check(v) == invalid {
					v = s.props[p.near].placeholder(p.near, depth)
				}
				out.members = append(out.members, member{p.near, short(v, p.near)})
			case sub == nil && failed:
			case failed && p.sample != nil:
				out.members = append(out.members, member{m.key, p.sample})
			case failed || sub != nil && (sub.check(m.value) == invalid || failedBelow(bad, at)):
				if sub != nil && m.value.kind == 'o' && sub.types&typeObject != 0 && depth < 4 {
					out.members = append(out.members, member{m.key, sub.sample(m.value, at, bad, depth+1)})
				} else if sub != nil && slices.Contains(s.required, m.key) {
					out.members = append(out.members, member{m.key, sub.placeholder(m.key, depth)})
				}
			default:
				out.members = append(out.members, member{m.key, short(m.value, m.key)})
			}
		}
	}
	for _, name := range s.required {
		if out.get(name) == nil && s.props[name] != nil {
			out.members = append(out.members, member{name, s.props[name].placeholder(name, depth)})
		}
	}
	return out
}

// failedBelow reports whether something inside of the value at path is wrong.
func failedBelow(bad map[string]problem, path string) bool {
	for p := range bad {
		if strings.HasPrefix(p, path+"/") {
			return true
		}
	}
	return false
}

// short keeps a long or a secret text out of the example.
func short(n *node, key string) *node {
	if n.kind == 's' && credentialLike(split(key)) {
		return textNode("<" + key + ">")
	}
	if raw := n.bytes(); len(raw) > maxSample {
		if n.kind == 's' {
			return textNode("<" + key + ">")
		}
		if n.kind == 'a' {
			return &node{kind: 'a', changed: true}
		}
	}
	return n
}

// placeholder is a value of the right type that nobody takes for a real one.
func (s *shape) placeholder(name string, depth int) *node {
	acts, flag := consent(name)
	switch {
	case len(s.enum) > 0:
		return s.enum[0]
	case flag && s.types&typeBoolean != 0:
		return boolean(!acts)
	case s.types == 0 && len(s.branches) > 0 && depth < 4:
		return s.branches[0].placeholder(name, depth+1)
	case s.types&typeString != 0 || s.types == 0:
		return textNode("<" + name + ">")
	case s.types&(typeInteger|typeNumber) != 0:
		return &node{kind: 'n', raw: []byte("0")}
	case s.types&typeBoolean != 0:
		return &node{kind: 'b', raw: []byte("false")}
	case s.types&typeArray != 0:
		return &node{kind: 'a', changed: true}
	case s.types&typeObject != 0:
		if depth < 4 {
			return s.sample(nil, "", nil, depth+1)
		}
		return &node{kind: 'o', changed: true}
	}
	return &node{kind: '0', raw: []byte("null")}
}
