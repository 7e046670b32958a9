package errors

import (
	"slices"
	"strings"
)

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
