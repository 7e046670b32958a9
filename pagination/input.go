package pagination

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/steadymcp/steady/errors"
)

// Input is what a tool that pages takes besides its own parameters. Embed it
// in the tool's input:
//
//	type SearchInput struct {
//		pagination.Input
//		Filter
//	}
//
// The schema that the SDK infers from it has no bounds; [Tool] and [Schema]
// put them in.
type Input struct {
	// Limit is how many items the caller wants. Zero means the usual number.
	Limit int `json:"limit,omitempty" jsonschema:"How many items to return."`
	// Cursor is the next_cursor of the page before. Empty means the first page.
	Cursor string `json:"cursor,omitempty" jsonschema:"The next_cursor of the page before. Leave it out for the first page."`
}

// Bounds is how many items a page has.
type Bounds struct {
	// Limit is the number when the caller does not say. If zero or less, 20,
	// or Max if that is less.
	Limit int
	// Max is the most that a caller can ask for. If zero or less, 50, or Limit
	// if that is more.
	Max int
}

func (b Bounds) orDefault() Bounds {
	if b.Max <= 0 {
		b.Max = max(50, b.Limit)
	}
	if b.Limit <= 0 {
		b.Limit = 20
	}
	b.Limit = min(b.Limit, b.Max)
	return b
}

func (b Bounds) limitSchema() *jsonschema.Schema {
	return &jsonschema.Schema{
		Type:        "integer",
		Minimum:     jsonschema.Ptr(1.0),
		Maximum:     jsonschema.Ptr(float64(b.Max)),
		Default:     json.RawMessage(strconv.Itoa(b.Limit)),
		Description: fmt.Sprintf("How many items to return: 1 to %d, %d if left out.", b.Max, b.Limit),
	}
}

func cursorSchema() *jsonschema.Schema {
	return &jsonschema.Schema{
		Type:        "string",
		Description: "The next_cursor of the page before, copied exactly. Leave it out for the first page.",
	}
}

// Tool returns a copy of t whose schemas are those of a tool that takes In,
// which embeds [Input], and returns pages of p: the input schema has p's
// bounds, so that a limit above the maximum is refused before the handler
// runs, and the output schema is [OutputSchema]. Schemas that t already has
// are kept; its input schema is given limit and cursor.
//
//	mcp.AddTool(server, pagination.Tool[SearchInput](&mcp.Tool{Name: "search_orders"}, pager), search)
//
// Like [mcp.AddTool], it panics for types that have no schema.
func Tool[In, Q, T any](t *mcp.Tool, p *Pager[Q, T]) *mcp.Tool {
	c := *t
	var err error
	if c.InputSchema == nil {
		c.InputSchema, err = Schema[In](p.opts.Bounds)
	} else {
		c.InputSchema, err = Extend(c.InputSchema, p.opts.Bounds)
	}
	if err == nil && c.OutputSchema == nil {
		c.OutputSchema, err = OutputSchema[T]()
	}
	if err != nil {
		panic(fmt.Sprintf("pagination: tool %q: %v", t.Name, err))
	}
	return &c
}

// Schema returns the input schema of In with limit and cursor as b has them.
func Schema[In any](b Bounds) (*jsonschema.Schema, error) {
	s, err := jsonschema.For[In](nil)
	if err != nil {
		return nil, err
	}
	return Extend(s, b)
}

