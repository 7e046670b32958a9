package doctor

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/steadymcp/steady/cmd/steady/internal/session"
)

var httpProbes = []Probe{
	{ID: "http-malformed", Severity: poor, Title: "a body that is no message is not refused with 400",
		Sends: "POST of text that is no JSON, and of an empty body",
		Why:   "500 makes clients retry, 200 makes them wait.",
		Fix:   "Answer 400."},
	{ID: "http-session", Severity: poor, Title: "a session that does not exist is not answered with 404",
		Sends: "a request under a made-up session",
		Why:   "Clients begin a new session at 404, and give up at everything else.",
		Fix:   "Answer 404 for sessions that are unknown or over."},
	{ID: "http-origin", Severity: bad, Title: "a web page of any origin may call a local server",
		Sends: "initialize with the Origin of another site",
		Why:   "By DNS rebinding every page that the user visits can call the tools.",
		Fix:   "Refuse origins that are not allowed with 403, and listen on localhost only."},
	{ID: "http-method", Severity: advice, Title: "a method that is not served is not answered with 405",
		Sends: "PUT",
		Why:   "Clients and proxies take other answers for a broken server.",
		Fix:   "Answer 405."},
}

func (e *exam) checkHTTP() {
	for _, body := range []string{"this is not JSON", ""} {
		e.pass("http-malformed")
		status, text, err := e.exchange(http.MethodPost, body, nil)
		switch {
		case err != nil:
			e.found("http-malformed", quote(body), nil, "no answer: %v", err)
		case status < 400 || status >= 500:
			e.found("http-malformed", quote(body), &session.Reply{Request: []byte(body), Raw: []byte(text)}, "answered with the status %d", status)
		}
	}
	const call = `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}`
	if !e.server.Stateless {
		e.pass("http-session")
		header := http.Header{"Mcp-Session-Id": {"doctor-no-such-session"}, "Mcp-Protocol-Version": {e.server.Revision}}
		status, text, err := e.exchange(http.MethodPost, call, header)
		if err == nil && status != http.StatusNotFound && status != http.StatusOK {
			e.found("http-session", "", &session.Reply{Raw: []byte(text)}, "answered with the status %d", status)
		}
		if err != nil {
			e.found("http-session", "", nil, "no answer: %v", err)
		}
	}
	e.pass("http-method")
	if status, text, err := e.exchange(http.MethodPut, call, nil); err == nil && (status < 400 || status >= 500) {
		e.found("http-method", "", &session.Reply{Raw: []byte(text)}, "PUT is answered with the status %d", status)
	}
	if !isLocal(e.opts.Target.URL) {
		e.skip("http-origin", "the server is not local")
		return
	}
	e.pass("http-origin")
	init := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"` + session.Revision + `","capabilities":{},"clientInfo":{"name":"steady-doctor","version":"1"}}}`
	header := http.Header{"Origin": {"https://doctor-evil.example"}, "Sec-Fetch-Site": {"cross-site"}}
	if status, text, err := e.exchange(http.MethodPost, init, header); err == nil && status < 400 {
		e.found("http-origin", "", &session.Reply{Request: []byte("Origin: https://doctor-evil.example"), Raw: []byte(text)}, "answered with the status %d", status)
	}
}

func isLocal(raw string) bool {
	u, err := url.Parse(raw)
	if err != nil {
		return false
	}
	host := u.Hostname()
	ip := net.ParseIP(host)
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || ip != nil && ip.IsLoopback()
}

// exchange makes one request outside of any session.
func (e *exam) exchange(method, body string, header http.Header) (status int, text string, err error) {
	ctx, cancel := context.WithTimeout(e.ctx, e.opts.Timeout)
	defer cancel()
	return e.opts.Target.Exchange(ctx, method, body, header)
}
