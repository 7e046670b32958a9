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
		h.Report = true
		p := launch(t, h, nil)
		p.start(mcptest.Handshake)
		p.send(p.tool("1", "sleep", call))
		p.alive()
		return p
	}
	// refused sends requests until the server has noticed the signal.
	refused := func(p *process) {
		p.t.Helper()
		for i := 2; ; i++ {
			id := strconv.Itoa(i)
			p.send(p.tool(id, "echo", script{}))
			if r := p.wait(id); r.Error != nil {
				require.Equal(p.t, -32000, r.Error.Code)
				return
			}
		}
	}
	// end expects the reply to the call, if any, and the exit code. Where the
	// windows are long, that it ends at all says that it did not wait for them.
	end := func(p *process, text string, code int) {
		p.t.Helper()
		if text != "" {
			require.Contains(p.t, p.wait("1").text(), text)
		}
		for p.read() != nil {
		}
		require.Equal(p.t, code, p.exit(), p.stderr.String())
	}
	long := int(20 * hang / time.Millisecond)
	for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		t.Run("the reply is delivered, a late request refused/"+s.String(), func(t *testing.T) {
			p := begin(t, helper{}, script{Ms: 400})
			term(p, s)
			refused(p)
			end(p, "slept", 0)
		})
	}
	t.Run("the window is over", func(t *testing.T) {
		p := begin(t, helper{StopMs: 200}, script{Ms: long})
		now := time.Now()
		term(p, syscall.SIGTERM)
		end(p, "received terminated", 0)
		require.GreaterOrEqual(t, time.Since(now), 200*time.Millisecond)
	})
	t.Run("a deaf handler", func(t *testing.T) {
		p := begin(t, helper{StopMs: 200, GraceMs: 200}, script{Ms: long, Deaf: true})
		now := time.Now()
		term(p, syscall.SIGTERM)
		end(p, "", 1)
		require.GreaterOrEqual(t, time.Since(now), 400*time.Millisecond)
		require.Contains(t, p.stderr.String(), "1 request without a reply")
	})
	t.Run("twice", func(t *testing.T) {
		p := begin(t, helper{}, script{Ms: long})
		term(p, syscall.SIGTERM)
		refused(p)
		term(p, syscall.SIGTERM)
		end(p, "received terminated", 0)
	})
	// Whichever of the two arrives first.
	for i := range 3 {
		t.Run("one signal, which ends the context too/"+strconv.Itoa(i), func(t *testing.T) {
			p := begin(t, helper{Notify: true}, script{Ms: 1000})
			term(p, syscall.SIGTERM)
			end(p, "slept", 0)
		})
	}
	t.Run("the end of the context, then a signal, then another", func(t *testing.T) {
		p := begin(t, helper{Notify: true}, script{Ms: 1000})
		p.send(p.tool("1000000", "sleep", script{Ms: long}))
		p.alive()
		term(p, syscall.SIGHUP)
		refused(p)
		term(p, syscall.SIGTERM)
		require.Equal(t, "slept", p.wait("1").text())
		term(p, syscall.SIGTERM)
		require.Contains(t, p.wait("1000000").text(), "received terminated")
		end(p, "", 0)
	})
	// A client closes the pipe, and gives the server time before it sends a
	// signal.
	t.Run("end of input, then the signal", func(t *testing.T) {
		p := begin(t, helper{}, script{Ms: long})
		require.NoError(t, p.in.Close())
		p.awaitReport("stdioguard.draining")
		term(p, syscall.SIGTERM)
		end(p, "received terminated", 0)
	})
	t.Run("end of input, then the signal, a deaf handler", func(t *testing.T) {
		p := begin(t, helper{GraceMs: 200}, script{Ms: long, Deaf: true})
		require.NoError(t, p.in.Close())
		p.awaitReport("stdioguard.draining")
		term(p, syscall.SIGTERM)
		end(p, "", 1)
	})
	t.Run("idle", func(t *testing.T) {
		t.Parallel()
		p := launch(t, helper{}, nil)
		p.start(mcptest.Handshake)
		p.alive()
		term(p, syscall.SIGTERM)
		end(p, "", 0)
	})
	t.Run("the client does not read", func(t *testing.T) {
		t.Parallel()
		p := launch(t, helper{StopMs: 200, GraceMs: 200}, nil)
		p.start(mcptest.Handshake)
		p.send(p.tool("1", "big", script{Bytes: 4 << 20}))
		_, err := p.out.Peek(1) // the beginning of the reply; the pipe does not hold the rest
		require.NoError(t, err)
		term(p, syscall.SIGTERM)
		require.Equal(t, 1, p.exit())
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
			h := helper{}
			if code != 0 { // the handler is deaf
				h = helper{EOFMs: 200, GraceMs: 200}
			}
			cmd := helperCommand(t, h)
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
			case <-time.After(hang):
				_ = cmd.Process.Kill()
				require.Fail(t, "the server lives on without a client")
			}
			_ = stdin.Close()
		})
	}
}
