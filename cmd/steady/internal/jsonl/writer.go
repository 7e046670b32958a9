package jsonl

import (
	"io"
	"sync"
)

// A Writer writes lines, each with one Write, for any number of goroutines.
type Writer struct {
	mu sync.Mutex
	w  io.Writer
}

// NewWriter returns a Writer to w.
func NewWriter(w io.Writer) *Writer { return &Writer{w: w} }

// Line writes a line and a line feed. What follows the line in its array is
// overwritten: there stands its own end.
func (w *Writer) Line(line []byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, err := w.w.Write(append(line, '\n'))
	return err
}
