package catalog

import "strings"

// Reserved reports whether a parameter of that name, in that place, is not for
// a model to set: a header that carries credentials, an identity or a session,
// or rules how the request is sent; a parameter of the query that by its name is
// a credential. A catalog refuses entries with such headers. A source that reads
// the description of an API asks it which parameters to leave out.
func Reserved(in Location, name string) bool {
	switch in {
	case InHeader:
		return reservedHeader(name)
	case InQuery:
		return credentialQuery(name)
	}
	return false
}

// reservedParts make a header a credential, an identity, a session, or a statement of
// the transport, wherever they stand in its name.
var reservedParts = []string{
	"token", "secret", "passw", "session", "cookie", "credential", "signature", "apikey", "authoriz", "authentic", "oauth", "bearer", "jwt", "saml", "csrf", "xsrf",
	"forwarded", "impersonat", "real-ip", "client-ip", "connecting-ip", "original-", "rewrite-", "http-method", "method-override", "cluster-ip", "envoy-", "accel-",
}

// reservedWords do so where they stand between separators.
var reservedWords = []string{"key", "auth", "pass", "pwd", "user", "sudo", "behalf", "host", "via", "ip"}

// reservedNames are those of the transport.
var reservedNames = []string{
	"accept", "accept-encoding", "accept-charset", "connection", "keep-alive", "te", "trailer", "upgrade", "expect", "origin", "referer", "alt-used", "http2-settings", "max-forwards",
	"content-length", "content-type", "content-encoding", "content-range", "transfer-encoding", "range",
}

// reservedHeader reports whether a header is not for arguments to set: it carries credentials or an
// identity, or rules how the request is sent.
func reservedHeader(name string) bool {
	name = strings.ReplaceAll(strings.ToLower(name), "_", "-")
	if strings.HasSuffix(name, "idempotency-key") {
		return false // it identifies the call
	}
	for _, s := range reservedNames {
		if name == s {
			return true
		}
	}
	for _, s := range reservedParts {
		if strings.Contains(name, s) {
			return true
		}
	}
	for word := range strings.SplitSeq(name, "-") {
		for _, s := range reservedWords {
			if word == s {
				return true
			}
		}
	}
	return strings.HasPrefix(name, "proxy-") || strings.HasPrefix(name, "sec-")
}

// credentialQuery reports whether a parameter of a query is a credential. The words alone
// say little there, as in page_token, so these are whole names.
func credentialQuery(name string) bool {
	switch strings.NewReplacer("-", "", "_", "", ".", "").Replace(strings.ToLower(name)) {
	case "apikey", "apitoken", "apisecret", "appkey", "accesskey", "accesstoken", "authtoken", "authkey", "auth", "authorization", "subscriptionkey",
		"clientsecret", "secret", "secretkey", "password", "passwd", "sessionid", "sessiontoken", "jwt", "bearer", "signature":
		return true
	}
	return false
}
