package errors

import (
	"regexp"
	"strings"
)

// Redact returns a text that somebody else's program wrote for its failure, as it
// may be shown: stack traces are replaced by a mark, and credentials are masked as by
// [Mask]. The message of the error that a trace belongs to stays.
func Redact(text string) string { return scrub(untraced(text)) }

// traceMark stands where a stack trace stood.
const traceMark = "[stack trace left out]"

var (
	// traceLine is a line of a stack trace, whatever stands around it: of JavaScript,
	// Java and .NET, of Python, of Ruby, of PHP, of Go, of Rust.
	traceLine = regexp.MustCompile(`^\s+at .*(?:\)|\w\.\w+:\d+(?::\d+)?|:line \d+|:\d+:\d+)$` +
		`|^\s*\.\.\. \d+ more$` +
		`|^\s+File ".+", line \d+` +
		`|^\s*(?:from )?\S+\.rb:\d+:in ` +
		`|^#\d+ (?:.+\(\d+\): |\{main\})` +
		`|^\s*\S+\.go:\d+(?: \+0x[0-9a-f]+)?$|^created by \S+|^\s*panic\(.*\)$` +
		`|^\s+\d+: +(?:0x[0-9a-f]+ - )?\S+::|^note: run with .RUST_BACKTRACE`)
	// traceHead is a line that begins one and says nothing else.
	traceHead = regexp.MustCompile(`^\s*(?:Traceback \(most recent call last\):|[Ss]tack ?trace:|stack backtrace:|goroutine \d+ \[.*\]:)\s*$`)
	// traceEscaped is a trace within one line, where line feeds are written as \n.
	traceEscaped = regexp.MustCompile(`(?:\\n(?:\\t|\s)+at (?:[^\\"]|\\[^n"])*)+`)
	goCall       = regexp.MustCompile(`^[\w./*()\[\]·-]+\(.*\)$`)
)

// untraced returns text without its stack traces.
func untraced(text string) string {
	if strings.Contains(text, `\n`) {
		text = traceEscaped.ReplaceAllString(text, ` `+traceMark)
	}
	if !strings.Contains(text, "\n") {
		return text
	}
	lines := strings.Split(text, "\n")
	kept := lines[:0:0]
	const (
		outside = iota
		inside
		python // code stands between the lines of its traces
		golang // and the names of functions between those of Go's
	)
	state, found := outside, false
	for i, line := range lines {
		line := strings.TrimSuffix(line, "\r")
		head := traceHead.MatchString(line)
		switch {
		case head && strings.Contains(line, "Traceback"):
			state = python
		case head && strings.Contains(line, "goroutine"):
			state = golang
		case head || traceLine.MatchString(line):
			if state == outside {
				state = inside
			}
		case state == python && strings.HasPrefix(line, " "):
		case state == golang && (line == "" || goCall.MatchString(line)):
		case strings.HasPrefix(line, "\t") && state != outside:
		default:
			state = outside
			kept = append(kept, lines[i])
			continue
		}
		found = true
		if n := len(kept); n == 0 || kept[n-1] != traceMark {
			kept = append(kept, traceMark)
		}
	}
	if !found {
		return text
	}
	return strings.Join(kept, "\n")
}
