package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/steadymcp/steady/cmd/steady/internal/config"
	"github.com/steadymcp/steady/cmd/steady/internal/launch"
	"github.com/steadymcp/steady/cmd/steady/internal/protect"
	"github.com/steadymcp/steady/cmd/steady/internal/proxy"
	"github.com/steadymcp/steady/cmd/steady/internal/telemetry"
)

// configFlags are the flags that say what the proxy does besides passing on.
type configFlags struct {
	file                   string
	recommended            bool
	printFile, printSchema bool
}

func (f *configFlags) add(fs *flag.FlagSet) {
	fs.StringVar(&f.file, "config", "", "do what this `file` says; see -init")
	fs.BoolVar(&f.recommended, "protect", false, "the recommended protections, as a file with the line \"protect: recommended\"")
	fs.BoolVar(&f.printFile, "init", false, "print a configuration with comments, to begin with, and end")
	fs.BoolVar(&f.printSchema, "schema", false, "print the JSON schema of the configuration, for editors, and end")
}

// prints prints what was asked for, and reports whether that was all.
func (f *configFlags) prints(out io.Writer) bool {
	switch {
	case f.printFile:
		fmt.Fprint(out, config.Commented)
	case f.printSchema:
		_, _ = out.Write(config.Schema())
	}
	return f.printFile || f.printSchema
}

// read returns the configuration.
func (f *configFlags) read() (*config.Config, error) {
	switch {
	case f.file != "" && f.recommended:
		return nil, badUsage("-protect is for those who have no -config: write \"protect: recommended\" into %s", f.file)
	case f.recommended:
		return config.RecommendedConfig(), nil
	case f.file != "":
		cfg, err := config.Read(f.file)
		if err != nil {
			return nil, badUsage("%v", err)
		}
		return cfg, nil
	}
	return &config.Config{}, nil
}

// applyOutput gives opts what the file says and the command line does not.
func applyOutput(opts *proxy.Options, o *config.Output, fs *flag.FlagSet) {
	if o == nil {
		return
	}
	said := map[string]bool{}
	fs.Visit(func(f *flag.Flag) { said[f.Name] = true })
	if !said["max-message"] {
		opts.MaxLine = cmp.Or(int(o.MaxMessage), opts.MaxLine)
	}
	for name, d := range map[string]struct {
		to   *time.Duration
		file time.Duration
	}{
		"start": {&opts.Start, o.Start}, "eof-window": {&opts.EOFWindow, o.EOFWindow}, "stop-window": {&opts.StopWindow, o.StopWindow},
	} {
		if !said[name] {
			*d.to = cmp.Or(d.file, *d.to)
		}
	}
}

// serverOf returns the server that the command line says, or else the file.
func serverOf(cfg *config.Config, t *targetFlags, command []string) (*launch.Target, error) {
	if t.given(command) || len(cfg.Servers) == 0 {
		return t.target(command)
	}
	return targetOf(cfg.Servers[0]), nil
}

// targetOf returns a server of the file.
func targetOf(s config.Server) *launch.Target {
	target := &launch.Target{Command: s.Command, Dir: s.Dir, URL: s.URL, Header: http.Header{}}
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		target.Env = append(target.Env, name+"="+s.Env[name])
	}
	for name, value := range s.Headers {
		target.Header.Set(name, value)
	}
	return target
}

// protected returns a stage with the protections in front, and what ends them.
func protected(ctx context.Context, cfg *config.Config, opts *proxy.Options, next stage) (_ stage, end func(context.Context) error, err error) {
	if !cfg.Protects() {
		return next, func(context.Context) error { return nil }, nil
	}
	o := &protect.Options{
		MaxLine:   opts.MaxLine,
		EOFWindow: opts.EOFWindow,
		Logger:    slog.New(slog.NewTextHandler(opts.Log, nil)),
	}
	sent := func(context.Context) error { return nil }
	if cfg.Telemetry != nil {
		t, err := telemetry.New(ctx, cfg.Telemetry, version())
		if err != nil {
			return nil, nil, badUsage("telemetry: %v", err)
		}
		o.Telemetry, sent = t, t.Close
	}
	p, err := protect.New(cfg, o)
	if err != nil {
		return nil, nil, badUsage("%v", err)
	}
	return p.Stage(next), func(ctx context.Context) error { return errors.Join(p.Close(ctx), sent(ctx)) }, nil
}
