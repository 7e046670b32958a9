// Steady looks at MCP servers, in whatever language they are written: what goes
// wrong with them in production, what their tools cost and which clients refuse
// them, and how what they advertise has changed. It also stands in front of them.
//
// Run it without arguments for help.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/steadymcp/steady/cmd/steady/internal/report"
)

// Exit codes, the same for every command.
const (
	exitClean    = 0 // nothing found at or above the threshold
	exitFindings = 1
	exitUsage    = 2
	exitConnect  = 3 // the server could not be started, reached or understood
)

// A command is one word after "steady".
type command struct {
	name    string
	summary string
	run     func(ctx context.Context, e *env, args []string) error
}

// env is what a command has of the world.
type env struct {
	stdin          io.Reader
	stdout, stderr io.Writer
}

func commands() []command {
	return []command{
		{"doctor", "what goes wrong with a server in production, and what to do", runDoctor},
		{"lint", "what clients refuse, truncate or hide in a catalog of tools, and what it costs", runLint},
		{"snapshot", "save what a server advertises", runSnapshot},
		{"diff", "what has changed between two catalogs, and what it breaks", runDiff},
		{"proxy", "stand in front of a server: keep its session alive", runProxy},
	}
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, &env{os.Stdin, os.Stdout, os.Stderr}, os.Args[1:])
	stop()
	os.Exit(code)
}

// run runs one command line and returns the exit code.
func run(ctx context.Context, e *env, args []string) int {
	if len(args) == 0 {
		usage(e.stderr)
		return exitUsage
	}
	name, rest := args[0], args[1:]
	switch name {
	case "help", "-h", "-help", "--help":
		if len(rest) == 0 {
			usage(e.stdout)
			return exitClean
		}
		name, rest = rest[0], []string{"-h"}
	case "version", "-version", "--version":
		fmt.Fprintln(e.stdout, "steady", version())
		return exitClean
	}
	for _, c := range commands() {
		if c.name == name {
			return exitCode(e, name, c.run(ctx, e, rest))
		}
	}
	fmt.Fprintf(e.stderr, "steady: there is no command %q\n\n", name)
	usage(e.stderr)
	return exitUsage
}

func usage(w io.Writer) {
	fmt.Fprint(w, "Steady looks at MCP servers, in whatever language they are written.\n\nUsage:\n\n    steady COMMAND [flags] -- SERVER ARGS...\n    steady COMMAND [flags] -http URL\n\nCommands:\n\n")
	for _, c := range commands() {
		fmt.Fprintf(w, "    %-10s %s\n", c.name, c.summary)
	}
	fmt.Fprintf(w, "    %-10s %s\n", "version", "which steady this is")
	fmt.Fprint(w, "\nsteady COMMAND -h says more about one.\n"+exitCodeHelp)
}

const exitCodeHelp = `
Exit codes:

    0  nothing found at or above the threshold
    1  something found
    2  the command line is wrong
    3  the server could not be started, reached or understood
`

func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "(devel)"
	}
	return info.Main.Version
}

// errFound ends a command that found something.
var errFound = errors.New("found")

// A usageError is a command line that cannot be run.
type usageError struct{ text string }

func (e *usageError) Error() string { return e.text }

func badUsage(format string, args ...any) error {
	return &usageError{fmt.Sprintf(format, args...)}
}

func exitCode(e *env, name string, err error) int {
	var wrong *usageError
	switch {
	case err == nil || errors.Is(err, flag.ErrHelp):
		return exitClean
	case errors.Is(err, errFound):
		return exitFindings
	case errors.As(err, &wrong):
		fmt.Fprintf(e.stderr, "steady %s: %s\n(steady %s -h helps)\n", name, wrong.text, name)
		return exitUsage
	default:
		fmt.Fprintf(e.stderr, "steady %s: %s\n", name, report.Printable(err.Error()))
		return exitConnect
	}
}

// flagSet returns the flags of a command, whose help is text and then the flags.
func flagSet(e *env, name, text string) *flag.FlagSet {
	fs := flag.NewFlagSet(name, flag.ContinueOnError)
	fs.SetOutput(io.Discard) // what is wrong is said once, by exitCode
	fs.Usage = func() {
		fmt.Fprint(e.stdout, text+"\nFlags:\n\n")
		fs.SetOutput(e.stdout)
		fs.PrintDefaults()
		fs.SetOutput(io.Discard)
		if name == "proxy" {
			fmt.Fprint(e.stdout, proxyExitCodes)
			return
		}
		fmt.Fprint(e.stdout, exitCodeHelp)
	}
	return fs
}

// parse parses args up to "--" and returns the arguments before it and the
// command line after it, nil if there is no "--".
func parse(fs *flag.FlagSet, args []string) (rest, command []string, err error) {
	for i, a := range args {
		if a == "--" {
			args, command = args[:i], args[i+1:]
			if len(command) == 0 {
				return nil, nil, badUsage("there is no command after --")
			}
			break
		}
	}
	if err := fs.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return nil, nil, err
		}
		return nil, nil, badUsage("%v", err)
	}
	return fs.Args(), command, nil
}

// repeated is a flag that may be given more than once.
type repeated []string

func (r *repeated) String() string { return strings.Join(*r, ", ") }

func (r *repeated) Set(s string) error {
	*r = append(*r, s)
	return nil
}
