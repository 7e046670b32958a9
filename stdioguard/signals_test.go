//go:build unix

package stdioguard_test

import (
	"os"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/steadymcp/steady/internal/mcptest"
)

func TestSignals(t *testing.T) {
	term := func(p *process, s syscall.Signal) {
		p.t.Helper()
		require.NoError(p.t, p.cmd.Process.Signal(s))
	}
	// begin starts a session with a call in flight.
	begin := func(t *testing.T, h helper, call script) *process {
		t.Parallel()
		p := launch(t, h, nil)
		p.start(mcptest.Handshake)
		p.send(p.tool("1", "sleep", call))
		p.alive()
		return p
	}
	// end expects the reply to the call, if any, and the exit code, in time.
	end := func(p *process, since time.Time, text string, code int, least, most time.Duration) {
		p.t.Helper()
		if text != "" {
			require.Contains(p.t, p.wait("1").text(), text)
		}
		for p.read() != nil {
		}
		require.Equal(p.t, code, p.exit(), p.stderr.String())
		took := time.Since(since)
		require.GreaterOrEqual(p.t, took, least)
		require.Less(p.t, took, most)
	}
	const long = 60_000
	for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		t.Run("the reply is delivered, a late request refused/"+s.String(), func(t *testing.T) {
			p := begin(t, helper{}, script{Ms: 400})
			now := time.Now()
			term(p, s)
			for i := 2; ; i++ { // until the signal has been noticed
				p.send(p.tool(strconv.Itoa(i), "echo", script{}))
				if r := p.wait(strconv.Itoa(i)); r.Error != nil {
					require.Equal(t, -32000, r.Error.Code)
					break
				}
			}
			end(p, now, "slept", 0, 0, 10*time.Second)
		})
	}
	t.Run("the window is over", func(t *testing.T) {
		p := begin(t, helper{StopMs: 200}, script{Ms: long})
		now := time.Now()
		term(p, syscall.SIGTERM)
		end(p, now, "received terminated", 0, 200*time.Millisecond, 5*time.Second)
	})
	t.Run("a deaf handler", func(t *testing.T) {
		p := begin(t, helper{StopMs: 200, GraceMs: 200}, script{Ms: long, Deaf: true})
		now := time.Now()
		term(p, syscall.SIGTERM)
		end(p, now, "", 1, 400*time.Millisecond, 6*time.Second)
		require.Contains(t, p.stderr.String(), "1 request without a reply")
	})
	t.Run("twice", func(t *testing.T) {
		p := begin(t, helper{}, script{Ms: long})
		now := time.Now()
		term(p, syscall.SIGTERM)
		for i := 2; ; i++ {
			p.send(p.tool(strconv.Itoa(i), "echo", script{}))
			if p.wait(strconv.Itoa(i)).Error != nil {
				break
			}
		}
		term(p, syscall.SIGTERM)
		end(p, now, "received terminated", 0, 0, 4*time.Second)
	})
	t.Run("end of input, then the signal", func(t *testing.T) {
		p := begin(t, helper{}, script{Ms: long})
		require.NoError(t, p.in.Close())
		time.Sleep(300 * time.Millisecond) // a client gives the server time before it sends a signal
		now := time.Now()
		term(p, syscall.SIGTERM)
		end(p, now, "received terminated", 0, 0, 2*time.Second)
	})
	t.Run("end of input, then the signal, a deaf handler", func(t *testing.T) {
		p := begin(t, helper{}, script{Ms: long, Deaf: true})
		require.NoError(t, p.in.Close())
		time.Sleep(300 * time.Millisecond)
		now := time.Now()
		term(p, syscall.SIGTERM)
		end(p, now, "", 1, 0, 2*time.Second) // a client kills it 2 s later
	})
	t.Run("idle", func(t *testing.T) {
		t.Parallel()
		p := launch(t, helper{}, nil)
		p.start(mcptest.Handshake)
		p.alive()
		now := time.Now()
		term(p, syscall.SIGTERM)
		end(p, now, "", 0, 0, 2*time.Second)
	})
	t.Run("the client does not read", func(t *testing.T) {
		t.Parallel()
		p := launch(t, helper{StopMs: 200, GraceMs: 200}, nil)
		p.start(mcptest.Handshake)
		p.send(p.tool("1", "big", script{Bytes: 1 << 20}))
		time.Sleep(300 * time.Millisecond) // until the reply waits in the pipe
		now := time.Now()
		term(p, syscall.SIGTERM)
		require.Equal(t, 1, p.exit())
		require.Less(t, time.Since(now), 5*time.Second)
	})
}

// A client that is gone, with all of its ends, is a clean end of the session
// and no death by SIGPIPE.
func TestClientIsGone(t *testing.T) {
	for work, code := range map[string]int{"big": 0, "print for ever": 1} {
		t.Run(work, func(t *testing.T) {
			t.Parallel()
			stderr, childErr, err := os.Pipe()
			require.NoError(t, err)
			cmd := helperCommand(t, helper{EOFMs: 200})
			stdin, err := cmd.StdinPipe()
			require.NoError(t, err)
			out, childOut, err := os.Pipe()
			require.NoError(t, err)
			cmd.Stdout, cmd.Stderr = childOut, childErr
			require.NoError(t, cmd.Start())
			require.NoError(t, childOut.Close())
			require.NoError(t, childErr.Close())
			d := newDriver(t, stdin, out)
			d.start(mcptest.Handshake)
			if work == "big" {
				d.send(d.tool("1", "big", script{Bytes: 1 << 20}))
			} else {
				d.send(d.tool("1", "write", script{Way: work}))
			}
			require.NoError(t, out.Close())
			require.NoError(t, stderr.Close())
			d.send(d.tool("2", "echo", script{}))
			exited := make(chan error, 1)
			go func() { exited <- cmd.Wait() }()
			select {
			case err := <-exited:
				require.Equal(t, code, cmd.ProcessState.ExitCode(), "%v", err)
			case <-time.After(20 * time.Second):
				_ = cmd.Process.Kill()
				require.Fail(t, "the server lives on without a client")
			}
			_ = stdin.Close()
		})
	}
}
