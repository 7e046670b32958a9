package discovery

import "strings"

// consent reports whether a parameter is a flag with which a caller takes
// responsibility, or asks that nothing be done, and if so whether true means
// that something is done.
func consent(name string) (acts, flag bool) {
	f := fold(name)
	for _, head := range [...]string{"", "is", "do", "should", "please", "perform"} {
		if rest, ok := strings.CutPrefix(f, head); ok {
			if acts, flag = confirmations[rest]; flag {
				return acts, true
			}
		}
	}
	return false, false
}

func isConsent(name string) bool {
	_, flag := consent(name)
	return flag
}

// consentLike is consent for a key that the tool does not know, which may be
// misspelt.
func consentLike(name string) (acts, flag bool) {
	if acts, flag = consent(name); flag {
		return acts, true
	}
	f := fold(name)
	if len(f) < 5 || len(f) > 32 {
		return false, false
	}
	for w, a := range confirmations {
		// Where typing errors of two flags meet, the cautious reading is that
		// nothing should be done.
		if len(w) >= 5 && distance(f, w) <= edits(min(len(f), len(w))) {
			flag, acts = true, a
			if !a {
				break
			}
		}
	}
	return acts, flag
}

func boolean(v bool) *node {
	if v {
		return &node{kind: 'b', raw: []byte("true")}
	}
	return &node{kind: 'b', raw: []byte("false")}
}

// cautious reports whether a flag's value asks that nothing be done.
func cautious(value *node, acts bool) bool {
	return value.kind == 'b' && (value.raw[0] == 't') != acts
}

// consents looks at the flags among the keys that a tool that may destroy does
// not know. A call with one must not run as if it had not been there. Only
// another spelling of a declared flag that asks for caution is mended. It
// returns the other keys.
func (r *repairer) consents(unknown []*keyName, n *node, s *shape, path string) []*keyName {
	if !r.destructive {
		return unknown
	}
	var rest []*keyName
	for _, k := range unknown {
		acts, flag := consentLike(k.name)
		if !flag {
			rest = append(rest, k)
			continue
		}
		near, same := declaredFlag(k, acts, n, s)
		value := n.get(k.name)
		if same && s.props[near].types&typeBoolean != 0 && cautious(value, acts) {
			rename(n, k.name, near)
			r.change(Change{Path: pointer(path, near), Kind: "spelling", From: k.name})
			continue
		}
		p := problem{path: pointer(path, k.name), sent: "a confirmation under another name", want: "the parameter's exact name", near: near}
		if near != "" {
			p.sample = s.props[near].placeholder(near, 0)
		} else {
			p.sent, p.want, p.acts = "a flag that this tool does not have, and without which the call may act", oneOf(s.order), true
		}
		r.note(p)
	}
	return rest
}

// declaredFlag is the flag of a tool that an unknown one means, if it was not
// sent, and whether it is only spelt differently.
func declaredFlag(k *keyName, acts bool, n *node, s *shape) (name string, same bool) {
	for _, p := range s.order {
		a, flag := consent(p)
		if !flag || a != acts || n.get(p) != nil {
			continue
		}
		if fold(p) == k.folded {
			return p, true
		}
		if name == "" {
			name = p
		}
	}
	return name, false
}

// overlooked is what is wrong with a call that fits and may destroy: a flag
// that asks for caution under a name that the tool does not know, while it has
// one of that kind.
func (s *shape) overlooked(n *node) []problem {
	if n == nil || n.kind != 'o' || s.closed || s.extra != nil || len(n.members) > maxUnknown {
		return nil
	}
	for _, m := range n.members {
		if s.props[m.key] != nil || len(m.key) > 32 {
			continue
		}
		acts, flag := consentLike(m.key)
		if !flag || !cautious(m.value, acts) {
			continue
		}
		if near, _ := declaredFlag(&keyName{name: m.key, folded: fold(m.key)}, acts, n, s); near != "" {
			return []problem{{path: pointer("", m.key), sent: "a confirmation under another name", want: "the parameter's exact name", near: near, sample: boolean(!acts)}}
		}
	}
	return nil
}
