package proxy

import (
	"fmt"
	"io"
	"sync"
)

const (
	logLines = 256
	logLine  = 4 << 10 // bytes of one line
)

// A logger writes lines without ever making those wait who have something to
// say: where nobody reads, lines are dropped and counted.
type logger struct {
	lines chan string
	done  chan struct{}

	mu      sync.Mutex
	closed  bool
	dropped int
}

func newLog(w io.Writer) *logger {
	l := &logger{lines: make(chan string, logLines), done: make(chan struct{})}
	go func() {
		defer close(l.done)
		for line := range l.lines {
			_, _ = io.WriteString(w, line)
		}
	}()
	return l
}

// say writes what the proxy has to say.
func (l *logger) say(format string, args ...any) {
	l.line("steady proxy: " + fmt.Sprintf(format, args...))
}

// stray writes what the server has printed.
func (l *logger) stray(text []byte) {
	cut := ""
	if len(text) > logLine {
		text, cut = text[:logLine], "..."
	}
	l.line(fmt.Sprintf("steady proxy: printed by the server: %q%s", text, cut))
}

func (l *logger) line(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return
	}
	if l.dropped > 0 {
		text = fmt.Sprintf("steady proxy: %d lines were dropped here, since nobody read them\n%s", l.dropped, text)
	}
	select {
	case l.lines <- text + "\n":
		l.dropped = 0
	default:
		l.dropped++
	}
}

// A Log is what the proxy logs with, for what stands beside it.
type Log struct{ l *logger }

// NewLog returns a Log that writes to w, a line at a time.
func NewLog(w io.Writer) Log { return Log{newLog(w)} }

// Say writes a line. Where nobody reads, it is dropped and counted.
func (l Log) Say(format string, args ...any) { l.l.say(format, args...) }

// Close waits a moment for what is left.
func (l Log) Close() { l.l.close() }

// close waits a moment for what is left.
func (l *logger) close() {
	l.mu.Lock()
	if !l.closed {
		l.closed = true
		close(l.lines)
	}
	l.mu.Unlock()
	waitFor(l.done, grace)
}
