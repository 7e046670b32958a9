package discovery

import (
	"fmt"
	"sync/atomic"
)

// Stats counts calls since the Resolver was made. Each call is counted once by
// its name, and at most once by its arguments.
type Stats struct {
	Calls     int64 // calls of tools
	Exact     int64 // that named a tool by its very name
	Routed    int64 // that were resolved to a tool of another name, refused ones included
	Suggested int64 // that were answered with other names
	Missed    int64 // that nothing was near to
	Repaired  int64 // whose arguments were mended
	Refused   int64 // whose arguments could not be mended
}

// String says in one sentence what the resolver changed.
func (s Stats) String() string {
	if s.Calls == 0 {
		return "no calls yet"
	}
	pct := func(n int64) float64 { return 100 * float64(n) / float64(s.Calls) }
	return fmt.Sprintf("of %d calls %d named no tool exactly: %d were routed, %d were not found (%.1f %% without discovery, %.1f %% with it); arguments were repaired in %d and refused in %d",
		s.Calls, s.Calls-s.Exact, s.Routed, s.Suggested+s.Missed, pct(s.Calls-s.Exact), pct(s.Suggested+s.Missed), s.Repaired, s.Refused)
}

type counters struct {
	calls, exact, routed, suggested, missed, repaired, refused atomic.Int64
}

// Stats returns the counters. It may be called at any time.
func (r *Resolver) Stats() Stats {
	c := &r.counters
	return Stats{
		Calls: c.calls.Load(), Exact: c.exact.Load(), Routed: c.routed.Load(), Suggested: c.suggested.Load(),
		Missed: c.missed.Load(), Repaired: c.repaired.Load(), Refused: c.refused.Load(),
	}
}
