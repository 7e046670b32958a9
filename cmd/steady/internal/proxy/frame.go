package proxy

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"regexp"
)

// Sizes of what a line makes us hold.
const (
	readSize = 64 << 10 // bytes asked for at a time
	keepSize = 1 << 20  // a larger buffer is given back after its line
	cutHead  = 4 << 10  // bytes kept of the beginning of a line that is too long
	cutTail  = 256      // and of its end
)

// frames reads lines. One that is longer than limit bytes is read to its end, of
// which no more than its beginning and its end are kept.
type frames struct {
	r     *bufio.Reader
	limit int
	long  []byte // a line that is longer than the reader's buffer
}

func newFrames(r io.Reader, limit int) *frames {
	return &frames{r: bufio.NewReaderSize(r, readSize), limit: limit}
}

// next returns a line without its end, which is valid until the next call. cut
// says that it was too long: then it is the beginning of the line, and tail its
// end. The last line may have had no end. The error is the reader's.
func (f *frames) next() (line, tail []byte, cut bool, err error) {
	if cap(f.long) > keepSize {
		f.long = nil
	}
	f.long = f.long[:0]
	for {
		part, err := f.r.ReadSlice('\n')
		more := errors.Is(err, bufio.ErrBufferFull)
		switch {
		case cut:
			tail = append(tail, part[max(0, len(part)-cutTail):]...)
			tail = tail[max(0, len(tail)-cutTail):]
		case !more && len(f.long) == 0 && len(part) <= f.limit:
			line = part
		case len(f.long)+len(part) > f.limit:
			f.long = append(f.long, part...)
			cut = true
			tail = bytes.Clone(f.long[max(0, len(f.long)-cutTail):])
			f.long = bytes.Clone(f.long[:min(cutHead, len(f.long))])
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
			return nil, nil, false, err
		}
		return line, bytes.TrimRight(tail, "\r\n"), cut, nil
	}
}

var idAtEnd = regexp.MustCompile(`"id"\s*:\s*("(?:[^"\\]|\\.)*"|-?\d+)\s*\}\s*$`)

// identify returns what can be told of a message that was too long: its id,
// from whichever end has it, and whether it is a request, not a response.
func identify(head, tail []byte) (id []byte, request bool) {
	members(head, func(key, value []byte) {
		switch string(key) {
		case "id":
			if isID(value) {
				id = value
			}
		case "method":
			request = true
		}
	})
	if id == nil {
		if m := idAtEnd.FindSubmatch(tail); m != nil {
			id = m[1]
		}
	}
	return id, request
}
