package catalog

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
)

// bypasses returns paths that try to reach another host, or another path, than
// one below /v1/. spy is the address of a server that must never be reached.
func bypasses(spy string) []string {
	list := []string{
		// B211, B213, B215, B216, B226.
		"https://elsewhere.example/collect", "//elsewhere.example/x", "http://169.254.169.254/latest/meta-data/", "http://127.0.0.1:9999/",
		"../../etc/passwd", "/v1/../../etc/passwd", "httpx://h/", "http://[::ffff:127.0.0.1]/", "file:///etc/passwd", "ftp://h/v1/x",
		// Not a path at all.
		"", " ", "v1/x", "v1", ".", "..", "...", "?", "#", "?x=1", "#/v1/x", ":80/v1/x", "@h/v1/x", "*", "mailto:a@b.c", "javascript:alert(1)", "data:text/plain,x",
		// The prefix only begins alike.
		"/", "/v", "/v2/x", "/V1/x", "/v1evil/x", "/v1@evil/x", "/v1.evil/x", "/v1%2fx", "/v1%2Fx", "/v1%5cx", "/v10/x", "/ v1/x", "/%76%31/x", "/%2e/v1/x", "/x/v1/y", "/v1;/x", "/v1;a=b/x", "/v1:80/x", "/v1%00/x", "/v1%20/x",
		// White space and control characters around and inside.
		" /v1/x", "/v1/x ", "\t/v1/x", "/v1/x\n", "/v1/\r\nHost: h", "/v1/x\r\nX: y", "/v1/\x00", "/v1/\x7f", "/v1/\x1b[2J", "/v1/a b", "/v1/a\tb", "\u00a0/v1/x", "\ufeff/v1/x", "/v1/\u200b..", "/v1/\u202e", "/v1/x\u0085", "/v1/x%0d%0aX:y", "/v1/%00", "/v1/%0a", "/v1/%7f", "/v1/%09", "/v1/%e2%80%8b..", "/v1/%e2%80%ae", "/v1/%c2%85", "/v1/%ef%bb%bf",
		// Query and fragment.
		"/v1/x#", "/v1/x#@h/", "/v1/x?a=b#c", "/v1/x?a=%zz", "/v1/x?a=b;c=d", "/v1/x?a=%00", "/v1/x?%0d%0a=1", "/v1/x?a=%ff", "/v1/x?a=\xff", "/v1/x?a=b c", "/v1?#", "/v1/x?a=%e2%80%8b",
		// Bytes that are no text, overlong encodings, escapes that are none.
		"/v1/\xff", "/v1/\xc0\xae\xc0\xae/x", "/v1/%c0%ae%c0%ae/x", "/v1/%c0%af", "/v1/%e0%80%ae%e0%80%ae/x", "/v1/%f0%80%80%ae/x", "/v1/%ff", "/v1/%fe%fe", "/v1/%", "/v1/%2", "/v1/%zz", "/v1/%u002e%u002e/x", "/v1/%u2215", "/v1/%%32%65", "/v1/%2%65", "/v1/%ed%a0%80",
	}
	// Dots, in every dress, between every kind of slash.
	dots := []string{
		"..", ".", "%2e%2e", "%2E%2E", ".%2e", "%2e.", "%2e", "%252e%252e", "%252e.", ".%252e", "%25252e%25252e", "%2525252e%2525252e", "%25%32%65%25%32%65", "%%32e%%32e",
		"..;", "..;a=b", ".;", "%2e%2e;", "..%3b", "%2e%2e%3bx", "..%00", "..%20", "...", "....", ".. ", "..%09", "..%0d", "..%ff", "%c0%ae%c0%ae", "․․", "‥", "．．", "。。", "%ef%bc%8e%ef%bc%8e", "%e2%80%a4%e2%80%a4", "%e2%80%a5", "%e2%80%a6", "%e3%80%82%e3%80%82", "%ef%bd%a1%ef%bd%a1", "..%c2%a0%00", "%25%2e%25%2e%00",
	}
	for _, d := range dots {
		list = append(list, "/v1/"+d+"/admin", "/v1/a/"+d+"/"+d+"/admin", "/v1/"+d, d+"/v1/x")
	}
	for _, slash := range []string{"%2f", "%2F", "%5c", "%5C", "\\", "%252f", "%255c", "%25252f", "／", "＼", "∕", "⁄", "%ef%bc%8f", "%e2%88%95", "%e2%81%84", "%ef%bc%bc", "%c0%af", "%u2215", "//", "%2f%2f", "\\\\"} {
		list = append(list, "/v1/.."+slash+"admin", "/v1/x"+slash+".."+slash+".."+slash+"admin", "/v1/a"+slash+"b", slash+"elsewhere.example/v1/x")
	}
	// Another host, in every dress. The spy listens on another port.
	for _, host := range []string{"elsewhere.example", spy, "127.0.0.1", "localhost", "[::1]", "2130706433", "0x7f.1", "0177.0.0.1", "127.1", "①②⑦.⓪.⓪.①", "elsewhere。example", "еlsewhere.example", "xn--lsewhere-q5a.example"} {
		for _, form := range []string{
			"http://%s/v1/x", "https://%s/v1/x", "HTTP://%s/v1/x", "//%s/v1/x", "///%s/v1/x", "////%s/v1/x", "/\\%s/v1/x", "\\\\%s\\v1\\x", "\\/%s/v1/x", "http:/%s/v1/x", "http:%s/v1/x", "http:///%s/v1/x", "http:\\\\%s/v1/x",
			"@%s/v1/x", ":@%s/v1/x", "user:pw@%s/v1/x", "/v1@%s/x", "http://api.example@%s/v1/x", "http://%s@api.example/v1/x", "http://%s#@api.example/v1/x", "http://%s?@api.example/v1/x", "http://%s\\@api.example/v1/x",
			"%%2f%%2f%s/v1/x", "/%%2f%s/v1/x", "/%%5c%s/v1/x", "/\t/%s/v1/x", "\x00//%s/v1/x", "/\n/%s/v1/x", "/v1//%s/x", "/v1/http://%s/x", "/v1/%%2f%%2f%s", "gopher://%s/v1/x", "ws://%s/v1/x", "jar:http://%s!/v1/x", "view-source:http://%s/v1/x",
		} {
			list = append(list, fmt.Sprintf(form, host))
		}
	}
	list = append(list, "/v1/"+strings.Repeat("a", maxPathBytes), "/v1/x?"+strings.Repeat("a=b&", maxQueryBytes/4+1), "/v1/%"+strings.Repeat("25", 100)+"2e")
	seen := map[string]bool{}
	unique := list[:0:0]
	for _, p := range list {
		if !seen[p] {
			seen[p] = true
			unique = append(unique, p)
		}
	}
	return unique
}

