package main

import (
	"context"
	"flag"
	"strings"
	"time"

	"github.com/steadymcp/steady/cmd/steady/internal/proxy"
)

// listenFlags say how clients are served over HTTP.
type listenFlags struct {
	proxy.ServeOptions
	proxy.FrontOptions
	origins repeated
}

func (l *listenFlags) add(fs *flag.FlagSet) {
	fs.StringVar(&l.Addr, "listen", "", "serve clients over HTTP on this `address`, as in localhost:8080, instead of stdio. Without a host it is localhost")
	fs.StringVar(&l.Path, "path", "/mcp", "with -listen: where the endpoint is")
	fs.StringVar(&l.HealthPath, "health-path", "/healthz", "with -listen: what answers whether requests are taken")
	fs.Var(&l.origins, "allow-origin", "with -listen: let web pages of this `origin` call, as in https://chat.example.com. May be repeated")
	fs.Int64Var(&l.MaxBody, "max-body", proxy.DefaultMaxBody, "with -listen: the largest request that is taken, in `bytes`")
	fs.IntVar(&l.MaxSessions, "max-sessions", proxy.DefaultMaxSessions, "with -listen: how many sessions there may be, each of which has a server of its own")
	fs.DurationVar(&l.SessionTimeout, "session-timeout", proxy.DefaultSessionTimeout, "with -listen: how long a client may send nothing before its session ends")
}

// check says what is wrong with the flags of fs.
func (l *listenFlags) check(fs *flag.FlagSet) error {
	if l.Addr == "" {
		var lost error
		fs.Visit(func(f *flag.Flag) {
			if strings.HasPrefix(f.Usage, "with -listen: ") {
				lost = badUsage("-%s is for -listen", f.Name)
			}
		})
		return lost
	}
	if l.MaxBody <= 0 || l.MaxSessions <= 0 || l.SessionTimeout <= 0 {
		return badUsage("-max-body, -max-sessions and -session-timeout are positive")
	}
	l.AllowOrigins = l.origins
	if err := l.ServeOptions.Check(); err != nil {
		return badUsage("%v", err)
	}
	if err := l.FrontOptions.Check(); err != nil {
		return badUsage("%v", err)
	}
	return nil
}

// serve serves clients by next until ctx is cancelled.
func (l *listenFlags) serve(ctx context.Context, next stage, opts *proxy.Options) error {
	l.Stage, l.Log = next, opts.Log
	l.Within = opts.StopWindow + 10*time.Second // for servers that do not end by themselves
	front, err := proxy.NewFront(l.FrontOptions)
	if err != nil {
		return err
	}
	return proxy.Serve(ctx, front, l.ServeOptions)
}
