package main

import (
	"bytes"
	"context"
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A onceMap makes each value once, however many ask for it at the same time.
type onceMap[T any] struct{ made sync.Map }

func (m *onceMap[T]) get(key string, make func() T) T {
	once, _ := m.made.LoadOrStore(key, sync.OnceValue(make))
	return once.(func() T)()
}

var (
	builds   onceMap[string]
	buildDir string
)

// build compiles the program in a folder once and returns its path.
func build(t testing.TB, dir string) string {
	t.Helper()
	return builds.get(dir, func() string {
		out := filepath.Join(buildDir, filepath.Base(dir))
		text, err := exec.Command("go", "build", "-C", dir, "-o", out, ".").CombinedOutput()
		require.NoError(t, err, "%s", text)
		return out
	})
}

func orders(t testing.TB) string { return build(t, filepath.Join("..", "..", "examples", "orders")) }

func TestMain(m *testing.M) {
	var err error
	if buildDir, err = os.MkdirTemp("", "steady-cmd"); err != nil {
		panic(err)
	}
	code := m.Run()
	_ = os.RemoveAll(buildDir)
	os.Exit(code)
}

// steady runs a command line.
func steady(t testing.TB, stdin string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errOut bytes.Buffer
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	code = run(ctx, &env{strings.NewReader(stdin), &out, &errOut}, args)
	return code, out.String(), errOut.String()
}

func TestCommandLine(t *testing.T) {
	saved := `{"tools":[{"name":"search_papers","inputSchema":{"type":"object","properties":{"limit":{"type":"integer"}}}}]}`
	for _, test := range []struct {
		args string
		code int
		says string // on either stream
	}{
		{"", exitUsage, "Commands:"},
		{"help", exitClean, "Commands:"},
		{"help lint", exitClean, "Exit codes:"},
		{"lint -h", exitClean, "-profile"},
		{"snapshot -h", exitClean, "-fingerprint"},
		{"diff -h", exitClean, "-fail-on"},
		{"version", exitClean, "steady "},
		{"cure", exitUsage, `no command "cure"`},
		{"lint", exitUsage, "say which server"},
		{"lint --", exitUsage, "no command after --"},
		{"lint -bogus -- x", exitUsage, "bogus"},
		{"lint -http http://localhost:1/mcp -- x", exitUsage, "not both"},
		{"lint -http ftp://x", exitUsage, "-http wants a URL"},
		{"lint -header a:b -- x", exitUsage, "-header is for -http"},
		{"lint -header ab -http http://localhost:1", exitUsage, "-header wants"},
		{"lint -header a(b:c -http http://localhost:1", exitUsage, "no header may have"},
		{"lint -header a:$STEADY_NOT_THERE -http http://localhost:1", exitUsage, "$STEADY_NOT_THERE is not in the environment"},
		{"lint -env ab -- x", exitUsage, "-env wants"},
		{"lint -profile nobody -", exitUsage, `no profile "nobody"`},
		{"lint -fail-on death -", exitUsage, "-fail-on is"},
		{"lint -except x -", exitUsage, "-except wants"},
		{"lint -json -sarif x -", exitUsage, "two forms"},
		{"lint a b", exitUsage, "give one file"},
		{"lint a -- b", exitUsage, "not both"},
		{"lint missing.json", exitUsage, "missing.json"},
		{"lint -- ./no/such/program", exitConnect, "starting the server"},
		{"lint -- true", exitConnect, "initialize"},
		{"lint -timeout 5s -http http://localhost:1/mcp", exitConnect, "refused"},
		{"doctor -h", exitClean, "-destructive"},
		{"doctor -list", exitClean, "stdin-child"},
		{"doctor", exitUsage, "say which server"},
		{"doctor server", exitUsage, "after --"},
		{"doctor -only nothing -- true", exitUsage, "no family of probes"},
		{"doctor -launches 0 -- true", exitUsage, "positive"},
		{"doctor -baseline missing.json -- true", exitUsage, "missing.json"},
		{"doctor -json -sarif x -- true", exitUsage, "two forms"},
		{"doctor -- true", exitConnect, "initialize"},
		{"doctor -- ./no/such/program", exitConnect, "starting the server"},
		{"proxy -h", exitClean, "-stop-window"},
		{"proxy", exitUsage, "say which server"},
		{"proxy -start 0s -- true", exitUsage, "positive"},
		{"proxy -env ab -- true", exitUsage, "-env wants"},
		{"proxy -path /mcp -- true", exitUsage, "-path is for -listen"},
		{"proxy -dir no/such -- true", exitConnect, "stat no/such"},
		{"proxy -listen :0 -path mcp -- true", exitUsage, "is no path"},
		{"proxy -listen :0 -path /healthz -- true", exitUsage, "cannot be both"},
		{"proxy -listen :0 -max-sessions 0 -- true", exitUsage, "positive"},
		{"proxy -listen :0 -allow-origin example.com -- true", exitUsage, "write it as https"},
		{"proxy -listen nowhere:x -- true", exitConnect, "cannot serve HTTP"},
		{"proxy -- ./no/such/program", exitConnect, "starting the server"},
		{"proxy ./no/such/program -x", exitConnect, "starting the server"},
		{"proxy a -- b", exitUsage, "goes after --"},
		{"proxy -http http://localhost:1 a", exitUsage, "not both"},
		{"proxy -init", exitClean, "protect: recommended"},
		{"proxy -schema", exitClean, `"$schema"`},
		{"proxy -config missing.yaml -- true", exitUsage, "missing.yaml"},
		{"proxy -config go.mod -- true", exitUsage, "go.mod:1: "},
		{"proxy -config go.mod -protect -- true", exitUsage, "protect: recommended"},
		{"diff", exitUsage, "say what to compare with"},
		{"diff -", exitUsage, "say which server"},
		{"lint -", exitFindings, "description-missing"},
		{"lint -fail-on never -", exitClean, "description-missing"},
		{"lint -fail-on error -except description-missing=known -", exitClean, "known"},
		{"snapshot -", exitClean, `"search_papers"`},
	} {
		t.Run(test.args, func(t *testing.T) {
			code, stdout, stderr := steady(t, saved, strings.Fields(test.args)...)
			require.Equal(t, test.code, code, "%s%s", stdout, stderr)
			require.Contains(t, stdout+stderr, test.says)
		})
	}
}

func TestLintOfAServer(t *testing.T) {
	t.Parallel()
	code, stdout, stderr := steady(t, "", "lint", "-json", "-profile", "all", "--", orders(t))
	require.Equal(t, exitClean, code, stdout+stderr)
	var report struct {
		Reports []struct {
			Profile string
			Tools   []any
		}
	}
	require.NoError(t, json.Unmarshal([]byte(stdout), &report))
	require.Len(t, report.Reports, 6)
	require.Len(t, report.Reports[5].Tools, 14)

	code, stdout, _ = steady(t, "", "lint", "-sarif", "tools.go", "-profile", "generic,claude", "--", orders(t), "-catalog", "endpoints", "-bare")
	require.Equal(t, exitFindings, code)
	var log struct {
		Runs []struct {
			Results           []any
			AutomationDetails struct{ ID string }
		}
	}
	require.NoError(t, json.Unmarshal([]byte(stdout), &log))
	require.Len(t, log.Runs, 2)
	require.NotEmpty(t, log.Runs[0].Results)
	require.Equal(t, "steady-lint/claude", log.Runs[1].AutomationDetails.ID)
}

// What is printed beside the protocol does not keep the listing from us, and is
// mentioned without what is secret.
func TestListingDespiteStrayOutput(t *testing.T) {
	t.Parallel()
	code, stdout, stderr := steady(t, "", "snapshot", "-env", "SECRET=production", "--", orders(t), "-bare", "-bug", "banner")
	require.Equal(t, exitClean, code, stderr)
	require.Contains(t, stdout, "search_orders")
	require.Contains(t, stderr, "Order desk 1.4.0 starting, profile: ***")
}

func TestSnapshotAndDiff(t *testing.T) {
	t.Parallel()
	saved := filepath.Join(t.TempDir(), "tools.json")
	code, stdout, stderr := steady(t, "", "snapshot", "-o", saved, "--", orders(t))
	require.Equal(t, exitClean, code, stderr)
	require.Empty(t, stdout)

	_, live, _ := steady(t, "", "snapshot", "-fingerprint", "--", orders(t))
	_, kept, _ := steady(t, "", "snapshot", "-fingerprint", saved)
	require.Len(t, live, 65)
	require.Equal(t, live, kept)

	code, stdout, _ = steady(t, "", "diff", saved, "--", orders(t))
	require.Equal(t, exitClean, code)
	require.Equal(t, "no change\n", stdout)

	wider := `{"tools":[{"name":"a","inputSchema":{"type":"object"}},{"name":"b","inputSchema":{"type":"object"}}]}`
	narrow := filepath.Join(t.TempDir(), "narrow.json")
	require.NoError(t, os.WriteFile(narrow, []byte(`{"tools":[{"name":"a","inputSchema":{"type":"object"}}]}`), 0o600))
	code, stdout, _ = steady(t, wider, "diff", narrow, "-")
	require.Equal(t, exitClean, code, "a new tool at the end breaks nothing")
	require.Contains(t, stdout, "additive: b")
	code, _, _ = steady(t, wider, "diff", "-fail-on", "additive", narrow, "-")
	require.Equal(t, exitFindings, code)

	code, stdout, _ = steady(t, "", "diff", "-json", saved, "--", orders(t), "-bug", "unbounded")
	require.Equal(t, exitFindings, code)
	var diff struct{ Changes []struct{ Kind, Tool string } }
	require.NoError(t, json.Unmarshal([]byte(stdout), &diff))
	require.NotEmpty(t, diff.Changes)
}

func TestOverHTTP(t *testing.T) {
	t.Parallel()
	url := serveOrders(t)
	code, stdout, stderr := steady(t, "", "snapshot", "-fingerprint", "-http", url, "-header", "X-Secret: abcd")
	require.Equal(t, exitClean, code, stderr)
	_, live, _ := steady(t, "", "snapshot", "-fingerprint", "--", orders(t))
	require.Equal(t, live, stdout)
}

// serveOrders starts orders on HTTP and returns its URL.
func serveOrders(t testing.TB, args ...string) string {
	t.Helper()
	l, err := net.Listen("tcp", "localhost:0")
	require.NoError(t, err)
	addr := l.Addr().String()
	require.NoError(t, l.Close())
	cmd := exec.Command(orders(t), append([]string{"-http", addr}, args...)...)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	require.Eventually(t, func() bool {
		c, err := net.Dial("tcp", addr)
		if err == nil {
			_ = c.Close()
		}
		return err == nil
	}, 10*time.Second, 20*time.Millisecond)
	return "http://" + addr + "/mcp"
}
