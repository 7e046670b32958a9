//go:build unix

package stdioguard_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/steadymcp/steady/observe"
	"github.com/steadymcp/steady/stdioguard"
)

// helperEnv makes the test binary a server: its value is a helper in JSON.
const helperEnv = "STDIOGUARD_TEST_HELPER"

// A helper says what the server process does.
type helper struct {
	SDK    bool   `json:",omitempty"` // serve with the SDK's transport and no guard
	Before string `json:",omitempty"` // a way to write before the guard
	After  string `json:",omitempty"` // a way to write between guard and session
	Wait   bool   `json:",omitempty"` // between Before and the guard, until descriptor 3 is closed
	Then   string `json:",omitempty"` // instead of serving: see instead
	Late   string `json:",omitempty"` // a way to write after Close
	Notify bool   `json:",omitempty"` // end the context by the signals as well, and by SIGHUP
	// If zero, much longer than a test may take: a test that does not name a
	// duration does not depend on the speed of the machine.
	EOFMs, StopMs, GraceMs, SettleMs int `json:",omitempty"`
	Diversion                        stdioguard.Diversion
	MaxBacklog                       int  `json:",omitempty"`
	NullID                           bool `json:",omitempty"` // NoNullID
	Log                              bool `json:",omitempty"` // events go where they go by default: to standard error
	Report                           bool `json:",omitempty"` // write events and Stats to the file in STDIOGUARD_TEST_REPORT
}

func TestMain(m *testing.M) {
	writeStray = write
	if config := os.Getenv(helperEnv); config != "" {
		os.Exit(runHelper(config))
	}
	os.Exit(m.Run())
}

func runHelper(config string) int {
	var h helper
	if err := json.Unmarshal([]byte(config), &h); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 3
	}
	ctx := context.Background()
	if h.Notify {
		var stop context.CancelFunc
		ctx, stop = signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
		defer stop()
	}
	if h.SDK {
		if err := newServer().Run(ctx, &mcp.StdioTransport{}); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return 0
	}
	captureWriters()
	if h.Before != "" {
		if err := write(h.Before); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 3
		}
	}
	if h.Wait {
		_, _ = os.NewFile(3, "three").Read(make([]byte, 1))
	}
	report := newReport(h.Report)
	opts := &stdioguard.Options{
		EOFWindow:  orLong(h.EOFMs),
		StopWindow: orLong(h.StopMs),
		Grace:      orLong(h.GraceMs),
		Settle:     orLong(h.SettleMs),
		Diversion:  h.Diversion,
		MaxBacklog: h.MaxBacklog,
		NoNullID:   h.NullID,
		Observer:   report,
	}
	if h.Log {
		opts.Observer = nil
	}
	guard, err := stdioguard.Guard(opts)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if h.Then != "" {
		instead(h.Then, guard)
	}
	if h.After != "" {
		if err := write(h.After); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 3
		}
	}
	err = guard.Serve(ctx, newServer())
	if closeErr := guard.Close(); closeErr != nil {
		fmt.Fprintln(os.Stderr, closeErr)
		return 4
	}
	report.stats(guard.Stats())
	if h.Late != "" {
		_ = write(h.Late)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// hang is how long a test waits for a process that should end.
const hang = 2 * time.Minute

// orLong returns ms as a duration, one that no test waits for if it is zero.
func orLong(ms int) time.Duration {
	if ms == 0 {
		return 10 * hang
	}
	return time.Duration(ms) * time.Millisecond
}

// A report is a file in which a helper leaves what it observed: standard
// error is a subject of the tests, and cannot carry it.
type report struct {
	mu   sync.Mutex
	file *os.File // nil to discard
}

const reportEnv = "STDIOGUARD_TEST_REPORT"

func newReport(on bool) *report {
	if !on {
		return &report{}
	}
	f, err := os.Create(os.Getenv(reportEnv))
	if err != nil {
		panic(err)
	}
	return &report{file: f}
}

func (r *report) Observe(_ context.Context, e observe.Event) {
	r.add(e.EventName(), fmt.Sprintf("%+v", e))
}

func (r *report) stats(s stdioguard.Stats) {
	raw, _ := json.Marshal(s)
	r.add("stats", string(raw))
}

func (r *report) add(name, value string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.file != nil {
		fmt.Fprintf(r.file, "%s %s\n", name, value)
	}
}

// A process is a helper that is running.
type process struct {
	*driver
	cmd    *exec.Cmd
	stderr *lockedBuffer // nil if the test reads it, or nobody does
	report string
	exited chan error
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// helperCommand returns the command that runs h.
func helperCommand(t testing.TB, h helper) *exec.Cmd {
	t.Helper()
	config, err := json.Marshal(h)
	require.NoError(t, err)
	cmd := exec.Command(os.Args[0])
	// The race detector's runtime would sleep for a second at each exit.
	cmd.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0", helperEnv+"="+string(config), reportEnv+"="+t.TempDir()+"/report")
	return cmd
}

// launch starts h. With a nil stderr, that is a pipe which the test reads to
// its end.
func launch(t testing.TB, h helper, stderr *os.File) *process {
	t.Helper()
	cmd := helperCommand(t, h)
	return start(t, cmd, stderr)
}

func start(t testing.TB, cmd *exec.Cmd, stderr *os.File) *process {
	t.Helper()
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	// Not StdoutPipe: Wait would close it before it is read to the end.
	stdout, childOut, err := os.Pipe()
	require.NoError(t, err)
	cmd.Stdout = childOut
	p := &process{cmd: cmd, exited: make(chan error, 1)}
	for _, e := range cmd.Env {
		if len(e) > len(reportEnv) && e[:len(reportEnv)+1] == reportEnv+"=" {
			p.report = e[len(reportEnv)+1:]
		}
	}
	if stderr != nil {
		cmd.Stderr = stderr
	} else {
		p.stderr = new(lockedBuffer)
		cmd.Stderr = p.stderr
		cmd.WaitDelay = hang
	}
	require.NoError(t, cmd.Start())
	require.NoError(t, childOut.Close())
	go func() { p.exited <- cmd.Wait() }()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = stdout.Close()
	})
	p.driver = newDriver(t, stdin, stdout)
	return p
}

// exit waits for the process to end and returns its exit code.
func (p *process) exit() int {
	p.t.Helper()
	select {
	case <-p.exited:
		return p.cmd.ProcessState.ExitCode()
	case <-time.After(hang):
		require.FailNow(p.t, "the process does not end", "stderr: %s", p.stderr)
		return -1
	}
}

// finish closes the input, drains the output and expects a clean end.
func (p *process) finish() {
	p.t.Helper()
	require.NoError(p.t, p.in.Close())
	for p.read() != nil {
	}
	code := p.exit()
	require.Zero(p.t, code, "stderr: %s", p.stderr)
}

// reported returns what the helper observed.
func (p *process) reported() string {
	p.t.Helper()
	b, err := os.ReadFile(p.report)
	require.NoError(p.t, err)
	return string(b)
}

// awaitReport waits until the helper has observed an event.
func (p *process) awaitReport(event string) {
	p.t.Helper()
	require.Eventually(p.t, func() bool { return strings.Contains(p.reported(), event+" ") }, hang, time.Millisecond)
}

// counted returns the helper's last Stats.
func (p *process) counted() (s stdioguard.Stats) {
	p.t.Helper()
	for line := range bytes.Lines([]byte(p.reported())) {
		if raw, ok := bytes.CutPrefix(line, []byte("stats ")); ok {
			require.NoError(p.t, json.Unmarshal(raw, &s))
		}
	}
	return s
}
