package stdioguard

import (
	"io"
	"os"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/windows"

	"github.com/steadymcp/steady/observe"
)

// claimStdio takes the standard handles. On error everything is as before.
//
// Windows has nothing like dup2: whoever has asked for the handle before keeps
// it. What can be changed is the handle that is given to whoever asks from now
// on, and the inside of os.Stdin and os.Stdout, so that Go code that has kept
// them is diverted as well.
func claimStdio(o *Options, report func(observe.Event)) (_ *claim, err error) {
	c := new(claim)
	defer func() {
		if err != nil {
			_ = c.restore()
		}
	}()
	in, err := c.duplicate(windows.STD_INPUT_HANDLE, "real stdin")
	if err != nil {
		return nil, err
	}
	out, err := c.duplicate(windows.STD_OUTPUT_HANDLE, "real stdout")
	if err != nil {
		return nil, err
	}
	c.in, c.out = &sharedIn{file: in}, sharedOut{out}

	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	if err = c.redirect(windows.STD_INPUT_HANDLE, &syscall.Stdin, os.Stdin, null); err != nil {
		return nil, err
	}
	realErr, err := duplicate(windows.STD_ERROR_HANDLE, "real stderr")
	if err != nil {
		return nil, err
	}
	to := realErr
	if o.Diversion == DivertPump || o.Diversion == DivertAuto && isPipe(realErr) {
		from, write, err := os.Pipe()
		if err != nil {
			return nil, err
		}
		to = write
		c.pump = newPump(from, realErr, o.Prefix, func(d Diverted) { report(d) })
	}
	if err = c.redirect(windows.STD_OUTPUT_HANDLE, &syscall.Stdout, os.Stdout, to); err != nil {
		return nil, err
	}
	return c, nil
}

// redirect makes to the standard handle of the given number, and the inside
// of file, until restore changes both back and closes to.
func (c *claim) redirect(number uint32, global *syscall.Handle, file, to *os.File) error {
	old, err := windows.GetStdHandle(number)
	if err != nil {
		return err
	}
	handle := windows.Handle(to.Fd())
	// A child that is started by C code gets what can be inherited.
	_ = windows.SetHandleInformation(handle, windows.HANDLE_FLAG_INHERIT, windows.HANDLE_FLAG_INHERIT)
	if err := windows.SetStdHandle(number, handle); err != nil {
		return err
	}
	// The copies keep both insides reachable: a collected one is closed.
	oldGlobal, oldFile, newFile := *global, *file, *to
	*global, *file = syscall.Handle(handle), newFile
	c.undo = append(c.undo, func() error {
		*global, *file = oldGlobal, oldFile
		err := windows.SetStdHandle(number, old)
		_ = newFile.Close()
		return err
	})
	return nil
}

// duplicate returns a private duplicate of a standard handle, which restore
// closes.
func (c *claim) duplicate(number uint32, name string) (*os.File, error) {
	f, err := duplicate(number, name)
	if err == nil {
		c.undo = append(c.undo, f.Close)
	}
	return f, err
}

// duplicate returns a duplicate of a standard handle that is not inherited.
func duplicate(number uint32, name string) (*os.File, error) {
	handle, err := windows.GetStdHandle(number)
	if err != nil {
		return nil, err
	}
	self := windows.CurrentProcess()
	var private windows.Handle
	if err := windows.DuplicateHandle(self, handle, self, &private, 0, false, windows.DUPLICATE_SAME_ACCESS); err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(private), name), nil
}

func isPipe(f *os.File) bool {
	kind, err := windows.GetFileType(windows.Handle(f.Fd()))
	return err == nil && kind == windows.FILE_TYPE_PIPE
}

// sharedIn is the real standard input as a session sees it. A read that waits
// cannot be woken.
type sharedIn struct {
	file   *os.File
	closed atomic.Bool
}

func (s *sharedIn) Read(b []byte) (int, error) {
	if s.closed.Load() {
		return 0, io.EOF
	}
	return s.file.Read(b)
}

func (s *sharedIn) Close() error {
	s.closed.Store(true)
	return nil
}

// goneErrors are what a write says when nobody has the other end.
var goneErrors = []error{windows.ERROR_BROKEN_PIPE, windows.ERROR_NO_DATA, windows.WSAECONNRESET}
