package errors

import "strings"

// settings finds the values of keys that name a credential, credentials that
// follow the name of their scheme, and tokens known by their prefix.
func settings(text string, spans []span) []span {
	f := finder{text, spans}
	before := "" // the word before, if only blanks are between
	for i := 0; i < len(text); {
		if !isWord(text[i]) {
			if text[i] != ' ' {
				before = ""
			}
			i++
			continue
		}
		end := i
		for end < len(text) && isWord(text[end]) {
			end++
		}
		next := f.word(i, end, before)
		before = ""
		if next == end {
			before = text[i:end]
		}
		i = next
	}
	return f.spans
}

func isWord(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '-'
}

// A finder collects the spans of a text. Its methods return where to go on,
// which is never before what they have looked at for longer than a moment: so
// that a text is passed once.
type finder struct {
	text  string
	spans []span
}

// mask marks a part of the text, unless there is nothing to hide in it.
func (f *finder) mask(start, end int) {
	if start < end && !isPlaceholder(f.text[start:end]) {
		f.spans = append(f.spans, span{start, end})
	}
}

func (f *finder) word(start, end int, before string) int {
	text := f.text
	word := text[start:end]
	if n := tokenLen(text[start:], word); n > 0 {
		f.mask(start, start+n)
		return start + n
	}
	if isScheme(word) {
		if s, ok := schemeValue(text, start, end); ok {
			f.mask(s.start, s.end)
			return s.end
		}
	}
	if strings.HasPrefix(word, "u0026") && start > 0 && text[start-1] == '\\' { // '&' in JSON
		start += len("u0026")
		return f.setting(start, end, before, true)
	}
	inQuery := start > 0 && (text[start-1] == '?' || text[start-1] == '&' || strings.HasSuffix(text[:start], "&amp;"))
	return f.setting(start, end, before, inQuery)
}

// quoteAt returns the length of the quote at pos, which may be escaped a few
// times over (JSON inside JSON), and 0 if there is none.
func quoteAt(text string, pos int) int {
	n := pos
	for n < len(text) && text[n] == '\\' && n < pos+15 {
		n++
	}
	if n < len(text) && (text[n] == '"' || text[n] == '\'' || text[n] == '`') {
		return n + 1 - pos
	}
	return 0
}

// closing returns where the quote that ends a string begins. The string begins
// at pos, behind a quote of n bytes.
func closing(text string, pos, n int) int {
	quote := text[pos-1]
	slashes := 0
	for i := pos; i < len(text); i++ {
		switch text[i] {
		case '\\':
			slashes++
			continue
		case '\n':
			return i
		case quote:
			if over := slashes - (n - 1); over < 0 {
				return i - slashes // of a string around this one
			} else if over%n == 0 && over/n%2 == 0 {
				return i - (n - 1)
			}
		}
		slashes = 0
	}
	return len(text)
}

func skipBlanks(text string, pos int) int {
	for pos < len(text) && (text[pos] == ' ' || text[pos] == '\t') {
		pos++
	}
	return pos
}

// A separator is what stands between a key and its value.
type separator struct {
	value  int  // where the value begins
	quoted bool // the key is in quotes
	assign bool // "=" and its like, and not ":"
	tight  bool // a colon without a blank behind it, as in a dumped struct
}

// separatorAt returns the separator behind a key that ends at pos.
func separatorAt(text string, pos int) (s separator, ok bool) {
	if n := quoteAt(text, pos); n > 0 {
		s.quoted = true
		pos += n
	}
	if pos < len(text) && text[pos] == ']' { // of an index
		pos++
	} else if strings.HasPrefix(text[pos:], "%5D") {
		pos += 3
	}
	sep := skipBlanks(text, pos)
	rest := text[sep:]
	switch {
	case strings.HasPrefix(rest, "=>"), strings.HasPrefix(rest, ":="), strings.HasPrefix(rest, "=="):
		s.assign = true
		s.value = skipBlanks(text, sep+2)
	case strings.HasPrefix(rest, "="):
		s.assign = true
		s.value = sep + 1
		if sep > pos { // otherwise a blank ends a value that is empty
			s.value = skipBlanks(text, sep+1)
		}
	case strings.HasPrefix(rest, "%3D"):
		s.assign = true
		s.value = sep + 3
	case strings.HasPrefix(rest, ":"):
		s.value = skipBlanks(text, sep+1)
		s.tight = s.value == sep+1
	default:
		return s, false
	}
	return s, true
}

// setting masks the value of the key text[start:end], if that key names a
// credential. before is the word before it.
func (f *finder) setting(start, end int, before string, inQuery bool) int {
	text := f.text
	s, ok := separatorAt(text, end)
	if !ok {
		return f.unseparated(start, end, before)
	}
	key := text[start:end]
	class := classify(key, inQuery)
	if strings.EqualFold(key, "key") && before != "" { // "api key"
		class = max(class, classify(before+key, false))
	}
	if class == notSecret {
		return end
	}
	sure := s.quoted || s.assign || s.tight
	switch {
	case !sure && start > 0 && text[start-1] == '/': // a JSON pointer in the text of a validation, or a path
		return end
	case !s.quoted && !s.assign && strings.EqualFold(key, "token"):
		if isParserWord(before) {
			return end
		}
		class = doubtful
	case !s.quoted && !s.assign && key == "PASS": // of a test run
		return end
	case !s.quoted && strings.HasSuffix(strings.ToLower(key), "pwd") && isPath(text[s.value:]):
		return end
	}
	if class == header && (!s.assign || s.quoted) {
		return f.header(start, s)
	}
	return f.value(start, s, class, sure, inQuery)
}

