package proxytest

import (
	"slices"
	"testing"
	"time"
)

const (
	batch = 20 // calls that are timed together
	warm  = 10 // rounds before the first that counts
)

// InTurns times calls in turns, for as long as b runs, and returns the median time
// of each. A call that fails ends the benchmark. "ns/op" is taken away: it would be
// the time of a round.
func InTurns(b *testing.B, calls ...func() error) []time.Duration {
	b.Helper()
	times := make([][]time.Duration, len(calls))
	round := func() {
		for i, call := range calls {
			began := time.Now()
			for range batch {
				if err := call(); err != nil {
					b.Fatalf("call %d: %v", i, err)
				}
			}
			times[i] = append(times[i], time.Since(began)/batch)
		}
	}
	for range warm {
		round()
	}
	clear(times)
	for b.Loop() {
		round()
	}
	b.ReportMetric(0, "ns/op")
	medians := make([]time.Duration, len(calls))
	for i, t := range times {
		slices.Sort(t)
		medians[i] = t[len(t)/2]
	}
	return medians
}