// A spy counts what it is asked for, with which credentials.
type spy struct {
	*httptest.Server
	mu       sync.Mutex
	requests []string
	tokens   int
}

func newSpy(t testing.TB, answer http.HandlerFunc) *spy {
	s := &spy{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.requests = append(s.requests, r.Method+" "+r.RequestURI)
		if r.Header.Get("Authorization") != "" {
			s.tokens++
		}
		s.mu.Unlock()
		answer(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *spy) seen() ([]string, int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string{}, s.requests...), s.tokens
}

func (s *spy) host() string { return strings.TrimPrefix(s.URL, "http://") }

func ok(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write([]byte(`{"ok":true}`))
}

func withToken(_ context.Context, _ *mcp.CallToolRequest, h http.Header) error {
	h.Set("Authorization", "Bearer secret-token")
	return nil
}

// TestBypasses sends every bypass the ways that a model can, at an upstream on
// one port while a spy listens on another.
func TestBypasses(t *testing.T) {
	t.Parallel()
	other := newSpy(t, ok)
	api := newSpy(t, ok)
	corpus := bypasses(other.host())
	require.GreaterOrEqual(t, len(corpus), 300)
	up, err := NewUpstream(api.URL, &UpstreamOptions{Prefix: "/v1", Authorize: withToken})
	require.NoError(t, err)
	c, err := New(Static(
		Entry{ID: "thing", Method: "GET", Path: "/v1/things/{name}", Parameters: []byte(`{"type":"object","properties":{"name":{"type":"string"},"q":{"type":"string"}}}`)},
	), &Options{Caller: up, FreePaths: true, Observer: quiet})
	require.NoError(t, err)
	req := &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{}}
	for _, path := range corpus {
		u, err := up.Guard().Resolve(path)
		require.Error(t, err, "%q became %v", path, u)
		require.NotContains(t, err.Error(), "elsewhere", "an error does not repeat the path")

		_, err = c.callOne(t.Context(), req, map[string]any{"path": path}, onlyReads)
		require.Error(t, err, "%q", path)
		_, err = up.CallPath(t.Context(), req, path)
		require.Error(t, err, "%q", path)
	}
	seen, _ := api.seen()
	require.Empty(t, seen, "nothing of it was sent anywhere")

	// In a batch, all together.
	for i := 0; i < len(corpus); i += 10 {
		var calls []any
		for _, path := range corpus[i:min(i+10, len(corpus))] {
			calls = append(calls, map[string]any{"path": path})
		}
		r, err := c.callBatch(t.Context(), req, calls, onlyReads)
		require.NoError(t, err)
		require.Equal(t, len(calls), strings.Count(text(r), `"error"`), text(r))
	}
	seen, _ = api.seen()
	require.Empty(t, seen)

	// As a parameter: refused, or one segment and nothing else.
	for _, value := range corpus {
		_, err := c.callOne(t.Context(), req, map[string]any{"id": "thing", "arguments": map[string]any{"name": value, "q": value}}, onlyReads)
		if err != nil {
			continue
		}
	}
	seen, _ = api.seen()
	for _, line := range seen {
		path, _, _ := strings.Cut(strings.TrimPrefix(line, "GET "), "?")
		require.True(t, strings.HasPrefix(path, "/v1/things/"), line)
		require.Equal(t, 3, strings.Count(path, "/"), line)
		name := strings.TrimPrefix(path, "/v1/things/")
		for range 6 {
			require.NotContains(t, name, "/", line)
			require.NotContains(t, []string{"", ".", ".."}, name, line)
			name = unescape(name)
		}
	}
	requests, tokens := other.seen()
	require.Empty(t, requests)
	require.Zero(t, tokens)
}

