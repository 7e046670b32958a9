package launch

import (
	"regexp"
	"strings"
	"time"
)

// maxWords is how many bytes of a line of standard error are repeated.
const maxWords = 300

// LastWords says how the process ended and what it wrote last. It waits a moment
// for the end. What it returns is not masked.
func (p *Process) LastWords() string {
	var out string
	if wait(p.ended, time.Second) {
		out = " (" + p.Status() + ")"
	}
	line := cause(p.Stderr())
	if line == "" {
		return out
	}
	if len(line) > maxWords {
		line = strings.ToValidUTF8(line[:maxWords], "") + "…"
	}
	return out + "; on standard error: " + line
}

var deathLine = regexp.MustCompile(`(?m)^.*(?:panic:|fatal error:|Error:|Exception|panicked at|Traceback).*$`)

// cause returns the line of standard error that says why a process died.
func cause(stderr string) string {
	if m := deathLine.FindString(stderr); m != "" {
		return strings.TrimSpace(m)
	}
	stderr = strings.TrimSpace(stderr)
	return stderr[strings.LastIndexByte(stderr, '\n')+1:]
}
