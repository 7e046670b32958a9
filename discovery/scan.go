package discovery

import "bytes"

// scan decides like check, but from the bytes and without building anything:
// nearly all calls fit, and should cost next to nothing. What it cannot decide
// in passing it leaves unsure: schemas that are not plain, keys with escapes,
// and objects with other keys than the declared ones, which may appear twice.
func (s *shape) scan(raw []byte) verdict {
	p := parser{src: raw}
	v := s.scanValue(&p, 0)
	if v != valid {
		return unsure // the parser says what is wrong
	}
	if p.space(); p.at < len(raw) {
		return unsure
	}
	return valid
}

func (s *shape) scanValue(p *parser, depth int) verdict {
	if p.nodes++; !s.plain || depth > maxDepth || p.nodes > maxNodes {
		return unsure
	}
	p.space()
	if p.at >= len(p.src) {
		return unsure
	}
	start := p.at
	switch c := p.src[start]; {
	case c == '{':
		if s.types != 0 && s.types&typeObject == 0 || len(s.enum) > 0 {
			return unsure
		}
		return s.scanObject(p, depth)
	case c == '[':
		if s.types != 0 && s.types&typeArray == 0 || len(s.enum) > 0 {
			return unsure
		}
		return s.scanArray(p, depth)
	case c == '"':
		if s.types != 0 && s.types&typeString == 0 || p.str() != nil {
			return unsure
		}
		if len(s.enum) == 0 {
			return valid
		}
		for _, e := range s.enum {
			if bytes.Equal(e.raw, p.src[start:p.at]) {
				return valid
			}
		}
		return unsure
	case c == '-' || c >= '0' && c <= '9':
		if p.number() != nil || len(s.enum) > 0 {
			return unsure
		}
		if s.types != 0 && s.types&typeNumber == 0 && !(s.types&typeInteger != 0 && whole(p.src[start:p.at])) {
			return unsure
		}
		return valid
	}
	for _, w := range [...]struct {
		word string
		kind types
	}{{"true", typeBoolean}, {"false", typeBoolean}, {"null", typeNull}} {
		if bytes.HasPrefix(p.src[start:], []byte(w.word)) && (s.types == 0 || s.types&w.kind != 0) && len(s.enum) == 0 {
			p.at += len(w.word)
			return valid
		}
	}
	return unsure
}

func (s *shape) scanObject(p *parser, depth int) verdict {
	p.at++
	var seen uint64
	for first := true; ; first = false {
		p.space()
		if p.at >= len(p.src) {
			return unsure
		}
		if p.src[p.at] == '}' && first {
			p.at++
			break
		}
		start := p.at
		if p.src[start] != '"' || p.str() != nil {
			return unsure
		}
		field, declared := s.fields[string(p.src[start+1:p.at-1])]
		if !declared || field.at >= 64 || seen&(1<<field.at) != 0 {
			return unsure
		}
		seen |= 1 << field.at
		if p.space(); p.at >= len(p.src) || p.src[p.at] != ':' {
			return unsure
		}
		p.at++
		if field.shape.scanValue(p, depth+1) != valid {
			return unsure
		}
		p.space()
		if p.at >= len(p.src) {
			return unsure
		}
		p.at++
		if c := p.src[p.at-1]; c == '}' {
			break
		} else if c != ',' {
			return unsure
		}
	}
	for _, r := range s.required {
		if field, declared := s.fields[r]; !declared || seen&(1<<field.at) == 0 {
			return unsure
		}
	}
	return valid
}

func (s *shape) scanArray(p *parser, depth int) verdict {
	items := s.items
	if items == nil {
		return unsure // of what, only the parser looks at
	}
	p.at++
	for first := true; ; first = false {
		p.space()
		if p.at >= len(p.src) {
			return unsure
		}
		if p.src[p.at] == ']' && first {
			p.at++
			return valid
		}
		if items.scanValue(p, depth+1) != valid {
			return unsure
		}
		p.space()
		if p.at >= len(p.src) {
			return unsure
		}
		p.at++
		if c := p.src[p.at-1]; c == ']' {
			return valid
		} else if c != ',' {
			return unsure
		}
	}
}