func text(r *mcp.CallToolResult) string {
	for _, b := range r.Content {
		if t, ok := b.(*mcp.TextContent); ok {
			return t.Text
		}
	}
	return ""
}

func TestGuardResolve(t *testing.T) {
	t.Parallel()
	g, err := NewGuard("https://api.example.com/base/", "v1", false)
	require.NoError(t, err)
	for path, want := range map[string]string{
		"/v1":                 "https://api.example.com/base/v1",
		"/v1/":                "https://api.example.com/base/v1/",
		"/v1/x":               "https://api.example.com/base/v1/x",
		"/v1/x?b=2&a=1":       "https://api.example.com/base/v1/x?a=1&b=2",
		"/v1/a@b.example":     "https://api.example.com/base/v1/a@b.example",
		"/v1/a%20b":           "https://api.example.com/base/v1/a%20b",
		"/v1/100%25":          "https://api.example.com/base/v1/100%25",
		"/v1/a:b,c;d=e":       "https://api.example.com/base/v1/a:b,c;d=e",
		"/v1/M%C3%BCller":     "https://api.example.com/base/v1/M%C3%BCller",
		"/v1/.well-known/x..": "https://api.example.com/base/v1/.well-known/x..",
		"/v1/x?a=%26b":        "https://api.example.com/base/v1/x?a=%26b",
	} {
		u, err := g.Resolve(path)
		require.NoError(t, err, path)
		require.Equal(t, want, u.String())
		require.True(t, g.Holds(u))
	}
	for _, foreign := range []string{"http://api.example.com/base/v1/x", "https://api.example.com:8443/base/v1/x", "https://api.example.com/v1/x", "https://api.example.com/basev1/x", "https://u@api.example.com/base/v1/x", "https://api.example.com/base/v1/../x"} {
		u, err := url.Parse(foreign)
		require.NoError(t, err)
		require.False(t, g.Holds(u), foreign)
	}
}

