package catalog

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// An Entry describes one operation: an endpoint of an HTTP API, or a tool.
type Entry struct {
	// ID names the entry in every tool and answer: 1 to 128 letters, digits
	// and "._-/", of which the first is none of "./-".
	ID string `json:"id"`
	// Method is the HTTP method, in capitals; empty for a tool.
	Method string `json:"method,omitempty"`
	// Path is the path template, with {name} for a parameter that stands in
	// it; empty for a tool.
	Path string `json:"path,omitempty"`
	// Title is a short name for people.
	Title string `json:"title,omitempty"`
	// Summary says in one line what a call gives.
	Summary string `json:"summary,omitempty"`
	// Description says the rest.
	Description string `json:"description,omitempty"`
	// Signal says what the answer is good for.
	Signal string `json:"signal,omitempty"`
	// Parameters is the JSON Schema, of type object, of the arguments. If
	// empty, the entry takes none.
	Parameters json.RawMessage `json:"parameters,omitempty"`
	// In says where parameters go that do not go where they usually do: those
	// of the path into the path, others into the query for a method without a
	// body (GET, HEAD, DELETE), else into a JSON body.
	In map[string]Location `json:"in,omitempty"`
	// Example is a worked set of arguments, a JSON object.
	Example json.RawMessage `json:"example,omitempty"`
	// Tags group entries.
	Tags []string `json:"tags,omitempty"`
	// Terms are words under which people look for the entry, and which its
	// texts do not have.
	Terms []string `json:"terms,omitempty"`
	// ReadOnly, Destructive and Idempotent say what a call does to the world.
	// Nil means what the method promises: GET and HEAD only read, PUT and
	// DELETE are idempotent, and what writes may destroy.
	ReadOnly    *bool `json:"readOnly,omitempty"`
	Destructive *bool `json:"destructive,omitempty"`
	Idempotent  *bool `json:"idempotent,omitempty"`

	ready *operation // set in the copies that a catalog holds
}

// A Location says where in a request a parameter goes.
type Location string

// Locations of parameters.
const (
	InPath    Location = "path"
	InQuery   Location = "query"
	InHeader  Location = "header"
	InBody    Location = "body"    // a property of the JSON body
	InPayload Location = "payload" // the whole JSON body
)

func (e *Entry) reads() bool {
	if e.ReadOnly != nil {
		return *e.ReadOnly
	}
	return e.Method == "GET" || e.Method == "HEAD"
}

func (e *Entry) destroys() bool {
	if e.Destructive != nil {
		return *e.Destructive
	}
	return !e.reads()
}

func (e *Entry) repeats() bool {
	if e.Idempotent != nil {
		return *e.Idempotent
	}
	return e.reads() || e.Method == "PUT" || e.Method == "DELETE"
}

// Bounds of a catalog. What lies beyond is malformed.
const (
	maxEntries     = 50_000
	maxTextBytes   = 32 << 10 // title, summary, description, signal: each
	maxSchemaBytes = 256 << 10
	maxListed      = 64 // tags, terms: each
)

