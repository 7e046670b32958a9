package errors

import (
	"encoding/base64"
	"slices"
	"strings"
)

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
