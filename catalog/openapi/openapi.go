// Package openapi reads the entries of a [catalog.Catalog] from an OpenAPI
// document, version 3.0 or 3.1, as JSON or YAML.
//
//	doc, err := openapi.Parse(document, nil)
//	...
//	upstream, err := catalog.NewUpstream(doc.Server, nil)
//	...
//	c, err := catalog.New(doc.Source(), &catalog.Options{Caller: upstream})
//
// References to other files and hosts are refused. An operation that the
// catalog cannot call, because its body is no JSON for example, is a problem
// and not an error: the others are read.
package openapi

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/steadymcp/steady/catalog"
)

// Options configures [Parse]. The zero value is ready to use.
type Options struct {
	// Include, if non-nil, chooses the operations that become entries.
	Include func(method, path string, op *openapi3.Operation) bool
	// MaxBytes of the document. If zero, 16 MiB.
	MaxBytes int
}

// A Document is what was read.
type Document struct {
	Entries []catalog.Entry
	// Problems are operations that were left out, and why.
	Problems []catalog.Problem
	// Server is the URL of the first server with its variables at their
	// defaults, for [catalog.NewUpstream]; "" if the document names none. The
	// entries' paths come behind it.
	Server string
	// Version is that of the API.
	Version string
}

// Snapshot returns the entries as a source's answer.
func (d *Document) Snapshot() *catalog.Snapshot {
	return &catalog.Snapshot{Version: d.Version, Entries: d.Entries, Problems: d.Problems}
}

// Source returns a source of the document's entries.
func (d *Document) Source() catalog.Source { return source{d.Snapshot()} }

type source struct{ snapshot *catalog.Snapshot }

func (s source) Load(_ context.Context, have string) (*catalog.Snapshot, error) {
	if have != "" && have == s.snapshot.Version {
		return nil, catalog.ErrUnchanged
	}
	return s.snapshot, nil
}

// Parse reads a document. A nil opts means the zero Options. The error says
// that the document is none, is too large, or refers to something outside.
//
// An operation's extensions x-search-terms (a list), x-signal and x-read-only
// fill in what OpenAPI has no words for.
func Parse(document []byte, opts *Options) (*Document, error) {
	var o Options
	if opts != nil {
		o = *opts
	}
	if o.MaxBytes <= 0 {
		o.MaxBytes = 16 << 20
	}
	if len(document) > o.MaxBytes {
		return nil, fmt.Errorf("openapi: the document has %d bytes, more than %d", len(document), o.MaxBytes)
	}
	loader := openapi3.NewLoader()
	loader.IsExternalRefsAllowed = false
	doc, err := loader.LoadFromData(document)
	if err != nil {
		return nil, fmt.Errorf("openapi: %w", err)
	}
	if !strings.HasPrefix(doc.OpenAPI, "3.") {
		return nil, fmt.Errorf("openapi: the document says version %q, not 3.0 or 3.1", doc.OpenAPI)
	}
	d := &Document{Server: server(doc.Servers)}
	if doc.Info != nil {
		d.Version = doc.Info.Version
	}
	seen := map[string]bool{}
	for _, path := range slices.Sorted(slices.Values(doc.Paths.Keys())) {
		item := doc.Paths.Value(path)
		if item == nil {
			continue
		}
		for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
			op := item.GetOperation(method)
			if op == nil || o.Include != nil && !o.Include(method, path, op) {
				continue
			}
			id := unused(seen, identifier(op.OperationID, method, path))
			e, err := entry(id, method, path, doc, item, op)
			if err != nil {
				d.Problems = append(d.Problems, catalog.Problem{ID: id, Err: err})
				continue
			}
			d.Entries = append(d.Entries, *e)
		}
	}
	return d, nil
}

func server(servers openapi3.Servers) string {
	if len(servers) == 0 || servers[0] == nil {
		return ""
	}
	s := servers[0]
	url := s.URL
	for name, v := range s.Variables {
		if v != nil {
			url = strings.ReplaceAll(url, "{"+name+"}", v.Default)
		}
	}
	return url
}

var notInID = regexp.MustCompile(`[^A-Za-z0-9._-]+`)

// identifier makes an id from the operation's own, else from method and path.
func identifier(own, method, path string) string {
	id := own
	if id == "" {
		id = strings.ToLower(method) + "-" + strings.NewReplacer("{", "by-", "}", "").Replace(strings.Trim(path, "/"))
	}
	id = strings.Trim(notInID.ReplaceAllString(id, "-"), "-._")
	for strings.Contains(id, "..") {
		id = strings.ReplaceAll(id, "..", ".")
	}
	return cmp.Or(strings.Trim(id[:min(len(id), 120)], "-._"), "operation")
}

func unused(seen map[string]bool, id string) string {
	free := id
	for n := 2; seen[free]; n++ {
		free = fmt.Sprintf("%s-%d", id, n)
	}
	seen[free] = true
	return free
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
