package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/steadymcp/steady/cmd/steady/internal/proxy"
)

const proxyHelp = `Proxy stands between a client and a server on stdio. Put it before the server's
command in the client's configuration:

    steady proxy -- npx -y @modelcontextprotocol/server-everything

Every message passes as it is. What the server prints besides goes to standard
error, and never to the client. When the server ends in the middle of a session,
the requests that it had not answered are answered with an error that says so, and
it is started again, with the same handshake, log level and subscriptions.
`

func runProxy(ctx context.Context, e *env, args []string) error {
	fs := flagSet(e, "proxy", proxyHelp)
	var (
		opts   proxy.Options
		server repeated
	)
	fs.Var(&server, "env", "start the command with `NAME=VALUE` in its environment. May be repeated")
	fs.StringVar(&opts.Dir, "dir", "", "start the command in this `directory`")
	fs.IntVar(&opts.MaxLine, "max-message", proxy.DefaultMaxLine, "the largest message that is passed on, in `bytes`")
	fs.DurationVar(&opts.Start, "start", proxy.DefaultStart, "how long a request waits for a server that is being started again")
	fs.DurationVar(&opts.EOFWindow, "eof-window", proxy.DefaultEOFWindow, "how long the server may run on when the client's input has ended")
	fs.DurationVar(&opts.StopWindow, "stop-window", proxy.DefaultStopWindow, "after SIGTERM, how long the answers to what is in flight are waited for")
	rest, command, err := parse(fs, args)
	if err != nil {
		return err
	}
	if len(rest) > 0 {
		return badUsage("unexpected %q: the server's command goes after --", rest[0])
	}
	t := targetFlags{env: server, dir: opts.Dir}
	if _, err := t.target(command); err != nil {
		return err
	}
	if opts.MaxLine <= 0 || opts.Start <= 0 || opts.EOFWindow <= 0 || opts.StopWindow <= 0 {
		return badUsage("-max-message, -start, -eof-window and -stop-window are positive")
	}
	opts.Command, opts.Env = command, server
	opts.In, opts.Out, opts.Log = e.stdin, e.stdout, e.stderr

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
	return proxy.Run(ctx, opts)
}
