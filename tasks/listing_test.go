package tasks

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWideningKeepsSchemasWhoseReferencesStay(t *testing.T) {
	for schema, kept := range map[string]bool{
		`{"type":"object","properties":{"rows":{"type":"integer","description":"#rows"}}}`:                      true,
		`{"type":"object","properties":{"rows":{"enum":["#","#/x"]}}}`:                                          true,
		`{"type":"object","properties":{"$ref":{"type":"string"}}}`:                                             true,
		`{"type":"object","$defs":{"a":{}},"properties":{"x":{"$ref":"#/$defs/a"}}}`:                            true,
		`{"type":"object","properties":{"x":{"$ref":"#"}}}`:                                                     false,
		`{"type":"object","properties":{"y":{},"x":{"anyOf":[{"$ref":"#/properties/y"}]}}}`:                     false,
		`{"type":"object","properties":{"y":{},"x":{"$ref":"\u0023/properties/y"}}}`:                            false,
		`{"type":"object","$defs":{"a":{"$dynamicRef":"#node"}},"properties":{"x":{"$ref":"https://e.org/#"}}}`: false,
	} {
		require.Equal(t, kept, widen(json.RawMessage(schema)) != nil, schema)
	}
}
