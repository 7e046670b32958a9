// Package launch starts the server that a command looks at, or connects to it,
// and carries lines to and from it: as they are, so that a fault is seen that a
// client would hide.
package launch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"
)

// Bounds on what a server can make us hold.
const (
	maxLine   = 32 << 20  // bytes of one line; the rest of it is dropped
	maxOutput = 512 << 20 // bytes in all, after which the server is given up
	maxStderr = 64 << 10  // bytes of the tail of standard error that are kept
)

// A Target is a server to start or to connect to.
type Target struct {
	Command []string
	Env     []string // in addition to our own, NAME=VALUE
	Dir     string   // "" for ours

	URL    string // of a Streamable HTTP endpoint, if there is no Command
	Header http.Header
}

// IsHTTP reports whether the server is reached over HTTP.
func (t *Target) IsHTTP() bool { return len(t.Command) == 0 }

// Connect starts the server or prepares a connection to it. More environment
// may be given for this one start; it is of no use over HTTP.
func (t *Target) Connect(ctx context.Context, moreEnv ...string) (Conn, error) {
	if t.IsHTTP() {
		if t.URL == "" {
			return nil, errors.New("there is neither a command nor a URL")
		}
		return dial(t), nil
	}
	return t.Start(ctx, moreEnv...)
}

// A Conn carries messages to a server and back.
type Conn interface {
	// Send sends one message. It returns an error if the server cannot take
	// it; over HTTP what goes wrong later arrives as a Line.
	Send(ctx context.Context, message []byte) error
	// Lines delivers what the server sends. It is closed when no more comes.
	Lines() <-chan Line
	// Close ends the connection and, if it was started, the server with
	// everything that it started.
	Close() error
}

// A Line is what came from the server: a line of standard output without its
// end, or a message over HTTP.
type Line struct {
	Text []byte
	// Cut says that the line was longer than we hold.
	Cut bool
	// Partial says that the output ended within the line.
	Partial bool
	// Err, if not nil, says that the message with the id For has no answer
	// because its request failed. For is nil for a notification.
	Err error
	For json.RawMessage
}

// ErrNotReading is returned by Send when the server has stopped reading.
var ErrNotReading = errors.New("the server does not read its standard input")

// sendTimeout is how long a write may block.
const sendTimeout = 10 * time.Second

// String returns what is started or connected to, without what is secret.
func (t *Target) String() string {
	s := t.URL
	if !t.IsHTTP() {
		s = strings.Join(t.Command, " ")
	}
	return t.Secrets().Mask(s)
}

// CheckDir says that a directory to start in is none. The system says of that only
// that something does not exist, and not what.
func CheckDir(dir string) error {
	if dir == "" {
		return nil
	}
	info, err := os.Stat(dir)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is no directory", dir)
	}
	return err
}