func TestGuardExpand(t *testing.T) {
	t.Parallel()
	g, err := NewGuard("https://api.example.com", "/v1", false)
	require.NoError(t, err)
	for _, c := range []struct {
		value, want string // "" if refused
	}{
		{"AAPL", "https://api.example.com/v1/q/AAPL.json"},
		{"BRK.B", "https://api.example.com/v1/q/BRK.B.json"},
		{"a b", "https://api.example.com/v1/q/a%20b.json"},
		{"50%", "https://api.example.com/v1/q/50%25.json"},
		{"Zürich", "https://api.example.com/v1/q/Z%C3%BCrich.json"},
		{"a?b=c#d", "https://api.example.com/v1/q/a%3Fb=c%23d.json"},
		{"x@y.z", "https://api.example.com/v1/q/x@y.z.json"},
		{"", ""}, {"..", ""}, {".", ""}, {"a/b", ""}, {`a\b`, ""}, {"%2e%2e", ""}, {"%252e%252e", ""}, {"%25252e%25252e", ""}, {"a%2fb", ""}, {"%zz%2f..", ""}, {"..;x", ""}, {"a\nb", ""}, {"．．", ""}, {"\xff", ""}, {"a\u200bb", ""},
	} {
		u, err := g.Expand("/v1/q/{s}.json", map[string]string{"s": c.value}, nil)
		if c.want == "" {
			require.Error(t, err, "%q became %v", c.value, u)
			continue
		}
		require.NoError(t, err, c.value)
		require.Equal(t, c.want, u.String())
	}
	_, err = g.Expand("/v1/{a}/{b}", map[string]string{"a": "x"}, nil)
	require.ErrorContains(t, err, `"b" is missing`)
	_, err = g.Expand("/v2/{a}", map[string]string{"a": "x"}, nil)
	require.ErrorContains(t, err, "does not begin with /v1/")
	_, err = g.Expand("/v1/{a}", map[string]string{"a": "x"}, url.Values{"q": {"a\x00"}})
	require.Error(t, err)
}

func TestNewGuard(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		base, prefix string
		plain        bool
		ok           bool
	}{
		{"https://api.example.com", "", false, true},
		{"https://api.example.com:8443/x/", "/v1/", false, true},
		{"http://localhost:8080", "", false, true},
		{"http://127.0.0.1:8080", "", false, true},
		{"http://[::1]:8080", "", false, true},
		{"http://api.example.com", "", true, true},
		{"http://api.example.com", "", false, false}, // B220: no plain text by accident
		{"httpx://api.example.com", "", true, false}, // B216
		{"https:///x", "", false, false},
		{"https://u:p@api.example.com", "", false, false},
		{"https://api.example.com?x", "", false, false},
		{"https://api.example.com#x", "", false, false},
		{"https://аpi.example.com", "", false, false}, // a Cyrillic letter
		{"https://api.example.com/..", "", false, false},
		{"https://api.example.com", "/v1/../x", false, false},
		{"api.example.com", "", false, false},
		{"", "", false, false},
		{"https://api.example.com\x00", "", false, false},
	} {
		_, err := NewGuard(c.base, c.prefix, c.plain)
		require.Equal(t, c.ok, err == nil, "%q %q: %v", c.base, c.prefix, err)
	}
}

func TestDialGuard(t *testing.T) {
	t.Parallel()
	public := []string{"93.184.216.34", "2606:2800:220:1:248:1893:25c8:1946", "64:ff9b::5db8:d822"}
	private := []string{"10.1.2.3", "172.16.0.1", "192.168.1.1", "100.64.1.1", "fc00::1", "::ffff:10.1.2.3", "64:ff9b::a01:203"}
	loopback := []string{"127.0.0.1", "127.8.8.8", "::1", "::ffff:127.0.0.1"}
	never := []string{"169.254.169.254", "fe80::1", "fd00:ec2::254", "100.100.100.200", "::ffff:169.254.169.254", "64:ff9b::a9fe:a9fe", "168.63.129.16", "0.0.0.0", "::", "255.255.255.255", "224.0.0.1", "ff02::1", "240.0.0.1", "2002:7f00:1::", "2001::1", "::7f00:1", "192.0.2.1", "198.18.0.1",
		"fd20:ce::254", "fd00:42::42", "::ffff:0:7f00:1", "::ffff:0:a9fe:a9fe", "::ffff:0:a01:203", "64:ff9b:1::7f00:1", "2002:a9fe:a9fe::", "2001:0:a9fe:a9fe::", "192.0.0.192", "64:ff9b::6464:64c8"}
	for _, c := range []struct {
		base    string
		private bool
		yes, no [][]string
	}{
		{"https://api.example.com", false, [][]string{public}, [][]string{private, loopback, never}},
		{"https://api.example.com", true, [][]string{public, private}, [][]string{loopback, never}},
		{"http://localhost:1", false, [][]string{loopback}, [][]string{public, private, never}},
		{"http://localhost:1", true, [][]string{loopback}, [][]string{never}},
		{"http://10.1.2.3", false, [][]string{{"10.1.2.3", "::ffff:10.1.2.3"}, public}, [][]string{{"10.1.2.4"}, loopback, never}},
	} {
		u, err := url.Parse(c.base)
		require.NoError(t, err)
		g := newDialGuard(u, c.private)
		for _, list := range c.yes {
			for _, ip := range list {
				require.True(t, g.allows(netip.MustParseAddr(ip)), "%s %s", c.base, ip)
			}
		}
		for _, list := range c.no {
			for _, ip := range list {
				require.False(t, g.allows(netip.MustParseAddr(ip)), "%s %s", c.base, ip)
			}
		}
	}
	g := newDialGuard(&url.URL{Host: "api.example.com"}, false)
	require.Error(t, g.control("tcp4", "127.0.0.1:80", nil))
	require.Error(t, g.control("udp4", "93.184.216.34:80", nil))
	require.Error(t, g.control("tcp4", "name:80", nil))
	require.NoError(t, g.control("tcp4", "93.184.216.34:80", nil))
}

