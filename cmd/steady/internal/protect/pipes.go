package protect

import (
	"bytes"
	"io"
	"sync"
)

// An inbox is the input of the stage behind. Who writes waits only if much is
// unread, not for the reader to come: a call would pay for that with two switches
// of the processor.
type inbox struct {
	mu     sync.Mutex
	change sync.Cond // of what is below
	unread []byte
	from   int  // where in unread it begins
	ended  bool // nothing more is written
	closed bool // nothing more is read
}

// maxUnread is how much an inbox holds before a writer waits, in bytes. A larger
// write is taken whole when there is nothing else.
const maxUnread = 256 << 10

func newInbox() *inbox {
	b := &inbox{}
	b.change.L = &b.mu
	return b
}

// Write is all or nothing.
func (b *inbox) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for !b.ended && !b.closed && len(b.unread) > b.from && len(b.unread)-b.from+len(p) > maxUnread {
		b.change.Wait()
	}
	if b.ended || b.closed {
		return 0, io.ErrClosedPipe
	}
	if b.from > 0 {
		b.unread, b.from = append(b.unread[:0], b.unread[b.from:]...), 0
	}
	b.unread = append(b.unread, p...)
	b.change.Broadcast()
	return len(p), nil
}

// Read implements [io.Reader].
func (b *inbox) Read(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for len(b.unread) == b.from {
		if b.ended || b.closed {
			return 0, io.EOF
		}
		b.change.Wait()
	}
	n := copy(p, b.unread[b.from:])
	if b.from += n; b.from == len(b.unread) {
		b.unread, b.from = b.unread[:0], 0
		if cap(b.unread) > maxUnread {
			b.unread = nil
		}
	}
	b.change.Broadcast()
	return n, nil
}

// end ends the input after what was written.
func (b *inbox) end() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ended = true
	b.change.Broadcast()
}

// close says that nobody reads any more.
func (b *inbox) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	b.change.Broadcast()
}

// lines is a writer that hands each line to take, without its end. A line that was
// written as one, as most are, is not copied. A longer one than limit is dropped.
type lines struct {
	take  func(line []byte) error
	limit int

	mu      sync.Mutex
	part    []byte
	dropped bool // the beginning of the line that is being written
}

// Write implements [io.Writer].
func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for rest := p; len(rest) > 0; {
		line, after, whole := bytes.Cut(rest, []byte{'\n'})
		rest = after
		if !whole || len(l.part) > 0 || l.dropped {
			if l.dropped = l.dropped || len(l.part)+len(line) > l.limit; l.dropped {
				l.part = nil
			} else {
				l.part = append(l.part, line...)
			}
			line = l.part
		}
		if !whole {
			break
		}
		skip := l.dropped
		l.part, l.dropped = nil, false
		if skip {
			continue
		}
		if err := l.take(bytes.TrimSuffix(line, []byte{'\r'})); err != nil {
			return 0, err
		}
	}
	return len(p), nil
}
