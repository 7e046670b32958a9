package catalog

import (
	"fmt"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A Guard builds every URL to which a caller's credential is sent. Its host is
// fixed; what comes from a model is only ever a path below the prefix, or a
// parameter escaped into a template. It serves resource templates as well as
// endpoints. It is safe for concurrent use.
type Guard struct {
	base   url.URL // scheme, host, and a path without a slash at its end
	prefix string  // begins and ends with a slash
}

const (
	maxPathBytes  = 2048
	maxQueryBytes = 8192
	decodeRounds  = 3
)

// NewGuard returns a guard for the URLs below base, such as
// "https://api.example.com", whose paths begin with prefix, such as "/v1".
// An empty prefix is "/". A base with a path of its own puts it before every
// path; the prefix is that of what follows. The scheme is https, or http if
// plain is true or the host is this machine.
func NewGuard(base, prefix string, plain bool) (*Guard, error) {
	u, err := url.Parse(base)
	if err != nil {
		return nil, fmt.Errorf("catalog: the base URL does not parse")
	}
	switch {
	case u.Scheme != "https" && u.Scheme != "http":
		return nil, fmt.Errorf("catalog: the scheme of the base URL is %q, not https", u.Scheme)
	case u.Scheme == "http" && !plain && !thisMachine(u.Hostname()):
		return nil, fmt.Errorf("catalog: the base URL is plain http, which shows credentials to the network; allow it explicitly")
	case u.Hostname() == "" || u.Opaque != "":
		return nil, fmt.Errorf("catalog: the base URL has no host")
	case u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return nil, fmt.Errorf("catalog: the base URL may not have user, query or fragment")
	case !plainHost(u.Host):
		return nil, fmt.Errorf("catalog: the host of the base URL has characters that are not plain ASCII")
	}
	g := &Guard{base: url.URL{Scheme: u.Scheme, Host: u.Host}}
	if p := strings.TrimSuffix(u.EscapedPath(), "/"); p != "" {
		if g.base.Path, err = checkPath(p, "/"); err != nil {
			return nil, fmt.Errorf("catalog: the path of the base URL: %w", err)
		}
		g.base.RawPath = p
	}
	g.prefix = "/" + strings.Trim(prefix, "/")
	if _, err := checkPath(g.prefix, "/"); err != nil {
		return nil, fmt.Errorf("catalog: the prefix: %w", err)
	}
	if g.prefix != "/" {
		g.prefix += "/"
	}
	return g, nil
}

func plainHost(host string) bool {
	return !strings.ContainsFunc(host, func(r rune) bool {
		return r > unicode.MaxASCII || r <= ' ' || strings.ContainsRune(`\/@?#%"<>^|{}`+"`", r)
	})
}

func thisMachine(host string) bool {
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.Unmap().IsLoopback()
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	return host == "localhost" || strings.HasSuffix(host, ".localhost")
}

// Resolve returns the URL for a path that was not made from a template, with
// an optional query. It refuses whatever could be read as another host, as
// another path, or differently by the next parser: see docs/catalog.md for the
// list. The error says what is wrong and does not repeat the path.
func (g *Guard) Resolve(path string) (*url.URL, error) {
	if len(path) > maxPathBytes+maxQueryBytes {
		return nil, fmt.Errorf("it is longer than %d bytes", maxPathBytes+maxQueryBytes)
	}
	for i := 0; i < len(path); i++ {
		switch c := path[i]; {
		case c <= ' ' || c >= 0x7f:
			return nil, fmt.Errorf("it has a character that is not printable ASCII; escape it with %%")
		case c == '#':
			return nil, fmt.Errorf("it has a fragment")
		}
	}
	path, rawQuery, _ := strings.Cut(path, "?")
	query, err := parseQuery(rawQuery)
	if err != nil {
		return nil, err
	}
	return g.build(path, query)
}

func parseQuery(raw string) (url.Values, error) {
	if len(raw) > maxQueryBytes {
		return nil, fmt.Errorf("its query is longer than %d bytes", maxQueryBytes)
	}
	query, err := url.ParseQuery(raw)
	if err != nil {
		return nil, fmt.Errorf("its query does not parse")
	}
	for k, values := range query {
		for _, v := range append(values, k) {
			if err := checkText(v); err != nil {
				return nil, fmt.Errorf("its query: %w", err)
			}
		}
	}
	return query, nil
}

// Expand returns the URL for a template whose {name} parts are replaced by
// parameters. A parameter is one segment, or a part of one: it may not hold a
// slash or be made of dots, in whatever encoding.
func (g *Guard) Expand(template string, parameters map[string]string, query url.Values) (*url.URL, error) {
	var missing, wrong error
	path := placeholder.ReplaceAllStringFunc(template, func(m string) string {
		name := m[1 : len(m)-1]
		value, ok := parameters[name]
		if !ok {
			missing = fmt.Errorf("the path parameter %q is missing", clip(name, 60))
		} else if err := checkSegment(value); err != nil {
			wrong = fmt.Errorf("the path parameter %q: %w", clip(name, 60), err)
		}
		return url.PathEscape(value)
	})
	if missing != nil {
		return nil, missing
	}
	if wrong != nil {
		return nil, wrong
	}
	for k, values := range query {
		for _, v := range append(values, k) {
			if err := checkText(v); err != nil {
				return nil, fmt.Errorf("the parameter %q: %w", clip(k, 60), err)
			}
		}
	}
	return g.build(path, query)
}

// build makes the URL that is sent, and checks that a parser reads the same
// from it as it was built from.
func (g *Guard) build(path string, query url.Values) (*url.URL, error) {
	decoded, err := checkPath(path, g.prefix)
	if err != nil {
		return nil, err
	}
	u := g.base
	u.Path = g.base.Path + decoded
	u.RawPath = g.base.EscapedPath() + path
	u.RawQuery = query.Encode()
	if !g.Holds(&u) {
		return nil, fmt.Errorf("it does not stay what it is when it is parsed again")
	}
	return &u, nil
}

// Holds reports whether a URL, as it is written, is one that the guard could
// have built: the same scheme and host, and a path below the prefix.
func (g *Guard) Holds(u *url.URL) bool {
	again, err := url.Parse(u.String())
	if err != nil || again.Scheme != g.base.Scheme || again.Host != g.base.Host || again.User != nil || again.Opaque != "" || again.Fragment != "" || again.EscapedPath() != u.EscapedPath() {
		return false
	}
	path, ok := strings.CutPrefix(again.EscapedPath(), g.base.EscapedPath())
	if !ok {
		return false
	}
	_, err = checkPath(path, g.prefix)
	return err == nil
}

// checkPath returns the decoded form of an escaped path if every reader will
// agree on it, and if it begins with prefix, which ends in a slash.
func checkPath(path, prefix string) (string, error) {
	if len(path) > maxPathBytes {
		return "", fmt.Errorf("it is longer than %d bytes", maxPathBytes)
	}
	if !strings.HasPrefix(path, "/") {
		return "", fmt.Errorf("it does not begin with a slash: give a path, not a URL")
	}
	if strings.Contains(path, "//") {
		return "", fmt.Errorf("it has two slashes in a row")
	}
	for i := 0; i < len(path); i++ {
		if c := path[i]; c <= ' ' || c >= 0x7f || strings.IndexByte("\\\"<>^`{|}?#", c) >= 0 {
			return "", fmt.Errorf("it has a character that a path may not have")
		}
	}
	decoded := ""
	for i, segment := range strings.Split(path[1:], "/") {
		// The last may be empty: a path may end in a slash.
		if segment != "" || i == 0 {
			if err := checkEscaped(segment); err != nil {
				return "", err
			}
		}
		one, err := url.PathUnescape(segment)
		if err != nil {
			return "", fmt.Errorf("it has an escape that is none")
		}
		decoded += "/" + one
	}
	if path != strings.TrimSuffix(prefix, "/") && !strings.HasPrefix(path, prefix) {
		return "", fmt.Errorf("it does not begin with %s", prefix)
	}
	return decoded, nil
}

// checkSegment checks a value that becomes a path segment.
func checkSegment(value string) error {
	if value == "" {
		return fmt.Errorf("it is empty")
	}
	if len(value) > maxPathBytes {
		return fmt.Errorf("it is longer than %d bytes", maxPathBytes)
	}
	return checkEscaped(url.PathEscape(value))
}

// checkEscaped decodes a segment until it stays as it is, and refuses any form
// on the way that would be another path. What still changes after three
// rounds is refused as well.
func checkEscaped(segment string) error {
	form := segment
	for range decodeRounds {
		if err := checkForm(form); err != nil {
			return err
		}
		next := unescape(form)
		if next == form {
			return nil
		}
		form = next
	}
	if err := checkForm(form); err != nil {
		return err
	}
	if unescape(form) != form {
		return fmt.Errorf("it is encoded more than %d times", decodeRounds-1)
	}
	return nil
}

// unescape decodes as a lenient reader does: an escape that is none stays.
func unescape(s string) string {
	if !strings.Contains(s, "%") {
		return s
	}
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			if c, err := strconv.ParseUint(s[i+1:i+3], 16, 8); err == nil {
				b = append(b, byte(c))
				i += 2
				continue
			}
		}
		b = append(b, s[i])
	}
	return string(b)
}

