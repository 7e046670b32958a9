package errors

import "strings"

// userinfo finds the userinfo of URLs, whose scheme ends at sep.
func userinfo(text, sep string, spans []span) []span {
	for pos := 0; ; {
		i := strings.Index(text[pos:], sep)
		if i < 0 {
			return spans
		}
		start := pos + i + len(sep)
		scheme := schemeBefore(text[:pos+i])
		rest := text[start:]
		if next := strings.Index(rest, sep); next >= 0 {
			rest = rest[:next]
		}
		line := rest
		if end := strings.IndexAny(rest, blanks); end >= 0 {
			rest = rest[:end]
		}
		pos = start + len(rest)
		at := userinfoEnd(rest, isWeb(scheme))
		if at < 0 && looksCut(scheme, rest) {
			at = len(rest)
		}
		if at < 0 && !isWeb(scheme) && len(rest) < len(line) {
			at = brokenUserinfo(rest, line)
		}
		if at >= 0 {
			spans = append(spans, span{start, start + at})
			pos = max(pos, start+at)
		}
	}
}

// looksCut reports whether what follows the scheme of a URL is userinfo without
// its end, as net/url shows it when a '#' is in the password: a colon and no
// port.
func looksCut(scheme, rest string) bool {
	authority, _, _ := cutAny(rest, "/?#")
	if isHostPort(authority) || strings.Contains(scheme, "docker") {
		return false
	}
	_, port, _ := strings.Cut(authority, ":")
	return !isProse(strings.ToLower(port)) && !strings.ContainsAny(port, "${}")
}

// schemeBefore returns the scheme that text ends with.
func schemeBefore(text string) string {
	n := len(text)
	for n > 0 && len(text)-n < 32 && (isWord(text[n-1]) || text[n-1] == '+' || text[n-1] == '.') {
		n--
	}
	return text[n:]
}

// isWeb reports whether URLs of the scheme have paths and queries in which an
// '@' is nothing special. In those of databases it is the end of a password.
func isWeb(scheme string) bool {
	for _, s := range []string{"http", "https", "ws", "wss", "file", "ssh", "git"} {
		if len(scheme) >= len(s) && strings.EqualFold(scheme[len(scheme)-len(s):], s) {
			return true
		}
	}
	return false
}

// userinfoEnd returns where in what follows the scheme of a URL the userinfo
// ends, or -1. Passwords may hold every character that should be escaped.
func userinfoEnd(rest string, web bool) int {
	authority, _, _ := cutAny(rest, "/?#\\")
	at := strings.LastIndexByte(authority, '@')
	switch last := strings.LastIndexByte(rest, '@'); {
	case last == at:
		return at
	case at < 0 && !isHostPort(authority):
		return last
	case at < 0 && web:
		return -1
	case at < 0: // a password of digits with a slash behind them, or an '@' in a query
		path, _, _ := cutAny(rest, "?")
		return strings.LastIndexByte(path, '@')
	case strings.IndexByte(authority[:at], ':') < 0:
		return at // a name only
	case !web:
		return last
	}
	// An '@' behind the authority is of the password if a host follows it.
	path, _, _ := cutAny(rest, "?")
	last := strings.LastIndexByte(path, '@')
	if last > at && path[last-1] != '/' && (isHost(path[last+1:]) || !isHost(authority[at+1:])) {
		return last
	}
	return at
}

// isHost reports whether text begins with what is a host for certain: with a
// port, or with a domain.
func isHost(text string) bool {
	host, _, _ := cutAny(text, "/?#\\")
	if strings.HasPrefix(host, "[") || host == "localhost" {
		return true
	}
	name, port, found := strings.Cut(host, ":")
	if found {
		return name != "" && port != "" && strings.Trim(port, "0123456789,") == ""
	}
	dot := strings.LastIndexByte(name, '.')
	return dot > 0 && dot < len(name)-1 && strings.Trim(name[dot+1:], "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") == ""
}