func FuzzGuard(f *testing.F) {
	for _, p := range bypasses("127.0.0.1:9999") {
		f.Add(p)
	}
	for _, p := range []string{"/v1/x", "/v1/a%20b?x=1", "/v1/M%C3%BCller"} {
		f.Add(p)
	}
	g, err := NewGuard("https://api.example.com", "/v1", false)
	if err != nil {
		f.Fatal(err)
	}
	check := func(t *testing.T, from string, u *url.URL) {
		if u.Host != "api.example.com" || u.Scheme != "https" || u.User != nil || u.Opaque != "" || u.Fragment != "" {
			t.Fatalf("%q became %s", from, u)
		}
		again, err := url.Parse(u.String())
		if err != nil || again.Host != "api.example.com" || !g.Holds(again) {
			t.Fatalf("%q became %s", from, u)
		}
		// However a server decodes and cleans, it stays below the prefix.
		path := again.EscapedPath()
		for range 5 {
			for _, s := range strings.Split(path, "/") {
				s, _, _ = strings.Cut(s, ";")
				if s == "." || s == ".." {
					t.Fatalf("%q became %s, which decodes to %s", from, u, path)
				}
			}
			if strings.ContainsAny(path, "\\\x00\r\n") || strings.Contains(path, "//") || !strings.HasPrefix(path+"/", "/v1/") {
				t.Fatalf("%q became %s, which decodes to %s", from, u, path)
			}
			path = unescape(path)
		}
	}
	f.Fuzz(func(t *testing.T, s string) {
		if u, err := g.Resolve(s); err == nil {
			check(t, s, u)
		}
		if u, err := g.Expand("/v1/a/{p}/b", map[string]string{"p": s}, url.Values{"q": {s}}); err == nil {
			check(t, s, u)
			if strings.Count(u.EscapedPath(), "/") != 4 {
				t.Fatalf("%q became %s", s, u)
			}
		}
	})
}

