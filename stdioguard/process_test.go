//go:build unix

package stdioguard_test

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"github.com/steadymcp/steady/internal/mcptest"
	"github.com/steadymcp/steady/stdioguard"
)

func wayNames() []string {
	return slices.Sorted(maps.Keys(ways))
}

// Every way of writing to standard output, from inside a handler: the client's
// view stays clean (the driver insists on that for every line), and the text
// arrives on standard error. Pipe and file, pump and duplicate.
func TestWaysOfWriting(t *testing.T) {
	require.GreaterOrEqual(t, len(ways), 15)
	check := func(t *testing.T, p *process, ways []string, stderr func() string) {
		p.start(mcptest.Handshake)
		for _, way := range ways {
			r := p.call("write", script{Way: way})
			require.Equal(t, "written", r.text(), r.raw)
		}
		p.finish()
		for _, way := range ways {
			require.Contains(t, stderr(), "stray "+way)
		}
	}
	t.Run("to a pipe", func(t *testing.T) {
		t.Parallel()
		p := launch(t, helper{Report: true}, nil)
		check(t, p, wayNames(), p.stderr.String)
		require.Contains(t, p.stderr.String(), "[stdout] stray fmt\n")
		require.Contains(t, p.reported(), "stdioguard.diverted")
		counted := p.counted()
		require.GreaterOrEqual(t, counted.DivertedLines, int64(len(ways)))
		require.Zero(t, counted.DroppedBytes)
	})
	t.Run("to a file", func(t *testing.T) {
		t.Parallel()
		name, f := temporary(t)
		// See TestReopenedFile for the rest.
		ways := slices.DeleteFunc(wayNames(), func(way string) bool { return strings.HasPrefix(way, "reopened") })
		check(t, launch(t, helper{}, f), ways, func() string { return contents(t, name) })
		require.NotContains(t, contents(t, name), "[stdout]")
	})
	t.Run("to a file, with a pump", func(t *testing.T) {
		t.Parallel()
		name, f := temporary(t)
		check(t, launch(t, helper{Diversion: stdioguard.DivertPump}, f), wayNames(), func() string { return contents(t, name) })
	})
}

// Where standard error is a file, as in 2>log.txt, so is /dev/stdout. Opening
// it to write from the beginning costs what is there, and nothing else: what
// comes later is appended, to standard error as well, with no hole before it.
func TestReopenedFile(t *testing.T) {
	for way, want := range map[string]string{
		"reopened, truncated":   "stray reopened, truncated\nstray syscall\nstray stderr\n",
		"reopened, overwritten": "stray reopened, overwritten\nxxxx\nstray syscall\nstray stderr\n",
	} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			name, f := temporary(t)
			_, err := f.WriteString(strings.Repeat("x", len("stray "+way)+1) + "xxxx\n")
			require.NoError(t, err)
			p := launch(t, helper{}, f)
			p.start(mcptest.Handshake)
			for _, way := range []string{way, "syscall", "stderr"} {
				require.Equal(t, "written", p.call("write", script{Way: way}).text())
			}
			p.finish()
			require.Equal(t, want, contents(t, name))
			flags, err := unix.FcntlInt(f.Fd(), unix.F_GETFL, 0)
			require.NoError(t, err)
			require.Zero(t, flags&unix.O_APPEND, "not given back as it was")
		})
	}
}

// temporary opens a file as the shell does for 2>.
func temporary(t *testing.T) (string, *os.File) {
	t.Helper()
	f, err := os.OpenFile(t.TempDir()+"/stderr", os.O_CREATE|os.O_RDWR|os.O_TRUNC, 0o600)
	require.NoError(t, err)
	t.Cleanup(func() { _ = f.Close() })
	return f.Name(), f
}

func contents(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	require.NoError(t, err)
	return string(b)
}

// B103: nobody else reads what the client sends, although it keeps coming.
func TestReadingStandardInput(t *testing.T) {
	t.Parallel()
	p := launch(t, helper{}, nil)
	p.start(mcptest.Handshake)
	for range 5 {
		p.send(p.tool("1", "write", script{Way: "child reads"}), p.tool("2", "write", script{Way: "server reads"}), p.tool("3", "echo", script{Text: "x"}))
		got := map[string]string{}
		for range 3 {
			r := p.read()
			got[string(r.ID)] = r.text()
		}
		require.Equal(t, map[string]string{"1": "written", "2": "written", "3": "x"}, got)
	}
	p.finish()
}

// Each way again, between the guard and the session: the handshake works.
func TestWritingBeforeTheSession(t *testing.T) {
	for _, way := range wayNames() {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			p := launch(t, helper{After: way}, nil)
			p.start(mcptest.Handshake)
			p.alive()
			p.finish()
			require.Contains(t, p.stderr.String(), "stray "+way)
		})
	}
}

