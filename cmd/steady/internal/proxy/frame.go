package proxy

import (
	"io"

	"github.com/steadymcp/steady/cmd/steady/internal/jsonl"
)

// frames reads lines.
type frames struct{ *jsonl.Reader }

func newFrames(r io.Reader, limit int) *frames { return &frames{jsonl.NewReader(r, limit)} }

func (f *frames) next() (line, tail []byte, cut bool, err error) { return f.Next() }

var identify = jsonl.Identify
