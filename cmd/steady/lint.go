package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/steadymcp/steady/registry"
)

const lintHelp = `Lint says what clients refuse, truncate or hide in a catalog of tools, what makes
models choose or call wrongly, and what the catalog costs on every turn.

    steady lint -- ./server              start a server and ask it
    steady lint -http URL                ask a server over HTTP
    steady lint tools.json               a saved listing: what snapshot wrote, or
                                         any answer to tools/list
    steady lint -profile all -- ./server for every client that is known

    steady lint -except limit-unbounded:read_result='a piece has a bound' -- ./server
`

func runLint(ctx context.Context, e *env, args []string) error {
	fs := flagSet(e, "lint", lintHelp)
	var t targetFlags
	t.addForListing(fs)
	var lint lintFlags
	lint.add(fs, "generic")
	asJSON := fs.Bool("json", false, "write JSON")
	sarif := fs.String("sarif", "", "write SARIF, in which findings are shown at `FILE`: where the tools are registered, relative to the repository")
	failOn := fs.String("fail-on", "warning", "least `severity` that makes the exit code 1: error, warning, info or never")
	files, command, err := parse(fs, args)
	if err != nil {
		return err
	}
	fails, err := atOrAbove(*failOn)
	if err != nil {
		return err
	}
	if *asJSON && *sarif != "" {
		return badUsage("-json and -sarif are two forms of one report")
	}
	profiles, err := lint.profiles()
	if err != nil {
		return err
	}
	listing, err := t.listingFrom(ctx, e, files, command)
	if err != nil {
		return err
	}
	var reports []*registry.Report
	found := 0
	for _, p := range profiles {
		r, err := registry.Lint(ctx, listing, p)
		if err != nil {
			return err
		}
		reports = append(reports, r)
		found += r.Count(fails...)
	}
	switch {
	case *asJSON:
		err = writeLintJSON(e.stdout, reports)
	case *sarif != "":
		err = writeLintSARIF(e.stdout, reports, *sarif)
	default:
		err = writeLintText(e.stdout, reports)
	}
	if err == nil && found > 0 {
		err = errFound
	}
	return err
}

// lintFlags say for which clients to look, and what is known and right.
type lintFlags struct {
	profile string
	server  string
	except  repeated
}

// add adds the flags. profile is the default of -profile.
func (l *lintFlags) add(fs *flag.FlagSet, profile string) {
	fs.Var(&l.except, "except", "a finding that is known and right, as `RULE:TOOL=REASON` or RULE=REASON for every tool. May be repeated")
	fs.StringVar(&l.profile, "profile", profile, "whose limits count, separated by commas: "+strings.Join(profileNames(), ", ")+" or all")
	fs.StringVar(&l.server, "server-name", "", "the `name` under which users configure the server, which clients put before a tool's (default: what the server calls itself)")
}

func profileNames() (names []string) {
	for _, p := range registry.Profiles() {
		names = append(names, p.Name)
	}
	return names
}

// exceptions returns what -except says.
func (l *lintFlags) exceptions() (out []registry.Exception, _ error) {
	for _, text := range l.except {
		what, reason, ok := strings.Cut(text, "=")
		rule, tool, _ := strings.Cut(what, ":")
		if !ok || rule == "" || strings.TrimSpace(reason) == "" {
			return nil, badUsage("-except wants RULE:TOOL=REASON, not %q", text)
		}
		out = append(out, registry.Exception{Rule: rule, Tool: tool, Reason: reason})
	}
	return out, nil
}

func (l *lintFlags) profiles() ([]*registry.Profile, error) {
	exceptions, err := l.exceptions()
	if err != nil {
		return nil, err
	}
	var out []*registry.Profile
	wanted := strings.Split(l.profile, ",")
	for _, p := range registry.Profiles() {
		if slices.Contains(wanted, "all") || slices.Contains(wanted, p.Name) {
			p.Server, p.Exceptions = l.server, exceptions
			out = append(out, p)
		}
	}
	for _, name := range wanted {
		if name != "all" && !slices.Contains(profileNames(), name) {
			return nil, badUsage("there is no profile %q; there are %s and all", name, strings.Join(profileNames(), ", "))
		}
	}
	return out, nil
}

// atOrAbove returns the severities from least up; none for never.
func atOrAbove(least string) ([]registry.Severity, error) {
	order := []registry.Severity{registry.Error, registry.Warning, registry.Info}
	if least == "never" {
		return nil, nil
	}
	i := slices.Index(order, registry.Severity(least))
	if i < 0 {
		return nil, badUsage("-fail-on is error, warning, info or never, not %q", least)
	}
	return order[:i+1], nil
}

func writeLintText(w io.Writer, reports []*registry.Report) error {
	for i, r := range reports {
		if i > 0 {
			fmt.Fprintln(w)
		}
		if err := r.WriteText(w); err != nil {
			return err
		}
	}
	return nil
}

func writeLintJSON(w io.Writer, reports []*registry.Report) error {
	return joinJSON(w, `{"reports":[`, `]}`, len(reports), func(i int, b *bytes.Buffer) error {
		return reports[i].WriteJSON(b)
	})
}

// writeLintSARIF writes one run for each profile.
func writeLintSARIF(w io.Writer, reports []*registry.Report, uri string) error {
	const head = `{"$schema":"https://json.schemastore.org/sarif-2.1.0.json","version":"2.1.0","runs":[`
	return joinJSON(w, head, `]}`, len(reports), func(i int, b *bytes.Buffer) error {
		var one bytes.Buffer
		if err := reports[i].WriteSARIF(&one, uri); err != nil {
			return err
		}
		var log struct {
			Runs []map[string]any `json:"runs"`
		}
		if err := json.Unmarshal(one.Bytes(), &log); err != nil {
			return err
		}
		// Without it code scanning takes the last run for the only one.
		log.Runs[0]["automationDetails"] = map[string]string{"id": "steady-lint/" + reports[i].Profile}
		run, err := json.Marshal(log.Runs[0])
		b.Write(run)
		return err
	})
}

// joinJSON writes n values between head and tail, indented.
func joinJSON(w io.Writer, head, tail string, n int, value func(int, *bytes.Buffer) error) error {
	var all, indented bytes.Buffer
	all.WriteString(head)
	for i := range n {
		if i > 0 {
			all.WriteByte(',')
		}
		if err := value(i, &all); err != nil {
			return err
		}
	}
	all.WriteString(tail)
	if err := json.Indent(&indented, all.Bytes(), "", "  "); err != nil {
		return err
	}
	indented.WriteByte('\n')
	_, err := w.Write(indented.Bytes())
	return err
}
