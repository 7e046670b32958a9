// Package protect puts the packages of steady between a client and a server that
// were not built with them, in whatever language they are written.
//
// A [Stage] carries the lines of one client session: it reads what the client says,
// writes what the client gets, and stands in front of another stage, which in the
// end is a server. What no protection has a part in passes as the bytes that it
// came in, in its order: notifications, what the server asks of the client,
// progress, methods and fields that nobody has heard of here.
//
// Requests that a protection may touch go to a server of the SDK within the process
// (session.go), on which the packages are installed as on any other. Its innermost
// middleware (forward.go) asks the stage behind instead of a handler, with the
// client's own bytes unless somebody has changed the request. What comes out is
// compared with what the stage behind had answered (answer.go): an answer that
// nobody has changed is passed on as it came, and of one that somebody has changed
// the rest stays as it was.
package protect

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"regexp"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/steadymcp/steady/cmd/steady/internal/config"
	"github.com/steadymcp/steady/discovery"
	"github.com/steadymcp/steady/errors"
	"github.com/steadymcp/steady/limits"
	"github.com/steadymcp/steady/observe"
	"github.com/steadymcp/steady/pagination"
	"github.com/steadymcp/steady/registry"
	"github.com/steadymcp/steady/tasks"
)

// A Stage carries one session: it reads the client's messages, a line each, from in
// until that ends, and writes the answers and whatever else the client gets to out,
// a line with each Write. It returns when nothing more will be written.
type Stage = func(ctx context.Context, in io.Reader, out io.Writer) error

// Options configures [New].
type Options struct {
	// MaxLine bounds a message of the client, in bytes. If zero, 64 MiB.
	MaxLine int
	// EOFWindow is how long calls are waited for after the client's input has ended.
	// If zero, 10 s.
	EOFWindow time.Duration
	// Logger receives what there is to say. If nil, slog.Default().
	Logger *slog.Logger
	// Telemetry, if non-nil, observes the sessions.
	Telemetry Telemetry
}

// A Telemetry is both an observer of events and middleware.
type Telemetry interface {
	observe.Observer
	Middleware() mcp.Middleware
}

// A Protector holds what all sessions share: counts, kept results, tasks.
type Protector struct {
	cfg      *config.Config
	opts     Options
	observer observe.Observer

	errors   mcp.Middleware // or nil, as the others are if they are off
	resolver *discovery.Resolver
	names    *registry.Registry // holds other names only, and is installed nowhere
	limiter  *limits.Limiter
	tasks    *tasks.Manager
	budget   *pagination.Budget
}

// toolName is what names of tools are to look like, says section "Tool Names" of
// revision 2025-11-25.
var toolName = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,128}$`)

// New returns what protects as cfg says. The error says what in cfg does not fit.
func New(cfg *config.Config, opts *Options) (*Protector, error) {
	p := &Protector{cfg: cfg}
	if opts != nil {
		p.opts = *opts
	}
	if p.opts.MaxLine == 0 {
		p.opts.MaxLine = 64 << 20
	}
	if p.opts.EOFWindow == 0 {
		p.opts.EOFWindow = 10 * time.Second
	}
	if p.opts.Logger == nil {
		p.opts.Logger = slog.Default()
	}
	p.observer = observe.Patient(observe.Slog(p.opts.Logger))
	if p.opts.Telemetry != nil {
		p.observer = observe.Multi(p.opts.Telemetry, p.observer)
	}
	if cfg.Errors != nil {
		p.errors = errors.Shape(&errors.Options{Observer: p.observer})
	}
	if names := p.otherNames(); names != nil {
		var err error
		if p.names, err = registryOf(names, p.observer); err != nil {
			return nil, fmt.Errorf("names: %w", err)
		}
	}
	if cfg.Repair != nil {
		p.resolver = discovery.New(p.repairing())
	}
	if cfg.Limits != nil {
		p.limiter = limits.New(limiting(cfg.Limits, p.observer))
	}
	if cfg.Tasks != nil {
		p.tasks = tasks.New(tasking(cfg.Tasks, p.observer))
	}
	if cfg.Results != nil {
		p.budget = pagination.NewBudget(budgeting(cfg.Results, p.observer))
	}
	names := map[string]bool{}
	for _, name := range p.ownTools() {
		switch {
		case names[name]:
			return nil, fmt.Errorf("two of the tools that protections add are named %q", name)
		case !toolName.MatchString(name):
			return nil, fmt.Errorf("%q is not the name of a tool: that has at most 128 letters, digits, '_', '-' and '.'", name)
		}
		names[name] = true
	}
	// What is wrong with the rest shows when it is put together.
	s, err := p.newSession()
	if err != nil {
		return nil, err
	}
	s.close()
	return p, nil
}

// Close ends what the sessions have started, as long as ctx allows.
func (p *Protector) Close(ctx context.Context) error {
	var err error
	if p.tasks != nil {
		err = p.tasks.Close(ctx)
	}
	if p.limiter != nil {
		err = errors.Join(err, p.limiter.Close(ctx))
	}
	return err
}

// Stage returns next with protections in front. It serves any number of sessions.
func (p *Protector) Stage(next Stage) Stage {
	return func(ctx context.Context, in io.Reader, out io.Writer) error {
		s, err := p.newSession()
		if err != nil {
			return err
		}
		return s.run(ctx, in, out, next)
	}
}
