//go:build unix

package stdioguard

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/steadymcp/steady/observe"
)

// privateFrom is where the numbers of private descriptors begin: beyond those
// that scripts use.
const privateFrom = 64

// claimStdio takes descriptors 0 and 1. On error everything is as before.
func claimStdio(o *Options, report func(observe.Event)) (_ *claim, err error) {
	unread, written := printedBefore(1)
	var outStat, errStat unix.Stat_t
	if err := errors.Join(unix.Fstat(1, &outStat), unix.Fstat(2, &errStat)); err != nil {
		return nil, err
	}
	stream := isStream(errStat)
	same := stream && outStat.Dev == errStat.Dev && outStat.Ino == errStat.Ino
	direct := o.Diversion == DivertDirect || o.Diversion == DivertAuto && !stream

	c := &claim{shared: same}
	defer func() {
		if err != nil {
			_ = c.restore()
		}
	}()
	in, err := c.duplicate(0, "real stdin")
	if err != nil {
		return nil, err
	}
	out, err := c.duplicate(1, "real stdout")
	if err != nil {
		return nil, err
	}
	stdin, err := newInterruptible(in)
	if err != nil {
		return nil, err
	}
	c.undo = append(c.undo, stdin.Close)
	c.in, c.out = stdin, sharedOut{out}

	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer null.Close()
	if err = c.redirect(0, null, in); err != nil {
		return nil, err
	}
	if direct && !same {
		err = c.redirectToStderr(out)
	} else {
		err = c.redirectToPump(o, out, same, report)
	}
	if err != nil {
		return nil, err
	}
	catchBrokenPipes()

	if unread > 0 || written > 0 {
		report(Late{Unread: unread, Written: written})
	}
	var nullStat unix.Stat_t
	if unix.Stat(os.DevNull, &nullStat) == nil && outStat.Mode&unix.S_IFMT == unix.S_IFCHR && outStat.Rdev == nullStat.Rdev {
		report(Misplaced{Problem: "standard output is the null device, or was closed: no client will see a reply"})
	}
	if same {
		report(Misplaced{Problem: "standard error is the same pipe as standard output: both are diverted, counted and dropped"})
	}
	return c, nil
}

// redirectToStderr makes descriptor 1 a duplicate of descriptor 2.
func (c *claim) redirectToStderr(out *os.File) error {
	// Not a *os.File of descriptor 2 itself, which would be closed with it.
	stderr, err := duplicate(2, "real stderr")
	if err != nil {
		return err
	}
	defer stderr.Close()
	if err := c.appendOnly(stderr); err != nil {
		return err
	}
	return c.redirect(1, stderr, out)
}

// appendOnly makes every write to stderr one at its end, until restore, if it
// is a regular file. Now that /dev/stdout is that file, somebody may open it
// and write to it from a position of his own, or truncate it, and what is
// written later must neither overwrite his text nor leave a hole.
func (c *claim) appendOnly(stderr *os.File) error {
	return control(stderr, func(fd int) error {
		var s unix.Stat_t
		if err := unix.Fstat(fd, &s); err != nil || s.Mode&unix.S_IFMT != unix.S_IFREG {
			return err
		}
		flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
		if err != nil || flags&unix.O_APPEND != 0 {
			return err
		}
		// The flag belongs to the open file, and so to descriptor 2 as well.
		set := func(fd, flags int) error {
			_, err := unix.FcntlInt(uintptr(fd), unix.F_SETFL, flags)
			return err
		}
		c.undo = append(c.undo, func() error { return set(2, flags) })
		return set(fd, flags|unix.O_APPEND)
	})
}

// redirectToPump points descriptor 1 at a pump, and descriptor 2 as well if
// that is the protocol's stream.
func (c *claim) redirectToPump(o *Options, out *os.File, same bool, report func(observe.Event)) (err error) {
	from, to, err := os.Pipe()
	if err != nil {
		return err
	}
	defer to.Close()
	var sink io.WriteCloser // nil drops everything
	defer func() {
		if err != nil {
			_ = from.Close()
			if sink != nil {
				_ = sink.Close()
			}
		}
	}()
	// The pipe's O_NONBLOCK belongs to the open file and not to the
	// descriptor: C code and children that inherit it would get EAGAIN.
	if err = control(to, func(fd int) error { return unix.SetNonblock(fd, false) }); err != nil {
		return err
	}
	if !same {
		stderr, err := duplicate(2, "real stderr")
		if err != nil {
			return err
		}
		sink = stderr
	}
	if err = c.redirect(1, to, out); err != nil {
		return err
	}
	if same {
		if err = c.redirect(2, to, out); err != nil {
			return err
		}
	}
	c.pump = newPump(from, sink, o.Prefix, func(d Diverted) { report(d) })
	return nil
}

