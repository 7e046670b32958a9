package catalog

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"sync"
)

// SlogSink returns a sink that writes each report as one record at Info. A nil
// logger means [slog.Default].
func SlogSink(logger *slog.Logger) Sink {
	return SinkFunc(func(ctx context.Context, r Report) error {
		l := logger
		if l == nil {
			l = slog.Default()
		}
		l.LogAttrs(ctx, slog.LevelInfo, "catalog.report", slog.String("category", r.Category), slog.String("severity", r.Severity),
			slog.String("endpoint", r.Endpoint), slog.Bool("known", r.Known), slog.String("caller", r.Caller),
			slog.String("expected", r.Expected), slog.String("got", r.Got), slog.String("source", r.Source))
		return nil
	})
}

// FileSinkOptions configures a [FileSink]. The zero value is ready to use.
type FileSinkOptions struct {
	// MaxBytes after which the file is rotated. If zero, 10 MiB.
	MaxBytes int64
	// Keep is how many rotated files stay, as name.1 (the youngest), name.2 and
	// so on. If zero, 3; if negative, none.
	Keep int
}

// A FileSink appends reports to a file, one JSON object a line. One process
// may write a file.
type FileSink struct {
	path string
	max  int64
	keep int

	mu     sync.Mutex
	file   *os.File
	size   int64
	closed bool
}

// NewFileSink returns a sink on a file, which is opened at the first report,
// readable and writable by its owner only.
func NewFileSink(path string, opts *FileSinkOptions) (*FileSink, error) {
	if path == "" {
		return nil, fmt.Errorf("catalog: the feedback file has no name")
	}
	s := &FileSink{path: path, max: 10 << 20, keep: 3}
	if opts != nil {
		if opts.MaxBytes > 0 {
			s.max = opts.MaxBytes
		}
		if opts.Keep != 0 {
			s.keep = max(opts.Keep, 0)
		}
	}
	return s, nil
}

// Report implements [Sink].
func (s *FileSink) Report(_ context.Context, r Report) error {
	line, err := json.Marshal(r)
	if err != nil {
		return err
	}
	line = append(line, '\n')
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return os.ErrClosed
	}
	if err := s.open(); err != nil {
		return err
	}
	if s.size > 0 && s.size+int64(len(line)) > s.max {
		if err := s.rotate(); err != nil {
			return err
		}
	}
	n, err := s.file.Write(line)
	s.size += int64(n)
	return err
}

func (s *FileSink) open() error {
	if s.file != nil {
		return nil
	}
	f, err := os.OpenFile(s.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		_ = f.Close()
		return err
	}
	s.file, s.size = f, info.Size()
	return nil
}

// rotate moves each file up by one and begins a new one.
func (s *FileSink) rotate() error {
	err := s.file.Close()
	s.file = nil
	if err != nil {
		return err
	}
	for i := s.keep; i > 0; i-- {
		from := s.path
		if i > 1 {
			from = fmt.Sprintf("%s.%d", s.path, i-1)
		}
		if err := os.Rename(from, fmt.Sprintf("%s.%d", s.path, i)); err != nil && !os.IsNotExist(err) {
			return err
		}
	}
	if s.keep == 0 {
		if err := os.Remove(s.path); err != nil {
			return err
		}
	}
	return s.open()
}

// Close closes the file. Later reports are refused.
func (s *FileSink) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	if s.file == nil {
		return nil
	}
	f := s.file
	s.file = nil
	return f.Close()
}