// The same client without the guard, so that the driver is known to notice.
func TestWithoutTheGuard(t *testing.T) {
	p := launch(t, helper{SDK: true}, nil)
	p.start(mcptest.Handshake)
	p.send(p.tool("1", "write", script{Way: "syscall"}))
	line, err := p.out.ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "stray syscall\n", line)
}

// What was printed before the guard cannot be taken back, and is reported,
// whether or not the client has read it already.
func TestLate(t *testing.T) {
	if _, err := os.Stat("/proc/self/io"); err != nil {
		t.Skip("this system does not count what a process writes")
	}
	for name, unread := range map[string]int{"unread": len("stray fmt\n"), "read": 0} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			waiting, goOn, err := os.Pipe()
			require.NoError(t, err)
			cmd := helperCommand(t, helper{Before: "fmt", Wait: true, Report: true})
			cmd.ExtraFiles = []*os.File{waiting}
			p := start(t, cmd, nil)
			require.NoError(t, waiting.Close())
			if unread == 0 {
				line, err := p.out.ReadString('\n')
				require.NoError(t, err)
				require.Equal(t, "stray fmt\n", line)
			}
			require.NoError(t, goOn.Close())
			if unread == 0 {
				p.start(mcptest.Handshake)
				p.alive()
			}
			require.NoError(t, p.in.Close())
			require.Zero(t, p.exit())
			require.Contains(t, p.reported(), fmt.Sprintf("stdioguard.late {Unread:%d Written:%d}", unread, len("stray fmt\n")))
		})
	}
	t.Run("nothing was printed", func(t *testing.T) {
		t.Parallel()
		p := launch(t, helper{Report: true}, nil)
		p.finish()
		require.NotContains(t, p.reported(), "stdioguard.late")
	})
	t.Run("a client on Node has written before the program began", func(t *testing.T) {
		t.Parallel()
		cmd := helperCommand(t, helper{Report: true})
		cmd.Args = append([]string{"sh", "-c", `printf x >/dev/null; exec "$0"`, cmd.Path}, cmd.Args[1:]...)
		cmd.Path = "/bin/sh"
		p := start(t, cmd, nil)
		p.finish()
		require.NotContains(t, p.reported(), "stdioguard.late")
	})
}

func TestClaimTwiceAndRestore(t *testing.T) {
	cmd := helperCommand(t, helper{Then: "claim twice"})
	cmd.Stdin = strings.NewReader("typed\n")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(t, err, stderr.String())
	require.Equal(t, "printed to the real stdout\nread from the real stdin: typed <nil>\n", string(out))
	require.Contains(t, stderr.String(), "second: stdioguard: standard input and output are already guarded\n")
	require.Contains(t, stderr.String(), "third: <nil>\n")
}

// flood starts a server that prints 100,000 lines of 80 bytes before its
// session begins, and waits until it has. Nobody reads standard error so far.
func flood(t *testing.T, settleMs int) (p *process, stderr *os.File) {
	t.Helper()
	stderr, childErr, err := os.Pipe()
	require.NoError(t, err)
	answer, childAnswer, err := os.Pipe()
	require.NoError(t, err)
	t.Cleanup(func() {
		_ = stderr.Close()
		_ = answer.Close()
	})
	cmd := helperCommand(t, helper{Then: "flood", SettleMs: settleMs, Report: true})
	cmd.ExtraFiles = []*os.File{childAnswer}
	p = start(t, cmd, childErr)
	require.NoError(t, childErr.Close())
	require.NoError(t, childAnswer.Close())
	_, err = answer.Read(make([]byte, 1))
	require.Equal(t, io.EOF, err)
	return p, stderr
}

// Where nobody has the other end of standard error, nothing is waited for.
func TestCloseDoesNotWaitForABrokenPipe(t *testing.T) {
	stderr, childErr, err := os.Pipe()
	require.NoError(t, err)
	require.NoError(t, stderr.Close())
	p := launch(t, helper{After: "fmt"}, childErr) // Settle is much longer than exit waits
	require.NoError(t, childErr.Close())
	p.finish()
}

// Nobody reads standard error: whoever prints does not wait for that.
func TestFlood(t *testing.T) {
	p, stderr := flood(t, 300)

	// The session works, and everything is accounted for.
	p.start(mcptest.Handshake)
	p.alive()
	p.finish()
	counted := p.counted()
	require.EqualValues(t, 100_000, counted.DivertedLines)
	require.EqualValues(t, 8_000_000, counted.DivertedBytes)
	arrived, err := io.ReadAll(stderr)
	require.NoError(t, err)
	lines := strings.Count(string(arrived), "[stdout] 0000")
	t.Logf("%d lines arrived, %d were dropped", lines, counted.DroppedLines)
	// The chunk of 4 KiB that was being written when Close gave up may have
	// arrived, and is counted as dropped.
	require.InDelta(t, 100_000, int64(lines)+counted.DroppedLines, 50)
	require.Less(t, lines, 10_000)
	require.Contains(t, p.reported(), "stdioguard.diverted")
}

