package errors

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// mask stands where a credential stood.
const mask = "***"

// clean makes text fit to be shown: credentials are masked, control characters
// and invalid UTF-8 are dropped, and what is longer than limit bytes is cut
// with a mark. Its cost is linear in limit, whatever the text's length.
func clean(text string, limit int) string {
	cut := false
	if window := 2 * limit; len(text) > window {
		// A credential that the window cuts in two would not be recognized, so
		// the last word goes.
		cut = true
		text = text[:window]
		text = text[:strings.LastIndexAny(text, " \t\n")+1]
	}
	text = scrub(printable(text))
	if len(text) > limit {
		cut = true
		n := limit
		for n > 0 && !utf8.RuneStart(text[n]) {
			n--
		}
		text = text[:n]
	}
	if cut {
		text += "… (cut)"
	}
	return text
}

// printable drops what a terminal or a strict decoder would stumble over.
func printable(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	return strings.Map(func(r rune) rune {
		if r < 0x20 && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 {
			return -1
		}
		return r
	}, text)
}

// A span is a part of a text that must not be shown.
type span struct{ start, end int }

// scrub masks the credentials in text. It looks for what connection errors,
// dumped configurations and dumped requests contain:
//
//	scheme://user:password@host     userinfo of a URL
//	user:password@tcp(host)/db      the MySQL driver's DSN
//	password=..., "api_key": "..."  settings, query parameters, JSON, DSN
//	Authorization: ..., Cookie: ... headers
//	Bearer ..., Basic ...           credentials with their scheme
//	sk-..., ghp_..., eyJ...         tokens that show what they are
//
// Each search passes over the text once. What cannot be told from prose is
// masked where that costs a reader little and left where it would cost the
// message.
func scrub(text string) string {
	var spans []span
	spans = userinfo(text, spans)
	spans = mysqlDSN(text, spans)
	spans = settings(text, spans)
	spans = privateKeys(text, spans)
	if len(spans) == 0 {
		return text
	}
	slices.SortFunc(spans, func(a, b span) int { return a.start - b.start })
	var b strings.Builder
	pos := 0
	for _, s := range spans {
		if s.end <= pos {
			continue // inside the one before
		}
		if s.start >= pos {
			b.WriteString(text[pos:s.start])
			b.WriteString(mask)
		}
		pos = s.end
	}
	b.WriteString(text[pos:])
	return b.String()
}

// blanks ends a run of characters that a URL or a value can consist of.
const blanks = " \t\n\r\"'`<>"

// userinfo finds the userinfo of URLs.
func userinfo(text string, spans []span) []span {
	const sep = "://"
	for pos := 0; ; {
		i := strings.Index(text[pos:], sep)
		if i < 0 {
			return spans
		}
		start := pos + i + len(sep)
		rest := text[start:]
		if next := strings.Index(rest, sep); next >= 0 {
			rest = rest[:next]
		}
		if end := strings.IndexAny(rest, blanks); end >= 0 {
			rest = rest[:end]
		}
		pos = start + len(rest)

		authority := rest
		if end := strings.IndexAny(rest, "/?#"); end >= 0 {
			authority = rest[:end]
		}
		at := strings.LastIndexByte(authority, '@')
		if at < 0 && !isHostPort(authority) {
			// A password with an unescaped slash, question mark or number sign.
			at = strings.LastIndexByte(rest, '@')
		}
		if at >= 0 {
			spans = append(spans, span{start, start + at})
		}
	}
}

// isHostPort reports whether an authority without '@' can be one: it has no
// colon, or a port behind it, or it is an IPv6 address or a list of hosts.
func isHostPort(authority string) bool {
	if strings.HasPrefix(authority, "[") {
		return true
	}
	_, port, found := strings.Cut(authority, ":")
	if !found {
		return true
	}
	for i := range len(port) {
		if c := port[i]; c == ',' {
			return true
		} else if c < '0' || c > '9' {
			return false
		}
	}
	return true
}

