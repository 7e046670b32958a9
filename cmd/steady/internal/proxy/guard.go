package proxy

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"
)

// allowOrigins keeps web pages from calling next through their visitors' browsers,
// but for those of origins, and answers what a browser asks for these.
func allowOrigins(origins []string, next http.Handler) (http.Handler, error) {
	protection := http.NewCrossOriginProtection()
	for _, origin := range origins {
		if err := protection.AddTrustedOrigin(origin); err != nil {
			return nil, fmt.Errorf("the origin %q is none, write it as https://example.com: %w", origin, err)
		}
	}
	guarded := protection.Handler(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		origin := r.Header.Get("Origin")
		if len(origins) > 0 {
			w.Header().Add("Vary", "Origin")
		}
		if !slices.Contains(origins, origin) {
			guarded.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Access-Control-Allow-Origin", origin)
		w.Header().Set("Access-Control-Expose-Headers", "Mcp-Session-Id, Mcp-Protocol-Version")
		if r.Method == http.MethodOptions {
			w.Header().Set("Access-Control-Allow-Methods", "GET, POST, DELETE")
			// The later era repeats arguments in headers whose names are not known here.
			w.Header().Set("Access-Control-Allow-Headers", r.Header.Get("Access-Control-Request-Headers"))
			w.Header().Set("Access-Control-Max-Age", "600")
			w.WriteHeader(http.StatusNoContent)
			return
		}
		guarded.ServeHTTP(w, r)
	}), nil
}

// hostMatches reports whether a request that arrives at a loopback address says
// that it is for one: another name is that of a page whose owner has it resolve
// to us ("DNS rebinding").
func hostMatches(r *http.Request) bool {
	local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	return !ok || local == nil || !isLoopback(local.String()) || isLoopback(r.Host)
}

func isLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		host = strings.Trim(address, "[]")
	}
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback()
}

// accepts reports which forms of an answer a client takes.
func accepts(r *http.Request) (json, stream bool) {
	for _, value := range r.Header.Values("Accept") {
		for part := range strings.SplitSeq(value, ",") {
			kind, _, _ := strings.Cut(part, ";")
			switch strings.ToLower(strings.TrimSpace(kind)) {
			case "*/*":
				json, stream = true, true
			case "application/json", "application/*":
				json = true
			case "text/event-stream", "text/*":
				stream = true
			}
		}
	}
	return json, stream
}

// body returns the body of a request, or reports false after it has answered.
func (f *Front) body(w http.ResponseWriter, r *http.Request) ([]byte, bool) {
	if kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); kind != "application/json" {
		http.Error(w, "Content-Type must be 'application/json'", http.StatusUnsupportedMediaType)
		return nil, false
	}
	if json, stream := accepts(r); !json || !stream {
		http.Error(w, "Accept must contain both 'application/json' and 'text/event-stream'", http.StatusBadRequest)
		return nil, false
	}
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(f.opts.BodyTimeout))
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, f.opts.MaxBody))
	_ = control.SetReadDeadline(time.Time{})
	var large *http.MaxBytesError
	var slow net.Error
	switch {
	case errors.As(err, &large):
		id, request := identify(body, nil)
		if !request {
			id = nil
		}
		answer(w, http.StatusRequestEntityTooLarge, refusal(id, codeInvalid,
			fmt.Sprintf("the request is larger than the %d bytes that this server takes; send less at a time", large.Limit)))
		return nil, false
	case errors.As(err, &slow) && slow.Timeout():
		answer(w, http.StatusRequestTimeout, refusal(nil, codeInvalid, fmt.Sprintf("the request did not arrive within %v", f.opts.BodyTimeout)))
		return nil, false
	case err != nil:
		http.Error(w, "the request body cannot be read", http.StatusBadRequest)
		return nil, false
	}
	return body, true
}

// answer writes a message with a status. A body of JSON-RPC lets a client tell
// its caller why, and go on; some clients end their session over any other.
func answer(w http.ResponseWriter, status int, message []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(message)
}
