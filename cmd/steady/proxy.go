package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/steadymcp/steady/cmd/steady/internal/proxy"
)

const proxyHelp = `Proxy stands between a client and a server. Put it before the server's command in
the client's configuration:

    steady proxy -- npx -y @modelcontextprotocol/server-everything

(the -- may be left out, for launchers that keep it for themselves), or let it speak to a server over HTTP for a client that only knows stdio:

    steady proxy -http https://example.com/mcp -header 'Authorization: Bearer $TOKEN'

or offer a server on stdio, or another one over HTTP, to clients over HTTP:

    steady proxy -listen localhost:8080 -- npx -y @modelcontextprotocol/server-everything

Several servers can stand behind one endpoint. Their tools and prompts carry the
server's name, as in files_read_file:

    steady proxy -server 'files=npx -y @modelcontextprotocol/server-filesystem /tmp' \
        -server 'memory=npx -y @modelcontextprotocol/server-memory'

Every message passes as it is. What the server prints besides goes to standard
error, and never to the client. When the server ends in the middle of a session,
the requests that it had not answered are answered with an error that says so, and
it is started again, with the same handshake, log level and subscriptions. A
session that is lost over HTTP is begun again in the same way.

With -protect, or a file for -config, it repairs calls, cuts results that are too
large, shapes failures and more; -init prints such a file.
`

const proxyExitCodes = `
Exit codes:

    0  the session has ended, or the proxy was told to end
    1  -check has found something
    2  the command line or the configuration is wrong
    3  the server could not be started, reached or understood
`

// A stage stands before a server, or before another stage.
type stage = proxy.Stage

// newStage assembles what stands between a client and the server.
func newStage(opts proxy.Options) stage {
	if opts.URL != "" && opts.Client == nil {
		opts.Client = proxy.NewClient() // for all sessions
	}
	return func(ctx context.Context, in io.Reader, out io.Writer) error {
		session := opts
		session.In, session.Out = in, out
		return proxy.Run(ctx, session)
	}
}

func runProxy(ctx context.Context, e *env, args []string) error {
	fs := flagSet(e, "proxy", proxyHelp)
	var (
		opts proxy.Options
		t    targetFlags
		does configFlags
		many fleetFlags
		over listenFlags
	)
	t.addServer(fs)
	over.add(fs)
	many.add(fs)
	does.add(fs)
	fs.IntVar(&opts.MaxLine, "max-message", proxy.DefaultMaxLine, "the largest message that is passed on, in `bytes`")
	fs.DurationVar(&opts.Start, "start", proxy.DefaultStart, "how long a request waits for a server that is being started again, or cannot be reached")
	fs.DurationVar(&opts.EOFWindow, "eof-window", proxy.DefaultEOFWindow, "how long the server may run on when the client's input has ended")
	fs.DurationVar(&opts.StopWindow, "stop-window", proxy.DefaultStopWindow, "after SIGTERM, how long the answers to what is in flight are waited for")
	rest, command, err := parse(fs, args)
	if err != nil {
		return err
	}
	switch {
	case len(rest) > 0 && len(command) > 0:
		return badUsage("unexpected %q: the server's command goes after --", rest[0])
	case len(rest) > 0: // some launchers keep the -- for themselves
		command = rest
	}
	if does.prints(e.stdout) {
		return nil
	}
	cfg, err := does.read()
	if err != nil {
		return err
	}
	applyOutput(&opts, cfg.Output, fs)
	several, err := many.servers(cfg, &t, command)
	if err != nil {
		return err
	}
	if several == nil {
		target, err := serverOf(cfg, &t, command)
		if err != nil {
			return err
		}
		opts.Command, opts.Env, opts.Dir = target.Command, target.Env, target.Dir
		opts.URL, opts.Headers = target.URL, target.Header
	}
	if opts.MaxLine <= 0 || opts.Start <= 0 || opts.EOFWindow <= 0 || opts.StopWindow <= 0 {
		return badUsage("-max-message, -start, -eof-window and -stop-window are positive")
	}
	if err := over.check(fs); err != nil {
		return err
	}
	opts.Log = e.stderr

	// A client that has gone is an error to clean up after, not a signal to die of.
	// To ignore it would have the server ignore it too.
	pipes := make(chan os.Signal, 1)
	signal.Notify(pipes, syscall.SIGPIPE)
	defer signal.Stop(pipes)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	hurry := make(chan struct{})
	opts.Hurry = hurry
	go func() {
		<-signals // is what cancels ctx
		<-signals
		close(hurry)
	}()
	var next stage
	if several == nil {
		next = newStage(opts)
	} else {
		fleet := many.options(several, opts)
		if many.check {
			return checkFleet(ctx, e, fleet)
		}
		next = newFleetStage(fleet)
	}
	serve, end, err := protected(ctx, cfg, &opts, next)
	if err != nil {
		return err
	}
	if over.Addr == "" {
		err = serve(ctx, e.stdin, e.stdout)
	} else {
		// A stage of its own costs a request nothing where it begins nothing.
		over.Alone = opts.URL != "" && !cfg.Protects()
		err = over.serve(ctx, serve, &opts)
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), opts.StopWindow)
	defer cancel()
	if late := end(last); late != nil {
		fmt.Fprintln(e.stderr, "steady proxy:", late)
	}
	return err
}