// mysqlDSN finds user and password in DSNs of the form
// user:password@protocol(address)/database, which is no URL.
func mysqlDSN(text string, spans []span) []span {
	run := 0 // where the run of characters before at begins
	for pos := 0; ; {
		i := strings.IndexByte(text[pos:], '@')
		if i < 0 {
			return spans
		}
		at := pos + i
		if blank := strings.LastIndexAny(text[pos:at], blanks); blank >= 0 {
			run = pos + blank + 1
		}
		pos = at + 1
		for pos < len(text) && isWord(text[pos]) {
			pos++
		}
		if pos < len(text) && text[pos] == '(' {
			if strings.IndexByte(text[run:at], ':') >= 0 {
				spans = append(spans, span{run, at})
			}
			run = pos
		}
	}
}

// settings finds the values of keys that name a credential, credentials that
// follow the name of their scheme, and tokens known by their prefix.
func settings(text string, spans []span) []span {
	for i := 0; i < len(text); {
		if !isWord(text[i]) {
			i++
			continue
		}
		end := i
		for end < len(text) && isWord(text[end]) {
			end++
		}
		word := text[i:end]
		switch {
		case isToken(word):
			for end < len(text) && (isWord(text[end]) || text[end] == '.') {
				end++
			}
			spans = append(spans, span{i, end})
		case isScheme(word):
			if s, ok := schemeValue(text, end); ok {
				spans = append(spans, s)
				end = s.end
			}
		default:
			if s, ok := keyValue(text, i, end); ok {
				spans = append(spans, s)
				end = s.end
			}
		}
		i = end
	}
	return spans
}

func isWord(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '-'
}

// tokenPrefixes begin tokens that say themselves what they are.
var tokenPrefixes = []string{
	"eyJ", // a JSON web token
	"sk-", "sk_live_", "sk_test_", "rk_live_",
	"ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-",
	"xoxb-", "xoxp-", "xoxa-", "xoxs-", "xapp-",
	"AKIA", "ASIA", "AIza", "ya29",
}

func isToken(word string) bool {
	if len(word) < 16 {
		return false
	}
	for _, p := range tokenPrefixes {
		if strings.HasPrefix(word, p) {
			return true
		}
	}
	return false
}

func isScheme(word string) bool {
	return strings.EqualFold(word, "bearer") || strings.EqualFold(word, "basic")
}

// schemeValue returns the token that follows the name of a scheme which ends
// at pos.
func schemeValue(text string, pos int) (span, bool) {
	start := pos
	for start < len(text) && (text[start] == ' ' || text[start] == '\t') {
		start++
	}
	if start == pos {
		return span{}, false
	}
	end := start
	for end < len(text) && (isWord(text[end]) || strings.IndexByte("._~+/=", text[end]) >= 0) {
		end++
	}
	return span{start, end}, !isProse(text[start:end])
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
		if c := value[i]; (c < 'a' || c > 'z') && c != '.' {
			return false
		}
	}
	return true
}

// keyValue returns the value that belongs to the key text[start:end], if that
// key names a credential.
func keyValue(text string, start, end int) (span, bool) {
	inQuery := start > 0 && (text[start-1] == '?' || text[start-1] == '&')
	class := classify(text[start:end], inQuery)
	if class == notSecret {
		return span{}, false
	}
	pos := end
	quoted := false
	for pos < len(text) && (text[pos] == '"' || text[pos] == '\'' || text[pos] == '\\') && pos < end+2 {
		quoted = true
		pos++
	}
	pos = skipBlanks(text, pos)
	if pos >= len(text) || text[pos] != '=' && text[pos] != ':' {
		return span{}, false
	}
	sure := quoted || text[pos] == '='
	spaced := text[pos] == ':' || text[pos-1] == ' '
	pos++
	if pos < len(text) && text[pos-1] == ':' {
		if text[pos] == '=' { // as in an assignment of Go
			sure = true
			pos++
		} else if text[pos] != ' ' { // as in a dumped struct
			sure = true
		}
	}
	if spaced { // otherwise a blank ends a value that is empty
		pos = skipBlanks(text, pos)
	}
	if class == header {
		return headerValue(text, pos)
	}
	value, inQuotes := valueAt(text, pos)
	if isScheme(text[value.start:value.end]) {
		if s, ok := schemeValue(text, value.end); ok {
			return span{value.start, s.end}, true
		}
	}
	if value.start == value.end || !sure && !inQuotes && isProse(text[value.start:value.end]) {
		return span{}, false
	}
	return value, true
}

