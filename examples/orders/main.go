// Orders is a small order desk as a server of the Model Context Protocol:
// nine tools named after tasks, on stdio or HTTP, hardened with steady.
//
// With -tasks the exports outlive the process, and several processes share them.
//
// Flags make it worse again, for comparison: -bug puts a mistake in, -bare
// leaves steady out, -catalog endpoints has a tool for each endpoint instead.
package main

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/steadymcp/steady"
	"github.com/steadymcp/steady/examples/internal/desk"
	"github.com/steadymcp/steady/stdioguard"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "orders:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	flags := flag.NewFlagSet("orders", flag.ExitOnError)
	var (
		many        = flags.Bool("many", false, fmt.Sprintf("hold %d orders instead of %d", desk.ManyOrders, desk.UsualOrders))
		seed        = flags.Uint64("seed", 1, "seed that the desk is generated from")
		exportTakes = flags.Duration("export-takes", 200*time.Millisecond, "how long writing an export takes")
		grace       = flags.Duration("grace", 0, "how long export_orders keeps its caller waiting before it answers with a task; 0 is the usual 5s")
		keep        = flags.String("tasks", "", "where tasks are kept, to outlive the process and be shared by several:\n  sqlite:/path/to/file or postgres://user@host/database; in memory if empty")
		catalog     = flags.String("catalog", "tasks", "tasks: nine tools named after tasks; endpoints: 35 generated ones")
		note        = flags.Bool("note", false, "add add_note, one more tool")
		bug         = flags.String("bug", "", "mistakes to put in, separated by commas:\n"+usage(bugUsage))
		bare        = flags.Bool("bare", false, "leave steady out: the SDK alone")
		without     = flags.String("without", "", "parts of steady to leave out, separated by commas: "+strings.Join(parts, ", "))
		addr        = flags.String("http", "", "serve HTTP on this address, as in localhost:8080, instead of stdio")
		allowOrigin = flags.String("allow-origin", "", "with -http: the origin of a web page that may call, as in http://localhost:6274")
		say         = flags.String("say", "", "print this and exit (what -bug child runs)")
	)
	_ = flags.Parse(args) // ends the process where it cannot
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	if *say != "" {
		fmt.Println(*say)
		return nil
	}
	c := config{seed: *seed, exportTakes: *exportTakes, grace: *grace, note: *note, tasks: *keep}
	if *many {
		c.orders = desk.ManyOrders
	}
	switch *catalog {
	case "tasks":
	case "endpoints":
		c.endpoints = true
	default:
		return fmt.Errorf("no catalog %q; there are tasks and endpoints", *catalog)
	}
	var err error
	if c.bugs, err = parseBugs(*bug); err != nil {
		return err
	}
	if c.without, err = parseWithout(*without, *bare); err != nil {
		return err
	}

	opts := &steady.RunOptions{Addr: *addr}
	if *allowOrigin != "" {
		opts.HTTP = &steady.HTTPOptions{AllowOrigins: []string{*allowOrigin}}
	}
	onStdio := *addr == ""
	if onStdio && !c.without["stdioguard"] {
		// Before anything is printed: what has reached standard output cannot be
		// taken back.
		if opts.Guard, err = stdioguard.Guard(nil); err != nil {
			return err
		}
		defer opts.Guard.Close()
	}
	c.bugs.banner()
	server, closeServer, err := newServer(c)
	if err != nil {
		return err
	}
	defer closeServer()
	if onStdio && c.without["stdioguard"] {
		return server.Run(context.Background(), &mcp.StdioTransport{})
	}
	return steady.Run(context.Background(), server, opts)
}

func usage(names map[string]string) string {
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(names)) {
		lines = append(lines, fmt.Sprintf("  %-10s %s", name, names[name]))
	}
	return strings.Join(lines, "\n")
}