// A free path is never that of an entry that is hidden, disallowed or writes,
// however it is spelt.
func TestFreePathsKeepToWhatNoEntryDescribes(t *testing.T) {
	t.Parallel()
	api := newSpy(t, ok)
	up := mustUpstream(t, api.URL, &UpstreamOptions{Prefix: "/v1", Authorize: withToken})
	writes := false
	entries := Static(
		Entry{ID: "salaries", Method: "GET", Path: "/v1/admin/salaries"},
		Entry{ID: "salary", Method: "GET", Path: "/v1/admin/{who}.json", Parameters: []byte(`{"type":"object","properties":{"who":{"type":"string"}}}`)},
		Entry{ID: "purge", Method: "POST", Path: "/v1/admin/purge"},
		Entry{ID: "reset", Method: "GET", Path: "/v1/reset", ReadOnly: &writes},
		Entry{ID: "fine", Method: "GET", Path: "/v1/fine"},
		Entry{ID: "left out", Method: "GET", Path: "/v1/broken/{x}"},
		Entry{ID: "order", Method: "POST", Path: "/v1/orders/"},
	)
	spell := func(path string) []string {
		last := path[len(path)-1:]
		return []string{path, path + "/", path + ";x", path + "%3bx", path + "?a=1", "GET " + path, path[:len(path)-1] + fmt.Sprintf("%%%02x", last), path[:len(path)-1] + fmt.Sprintf("%%25%02x", last), "/v1" + strings.ToUpper(path[3:]), path + ".", path + "%20", path + "%2e"}
	}
	for _, noWrites := range []bool{false, true} {
		c, err := New(entries, &Options{Caller: up, FreePaths: true, NoWrites: noWrites, Observer: quiet, Allow: func(_ context.Context, _ *mcp.CallToolRequest, e *Entry) bool {
			return !strings.HasPrefix(e.Path, "/v1/admin/")
		}})
		require.NoError(t, err)
		for _, entry := range []string{"/v1/admin/salaries", "/v1/admin/eve.json", "/v1/admin/purge", "/v1/reset", "/v1/broken/x"} {
			for _, path := range spell(entry) {
				_, err := c.callOne(t.Context(), anyCall, map[string]any{"path": path}, onlyReads)
				require.Error(t, err, path)
				if strings.Contains(path, "admin") {
					require.NotRegexp(t, "salar|purge", strings.ReplaceAll(err.Error(), strings.TrimPrefix(strings.TrimSuffix(path, "?a=1"), "GET "), ""), "it is answered like what does not exist")
				}
			}
		}
		seen, _ := api.seen()
		require.Empty(t, seen)
	}
	c, err := New(entries, &Options{Caller: up, FreePaths: true, Observer: quiet})
	require.NoError(t, err)
	for _, path := range []string{"/v1/fine", "/v1/other", "/v1/other/", "/v1/resets", "/v1/admin", "GET /v1/orders/"} {
		_, err := c.callOne(t.Context(), anyCall, map[string]any{"path": path}, onlyReads)
		require.NoError(t, err, path)
	}
	for _, path := range []string{"/v1/fine/", "/v1/f%69ne", "/v1/fine#x", "/v1/orders/"} {
		_, err := c.callOne(t.Context(), anyCall, map[string]any{"path": path}, onlyReads)
		require.Error(t, err, path)
	}
	seen, _ := api.seen()
	require.Len(t, seen, 6)
}

// What is called is what was written, or nothing is.
func TestCallsOfTwoMinds(t *testing.T) {
	t.Parallel()
	api := newSpy(t, ok)
	up := mustUpstream(t, api.URL, nil)
	number := []byte(`{"type":"object","required":["n"],"properties":{"n":{"type":"integer"},"q":{"type":"array","items":{"type":"string"}}}}`)
	c, err := New(Static(
		Entry{ID: "book", Method: "GET", Path: "/b/{n}", Parameters: number},
		Entry{ID: "member", Method: "GET", Path: "/m/{n}", Parameters: number},
		Entry{ID: "e77", Method: "GET", Path: "/e77"},
		Entry{ID: "report-2024-1", Method: "GET", Path: "/r1"},
	), &Options{Caller: up, Observer: quiet})
	require.NoError(t, err)
	one := func(s string) map[string]any {
		args, err := decodeObject([]byte(s))
		require.NoError(t, err)
		return args
	}
	for _, args := range []string{
		`{"path":"/b/42","arguments":{"n":43}}`, `{"path":"/b/42","arguments":{"n":"x"}}`, `{"path":"/b/42?q=a","arguments":{"q":["b"]}}`,
		`{"id":"book","path":"/m/5"}`, `{"id":"book","path":"/m/5","arguments":{"n":5}}`, `{"id":"book","path":"/b/5","arguments":{"n":9}}`, `{"id":"book","path":"/nowhere"}`,
		`{"path":"/b/42#x"}`, `{"path":"/b/4#2"}`,
		`{"id":"e_7.7"}`, `{"id":"e7-7"}`, `{"id":"report-20241"}`, `{"id":"report_202_41"}`,
	} {
		_, err := c.callOne(t.Context(), anyCall, one(args), onlyReads)
		require.Error(t, err, args)
	}
	seen, _ := api.seen()
	require.Empty(t, seen)
	for args, want := range map[string]string{
		`{"path":"/b/42","arguments":{"n":42}}`:             "GET /b/42",
		`{"path":"/b/42?q=a","arguments":{"q":["a"]}}`:      "GET /b/42?q=a",
		`{"id":"book","path":"/b/{n}","arguments":{"n":7}}`: "GET /b/7",
		`{"id":"book","path":"/b/8"}`:                       "GET /b/8",
		`{"id":"Report_2024.1"}`:                            "GET /r1",
		`{"id":"E-77"}`:                                     "GET /e77",
	} {
		_, err := c.callOne(t.Context(), anyCall, one(args), onlyReads)
		require.NoError(t, err, args)
		seen, _ := api.seen()
		require.Equal(t, want, seen[len(seen)-1], args)
	}
}