// brokenUserinfo returns where the userinfo ends whose password holds a blank
// or a quote, before which rest, the beginning of line, ends. Or it returns -1.
func brokenUserinfo(rest, line string) int {
	authority, _, cut := cutAny(rest, "/?#")
	if cut || isHostPort(authority) {
		return -1
	}
	stops := "\"'`\n"
	if c := line[len(rest)]; strings.IndexByte(stops, c) >= 0 {
		stops = " \t\n"
	}
	line = line[:min(len(line), len(rest)+128)]
	end := strings.IndexAny(line[len(rest)+1:], stops)
	if end >= 0 {
		line = line[:len(rest)+1+end]
	}
	at := strings.LastIndexByte(line, '@')
	if at < 0 || at+1 == len(line) || !isWord(line[at+1]) {
		return -1
	}
	return at
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

// bareUserinfo finds user and password where no scheme is before them: in the
// MySQL driver's user:password@protocol(address)/database, of which the
// protocol and the address may be missing, in user:password@host:port, and in
// Oracle's user/password@//host.
func bareUserinfo(text string, spans []span) []span {
	run, colon := 0, -1 // where the run of characters before i begins, and its first colon
	for i := range len(text) {
		switch c := text[i]; {
		case strings.IndexByte(blanks, c) >= 0:
			run, colon = i+1, -1
		case c == '=' && colon < 0, c == '(' && colon < 0, c == '{' && colon < 0:
			run = i + 1
		case c == ':' && colon < 0:
			colon = i
		case c == '@':
			after := text[i+1 : min(len(text), i+1+128)]
			user := text[run:max(run, colon)]
			switch {
			case colon < 0 || strings.HasPrefix(text[colon:], "://"):
				if strings.HasPrefix(after, "//") && colon < 0 && strings.IndexByte(text[run:i], '/') > 0 {
					spans = append(spans, span{run, i})
				}
				if strings.HasPrefix(after, "//") {
					run = i + 1
				}
			case strings.EqualFold(user, "jdbc") && strings.HasPrefix(text[colon:], ":oracle:"):
				from := colon + len(":oracle:")
				if n := strings.IndexByte(text[from:i], ':'); n >= 0 && strings.IndexByte(text[from+n:i], '/') > 0 {
					spans = append(spans, span{from + n + 1, i})
				}
				run, colon = i+1, -1
			case isDSN(after) && !isAddressScheme(user):
				spans = append(spans, span{run, i})
				run, colon = i+1, -1
			}
		}
	}
	return spans
}

// isAddressScheme reports whether what stands before a colon and an '@' says
// that they are no user and password.
func isAddressScheme(user string) bool {
	switch strings.ToLower(user) {
	case "sip", "sips", "mailto", "acct", "xmpp", "ssh", "git", "npm", "":
		return true
	}
	return false
}

// isDSN reports whether what follows an '@' is an address of the MySQL driver,
// its default address, or a host with a port.
func isDSN(after string) bool {
	n := 0
	for n < len(after) && (isWord(after[n]) || after[n] == '.' || after[n] == '+') {
		n++
	}
	switch {
	case n < len(after) && after[n] == '(':
		switch after[:n] {
		case "tcp", "tcp4", "tcp6", "unix", "cloudsql", "udp":
			return true
		}
		return strings.Contains(after, ")/")
	case n == 0 && strings.HasPrefix(after, "/"):
		return true
	case n == 0 || n == len(after) || after[n] != ':':
		return false
	}
	port := n + 1
	for port < len(after) && '0' <= after[port] && after[port] <= '9' {
		port++
	}
	return port > n+2 && port <= n+6 && (port == len(after) || !isWord(after[port]))
}

// secretPaths stand before what is a credential though it is part of a path.
var secretPaths = []string{"hooks.slack.com/services/", "/api/webhooks/", "api.telegram.org/bot"}

// addresses finds credentials in the paths of URLs, and the part of a password
// that net/url takes for a port and complains about.
func addresses(text string, spans []span) []span {
	for _, before := range secretPaths {
		spans = behind(text, before, "/ \t\n\r\"'`<>?#", spans)
	}
	return behind(text, `invalid port ":`, "\"\n", spans)
}

// behind finds what stands between before and one of stops. Behind a path the
// segments that follow are part of it.
func behind(text, before, stops string, spans []span) []span {
	for pos := 0; ; {
		i := strings.Index(text[pos:], before)
		if i < 0 {
			return spans
		}
		start := pos + i + len(before)
		pos = start
		for pos < len(text) && strings.IndexByte(stops, text[pos]) < 0 || pos < len(text) && text[pos] == '/' && strings.HasSuffix(before, "s/") {
			pos++
		}
		if strings.Trim(text[start:pos], "0123456789") != "" {
			spans = append(spans, span{start, pos})
		}
	}
}
