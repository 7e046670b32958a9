package stdioguard

import (
	"bytes"
	"io"
)

// readSize is what one read of a pipe can return.
const readSize = 64 << 10

// keptBuffer bounds the buffers that stay allocated between messages, one for
// reading and one for writing.
const keptBuffer = 4 << 20

// A lineReader cuts a stream into lines of bounded length.
type lineReader struct {
	r     io.Reader
	limit int // bytes of a line, its LF not counted; negative: unbounded
	buf   []byte
	start int // of the line that is being read
	begun bool
	err   error // of r, once it has failed
}

// A line is one line of the stream, without its LF.
type line struct {
	// text is valid until the next call.
	text []byte
	// tooLong says that the line passed the limit: size is its length, text
	// is empty, and sniffed is what is known of it.
	tooLong bool
	size    int64
	sniffed *idSniffer
}

var byteOrderMark = []byte("\ufeff")

// next returns the next line. A last line without LF is a line. When the
// stream has ended it returns the reader's error.
func (l *lineReader) next() (line, error) {
	l.skipMark()
	searched := l.start
	for {
		if i := bytes.IndexByte(l.buf[searched:], '\n'); i >= 0 {
			end := searched + i
			if exceeds(end-l.start, l.limit) {
				return l.skip(), nil
			}
			text := l.buf[l.start:end]
			l.start = end + 1
			return line{text: text, size: int64(len(text))}, nil
		}
		searched = len(l.buf)
		if exceeds(len(l.buf)-l.start, l.limit) {
			return l.skip(), nil
		}
		if l.err != nil {
			if text := l.buf[l.start:]; len(text) > 0 {
				l.start = len(l.buf)
				return line{text: text, size: int64(len(text))}, nil
			}
			return line{}, l.err
		}
		searched -= l.fill()
	}
}

// skipMark skips one byte order mark at the beginning of the stream.
func (l *lineReader) skipMark() {
	if l.begun {
		return
	}
	l.begun = true
	for l.err == nil && len(l.buf) < len(byteOrderMark) && bytes.HasPrefix(byteOrderMark, l.buf) {
		l.fill()
	}
	if bytes.HasPrefix(l.buf, byteOrderMark) {
		l.start = len(byteOrderMark)
	}
}

// fill reads once, and returns by how much it has moved what was there.
func (l *lineReader) fill() (moved int) {
	unread := l.buf[l.start:]
	switch {
	case cap(l.buf) > keptBuffer && len(unread) < readSize: // it held a long line
		l.buf = append(make([]byte, 0, 2*readSize), unread...)
		moved, l.start = l.start, 0
	case len(unread) == 0 || cap(l.buf)-len(l.buf) < readSize/2:
		l.buf = l.buf[:copy(l.buf, unread)]
		moved, l.start = l.start, 0
	}
	if cap(l.buf)-len(l.buf) < readSize/2 {
		l.buf = append(make([]byte, 0, 2*cap(l.buf)+readSize), l.buf...)
	}
	n, err := l.r.Read(l.buf[len(l.buf):cap(l.buf)])
	l.buf = l.buf[:len(l.buf)+n]
	l.err = err
	return moved
}

// skip drops the line that has passed the limit, looking for its id.
func (l *lineReader) skip() line {
	ln := line{tooLong: true, sniffed: new(idSniffer)}
	for {
		rest := l.buf[l.start:]
		i := bytes.IndexByte(rest, '\n')
		if i >= 0 {
			rest = rest[:i]
		}
		ln.sniffed.feed(rest)
		ln.size += int64(len(rest))
		l.start += len(rest)
		switch {
		case i >= 0:
			l.start++
			return ln
		case l.err != nil:
			return ln
		}
		l.fill()
	}
}
