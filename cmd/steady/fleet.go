package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/steadymcp/steady/cmd/steady/internal/config"
	"github.com/steadymcp/steady/cmd/steady/internal/fleet"
	"github.com/steadymcp/steady/cmd/steady/internal/proxy"
)

// fleetFlags are for several servers behind one endpoint.
type fleetFlags struct {
	named   repeated
	qualify string
	check   bool
}

func (f *fleetFlags) add(fs *flag.FlagSet) {
	fs.Var(&f.named, "server", "one of several servers behind one endpoint, as `NAME=COMMAND` or NAME=URL. Words of a command are divided by blanks; quotes keep them together. May be repeated")
	fs.StringVar(&f.qualify, "qualify", "", "which tools and prompts of several servers carry their server's name: `always`, or only those with collisions (always, unless the -config says otherwise)")
	fs.BoolVar(&f.check, "check", false, "start several servers, print what they have under the same name, and end: with exit code 1 if there is anything, and 3 if one of them cannot be used")
}

// servers returns several servers that the command line names, or else the file.
// It returns nil if there is one, which is named in another way.
func (f *fleetFlags) servers(cfg *config.Config, one *targetFlags, command []string) ([]fleet.Server, error) {
	if f.qualify == "" {
		f.qualify = string(cfg.Qualify)
	}
	var servers []fleet.Server
	var err error
	switch q := fleet.Qualify(f.qualify); {
	case q != "" && q != fleet.Always && q != fleet.Collisions:
		return nil, badUsage("-qualify is %s or %s", fleet.Always, fleet.Collisions)
	case len(f.named) > 0:
		servers, err = f.commandLine(one, command)
	case len(cfg.Servers) > 1 && !one.given(command):
		for _, s := range cfg.Servers {
			t := targetOf(s)
			servers = append(servers, fleet.Server{Name: s.Name, Command: t.Command, Env: t.Env, Dir: t.Dir, URL: t.URL, Headers: t.Header})
		}
	case f.check:
		return nil, badUsage("-check is for several servers: see -server")
	default:
		return nil, nil
	}
	if err == nil {
		if err = fleet.CheckServers(servers); err != nil {
			err = badUsage("%v", err)
		}
	}
	return servers, err
}

// commandLine returns the servers of -server.
func (f *fleetFlags) commandLine(one *targetFlags, command []string) ([]fleet.Server, error) {
	if one.given(command) || len(one.headers)+len(one.env) > 0 || one.dir != "" {
		return nil, badUsage("with -server there is neither a command after -- nor -http, -header, -env or -dir: write those of each server into a file, for -config")
	}
	var servers []fleet.Server
	for _, text := range f.named {
		name, what, ok := strings.Cut(text, "=")
		if !ok || what == "" {
			return nil, badUsage("-server wants NAME=COMMAND or NAME=URL, not %q", text)
		}
		s := fleet.Server{Name: name}
		if strings.HasPrefix(what, "http://") || strings.HasPrefix(what, "https://") {
			s.URL = what
		} else if s.Command, ok = words(what); !ok {
			return nil, badUsage("-server %s: a quote is not closed, or there is no command", name)
		}
		servers = append(servers, s)
	}
	return servers, nil
}

// words divides a command at blanks. Quotes of either sort keep words together;
// nothing else is special.
func words(text string) (out []string, ok bool) {
	var word strings.Builder
	quote, begun := rune(0), false
	for _, r := range text {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '\'' || r == '"':
			quote, begun = r, true
		case r == ' ' || r == '\t' || r == '\n':
			if begun {
				out = append(out, word.String())
				word.Reset()
				begun = false
			}
		default:
			word.WriteRune(r)
			begun = true
		}
	}
	if begun {
		out = append(out, word.String())
	}
	return out, quote == 0 && len(out) > 0 && out[0] != ""
}

// options returns those of a fleet, whose servers are run as opts says.
func (f *fleetFlags) options(servers []fleet.Server, opts proxy.Options) fleet.Options {
	for i := range servers {
		if servers[i].URL != "" {
			servers[i].Client = proxy.NewClient() // for all sessions
		}
	}
	return fleet.Options{
		Servers: servers, Qualify: fleet.Qualify(f.qualify), Version: version(),
		Log: opts.Log, Hurry: opts.Hurry, MaxLine: opts.MaxLine, MaxInFlight: opts.MaxInFlight,
		Start: opts.Start, EOFWindow: opts.EOFWindow, StopWindow: opts.StopWindow,
	}
}

// newFleetStage is newStage for several servers.
func newFleetStage(opts fleet.Options) stage {
	return func(ctx context.Context, in io.Reader, out io.Writer) error {
		session := opts
		session.In, session.Out = in, out
		return fleet.Run(ctx, session)
	}
}

// checkFleet prints what several servers have under the same name.
func checkFleet(ctx context.Context, e *env, opts fleet.Options) error {
	r, err := fleet.Check(ctx, opts)
	if err != nil {
		return err
	}
	fmt.Fprintf(e.stdout, "%d tools, %d prompts, %d resources, %d templates of resources\n",
		r.Counts["tools"], r.Counts["prompts"], r.Counts["resources"], r.Counts["resourceTemplates"])
	if len(r.Collisions) > 0 {
		table := tabwriter.NewWriter(e.stdout, 0, 0, 3, ' ', 0)
		fmt.Fprint(table, "\nKIND\tNAME\tSERVER\tLISTED AS\n")
		for _, c := range r.Collisions {
			for i, server := range c.Servers {
				as := c.Published[i]
				if as == "" {
					as = "(left out)"
				}
				fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", c.Kind, printable(c.Name), server, printable(as))
			}
		}
		_ = table.Flush()
	}
	if len(r.Missing) > 0 {
		return errors.New("not all servers can be used: " + strings.Join(r.Missing, "; "))
	}
	if len(r.Collisions) > 0 {
		return errFound
	}
	return nil
}

// printable is a name for a terminal.
func printable(name string) string {
	quoted := fmt.Sprintf("%.200q", name)
	return quoted[1 : len(quoted)-1]
}