func isParserWord(word string) bool {
	switch strings.ToLower(word) {
	case "unexpected", "near", "expected", "expecting", "illegal", "at", "got", "found":
		return true
	}
	return false
}

// isPath reports whether text begins with a path, which is what PWD holds in an
// environment.
func isPath(text string) bool {
	return strings.HasPrefix(text, "/") || strings.HasPrefix(text, "~") || len(text) > 2 && text[1] == ':' && text[2] == '\\'
}

// unseparated is for credentials whose key is not followed by a separator.
func (f *finder) unseparated(start, end int, before string) int {
	text := f.text
	if end == len(text) {
		return end
	}
	word := text[start:end]
	next := skipBlanks(text, end)
	switch {
	case text[end] == '>' && start > 0 && text[start-1] == '<' && classify(word, false) == secret: // XML
		window := text[end+1 : min(end+4096, len(text))]
		if n := strings.IndexByte(window, '<'); n > 0 && strings.HasPrefix(window[n:], "</") && !isProse(window[:n]) {
			f.mask(end+1, end+1+n)
			return end + 1 + n
		}
		return end
	case quoteAt(text, next) == 1 && text[next] == '\'' && next > end &&
		(strings.EqualFold(word, "password") || strings.EqualFold(word, "by") && strings.EqualFold(before, "identified")): // SQL
		last := closing(text, next+1, 1)
		f.mask(next+1, last)
		return last
	case next > end && (word == "-u" || word == "--user"): // curl
		last := next + quoteAt(text, next)
		for last < len(text) && strings.IndexByte(" \t\n\"'", text[last]) < 0 {
			last++
		}
		if value := text[next:last]; strings.IndexByte(value, ':') > 0 && strings.Trim(value, "0123456789:") != "" {
			f.mask(next+quoteAt(text, next), last)
			return last
		}
		return end
	case strings.HasPrefix(text[next:], "is ") && classify(word, false) == secret:
		value := wordAt(text, next+3)
		if value = strings.TrimRight(value, ".,;:)]}>"); isOpaque(value) {
			f.mask(next+3, next+3+len(value))
			return next + 3 + len(value)
		}
		return end
	case next > end && strings.HasPrefix(word, "--") && classify(word, false) == secret:
		return f.value(start, separator{value: next}, secret, false, false)
	}
	// {"name": "DB_PASSWORD", "value": "x"}
	pos := end + quoteAt(text, end)
	if pos < len(text) && text[pos] == ',' {
		pos++
	}
	for pos < len(text) && pos < end+32 && strings.IndexByte(" \t\r\n", text[pos]) >= 0 {
		pos++
	}
	pos += quoteAt(text, pos)
	if pos == end || pos+5 > len(text) || !strings.EqualFold(text[pos:pos+5], "value") {
		return end
	}
	s, ok := separatorAt(text, pos+5)
	if class := classify(word, false); ok && (class == secret || class == header) {
		return f.value(start, s, secret, true, false)
	}
	return end
}

// header masks the value of a header, which is a credential as a whole.
func (f *finder) header(start int, s separator) int {
	text, pos := f.text, s.value
	if n := plainValue(text, pos, s.quoted); n > 0 {
		return pos + n
	}
	if open, end := listAt(text, pos, s); open > 0 {
		return f.list(open, end, header)
	}
	if n := quoteAt(text, pos); n > 0 {
		end := closing(text, pos+n, n)
		f.mask(pos+n, end)
		return end
	}
	if strings.HasPrefix(text[pos:], mask) {
		return pos + len(mask)
	}
	// Up to the end of the line, of the string that the header is in, or of the
	// map that fmt printed.
	around := byte('\n')
	if start > 0 && strings.IndexByte("\"'`", text[start-1]) >= 0 {
		around = text[start-1]
	}
	first := wordAt(text, pos)
	scheme := isHeaderScheme(first)
	next := skipBlanks(text, pos+len(first))
	if !s.tight && !scheme && isProse(first) && isProse(wordAt(text, next)) {
		return pos
	}
	pair := s.tight && scheme && !strings.EqualFold(first, "digest")
	end := pos
	for ; end < len(text) && text[end] != '\n' && text[end] != '\r' && text[end] != around; end++ {
		if s.tight && (text[end] == ']' || text[end] == '}') || pair && end > next && text[end] == ' ' {
			break
		}
		if n := quoteAt(text, end); n > 0 {
			if end == pos || text[end-1] != '=' {
				break
			}
			end = closing(text, end+n, n) + n - 1 // a parameter, as of Digest
		}
	}
	end = min(end, len(text))
	if !scheme || !isPlaceholder(text[min(next, end):end]) {
		f.mask(pos, end)
	}
	return end
}

// wordAt returns the word at pos up to a blank or a quote, or the beginning of
// a long one.
func wordAt(text string, pos int) string {
	end := pos
	for end < len(text) && end < pos+64 && strings.IndexByte(" \t\r\n\"'`", text[end]) < 0 {
		end++
	}
	return text[pos:end]
}

func isHeaderScheme(word string) bool {
	switch strings.ToLower(word) {
	case "bearer", "basic", "digest", "key", "token", "apikey", "negotiate", "ntlm", "hawk", "oauth", "dpop", "sharedkey", "custom":
		return true
	}
	return false
}
