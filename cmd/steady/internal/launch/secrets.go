package launch

import (
	"cmp"
	"encoding/json"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/steadymcp/steady/errors"
)

// Secrets are texts that were given to us and must not be printed.
type Secrets []string

// mask stands where a secret stood.
const mask = "***"

// Secrets returns what the user gave to reach the server: the values of headers,
// those of -env that can be secrets, and what looks like a credential in the URL, the
// command line and our own environment, which the server has too.
func (t *Target) Secrets() Secrets {
	var s Secrets
	add := func(text string) {
		if len(text) >= 4 { // shorter ones would mask half of every text
			s = append(s, text)
		}
	}
	for _, values := range t.Header {
		for _, v := range values {
			add(v)
			if _, credential, ok := strings.Cut(v, " "); ok {
				add(strings.TrimSpace(credential))
			}
		}
	}
	for _, e := range t.Env {
		if name, v, ok := strings.Cut(e, "="); ok && (namesSecret(name) || looksSecret(v)) {
			add(v)
		}
	}
	if u, err := url.Parse(t.URL); err == nil {
		if password, ok := u.User.Password(); ok {
			add(password)
		} else {
			add(u.User.Username()) // a token that stands alone
		}
		for key, values := range u.Query() {
			for _, v := range values {
				if namesSecret(key) {
					add(v)
				}
			}
		}
	}
	for i, arg := range t.Command {
		name, value, joined := strings.Cut(arg, "=")
		if !strings.HasPrefix(arg, "-") || !namesSecret(name) {
			continue
		}
		if joined {
			add(value)
		} else if i+1 < len(t.Command) {
			add(t.Command[i+1])
		}
	}
	for _, e := range os.Environ() {
		// The server has them from us. A path is where a secret is, at most.
		name, v, _ := strings.Cut(e, "=")
		if len(v) >= 8 && !strings.HasPrefix(v, "/") && namesSecret(name) {
			add(v)
		}
	}
	// As they stand in JSON and in a URL.
	for _, text := range slices.Clone(s) {
		quoted, _ := json.Marshal(text)
		query := url.QueryEscape(text)
		s = append(s, string(quoted[1:len(quoted)-1]), query, strings.ReplaceAll(query, "+", "%20"), url.PathEscape(text), url.UserPassword("", text).String()[1:])
	}
	// Longer ones first, so that none leaves a rest.
	slices.SortFunc(s, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	return slices.Compact(s)
}

var secretWords = []string{"token", "secret", "password", "passwd", "apikey", "credential", "auth", "signature"}

// looksSecret reports whether a value whose name does not say so may be a secret:
// not a word or a number, as in DEBUG=true, LEVEL=warning and PORT=8080, which would
// be masked wherever a text has them, and not a path.
func looksSecret(value string) bool {
	if strings.HasPrefix(value, "/") {
		return false
	}
	letter := func(r rune) bool { return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' }
	word := strings.TrimFunc(value, letter) == ""
	return len(value) >= 16 || len(value) >= 8 && !word
}

func namesSecret(name string) bool {
	name = strings.ToLower(name)
	if strings.HasSuffix(name, "_key") || strings.HasSuffix(name, "-key") {
		return true
	}
	name = strings.NewReplacer("-", "", "_", "").Replace(name)
	if strings.Contains(name, "author") && !strings.Contains(name, "authoriz") {
		return false
	}
	return name == "key" || slices.ContainsFunc(secretWords, func(w string) bool { return strings.Contains(name, w) })
}

// Mask returns text with our secrets masked, and whatever else looks like a
// credential.
func (s Secrets) Mask(text string) string {
	for _, secret := range s {
		text = strings.ReplaceAll(text, secret, mask)
	}
	return errors.Mask(text)
}
