package main

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"

	"github.com/steadymcp/steady/cmd/steady/internal/launch"
	"github.com/steadymcp/steady/registry"
)

// targetFlags say which server is meant.
type targetFlags struct {
	url     string
	headers repeated
	env     repeated
	dir     string
	timeout time.Duration
}

// add adds the flags. timeout is the default of -timeout, which means what about says.
func (t *targetFlags) add(fs *flag.FlagSet, timeout time.Duration, about string) {
	t.addServer(fs)
	fs.DurationVar(&t.timeout, "timeout", timeout, about)
}

// addServer adds the flags that name the server.
func (t *targetFlags) addServer(fs *flag.FlagSet) {
	fs.StringVar(&t.url, "http", "", "connect to the Streamable HTTP endpoint `URL` instead of starting a command")
	fs.Var(&t.headers, "header", "with -http: send this header, as in 'Authorization: Bearer $TOKEN'; `$NAME` is taken from the environment, so that the value is in no list of processes. May be repeated")
	fs.Var(&t.env, "env", "start the command with `NAME=VALUE` in its environment. May be repeated")
	fs.StringVar(&t.dir, "dir", "", "start the command in this `directory`")
}

// given reports whether a server was named.
func (t *targetFlags) given(command []string) bool { return len(command) > 0 || t.url != "" }

// target returns the server that the flags and the command line name.
func (t *targetFlags) target(command []string) (*launch.Target, error) {
	switch {
	case len(command) > 0 && t.url != "":
		return nil, badUsage("give either a command after -- or -http, not both")
	case !t.given(command):
		return nil, badUsage("say which server: a command after --, or -http URL")
	case len(command) > 0 && len(t.headers) > 0:
		return nil, badUsage("-header is for -http")
	case t.url != "" && (len(t.env) > 0 || t.dir != ""):
		return nil, badUsage("-env and -dir are for a command")
	}
	out := &launch.Target{Command: command, Env: t.env, Dir: t.dir, URL: t.url, Header: http.Header{}}
	if t.url != "" {
		u, err := url.Parse(t.url)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			return nil, badUsage("-http wants a URL such as http://localhost:8080/mcp")
		}
	}
	for _, e := range t.env {
		if name, _, ok := strings.Cut(e, "="); !ok || name == "" {
			return nil, badUsage("-env wants NAME=VALUE")
		}
	}
	for _, h := range t.headers {
		name, value, ok := strings.Cut(h, ":")
		if name = strings.TrimSpace(name); !ok || name == "" {
			return nil, badUsage("-header wants 'Name: value'")
		}
		var missing string
		value = os.Expand(strings.TrimSpace(value), func(name string) string {
			v, ok := os.LookupEnv(name)
			if !ok && missing == "" {
				missing = name
			}
			return v
		})
		switch {
		case missing != "":
			return nil, badUsage("-header %s: $%s is not in the environment", name, missing)
		case !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(value):
			return nil, badUsage("-header %q: the name or the value has a character that no header may have", name)
		}
		out.Header.Add(name, value)
	}
	return out, nil
}

// addForListing adds the flags of commands that ask for nothing but the listing.
func (t *targetFlags) addForListing(fs *flag.FlagSet) {
	t.add(fs, 30*time.Second, "how long to wait for the listing")
}

// listing asks the server what it advertises. Lines that are no messages are
// mentioned on standard error.
func (t *targetFlags) listing(ctx context.Context, e *env, target *launch.Target) (*registry.Listing, error) {
	ctx, cancel := context.WithTimeout(ctx, t.timeout)
	defer cancel()
	strays := 0
	listing, err := registry.FetchListing(ctx, launch.Transport(target, func(l launch.Line) {
		if strays++; strays == 1 {
			fmt.Fprintf(e.stderr, "steady: the server printed what is no message on standard output: %q\n", target.Secrets().Mask(string(l.Text[:min(len(l.Text), 200)])))
		}
	}))
	if err != nil {
		return nil, fmt.Errorf("%s: %s", target, target.Secrets().Mask(err.Error()))
	}
	return listing, nil
}

// listingFrom reads a saved listing, or asks the server if no file is given.
func (t *targetFlags) listingFrom(ctx context.Context, e *env, files, command []string) (*registry.Listing, error) {
	switch {
	case len(files) > 1:
		return nil, badUsage("give one file, or a server: a command goes after --")
	case len(files) == 1 && t.given(command):
		return nil, badUsage("give either a file or a server, not both")
	case len(files) == 1:
		return e.readListing(files[0])
	}
	target, err := t.target(command)
	if err != nil {
		return nil, err
	}
	return t.listing(ctx, e, target)
}

// readListing reads a saved listing; "-" is standard input.
func (e *env) readListing(name string) (*registry.Listing, error) {
	in := e.stdin
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, badUsage("%v (a command goes after --)", err)
		}
		defer f.Close()
		in = f
	}
	listing, err := registry.ReadListing(in)
	if err != nil {
		return nil, badUsage("%s: %v", name, err)
	}
	return listing, nil
}
