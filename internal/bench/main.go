// Command bench measures what steady costs, in terms of the bare SDK in the same
// run, and writes the table to docs/benchmarks.md.
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"time"
)

const (
	page  = "docs/benchmarks.md"
	begin = "<!-- bench: begin -->\n"
	end   = "<!-- bench: end -->\n"
)

func main() {
	rounds := flag.Int("rounds", 3000, "how often each call is made on each server")
	sessions := flag.Int("sessions", 500, "how many idle sessions share the measured memory")
	turns := flag.Int("turns", 7, "how often that is measured for each server")
	write := flag.Bool("write", false, "write the table to "+page+", in the working directory")
	flag.Parse()
	// Beside a heap as small as that of a few servers in memory, the collector runs
	// after every few calls, and what is measured is when it does.
	ballast := make([]byte, 64<<20)
	defer runtime.KeepAlive(ballast)
	before := load()
	table, err := measure(context.Background(), *rounds, *sessions, *turns)
	if err != nil {
		log.Fatal(err)
	}
	section := conditions(*rounds, before) + "\n" + table
	fmt.Print(section)
	if *write {
		if err := replace(filepath.FromSlash(page), section); err != nil {
			log.Fatal(err)
		}
	}
}

// measure returns the whole table.
func measure(ctx context.Context, rounds, sessions, turns int) (string, error) {
	var b strings.Builder
	b.WriteString("| | bare |")
	for _, s := range stacks {
		b.WriteString(" " + s.name + " |")
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(stacks)+1) + "\n")
	if _, _, err := scenarios[0].run(ctx, rounds); err != nil { // the machine and the runtime warm up
		return "", err
	}
	for _, s := range scenarios {
		ratios, bare, err := s.run(ctx, rounds)
		if err != nil {
			return "", fmt.Errorf("%s: %w", s.name, err)
		}
		row(&b, s.name, fmt.Sprintf("%.0f µs", float64(bare)/float64(time.Microsecond)), ratios)
	}
	ratios, bare, err := idles(ctx, sessions, turns)
	if err != nil {
		return "", err
	}
	row(&b, "memory of an idle session", fmt.Sprintf("%.0f kB", bare/1000), ratios)
	return b.String(), nil
}

func row(b *strings.Builder, name, bare string, ratios []ratio) {
	fmt.Fprintf(b, "| %s | %s |", name, bare)
	for _, r := range ratios {
		fmt.Fprintf(b, " %s |", r)
	}
	b.WriteString("\n")
}

// load returns the load average of the last minute, where the system tells it.
func load() string {
	b, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	minute, _, _ := strings.Cut(string(b), " ")
	return minute
}

// conditions says what the figures were measured with; before is the load then.
func conditions(rounds int, before string) string {
	sdk := "unknown"
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			if m.Path == "github.com/modelcontextprotocol/go-sdk" {
				sdk = m.Version
			}
		}
	}
	return fmt.Sprintf("Measured on %s with %d cores (%s/%s), load average %s before and %s after, %s, SDK %s; %d calls on each server, in turns.\n",
		time.Now().UTC().Format(time.DateOnly), runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, before, load(), runtime.Version(), sdk, rounds)
}

// replace puts the section between the marks of the page.
func replace(path, section string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	before, rest, ok := bytes.Cut(text, []byte(begin))
	_, after, closed := bytes.Cut(rest, []byte(end))
	if !ok || !closed {
		return fmt.Errorf("%s has no place for the table, between %q and %q", path, strings.TrimSpace(begin), strings.TrimSpace(end))
	}
	return os.WriteFile(path, bytes.Join([][]byte{before, []byte(begin + "\n" + section + "\n" + end), after}, nil), 0o644)
}
