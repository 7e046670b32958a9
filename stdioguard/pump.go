package stdioguard

import (
	"bytes"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	// pumpQueue bounds the diverted text that waits for standard error.
	pumpQueue = 256 << 10
	// pumpChunk is how much of it is written at a time: what is
	// atomic on a pipe of Linux, so that lines do not mix with those of
	// others.
	pumpChunk = 4 << 10
	// pumpPartial is how long the rest of a line may take before its
	// beginning is shown.
	pumpPartial = 200 * time.Millisecond
	// divertedEvery is how often Diverted is sent at most.
	divertedEvery = 10 * time.Second
	// firstLine bounds Diverted.FirstLine.
	firstLine = 200
)

// A pump carries diverted text from a pipe to standard error.
//
// One goroutine reads the pipe and does nothing else but queue, so that
// whoever prints never waits for more than this process's own scheduler. The
// other one writes, and is the only one that may wait for standard error. What
// does not fit into the queue is dropped by whole lines, and counted.
type pump struct {
	from   *os.File  // the read end of the pipe
	to     io.Writer // standard error; nil to drop everything
	prefix string
	report func(Diverted)

	mu       sync.Mutex
	more     sync.Cond // something below has changed
	queue    []byte
	taken    []byte // what the writer has taken and not yet written
	partial  bool   // the last line of the queue has waited long enough for its rest
	waiting  bool   // a timer will set partial
	dropping bool   // the reader is inside a line that is being dropped
	over     bool   // the pipe is closed
	stats    Stats
	told     int64 // of stats.DroppedBytes, how many standard error was told of

	since    Stats // at the last event
	first    []byte
	firstEnd bool
	eventAt  time.Time
	timer    *time.Timer // of an event that is due
}

// newPump starts a pump. A nil to, and that must be a nil interface, drops
// everything.
func newPump(from *os.File, to io.WriteCloser, prefix string, report func(Diverted)) *pump {
	p := &pump{from: from, prefix: prefix, report: report}
	p.more.L = &p.mu
	if to != nil {
		p.to = to
		go p.write(to)
	}
	go p.read()
	return p
}

// read queues until nobody has the other end of the pipe any more, which may
// be long after Close: a child can outlive us, and must not meet a closed pipe.
func (p *pump) read() {
	buf := make([]byte, readSize)
	for {
		if err := readPipe(p.from, &p.mu, buf, p.put); err != nil {
			break
		}
	}
	p.mu.Lock()
	p.over = true
	_ = p.from.Close()
	p.more.Broadcast()
	p.mu.Unlock()
}

// put queues what fits of b. It is called with mu held.
func (p *pump) put(b []byte) {
	defer p.more.Broadcast()
	p.stats.DivertedBytes += int64(len(b))
	p.stats.DivertedLines += int64(bytes.Count(b, []byte{'\n'}))
	p.note(b)
	if p.to == nil {
		p.drop(b)
		return
	}
	if p.dropping {
		i := bytes.IndexByte(b, '\n') + 1
		if i == 0 {
			p.drop(b)
			return
		}
		p.drop(b[:i])
		p.dropping = false
		b = b[i:]
	}
	if room := pumpQueue - len(p.queue); len(b) > room {
		fits := bytes.LastIndexByte(b[:room], '\n') + 1
		p.queue = append(p.queue, b[:fits]...)
		// A line whose rest is dropped is dropped.
		whole := bytes.LastIndexByte(p.queue, '\n') + 1
		p.drop(p.queue[whole:])
		p.queue = p.queue[:whole]
		p.drop(b[fits:])
		p.dropping = b[len(b)-1] != '\n'
		return
	}
	p.queue = append(p.queue, b...)
}

func (p *pump) drop(b []byte) {
	p.stats.DroppedBytes += int64(len(b))
	p.stats.DroppedLines += int64(bytes.Count(b, []byte{'\n'}))
}

// note keeps the first line for the next event, and sends the event when it is
// due. Text that names our own events does not call for another one: where
// events are logged to standard output, each would beget the next.
func (p *pump) note(b []byte) {
	if bytes.Contains(b, []byte("stdioguard.")) {
		return
	}
	if !p.firstEnd {
		head, _, found := bytes.Cut(b, []byte{'\n'})
		p.first = append(p.first, head[:min(len(head), firstLine-len(p.first))]...)
		p.firstEnd = found || len(p.first) == firstLine
	}
	if p.timer != nil {
		return
	}
	wait := pumpPartial // the rest of the line may be on its way
	if p.firstEnd {
		wait = 0
	}
	wait = max(wait, divertedEvery-time.Since(p.eventAt))
	p.timer = time.AfterFunc(wait, p.send)
}

