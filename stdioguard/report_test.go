package stdioguard

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/steadymcp/steady/observe"
)

// A slow observer, and a flood of one kind: the others arrive, and what did not
// fit is counted.
func TestReporterIsFair(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		var seen []observe.Event
		r := newReporter(observe.Func(func(_ context.Context, e observe.Event) {
			<-gate
			seen = append(seen, e)
		}))
		for range 1000 {
			r.report(TooLarge{})
		}
		r.report(Diverted{Lines: 3})
		r.report(Abandoned{InFlight: 7})
		synctest.Wait()
		close(gate)
		r.close(time.Second)
		counts := map[string]int{}
		for _, e := range seen {
			counts[e.EventName()]++
			if m, ok := e.(Missed); ok {
				counts["missed too large"] += m.Events["stdioguard.too_large"]
				require.Contains(t, m.LogValue().String(), "stdioguard.too_large")
			}
		}
		require.Equal(t, 1000, counts["stdioguard.too_large"]+counts["missed too large"])
		require.GreaterOrEqual(t, counts["stdioguard.too_large"], maxReports)
		require.Less(t, counts["stdioguard.too_large"], maxReports+3)
		require.Equal(t, 1, counts["stdioguard.diverted"])
		require.Equal(t, 1, counts["stdioguard.abandoned"])

		r.report(Abandoned{})
		synctest.Wait()
		require.Equal(t, 1, counts["stdioguard.abandoned"], "an event after Close")
	})
}

// An observer that blocks for ever holds up nobody, and learns nothing later.
func TestReporterGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		var seen int
		r := newReporter(observe.Func(func(context.Context, observe.Event) {
			<-gate
			seen++
		}))
		for range 5 {
			r.report(Misplaced{})
		}
		begin := time.Now()
		r.close(time.Second)
		require.Equal(t, time.Second, time.Since(begin))
		close(gate)
		synctest.Wait()
		require.Equal(t, 1, seen)
	})
}

// An observer that panics loses the event, and not the process.
func TestReporterSurvivesItsObserver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var missed map[string]int
		r := newReporter(observe.Func(func(_ context.Context, e observe.Event) {
			if m, ok := e.(Missed); ok {
				missed = m.Events
				return
			}
			panic("boom")
		}))
		r.report(Late{})
		r.close(time.Second)
		require.Equal(t, map[string]int{"stdioguard.late": 1}, missed)
	})
}

// A client that sends nothing but garbage writes no log with it.
func TestGarbageMakesNoLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const lines = 50_000
		var log bytes.Buffer
		var counted atomic.Int64
		toLog := observe.Slog(slog.New(slog.NewTextHandler(&log, nil)))
		in, client := io.Pipe()
		transport := NewTransport(in, discard{}, &Options{Observer: observe.Func(func(ctx context.Context, e observe.Event) {
			toLog.Observe(ctx, e)
			if e, ok := e.(Rejected); ok {
				counted.Add(e.Count)
			}
		})})
		c := newConn(transport)
		garbage := []byte(strings.Repeat("garbage\n", 100))
		for range lines / 100 / 2 {
			_, err := client.Write(garbage)
			require.NoError(t, err)
		}
		synctest.Wait()
		require.EqualValues(t, rejectedFirst, counted.Load())
		time.Sleep(rejectedEvery)
		synctest.Wait()
		require.EqualValues(t, lines/2, counted.Load(), "counted later")
		for range lines / 100 / 2 {
			_, err := client.Write(garbage)
			require.NoError(t, err)
		}
		require.NoError(t, client.Close())
		synctest.Wait()
		require.NoError(t, c.Close())
		transport.reporter.close(time.Second)
		require.EqualValues(t, lines, counted.Load(), "counted at the end")
		require.Less(t, log.Len(), 4000)
	})
}

type discard struct{}

func (discard) Write(b []byte) (int, error) { return len(b), nil }
func (discard) Close() error                { return nil }
