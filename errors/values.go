package errors

import "strings"

// value masks the value of a key that begins at start.
func (f *finder) value(start int, s separator, class keyClass, sure, inQuery bool) int {
	text, pos := f.text, behindType(f.text, s.value)
	if n := plainValue(text, pos, s.quoted); n > 0 {
		return pos + n
	}
	if open, end := listAt(text, pos, s); open > 0 {
		return f.list(open, end, class)
	}
	if n := quoteAt(text, pos); n > 0 {
		from := pos + n
		if isComplaint(text[from:min(len(text), from+16)]) {
			return from
		}
		end := closing(text, from, n)
		if class == doubtful && !isOpaque(text[from:end]) {
			return from
		}
		f.mask(from, end)
		return end
	}
	if pos < len(text) && text[pos] == '{' {
		if s.quoted {
			return pos + 1 // an object, whose keys speak for themselves
		}
		if n := strings.IndexAny(text[pos:], "}\n"); n > 0 {
			for strings.HasPrefix(text[pos+n:], "}}") { // as ODBC escapes a brace
				m := strings.IndexAny(text[pos+n+2:], "}\n")
				if m < 0 {
					break
				}
				n += 2 + m
			}
			f.mask(pos+1, pos+n)
			return pos + n
		}
	}
	if pos < len(text) && text[pos] == '<' {
		if n := strings.IndexByte(text[pos:min(len(text), pos+40)], '>'); n > 0 && isPlaceholder(text[pos:pos+n+1]) {
			return pos + n + 1
		}
	}
	first := wordAt(text, pos)
	if class == doubtful && !isOpaque(strings.TrimRight(first, ",)]}>:")) && !isScheme(first) {
		return pos
	}
	end := valueEnd(text, start, pos, inQuery)
	if isScheme(text[pos:end]) {
		from := skipBlanks(text, end)
		for end = from; end < len(text) && strings.IndexByte(blanks+",;", text[end]) < 0; end++ {
		}
		if !isProse(text[from:end]) {
			f.mask(pos, end)
			return end
		}
	}
	if value := text[pos:end]; !sure && isProse(value) || class == doubtful && !isOpaque(value) {
		return pos
	}
	f.mask(pos, end)
	return end
}

// behindType returns where the string at pos begins that has its type before
// it, as in b'x' and (string) (len=1) "x".
func behindType(text string, pos int) int {
	next := pos
	if next < len(text) && text[next] == 'b' {
		next++
	}
	for range 2 {
		if n := strings.IndexByte(text[next:min(len(text), next+24)], ')'); n > 0 && text[next] == '(' {
			next = skipBlanks(text, next+n+1)
		}
	}
	if quoteAt(text, next) > 0 {
		return next
	}
	return pos
}

// valueEnd returns where a value without quotes ends, without the punctuation
// behind it.
func valueEnd(text string, start, pos int, inQuery bool) int {
	// Between semicolons, as in the connection strings of ODBC and ADO, blanks
	// belong to a value.
	if before := strings.TrimRight(text[max(0, start-2):start], " "); strings.HasSuffix(before, ";") {
		line := text[pos:min(len(text), pos+256)]
		if n := strings.IndexAny(line, ";\n\r\"'`"); n >= 0 && line[n] == ';' {
			return pos + n
		}
	}
	end := pos
	for ; end < len(text) && strings.IndexByte(" \t\n\r\"'`", text[end]) < 0; end++ {
		switch text[end] {
		case '&':
			if inQuery || beginsSetting(text[end+1:]) {
				return end
			}
		case ';':
			if inQuery || end+1 == len(text) || text[end+1] == ' ' || beginsSetting(text[end+1:]) {
				return end
			}
		case '\\':
			if quoteAt(text, end) > 0 || strings.HasPrefix(text[end:], `\u0026`) || strings.HasPrefix(text[end:], `\n`) {
				return end
			}
		case '%':
			if strings.HasPrefix(text[end:], "%26") {
				return end
			}
		}
	}
	const pairs = "()[]{}<>"
	for range 8 {
		if end == pos {
			break
		}
		last := text[end-1]
		if i := strings.IndexByte(pairs, last); i%2 == 1 {
			if strings.IndexByte(text[pos:end], pairs[i-1]) >= 0 {
				break
			}
		} else if last != ',' && last != ':' {
			break
		}
		end--
	}
	return end
}

// beginsSetting reports whether text begins with a key and "=".
func beginsSetting(text string) bool {
	for i := range min(len(text), 48) {
		if c := text[i]; c == '=' {
			return i > 0
		} else if !isWord(c) && strings.IndexByte(".[]%", c) < 0 {
			return false
		}
	}
	return false
}

// listAt returns where the elements of the list at pos begin and what closes
// it. It knows JSON, and slices as fmt prints them with %v and %#v.
func listAt(text string, pos int, s separator) (open int, end byte) {
	if pos >= len(text) || text[pos] != '[' {
		return 0, 0
	}
	if strings.HasPrefix(text[pos:], "[]interface {}{") {
		return pos + len("[]interface {}{"), '}'
	}
	if strings.HasPrefix(text[pos:], "[]") {
		for i := pos + 2; i < len(text) && i < pos+40; i++ {
			if text[i] == '{' {
				return i + 1, '}'
			} else if !isWord(text[i]) && text[i] != '.' && text[i] != '*' {
				break
			}
		}
		return 0, 0
	}
	return pos + 1, ']'
}

// list masks the elements of the list that begins at pos.
func (f *finder) list(pos int, end byte, class keyClass) int {
	text := f.text
	quoted := false
	i := pos
	for ; i < len(text) && text[i] != end; i++ {
		if n := quoteAt(text, i); n > 0 {
			quoted = true
			last := closing(text, i+n, n)
			if v := text[i+n : last]; !isComplaint(v) && (class != doubtful || isOpaque(v)) {
				f.mask(i+n, last)
			}
			i = last + n - 1
			continue
		}
		if text[i] == '{' {
			return i // objects, whose keys speak for themselves
		}
		if text[i] == '\n' && !quoted && i > pos+1 && strings.Trim(text[pos:min(i, pos+64)], " \t\r\n") != "" {
			break
		}
	}
	i = min(i, len(text))
	if v := text[pos:i]; !quoted && (strings.IndexByte(v, ',') < 0 || strings.Trim(v[:min(len(v), 256)], "0123456789., -\n\t") != "") && (class != doubtful || isOpaque(v)) {
		f.mask(pos, i)
	}
	return i
}