// send reports what has happened since the last event.
func (p *pump) send() {
	p.mu.Lock()
	e := p.event()
	p.mu.Unlock()
	p.report(e)
}

// event returns the next event. It is called with mu held.
func (p *pump) event() Diverted {
	e := Diverted{
		FirstLine: strings.ToValidUTF8(string(bytes.TrimRight(p.first, "\r")), "\ufffd"),
		Lines:     p.stats.DivertedLines - p.since.DivertedLines,
		Bytes:     p.stats.DivertedBytes - p.since.DivertedBytes,
		Dropped:   p.stats.DroppedBytes - p.since.DroppedBytes,
	}
	p.since = p.stats
	p.first, p.firstEnd = p.first[:0], false
	p.eventAt = time.Now()
	p.timer = nil
	return e
}

// write writes what is queued, until the pipe is closed or it has given up.
func (p *pump) write(to io.WriteCloser) {
	defer to.Close()
	var text, out []byte
	for {
		var dropped int64
		text, dropped = p.take(text[:0])
		if len(text) == 0 && dropped == 0 {
			return
		}
		for rest := text; len(rest) > 0; {
			n := 0
			out, n = p.appendLines(out[:0], rest)
			if _, err := to.Write(out); err != nil {
				// Nobody will read standard error any more.
				p.mu.Lock()
				p.giveUp()
				p.mu.Unlock()
				return
			}
			rest = rest[n:]
			p.mu.Lock()
			p.taken = rest
			p.mu.Unlock()
		}
		if dropped > 0 {
			out = strconv.AppendInt(append(out[:0], p.prefix...), dropped, 10)
			out = append(out, " bytes dropped, because standard error was not read in time\n"...)
			_, _ = to.Write(out) // if that fails, the next one does
		}
	}
}

// appendLines appends the first lines of text, with their prefix, as many as
// go into one chunk and at least one. It returns how much of text they are.
func (p *pump) appendLines(dst, text []byte) (_ []byte, n int) {
	for n < len(text) {
		end := bytes.IndexByte(text[n:], '\n')
		next := n + end + 1
		if end < 0 {
			end, next = len(text)-n, len(text)
		}
		if n > 0 && len(dst)+len(p.prefix)+end+1 > pumpChunk {
			break
		}
		dst = append(append(append(dst, p.prefix...), text[n:n+end]...), '\n')
		n = next
	}
	return dst, n
}

// take waits for lines to write, and appends them to dst. It also returns how
// many bytes were dropped since it was last called. Without either there will
// be no more.
func (p *pump) take(dst []byte) (text []byte, dropped int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.taken = nil
	p.more.Broadcast()
	for {
		if p.to == nil {
			return nil, 0
		}
		n := bytes.LastIndexByte(p.queue, '\n') + 1
		if p.partial || p.over {
			n = len(p.queue)
		}
		if n > 0 || p.over {
			p.taken = append(dst, p.queue[:n]...)
			p.queue = append(p.queue[:0], p.queue[n:]...)
			p.partial = false
			dropped = p.stats.DroppedBytes - p.told
			p.told = p.stats.DroppedBytes
			return p.taken, dropped
		}
		if len(p.queue) > 0 && !p.waiting {
			p.waiting = true
			time.AfterFunc(pumpPartial, func() {
				p.mu.Lock()
				defer p.mu.Unlock()
				p.partial, p.waiting = true, false
				p.more.Broadcast()
			})
		}
		p.more.Wait()
	}
}

// giveUp counts as dropped what has not been written, and everything to come.
func (p *pump) giveUp() {
	if p.to == nil {
		return
	}
	p.drop(p.taken)
	p.drop(p.queue)
	p.queue, p.taken, p.to = nil, nil, nil
	p.more.Broadcast()
}

// settle waits until everything that was written to the pipe before has been
// written to standard error, or for d: then the rest is counted as dropped.
func (p *pump) settle(d time.Duration) {
	expired := false
	timer := time.AfterFunc(max(d, 0), func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		expired = true
		p.more.Broadcast()
	})
	defer timer.Stop()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.partial = true
	p.more.Broadcast()
	for !p.idle() && !expired {
		p.more.Wait()
	}
	if !p.idle() {
		p.giveUp()
	}
	if p.timer != nil && p.timer.Stop() {
		p.report(p.event())
	}
}

// idle reports whether nothing is on its way. It is called with mu held, as is
// every read of the pipe.
func (p *pump) idle() bool {
	return len(p.queue) == 0 && len(p.taken) == 0 && (p.over || pipeEmpty(p.from))
}
