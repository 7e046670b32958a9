package discovery

import (
	"bytes"
	"fmt"
	"slices"
)

// keys renames the sent keys that are no properties, where what they mean is
// certain.
func (r *repairer) keys(n *node, s *shape, path string) {
	var unknown []*keyName
	for i := range n.members {
		if s.props[n.members[i].key] == nil && s.extra == nil {
			unknown = append(unknown, r.lex.keyName(n.members[i].key))
		}
	}
	if len(unknown) == 0 {
		return
	}
	if len(unknown) > maxUnknown {
		if s.closed {
			r.note(problem{path: path, sent: fmt.Sprintf("%d unknown parameters", len(unknown)), want: oneOf(s.order)})
		}
		return
	}
	unknown = r.consents(unknown, n, s, path)
	missing := func() []string {
		var m []string
		for _, name := range s.required {
			if n.get(name) == nil {
				m = append(m, name)
			}
		}
		return m
	}
	if !s.closed && len(missing()) == 0 {
		return // an open object may have other keys
	}
	props := make([]*keyName, 0, len(s.order))
	for _, name := range s.order {
		props = append(props, r.lex.keyName(name))
	}
	r.soleID = soleIdentifier(props)
	failed := map[string]problem{}
	for ti := range tiers {
		t := &tiers[ti]
		if t.mild && r.destructive {
			continue
		}
		claims := map[string][]*keyName{} // property: keys that mean it
		for _, k := range unknown {
			if _, bad := failed[k.name]; bad {
				continue
			}
			prop, err := r.meant(k, t, props, n, s, missing())
			if err != nil {
				err.path = pointer(path, k.name)
				failed[k.name] = *err
			} else if prop != "" {
				claims[prop] = append(claims[prop], k)
			}
		}
		for _, prop := range s.order {
			ks := claims[prop]
			if len(ks) == 0 {
				continue
			}
			value := n.get(ks[0].name)
			clash := n.get(prop) != nil && !bytes.Equal(n.get(prop).bytes(), value.bytes())
			for _, k := range ks[1:] {
				clash = clash || !bytes.Equal(n.get(k.name).bytes(), value.bytes())
			}
			for i, k := range ks {
				if clash {
					failed[k.name] = problem{path: pointer(path, k.name), sent: "a second value for " + quote(prop), want: "one value", near: prop}
					continue
				}
				if i == 0 && n.get(prop) == nil {
					rename(n, k.name, prop)
				} else {
					remove(n, k.name)
				}
				r.change(Change{Path: pointer(path, prop), Kind: t.kind, From: k.name})
				unknown = slices.DeleteFunc(unknown, func(o *keyName) bool { return o == k })
			}
		}
	}
	r.residual(n, s, path, &unknown, failed, missing())
	if !s.closed {
		// What an open object has besides is named only where something is
		// missing, which it may have been meant for.
		lacking := missing()
		if len(lacking) == 0 {
			return
		}
		for _, k := range unknown {
			if _, known := failed[k.name]; !known && !bookkeeping[k.folded] {
				r.note(problem{path: pointer(path, k.name), sent: "an undeclared parameter", want: oneOf(lacking)})
			}
		}
		return
	}
	for _, k := range unknown {
		if bookkeeping[k.folded] && failed[k.name].path == "" {
			r.change(Change{Path: pointer(path, k.name), Kind: "dropped"})
			remove(n, k.name)
			continue
		}
		p, known := failed[k.name]
		if !known {
			p = problem{path: pointer(path, k.name), sent: "an unknown parameter", want: oneOf(s.order), near: r.nearestKey(k, props, n)}
		}
		r.note(p)
	}
}

