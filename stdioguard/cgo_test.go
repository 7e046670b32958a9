//go:build unix

package stdioguard_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/steadymcp/steady/internal/mcptest"
)

// B100, B101: native code writes to descriptor 1 and knows nothing of os.Stdout.
func TestC(t *testing.T) {
	t.Parallel()
	env, err := exec.Command("go", "env", "CGO_ENABLED", "CC").Output()
	require.NoError(t, err)
	enabled, compiler, _ := strings.Cut(strings.TrimSpace(string(env)), "\n")
	if _, err := exec.LookPath(compiler); err != nil || enabled != "1" {
		t.Skip("no C compiler, or cgo is off")
	}
	binary := t.TempDir() + "/server"
	out, err := exec.Command("go", "build", "-o", binary, "./testdata/cgo").CombinedOutput()
	require.NoError(t, err, "%s", out)
	p := start(t, exec.Command(binary), nil)
	p.start(mcptest.Handshake)
	for range 3 {
		r := p.call("c", script{})
		require.Equal(t, "written", r.text(), r.raw)
	}
	p.finish()
	for _, what := range []string{"printf", "puts", "write", "dprintf", "system", "popen"} {
		require.Equal(t, 3, strings.Count(p.stderr.String(), "[stdout] stray "+what+"\n"), what)
	}
}
