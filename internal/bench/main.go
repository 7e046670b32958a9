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
	rounds := flag.Int("rounds", 2000, "how often each call is made on each server")
	sessions := flag.Int("sessions", 500, "how many idle sessions share the measured memory")
	write := flag.Bool("write", false, "write the table to "+page+", in the working directory")
	flag.Parse()
	table, err := measure(context.Background(), *rounds, *sessions)
	if err != nil {
		log.Fatal(err)
	}
	section := conditions(*rounds) + "\n" + table
	fmt.Print(section)
	if *write {
		if err := replace(filepath.FromSlash(page), section); err != nil {
			log.Fatal(err)
		}
	}
}

// measure returns the whole table.
func measure(ctx context.Context, rounds, sessions int) (string, error) {
	var b strings.Builder
	b.WriteString("| | bare |")
	for _, s := range stacks {
		b.WriteString(" " + s.name + " |")
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(stacks)+1) + "\n")
	for _, s := range scenarios {
		ratios, bare, err := s.run(ctx, rounds)
		if err != nil {
			return "", fmt.Errorf("%s: %w", s.name, err)
		}
		fmt.Fprintf(&b, "| %s | %.0f µs |", s.name, float64(bare)/float64(time.Microsecond))
		for _, r := range ratios {
			fmt.Fprintf(&b, " %s |", r)
		}
		b.WriteString("\n")
	}
	bare, err := idle(ctx, nil, sessions)
	if err != nil {
		return "", err
	}
	fmt.Fprintf(&b, "| memory of an idle session | %.0f kB |", bare/1000)
	for _, s := range stacks {
		bytes, err := idle(ctx, &s, sessions)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, " %.2f |", bytes/bare)
	}
	b.WriteString("\n")
	return b.String(), nil
}

// conditions says what the figures were measured with.
func conditions(rounds int) string {
	sdk := "unknown"
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			if m.Path == "github.com/modelcontextprotocol/go-sdk" {
				sdk = m.Version
			}
		}
	}
	load := ""
	if b, err := os.ReadFile("/proc/loadavg"); err == nil {
		load, _, _ = strings.Cut(string(b), " ")
		load = ", load average " + load
	}
	return fmt.Sprintf("Measured on %s with %d cores (%s/%s)%s, %s, SDK %s; %d calls on each server, in turns.\n",
		time.Now().UTC().Format(time.DateOnly), runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, load, runtime.Version(), sdk, rounds)
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
