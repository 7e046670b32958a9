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
	w     io.WriteCloser
	limit int // bytes

	mu     sync.Mutex
	more   chan struct{} // has a value when there may be something to do
	lines  [][]byte
	size   int
	ending bool
}

// lineCost is what a line costs besides its bytes.
const lineCost = 64

func newOutbox(w io.WriteCloser, limit int) *outbox {
	return &outbox{w: w, limit: limit, more: make(chan struct{}, 1)}
}

func (o *outbox) push(line []byte) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.ending || o.size > 0 && o.size+len(line)+lineCost > o.limit {
		return false
	}
	o.lines, o.size = append(o.lines, line), o.size+len(line)+lineCost
	o.wake()
	return true
}

// finish ends the child's input after what it was sent.
func (o *outbox) finish() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ending = true
	o.wake()
}

func (o *outbox) wake() {
	select {
	case o.more <- struct{}{}:
	default:
	}
}

// run writes until finish, or until the child takes no more.
func (o *outbox) run() {
	defer o.w.Close()
	for range o.more {
		for {
			o.mu.Lock()
			lines, ending := o.lines, o.ending
			o.lines = nil
			o.mu.Unlock()
			if len(lines) == 0 {
				if ending {
					return
				}
				break
			}
			for _, line := range lines {
				_, err := o.w.Write(append(line, '\n'))
				o.mu.Lock()
				o.size -= len(line) + lineCost
				o.mu.Unlock()
				if err != nil {
					o.mu.Lock()
					o.ending = true
					o.mu.Unlock()
					return
				}
			}
		}
	}
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

// A logger writes lines without making anybody wait: what nobody reads is dropped.
type logger struct {
	lines chan string
	done  chan struct{}
	mu    sync.Mutex
	off   bool
}

func newLog(w io.Writer) *logger {
	l := &logger{lines: make(chan string, 256), done: make(chan struct{})}
	go func() {
		defer close(l.done)
		for line := range l.lines {
			_, _ = io.WriteString(w, line)
		}
	}()
	return l
}

func (l *logger) say(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.off {
		return
	}
	select {
	case l.lines <- "steady proxy: " + fmt.Sprintf(format, args...) + "\n":
	default:
	}
}

// close waits a moment for what is left.
func (l *logger) close() {
	l.mu.Lock()
	if !l.off {
		l.off = true
		close(l.lines)
	}
	l.mu.Unlock()
	waitFor(l.done, grace)
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
