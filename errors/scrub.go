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
	cut := len(text) > 2*limit
	if cut {
		text = text[:runeBefore(text, 2*limit)]
	}
	text = printable(text)
	shown := len(text)
	if cut {
		// A credential that the cut goes through may not be recognized. So the
		// last word only helps to recognize what is before it, or the end of that
		// word if it is a long one.
		word := strings.LastIndexAny(text, blanks) + 1
		shown = max(word, runeBefore(text, len(text)-min(limit, 4<<10)))
		if n := strings.LastIndex(text[word:], "://"); n >= 0 {
			rest := text[word+n+3:]
			authority, _, whole := cutAny(rest, "/?#")
			if strings.IndexByte(rest, '@') < 0 && !(whole && isHostPort(authority)) {
				shown = min(shown, word+n+3) // userinfo that is longer than what was kept
			}
		}
	}
	text = masked(text, credentials(text), shown)
	if len(text) > limit {
		cut = true
		text = text[:runeBefore(text, limit)]
	}
	if cut {
		text += "… (cut)"
	}
	return text
}

// cutAny is strings.Cut at the first of chars.
func cutAny(text, chars string) (before, after string, found bool) {
	if i := strings.IndexAny(text, chars); i >= 0 {
		return text[:i], text[i+1:], true
	}
	return text, "", false
}

// runeBefore returns where the rune that byte n of text belongs to begins.
func runeBefore(text string, n int) int {
	n = min(max(n, 0), len(text))
	for n > 0 && n < len(text) && !utf8.RuneStart(text[n]) {
		n--
	}
	return n
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
//	user:password@tcp(host)/db      the MySQL driver's DSN, and its like
//	password=..., "api_key": "..."  settings, query parameters, JSON, DSN
//	"api_key": ["..."], Key:[...]   lists of these, in JSON and as fmt prints them
//	Authorization: ..., Cookie: ... headers
//	Bearer ..., Basic ...           credentials with their scheme
//	sk-..., ghp_..., eyJ...         tokens that show what they are
//
// Each search passes over the text once. What cannot be told from prose is
// masked where that costs a reader little and left where it would cost the
// message.
func scrub(text string) string { return masked(text, credentials(text), len(text)) }

// credentials returns where in text credentials are.
func credentials(text string) []span {
	var spans []span
	spans = userinfo(text, "://", spans)
	spans = userinfo(text, `:\/\/`, spans) // as some encoders of JSON write it
	spans = bareUserinfo(text, spans)
	spans = addresses(text, spans)
	spans = settings(text, spans)
	return privateKeys(text, spans)
}

// masked returns the first n bytes of text with the spans masked, the one that
// reaches beyond them too.
func masked(text string, spans []span, n int) string {
	if len(spans) == 0 {
		return text[:n]
	}
	slices.SortFunc(spans, func(a, b span) int { return a.start - b.start })
	var b strings.Builder
	pos := 0
	for _, s := range spans {
		if s.start >= n {
			break
		}
		if s.end <= pos {
			continue // inside the one before
		}
		if s.start >= pos {
			b.WriteString(text[pos:s.start])
			b.WriteString(mask)
		}
		pos = s.end
	}
	if pos < n {
		b.WriteString(text[pos:n])
	}
	return b.String()
}

// blanks ends a run of characters that a URL or a value can consist of.
const blanks = " \t\n\r\"'`<>"

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

// Mask returns text with the credentials in it masked, as they are in every
// text that is shown or logged: userinfo and secrets of URLs, connection strings
// and headers, passwords and keys in settings, tokens and private keys that show
// what they are. What it returns unchanged may still be secret in a way that
// nothing shows.
func Mask(text string) string { return scrub(text) }
