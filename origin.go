package steady

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// GuardOrigins returns a handler that keeps web pages from calling next through
// their visitors' browsers, but for those of the given origins, and answers the
// questions that a browser asks on behalf of these. It refuses a request that
// arrives at a loopback address under another host's name, too. refuse answers what
// may not pass, with status 403; reason is "origin" or "host".
//
// An [Endpoint] does this by itself; it is for other handlers of MCP. It fails if an
// origin is none.
func GuardOrigins(origins []string, next http.Handler, refuse func(w http.ResponseWriter, r *http.Request, reason, message string)) (http.Handler, error) {
	origins = slices.Clone(origins)
	protection := http.NewCrossOriginProtection()
	for _, origin := range origins {
		if err := protection.AddTrustedOrigin(origin); err != nil {
			return nil, fmt.Errorf("steady: the origin %q is none, write it as https://example.com: %w", origin, err)
		}
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if isRebound(r) {
			refuse(w, r, "host", "this server is reached at a loopback address, and takes requests for localhost only; a proxy in front of it has to send that as the Host")
			return
		}
		h := w.Header()
		if len(origins) > 0 {
			h.Add("Vary", "Origin")
		}
		if origin := r.Header.Get("Origin"); slices.Contains(origins, origin) {
			h.Set("Access-Control-Allow-Origin", origin)
			h.Set("Access-Control-Expose-Headers", "Mcp-Session-Id, Mcp-Protocol-Version, Retry-After, WWW-Authenticate")
			if r.Method == http.MethodOptions {
				h.Set("Access-Control-Allow-Methods", "GET, POST, DELETE")
				// The later era repeats arguments in headers whose names are not known here.
				h.Set("Access-Control-Allow-Headers", r.Header.Get("Access-Control-Request-Headers"))
				h.Set("Access-Control-Max-Age", "600")
				w.WriteHeader(http.StatusNoContent)
				return
			}
		} else if isForeign(protection, r) {
			refuse(w, r, "origin", "pages of this origin may not call this server")
			return
		}
		next.ServeHTTP(w, r)
	}), nil
}

// isForeign reports whether r comes from a page that may not call. MCP wants that
// checked whatever the method (Streamable HTTP, "Security Warning"); to protection
// GET is safe. A browser that is sent here by a link does not say from where.
func isForeign(protection *http.CrossOriginProtection, r *http.Request) bool {
	if r.Header.Get("Origin") != "" {
		r = r.WithContext(r.Context()) // a copy
		r.Method = http.MethodPost
	}
	return protection.Check(r) != nil
}

// isRebound reports whether r is for another host than the one that it arrived
// at, which is this machine's own: a page can have a name of its own resolve to
// that. The SDK checks the same, but behind whatever authenticates callers, and
// without a word to the operator.
func isRebound(r *http.Request) bool {
	local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	return ok && local != nil && isLoopback(local.String()) && !isLoopback(r.Host)
}

func isLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil { // there is no port
		host = strings.Trim(address, "[]")
	}
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// forbid refuses r before its body is read.
func (e *Endpoint) forbid(w http.ResponseWriter, r *http.Request, reason, message string) {
	e.refuse(w, r, http.StatusForbidden, nil, jsonrpc.CodeInvalidRequest, reason, message)
}
