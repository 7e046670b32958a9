package discovery

import (
	"encoding/json"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"
)

// schemaNames returns the names of the properties that a tool's input schema
// declares, in sorted order, and which of them are required.
func schemaNames(schema any) (names []string, required []bool) {
	var req []string
	switch s := schema.(type) {
	case nil:
		return nil, nil
	case *jsonschema.Schema:
		if s == nil {
			return nil, nil
		}
		for name := range s.Properties {
			names = append(names, name)
		}
		req = s.Required
	case map[string]any:
		props, _ := s["properties"].(map[string]any)
		for name := range props {
			names = append(names, name)
		}
		switch list := s["required"].(type) {
		case []any:
			for _, r := range list {
				if name, ok := r.(string); ok {
					req = append(req, name)
				}
			}
		case []string:
			req = list
		}
	default:
		raw, err := json.Marshal(schema)
		if err != nil {
			return nil, nil
		}
		var parsed struct {
			Properties map[string]json.RawMessage `json:"properties"`
			Required   []string                   `json:"required"`
		}
		if json.Unmarshal(raw, &parsed) != nil {
			return nil, nil
		}
		for name := range parsed.Properties {
			names = append(names, name)
		}
		req = parsed.Required
	}
	slices.Sort(names)
	required = make([]bool, len(names))
	for i, name := range names {
		required[i] = slices.Contains(req, name)
	}
	return names, required
}
