package catalog

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/steadymcp/steady/errors"
	"github.com/steadymcp/steady/observe"
)

// Options configures a [Catalog]. The zero value is ready to use, for finding
// and describing.
type Options struct {
	// Caller runs entries. If nil, the source does if it is a [Caller], as
	// [Tools] is; else nothing can be called, and there are no tools for it.
	Caller Caller
	// Index configures the search. If nil, the zero IndexOptions.
	Index *IndexOptions
	// Interval between two loads of the source, give or take a tenth. If zero,
	// 15 minutes. A [LiveSource] is loaded for each request.
	Interval time.Duration
	// Seed, if non-nil, is loaded instead while the source has never answered:
	// an embedded copy, so that a server starts without its catalog's host.
	Seed Source
	// Names of the tools. Those left empty are find_data, describe_data,
	// get_catalog, call_api, call_api_write and submit_feedback.
	Names Names
	// Allow, if non-nil, reports whether the caller of a request may know and
	// call an entry. What is not allowed is answered like what does not exist,
	// by every tool. A search asks it about every entry, so it should be quick.
	Allow func(context.Context, *mcp.CallToolRequest, *Entry) bool
	// Repairer, if non-nil, corrects arguments before an entry's schema checks
	// them.
	Repairer Repairer
	// Shortcuts are entries that have a tool of their own. A [LiveSource] can
	// have none.
	Shortcuts []Shortcut
	// NoWrites refuses every entry that does not only read, and registers no
	// tool for them.
	NoWrites bool
	// FreePaths lets the read tool get paths that no entry describes. The
	// Caller must be a [PathCaller].
	FreePaths bool
	// BatchLimit is how many calls one call may hold. If zero, 10.
	BatchLimit int
	// Concurrency is how many of them run at once; writes run one after the
	// other. If zero, 4.
	Concurrency int
	// PageSize of the catalog's listing. If zero, 50.
	PageSize int
	// Feedback, if non-nil, adds the tool with which a model reports data that
	// looks wrong.
	Feedback *FeedbackOptions
	// Observer receives events. If nil, slog.Default().
	Observer observe.Observer
}

// Names are the names of the tools.
type Names struct {
	Find, Describe, Browse, Call, Write, Feedback string
}

func defaultNames() Names {
	return Names{
		Find: "find_data", Describe: "describe_data", Browse: "get_catalog",
		Call: "call_api", Write: "call_api_write", Feedback: "submit_feedback",
	}
}

func (n *Names) all() []*string {
	return []*string{&n.Find, &n.Describe, &n.Browse, &n.Call, &n.Write, &n.Feedback}
}

// A Repairer corrects arguments that do not fit a tool's input schema, and
// changes nothing that fits. The corrected arguments are checked as any others.
type Repairer interface {
	Repair(ctx context.Context, tool *mcp.Tool, arguments json.RawMessage) (json.RawMessage, error)
}

// RepairFunc is a function that is a [Repairer].
type RepairFunc func(ctx context.Context, tool *mcp.Tool, arguments json.RawMessage) (json.RawMessage, error)

// Repair calls f.
func (f RepairFunc) Repair(ctx context.Context, tool *mcp.Tool, arguments json.RawMessage) (json.RawMessage, error) {
	return f(ctx, tool, arguments)
}

// A Catalog puts the entries of a source behind a few tools. It may be
// installed on any number of servers and is safe for concurrent use.
type Catalog struct {
	opts     Options
	names    Names
	source   Source
	shelf    shelf
	keeper   *keeper // nil for a live source
	observer observe.Observer
	gaps     gaps
	feedback *feedback // nil if there is none
	own      []*ownTool
}

// A shelf provides the edition for a request.
type shelf interface {
	edition(ctx context.Context, req *mcp.CallToolRequest) (*edition, error)
}

