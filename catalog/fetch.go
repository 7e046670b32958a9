package catalog

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"
	"time"
)

// FetchOptions configures [Fetch]. The zero value is ready to use.
type FetchOptions struct {
	// Header is added to every request, for a credential of the server's own.
	Header http.Header
	// Timeout of one request with its answer. If zero, 10 seconds.
	Timeout time.Duration
	// MaxBytes of the document. If zero, 16 MiB.
	MaxBytes int64
	// PlainHTTP and Private are as in [UpstreamOptions].
	PlainHTTP, Private bool
	// Transport is as in [UpstreamOptions].
	Transport *http.Transport
}

// Fetch returns a source that reads a document, in the form that [JSON] takes,
// from a URL. It asks with the ETag of the last answer whether anything
// changed. Redirects are not followed. The error says what is wrong with the
// URL; nothing is fetched yet.
func Fetch(address string, opts *FetchOptions) (Source, error) {
	s := &fetchedSource{}
	if opts != nil {
		s.opts = *opts
	}
	s.opts.Header = s.opts.Header.Clone()
	if s.opts.Timeout <= 0 {
		s.opts.Timeout = 10 * time.Second
	}
	if s.opts.MaxBytes <= 0 {
		s.opts.MaxBytes = 16 << 20
	}
	u, err := url.Parse(address)
	if err != nil {
		return nil, fmt.Errorf("catalog: the URL does not parse")
	}
	if u.Fragment != "" {
		return nil, fmt.Errorf("catalog: the URL has a fragment")
	}
	base := url.URL{Scheme: u.Scheme, Host: u.Host, User: u.User}
	g, err := NewGuard(base.String(), "/", s.opts.PlainHTTP)
	if err != nil {
		return nil, err
	}
	path := u.EscapedPath()
	if path == "" {
		path = "/"
	}
	if u.RawQuery != "" {
		path += "?" + u.RawQuery
	}
	if s.url, err = g.Resolve(path); err != nil {
		return nil, fmt.Errorf("catalog: the path of the URL: %w", err)
	}
	s.client = &http.Client{
		Transport:     guardedTransport(s.opts.Transport, s.url, s.opts.Private),
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return s, nil
}

type fetchedSource struct {
	opts   FetchOptions
	url    *url.URL
	client *http.Client

	mu      sync.Mutex
	etag    string
	version string // of the entries that the ETag belongs to
}

func (s *fetchedSource) Load(ctx context.Context, have string) (*Snapshot, error) {
	ctx, cancel := context.WithTimeout(ctx, s.opts.Timeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url.String(), nil)
	if err != nil {
		return nil, fmt.Errorf("catalog: %w", kindOf(err))
	}
	for k, v := range s.opts.Header {
		r.Header[http.CanonicalHeaderKey(k)] = v
	}
	r.Header.Set("Accept", "application/json")
	s.mu.Lock()
	if s.etag != "" && have != "" && have == s.version {
		r.Header.Set("If-None-Match", s.etag)
	}
	s.mu.Unlock()
	res, err := s.client.Do(r)
	if err != nil {
		return nil, fmt.Errorf("catalog: fetching the entries: %w", kindOf(err))
	}
	defer res.Body.Close()
	switch {
	case res.StatusCode == http.StatusNotModified && r.Header.Get("If-None-Match") != "":
		return nil, ErrUnchanged
	case res.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("catalog: fetching the entries: status %d", res.StatusCode)
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, s.opts.MaxBytes+1))
	if err != nil {
		return nil, fmt.Errorf("catalog: fetching the entries: %w", kindOf(err))
	}
	if int64(len(body)) > s.opts.MaxBytes {
		return nil, fmt.Errorf("catalog: the document is larger than %d bytes", s.opts.MaxBytes)
	}
	snapshot, err := parseSnapshot(body)
	if err != nil {
		return nil, fmt.Errorf("catalog: %w", err)
	}
	s.mu.Lock()
	s.etag, s.version = res.Header.Get("ETag"), snapshot.Version
	s.mu.Unlock()
	if snapshot.Version == have {
		return nil, ErrUnchanged
	}
	return snapshot, nil
}
