package wire_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/steadymcp/steady/internal/wire"
)

func TestAppendString(t *testing.T) {
	require.Equal(t, `x"<a & b>\n\"\\\u0001"`, string(wire.AppendString([]byte("x"), "<a & b>\n\"\\\x01")))
	var all strings.Builder
	for r := range rune(0x3000) {
		all.WriteRune(r)
	}
	all.WriteString("😀\xff\xed\xa0\x80")
	var back string
	require.NoError(t, json.Unmarshal(wire.AppendString(nil, all.String()), &back))
	require.Equal(t, string([]rune(all.String())), back)
}
