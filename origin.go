package steady

import (
	"fmt"
	"net/http"
	"slices"
)

// allowOrigins keeps the pages of all other origins from calling next through
// their visitors' browsers, and answers the questions that a browser asks on
// behalf of a page from one of origins.
func allowOrigins(origins []string, next http.Handler) (http.Handler, error) {
	origins = slices.Clone(origins)
	protection := http.NewCrossOriginProtection()
	for _, origin := range origins {
		if err := protection.AddTrustedOrigin(origin); err != nil {
			return nil, fmt.Errorf("steady: the origin %q is none, write it as https://example.com: %w", origin, err)
		}
	}
	next = protection.Handler(next)
	if len(origins) == 0 {
		return next, nil
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Add("Vary", "Origin")
		origin := r.Header.Get("Origin")
		if !slices.Contains(origins, origin) {
			next.ServeHTTP(w, r)
			return
		}
		h.Set("Access-Control-Allow-Origin", origin)
		h.Set("Access-Control-Expose-Headers", "Mcp-Session-Id, Mcp-Protocol-Version, WWW-Authenticate")
		if r.Method == http.MethodOptions {
			h.Set("Access-Control-Allow-Methods", "GET, POST, DELETE")
			// The later era repeats arguments in headers whose names are not known here.
			h.Set("Access-Control-Allow-Headers", r.Header.Get("Access-Control-Request-Headers"))
			h.Set("Access-Control-Max-Age", "600")
			w.WriteHeader(http.StatusNoContent)
			return
		}
		next.ServeHTTP(w, r)
	}), nil
}