var (
	idPattern     = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._/-]{0,127}$`)
	placeholder   = regexp.MustCompile(`\{([^{}/]+)\}`)
	headerPattern = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")
)

var methods = []string{"", "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"}

// An operation is an entry made ready to be called.
type operation struct {
	*Entry
	schema   *jsonschema.Schema // never nil
	resolved *jsonschema.Resolved
	checked  *part                         // of the schema
	known    map[string]*jsonschema.Schema // the parameters that the schema has names for
	open     bool                          // it says that there may be others
	usual    Location                      // where those go that have no place
	places   map[string]Location           // of every known parameter
	example  json.RawMessage               // nil if there is none, or if it does not fit
}

// compile checks an entry and makes it ready.
func compile(e *Entry) (*operation, error) {
	if e.ready != nil && e.ready.Entry == e {
		return e.ready, nil
	}
	if !idPattern.MatchString(e.ID) || strings.Contains(e.ID, "..") {
		return nil, fmt.Errorf("the id %q is not 1 to 128 letters, digits and ._-/", clip(e.ID, 140))
	}
	for _, text := range []string{e.Title, e.Summary, e.Description, e.Signal} {
		if len(text) > maxTextBytes {
			return nil, fmt.Errorf("a text of %d bytes, more than %d", len(text), maxTextBytes)
		}
	}
	if len(e.Tags) > maxListed || len(e.Terms) > maxListed {
		return nil, fmt.Errorf("more than %d tags or terms", maxListed)
	}
	if !slices.Contains(methods, e.Method) {
		return nil, fmt.Errorf("the method %q is none of %s", clip(e.Method, 20), strings.Join(methods[1:], ", "))
	}
	if (e.Method == "") != (e.Path == "") {
		return nil, fmt.Errorf("a method and a path belong together")
	}
	if e.ReadOnly != nil && *e.ReadOnly && (e.Method == "PUT" || e.Method == "PATCH" || e.Method == "DELETE") {
		return nil, fmt.Errorf("it is marked as read-only, and %s writes", e.Method)
	}
	op := &operation{Entry: e, places: map[string]Location{}}
	if err := op.parseSchema(); err != nil {
		return nil, err
	}
	if e.Path != "" {
		if err := op.place(); err != nil {
			return nil, err
		}
	}
	op.checkExample()
	return op, nil
}

func (op *operation) parseSchema() error {
	raw := op.Parameters
	if len(raw) == 0 || string(raw) == "null" {
		raw = []byte(`{"type":"object"}`)
	}
	if len(raw) > maxSchemaBytes {
		return fmt.Errorf("a schema of %d bytes, more than %d", len(raw), maxSchemaBytes)
	}
	if depth(raw) > maxSchemaDepth {
		return fmt.Errorf("a schema of more than %d levels", maxSchemaDepth)
	}
	op.schema = &jsonschema.Schema{}
	if err := json.Unmarshal(raw, op.schema); err != nil {
		return fmt.Errorf("the schema of the parameters: %w", err)
	}
	if op.schema.Type != "object" {
		return fmt.Errorf("the schema of the parameters has the type %q, not object", op.schema.Type)
	}
	var err error
	if op.checked, err = measure(op.schema); err != nil {
		return fmt.Errorf("the schema of the parameters: %w", err)
	}
	if op.resolved, err = op.schema.Resolve(nil); err != nil {
		return fmt.Errorf("the schema of the parameters: %w", err)
	}
	op.known, op.open = op.checked.declared(), op.checked.open()
	return nil
}

// place finds where each parameter goes, and checks that it may.
func (op *operation) place() error {
	rest := placeholder.ReplaceAllString(op.Path, "x")
	if strings.ContainsAny(rest, "{}") {
		return fmt.Errorf("the braces of the path %q do not match", clip(op.Path, 200))
	}
	if _, err := checkPath(rest, "/"); err != nil {
		return fmt.Errorf("the path %q: %w", clip(op.Path, 200), err)
	}
	op.usual = InBody
	if op.Method == "GET" || op.Method == "HEAD" || op.Method == "DELETE" {
		op.usual = InQuery
	}
	for name := range op.known {
		op.places[name] = op.usual
	}
	for name, in := range op.In {
		if op.known[name] == nil {
			return fmt.Errorf("the parameter %q has a location and no schema", clip(name, 60))
		}
		switch in {
		case InQuery, InBody, InPayload:
		case InPath:
			if !strings.Contains(op.Path, "{"+name+"}") {
				return fmt.Errorf("the parameter %q does not stand in the path", clip(name, 60))
			}
		case InHeader:
			if !headerPattern.MatchString(name) || reservedHeader(name) {
				return fmt.Errorf("a parameter may not be the header %q", clip(name, 60))
			}
		default:
			return fmt.Errorf("the parameter %q goes to %q, which is no location", clip(name, 60), clip(string(in), 20))
		}
		op.places[name] = in
	}
	for _, m := range placeholder.FindAllStringSubmatch(op.Path, -1) {
		if op.known[m[1]] == nil {
			return fmt.Errorf("the path parameter %q has no schema", clip(m[1], 60))
		}
		op.places[m[1]] = InPath
	}
	return nil
}

func (op *operation) checkExample() {
	if len(op.Example) == 0 {
		return
	}
	var b bytes.Buffer
	if _, f := op.arguments(op.Example); f == nil && json.Compact(&b, op.Example) == nil {
		op.example = b.Bytes()
	}
}