// meant returns the property that a key means by one tier, "" for none, or why
// that cannot be said.
func (r *repairer) meant(k *keyName, t *tier, props []*keyName, n *node, s *shape, missing []string) (string, *problem) {
	var hits []string
	present := ""
	for _, p := range props {
		if !t.accept(r, k, p) {
			continue
		}
		if !t.sure && credentialLike(p.words) {
			continue
		}
		if n.get(p.name) != nil {
			present = p.name
			continue
		}
		hits = append(hits, p.name)
	}
	value := n.get(k.name)
	if !s.closed {
		// In an open object only what is missing fails.
		hits = slices.DeleteFunc(hits, func(h string) bool { return !slices.Contains(missing, h) })
		present = ""
	}
	if len(hits) == 0 {
		if present != "" && t.sure {
			return present, nil // a second spelling of a property that was sent
		}
		if present != "" && (t.kind == "plural" || t.kind == "synonym") && !bytes.Equal(n.get(present).bytes(), value.bytes()) {
			// It may still mean another property by a later tier.
			return "", nil
		}
		return "", nil
	}
	if len(hits) > 1 {
		// A list does not go to a text, nor text to a number.
		if fits := slices.DeleteFunc(slices.Clone(hits), func(h string) bool { return !plausible(value, s.props[h]) }); len(fits) > 0 {
			hits = fits
		}
	}
	if len(hits) > 1 {
		// What must be there comes before what may.
		req := slices.DeleteFunc(slices.Clone(hits), func(h string) bool { return !slices.Contains(missing, h) })
		if len(req) != 1 || t.kind != "synonym" {
			return "", &problem{sent: "a parameter that may mean several", want: oneOf(hits), tried: true}
		}
		hits = req
	}
	if !plausible(value, s.props[hits[0]]) {
		return "", nil
	}
	if r.destructive && isConsent(hits[0]) {
		return "", &problem{sent: "a confirmation under another name", want: "the parameter's exact name", near: hits[0], sample: s.props[hits[0]].placeholder(hits[0], 0)}
	}
	return hits[0], nil
}

// plausible reports whether a value might fit a property, coerced or not. It
// keeps lists away from texts and objects away from lists of names.
func plausible(n *node, s *shape) bool {
	if s == nil || s.types == 0 || s.union {
		return true
	}
	switch n.kind {
	case 'a':
		if s.types&typeArray == 0 {
			return false
		}
		if s.items != nil && s.items.types != 0 {
			for _, item := range n.items {
				if item.kind == 'o' && s.items.types&typeObject == 0 {
					return false
				}
			}
		}
		return true
	case 'o':
		return s.types&typeObject != 0 || s.types&typeArray != 0 && (s.items == nil || s.items.types == 0 || s.items.types&typeObject != 0)
	case 'n':
		return s.types&(typeNumber|typeInteger|typeString|typeArray) != 0
	case 'b':
		return s.types&(typeBoolean|typeArray) != 0
	}
	return true
}

// residual gives the one key that is left over to the one required property
// that is missing, if its name is too vague to mean anything else.
func (r *repairer) residual(n *node, s *shape, path string, unknown *[]*keyName, failed map[string]problem, missing []string) {
	if len(*unknown) != 1 || len(missing) != 1 {
		return
	}
	k, prop := (*unknown)[0], missing[0]
	if _, bad := failed[k.name]; bad || r.destructive || len(k.words) != 1 || attributesDiffer(k, r.lex.keyName(prop)) || !residualWords[k.canon[0]] || s.props[prop] == nil {
		return
	}
	value := n.get(k.name)
	if credentialLike(split(prop)) || r.destructive && isConsent(prop) || !plausible(value, s.props[prop]) {
		return
	}
	rename(n, k.name, prop)
	r.change(Change{Path: pointer(path, prop), Kind: "residual", From: k.name})
	*unknown = nil
}

func rename(n *node, from, to string) {
	for i := range n.members {
		if n.members[i].key == from {
			n.members[i].key = to
			n.changed = true
			return
		}
	}
}

func remove(n *node, key string) {
	n.members = slices.DeleteFunc(n.members, func(m member) bool { return m.key == key })
	n.changed = true
}

// nearestKey is the property that a key probably means, for the answer only.
// Opposites, other units and other things have none: a caller copies it.
func (r *repairer) nearestKey(k *keyName, props []*keyName, n *node) string {
	best, found := 4, ""
	for _, p := range props {
		if n.get(p.name) != nil || credentialLike(p.words) {
			continue
		}
		if attributesDiffer(k, p) || negated(k.folded, p.folded) {
			continue
		}
		if shareGroup(k.groups, p.groups) || r.overlaps(k, p) {
			return p.name
		}
		if len(k.folded) <= 64 && len(p.folded) <= 64 && r.mistyped(k, p) {
			if d := distance(k.folded, p.folded); d < best {
				best, found = d, p.name
			}
		}
	}
	return found
}