// redirect makes fd a duplicate of to, which children inherit, until restore
// makes it one of back.
func (c *claim) redirect(fd int, to, back *os.File) error {
	if err := dup2(to, fd); err != nil {
		return err
	}
	c.undo = append(c.undo, func() error { return dup2(back, fd) })
	return nil
}

func dup2(f *os.File, to int) error {
	return control(f, func(from int) error {
		for {
			err := unix.Dup2(from, to)
			if err == nil {
				return nil
			}
			if err != unix.EINTR && err != unix.EBUSY {
				return fmt.Errorf("redirecting descriptor %d: %w", to, err)
			}
		}
	})
}

// control calls do with the descriptor of f, which is not closed meanwhile.
// Unlike f.Fd it leaves the descriptor's mode alone.
func control(f *os.File, do func(fd int) error) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var doErr error
	err = conn.Control(func(fd uintptr) { doErr = do(int(fd)) })
	return errors.Join(err, doErr)
}

// duplicate returns a private duplicate of fd, which restore closes.
func (c *claim) duplicate(fd int, name string) (*os.File, error) {
	f, err := duplicate(fd, name)
	if err == nil {
		c.undo = append(c.undo, f.Close)
	}
	return f, err
}

// duplicate returns a private, close-on-exec duplicate of fd.
func duplicate(fd int, name string) (*os.File, error) {
	n, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, privateFrom)
	if err == unix.EINVAL || err == unix.EMFILE { // the process may not have that many
		n, err = unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 3)
	}
	if err != nil {
		return nil, fmt.Errorf("duplicating descriptor %d: %w", fd, err)
	}
	return os.NewFile(uintptr(n), name), nil
}

// isStream reports whether a write to the file may wait for a reader.
func isStream(s unix.Stat_t) bool {
	kind := s.Mode & unix.S_IFMT
	return kind == unix.S_IFIFO || kind == unix.S_IFSOCK
}

// catchBrokenPipes keeps a write to a closed standard output or error from
// ending the process: the Go runtime raises SIGPIPE for descriptors 1 and 2,
// unless somebody is notified. (Ignoring the signal would do as well, and
// would be inherited by children.) It stays so after Close, when the client is
// gone and handlers that were left behind may still print.
var catchBrokenPipes = sync.OnceFunc(func() {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
})

// An interruptible reads a file that must not be put into non-blocking mode,
// because other processes may share it, and can be closed while it waits.
type interruptible struct {
	file    *os.File
	closed  atomic.Bool
	wake    *os.File // readable, because its other end is closed, when closed
	waker   *os.File
	waiting sync.Mutex
}

func newInterruptible(f *os.File) (*interruptible, error) {
	wake, waker, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	return &interruptible{file: f, wake: wake, waker: waker}, nil
}

func (r *interruptible) Read(b []byte) (int, error) {
	if err := r.wait(); err != nil {
		return 0, err
	}
	return r.file.Read(b)
}

// wait returns when there is something to read, or it cannot be waited for.
func (r *interruptible) wait() error {
	r.waiting.Lock()
	defer r.waiting.Unlock()
	if r.closed.Load() {
		return os.ErrClosed
	}
	err := control(r.file, func(file int) error {
		return control(r.wake, func(wake int) error {
			fds := []unix.PollFd{{Fd: int32(file), Events: unix.POLLIN}, {Fd: int32(wake), Events: unix.POLLIN}}
			for {
				if _, err := unix.Poll(fds, -1); err != unix.EINTR && err != unix.EAGAIN {
					return nil
				}
			}
		})
	})
	if r.closed.Load() {
		return os.ErrClosed
	}
	return err
}

// Close wakes Read. The file stays open: restoring needs it.
func (r *interruptible) Close() error {
	if r.closed.Swap(true) {
		return nil
	}
	err := r.waker.Close()
	r.waiting.Lock()
	defer r.waiting.Unlock()
	return errors.Join(err, r.wake.Close())
}

// goneErrors are what a write says when nobody has the other end.
var goneErrors = []error{syscall.EPIPE, syscall.ECONNRESET}
