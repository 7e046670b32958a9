package catalog

import (
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// A RateLimit is what an API says about the caller's quota.
type RateLimit struct {
	Limit     *int64 `json:"limit"`     // calls in the window
	Remaining *int64 `json:"remaining"` // calls left
	Reset     *int64 `json:"reset"`     // seconds until the window ends
}

// readRateLimit reads the headers of an answer, or returns nil if they say
// nothing: RateLimit and RateLimit-Policy in the forms that the IETF draft has
// had, RateLimit-* and X-RateLimit-*, and Retry-After.
func readRateLimit(h http.Header, now time.Time) *RateLimit {
	r := draftRateLimit(h)
	for _, prefix := range []string{"RateLimit-", "X-RateLimit-", "X-Rate-Limit-"} {
		fill(&r.Limit, whole(h.Get(prefix+"Limit")))
		fill(&r.Remaining, whole(h.Get(prefix+"Remaining")))
		fill(&r.Reset, soon(seconds(h.Get(prefix+"Reset"), now)))
	}
	if wait := retryAfter(h, now); wait > 0 {
		s := int64(math.Ceil(wait.Seconds()))
		fill(&r.Reset, &s)
	}
	if r.Limit == nil && r.Remaining == nil && r.Reset == nil {
		return nil
	}
	return r
}

func fill(to **int64, v *int64) {
	if *to == nil {
		*to = v
	}
}

// A policy is one of the quotas that an answer speaks of.
type policy struct {
	name string
	RateLimit
}

// draftRateLimit reads RateLimit and RateLimit-Policy. Of several quotas it is
// the tightest that matters, the one with the fewest calls left.
func draftRateLimit(h http.Header) *RateLimit {
	var tightest *policy
	for _, p := range policies(h.Values("RateLimit")) {
		if tightest == nil || p.Remaining != nil && (tightest.Remaining == nil || *p.Remaining < *tightest.Remaining) {
			tightest = p
		}
	}
	quotas := policies(h.Values("RateLimit-Policy"))
	if tightest == nil {
		tightest = &policy{}
	}
	for _, q := range quotas {
		if q.name == tightest.name || len(quotas) == 1 {
			fill(&tightest.Limit, q.Limit)
		}
	}
	return &tightest.RateLimit
}

// policies reads `limit=100, remaining=50, reset=5`, which is one policy, and
// `"day";r=900;t=3600, "burst";r=0;t=1`, which are two; in RateLimit-Policy, q
// is the quota.
func policies(headers []string) []*policy {
	var all []*policy
	unnamed := &policy{}
	for _, item := range strings.Split(strings.Join(headers, ","), ",") {
		current := unnamed
		for i, parameter := range strings.Split(item, ";") {
			parameter = strings.TrimSpace(parameter)
			name, value, isPair := strings.Cut(parameter, "=")
			if i == 0 && !isPair && parameter != "" {
				current = &policy{name: strings.Trim(parameter, `"`)}
				all = append(all, current)
				continue
			}
			switch strings.ToLower(name) {
			case "limit", "q":
				fill(&current.Limit, whole(value))
			case "remaining", "r":
				fill(&current.Remaining, whole(value))
			case "reset", "t":
				fill(&current.Reset, soon(whole(value)))
			}
		}
	}
	if unnamed.RateLimit != (RateLimit{}) {
		all = append(all, unnamed)
	}
	return all
}

// longestReset is the longest time until a reset that is believed, in seconds:
// a month. What is longer is no time, or no time that anybody waits.
const longestReset = 31 * 24 * 60 * 60

func soon(s *int64) *int64 {
	if s == nil || *s > longestReset {
		return nil
	}
	return s
}

// whole reads the number at the beginning of a header's value.
func whole(s string) *int64 {
	s, _, _ = strings.Cut(strings.TrimSpace(s), ",")
	s, _, _ = strings.Cut(s, ";")
	s = strings.TrimSpace(s)
	if whole, fraction, ok := strings.Cut(s, "."); ok && strings.Trim(fraction, "0123456789") == "" {
		s = whole
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 0 {
		return nil
	}
	return &n
}

// seconds reads a reset time: seconds from now, or a moment in seconds or
// milliseconds since 1970, or a date.
func seconds(s string, now time.Time) *int64 {
	n := whole(s)
	if n == nil {
		if at, err := http.ParseTime(strings.TrimSpace(s)); err == nil {
			v := int64(max(0, math.Ceil(at.Sub(now).Seconds())))
			return &v
		}
		return nil
	}
	v := *n
	switch {
	case v > 1e11:
		v = (v-now.UnixMilli())/1000 + 1
	case v > 1e9:
		v -= now.Unix()
	}
	v = max(v, 0)
	return &v
}

// retryAfter reads how long an answer asks to wait; zero if it does not.
func retryAfter(h http.Header, now time.Time) time.Duration {
	s := seconds(h.Get("Retry-After"), now)
	if s == nil {
		return 0
	}
	return min(time.Duration(min(*s, 1<<31))*time.Second, 24*time.Hour)
}
