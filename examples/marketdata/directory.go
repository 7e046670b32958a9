package main

import (
	"crypto/sha256"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
)

// catalogFile lists the endpoints of the API: it is what the API publishes,
// and the only place where they are written down.
//
//go:embed catalog.json
var catalogFile []byte

// A directory is the API's list of endpoints.
type directory struct {
	// file, if not empty, is published instead of catalogFile. It is read
	// again for every request, so that whoever edits it sees the effect.
	file string
}

func (d *directory) read() ([]byte, error) {
	if d.file == "" {
		return catalogFile, nil
	}
	return os.ReadFile(d.file)
}

// ServeHTTP publishes the directory, with an ETag by which a reader sees that
// it has it already.
func (d *directory) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	document, err := d.read()
	if err != nil {
		problem(w, http.StatusInternalServerError, "the directory cannot be read")
		return
	}
	etag := fmt.Sprintf(`"%x"`, sha256.Sum256(document))
	w.Header().Set("ETag", etag)
	if r.Header.Get("If-None-Match") == etag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(document)
}

func (d *directory) endpoints() ([]*endpoint, error) {
	document, err := d.read()
	if err != nil {
		return nil, err
	}
	return readEndpoints(document)
}

func readEndpoints(document []byte) ([]*endpoint, error) {
	var list struct{ Entries []*endpoint }
	err := json.Unmarshal(document, &list)
	return list.Entries, err
}

// An endpoint is an entry of the directory, as far as the API needs it.
type endpoint struct {
	ID, Method, Path string
	Parameters       struct {
		Properties map[string]parameter
		Required   []string
	}
}

type parameter struct {
	Type             string
	Enum             []string
	Minimum, Maximum *float64
}

// match reports whether a path is the endpoint's, and what stands in it.
func (e *endpoint) match(path string) (values map[string]string, ok bool) {
	template, given := strings.Split(e.Path, "/"), strings.Split(path, "/")
	if len(template) != len(given) {
		return nil, false
	}
	values = map[string]string{}
	for i, segment := range template {
		if name, ok := strings.CutPrefix(segment, "{"); ok {
			value, err := url.PathUnescape(given[i])
			if err != nil || value == "" {
				return nil, false
			}
			values[strings.TrimSuffix(name, "}")] = value
		} else if segment != given[i] {
			return nil, false
		}
	}
	return values, true
}

func (p parameter) read(values []string) (any, error) {
	if p.Type == "array" {
		return values, nil
	}
	text := values[len(values)-1]
	switch p.Type {
	case "integer", "number":
		n, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return nil, errors.New("not a number")
		}
		if p.Minimum != nil && n < *p.Minimum || p.Maximum != nil && n > *p.Maximum {
			return nil, errors.New("out of range")
		}
		return n, nil
	case "boolean":
		return strconv.ParseBool(text)
	}
	if len(p.Enum) > 0 && !slices.Contains(p.Enum, text) {
		return nil, fmt.Errorf("none of %s", strings.Join(p.Enum, ", "))
	}
	return text, nil
}
