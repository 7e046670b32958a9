//go:build unix

package replicas

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/steadymcp/steady/tasks/rivertasks/internal/pgserver"
)

// databases are where the tasks can be.
var databases = []struct {
	name string
	dsn  func(t testing.TB) string
}{
	{"sqlite", func(t testing.TB) string { return "sqlite:" + filepath.Join(t.TempDir(), "tasks.db") }},
	{"postgres", pgserver.DSN},
}

// onEach runs a test on every database.
func onEach(t *testing.T, test func(t *testing.T, dsn string)) {
	for _, d := range databases {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			test(t, d.dsn(t))
		})
	}
}

// A cluster is the replicas of one server.
type cluster struct {
	t        testing.TB
	settings settings
	direct   string // the database, without a proxy
	ledger   *ledger

	mu       sync.Mutex
	replicas []*replica // alive, as far as we know
	started  int
}

func newCluster(t testing.TB, dsn string) *cluster {
	t.Helper()
	c := &cluster{t: t, direct: dsn, settings: settings{DSN: dsn, Locks: t.TempDir()}}
	if dsn != inMemory {
		var err error
		c.ledger, err = openLedger(dsn)
		require.NoError(t, err)
		t.Cleanup(c.ledger.close)
		require.NoError(t, c.ledger.create())
		t.Cleanup(func() {
			if t.Failed() {
				t.Log(c.ledger.held())
				t.Log(c.losses())
			}
		})
	}
	t.Cleanup(func() {
		for _, r := range c.alive() {
			c.kill(r)
		}
	})
	return c
}

// A replica is one process.
type replica struct {
	url     string
	cmd     *exec.Cmd
	log     string // file
	stray   chan string
	waiting sync.Once
	exit    error
}

// launch is how a replica is started; the zero launch is the usual way.
type launch struct {
	program string   // instead of this one
	env     []string // beside what all have
	change  func(*settings)
}

// start starts a replica and returns once it serves.
func (c *cluster) start(how launch) *replica {
	c.t.Helper()
	r, err := c.tryStart(how)
	require.NoError(c.t, err)
	return r
}

// freeze stops a replica where it is, but not within a transaction: its locks
// would hold up everybody until it goes on.
func (c *cluster) freeze(r *replica) {
	c.t.Helper()
	require.Eventually(c.t, func() bool {
		r.signal(syscall.SIGSTOP)
		idle, err := c.ledger.idle(c.t.Context())
		require.NoError(c.t, err)
		if !idle {
			r.signal(syscall.SIGCONT)
		}
		return idle
	}, 30*time.Second, 20*time.Millisecond, "never outside of a transaction")
}

func (c *cluster) tryStart(how launch) (*replica, error) {
	s := c.settings
	if how.change != nil {
		how.change(&s)
	}
	told, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	c.started++
	number := c.started
	c.mu.Unlock()
	r := &replica{log: filepath.Join(c.settings.Locks, fmt.Sprintf("LOG-%d", number)), stray: make(chan string, 1)}
	log, err := os.Create(r.log)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	program := how.program
	if program == "" {
		program = os.Args[0]
	}
	r.cmd = exec.Command(program)
	r.cmd.Env = append(append(os.Environ(), settingsVariable+"="+string(told)), how.env...)
	r.cmd.Stderr = log
	if _, err := r.cmd.StdinPipe(); err != nil { // open until Wait
		return nil, err
	}
	out, stdout, err := os.Pipe() // not StdoutPipe: Wait would close it before it is read
	if err != nil {
		return nil, err
	}
	r.cmd.Stdout = stdout
	err = r.cmd.Start()
	stdout.Close()
	if err != nil {
		out.Close()
		return nil, err
	}
	lines := bufio.NewReader(out)
	address, err := lines.ReadString('\n')
	if err != nil {
		out.Close()
		_ = r.wait()
		return nil, fmt.Errorf("the replica did not start: %s", r.logged())
	}
	r.url = "http://" + strings.TrimSpace(address)
	go func() {
		rest, _ := io.ReadAll(lines)
		out.Close()
		r.stray <- string(rest)
	}()
	c.mu.Lock()
	c.replicas = append(c.replicas, r)
	c.mu.Unlock()
	return r, nil
}

func (r *replica) wait() error {
	r.waiting.Do(func() { r.exit = r.cmd.Wait() })
	return r.exit
}

// logged is what the replica has written to standard error.
func (r *replica) logged() string {
	b, _ := os.ReadFile(r.log)
	return string(b)
}

func (r *replica) signal(s syscall.Signal) { _ = r.cmd.Process.Signal(s) }

func (c *cluster) alive() []*replica {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]*replica(nil), c.replicas...)
}

// any returns a replica that is alive, or was a moment ago; nil if none is.
func (c *cluster) any() *replica {
	alive := c.alive()
	if len(alive) == 0 {
		return nil
	}
	return alive[rand.IntN(len(alive))]
}

func (c *cluster) remove(r *replica) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, other := range c.replicas {
		if other == r {
			c.replicas = append(c.replicas[:i:i], c.replicas[i+1:]...)
			return
		}
	}
}

// kill ends a replica at once, as a crash or the kernel's out-of-memory killer
// does.
func (c *cluster) kill(r *replica) {
	r.signal(syscall.SIGKILL) // callers may be talking to it, or about to
	_ = r.wait()
	c.remove(r)
	c.checkOutput(r)
}

// stop ends a replica as a deployment does, and returns how long that took.
func (c *cluster) stop(r *replica) time.Duration {
	before := time.Now()
	r.signal(syscall.SIGTERM)
	c.remove(r)
	late := time.AfterFunc(20*time.Second, func() { r.signal(syscall.SIGKILL) })
	if err := r.wait(); err != nil {
		c.t.Errorf("a replica did not end well: %v\n%s", err, r.logged())
	}
	late.Stop()
	c.checkOutput(r)
	return time.Since(before)
}

// checkOutput holds a replica to the rule that standard output belongs to the
// protocol.
func (c *cluster) checkOutput(r *replica) {
	if stray := <-r.stray; stray != "" {
		c.t.Errorf("a replica wrote to standard output: %q", stray)
	}
	if log := r.logged(); strings.Contains(log, "DATA RACE") {
		c.t.Errorf("a replica has a data race:\n%s", log)
	}
}

// overlaps say which jobs two processes worked on at the same time.
func (c *cluster) overlaps() (found []string) {
	files, err := filepath.Glob(filepath.Join(c.settings.Locks, "OVERLAP-*"))
	require.NoError(c.t, err)
	for _, file := range files {
		note, err := os.ReadFile(file)
		require.NoError(c.t, err)
		found = append(found, string(note))
	}
	return found
}

// losses are the lines of the replicas' logs that say who was taken for dead, and
// what was given to others.
func (c *cluster) losses() string {
	const most = 200 // lines
	var found []string
	logs, _ := filepath.Glob(filepath.Join(c.settings.Locks, "LOG-*"))
	for _, log := range logs {
		text, _ := os.ReadFile(log)
		for line := range strings.Lines(string(text)) {
			for _, word := range []string{"worker_lost", "tasks.lost", "handed_over", "abandoned", "operation_failed"} {
				if strings.Contains(line, word) && len(found) < most {
					found = append(found, filepath.Base(log)+" "+line)
				}
			}
		}
	}
	return strings.Join(found, "")
}
