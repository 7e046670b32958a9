package mcptest

import (
	"runtime"
	"slices"
	"testing"
	"time"
)

// A Side is one of two things that [Compare] compares.
type Side struct {
	Name string
	Do   func()
}

// Compare runs base and other in turns, so that what disturbs the machine
// disturbs both. It reports how many times as long other takes ("ratio", of the
// median times), the allocations that other makes more ("more-allocs"), and
// the median times of both in microseconds.
func Compare(b *testing.B, base, other Side) {
	b.Helper()
	allocs := mallocs(other) - mallocs(base)
	sides := [2]Side{base, other}
	var times [2][]float64
	for b.Loop() {
		first := len(times[0]) % 2
		for _, i := range [2]int{first, 1 - first} {
			start := time.Now()
			sides[i].Do()
			times[i] = append(times[i], float64(time.Since(start))/1000)
		}
	}
	us := [2]float64{median(times[0]), median(times[1])}
	b.ReportMetric(us[1]/us[0], "ratio")
	b.ReportMetric(allocs, "more-allocs")
	b.ReportMetric(us[0], base.Name+"-us")
	b.ReportMetric(us[1], other.Name+"-us")
	b.ReportMetric(0, "ns/op")
}

// mallocs returns how many allocations a call of s makes, in all goroutines.
func mallocs(s Side) float64 {
	const calls = 100
	s.Do()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range calls {
		s.Do()
	}
	runtime.ReadMemStats(&after)
	return float64(after.Mallocs-before.Mallocs) / calls
}

func median(v []float64) float64 {
	slices.Sort(v)
	return v[len(v)/2]
}
