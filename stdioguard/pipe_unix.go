//go:build unix

package stdioguard

import (
	"io"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// readPipe waits until f can be read, reads it and calls put, with mu held
// around both, so that no text is ever out of the pipe and not yet put.
func readPipe(f *os.File, mu sync.Locker, buf []byte, put func([]byte)) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var readErr error
	err = conn.Read(func(fd uintptr) (done bool) {
		mu.Lock()
		defer mu.Unlock()
		n, err := unix.Read(int(fd), buf)
		switch {
		case err == unix.EAGAIN || err == unix.EINTR:
			return false
		case err != nil:
			readErr = err
		case n <= 0:
			readErr = io.EOF
		default:
			put(buf[:n])
		}
		return true
	})
	if err != nil {
		return err
	}
	return readErr
}

// pipeEmpty reports whether there is nothing to read from f now.
func pipeEmpty(f *os.File) bool {
	empty := false
	conn, err := f.SyscallConn()
	if err != nil {
		return false
	}
	// Control and not Read, which belongs to the goroutine that waits.
	_ = conn.Control(func(fd uintptr) {
		fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		n, err := unix.Poll(fds, 0)
		empty = err == nil && n == 0
	})
	return empty
}