func skipBlanks(text string, pos int) int {
	for pos < len(text) && (text[pos] == ' ' || text[pos] == '\t') {
		pos++
	}
	return pos
}

// valueAt returns the value that begins at pos, without its quotes or braces.
func valueAt(text string, pos int) (value span, quoted bool) {
	if pos < len(text) && text[pos] == '\\' { // JSON inside JSON
		pos++
	}
	if pos >= len(text) {
		return span{pos, pos}, false
	}
	closing := text[pos]
	switch closing {
	case '"', '\'', '`':
	case '{':
		closing = '}'
	default:
		end := pos
		for end < len(text) && strings.IndexByte(" \t\n\r\"'`&;", text[end]) < 0 {
			end++
		}
		return span{pos, end}, false
	}
	for end := pos + 1; end < len(text); end++ {
		switch {
		case text[end] == closing || text[end] == '\n':
			return span{pos + 1, end}, true
		case text[end] == '\\' && end+1 < len(text) && text[end+1] != '\n':
			if text[end+1] == closing && text[pos-1] == '\\' {
				return span{pos + 1, end}, true
			}
			end++
		}
	}
	return span{pos + 1, len(text)}, true
}

// headerValue returns the rest of the line or of the quoted string, for a
// header whose whole value is a credential.
func headerValue(text string, pos int) (span, bool) {
	for pos < len(text) && strings.IndexByte("\"'`[{\\", text[pos]) >= 0 { // of JSON or a dumped http.Header
		pos++
	}
	end := pos
	for end < len(text) && strings.IndexByte(" \n\r\"'`", text[end]) < 0 {
		end++
	}
	first := text[pos:end]
	if isProse(first) && !isScheme(first) && !strings.EqualFold(first, "key") && !strings.EqualFold(first, "token") {
		return span{}, false
	}
	for end < len(text) && strings.IndexByte("\n\r\"'`", text[end]) < 0 {
		end++
	}
	return span{pos, end}, true
}

type keyClass int

const (
	notSecret keyClass = iota
	secret
	header // its value is a credential up to the end of the line
)

// secretSuffixes end the names of settings that hold a credential, written
// without '_' and '-' and in lower case.
var secretSuffixes = []string{
	"password", "passwd", "passphrase", "pwd", "secret", "token", "apikey",
	"accesskey", "secretkey", "privatekey", "subscriptionkey", "signature", "credential", "credentials",
}

// notSecrets are names that end like one and are none.
var notSecrets = []string{"pagetoken", "nextpagetoken", "continuationtoken", "progresstoken"}

// queryKeys hold a credential when they are parameters of a URL, and are
// everyday words elsewhere.
var queryKeys = []string{"key", "sig", "code", "auth", "session", "sessionid", "sid", "jwt", "pass"}

var headerKeys = []string{"authorization", "proxyauthorization", "cookie", "setcookie"}

func classify(key string, inQuery bool) keyClass {
	if len(key) > 64 {
		key = key[len(key)-64:]
	}
	folded := strings.Map(func(r rune) rune {
		switch {
		case r == '_' || r == '-':
			return -1
		case 'A' <= r && r <= 'Z':
			return r + ('a' - 'A')
		}
		return r
	}, key)
	switch {
	case slices.Contains(notSecrets, folded):
		return notSecret
	case slices.Contains(headerKeys, folded):
		return header
	case inQuery && slices.Contains(queryKeys, folded):
		return secret
	}
	for _, s := range secretSuffixes {
		if strings.HasSuffix(folded, s) {
			return secret
		}
	}
	return notSecret
}

// privateKeys finds what PEM blocks of private keys hold.
func privateKeys(text string, spans []span) []span {
	const begin, label, end = "-----BEGIN ", "PRIVATE KEY-----", "-----END "
	for pos := 0; ; {
		i := strings.Index(text[pos:], begin)
		if i < 0 {
			return spans
		}
		pos += i + len(begin)
		line, _, _ := strings.Cut(text[pos:min(pos+64, len(text))], "\n")
		n := strings.Index(line, label)
		if n < 0 {
			continue
		}
		start := pos + n + len(label)
		n = strings.Index(text[start:], end)
		if n < 0 {
			return append(spans, span{start, len(text)})
		}
		pos = start + n + len(end)
		spans = append(spans, span{start, start + n})
	}
}