// Once standard error is read again, a line says how much is missing.
func TestFloodThenRead(t *testing.T) {
	p, stderr := flood(t, 0)
	arrived := make(chan string)
	go func() {
		b, _ := io.ReadAll(stderr)
		arrived <- string(b)
	}()
	p.start(mcptest.Handshake)
	p.call("write", script{Way: "fmt"})
	p.finish()
	text := <-arrived
	require.Contains(t, text, "bytes dropped, because standard error was not read in time\n")
	require.Contains(t, text, "[stdout] stray fmt\n")
	counted := p.counted()
	require.EqualValues(t, 100_000, int64(strings.Count(text, "[stdout] 0000"))+counted.DroppedLines)
	for line := range strings.Lines(text) {
		require.True(t, strings.HasPrefix(line, "[stdout] "), line)
	}
}

// Last words: nothing is lost where standard error is a file.
func TestLastWords(t *testing.T) {
	for _, how := range []string{"exit", "panic"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			for range 5 {
				name, f := temporary(t)
				cmd := helperCommand(t, helper{Then: how})
				cmd.Stderr = f
				out, err := cmd.Output()
				var exit *exec.ExitError
				require.ErrorAs(t, err, &exit)
				require.Empty(t, out)
				require.Contains(t, contents(t, name), "last words\n")
			}
		})
	}
}

// Everything up to Close arrives through a pipe, and what is printed after it
// goes to the real standard output.
func TestTextUpToClose(t *testing.T) {
	for range 10 {
		p := launch(t, helper{After: "half a line", Late: "fmt"}, nil)
		require.NoError(t, p.in.Close())
		out, err := io.ReadAll(p.out)
		require.NoError(t, err)
		require.Zero(t, p.exit())
		require.Equal(t, "stray fmt\n", string(out))
		require.Equal(t, "[stdout] stray half a line\n", p.stderr.String())
	}
}

// B105: a grandchild that still has the diverted descriptor holds nothing up.
func TestOrphanHoldsNothingUp(t *testing.T) {
	p := launch(t, helper{}, nil)
	p.start(mcptest.Handshake)
	require.NoError(t, exec.Command("true").Run())
	p.send(p.tool("1", "write", script{Way: "long orphan"}))
	require.Equal(t, "written", p.wait("1").text())
	begin := time.Now()
	require.NoError(t, p.in.Close())
	for p.read() != nil {
	}
	require.Less(t, time.Since(begin), 50*time.Second, "it waited for the orphan, which sleeps for 60 s")
}

// A server whose standard error is its standard output must not write logs
// into the protocol either.
func TestSharedStandardError(t *testing.T) {
	cmd := helperCommand(t, helper{After: "fmt", Report: true})
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, childOut, err := os.Pipe()
	require.NoError(t, err)
	cmd.Stdout, cmd.Stderr = childOut, childOut
	require.NoError(t, cmd.Start())
	require.NoError(t, childOut.Close())
	d := newDriver(t, stdin, out)
	d.start(mcptest.Handshake)
	require.Equal(t, "written", d.call("write", script{Way: "stderr"}).text())
	require.NoError(t, stdin.Close())
	for d.read() != nil {
	}
	require.NoError(t, cmd.Wait())
	report := contents(t, strings.TrimPrefix(cmd.Env[len(cmd.Env)-1], reportEnv+"="))
	require.Contains(t, report, "stdioguard.misplaced")
}

// What the guard itself has to say in the end, of what a handler printed, is
// not for the client either.
func TestSharedStandardErrorUpToClose(t *testing.T) {
	for range 5 {
		cmd := helperCommand(t, helper{After: "fmt", Log: true})
		call := (&driver{t: t}).tool("1", "write", script{Way: "fmt"})
		cmd.Stdin = strings.NewReader(initialize(mcptest.Handshake) + "\n" + call + "\n")
		var out strings.Builder
		cmd.Stdout, cmd.Stderr = &out, &out // one pipe
		require.NoError(t, cmd.Run())
		require.Equal(t, 2, strings.Count(out.String(), "\n"), out.String())
		for line := range strings.Lines(out.String()) {
			parseReply(t, []byte(line))
		}
	}
}

