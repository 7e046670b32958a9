package catalog

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/steadymcp/steady/errors"
)

// A Caller runs the entries of a catalog. It must be safe for concurrent use.
type Caller interface {
	// Call runs an entry with arguments that fit its schema. req is the tool
	// call for which it is run; it is not nil. An error that the model may read
	// is a [errors.Failure]; of any other the text is hidden.
	Call(ctx context.Context, req *mcp.CallToolRequest, e *Entry, arguments map[string]any) (*Answer, error)
}

// UpstreamOptions configures an [Upstream]. The zero value is ready to use.
type UpstreamOptions struct {
	// Prefix is what every path begins with, such as "/v1". If empty, "/".
	Prefix string
	// Authorize adds the caller's credential to a request's header. req is the
	// tool call; identity comes from its token or session. It runs after every
	// check, for the request that is then sent. An error that is a
	// [errors.Failure] is shown. If nil, requests carry no credential but
	// Header.
	Authorize func(ctx context.Context, req *mcp.CallToolRequest, header http.Header) error
	// Header is added to every request, and may hold a fixed credential.
	Header http.Header
	// Timeout of one request with its answer. If zero, 30 seconds.
	Timeout time.Duration
	// MaxBytes of an answer's body, after decompression. If zero, 2 MiB. A
	// larger answer is a failure that says to ask for less. So is one whose
	// result, which holds it twice and with escapes, would have more than 8 MiB:
	// clients give up on 10.
	MaxBytes int64
	// PlainHTTP allows a base with the scheme http on another machine.
	PlainHTTP bool
	// Private says that the base is inside a private network. Without it a host
	// that resolves to a private address is refused. Link-local addresses and
	// the metadata services of clouds are refused even so.
	Private bool
	// Transport, if non-nil, is cloned for its TLS settings and limits. Its
	// dialling functions and its proxy are not used: the address must be
	// checked where the connection is made.
	Transport *http.Transport
	// Redirects is how many redirects a GET may follow; each to the same scheme,
	// host and port and below the prefix, and without credentials. If zero,
	// none.
	Redirects int
}

// An Upstream is an HTTP API. Every request that carries a caller's credential
// is built by its [Guard] and sent by one function.
type Upstream struct {
	guard  *Guard
	opts   UpstreamOptions
	client *http.Client
	now    func() time.Time
}

// NewUpstream returns the API at a base URL, such as "https://api.example.com".
// The error says what is wrong with the base or the prefix.
func NewUpstream(base string, opts *UpstreamOptions) (*Upstream, error) {
	u := &Upstream{now: time.Now}
	if opts != nil {
		u.opts = *opts
	}
	u.opts.Header = u.opts.Header.Clone()
	if u.opts.Timeout <= 0 {
		u.opts.Timeout = 30 * time.Second
	}
	if u.opts.MaxBytes <= 0 {
		u.opts.MaxBytes = 2 << 20
	}
	var err error
	if u.guard, err = NewGuard(base, u.opts.Prefix, u.opts.PlainHTTP); err != nil {
		return nil, err
	}
	u.client = &http.Client{Transport: guardedTransport(u.opts.Transport, &u.guard.base, u.opts.Private), CheckRedirect: u.checkRedirect}
	return u, nil
}

// guardedTransport returns a transport that connects only to addresses that
// are allowed for base.
func guardedTransport(t *http.Transport, base *url.URL, private bool) *http.Transport {
	if t == nil {
		t = &http.Transport{ForceAttemptHTTP2: true, MaxIdleConnsPerHost: 16, IdleConnTimeout: 90 * time.Second, TLSHandshakeTimeout: 10 * time.Second}
	} else {
		t = t.Clone()
	}
	if t.MaxResponseHeaderBytes == 0 {
		t.MaxResponseHeaderBytes = 64 << 10
	}
	t.Proxy = nil
	t.DialContext = newDialGuard(base, private).dial
	t.DialTLSContext = nil
	//lint:ignore SA1019 deprecated, and still used where they are set
	t.Dial, t.DialTLS = nil, nil
	return t
}

// Guard returns the guard that builds the API's URLs.
func (u *Upstream) Guard() *Guard { return u.guard }

var errRedirect = errors.New("catalog: a redirect that is not followed")

// checkRedirect lets a redirect pass that stays where the request was, and
// takes from it all that was added to the first request.
func (u *Upstream) checkRedirect(next *http.Request, via []*http.Request) error {
	if len(via) > u.opts.Redirects || via[0].Method != http.MethodGet || !u.guard.Holds(next.URL) {
		return errRedirect
	}
	next.Header = http.Header{"Accept": next.Header["Accept"], "User-Agent": next.Header["User-Agent"]}
	next.Host = ""
	return nil
}

// Call implements [Caller]: it puts the arguments where the entry says.
func (u *Upstream) Call(ctx context.Context, req *mcp.CallToolRequest, e *Entry, arguments map[string]any) (*Answer, error) {
	op, err := compile(e)
	if err != nil || op.Path == "" {
		return nil, errors.Unavailable("%s cannot be called", e.ID).Because("its entry is not that of an endpoint").Cause(err).DoNotRetry()
	}
	p, err := op.parts(arguments)
	if err != nil {
		return nil, errors.Invalid("the call of %s was not sent", e.ID).Because("%s", err.Error()).Next("%s", op.usage())
	}
	if p.url, err = u.guard.Expand(op.Path, p.path, p.query); err != nil {
		return nil, errors.Invalid("the call of %s was not sent", e.ID).Because("%s", err.Error()).Next("%s", op.usage()).Cause(&pathError{err})
	}
	return u.send(ctx, req, op, p)
}

