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
	searched := l.start
	for {
		if i := bytes.IndexByte(l.buf[searched:], '\n'); i >= 0 {
			end := searched + i
			if l.limit >= 0 && end-l.start > l.limit {
				return l.skip()
			}
			text := l.trimMark(l.buf[l.start:end])
			ln := line{text: text, size: int64(end - l.start)}
			l.start = end + 1
			return ln, nil
		}
		searched = len(l.buf)
		if l.limit >= 0 && len(l.buf)-l.start > l.limit {
			return l.skip()
		}
		if l.err != nil {
			if l.start < len(l.buf) {
				text := l.trimMark(l.buf[l.start:])
				l.start = len(l.buf)
				return line{text: text, size: int64(len(text))}, nil
			}
			return line{}, l.err
		}
		moved := l.fill()
		searched -= moved
	}
}

// fill reads once, and returns by how much it has moved what was there.
func (l *lineReader) fill() (moved int) {
	if l.start > 0 && (l.start == len(l.buf) || cap(l.buf)-len(l.buf) < readSize/2) {
		moved = l.start
		l.buf = l.buf[:copy(l.buf, l.buf[l.start:])]
		l.start = 0
	}
	if cap(l.buf) > keptBuffer && len(l.buf) < readSize {
		l.buf = append(make([]byte, 0, 2*readSize), l.buf...) // it held a long line
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
func (l *lineReader) skip() (line, error) {
	ln := line{tooLong: true, sniffed: new(idSniffer)}
	for {
		rest := l.trimMark(l.buf[l.start:])
		if i := bytes.IndexByte(rest, '\n'); i >= 0 {
			ln.sniffed.feed(rest[:i])
			ln.size += int64(i)
			l.start = len(l.buf) - len(rest) + i + 1
			return ln, nil
		}
		ln.sniffed.feed(rest)
		ln.size += int64(len(rest))
		l.buf, l.start = l.buf[:0], 0
		if l.err != nil {
			return ln, nil
		}
		l.fill()
	}
}

// trimMark removes one byte order mark from the beginning of the stream.
func (l *lineReader) trimMark(b []byte) []byte {
	if l.begun {
		return b
	}
	l.begun = true
	return bytes.TrimPrefix(b, byteOrderMark)
}