// Descriptors that are closed, or lead nowhere, when the process starts.
func TestOddDescriptors(t *testing.T) {
	shell := func(t *testing.T, redirect string) *process {
		cmd := helperCommand(t, helper{Report: true})
		cmd.Path = "/bin/sh"
		cmd.Args = []string{"sh", "-c", `exec "$0" ` + redirect, os.Args[0]}
		return start(t, cmd, nil)
	}
	t.Run("no stdout", func(t *testing.T) {
		p := shell(t, "1>&-")
		p.finish()
		require.Contains(t, p.reported(), "no client will see a reply")
	})
	t.Run("stdout is the null device", func(t *testing.T) {
		p := shell(t, "1>/dev/null")
		p.finish()
		require.Contains(t, p.reported(), "no client will see a reply")
	})
	t.Run("no stderr", func(t *testing.T) {
		p := shell(t, "2>&-")
		p.start(mcptest.Handshake)
		p.call("write", script{Way: "fmt"})
		p.alive()
		p.finish()
	})
	t.Run("no stdin", func(t *testing.T) {
		p := shell(t, "0<&-")
		require.Zero(t, p.exit())
	})
	t.Run("few descriptors", func(t *testing.T) {
		cmd := helperCommand(t, helper{})
		cmd.Path = "/bin/sh"
		cmd.Args = []string{"sh", "-c", `ulimit -n 40; exec "$0"`, os.Args[0]}
		p := start(t, cmd, nil)
		p.start(mcptest.Handshake)
		p.call("write", script{Way: "fmt"})
		p.alive()
		p.finish()
	})
	t.Run("a full disk", func(t *testing.T) {
		if _, err := os.Stat("/dev/full"); err != nil {
			t.Skip("no /dev/full")
		}
		p := shell(t, "1>/dev/full")
		p.send(initialize(mcptest.Handshake))
		require.Equal(t, 1, p.exit())
		require.Contains(t, p.stderr.String(), "no space left on device")
	})
}

// B111: printf '<initialize>\n<call>\n' | server. Both replies, every time;
// and eleven requests at once, whose handlers take 50 ms.
func TestPipedRequests(t *testing.T) {
	input := initialize(mcptest.Handshake) + "\n"
	plain := input + (&driver{t: t}).tool("1", "echo", script{Text: "x"}) + "\n"
	slow := input
	for i := range 10 {
		slow += (&driver{t: t}).tool(strconv.Itoa(i+1), "sleep", script{Ms: 50}) + "\n"
	}
	for name, tt := range map[string]struct {
		input string
		want  int
	}{"two": {plain, 2}, "eleven": {slow, 11}, "without a line feed": {strings.TrimSuffix(plain, "\n"), 2}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for range 20 {
				cmd := exec.Command("sh", "-c", `printf '%s' "$1" | "$0"`, os.Args[0], tt.input)
				cmd.Env = helperCommand(t, helper{}).Env
				out, err := cmd.Output()
				require.NoError(t, err)
				require.Equal(t, tt.want, strings.Count(string(out), "\n"))
				for line := range strings.Lines(string(out)) {
					require.NotNil(t, parseReply(t, []byte(line)).Result, line)
				}
			}
		})
	}
}

// The SDK's own client, which ends its session at the first stray line.
func TestSDKClient(t *testing.T) {
	eachRevision(t, func(t *testing.T, revision string) {
		cmd := helperCommand(t, helper{After: "banner"})
		client := mcp.NewClient(&mcp.Implementation{Name: "client", Version: "1"}, nil)
		session, err := client.Connect(t.Context(), &mcp.CommandTransport{Command: cmd}, &mcp.ClientSessionOptions{ProtocolVersion: revision})
		require.NoError(t, err)
		for _, way := range wayNames() {
			r, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "write", Arguments: script{Way: way}})
			require.NoError(t, err, way)
			require.Equal(t, "written", mcptest.Text(r))
		}
		r, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "big", Arguments: script{Bytes: 17 << 20}})
		require.NoError(t, err)
		require.True(t, r.IsError)
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		_, err = session.CallTool(ctx, &mcp.CallToolParams{Name: "sleep", Arguments: script{Ms: 60_000}})
		require.ErrorIs(t, err, context.DeadlineExceeded)
		_, err = session.ListTools(t.Context(), nil)
		require.NoError(t, err)
		require.NoError(t, session.Close())
		require.True(t, cmd.ProcessState.Success())
	})
}

// Guard is one of the first things that main does; RunWith and Run use it.
func TestGuardInThisProcess(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	guard, err := stdioguard.Guard(&stdioguard.Options{Observer: new(events)})
	require.NoError(t, err)
	_, err = stdioguard.Guard(nil)
	require.ErrorIs(t, err, stdioguard.ErrClaimed)
	require.ErrorIs(t, stdioguard.Run(t.Context(), newServer()), stdioguard.ErrClaimed)
	_, err = fmt.Fprintln(os.Stdout, "diverted while the tests run")
	require.NoError(t, err)
	require.NoError(t, guard.Close())
	require.NoError(t, guard.Close())
	require.EqualError(t, guard.Serve(t.Context(), newServer()), "stdioguard: the transport is closed")
}
