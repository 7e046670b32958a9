package errors

import (
	"encoding/base64"
	"slices"
	"strings"
)

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

// tokenPrefixes begin tokens that say themselves what they are.
var tokenPrefixes = []string{
	"eyJ", // a JSON web token
	"sk_live_", "sk_test_", "rk_live_", "rk_test_", "whsec_",
	"ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "glptt-", "dckr_pat_", "pypi-", "shpat_", "shpss_", "dop_v1_", "lin_api_",
	"xoxb-", "xoxp-", "xoxa-", "xoxs-", "xoxr-", "xapp-",
	"AIza", "ya29",
}

// likelyPrefixes begin names of other things, too, which have no digits.
var likelyPrefixes = []string{"sk-", "hf_", "npm_", "gsk_", "xai-"}

// dottedPrefixes have a dot behind them, which is part of no word.
var dottedPrefixes = []string{"ya29", "SG", "hvs", "hvb"}

// tokenLen returns the length of the token that text begins with, and 0 if the
// word there is none.
func tokenLen(text, word string) int {
	n := len(word)
	is := false
	switch {
	case len(word) >= 16 && hasAnyPrefix(word, tokenPrefixes):
		is = true
	case len(word) >= 20 && hasAnyPrefix(word, likelyPrefixes):
		is = strings.ContainsAny(word, "0123456789")
	case len(word) == 20 && (strings.HasPrefix(word, "AKIA") || strings.HasPrefix(word, "ASIA")):
		is = strings.Trim(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789") == ""
	case len(word) <= 4 && n < len(text) && text[n] == '.' && slices.Contains(dottedPrefixes, word):
		rest := text[n+1 : min(len(text), n+17)]
		is = len(rest) == 16 && strings.IndexFunc(rest, func(r rune) bool { return r > 0x7f || !isWord(byte(r)) && r != '.' }) < 0
	}
	if !is {
		return 0
	}
	for n < len(text) && (isWord(text[n]) || text[n] == '.') {
		n++
	}
	for text[n-1] == '.' {
		n--
	}
	return n
}

func hasAnyPrefix(s string, prefixes []string) bool {
	for _, p := range prefixes {
		if strings.HasPrefix(s, p) {
			return true
		}
	}
	return false
}

func isScheme(word string) bool {
	return strings.EqualFold(word, "bearer") || strings.EqualFold(word, "basic")
}

// schemeValue returns the token that follows the name of a scheme, which is
// text[start:pos].
func schemeValue(text string, start, pos int) (span, bool) {
	basic := strings.EqualFold(text[start:pos], "basic")
	from := skipBlanks(text, pos)
	if strings.HasPrefix(text[from:], "%20") {
		from += 3
	}
	if from == pos {
		return span{}, false
	}
	end := from
	for end < len(text) && (isWord(text[end]) || strings.IndexByte("._~+/=", text[end]) >= 0 || basic && text[end] == ':') {
		end++
	}
	value := text[from:end]
	switch {
	case isProse(value):
		return span{}, false
	case strings.HasSuffix(value, "=") && end < len(text) && (text[end] == '"' || text[end] == '\\'): // a parameter of WWW-Authenticate
		return span{}, false
	case basic && strings.IndexByte(value[:len(value)-1], ':') < 0:
		raw := strings.TrimRight(value[:min(len(value), 512)], "=")
		raw = strings.NewReplacer("-", "+", "_", "/").Replace(raw)
		decoded, _ := base64.RawStdEncoding.DecodeString(raw)
		return span{from, end}, strings.IndexByte(string(decoded), ':') >= 0
	}
	return span{from, end}, true
}

// isProse reports whether a value without quotes reads as a word of the
// message ("bearer token expired", "password: required") and not as a secret.
func isProse(value string) bool {
	if len(value) < 4 {
		return true
	}
	if len(value) >= 20 {
		return false
	}
	for i := range len(value) {
		if c := value[i]; (c < 'a' || c > 'z') && c != '.' && c != ',' && (i > 0 || c < 'A' || c > 'Z') {
			return false
		}
	}
	return true
}

// complaints begin what a validation says about a value in quotes.
var complaints = []string{
	"is ", "must ", "may ", "should ", "cannot ", "can't ", "can not ", "has ", "was ", "does ", "not ", "too ", "at least ", "no ",
	"required", "invalid", "missing", "expired", "incorrect", "wrong", "string", "optional", "unknown", "revoked",
}

func isComplaint(value string) bool {
	for _, c := range complaints {
		if len(value) >= len(c) && strings.EqualFold(value[:len(c)], c) && (c[len(c)-1] == ' ' || len(value) == len(c) || !isWord(value[len(c)])) {
			return true
		}
	}
	return false
}

// isPlaceholder reports whether value stands for a secret and is none.
func isPlaceholder(value string) bool {
	switch {
	case strings.Trim(value, "*") == "", strings.EqualFold(value, "[redacted]"), strings.EqualFold(value, "redacted"):
		return true
	case len(value) == 2 && value[0] == '%':
		return true
	case strings.HasPrefix(value, "${") && strings.IndexByte(value, '}') == len(value)-1:
		return true
	case len(value) > 2 && value[0] == '<' && value[len(value)-1] == '>':
		return strings.Trim(value[1:len(value)-1], "abcdefghijklmnopqrstuvwxyz_- ") == ""
	}
	return false
}

// isOpaque reports whether value looks like something that no one wrote by
// hand.
func isOpaque(value string) bool {
	return len(value) >= 8 && !strings.ContainsAny(value, " ()[]{}<>") &&
		strings.ContainsAny(value, "0123456789") && strings.ContainsAny(strings.ToLower(value[:min(len(value), 64)]), "abcdefghijklmnopqrstuvwxyz")
}

// plainWords are values of a key that only says whether there is a secret.
var plainWords = []string{"null", "true", "false", "nil", "none", "undefined", "yes", "no", "<nil>"}

// plainValue returns the length of the word or number at pos that is no
// secret, and 0 if there is none. In JSON every number is none.
func plainValue(text string, pos int, numbers bool) int {
	end := pos
	for end < len(text) && (isWord(text[end]) || text[end] == '<' && end == pos || text[end] == '>' || text[end] == '.' || text[end] == '+') {
		end++
	}
	value := strings.TrimRight(text[pos:end], ".")
	if value != "" && (len(value) < 4 || numbers) && strings.Trim(value, "0123456789.-+eE") == "" && value[0] <= '9' {
		return len(value)
	}
	if len(value) <= len("undefined") {
		for _, w := range plainWords {
			if strings.EqualFold(value, w) {
				return len(value)
			}
		}
	}
	return 0
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