// checkForm checks one form of a segment.
func checkForm(form string) error {
	if err := checkText(form); err != nil {
		return err
	}
	if strings.ContainsAny(form, `/\`) {
		return fmt.Errorf("it has a slash or backslash inside a segment")
	}
	for _, r := range form {
		if likeDotOrSlash(r) {
			return fmt.Errorf("it has a character that some readers take for a dot or a slash")
		}
	}
	// Servers strip parameters behind a semicolon, and some strip blanks and
	// dots at the end, before they compare: "..;x", ".. ".
	if name, _, _ := strings.Cut(form, ";"); form != "" && strings.Trim(name, ". ") == "" {
		return fmt.Errorf("it has a segment made of dots")
	}
	if strings.Contains(strings.ToLower(form), "%u") {
		return fmt.Errorf("it has an escape that is none")
	}
	return nil
}

// checkText refuses what has no place in any part of a URL: control
// characters, invisible ones, and bytes that are no text.
func checkText(s string) error {
	if !utf8.ValidString(s) {
		return fmt.Errorf("it is not valid UTF-8")
	}
	for _, r := range s {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == '\u2028' || r == '\u2029' || r == utf8.RuneError {
			return fmt.Errorf("it has a control or an invisible character")
		}
	}
	return nil
}

// likeDotOrSlash reports whether normalisation or a careless table turns r
// into a dot, a slash or a backslash.
func likeDotOrSlash(r rune) bool {
	switch r {
	case '․', '‥', '…', '。', '．', '｡', '﹒', '／', '＼', '⁄', '∕', '╱', '╲', '⧵', '⧸', '⧹', '﹨', '⟋', '⟍', '％', '﹪', '：', '？', '＃', '＠':
		return true
	}
	return false
}

// segments counts the segments of a path or template.
func segments(path string) int { return strings.Count(path, "/") }