var toolName = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`)

// New returns a Catalog of a source. A nil opts means the zero Options. It
// loads nothing yet. The error says which option does not fit.
func New(source Source, opts *Options) (*Catalog, error) {
	c := &Catalog{names: defaultNames(), source: source}
	if opts != nil {
		c.opts = *opts
	}
	o := &c.opts
	if source == nil {
		return nil, errors.New("catalog: a Catalog needs a source")
	}
	if o.Caller == nil {
		o.Caller, _ = source.(Caller)
	}
	if _, ok := o.Caller.(PathCaller); o.FreePaths && !ok {
		return nil, errors.New("catalog: FreePaths needs a Caller that is a PathCaller")
	}
	for _, n := range []struct {
		value *int
		zero  int
	}{{&o.BatchLimit, 10}, {&o.Concurrency, 4}, {&o.PageSize, 50}} {
		if *n.value <= 0 {
			*n.value = n.zero
		}
	}
	given := o.Names.all()
	taken := map[string]bool{}
	for i, name := range c.names.all() {
		if *given[i] != "" {
			*name = *given[i]
		}
		if !toolName.MatchString(*name) {
			return nil, fmt.Errorf("catalog: %q is not the name of a tool", *name)
		}
		if taken[*name] {
			return nil, fmt.Errorf("catalog: two tools are named %q", *name)
		}
		taken[*name] = true
	}
	o.Shortcuts = slices.Clone(o.Shortcuts)
	for i := range o.Shortcuts {
		if err := o.Shortcuts[i].check(taken); err != nil {
			return nil, err
		}
	}
	if o.Index != nil {
		index := *o.Index
		index.Weights = maps.Clone(index.Weights)
		o.Index = &index
	}
	c.observer = observe.Or(o.Observer)
	if live, ok := source.(LiveSource); ok {
		if len(o.Shortcuts) > 0 {
			return nil, errors.New("catalog: a source whose entries depend on who asks has no shortcuts; ToolsOptions.Advertise keeps a tool in the list")
		}
		c.shelf = &liveShelf{source: live, index: o.Index, observer: c.observer}
	} else {
		c.keeper = newKeeper(source, o.Index, o.Interval, c.observer)
		c.shelf = c.keeper
		if o.Seed != nil {
			if err := c.keeper.sow(o.Seed); err != nil {
				return nil, err
			}
		}
	}
	if o.Feedback != nil {
		var err error
		if c.feedback, err = newFeedback(o.Feedback); err != nil {
			return nil, err
		}
	}
	c.own = c.ownTools()
	return c, nil
}

// Refresh loads the source now. The error says why it could not; what was
// loaded before stays in use.
func (c *Catalog) Refresh(ctx context.Context) error {
	if c.keeper == nil {
		return nil
	}
	return c.keeper.refresh(ctx)
}

// Close ends a load under way and waits for it, until ctx ends, and closes the
// feedback sink if it can be closed. It may be called twice. The entries that
// were loaded stay in use.
func (c *Catalog) Close(ctx context.Context) error {
	var errs []error
	if c.keeper != nil {
		errs = append(errs, c.keeper.close(ctx))
	}
	if c.feedback != nil {
		errs = append(errs, c.feedback.close())
	}
	return errors.Join(errs...)
}

// Age returns how long ago the entries in use were known to be current, and
// whether that is known.
func (c *Catalog) Age() (time.Duration, bool) {
	if c.keeper == nil {
		return 0, true
	}
	c.keeper.mu.Lock()
	defer c.keeper.mu.Unlock()
	if c.keeper.now == nil || c.keeper.now.loaded.IsZero() {
		return 0, false
	}
	return time.Since(c.keeper.now.loaded), true
}

// edition returns what a request may see, as an error that may be shown.
func (c *Catalog) edition(ctx context.Context, req *mcp.CallToolRequest) (*edition, error) {
	e, err := c.shelf.edition(ctx, req)
	if err != nil {
		return nil, errors.Unavailable("the catalog is not available at the moment").Because("its source did not answer").RetryAfter(retryInterval).Cause(err)
	}
	return e, nil
}

func (c *Catalog) allowed(ctx context.Context, req *mcp.CallToolRequest, e *Entry) bool {
	if c.opts.NoWrites && !e.reads() {
		return false
	}
	return c.opts.Allow == nil || c.opts.Allow(ctx, req, e)
}

// allows returns the filter for a search, or nil if all is allowed.
func (c *Catalog) allows(ctx context.Context, req *mcp.CallToolRequest) func(*Entry) bool {
	if c.opts.Allow == nil && !c.opts.NoWrites {
		return nil
	}
	return func(e *Entry) bool { return c.allowed(ctx, req, e) }
}
