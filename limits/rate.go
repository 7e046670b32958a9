package limits

import (
	"context"
	"math"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/steadymcp/steady/errors"
)

// bucketKey names a token bucket: a caller's, or a caller's for one tool.
// Only tools that have a Limit have buckets of their own, so that a peer
// cannot make any by inventing names.
type bucketKey struct{ caller, tool string }

// buckets are the token buckets of all callers. Taking a token and forgetting
// a bucket happen under one lock, so that no bucket is forgotten while it is
// in use; and only a full bucket is forgotten, which is the same as a new one.
type buckets struct {
	most int

	mu       sync.Mutex
	byKey    map[bucketKey]*rate.Limiter
	swept    time.Time
	overflow map[string]*rate.Limiter // by tool, for the callers beyond most
}

func newBuckets(most int) *buckets {
	return &buckets{most: most, byKey: map[bucketKey]*rate.Limiter{}, overflow: map[string]*rate.Limiter{}}
}

// longestWait bounds the advice on when to come back.
const longestWait = 24 * time.Hour

// sweepEvery is how often full buckets are looked for, and sweepWhenShort while
// there is no room for those of new callers.
const (
	sweepEvery     = time.Minute
	sweepWhenShort = time.Second
)

// A drain is one token to be taken from one bucket.
type drain struct {
	key  bucketKey
	rate Rate
}

// take takes one token from each bucket, or none and returns how long it takes
// until there is one in all of them, and in which of them that is last.
func (b *buckets) take(drains []drain, now time.Time) (wait time.Duration, last int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	every := sweepEvery
	if b.short() {
		every = sweepWhenShort
	}
	if now.Sub(b.swept) >= every {
		b.swept = now
		b.sweep(now)
	}
	var taken [2]*rate.Reservation // a call counts against two buckets at most
	for i, d := range drains {
		limiter := b.byKey[d.key]
		if limiter == nil {
			limiter = b.add(d.key, d.rate)
		}
		taken[i] = limiter.ReserveN(now, 1)
		if delay := taken[i].DelayFrom(now); delay > wait {
			wait, last = delay, i
		}
	}
	if wait > 0 {
		for i := range drains {
			taken[i].CancelAt(now)
		}
	}
	return wait, last
}

func (b *buckets) add(key bucketKey, r Rate) *rate.Limiter {
	fresh := rate.NewLimiter(rate.Limit(r.PerSecond), r.burst())
	if b.short() {
		shared := b.overflow[key.tool]
		if shared == nil {
			shared = fresh
			b.overflow[key.tool] = shared
		}
		return shared
	}
	b.byKey[key] = fresh
	return fresh
}

// short reports whether new callers have to share a bucket.
func (b *buckets) short() bool { return b.most > 0 && len(b.byKey) >= b.most }

func (b *buckets) sweep(now time.Time) {
	for key, limiter := range b.byKey {
		if limiter.TokensAt(now) >= float64(limiter.Burst()) {
			delete(b.byKey, key)
		}
	}
}

// take counts a call against the caller's rate and the tool's.
func (l *Limiter) take(ctx context.Context, caller, tool string) error {
	drains := make([]drain, 0, 2)
	if r := l.opts.Rate; r.PerSecond > 0 {
		drains = append(drains, drain{bucketKey{caller, ""}, r})
	}
	if r := l.opts.Tools[tool].Rate; r.PerSecond > 0 {
		drains = append(drains, drain{bucketKey{caller, tool}, r})
	}
	if len(drains) == 0 {
		return nil
	}
	wait, last := l.rates.take(drains, time.Now())
	if wait == 0 {
		return nil
	}
	bound, what := boundCaller, "calls"
	if drains[last].key.tool != "" {
		bound, what = boundTool, "calls of this tool"
	}
	l.refused(ctx, caller, tool, bound, "rate")
	seconds := time.Duration(math.Ceil(min(wait, longestWait).Seconds())) * time.Second
	return errors.RateLimited("%s was not started", quote(tool)).
		Because("this caller has used up its rate of %s", what).
		Next("wait, then make the same call; nothing was done").
		RetryAfter(seconds)
}