// Extend returns a copy of schema, the input schema of a tool in any of the
// forms that [mcp.Tool] takes, in which limit and cursor are properties as b
// has them. A nil schema means a tool without other parameters.
func Extend(schema any, b Bounds) (*jsonschema.Schema, error) {
	b = b.orDefault()
	s := &jsonschema.Schema{Type: "object", AdditionalProperties: &jsonschema.Schema{Not: &jsonschema.Schema{}}}
	switch from := schema.(type) {
	case nil:
	case *jsonschema.Schema:
		s = from.CloneSchemas()
	default:
		data, err := json.Marshal(from)
		if err == nil {
			s = new(jsonschema.Schema)
			err = json.Unmarshal(data, s)
		}
		if err != nil {
			return nil, fmt.Errorf("pagination: input schema: %w", err)
		}
	}
	if s.Type != "object" {
		return nil, fmt.Errorf("pagination: an input schema has type object, this one %q", s.Type)
	}
	s.Properties = maps.Clone(s.Properties)
	if s.Properties == nil {
		s.Properties = map[string]*jsonschema.Schema{}
	}
	ours := func(name string) bool { return name == "limit" || name == "cursor" }
	// The tool's own parameters come first: they say what it is about.
	s.PropertyOrder = slices.DeleteFunc(slices.Clone(s.PropertyOrder), ours)
	if len(s.PropertyOrder) == 0 {
		for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
			if !ours(name) {
				s.PropertyOrder = append(s.PropertyOrder, name)
			}
		}
	}
	s.PropertyOrder = append(s.PropertyOrder, "limit", "cursor")
	s.Required = slices.DeleteFunc(slices.Clone(s.Required), ours)
	s.Properties["limit"] = b.limitSchema()
	s.Properties["cursor"] = cursorSchema()
	return s, nil
}

// ParseInput reads limit and cursor from the raw arguments of a call, for
// handlers that the SDK validates nothing for. The error is a
// [*errors.Failure] that states the bounds.
func ParseInput(arguments json.RawMessage, b Bounds) (Input, error) {
	b = b.orDefault()
	var in Input
	s := trimSpace(string(arguments))
	if s == "" || s == "null" {
		return in, nil
	}
	if !json.Valid([]byte(s)) || s[0] != '{' {
		return in, errors.Invalid("The arguments are not a JSON object")
	}
	for w := walk(s); w.next(); {
		switch unquote(w.key) {
		case "limit":
			if w.value == "null" {
				continue
			}
			if f := limitFailure(w.value, b); f != nil {
				return in, f
			}
			n, _ := wholeNumber(w.value)
			in.Limit = int(n)
		case "cursor":
			switch {
			case w.value == "null":
			case w.value[0] != '"':
				return in, errors.Invalid("cursor must be text, got %s", shorten(w.value, 40)).
					Next("copy next_cursor of the page before, or leave cursor out for the first page")
			default:
				in.Cursor = unquote(w.value)
			}
		}
	}
	return in, nil
}

// limitFailure says what is wrong with a limit, given as JSON, or returns nil.
func limitFailure(value string, b Bounds) *errors.Failure {
	n, ok := wholeNumber(value)
	switch {
	case !ok:
		return errors.Invalid("limit must be a whole number from 1 to %d, got %s", b.Max, shorten(value, 40)).
			Next("pass a number, or leave limit out for %d items", b.Limit)
	case n < 1:
		return errors.Invalid("limit must be from 1 to %d, got %s", b.Max, shorten(value, 40)).
			Next("leave limit out for %d items", b.Limit)
	case n > int64(b.Max):
		return errors.Invalid("limit %s is above the maximum of %d", shorten(value, 40), b.Max).
			Next("ask for at most %d and follow next_cursor for the rest", b.Max)
	}
	return nil
}

// wholeNumber reads a JSON number that is whole, as 5, 5.0 and 5e0 are. Beyond
// the range of int64 it returns the nearest end of the range.
func wholeNumber(value string) (int64, bool) {
	if n, err := strconv.ParseInt(value, 10, 64); err == nil {
		return n, true
	}
	f, err := strconv.ParseFloat(value, 64)
	switch {
	case value == "" || value[0] != '-' && (value[0] < '0' || value[0] > '9'):
		return 0, false // not a JSON number, though perhaps one of Go's, as Inf is
	case err != nil && f == 0: // a syntax error; out of range gives an infinity
		return 0, false
	case f >= 1<<63:
		return 1<<63 - 1, true
	case f < -1<<63:
		return -1 << 63, true
	}
	return int64(f), f == float64(int64(f))
}

// shorten returns s, or its beginning and "..." if it is longer than n bytes.
func shorten(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return s[:runeStart(s, n)] + "..."
}
