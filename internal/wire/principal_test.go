package wire

import (
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
)

func TestPrincipal(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		req  *mcp.CallToolRequest
		want string
	}{
		{"by hand", &mcp.CallToolRequest{}, ""},
		{"session without an ID", &mcp.CallToolRequest{Session: &mcp.ServerSession{}}, ""},
		{"no token", &mcp.CallToolRequest{Extra: &mcp.RequestExtra{}}, ""},
		{"user", &mcp.CallToolRequest{Extra: &mcp.RequestExtra{TokenInfo: &auth.TokenInfo{UserID: "ada", Extra: map[string]any{"sub": "x"}}}}, "user:ada"},
		{"claim", &mcp.CallToolRequest{Extra: &mcp.RequestExtra{TokenInfo: &auth.TokenInfo{Extra: map[string]any{"sub": "bo"}}}}, "user:bo"},
		{"claim that is no text", &mcp.CallToolRequest{Extra: &mcp.RequestExtra{TokenInfo: &auth.TokenInfo{Extra: map[string]any{"sub": 7}}}}, ""},
	} {
		require.Equal(t, tt.want, Principal(tt.req), tt.name)
	}
}

func TestShown(t *testing.T) {
	t.Parallel()
	for caller, want := range map[string]string{
		"":                                "",
		"user:ada":                        "user:ada",
		"session:abc":                     "session:ba7816bf8f01",
		"ses:abc":                         "ses:ba7816bf8f01",
		"user:" + strings.Repeat("é", 99): "user:" + strings.Repeat("é", 61),
		"user:\xff":                       "user:",
	} {
		require.Equal(t, want, Shown(caller))
	}
}