// A PathCaller calls paths that no entry describes. [Upstream] is one.
type PathCaller interface {
	// CallPath gets a path with an optional query.
	CallPath(ctx context.Context, req *mcp.CallToolRequest, path string) (*Answer, error)
}

// CallPath implements [PathCaller].
func (u *Upstream) CallPath(ctx context.Context, req *mcp.CallToolRequest, path string) (*Answer, error) {
	address, err := u.guard.Resolve(path)
	if err != nil {
		return nil, errors.Refused("the path was not called").Because("%s", err.Error()).Next("give the id of an entry and its arguments").Cause(&pathError{err})
	}
	return u.send(ctx, req, pathOperation(), &parts{url: address})
}

// freePath stands for the id of an entry where there is none.
const freePath = "the path"

func pathOperation() *operation {
	return &operation{Entry: &Entry{ID: freePath, Method: http.MethodGet}, schema: &jsonschema.Schema{}}
}

// A pathError is why the guard refused a path.
type pathError struct{ error }

// parts are the arguments of one request, where they go.
type parts struct {
	url    *url.URL
	path   map[string]string
	query  url.Values
	header http.Header
	body   []byte
}

// parts distributes arguments.
func (op *operation) parts(arguments map[string]any) (*parts, error) {
	p := &parts{path: map[string]string{}, query: url.Values{}, header: http.Header{}}
	body := map[string]any{}
	var payload any
	hasPayload := false
	for name, v := range arguments {
		place, ok := op.places[name]
		if !ok {
			place = op.usual
		}
		switch place {
		case InPath:
			s, ok := scalar(v)
			if !ok {
				return nil, fmt.Errorf("the path parameter %q is not a single value", clip(name, 60))
			}
			p.path[name] = s
		case InQuery:
			if err := addQuery(p.query, name, v); err != nil {
				return nil, err
			}
		case InHeader:
			s, ok := scalar(v)
			if !ok || checkText(s) != nil {
				return nil, fmt.Errorf("the header parameter %q is not a single line of text", clip(name, 60))
			}
			p.header.Set(name, s)
		case InPayload:
			payload, hasPayload = v, true
		case InBody:
			body[name] = v
		}
	}
	var err error
	switch {
	case hasPayload:
		p.body, err = json.Marshal(payload)
	case len(body) > 0:
		p.body, err = json.Marshal(body)
	}
	return p, err
}

// addQuery adds a value as the default style of OpenAPI does: a list as the
// same name several times.
func addQuery(query url.Values, name string, v any) error {
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}
	for _, item := range list {
		if item == nil {
			continue
		}
		s, ok := scalar(item)
		if !ok {
			b, err := json.Marshal(item)
			if err != nil {
				return fmt.Errorf("the parameter %q cannot be written", clip(name, 60))
			}
			s = string(b)
		}
		query.Add(name, s)
	}
	return nil
}

func scalar(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case json.Number:
		return v.String(), true
	case bool, float64, int, int64:
		return fmt.Sprint(v), true
	}
	return "", false
}

// send is the only place from which a request leaves. What it sends was built
// and checked by the guard.
func (u *Upstream) send(ctx context.Context, req *mcp.CallToolRequest, op *operation, p *parts) (*Answer, error) {
	if p.url == nil || !u.guard.Holds(p.url) {
		return nil, errors.Refused("the call of %s was not sent", op.ID).Because("its address is not below the API's prefix").DoNotRetry()
	}
	ctx, cancel := context.WithTimeout(ctx, u.opts.Timeout)
	defer cancel()
	var body io.Reader
	if p.body != nil {
		body = bytes.NewReader(p.body)
	}
	r, err := http.NewRequestWithContext(ctx, op.Method, p.url.String(), body)
	if err != nil {
		return nil, errors.Invalid("the call of %s could not be built", op.ID).Cause(err)
	}
	for k, v := range p.header {
		r.Header[k] = v
	}
	for k, v := range u.opts.Header {
		r.Header[http.CanonicalHeaderKey(k)] = v
	}
	r.Header.Set("Accept", "application/json, text/*;q=0.5, */*;q=0.1")
	if p.body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if u.opts.Authorize != nil {
		if err := u.opts.Authorize(ctx, req, r.Header); err != nil {
			if f, ok := errors.AsType[*errors.Failure](err); ok {
				return nil, f
			}
			return nil, errors.Denied("%s needs a credential that this caller does not have", op.ID).Cause(err)
		}
	}
	res, err := u.client.Do(r)
	if err != nil {
		return nil, u.unanswered(op, err)
	}
	defer res.Body.Close()
	limit := readRateLimit(res.Header, u.now())
	if res.StatusCode < 200 || res.StatusCode > 299 {
		return nil, u.refused(op, res)
	}
	data, err := u.readBody(op, res)
	if err != nil {
		return nil, err
	}
	return &Answer{Data: data, RateLimit: limit}, nil
}
