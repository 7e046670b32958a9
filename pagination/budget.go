package pagination

import (
	"context"
	"math"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/steadymcp/steady/observe"
)

const (
	// DefaultBytes is how much of the wire a result takes if nobody says
	// otherwise: about 20,000 tokens, under what the clients with the smallest
	// known limits throw away.
	DefaultBytes = 80_000
	// DefaultCeiling is the most that any message takes. The smallest frame
	// that a client is known to refuse has 10 MiB.
	DefaultCeiling = 4 << 20
	// NoBudget, as a number of bytes, means the ceiling and nothing less.
	NoBudget = -1
)

const (
	// minBytes is the smallest budget: an error that explains itself fits.
	minBytes = 2048
	// envelope is what is kept free for what the SDK adds to a result: the
	// JSON-RPC frame, and the server's name and version.
	envelope = 512
	// noteRoom is what a cut result may add: the note, its facts in _meta and
	// the link to the rest.
	noteRoom = 1300
	// far is how many times the ceiling a result is refused at, unseen.
	far = 8
)

// BudgetOptions configures a [Budget]. The zero value is ready to use.
type BudgetOptions struct {
	// Bytes is how much of the wire the result of a call takes at most, as
	// JSON, with all escaping, the text that says what was cut, and room for
	// what the SDK adds. If zero, [DefaultBytes]; [NoBudget], or any negative
	// number, leaves only Ceiling. Less than 2048 is taken as 2048.
	Bytes int
	// PerTool has the tools that deviate from Bytes, with values like it.
	PerTool map[string]int
	// Resources is Bytes for resources/read. If zero, Bytes.
	Resources int
	// Ceiling bounds every message, whatever the other fields say. If zero or
	// less, [DefaultCeiling]. A result that is eight times as large is refused
	// without being looked at.
	Ceiling int
	// Spill, if non-nil, keeps what was cut, for the servers that
	// [Budget.Install] was called with.
	Spill *SpillOptions
	// OutputSchema is the schema that the structured content of a cut result
	// has to fit, for [Handler] and [HandlerFor]: a [jsonschema.Schema] or
	// anything else that encodes as one. If nil, HandlerFor takes that of its
	// Out and Handler none. The middleware takes what the tool advertises.
	OutputSchema any
	// Observer receives an event for each result that was cut or refused. If
	// nil, events go to [log/slog.Default].
	Observer observe.Observer
}

// A Budget bounds results. It is safe for concurrent use, and one Budget may
// serve many servers.
type Budget struct {
	opts    BudgetOptions
	schemas schemaCache
	spill   *spillStore // nil if nothing is kept
}

// NewBudget returns a Budget. A nil opts means the zero BudgetOptions.
func NewBudget(opts *BudgetOptions) *Budget {
	b := &Budget{}
	if opts != nil {
		b.opts = *opts
	}
	if b.opts.Ceiling <= 0 {
		b.opts.Ceiling = DefaultCeiling
	}
	b.opts.Ceiling = min(b.opts.Ceiling, math.MaxInt>>8) // sizes are multiplied
	if b.opts.Bytes == 0 {
		b.opts.Bytes = DefaultBytes
	}
	if b.opts.Resources == 0 {
		b.opts.Resources = b.opts.Bytes
	}
	perTool := make(map[string]int, len(b.opts.PerTool))
	for tool, n := range b.opts.PerTool {
		perTool[tool] = n
	}
	b.opts.PerTool = perTool
	b.opts.Observer = observe.Or(b.opts.Observer)
	if b.opts.Spill != nil {
		b.spill = newSpillStore(*b.opts.Spill)
	}
	return b
}

// limit returns the bytes that a configured number stands for.
func (b *Budget) limit(n int) int {
	if n < 0 {
		n = math.MaxInt
	}
	return max(min(n, b.opts.Ceiling), minBytes)
}

func (b *Budget) toolLimit(tool string) int {
	if n, ok := b.opts.PerTool[tool]; ok && n != 0 {
		return b.limit(n)
	}
	return b.limit(b.opts.Bytes)
}

// Middleware returns receiving middleware that bounds the results of
// tools/call and resources/read, errors included. It belongs inside everything
// that rewrites names or arguments.
//
// A result within its budget passes unchanged, except that structured content
// which is not yet JSON is encoded, and that the digits of large integers which
// the SDK has rounded in a [Page] are put back. A result above it is copied and
// cut: see the package documentation. Results that ask for input, and results
// of other types than the SDK's own, pass untouched.
//
// When a typed handler's input was refused because of the limit parameter, the
// answer says in words what the bounds are.
//
// Inside the middleware of another Budget it only lowers the limit, if its own
// is lower, and leaves the work to that one.
//
// next is called once for the request. When a result has to be cut, or a limit
// explained, next is also asked for tools/list, to learn the tool's schemas.
func (b *Budget) Middleware() mcp.Middleware {
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			switch r := req.(type) {
			case *mcp.CallToolRequest:
				if r == nil || r.Params == nil {
					break
				}
				limit := b.toolLimit(r.Params.Name)
				if outer := bounded(ctx); outer != nil {
					outer.lower(limit)
					break
				}
				state := newBoundState(limit)
				res, err := next(withBound(ctx, state), method, req)
				result, ok := res.(*mcp.CallToolResult)
				if err != nil || !ok || result == nil {
					return res, err
				}
				c := callCutter{Budget: b, ctx: ctx, req: r, limit: state.limit(), list: func() []*mcp.Tool { return listTools(ctx, next, r) }}
				return c.bound(result, state), nil
			case *mcp.ReadResourceRequest:
				if r == nil || r.Params == nil {
					break
				}
				limit := b.limit(b.opts.Resources)
				if outer := bounded(ctx); outer != nil {
					outer.lower(limit)
					break
				}
				state := newBoundState(limit)
				res, err := next(withBound(ctx, state), method, req)
				result, ok := res.(*mcp.ReadResourceResult)
				if err != nil || !ok || result == nil {
					return res, err
				}
				return b.boundResource(ctx, r, result, state.limit()), nil
			}
			return next(ctx, method, req)
		}
	}
}

// boundState travels in the context of a call whose result will be bounded: it
// keeps the work from being done twice, and lets a page know its room.
type boundState struct {
	bytes atomic.Int64
	// exact is the JSON of the page that the handler returns, if the SDK is
	// going to round a number in it.
	exact atomic.Pointer[string]
}

func newBoundState(limit int) *boundState {
	s := &boundState{}
	s.bytes.Store(int64(limit))
	return s
}

func (s *boundState) limit() int { return int(s.bytes.Load()) }

// lower makes limit the limit if it is lower than the one there is.
func (s *boundState) lower(limit int) {
	for {
		now := s.bytes.Load()
		if int64(limit) >= now || s.bytes.CompareAndSwap(now, int64(limit)) {
			return
		}
	}
}

type boundKey struct{}

func withBound(ctx context.Context, s *boundState) context.Context {
	return context.WithValue(ctx, boundKey{}, s)
}

func bounded(ctx context.Context) *boundState {
	s, _ := ctx.Value(boundKey{}).(*boundState)
	return s
}
