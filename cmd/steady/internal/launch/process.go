package launch

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// A Process is a server on stdio that we started, in a process group of its own.
type Process struct {
	cmd   *exec.Cmd
	stdin *os.File // nil after CloseInput
	pipe  pipes
	lines chan Line
	stop  chan struct{} // closed by Close: nobody reads lines any more
	ended chan struct{} // closed when the process has ended
	read  chan struct{} // closed when its output has

	mu     sync.Mutex // guards stdin
	once   sync.Once
	out    *os.File
	stderr tail

	flooded atomic.Bool

	kin     sync.Mutex // guards started
	started []descendant
}

// remember notes what the server has started, before it is made to end.
func (p *Process) remember() {
	p.kin.Lock()
	defer p.kin.Unlock()
	p.started = append(p.started, p.descendants()...)
}

// Left reports whether processes that the server has started still run after it
// has ended: those of its group, and on Linux those that have left it.
func (p *Process) Left() bool {
	p.kin.Lock()
	defer p.kin.Unlock()
	return groupRuns(p.cmd.Process) || slices.ContainsFunc(p.started, descendant.runs)
}

// Flooded reports whether the process wrote so much that it was given up.
func (p *Process) Flooded() bool { return p.flooded.Load() }

// Start starts the server.
func (t *Target) Start(ctx context.Context, moreEnv ...string) (*Process, error) {
	path, err := exec.LookPath(t.Command[0])
	if err != nil {
		return nil, fmt.Errorf("starting the server: %w", err)
	}
	if err := CheckDir(t.Dir); err != nil {
		return nil, fmt.Errorf("starting the server: %w", err)
	}
	p := &Process{
		lines: make(chan Line, 64), stop: make(chan struct{}), ended: make(chan struct{}), read: make(chan struct{}),
	}
	p.cmd = exec.Command(path, t.Command[1:]...)
	p.cmd.Dir = t.Dir
	p.cmd.Env = append(append(os.Environ(), t.Env...), moreEnv...)
	OwnGroup(p.cmd)
	childIn, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	out, childOut, err := os.Pipe()
	if err != nil {
		_, _ = childIn.Close(), in.Close()
		return nil, err
	}
	errOut, childErr, err := os.Pipe()
	if err != nil {
		_, _, _, _ = childIn.Close(), in.Close(), out.Close(), childOut.Close()
		return nil, err
	}
	p.stdin, p.out = in, out
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = childIn, childOut, childErr
	p.pipe = pipes{pipeOf(childIn), pipeOf(childOut)}
	err = p.cmd.Start()
	_, _, _ = childIn.Close(), childOut.Close(), childErr.Close()
	if err != nil {
		_, _, _ = in.Close(), out.Close(), errOut.Close()
		return nil, fmt.Errorf("starting the server: %w", err)
	}
	go func() {
		_, _ = io.Copy(&p.stderr, errOut)
		_ = errOut.Close()
	}()
	go p.readLines(out)
	go func() {
		_ = p.cmd.Wait()
		close(p.ended)
	}()
	if ctx.Done() != nil {
		stop := context.AfterFunc(ctx, func() { _ = p.Close() })
		go func() { <-p.ended; stop() }()
	}
	return p, nil
}

// readLines delivers standard output, line by line, until it ends.
func (p *Process) readLines(out io.Reader) {
	defer close(p.read)
	defer close(p.lines)
	scan := lineScanner{r: bufio.NewReaderSize(out, 64<<10), limit: maxLine}
	for total := 0; total < maxOutput; {
		line, ok := scan.next()
		if !ok {
			return
		}
		total += scan.consumed
		select {
		case p.lines <- line:
		case <-p.stop:
			return
		}
	}
	p.flooded.Store(true)
}

// A lineScanner splits a stream into lines, and keeps no more than limit bytes
// of one.
type lineScanner struct {
	r        *bufio.Reader
	limit    int
	consumed int // bytes of the stream that the last line was
}

func (s *lineScanner) next() (Line, bool) {
	var line Line
	s.consumed = 0
	for {
		part, err := s.r.ReadSlice('\n')
		s.consumed += len(part)
		ended := err == nil
		if ended {
			part = part[:len(part)-1]
		}
		if room := s.limit - len(line.Text); len(part) > room {
			part, line.Cut = part[:max(room, 0)], true
		}
		line.Text = append(line.Text, part...)
		switch {
		case ended:
			line.Text = bytes.TrimSuffix(line.Text, []byte("\r"))
			return line, true
		case errors.Is(err, bufio.ErrBufferFull):
		default:
			line.Partial = true
			return line, len(line.Text) > 0
		}
	}
}

// Lines implements [Conn].
func (p *Process) Lines() <-chan Line { return p.lines }

// Send writes message and a line feed, in one piece.
func (p *Process) Send(_ context.Context, message []byte) error {
	return p.Write(append(message[:len(message):len(message)], '\n'))
}

// Write writes bytes as they are.
func (p *Process) Write(data []byte) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stdin == nil {
		return errors.New("the server's standard input is closed")
	}
	_ = p.stdin.SetWriteDeadline(time.Now().Add(sendTimeout))
	_, err := p.stdin.Write(data)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return ErrNotReading
	}
	return err
}

// CloseInput ends the server's standard input.
func (p *Process) CloseInput() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stdin == nil {
		return nil
	}
	p.remember()
	err := p.stdin.Close()
	p.stdin = nil
	return err
}

// Terminate sends SIGTERM to the process, or ends it where there is no such
// signal.
func (p *Process) Terminate() error {
	p.remember()
	return Terminate(p.cmd.Process)
}

// Ended is closed when the process has ended.
func (p *Process) Ended() <-chan struct{} { return p.ended }

// Status says how the process ended: "exit status 2", "signal: killed". It may
// be called after Ended is closed.
func (p *Process) Status() string { return p.cmd.ProcessState.String() }

// PID returns the id of the process.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Stderr returns the end of what was written to standard error.
func (p *Process) Stderr() string { return p.stderr.String() }

// Close ends the process and what it has started: standard input first, then,
// after a moment, by force.
func (p *Process) Close() error {
	p.once.Do(func() {
		_ = p.CloseInput()
		close(p.stop)
		if !wait(p.ended, 300*time.Millisecond) {
			_ = p.Terminate()
			wait(p.ended, 300*time.Millisecond)
		}
		KillGroup(p.cmd.Process)
		p.kin.Lock()
		for _, d := range p.started {
			d.kill()
		}
		p.kin.Unlock()
		wait(p.ended, 5*time.Second)
		_ = p.out.Close() // a grandchild may hold the other end
		wait(p.read, time.Second)
	})
	return nil
}

func wait(done <-chan struct{}, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
		return false
	}
}

// A tail keeps the end of what is written to it.
type tail struct {
	mu  sync.Mutex
	buf []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, p...)
	if len(t.buf) > 2*maxStderr {
		t.buf = append(t.buf[:0], t.buf[len(t.buf)-maxStderr:]...)
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.buf[max(0, len(t.buf)-maxStderr):])
}
