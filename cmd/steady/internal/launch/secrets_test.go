package launch

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// What was given is masked in whatever form it comes back.
func TestSecretsAreMasked(t *testing.T) {
	t.Setenv("STEADY_TEST_API_TOKEN", "inherited-value")
	t.Setenv("STEADY_TEST_AUTHOR", "Somebody Else")
	target := &Target{
		Command: []string{"server", "--api-key", "k&y-4711", "--password=pa ss"},
		Env:     []string{`PIN=sl"ash\ed`},
		URL:     "https://user:p%40ss%2Fword@example.com/mcp?access_token=t%2Bk%20en",
		Header:  http.Header{"Authorization": {"Bearer abcd-efgh"}},
	}
	s := target.Secrets()
	for _, secret := range []string{
		"inherited-value", "k&y-4711", "k%26y-4711", "pa ss", "pa+ss", "pa%20ss", `sl"ash\ed`, `sl\"ash\\ed`,
		"p@ss/word", "p%40ss%2Fword", "t+k en", "t%2Bk%20en", "t%2Bk+en", "abcd-efgh",
	} {
		require.Equal(t, "x *** y", s.Mask("x "+secret+" y"), secret)
	}
	require.Equal(t, "by Somebody Else", s.Mask("by Somebody Else"))
	require.Equal(t, "x *** y", (&Target{URL: "https://tok-4711@example.com/"}).Secrets().Mask("x tok-4711 y"))
	target.Command = nil
	require.Equal(t, "https://***@example.com/mcp?access_token=***", target.String())
}

// What -env says for other reasons is left alone: it would be masked in every text.
func TestSettingsAreNoSecrets(t *testing.T) {
	t.Parallel()
	s := (&Target{Env: []string{
		"DEBUG=true", "NODE_ENV=production", "PORT=8080", "HOME=/home/somebody/else", "LEVEL=warn",
		"API_KEY=abcd", "DB_PASSWORD=hunter", "DSN=postgres://u:p@h/db", "ID=a1b2c3d4", "WORDS=correcthorsebatterystaple",
	}}).Secrets()
	for text, want := range map[string]string{
		"true, production, 8080, /home/somebody/else, warn":                  "true, production, 8080, /home/somebody/else, warn",
		"abcd hunter a1b2c3d4 correcthorsebatterystaple postgres://u:p@h/db": "*** *** *** *** ***",
	} {
		require.Equal(t, want, s.Mask(text))
	}
}
