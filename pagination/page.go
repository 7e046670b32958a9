package pagination

import (
	"encoding/json"
	"fmt"

	"github.com/google/jsonschema-go/jsonschema"
)

// A Page is one page of a list, as a tool's structured output. Its schema is
// that of [OutputSchema], the same for every page.
type Page[T any] struct {
	// Items are this page's. They are encoded as [] when there are none.
	Items []T `json:"items"`
	// NextCursor continues behind the last item. It is nil, and encoded as
	// null, on the last page. It is never empty.
	NextCursor *string `json:"next_cursor"`
	// HasMore is whether there is another page.
	HasMore bool `json:"has_more"`
	// Total counts the items of all pages. Nil if nobody counted them.
	Total *int `json:"total,omitempty"`
}

// MarshalJSON encodes the page so that it fits [OutputSchema] even where its
// fields were set by hand: no items are [], and an empty cursor is null.
func (p Page[T]) MarshalJSON() ([]byte, error) {
	type plain Page[T] // without this method
	if p.Items == nil {
		p.Items = []T{}
	}
	if p.NextCursor != nil && *p.NextCursor == "" {
		p.NextCursor = nil
	}
	return json.Marshal(plain(p))
}

// OutputSchema returns the schema of a [Page] of T: an object whose items are
// an array, never null, and whose next_cursor is a string or null, so that it
// covers the last page too. It fails where [jsonschema.For] fails: for a T that
// is recursive or holds functions or channels.
//
// [Tool] sets it for you.
func OutputSchema[T any]() (*jsonschema.Schema, error) {
	item, err := jsonschema.For[T](nil)
	if err != nil {
		return nil, fmt.Errorf("pagination: the schema of an item: %w", err)
	}
	return &jsonschema.Schema{
		Type: "object",
		Properties: map[string]*jsonschema.Schema{
			"items":       {Type: "array", Items: item, Description: "The items of this page."},
			"next_cursor": {Types: []string{"string", "null"}, Description: "The cursor of the next page; null on the last page."},
			"has_more":    {Type: "boolean", Description: "Whether there is another page."},
			"total":       {Type: "integer", Minimum: jsonschema.Ptr(0.0), Description: "How many items all pages have together."},
		},
		PropertyOrder:        []string{"items", "next_cursor", "has_more", "total"},
		Required:             []string{"items", "next_cursor", "has_more"},
		AdditionalProperties: &jsonschema.Schema{Not: &jsonschema.Schema{}},
	}, nil
}
