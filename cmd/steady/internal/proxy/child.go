package proxy

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"time"

	"github.com/steadymcp/steady/cmd/steady/internal/launch"
)

// A child is one server that was started.
type child struct {
	cmd      *exec.Cmd
	in       *sink
	stdin    *os.File
	out      *os.File
	exited   chan struct{} // closed when the process has ended
	ended    chan struct{} // closed when its output has been read as well
	answered atomic.Bool   // it has answered a request of the client

	mu     sync.Mutex
	reaped bool
}

// start starts a server. All but the first are introduced to the session before
// anything else is sent to them.
func (p *proxy) start(generation int) (*child, error) {
	cmd := exec.Command(p.opts.Command[0], p.opts.Command[1:]...)
	cmd.Dir = p.opts.Dir
	cmd.Env = append(os.Environ(), p.opts.Env...)
	cmd.Stderr = p.opts.Log // where that is a file, the server has the file itself
	cmd.WaitDelay = grace
	launch.OwnGroup(cmd)
	childIn, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	out, childOut, err := os.Pipe()
	if err != nil {
		_, _ = childIn.Close(), in.Close()
		return nil, err
	}
	cmd.Stdin, cmd.Stdout = childIn, childOut
	err = cmd.Start()
	_, _ = childIn.Close(), childOut.Close()
	if err != nil {
		_, _ = in.Close(), out.Close()
		return nil, fmt.Errorf("starting the server: %w", err)
	}
	c := &child{cmd: cmd, in: &sink{w: in}, stdin: in, out: out, exited: make(chan struct{}), ended: make(chan struct{})}
	p.mu.Lock()
	p.latest = c
	ending := p.ending
	p.mu.Unlock()
	if ending { // while we were starting it
		c.closeInput()
		c.terminate()
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		p.fromChild(c)
	}()
	go func() {
		_ = cmd.Wait()
		c.mu.Lock()
		c.reaped = true
		c.mu.Unlock()
		close(c.exited)
	}()
	go c.reap(read)
	if generation == 0 {
		p.takeOver(c)
		return c, nil
	}
	go func() {
		if err := p.introduce(c, generation); err != nil {
			p.log.say("the server that was started again cannot be used: %v", err)
			c.kill()
			return
		}
		p.takeOver(c)
	}()
	return c, nil
}

// reap closes ended when the process and its output have ended. One goes with
// the other, if need be by force: a process without an output is of no use, and
// what holds the output of one that has ended is not the server.
func (c *child) reap(read <-chan struct{}) {
	select {
	case <-read:
		select {
		case <-c.exited:
		case <-time.After(grace):
			c.terminate()
			select {
			case <-c.exited:
			case <-time.After(grace):
				c.kill()
				<-c.exited
			}
		}
	case <-c.exited:
		select {
		case <-read:
		case <-time.After(grace):
		}
	}
	_ = c.out.Close()
	<-read
	c.closeInput()
	launch.KillGroup(c.cmd.Process) // what it had started
	close(c.ended)
}

func (c *child) closeInput() { _ = c.stdin.Close() }
func (c *child) terminate()  { c.signal(func() { _ = launch.Terminate(c.cmd.Process) }) }
func (c *child) kill()       { c.signal(func() { launch.KillGroup(c.cmd.Process) }) }

// signal runs send unless the process has been waited for, after which its
// number may be another's.
func (c *child) signal(send func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.reaped {
		send()
	}
}

// status says how it ended.
func (c *child) status() string { return c.cmd.ProcessState.String() }

var errInputClosed = errors.New("the server's input is closed")

// send writes a line.
func (c *child) send(line []byte) error {
	if err := c.in.write(line); err != nil {
		return fmt.Errorf("%w: %w", errInputClosed, err)
	}
	return nil
}
