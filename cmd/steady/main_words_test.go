package main

import (
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

// Why a server did not start is said by every command, and cannot drive the
// terminal.
func TestLastWords(t *testing.T) {
	t.Parallel()
	sh, err := exec.LookPath("sh")
	require.NoError(t, err)
	for _, command := range []string{"doctor", "lint", "snapshot"} {
		code, stdout, stderr := steady(t, "", command, "--", sh, "-c", `printf '\033[31mError: no port\n' >&2; exit 3`)
		require.Equal(t, exitConnect, code)
		require.Empty(t, stdout)
		require.Contains(t, stderr, "Error: no port", command)
		require.Contains(t, stderr, "exit status 3", command)
		require.NotContains(t, stderr, "\x1b")
	}
}
