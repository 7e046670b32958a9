package stdioguard

import (
	"bytes"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// spawned is what whoever starts a process may have written in its name before
// the program began: libuv, and with it every client on Node, writes one byte to
// a pipe of its own between fork and exec, which the process is charged for.
const spawned = 1

// printedBefore returns how many bytes wait unread in fd, if it is a pipe or a
// socket, and how many the process has written so far, to any descriptor.
// Zero where it cannot be known.
func printedBefore(fd int) (unread, written int64) {
	var s unix.Stat_t
	if err := unix.Fstat(fd, &s); err != nil {
		return 0, 0
	}
	var request uint
	switch s.Mode & unix.S_IFMT {
	case unix.S_IFIFO:
		request = unix.TIOCINQ // FIONREAD: the write end of a pipe has it too
	case unix.S_IFSOCK:
		request = unix.TIOCOUTQ
	}
	if request != 0 {
		if n, err := unix.IoctlGetInt(fd, request); err == nil {
			unread = int64(n)
		}
	}
	accounting, err := os.ReadFile("/proc/self/io")
	if err != nil {
		return unread, 0
	}
	for line := range bytes.Lines(accounting) {
		if n, ok := bytes.CutPrefix(line, []byte("wchar: ")); ok {
			if written, _ = strconv.ParseInt(string(bytes.TrimSpace(n)), 10, 64); written <= spawned {
				written = 0
			}
		}
	}
	return unread, written
}
