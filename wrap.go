package steady

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"weak"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/steadymcp/steady/discovery"
	"github.com/steadymcp/steady/errors"
	"github.com/steadymcp/steady/internal/perserver"
	"github.com/steadymcp/steady/limits"
	"github.com/steadymcp/steady/observe"
	"github.com/steadymcp/steady/pagination"
	"github.com/steadymcp/steady/tasks"
)

// A Part is one package of the stack that [Wrap] installs.
type Part string

// The parts, from the outside in.
const (
	Errors    Part = "errors"
	Discovery Part = "discovery"
	Limits    Part = "limits"
	Tasks     Part = "tasks"
	Budget    Part = "budget"
)

// Options configures [Wrap]. The zero value is ready to use.
type Options struct {
	// Errors, Discovery, Limits and Budget configure the parts of those names.
	// If nil, a part is installed with its defaults. The name that the server
	// announces itself under is added to Discovery.Servers.
	Errors    *errors.Options
	Discovery *discovery.Options
	Limits    *limits.Options
	Budget    *pagination.BudgetOptions
	// Tasks configures the tasks. If nil, there are none: which tools are slow
	// is for the server's author to say.
	Tasks *tasks.Options

	// TaskManager, Limiter and ResultBudget, if not nil, are used instead of new ones
	// with Tasks, Limits and Budget, which must then be nil. Each may serve any number
	// of servers, which then share tasks, bounds and kept results; where a server is
	// made for each request, these outlive it only so. Their owner closes them:
	// [Stack.Close] does not.
	TaskManager  *tasks.Manager
	Limiter      *limits.Limiter
	ResultBudget *pagination.Budget

	// Without names parts to leave out. Where that is Discovery, and its options'
	// Aliases has a Middleware (as a registry has), that stands in its place, so
	// that former names and hidden tools are dealt with before the other parts.
	Without []Part
	// Observer receives the events of every part whose own options name no
	// observer. If nil, slog.Default logs them.
	Observer observe.Observer
}

// A Stack is what [Wrap] installed on a server. The fields of parts that were
// left out are nil.
type Stack struct {
	Discovery *discovery.Resolver
	Limits    *limits.Limiter
	Tasks     *tasks.Manager
	Budget    *pagination.Budget

	parts                 []Part
	ownsTasks, ownsLimits bool
}

// Wrap installs the recommended stack on server, in the order that the package
// comment gives, and says what it installed. A nil opts means the zero Options.
//
// Call it after the server's tools are registered with a registry, and before
// the server is connected. Middleware that was added earlier stands inside of
// the stack, middleware that is added later outside. It fails, and installs
// nothing, if the server was wrapped before or if opts names a part that does
// not exist.
//
// A server that is built for each request is wrapped for each request, with a
// TaskManager, a Limiter and a ResultBudget that are made once.
func Wrap(server *mcp.Server, opts *Options) (*Stack, error) {
	var o Options
	if opts != nil {
		o = *opts
	}
	known := []Part{Errors, Discovery, Limits, Tasks, Budget}
	for _, part := range o.Without {
		if !slices.Contains(known, part) {
			return nil, fmt.Errorf("steady: there is no part %q; there are %q", part, known)
		}
	}
	switch {
	case o.Tasks != nil && o.TaskManager != nil:
		return nil, errors.New("steady: Options has both Tasks and TaskManager; a manager has its options already")
	case o.Limits != nil && o.Limiter != nil:
		return nil, errors.New("steady: Options has both Limits and Limiter; a limiter has its options already")
	case o.Budget != nil && o.ResultBudget != nil:
		return nil, errors.New("steady: Options has both Budget and ResultBudget; a budget has its options already")
	}
	s := &Stack{}
	if !wrapped.Claim(server, weak.Make(s)) {
		return nil, errors.New("steady: the server is wrapped already; Wrap it once")
	}

	with := func(part Part) bool { return !slices.Contains(o.Without, part) }
	stack := []mcp.Middleware{s.keep}
	add := func(part Part, m mcp.Middleware) {
		s.parts = append(s.parts, part)
		stack = append(stack, m)
	}
	if with(Errors) {
		e := valueOf(o.Errors)
		e.Observer = first(e.Observer, o.Observer)
		add(Errors, errors.Shape(&e))
	}
	if with(Discovery) {
		d := valueOf(o.Discovery)
		d.Observer = first(d.Observer, o.Observer)
		if name := nameOf(server); name != "" {
			d.Servers = append(slices.Clip(d.Servers), name)
		}
		s.Discovery = discovery.New(&d)
		add(Discovery, s.Discovery.Middleware())
	} else if names, ok := valueOf(o.Discovery).Aliases.(interface{ Middleware() mcp.Middleware }); ok {
		stack = append(stack, names.Middleware())
	}
	if with(Limits) {
		if s.Limits = o.Limiter; s.Limits == nil {
			l := valueOf(o.Limits)
			l.Observer = first(l.Observer, o.Observer)
			s.Limits = limits.New(&l)
			s.ownsLimits = true
		}
		add(Limits, s.Limits.Middleware())
	}
	if with(Tasks) && (o.Tasks != nil || o.TaskManager != nil) {
		if s.Tasks = o.TaskManager; s.Tasks == nil {
			t := *o.Tasks
			t.Observer = first(t.Observer, o.Observer)
			s.Tasks = tasks.New(&t)
			s.ownsTasks = true
		}
		if err := s.Tasks.Install(server); err != nil {
			wrapped.Release(server)
			return nil, fmt.Errorf("steady: %w", err)
		}
		add(Tasks, s.Tasks.Middleware())
	}
	if with(Budget) {
		if s.Budget = o.ResultBudget; s.Budget == nil {
			b := valueOf(o.Budget)
			b.Observer = first(b.Observer, o.Observer)
			s.Budget = pagination.NewBudget(&b)
		}
		s.Budget.Install(server)
		add(Budget, s.Budget.Middleware())
	}
	server.AddReceivingMiddleware(stack...)
	return s, nil
}

// String returns the stack as a formula, outermost first:
// "errors( discovery( limits( budget( handler ) ) ) )".
func (s *Stack) String() string {
	var b strings.Builder
	for _, part := range s.parts {
		b.WriteString(string(part) + "( ")
	}
	b.WriteString("handler")
	b.WriteString(strings.Repeat(" )", len(s.parts)))
	return b.String()
}

// Close ends what the stack started: it drains and then cancels the tasks, and
// waits for handlers that outlived their deadline, as long as ctx allows. It
// reports what it had to abandon. Parts that Options had ready are their owner's.
func (s *Stack) Close(ctx context.Context) error {
	var err error
	if s.ownsTasks {
		err = s.Tasks.Close(ctx)
	}
	if s.ownsLimits {
		err = errors.Join(err, s.Limits.Close(ctx))
	}
	return err
}

func valueOf[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}

func first(observers ...observe.Observer) observe.Observer {
	for _, o := range observers {
		if o != nil {
			return o
		}
	}
	return nil
}

// wrapped are the stacks of the servers that are wrapped. A second one would
// resolve, count and cut everything twice without a word. A stack leads to its
// server, so it is the server's middleware that keeps it (see [Stack.keep]).
var wrapped perserver.Map[weak.Pointer[Stack]]

// stackOf returns the stack that Wrap installed on server, or nil.
func stackOf(server *mcp.Server) *Stack { return wrapped.Get(server).Value() }

// keep is middleware that does nothing but to make the stack live as long as the
// server.
func (s *Stack) keep(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		res, err := next(ctx, method, req)
		runtime.KeepAlive(s)
		return res, err
	}
}
