package discovery

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxName is the length in bytes above which a name is not matched at all. The
// specification allows 128.
const maxName = 256

// clean takes off what is no part of a name: white space, control and
// invisible characters, quotes, a trailing "()" or ":", and everything from
// the first "<|", where a model's own control tokens begin.
func clean(name string) string {
	if i := strings.Index(name, "<|"); i >= 0 {
		name = name[:i]
	}
	plain := true
	for i := 0; i < len(name); i++ {
		if c := name[i]; c < 0x20 || c >= 0x7f {
			plain = false
			break
		}
	}
	if !plain {
		name = strings.Map(func(r rune) rune {
			switch {
			case r == '\n' || r == '\t' || r == '\r' || r == 0x85 || unicode.Is(unicode.Zs, r) || r == 0x2028 || r == 0x2029:
				return ' '
			case invisible(r) || r == utf8.RuneError:
				return -1
			}
			return r
		}, name)
	}
	for {
		before := name
		name = strings.TrimFunc(name, func(r rune) bool {
			return unicode.IsSpace(r) || strings.ContainsRune("\"'`“”‘’«»*", r)
		})
		name = strings.TrimRight(name, ":;,.(_-")
		name = strings.TrimSuffix(name, "()")
		name = strings.TrimSuffix(name, "({})")
		name = strings.TrimRight(name, " )")
		if name == before {
			return name
		}
	}
}

// invisible reports whether a character shows nothing: control and format
// characters, tags, variation selectors, and the blanks that Unicode calls
// letters.
func invisible(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r >= 0xE0000 && r <= 0xE01EF || r >= 0xFE00 && r <= 0xFE0F ||
		r == 0x115F || r == 0x1160 || r == 0x3164 || r == 0xFFA0 || r == 0x034F || r == 0x17B4 || r == 0x17B5
}

// clientHeads are namespaces that clients and models put before a name.
var clientHeads = []string{"functions", "function", "tools", "tool", "default_api", "namespace", "mcp", "call"}

// clientTails are words that models put after a name.
var clientTails = []string{"tool", "function", "call", "api", "mcp", "v2", "json"}

const maxAffixes = 6

// beheaded yields the name with one more known head taken off each time.
func (x *index) beheaded(name string) []string {
	var out []string
	for range maxAffixes {
		rest := x.behead(name)
		if rest == name {
			break
		}
		out = append(out, rest)
		name = rest
	}
	return out
}

// beheadedClient yields the name of a tool without an "mcp" before it, which
// a gateway has put there.
func beheadedClient(name string) []string {
	if rest, ok := cutHead(name, "mcp"); ok {
		return []string{rest}
	}
	return nil
}

func (x *index) behead(name string) string {
	// "mcp__server__tool": the client's name for a server is not ours to know,
	// but between two doubled separators it can be nothing else.
	for _, sep := range []string{"__", "--"} {
		if head, rest, ok := strings.Cut(name, sep); ok && isMCP(head) {
			if _, tool, ok := strings.Cut(rest, sep); ok && hasName(tool) {
				return tool
			}
			if hasName(rest) {
				return rest
			}
		}
	}
	for _, head := range x.heads {
		if rest, ok := cutHead(name, head); ok {
			return rest
		}
	}
	return name
}

func isMCP(head string) bool {
	if len(head) < 3 || !strings.EqualFold(head[:3], "mcp") {
		return false
	}
	return strings.Trim(head[3:], "0123456789") == ""
}

func hasName(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) })
}

// cutHead takes head and the separators behind it off name, ignoring case and
// the kind of separator. Digits may follow a head: "mcp0_".
func cutHead(name, head string) (string, bool) {
	i := 0
	for j := 0; j < len(head); j++ {
		h := lower(head[j])
		if i >= len(name) {
			return "", false
		}
		n := lower(name[i])
		if h != n && !(isSeparator(h) && isSeparator(n)) {
			return "", false
		}
		i++
	}
	if strings.EqualFold(head, "mcp") {
		for i < len(name) && name[i] >= '0' && name[i] <= '9' {
			i++
		}
	}
	rest := name[i:]
	cut := strings.TrimLeft(rest, "_-.:/ |")
	if cut == rest || !hasName(cut) {
		return "", false
	}
	return cut, true
}

