package tasks

import (
	"cmp"
	"encoding/json"
	"time"
)

// Support says whether calls of a tool may become tasks.
type Support int

const (
	// Optional lets a call become a task where its caller can follow one. Where
	// it cannot, the call runs to its end within the request.
	Optional Support = iota
	// Required refuses callers that cannot follow a task.
	Required
	// Never leaves the tool alone.
	Never
)

// Special values of [Policy.Grace], [Policy.Window], [Policy.Concurrency] and
// [Policy.Queue].
const (
	// Eager gives the caller the handle at once, before the work has begun.
	Eager time.Duration = -1
	// OnPromote waits until the handler calls [Promote], however long it runs.
	OnPromote time.Duration = -2
	// NoWindow turns the default identity off.
	NoWindow time.Duration = -1
	// Unlimited runs any number of calls at once.
	Unlimited = -1
	// NoQueue refuses a call at once when it cannot start at once.
	NoQueue = -1
)

// A Policy says how calls of one tool are run. The zero Policy is ready to use.
//
// Two calls of one tool by one principal are the same call if
//
//   - they carry the same idempotency key, as the argument "idempotency_key" or
//     as "steady/idempotencyKey" in _meta; the same key with other arguments is
//     refused; or
//   - Identity returns the same text for both; or
//   - Identity is not set or returns "", and the arguments are the same: this
//     default identity ends Window after the first call has ended.
//
// The second call then joins the first, whether that still runs or has
// succeeded, and says so.
type Policy struct {
	// Support says whether calls may become tasks. If zero, Optional.
	Support Support

	// Grace is how long a caller waits for the result before it gets a handle.
	// If zero, 5 s, which is below the timeout of every client we know. See also
	// [Eager] and [OnPromote]; other negative values are like the latter.
	Grace time.Duration

	// MaxRun bounds the work, from its start. If zero or less, 1 h.
	MaxRun time.Duration

	// TTL is how long the result and the key of a task are kept, from its end.
	// If zero or less, 1 h.
	TTL time.Duration

	// PollInterval is how often a client is told to ask. If zero or less, 1 s.
	PollInterval time.Duration

	// Concurrency bounds how many calls of the tool run at once in this process,
	// and Queue how many more wait for their turn; the next one is refused as
	// rate limited. If zero, 64 and 1,024. See also [Unlimited] and [NoQueue].
	Concurrency int
	Queue       int

	// Identity, if not nil, returns what a call is about in terms of the
	// business: "this export, for this date and scope". Calls with the same
	// identity are one call even if the rest of their arguments differs. It gets
	// the arguments as received, before the tool's schema has checked them, and
	// returns "" if it cannot tell. See [By].
	Identity func(arguments json.RawMessage) string

	// Window is how long after its end a call is joined by one with the same
	// arguments. If zero, 60 s. See also [NoWindow].
	Window time.Duration

	// Rounds says that the tool asks for input only by returning
	// [mcp.CallToolResult.InputRequests], or by [Elicit], and never through its
	// session. While such a result waits for the answers, nothing of its task is
	// kept in the process: with a store that is a [Dispatcher], another one can go on.
	// If false, the SDK asks on behalf of the handler and waits within the call.
	//
	// It is taken from the policy of this name in [Options.Policies].
	Rounds bool

	// RunAgain says that the tool may be run again when the process that ran it
	// was lost and nobody knows how far it came. If false, such a task fails.
	//
	// The second run has the arguments of the call, and of its request the subject,
	// the scopes and the capabilities of the client; the token, if
	// [Options.KeepTokens] is set; and no other headers. If the first was answered
	// what it asked by [Elicit] or through its session, the second gets the same
	// answer to the same question.
	RunAgain bool
}

// By returns an identity function for [Policy.Identity] that sees the decoded
// arguments. Arguments that In cannot hold have no identity.
func By[In any](identity func(In) string) func(json.RawMessage) string {
	return func(arguments json.RawMessage) string {
		var in In
		if len(arguments) > 0 && json.Unmarshal(arguments, &in) != nil {
			return ""
		}
		return identity(in)
	}
}

// positiveOr takes values that make no sense, from a flag for example, for zero.
func positiveOr[T int | time.Duration](v, otherwise T) T {
	if v > 0 {
		return v
	}
	return otherwise
}

// withDefaults returns p with every zero replaced by what it means.
func (p Policy) withDefaults() Policy {
	p.Grace = cmp.Or(p.Grace, 5*time.Second)
	p.MaxRun = positiveOr(p.MaxRun, time.Hour)
	p.TTL = positiveOr(p.TTL, time.Hour)
	p.PollInterval = positiveOr(p.PollInterval, time.Second)
	p.Concurrency = cmp.Or(p.Concurrency, 64)
	p.Queue = cmp.Or(p.Queue, 1024)
	p.Window = cmp.Or(p.Window, time.Minute)
	return p
}
