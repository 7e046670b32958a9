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

	c := new(claim)
	defer func() {
		if err != nil {
			_ = c.restore()
		}
	}()
	in, err := c.duplicate(0)
	if err != nil {
		return nil, err
	}
	out, err := c.duplicate(1)
	if err != nil {
		return nil, err
	}
	stdin, err := newInterruptible(in)
	if err != nil {
		return nil, err
	}
	c.undo = append(c.undo, stdin.Close)
	c.in, c.out = stdin, sharedOut{os.NewFile(uintptr(out), "real stdout")}

	null, err := unix.Open(os.DevNull, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(null)
	if err = c.redirect(0, null, in); err != nil {
		return nil, err
	}
	if direct && !same {
		err = c.redirect(1, 2, out)
	} else {
		err = c.pumpUnix(o, out, same, report)
	}
	if err != nil {
		return nil, err
	}
	catchBrokenPipes()

	if unread > 0 || written > 0 {
		report(Late{Unread: unread, Written: written})
	}
	var nullStat unix.Stat_t
	if unix.Fstat(null, &nullStat) == nil && outStat.Mode&unix.S_IFMT == unix.S_IFCHR && outStat.Rdev == nullStat.Rdev {
		report(Misplaced{Problem: "standard output is the null device, or was closed: no client will see a reply"})
	}
	if same {
		report(Misplaced{Problem: "standard error is the same pipe as standard output: both are diverted, counted and dropped"})
	}
	return c, nil
}

// pumpUnix points descriptor 1 at a pump, and descriptor 2 as well if that is
// the protocol's stream.
func (c *claim) pumpUnix(o *Options, out int, same bool, report func(observe.Event)) error {
	from, to, err := os.Pipe()
	if err != nil {
		return err
	}
	defer to.Close()
	toFd := int(to.Fd())
	// The pipe's O_NONBLOCK belongs to the open file and not to the
	// descriptor: C code and children that inherit it would get EAGAIN.
	err = unix.SetNonblock(toFd, false)
	var sink io.WriteCloser
	if err == nil && !same {
		var fd int
		// Not descriptor 2 itself: a *os.File that is collected closes its own.
		if fd, err = duplicate(2); err == nil {
			sink = os.NewFile(uintptr(fd), "real stderr")
		}
	}
	if err == nil {
		err = c.redirect(1, toFd, out)
	}
	if err == nil && same {
		err = c.redirect(2, toFd, out)
	}
	if err != nil {
		_ = from.Close()
		if sink != nil {
			_ = sink.Close()
		}
		return err
	}
	c.pump = newPump(from, sink, o.Prefix, func(d Diverted) { report(d) })
	return nil
}

// redirect makes fd a duplicate of to, which children inherit, until restore
// makes it one of back.
func (c *claim) redirect(fd, to, back int) error {
	if err := dup2(to, fd); err != nil {
		return err
	}
	c.undo = append(c.undo, func() error { return dup2(back, fd) })
	return nil
}

func dup2(from, to int) error {
	for {
		err := unix.Dup2(from, to)
		if err == nil {
			return nil
		}
		if err != unix.EINTR && err != unix.EBUSY {
			return fmt.Errorf("redirecting descriptor %d: %w", to, err)
		}
	}
}

// duplicate returns a private duplicate of fd, which restore closes.
func (c *claim) duplicate(fd int) (int, error) {
	n, err := duplicate(fd)
	if err == nil {
		c.undo = append(c.undo, func() error { return unix.Close(n) })
	}
	return n, err
}

// duplicate returns a private, close-on-exec duplicate of fd.
func duplicate(fd int) (int, error) {
	n, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, privateFrom)
	if err == unix.EINVAL || err == unix.EMFILE { // the process may not have that many
		n, err = unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 3)
	}
	if err != nil {
		return 0, fmt.Errorf("duplicating descriptor %d: %w", fd, err)
	}
	return n, nil
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

// An interruptible reads a descriptor that must not be put into non-blocking
// mode, because other processes may share it, and can be closed while it waits.
type interruptible struct {
	fd     int
	closed atomic.Bool
	waker  *os.File // closed to wake Read
	wake   *os.File

	polling sync.Mutex
}

func newInterruptible(fd int) (*interruptible, error) {
	wake, waker, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	return &interruptible{fd: fd, wake: wake, waker: waker}, nil
}

func (r *interruptible) Read(b []byte) (int, error) {
	for {
		if err := r.wait(); err != nil {
			return 0, err
		}
		n, err := unix.Read(r.fd, b)
		switch {
		case err == unix.EINTR || err == unix.EAGAIN:
		case err != nil:
			return 0, fmt.Errorf("reading standard input: %w", err)
		case n == 0:
			return 0, io.EOF
		default:
			return n, nil
		}
	}
}

// wait returns when there is something to read, or cannot be waited for.
func (r *interruptible) wait() error {
	r.polling.Lock()
	defer r.polling.Unlock()
	for !r.closed.Load() {
		fds := []unix.PollFd{
			{Fd: int32(r.fd), Events: unix.POLLIN},
			{Fd: int32(r.wake.Fd()), Events: unix.POLLIN},
		}
		if _, err := unix.Poll(fds, -1); err != unix.EINTR && err != unix.EAGAIN && !r.closed.Load() {
			return nil
		}
	}
	return os.ErrClosed
}

// Close wakes Read. The descriptor stays open: restoring needs it.
func (r *interruptible) Close() error {
	if r.closed.Swap(true) {
		return nil
	}
	err := r.waker.Close()
	r.polling.Lock()
	defer r.polling.Unlock()
	return errors.Join(err, r.wake.Close())
}
