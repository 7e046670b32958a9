//go:build unix

package replicas

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/steadymcp/steady/tasks/rivertasks/internal/pgserver"
)

// The clocks of the replicas are minutes apart, and from the database's. Processes
// that share a file are on one machine, and so have one clock.
func TestClockSkew(t *testing.T) {
	if !long {
		t.Skip("it compiles the standard library with another clock, which takes minutes: set STEADY_LONG=1")
	}
	program := skewedProgram(t)
	s := storm{calls: 400, lasts: 15 * time.Second, settle: time.Minute, replicas: 4, launch: func(number int) launch {
		minutes := []int{0, 5, -3, 30}[number]
		return launch{program: program, env: []string{fmt.Sprintf("%s=%d", skewVariable, minutes*60)}}
	}}
	s.rage(t, newCluster(t, pgserver.DSN(t)))
}

const skewVariable = "STEADY_TEST_SKEW"

// skewedProgram builds this test with a package time whose clock is wrong by so
// many seconds as the variable says. Libraries that fake the time for other
// programs do not reach one in Go, which does not ask the C library.
func skewedProgram(t *testing.T) string {
	const original = "\tsec, nsec, mono := runtimeNow()\n\tif mono == 0 {"
	root, err := exec.CommandContext(t.Context(), "go", "env", "GOROOT").Output()
	require.NoError(t, err)
	source := filepath.Join(strings.TrimSpace(string(root)), "src", "time", "time.go")
	code, err := os.ReadFile(source)
	require.NoError(t, err)
	require.Equal(t, 1, strings.Count(string(code), original), "package time has changed: adapt this test")
	skewed := strings.Replace(string(code), original, strings.Replace(original, "\n", "\n\tsec += skew\n", 1), 1)
	skewed = strings.Replace(skewed, "\t\"errors\"\n", "\t\"errors\"\n\t\"syscall\"\n", 1)
	skewed += `
var skew = func() int64 {
	text, _ := syscall.Getenv("` + skewVariable + `")
	var n, sign int64 = 0, 1
	for i := range len(text) {
		if text[i] == '-' {
			sign = -1
		} else {
			n = 10*n + int64(text[i]-'0')
		}
	}
	return sign * n
}()
`
	folder := t.TempDir()
	replacement, overlay, program := filepath.Join(folder, "time.go"), filepath.Join(folder, "overlay.json"), filepath.Join(folder, "skewed.test")
	require.NoError(t, os.WriteFile(replacement, []byte(skewed), 0o644))
	list, err := json.Marshal(map[string]map[string]string{"Replace": {source: replacement}})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(overlay, list, 0o644))
	build := exec.CommandContext(t.Context(), "go", "test", "-c", "-overlay", overlay, "-o", program, ".")
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)

	// It does what it is for.
	check := exec.CommandContext(t.Context(), program, "-test.run=^TestNow$", "-test.v")
	check.Env = append(os.Environ(), skewVariable+"=-180")
	before := time.Now()
	out, err = check.CombinedOutput()
	require.NoError(t, err, "%s", out)
	_, after, found := strings.Cut(string(out), "now ")
	require.True(t, found, "%s", out)
	text, _, _ := strings.Cut(after, "\n")
	now, err := time.Parse(time.RFC3339, text)
	require.NoError(t, err)
	require.InDelta(t, -180, now.Sub(before).Seconds(), 60)
	return program
}

// TestNow says what time it is, see skewedProgram.
func TestNow(t *testing.T) { t.Logf("now %s", time.Now().Format(time.RFC3339)) }
