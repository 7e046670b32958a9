package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/steadymcp/steady/cmd/steady/internal/doctor"
	"github.com/steadymcp/steady/cmd/steady/internal/report"
	"github.com/steadymcp/steady/registry"
)

const doctorHelp = `Doctor probes a server for what goes wrong in production. It starts it (several
times) or connects to it, lists its tools, calls them as models do, and says what
came back, why that matters and what to do.

    steady doctor -- ./server
    steady doctor -v -- npx -y @modelcontextprotocol/server-everything
    steady doctor -http URL -header 'Authorization: Bearer $TOKEN'
    steady doctor -list                     every probe

What it calls: tools that are annotated as reading, with whatever a probe wants,
and tools that are annotated as repeatable and not destructive, with valid
arguments. It says which before it begins. -dry-run stops there.

    -write            also tools that write
    -destructive      also tools that may destroy, and those that say nothing
    -call NAME        this one, whatever it says about itself
    -skip NAME        never this one

In CI, keep a report and fail on what is new:

    steady doctor -json -- ./server > doctor.json
    steady doctor -baseline doctor.json -- ./server
`

func runDoctor(ctx context.Context, e *env, args []string) error {
	fs := flagSet(e, "doctor", doctorHelp)
	var t targetFlags
	t.add(fs, 10*time.Second, "how long an answer may take; three times that, and it counts as never given")
	var lint lintFlags
	lint.add(fs, "all")
	var vouched, never repeated
	var (
		opts        doctor.Options
		verbose     = fs.Bool("v", false, "show everything, with what was sent and received")
		quiet       = fs.Bool("q", false, "say nothing on standard error")
		asJSON      = fs.Bool("json", false, "write JSON")
		sarif       = fs.String("sarif", "", "write SARIF, in which findings are shown at `FILE`: where the server is, relative to the repository")
		html        = fs.String("html", "", "also write a page to `FILE`")
		baseline    = fs.String("baseline", "", "`FILE` that an earlier -json wrote: what it has is known and does not fail")
		failOn      = fs.String("fail-on", "warning", "least `severity` that makes the exit code 1: error, warning, info or never")
		only        = fs.String("only", "", "run these `families` of probes only, separated by commas: "+strings.Join(doctor.Families(), ", "))
		list        = fs.Bool("list", false, "list the probes")
		write       = fs.Bool("write", false, "also call tools that write")
		destructive = fs.Bool("destructive", false, "also call tools that may destroy something, and those whose annotations say nothing")
	)
	fs.Var(&vouched, "call", "call the tool of this `name` whatever its annotations say. May be repeated")
	fs.Var(&never, "skip", "never call the tool of this `name`. May be repeated")
	fs.BoolVar(&opts.DryRun, "dry-run", false, "say what would be called, and call nothing")
	fs.IntVar(&opts.Launches, "launches", 3, "how many launches' listings are compared")
	fs.DurationVar(&opts.Idle, "idle", 500*time.Millisecond, "how long a quiet server is listened to")
	fs.DurationVar(&opts.Budget, "budget", 5*time.Minute, "how long everything may take")
	files, command, err := parse(fs, args)
	if err != nil {
		return err
	}
	if *list {
		return listProbes(e.stdout)
	}
	if len(files) > 0 {
		return badUsage("unexpected %q: the server's command goes after --", files[0])
	}
	fails, err := atOrAbove(*failOn)
	if err != nil {
		return err
	}
	if *asJSON && *sarif != "" {
		return badUsage("-json and -sarif are two forms of one report")
	}
	if opts.Launches < 1 || opts.Budget <= 0 || opts.Idle < 0 || t.timeout <= 0 {
		return badUsage("-launches, -idle, -budget and -timeout are positive")
	}
	if opts.Target, err = t.target(command); err != nil {
		return err
	}
	if opts.Profiles, err = lint.profiles(); err != nil {
		return err
	}
	var known *report.Baseline
	if *baseline != "" {
		if known, err = readBaseline(*baseline); err != nil {
			return badUsage("-baseline %s: %v", *baseline, err)
		}
	}
	if *only != "" {
		opts.Only = strings.Split(*only, ",")
		if err := doctor.CheckFamilies(opts.Only); err != nil {
			return badUsage("-only: %v", err)
		}
	}
	opts.Gate = doctor.Gate{Write: *write, Destructive: *destructive, Vouched: vouched, Never: never}
	opts.Timeout, opts.Version = t.timeout, version()
	if !*quiet {
		opts.Progress = e.stderr
	}
	found, err := doctor.Run(ctx, opts)
	if err != nil {
		return err
	}
	if known != nil {
		found.Compare(known)
	}
	if *html != "" {
		if err := writeFile(*html, found.WriteHTML); err != nil {
			return badUsage("-html: %v", err)
		}
	}
	switch {
	case *asJSON:
		err = found.WriteJSON(e.stdout)
	case *sarif != "":
		err = found.WriteSARIF(e.stdout, sarifRules(found), *sarif)
	default:
		err = found.WriteText(e.stdout, report.TextOptions{Verbose: *verbose, Colour: isTerminal(e.stdout)})
	}
	if err == nil && found.Worse(fails) {
		err = errFound
	}
	return err
}

func readBaseline(name string) (*report.Baseline, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return report.ReadBaseline(f)
}

func writeFile(name string, write func(io.Writer) error) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := write(f); err != nil {
		return err
	}
	return f.Close()
}

// isTerminal reports whether w is a terminal that is to be coloured.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok || os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb" {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

func listProbes(w io.Writer) error {
	family := ""
	for _, p := range doctor.Probes() {
		if p.Family != family {
			family = p.Family
			fmt.Fprintf(w, "\n%s\n", family)
		}
		if _, err := fmt.Fprintf(w, "  %-22s %-8s %s\n", p.ID, p.Severity, p.Title); err != nil {
			return err
		}
	}
	return nil
}

// sarifRules returns the probes, and the rules of the linter that found something.
func sarifRules(r *report.Report) (out []report.Rule) {
	for _, p := range doctor.Probes() {
		out = append(out, report.Rule{ID: p.ID, Title: p.Title, Why: p.Why, Fix: p.Fix, Severity: p.Severity})
	}
	for _, rule := range registry.Rules() {
		id := "lint/" + rule.ID
		for _, f := range append(r.Findings, r.Excepted...) {
			if f.Probe == id {
				out = append(out, report.Rule{ID: id, Title: rule.Why, Why: rule.Why, Fix: rule.Fix, Severity: rule.Severity})
				break
			}
		}
	}
	return out
}
