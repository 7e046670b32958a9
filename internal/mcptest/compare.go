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

// Compare runs base and other in turns, in short batches, so that what disturbs
// the machine disturbs both. It reports the median over the rounds of how many
// times as long other takes ("ratio"), the allocations that other makes more
// ("more-allocs"), and the median times of both in microseconds.
func Compare(b *testing.B, base, other Side) {
	b.Helper()
	const batch = 20
	var total [2]struct {
		times   []float64
		mallocs uint64
	}
	sides := [2]Side{base, other}
	run := func(i int) float64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		start := time.Now()
		for range batch {
			sides[i].Do()
		}
		d := float64(time.Since(start)) / batch
		runtime.ReadMemStats(&after)
		total[i].mallocs += after.Mallocs - before.Mallocs
		total[i].times = append(total[i].times, d)
		return d
	}
	run(0)
	run(1)
	clear(total[:])
	var ratios []float64
	for b.Loop() {
		var d [2]float64
		first := len(ratios) % 2
		d[first] = run(first)
		d[1-first] = run(1 - first)
		ratios = append(ratios, d[1]/d[0])
	}
	calls := float64(len(ratios) * batch)
	b.ReportMetric(median(ratios), "ratio")
	b.ReportMetric((float64(total[1].mallocs)-float64(total[0].mallocs))/calls, "more-allocs")
	b.ReportMetric(median(total[0].times)/1000, base.Name+"-us")
	b.ReportMetric(median(total[1].times)/1000, other.Name+"-us")
	b.ReportMetric(0, "ns/op")
}

func median(v []float64) float64 {
	v = slices.Clone(v)
	slices.Sort(v)
	return v[len(v)/2]
}
