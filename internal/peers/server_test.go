package peers

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// root is where the root module is.
const root = "../.."

// An example is a server of ours.
type example struct {
	name  string
	token string // that it asks for over HTTP
	only  string // the one transport that it is served over, "" if both
	proxy bool   // steady proxy stands in front of it
	diff  string // what is applied to the folder "before" first, "" if nothing
	path  string // of the built program

	script string // of a server from npm, which the proxy stands in front of

	behind []string // arguments of path that come before those of the example

	serve func(t *testing.T, transport string, args ...string) *server // if not nil, instead
}

var (
	orders     = &example{name: "orders"}
	quickstart = &example{name: "quickstart"}
	adopted    = &example{name: "adopt", only: stdio, diff: "steady.diff"}
	papers     = &example{name: "papers"}
	marketdata = &example{name: "marketdata", token: "token-demo"}
	everything = &example{name: "everything-conformance", only: http}
	proxied    = &example{name: "quickstart", only: stdio, proxy: true}
	protected  = &example{name: "steady", only: stdio, proxy: true, script: "@modelcontextprotocol/server-everything/dist/index.js"}
)

func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "peers")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
		for _, e := range []*example{orders, papers, marketdata, quickstart, adopted, everything, proxied, protected} {
			if err := e.build(dir); err != nil {
				fmt.Fprintln(os.Stderr, err)
				return 1
			}
		}
		return m.Run()
	}())
}

// build builds the example in its own folder, whichever module that belongs to.
func (e *example) build(dir string) error {
	e.path = filepath.Join(dir, e.name)
	if runtime.GOOS == "windows" {
		e.path += ".exe"
	}
	folder, err := filepath.Abs(filepath.Join(root, "examples", e.name))
	if err != nil {
		return err
	}
	if e.proxy {
		e.behind = []string{"proxy", "--", e.path} // which is built for itself as well
		if e.script != "" {
			e.behind = []string{"proxy", "-protect", "--", "node", filepath.Join(npm, "node_modules", filepath.FromSlash(e.script))}
		}
		e.path = filepath.Join(dir, "steady")
		folder = filepath.Join(root, "cmd", "steady")
	}
	source := "."
	if e.diff != "" {
		// The source is elsewhere, and what it imports is found from the folder.
		source = filepath.Join(dir, "main.go")
		plain, err := os.ReadFile(filepath.Join(folder, "before", "main.go"))
		if err != nil {
			return err
		}
		if err := os.WriteFile(source, plain, 0o600); err != nil {
			return err
		}
		if err := runIn(dir, "git", "apply", filepath.Join(folder, e.diff)); err != nil {
			return err
		}
	}
	return runIn(folder, "go", "build", "-o", e.path, source)
}

func runIn(dir, name string, args ...string) error {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", cmd, err, out)
	}
	return nil
}

// Transports.
const (
	stdio = "stdio"
	http  = "http"
)

// A server is an example as a client is told of it: a command to start, or an
// address.
type server struct {
	*example
	args   []string
	url    string // over HTTP
	stderr log
}

// A log is what a server writes to standard error.
type log struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// headers are what a caller over HTTP sends.
func (s *server) headers() map[string]string {
	if s.token == "" {
		return nil
	}
	return map[string]string{"Authorization": "Bearer " + s.token}
}

// overStdio is the example for clients that start it.
func (e *example) overStdio(args ...string) *server {
	return &server{example: e, args: append(slices.Clip(e.behind), args...)}
}

var serving = regexp.MustCompile(`(?:steady.serving url=|listening at )(http://\S+)`)

// overHTTP starts the example at a free port, until the test ends.
func (e *example) overHTTP(t *testing.T, args ...string) *server {
	t.Helper()
	return e.start(t, args, append([]string{"-http", "localhost:0"}, args...)...)
}

// start starts the example with a command line that has it serve HTTP.
func (e *example) start(t *testing.T, args []string, line ...string) *server {
	t.Helper()
	s := &server{example: e, args: args}
	cmd := exec.Command(e.path, line...)
	cmd.Stderr = &s.stderr
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	eventually(t, func() bool {
		if m := serving.FindStringSubmatch(s.stderr.String()); m != nil {
			s.url = m[1]
		}
		return s.url != ""
	}, "%s says where it serves: %s", e.name, &s.stderr)
	return s
}

// over starts the example for a transport.
func (e *example) over(t *testing.T, transport string, args ...string) *server {
	t.Helper()
	if e.serve != nil {
		return e.serve(t, transport, args...)
	}
	if transport == http {
		return e.overHTTP(t, args...)
	}
	return e.overStdio(args...)
}

// eventually waits for what another process does.
func eventually(t *testing.T, condition func() bool, format string, args ...any) {
	t.Helper()
	require.Eventually(t, condition, within, 25*time.Millisecond, append([]any{format}, args...)...)
}
