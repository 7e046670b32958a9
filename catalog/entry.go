package catalog

import "encoding/json"

// An Entry describes one operation: an endpoint of an HTTP API, or a tool.
type Entry struct {
	// ID names the entry in every tool and answer. Letters, digits and
	// "._-/", at most 128 bytes.
	ID string `json:"id"`
	// Method is the HTTP method; empty for a tool.
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
	// body and into a JSON body else.
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
