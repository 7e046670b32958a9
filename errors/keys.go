package errors

import (
	"slices"
	"strings"
)

type keyClass int

const (
	notSecret keyClass = iota
	doubtful           // an everyday word too: its value counts if it looks like no word
	secret
	header // its value is a credential up to the end of the line
)

// secretSuffixes end the names of settings that hold a credential, written
// without '_' and '-' and in lower case.
var secretSuffixes = []string{
	"password", "passwd", "passphrase", "passcode", "pwd", "secret", "token", "credential", "credentials",
	"apikey", "accesskey", "secretkey", "privatekey", "subscriptionkey", "accountkey", "sharedkey", "encryptionkey", "signingkey",
	"masterkey", "authkey", "storagekey", "functionskey", "hmackey", "licensekey", "serverkey", "accesskeyvalue",
	"passwords", "secrets", "apikeys", "passwordhash", "passwordconfirmation", "secretstring", "secretvalue", "secretbinary",
	"clientassertion", "codeverifier", "samlresponse", "requirepass", "masterauth",
}

// shortNames hold a credential if they are the whole name.
var shortNames = []string{"jwt", "bearer", "otp", "identifiedby"}

// passPrefixes may stand before "pass" without anything between them.
var passPrefixes = []string{"", "db", "user", "mysql", "root", "admin", "redis", "smtp", "mail", "email", "ftp", "ldap", "auth", "http", "proxy", "my"}

// plainTokens stand before "token" where that is no credential: of lists that
// have pages, of parsers, and of language models.
var plainTokens = []string{
	"next", "prev", "previous", "page", "pagination", "paging", "continuation", "continue", "sync", "progress", "cursor", "skip",
	"delta", "resume", "resumption", "start", "starting", "forward", "backward", "change", "marker", "idempotency", "fencing",
	"eos", "bos", "pad", "unk", "sep", "cls", "stop", "end", "begin", "first", "last", "current", "lookahead", "unexpected", "expected",
	"max", "min", "num", "total", "prompt", "completion", "input", "output", "cached", "reasoning",
}

// queryKeys hold a credential when they are parameters of a URL, and are
// everyday words elsewhere.
var queryKeys = []string{"key", "sig", "signature", "code", "auth", "session", "sessionid", "sid", "hmac", "assertion", "ticket"}

func classify(key string, inQuery bool) keyClass {
	if len(key) > 64 {
		key = key[len(key)-64:]
	}
	var buf [64]byte
	folded, begins := fold(key, &buf)
	name := strings.TrimRight(string(folded), "0123456789")
	endsIn := func(word string) bool { // a word of its own
		n := len(name) - len(word)
		return strings.HasSuffix(name, word) && (n == 0 || begins&(1<<n) != 0)
	}
	switch {
	case key == "_auth": // of npm
		return secret
	case endsIn("authorization") || endsIn("cookie") || name == "setcookie":
		return header
	case inQuery && slices.Contains(queryKeys, name), slices.Contains(shortNames, name):
		return secret
	case endsIn("signature") || endsIn("signatures"):
		for _, s := range []string{"amzsignature", "googsignature", "accesssignature"} {
			if strings.HasSuffix(name, s) {
				return secret
			}
		}
		return doubtful
	case strings.HasSuffix(name, "pass") && (endsIn("pass") || slices.Contains(passPrefixes, strings.TrimSuffix(name, "pass"))):
		return secret
	case strings.HasSuffix(name, "tokens"):
		if isPlainToken(name[:len(name)-len("tokens")], begins) {
			return notSecret
		}
		return doubtful
	case strings.HasSuffix(name, "token") && isPlainToken(name[:len(name)-len("token")], begins):
		return notSecret
	}
	for _, s := range secretSuffixes {
		if strings.HasSuffix(name, s) {
			return secret
		}
	}
	return notSecret
}

// isPlainToken reports whether what stands before "token" says that it is no
// credential.
func isPlainToken(before string, begins uint64) bool {
	for {
		n := -1
		for _, w := range plainTokens {
			if strings.HasSuffix(before, w) {
				n = len(before) - len(w)
				break
			}
		}
		if n < 0 {
			return false
		}
		if n == 0 || begins&(1<<n) != 0 {
			return true
		}
		before = before[:n]
	}
}

// fold returns key in lower case and without '_' and '-', and a bit for each
// byte of that which begins a word: behind one of the two, or where the case
// changes.
func fold(key string, buf *[64]byte) (folded []byte, begins uint64) {
	folded = buf[:0]
	begin := true
	for i := range len(key) {
		c := key[i]
		isUpper := 'A' <= c && c <= 'Z'
		switch {
		case c == '_' || c == '-':
			begin = true
			continue
		case isUpper && i > 0 && (key[i-1] < 'A' || key[i-1] > 'Z' || i+1 < len(key) && 'a' <= key[i+1] && key[i+1] <= 'z'):
			begin = true
		}
		if begin {
			begins |= 1 << len(folded)
		}
		begin = false
		if isUpper {
			c += 'a' - 'A'
		}
		folded = append(folded, c)
	}
	return folded, begins
}
