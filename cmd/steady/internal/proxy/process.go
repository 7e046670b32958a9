package proxy

import (
	"fmt"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/steadymcp/steady/cmd/steady/internal/jsonl"
	"github.com/steadymcp/steady/cmd/steady/internal/launch"
)

// A process is a server that we have started.
type process struct {
	cmd    *exec.Cmd
	in     *jsonl.Writer
	stdin  *os.File
	out    *os.File
	exited chan struct{} // of its child

	mu     sync.Mutex
	reaped bool
}

// launch makes c a process.
func (p *proxy) launch(c *child) error {
	if err := launch.CheckDir(p.opts.Dir); err != nil {
		return fmt.Errorf("starting the server: %w", err)
	}
	cmd := exec.Command(p.opts.Command[0], p.opts.Command[1:]...)
	cmd.Dir = p.opts.Dir
	cmd.Env = append(os.Environ(), p.opts.Env...)
	cmd.Stderr = p.opts.Log // where that is a file, the server has the file itself
	cmd.WaitDelay = grace
	launch.OwnGroup(cmd)
	childIn, in, err := os.Pipe()
	if err != nil {
		return err
	}
	out, childOut, err := os.Pipe()
	if err != nil {
		_, _ = childIn.Close(), in.Close()
		return err
	}
	cmd.Stdin, cmd.Stdout = childIn, childOut
	err = cmd.Start()
	_, _ = childIn.Close(), childOut.Close()
	if err != nil {
		_, _ = in.Close(), out.Close()
		return fmt.Errorf("starting the server: %w", err)
	}
	s := &process{cmd: cmd, in: jsonl.NewWriter(in), stdin: in, out: out, exited: c.exited}
	c.server = s
	read := make(chan struct{})
	go func() {
		defer close(read)
		p.fromChild(c, out)
	}()
	go func() {
		_ = cmd.Wait()
		s.mu.Lock()
		s.reaped = true
		s.mu.Unlock()
		close(s.exited)
	}()
	go func() {
		s.reap(read)
		close(c.ended)
	}()
	return nil
}

// reap returns when the process and its output have ended. One goes with
// the other, if need be by force: a process without an output is of no use, and
// what holds the output of one that has ended is not the server.
func (s *process) reap(read <-chan struct{}) {
	select {
	case <-read:
		select {
		case <-s.exited:
		case <-time.After(grace):
			s.terminate()
			select {
			case <-s.exited:
			case <-time.After(grace):
				s.kill()
				<-s.exited
			}
		}
	case <-s.exited:
		select {
		case <-read:
		case <-time.After(grace):
		}
	}
	_ = s.out.Close()
	<-read
	s.closeInput()
	launch.KillGroup(s.cmd.Process) // what it had started
}

func (s *process) closeInput() { _ = s.stdin.Close() }
func (s *process) terminate()  { s.signal(func() { _ = launch.Terminate(s.cmd.Process) }) }
func (s *process) kill()       { s.signal(func() { launch.KillGroup(s.cmd.Process) }) }

// signal runs send unless the process has been waited for, after which its
// number may be another's.
func (s *process) signal(send func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.reaped {
		send()
	}
}

func (s *process) status() string { return s.cmd.ProcessState.String() }

func (s *process) send(line []byte) error {
	if err := s.in.Line(line); err != nil {
		return fmt.Errorf("%w: %w", errInputClosed, err)
	}
	return nil
}
