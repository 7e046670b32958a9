// Package jsonl reads lines that hold one JSON value each, and looks into and
// changes them without decoding them, so that what nobody asked for stays as it
// was written.
package jsonl

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"sync"
)

// Sizes of what a line makes us hold.
const (
	readSize = 64 << 10 // bytes asked for at a time
	keepSize = 1 << 20  // a larger buffer is given back after its line
	CutHead  = 4 << 10  // bytes kept of the beginning of a line that is too long
	CutTail  = 256      // and of its end
)

// A Reader reads lines. One that is longer than limit bytes is read to its end, of
// which no more than its beginning and its end are kept.
type Reader struct {
	r     *bufio.Reader
	limit int
	err   error  // what it ended with
	long  []byte // a line that is longer than the reader's buffer
}

// buffers are those of Readers that have come to their end: some live no longer
// than one answer.
var buffers = sync.Pool{New: func() any { return bufio.NewReaderSize(nil, readSize) }}

// NewReader returns a Reader for lines of at most limit bytes.
func NewReader(r io.Reader, limit int) *Reader {
	b := buffers.Get().(*bufio.Reader)
	b.Reset(r)
	return &Reader{r: b, limit: limit}
}

// Next returns a line without its end, which is valid until the next call. cut
// says that it was too long: then it is the beginning of the line, and tail its
// end. The last line may have had no end. The error is the reader's, and stays.
func (f *Reader) Next() (line, tail []byte, cut bool, err error) {
	if f.err != nil {
		return nil, nil, false, f.err
	}
	if cap(f.long) > keepSize {
		f.long = nil
	}
	f.long = f.long[:0]
	for {
		part, err := f.r.ReadSlice('\n')
		more := errors.Is(err, bufio.ErrBufferFull)
		switch {
		case cut:
			tail = append(tail, part[max(0, len(part)-CutTail):]...)
			tail = tail[max(0, len(tail)-CutTail):]
		case !more && len(f.long) == 0 && len(part) <= f.limit:
			line = part
		case len(f.long)+len(part) > f.limit:
			f.long = append(f.long, part...)
			cut = true
			tail = bytes.Clone(f.long[max(0, len(f.long)-CutTail):])
			f.long = bytes.Clone(f.long[:min(CutHead, len(f.long))])
		default:
			f.long = append(f.long, part...)
		}
		if more {
			continue
		}
		if len(f.long) > 0 {
			line = f.long
		}
		line = bytes.TrimRight(line, "\r\n")
		if err != nil && len(line) == 0 {
			f.r.Reset(nil)
			buffers.Put(f.r)
			f.r, f.err = nil, err
			return nil, nil, false, err
		}
		return line, bytes.TrimRight(tail, "\r\n"), cut, nil
	}
}