func lower(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

func isSeparator(c byte) bool { return strings.IndexByte("_-.:/ |", c) >= 0 }

// sureTails say no more than that a name is a tool's.
var sureTails = setOf("tool function")

// untailed returns name without one known tail. It is sure if the tail cannot
// be what the name speaks of: neither a version nor the one thing in it.
func (x *index) untailed(name string, o *settings) (rest string, sure, ok bool) {
	for _, tail := range x.tails {
		if len(name) <= len(tail) {
			continue
		}
		cut := len(name) - len(tail)
		if !strings.EqualFold(name[cut:], tail) {
			continue
		}
		rest := strings.TrimRight(name[:cut], "_-.:/ |")
		camel := len(rest) == cut && tail[0] >= 'a' && tail[0] <= 'z' && name[cut] >= 'A' && name[cut] <= 'Z'
		if hasName(rest) && (len(rest) < cut || camel) {
			return rest, slices.Contains(o.suffixes, tail) || sureTails[tail] && !x.oneAction(rest), true
		}
	}
	return name, false, false
}

// oneAction reports whether a name is an action alone: in "delete_tool" the tail
// is what is deleted.
func (x *index) oneAction(name string) bool {
	words := split(name)
	lx := x.lex.words[words[0]]
	return len(words) == 1 && lx != nil && lx.verb != 0
}

// marksMore reports whether a name carries a sign that may mean something: a
// "!" or "~" may say not, "#" and "//" that this is a comment. Separators,
// quotes and brackets mean nothing.
func marksMore(name string) bool {
	name = clean(name)
	if name != "" && strings.IndexByte("-/|:", name[0]) >= 0 {
		return true
	}
	return strings.ContainsFunc(name, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) && !strings.ContainsRune("_-.:/ |()[]{}<>\"'`“”‘’«»*,;", r)
	})
}

// elsewhere reports whether a name has an "mcp__server__" before it that names
// none of this server's, where the operator has said what they are.
func (x *index) elsewhere(name string, o *settings) bool {
	if len(o.Servers) == 0 {
		return false
	}
	name = clean(name)
	for _, form := range append([]string{name}, x.beheaded(name)...) {
		head, rest, _ := strings.Cut(form, "_")
		if h, r, ok := strings.Cut(form, "-"); ok && len(h) < len(head) {
			head, rest = h, r
		}
		if !isMCP(head) {
			continue
		}
		rest = strings.TrimLeft(rest, "_-.:/ |")
		own := slices.ContainsFunc(slices.Concat(o.servers, o.prefixes, []string{"mcp"}), func(s string) bool {
			_, ok := cutHead(rest, s)
			return ok
		})
		if _, tool := x.byFold[fold(rest)]; !own && !tool {
			return true
		}
	}
	return false
}

// unnumbered takes off a call's number: "read_file:3", "read_file_3",
// "read_file:index:0".
func unnumbered(name string) (string, bool) {
	i := len(name)
	for i > 0 && name[i-1] >= '0' && name[i-1] <= '9' {
		i--
	}
	if i == len(name) || len(name)-i > 3 || i == 0 {
		return name, false
	}
	rest := strings.TrimRight(name[:i], "_-.:/# ")
	if len(rest) == i || !hasName(rest) {
		return name, false
	}
	if head, ok := strings.CutSuffix(rest, "index"); ok && strings.HasSuffix(head, ":") {
		rest = strings.TrimRight(head, ":")
	}
	return rest, true
}

// segments returns the parts of a name behind each namespace separator, the
// longest first: "a.b__c" is "b__c" and "c".
func segments(name string) []string {
	var out []string
	for i := 0; i < len(name) && len(out) < maxAffixes; i++ {
		width := 0
		switch {
		case strings.IndexByte("./:|", name[i]) >= 0:
			width = 1
		case i+1 < len(name) && (name[i:i+2] == "__" || name[i:i+2] == "--"):
			width = 2
		}
		if width > 0 && i > 0 && hasName(name[i+width:]) {
			out = append(out, strings.TrimLeft(name[i+width:], "_-.:/ |"))
			i += width - 1
		}
	}
	return out
}

var terminalCodes = regexp.MustCompile("(?:\x1b\\[|\u009b)[0-?]*[ -/]*[@-~]")

// unescaped is s without the codes that colour a terminal, of which nothing
// but "[31m" would be left otherwise.
func unescaped(s string) string {
	if !strings.ContainsAny(s, "\x1b\u009b") {
		return s
	}
	return terminalCodes.ReplaceAllString(s, "")
}

// Quote returns name as it may be shown to a model or a person: in quotes, cut
// to 80 characters, without control and invisible characters.
func quote(name string) string {
	var b strings.Builder
	b.WriteByte('"')
	n := 0
	for _, r := range unescaped(name) {
		if invisible(r) || unicode.IsControl(r) || r == 0x2028 || r == 0x2029 {
			continue
		}
		if n++; n > 80 {
			b.WriteString("...")
			break
		}
		if r == '"' || r == '\\' {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	b.WriteByte('"')
	return b.String()
}
