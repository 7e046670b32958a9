package fleet

import (
	"bytes"
	"fmt"
	"io"
	"sync"
)

// An outbox holds what a child has still to read, so that who has something for
// it need not wait. What does not fit is not taken.
type outbox struct {
	limit int // bytes

	mu     sync.Mutex
	more   sync.Cond // there is something to read, or never will be
	lines  [][]byte
	rest   []byte // of the line that is being read
	size   int
	ending bool
}

// lineCost is what a line costs besides its bytes.
const lineCost = 64

func newOutbox(limit int) *outbox {
	o := &outbox{limit: limit}
	o.more.L = &o.mu
	return o
}

func (o *outbox) push(line []byte) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.ending || o.size > 0 && o.size+len(line)+lineCost > o.limit {
		return false
	}
	o.lines, o.size = append(o.lines, append(line, '\n')), o.size+len(line)+lineCost
	o.more.Signal()
	return true
}

// finish ends the child's input after what it was sent.
func (o *outbox) finish() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ending = true
	o.more.Broadcast()
}

// Close ends the child's input at once.
func (o *outbox) Close() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ending, o.lines, o.rest = true, nil, nil
	o.more.Broadcast()
	return nil
}

// Read is for the child's proxy.
func (o *outbox) Read(p []byte) (n int, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(o.rest)+len(o.lines) == 0 {
		if o.ending {
			return 0, io.EOF
		}
		o.more.Wait()
	}
	for n < len(p) {
		if len(o.rest) == 0 {
			if len(o.lines) == 0 {
				break
			}
			o.rest, o.lines[0] = o.lines[0], nil
			o.lines = o.lines[1:]
			o.size -= len(o.rest) - 1 + lineCost
		}
		taken := copy(p[n:], o.rest)
		o.rest, n = o.rest[taken:], n+taken
	}
	return n, nil
}

// An inbox handles the lines that a child's proxy writes, each with one Write, as
// they come. What the child is sent in turn is only put into its outbox, so that
// nobody waits for anybody but the client.
type inbox struct{ c *child }

func (i inbox) Write(line []byte) (int, error) {
	return len(line), i.c.said(bytes.TrimRight(line, "\r\n"))
}

// A sink takes lines for the client.
type sink struct {
	w    io.Writer
	gone func() // is called when the client takes no more

	mu  sync.Mutex
	err error
}

// write writes a line. What follows it in its array is overwritten.
func (s *sink) write(line []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		if _, s.err = s.w.Write(append(line, '\n')); s.err != nil {
			s.gone()
		}
	}
	return s.err
}

func (s *sink) failure() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// oneByOne lets one of several write at a time.
type oneByOne struct {
	mu sync.Mutex
	w  io.Writer
}

func (o *oneByOne) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.w.Write(p)
}

// prefixed says of each line which server has printed it.
type prefixed struct {
	name string
	w    io.Writer

	mu   sync.Mutex
	rest []byte
}

// maxPrinted bounds a line that is held until its end has come.
const maxPrinted = 4 << 10

func (p *prefixed) Write(text []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := len(text)
	for len(text) > 0 {
		i := bytes.IndexByte(text, '\n')
		end := i >= 0
		if !end {
			i = len(text)
		}
		take := min(i, maxPrinted-len(p.rest))
		p.rest = append(p.rest, text[:take]...)
		text = text[take:]
		if take < i || end || len(p.rest) == maxPrinted {
			if end && take == i {
				text = text[1:]
			}
			if _, err := fmt.Fprintf(p.w, "%s: %s\n", p.name, p.rest); err != nil {
				return 0, err
			}
			p.rest = p.rest[:0]
		}
	}
	return n, nil
}

// end writes what had no end.
func (p *prefixed) end() {
	p.mu.Lock()
	empty := len(p.rest) == 0
	p.mu.Unlock()
	if !empty {
		_, _ = p.Write([]byte("\n"))
	}
}
