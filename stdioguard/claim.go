package stdioguard

import (
	"errors"
	"io"
	"os"
	"time"
)

// A claim is what a guard has taken. The parts that depend on the system are
// made by claimStdio.
type claim struct {
	in  io.ReadCloser
	out io.WriteCloser
	// pump is nil if descriptor 1 is a duplicate of standard error.
	pump *pump
	// shared says that standard error is diverted as well, because it is the
	// client's stream.
	shared bool
	// undo gives standard input and output back.
	undo []func() error
}

// restore gives back what was taken, in reverse.
func (c *claim) restore() error {
	var err error
	for i := len(c.undo) - 1; i >= 0; i-- {
		err = errors.Join(err, c.undo[i]())
	}
	c.undo = nil
	return err
}

func (c *claim) settle(d time.Duration) {
	if c.pump != nil {
		c.pump.settle(d)
	}
}

func (c *claim) count(s *Stats) {
	if c.pump == nil {
		return
	}
	c.pump.mu.Lock()
	defer c.pump.mu.Unlock()
	s.DivertedLines, s.DivertedBytes = c.pump.stats.DivertedLines, c.pump.stats.DivertedBytes
	s.DroppedLines, s.DroppedBytes = c.pump.stats.DroppedLines, c.pump.stats.DroppedBytes
}

// sharedOut is the real standard output as a session sees it: the session does
// not close it, because restoring needs it.
type sharedOut struct{ *os.File }

func (sharedOut) Close() error { return nil }
